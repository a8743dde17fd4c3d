/** A file stores a started login until the login finishes. opsctl reports and removes any other content of the file. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { thisProcess } from '../../src/platform/file-lock.ts';
import { claimLogin, readPending } from '../../src/auth/detached-login.ts';
import { makeAuthContext } from './auth-context.ts';

const whole = {
  server: 's',
  endpoints: { authorize: 'https://a/auth', token: 'https://a/token', revoke: 'https://a/revoke' },
  clientId: 'c',
  redirectUri: 'http://127.0.0.1:1/',
  verifier: 'verifier-verifier',
  state: 'state-state',
  nonce: 'nonce-nonce',
  requested: ['openid'],
  expiresMs: 9e15,
};
const reading = async (text: string) => {
  const context = await makeAuthContext();
  const path = join(context.directory, 'pending-login.json');
  await context.host.files.replace(path, text, 0o600);
  const found = await readPending(context).catch((error: unknown) => error);
  const isKept = (await context.host.files.read(path)) !== undefined;
  await context.close();
  return { found, isKept };
};

test('a complete pending login is read and kept', async () => {
  expect(await reading(JSON.stringify(whole))).toEqual({ found: whole, isKept: true });
});

test.each([
  'null',
  '5',
  '[]',
  '{}',
  JSON.stringify(whole).slice(0, -9),
  ...Object.keys(whole).map((field) => JSON.stringify({ ...whole, [field]: null })),
  ...Object.keys(whole).map((field) => JSON.stringify({ ...whole, [field]: undefined })),
])('a damaged pending login is started again: %s', async (text) => {
  expect(await reading(text)).toMatchObject({
    found: { category: 'auth', detail: { code: 'NO_PENDING_LOGIN' } },
    isKept: false,
  });
});

describe('the lock of a waiting login', () => {
  const claiming = async (more: object, replaces: boolean) => {
    const context = await makeAuthContext();
    const signaled: number[] = [];
    const warned: string[] = [];
    const { processes } = context.host;
    const alive = { ...thisProcess(context.host), pid: 77, mark: 'm', ...more };
    const path = join(context.directory, 'login.lock');
    await context.host.files.replace(path, JSON.stringify(alive), 0o600);
    const host = {
      ...context.host,
      processes: {
        ...processes,
        isAlive: (pid: number) => pid === 77 && !signaled.includes(77),
        startMark: (pid: number) => (pid === 77 ? 'm' : 'own'),
        signal: (pid: number) => signaled.push(pid) > 0,
      },
    };
    const log = { ...context.log, warn: (text: string) => void warned.push(text) };
    const ended = await claimLogin({ ...context, host, log }, replaces).then(
      () => 'claimed',
      (error: unknown) => JSON.stringify({ ...(error as object), message: String(error) }),
    );
    await context.close();
    return { ended, signaled, warned: warned.join(' ') };
  };

  test('the lock is taken from a process of this machine with a signal', async () => {
    expect(await claiming({}, true)).toEqual({ ended: 'claimed', signaled: [77], warned: '' });
  });

  test.each([
    ['another machine', { machine: 'other-host' }],
    ['another namespace', { pidNamespace: 'pid:[7]' }],
    ['another machine ID', { machineId: 'other' }],
    [
      'version 0.1.0 on another machine',
      { machine: 'other-host', machineId: undefined, pidNamespace: undefined, bootId: undefined },
    ],
    ['a process without a start mark', { mark: undefined }],
  ])('the lock is taken from %s without a signal and with a message', async (_, more) => {
    const replaced = await claiming(more, true);
    expect(replaced).toMatchObject({ ended: 'claimed', signaled: [] });
    expect(replaced.warned).toMatch(/process 77.* was not stopped/);
    const refused = await claiming(more, false);
    expect(refused.ended).toContain('opsctl login --replace');
    expect(refused.ended).not.toMatch(/kill|end process/);
  });
});
