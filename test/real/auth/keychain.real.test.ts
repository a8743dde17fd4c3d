import { readFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Keyring, keyring, noKeyring } from '../../support/keyring.ts';
import { type Program, program } from './program.ts';

/** The built program and a real keychain: Debian's gnome-keyring in a separate session bus. */
describe.skipIf(noKeyring() !== undefined)('gnome-keyring', () => {
  let chain: Keyring;
  let opsctl: Program;
  beforeAll(async () => {
    chain = await keyring();
  });
  afterAll(() => chain?.close());
  beforeEach(async () => {
    opsctl = await program({
      DBUS_SESSION_BUS_ADDRESS: chain.env['DBUS_SESSION_BUS_ADDRESS'] ?? '',
      OPSCTL_KEYCHAIN: '',
    });
  });
  afterEach(async () => {
    await chain.restart();
  });

  const login = (env: Record<string, string> = {}) => opsctl.run(['login'], { env });
  const token = () => opsctl.run(['auth', 'token']);
  const stateFiles = () => readdir(join(opsctl.home, 'state'), { recursive: true });
  const keyPlace = async (): Promise<string> => {
    const path = (await stateFiles()).find((name) => name.endsWith('credentials.json')) ?? '';
    return JSON.parse(readFileSync(join(opsctl.home, 'state', path), 'utf8')).key;
  };
  const isKeyFileThere = async () => (await stateFiles()).some((name) => name.endsWith('credentials.key'));
  const stored = () => chain.secretTool('search', '--all', 'service', 'opsctl').stdout;
  const unreadable = (why: string) => ({ code: 3, stdout: '', stderr: expect.stringContaining(why) });

  test('store and read: the key is in the keychain, and only there; another process reads it', async () => {
    expect(await login()).toMatchObject({ code: 0 });
    expect(await keyPlace()).toBe('keychain');
    expect(await isKeyFileThere()).toBe(false);
    const secret = /^secret = (\S{44})$/m.exec(stored())?.[1] ?? 'no secret in the keychain';
    expect(await opsctl.files()).not.toContain(secret);
    expect(opsctl.said()).not.toContain(secret);
    expect(await token()).toMatchObject({ code: 0, stderr: '' });
    const doctor = await opsctl.run(['doctor', 'auth', '-o', 'json']);
    expect(JSON.parse(doctor.stdout)).toContainEqual(
      expect.objectContaining({ check: 'stored credentials', found: '1 account, key in the keychain' }),
    );
  });

  test('the key outlives the keychain process: a new session reads what the one before stored', async () => {
    expect(await login()).toMatchObject({ code: 0 });
    await chain.restart();
    expect(await token()).toMatchObject({ code: 0 });
  });

  test('a locked keychain loses no data: unlocking is suggested before a new sign-in, and makes it readable', async () => {
    expect(await login()).toMatchObject({ code: 0 });
    await chain.restart({ isLocked: true });
    const refused = await token();
    expect(refused).toMatchObject(unreadable('its key is in the keychain, which does not respond'));
    expect(refused.stderr.indexOf('unlock the keychain')).toBeGreaterThan(0);
    expect(refused.stderr.indexOf('unlock the keychain')).toBeLessThan(refused.stderr.indexOf('remove '));
    expect(await login()).toMatchObject(unreadable('its key is in the keychain'));
    await chain.restart();
    expect(await token()).toMatchObject({ code: 0 });
  });

  test('a keychain locked before the first sign-in causes an encrypted file with a warning', async () => {
    await chain.restart({ isLocked: true });
    const done = await login();
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining('The keychain of this system') });
    expect(await keyPlace()).toBe('file');
    expect(await token()).toMatchObject({ code: 0 });
  });

  test('denied by the policy of the bus: the cause is named, and with permission it is read again', async () => {
    expect(await login()).toMatchObject({ code: 0 });
    await chain.restart({ isDenied: true });
    expect(await token()).toMatchObject(
      unreadable('which does not respond (Platform failure: DBus error: Rejected'),
    );
    await chain.restart();
    expect(await token()).toMatchObject({ code: 0 });
  });

  test('a removed keychain makes the credentials unreadable, and a new sign-in works as suggested', async () => {
    expect(await login()).toMatchObject({ code: 0 });
    expect(chain.secretTool('clear', 'service', 'opsctl').status).toBe(0);
    const refused = await token();
    expect(refused).toMatchObject(unreadable('its key is no longer in the keychain'));
    const path = /remove (\S+) and run opsctl login/.exec(refused.stderr)?.[1] ?? '';
    await rm(path);
    expect(await login()).toMatchObject({ code: 0 });
    expect(await token()).toMatchObject({ code: 0 });
  });

  test('a missing keychain process is reported within three seconds', async () => {
    expect(await login()).toMatchObject({ code: 0 });
    await chain.stop();
    expect(await token()).toMatchObject(unreadable('which does not respond'));
  });
});
