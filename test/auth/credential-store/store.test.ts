import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Keychain } from '../../../src/platform/host.ts';
import { type Account, withAccount } from '../../../src/auth/credential-store/account.ts';
import { encrypt, keyBytes, openCredentialStore } from '../../../src/auth/credential-store/store.ts';
import { type TestAuthContext, type AuthContextOptions, makeAuthContext } from '../auth-context.ts';
import { covers } from '../../support/covers.ts';
import { errorWith } from '../../support/facts.ts';

const open: TestAuthContext[] = [];
const context = async (options: AuthContextOptions = {}): Promise<TestAuthContext> => {
  const made = await makeAuthContext(options);
  open.push(made);
  return made;
};
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

const account = (name: string): Account => ({
  name,
  server: 's',
  endpoints: { authorize: 'a', token: 't', revoke: 'r' },
  clientId: 'c',
  requested: [],
  granted: [],
  generation: 1,
  signIn: 's1',
  obtainedMs: 0,
  accessToken: `at-${name}-secret`,
  refreshToken: `rt-${name}-secret`,
});

test('a new credential store is empty and leaves no file', async () => {
  const run = await context();
  expect((await openCredentialStore(run).read()).accounts).toEqual([]);
  await expect(stat(join(run.directory, 'credentials.json'))).rejects.toThrow();
});

test('stored data is encrypted, 0600, and read back', async () => {
  const run = await context();
  const credentials = openCredentialStore(run);
  // A short name can appear in the ciphertext by chance.
  const ada = account('ada@demo.example');
  await credentials.swap((data) => ({ data: withAccount(data, ada) }));
  const text = await readFile(credentials.path, 'utf8');
  expect(text).not.toContain('ada@demo');
  expect(text).not.toContain('secret');
  for (const name of ['credentials.json', 'credentials.key'])
    expect((await stat(join(run.directory, name))).mode & 0o777).toBe(0o600);
  expect((await openCredentialStore(run).read()).accounts[0]).toEqual(ada);
  expect(await credentials.keyLocation()).toBe('file');
});

test('every secret that is read or written is hidden from output', async () => {
  const run = await context();
  await openCredentialStore(run).swap((data) => ({ data: withAccount(data, account('ada')) }));
  expect([...run.said.hidden]).toEqual(expect.arrayContaining(['at-ada-secret', 'rt-ada-secret']));
});

test('thirty changes at the same time: none is lost', async () => {
  const run = await context();
  await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      openCredentialStore(run).swap((data) => ({ data: withAccount(data, account(`n${i}`)) })),
    ),
  );
  expect((await openCredentialStore(run).read()).accounts).toHaveLength(30);
});

test.each([
  ['a lost key', 'credentials.key', undefined, 'is missing'],
  ['another key', 'credentials.key', Buffer.alloc(32).toString('base64'), 'does not fit'],
  ['a key of another length', 'credentials.key', 'AAAA', 'wrong length'],
  ['a torn file', 'credentials.json', '{"version":1,', 'not JSON'],
  [
    'a file without its data',
    'credentials.json',
    '{"version":1,"key":"file","iv":"AAAA","tag":"AAAA"}',
    'parts are missing',
  ],
])('%s is an error, not an empty credential store', async (_, file, text, why) => {
  const run = await context();
  await openCredentialStore(run).swap((data) => ({ data: withAccount(data, account('ada')) }));
  if (text === undefined) await run.host.files.remove(join(run.directory, file));
  else await writeFile(join(run.directory, file), text);
  await expect(openCredentialStore(run).read()).rejects.toThrow(why);
  await expect(openCredentialStore(run).swap((data) => ({ data }))).rejects.toThrow(why);
});

const memoryKeychain = (): Keychain & { readonly kept: Map<string, string> } => {
  const kept = new Map<string, string>();
  return {
    kept,
    get: async (service, name) => kept.get(`${service} ${name}`),
    set: async (service, name, secret) => void kept.set(`${service} ${name}`, secret),
    remove: async (service, name) => void kept.delete(`${service} ${name}`),
  };
};

test('the key is in the keychain if there is one', async () => {
  const keychain = memoryKeychain();
  const run = await context({
    env: { OPSCTL_KEYCHAIN: undefined },
    host: (host) => ({ ...host, hostname: host.hostname, keychain }),
  });
  await openCredentialStore(run).swap((data) => ({ data: withAccount(data, account('ada')) }));
  expect(keychain.kept.size).toBe(1);
  expect(await openCredentialStore(run).keyLocation()).toBe('keychain');
  expect((await openCredentialStore(run).read()).accounts).toHaveLength(1);
  await expect(stat(join(run.directory, 'credentials.key'))).rejects.toThrow();
});

test('an unresponsive keychain causes the documented fallback', async () => {
  const dead = {
    get: () => Promise.reject(new Error('locked')),
    set: () => Promise.reject(new Error('locked')),
    remove: () => Promise.reject(new Error('locked')),
  };
  const run = await context({
    env: { OPSCTL_KEYCHAIN: undefined },
    host: (host) => ({ ...host, hostname: host.hostname, keychain: dead }),
  });
  await openCredentialStore(run).swap((data) => ({ data: withAccount(data, account('ada')) }));
  expect(run.said.text()).toMatch(/keychain .* encrypted file/);
  expect(await openCredentialStore(run).keyLocation()).toBe('file');
});

test('a missing keychain causes an error that names it', async () => {
  const keychain = memoryKeychain();
  const run = await context({
    env: { OPSCTL_KEYCHAIN: undefined },
    host: (host) => ({ ...host, hostname: host.hostname, keychain }),
  });
  await openCredentialStore(run).swap((data) => ({ data: withAccount(data, account('ada')) }));
  const later = await context({ directory: run.directory });
  await expect(openCredentialStore(later).read()).rejects.toThrow('keychain, which is not available here');
  keychain.kept.clear();
  await expect(openCredentialStore(run).read()).rejects.toThrow('no longer in the keychain');
});

test('a partial key of a killed command does not prevent a sign-in', covers('defect/R-23'), async () => {
  const run = await context({ env: { OPSCTL_KEYCHAIN: 'never' } });
  await writeFile(join(run.directory, 'credentials.key'), 'AAAA', { mode: 0o600 });
  await openCredentialStore(run).swap((data) => ({ data: withAccount(data, account('ada')) }));
  expect((await openCredentialStore(run).read()).accounts[0]?.name).toBe('ada');
});

test('accounts of earlier versions have no generation yet, and the name of their realm', async () => {
  const run = await context({ env: { OPSCTL_KEYCHAIN: 'never' } });
  const key = Buffer.alloc(keyBytes, 7);
  const { generation, signIn, ...old } = account('ada');
  const at = (path: string) => ({ ...old.endpoints, authorize: `https://id.example${path}` });
  const server = 'https://id.example';
  const stored = [
    { ...old, name: 'a', server, endpoints: at('/realms/one/auth') },
    { ...old, name: 'b', server, endpoints: at('/realms/one/auth'), issuer: 'i' },
    { ...old, name: 'c', server: 'https://other.example', endpoints: at('/realms/one/auth') },
    { ...old, name: 'd', server: 'mock', endpoints: { ...old.endpoints, authorize: 'no url' } },
    { ...old, name: 'e', server, endpoints: at('/realms/one/auth'), generation: 4, signIn: 's9' },
  ];
  const write = async (data: object) => {
    const text = JSON.stringify(encrypt(JSON.stringify(data), key, Buffer.alloc(12), 'file'));
    for (const [name, content] of [
      ['credentials.json', text],
      ['credentials.key', key.toString('base64')],
    ] as const)
      await writeFile(join(run.directory, name), content, { mode: 0o600 });
  };
  await write({ accounts: stored });
  const { accounts } = await openCredentialStore(run).read();
  expect(accounts.map((one) => [one.name, one.server, one.generation, one.signIn])).toEqual([
    ['a', 'https://id.example/realms/one', 0, ''],
    ['b', 'https://id.example', 0, ''],
    ['c', 'https://other.example', 0, ''],
    ['d', 'mock', 0, ''],
    ['e', 'https://id.example/realms/one', 4, 's9'],
  ]);
  await write({});
  await expect(openCredentialStore(run).read()).rejects.toThrow(
    errorWith('CREDENTIALS_UNREADABLE', 'state', 'missing'),
  );
});

test('account data for other processes is in separate files for any name', async () => {
  const run = await context();
  const credentials = openCredentialStore(run);
  expect(credentials.failurePath('a/b')).toMatch(/\/refresh-[0-9a-f]{16}\.failed$/);
  expect(credentials.failurePath('a')).not.toBe(credentials.failurePath('b'));
  const lock = await credentials.lockAccount('a/b', { waitMs: 0 });
  const held = credentials.failurePath('a/b').replace(/failed$/, 'lock');
  expect((await stat(held)).isFile()).toBe(true);
  await expect(credentials.lockAccount('a/b', { waitMs: 0 })).rejects.toMatchObject({
    detail: { code: 'LOCK_BUSY', retryable: true },
  });
  await lock?.release();
  await expect(stat(held)).rejects.toThrow();
});

test('a change writes the list of accounts for completion, and creates its directory', async () => {
  const run = await context();
  const state = join(run.directory, 'new', 'profile');
  const settings = { ...run.settings, directories: { ...run.settings.directories, state } };
  const credentials = openCredentialStore({ ...run, settings });
  await credentials.swap((data) => ({ data: withAccount(data, account('ada')) }));
  expect((await stat(state)).mode & 0o777).toBe(0o700);
  const before = await readFile(credentials.path, 'utf8');
  expect(Buffer.from(JSON.parse(before).iv, 'base64')).toHaveLength(12);
  // A swap that changes no data does not write the file.
  await credentials.swap((data) => ({ data }));
  expect(await readFile(credentials.path, 'utf8')).toBe(before);
  const listed = await Promise.all(
    (await run.host.files.list(state)).map((name) => readFile(join(state, name), 'utf8')),
  );
  expect(listed.filter((text) => text.includes('ada'))).toHaveLength(1);
});
