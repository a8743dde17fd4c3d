import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Account, withAccount } from '../../src/auth/credential-store/account.ts';
import { openCredentialStore, profileOfServer } from '../../src/auth/credential-store/store.ts';
import { keepAccount } from '../../src/auth/complete-login.ts';
import { storedAccount, storedEverywhere, useServerProfile } from '../../src/auth/server-profiles.ts';
import { type AuthContextOptions, makeAuthContext, type TestAuthContext } from './auth-context.ts';
import { covers } from '../support/covers.ts';

let open: TestAuthContext[] = [];
afterEach(async () => {
  for (const each of open) await each.close();
  open = [];
});
const contextWith = async (options: AuthContextOptions = {}): Promise<TestAuthContext> => {
  const context = await makeAuthContext(options);
  open.push(context);
  return context;
};

const account = (name: string, server: string): Account => ({
  name,
  server,
  endpoints: { authorize: `${server}/a`, token: `${server}/t`, revoke: `${server}/r` },
  clientId: 'c',
  requested: [],
  granted: [],
  generation: 1,
  signIn: 's1',
  obtainedMs: 0,
  accessToken: `at-${name}`,
});
const [one, two] = ['https://one.example.com', 'https://two.example.com'];
const rootOf = ({ directory }: TestAuthContext): string => dirname(directory);
const isStored = (context: TestAuthContext, profile: string): boolean =>
  existsSync(join(rootOf(context), profile, 'credentials.json'));
const placesOf = async (context: TestAuthContext): Promise<string[]> =>
  (await storedEverywhere(context)).map(
    ({ place, data }) => `${place.profile}: ${data.accounts.map(({ name }) => name)}`,
  );

test.each([
  ['mock', 'mock'],
  ['https://accounts.example.com', 'accounts.example.com'],
  ['https://sso.example.com:8443/realms/one', 'sso.example.com-8443-realms-one'],
  ['http://127.0.0.1:41234', 'localhost'],
  ['http://[::1]:41234/realms/one', 'localhost'],
  ['https://[2001:db8::1]', '2001-db8-1'],
  ['https://a.example/../../etc', 'a.example-etc'],
])('the profile of %s is %s', (server, profile) => {
  expect(profileOfServer(server, 'mock')).toBe(profile);
});

test('long names of servers stay different', () => {
  const names = ['one', 'two'].map((end) =>
    profileOfServer(`https://${'long-'.repeat(20)}.example.com/${end}`, 'mock'),
  );
  expect(new Set(names).size).toBe(2);
  for (const name of names) expect(name).toMatch(/^[\w.-]{1,64}$/);
});

test('a real server has a separate profile; commands without a server use the last sign-in', async () => {
  const context = await contextWith();
  await keepAccount(context, account('ada', one));
  await keepAccount(context, account('bob', two));
  expect([isStored(context, 'mock'), isStored(context, 'state')]).toEqual([false, false]);
  expect([isStored(context, 'one.example.com'), isStored(context, 'two.example.com')]).toEqual([true, true]);
  expect((await storedAccount(context)).name).toBe('bob');
  expect((await storedAccount(context, 'ada')).server).toBe(one);
  await useServerProfile(context, one);
  expect((await storedAccount(context)).name).toBe('ada');
  const configured = await contextWith({ directory: context.directory, settings: { 'auth.url': two } });
  expect((await storedAccount(configured)).name).toBe('bob');
});

test('the embedded server keeps its profile', covers('setting/mock'), async () => {
  const context = await contextWith();
  await keepAccount(context, account('ada', 'mock'));
  expect(existsSync(join(context.directory, 'credentials.json'))).toBe(true);
  expect(await placesOf(context)).toEqual(['mock: ada']);
});

test('a named profile contains all its sign-ins', async () => {
  const context = await contextWith();
  const profile = { name: 'work', origin: 'flag --profile' };
  const named = { ...context, settings: { ...context.settings, profile } };
  await keepAccount(named, account('ada', one));
  expect(existsSync(join(context.directory, 'credentials.json'))).toBe(true);
  expect(existsSync(join(rootOf(context), 'sign-ins.json'))).toBe(false);
});

test('of two accounts of a server, none is chosen unless it is current or named', async () => {
  const context = await contextWith({ settings: { 'auth.url': one } });
  const profile = { name: 'work', origin: 'flag --profile' };
  const named = { ...context, settings: { ...context.settings, profile } };
  await keepAccount(named, account('ada', one));
  await keepAccount(named, account('bob', two));
  expect((await storedAccount(named)).name).toBe('ada');
  await keepAccount(named, account('eve', one));
  await keepAccount(named, account('bob', two));
  await expect(storedAccount(named)).rejects.toMatchObject({
    category: 'usage',
    detail: { code: 'AMBIGUOUS_ACCOUNT' },
    message: expect.stringContaining('ada, eve'),
  });
  expect((await storedAccount(named, 'eve')).name).toBe('eve');
  await openCredentialStore(named).swap((data) => ({ data: { ...data, current: 'ada' } }));
  expect((await storedAccount(named)).name).toBe('ada');
});

test('accounts that an earlier version kept under mock are read, and move at the next sign-in', async () => {
  const context = await contextWith();
  const old = openCredentialStore(context);
  for (const each of [account('eve', 'mock'), account('bob', two), account('ada', one)])
    await old.swap((data) => ({ data: withAccount(data, each) }));
  expect((await storedAccount(context)).name).toBe('ada');
  expect((await storedAccount(context, 'bob')).name).toBe('bob');
  await keepAccount(context, account('new', one));
  expect((await placesOf(context)).sort()).toEqual([
    'mock: eve',
    'one.example.com: ada,new',
    'two.example.com: bob',
  ]);
  expect(await storedAccount(context, 'ada')).toMatchObject({ accessToken: 'at-ada', signIn: 's1' });
});

test('an unreadable list of sign-ins is reported, without guessing', async () => {
  const context = await contextWith();
  await keepAccount(context, account('ada', one));
  const path = join(rootOf(context), 'sign-ins.json');
  expect(readFileSync(path, 'utf8')).not.toContain('at-ada');
  for (const text of ['{', 'null', '{"current":"../x","profiles":[]}']) {
    writeFileSync(path, text);
    await expect(storedAccount(context)).rejects.toThrow('the list of sign-ins, cannot be read');
  }
});
