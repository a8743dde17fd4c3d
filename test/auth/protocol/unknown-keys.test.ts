/** ID tokens and security events that name a key that is not in the published key set. */
import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { expect, test } from 'vitest';
import { instantNow } from '../../../src/auth/auth-context.ts';
import { keepAccount } from '../../../src/auth/complete-login.ts';
import {
  type Account,
  accountFrom,
  accountNameFrom,
  describeAccount,
  mergeTokens,
} from '../../../src/auth/credential-store/account.ts';
import { openCredentialStore } from '../../../src/auth/credential-store/store.ts';
import { verifyWithFreshKeys } from '../../../src/auth/events/receiver.ts';
import { keyMemory, receiveTokens } from '../../../src/auth/issued-tokens.ts';
import type { TokenResponse } from '../../../src/auth/protocol/token-response.ts';
import { type FakeHost, fakeHost } from '../../support/fake-host.ts';
import { contextOn } from '../schedules/environment.ts';

const issuer = 'https://i.example';
const endpoints = { authorize: `${issuer}/auth`, token: `${issuer}/token`, revoke: `${issuer}/revoke` };
const keysAt = `${issuer}/keys`;
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const published = (kid: string) => ({
  ...pair.publicKey.export({ format: 'jwk' }),
  ...{ kid, alg: 'ES256', use: 'sig' },
});
const jwt = (header: object, claims: object): string => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'ES256', ...header })}.${part(claims)}`;
  const signature = sign('sha256', Buffer.from(text), { key: pair.privateKey, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
};

/** A machine whose key set can change. All runs on it are processes with one home directory. */
type World = {
  kid: string;
  reads: number;
  answer: { status?: number; body?: object | string } | undefined;
};
const machine = (kid = 'k1') => {
  const world: World = { kid, reads: 0, answer: undefined };
  const host = fakeHost({
    env: { OPSCTL_KEYCHAIN: 'never' },
    reply: (request) => {
      if (request.url !== keysAt) return { body: {} };
      world.reads += 1;
      return world.answer ?? { body: { keys: [published(world.kid)] } };
    },
  });
  return { host, world };
};
/** The warnings of a process on the machine. */
const listening = (host: FakeHost) => {
  const warnings: string[] = [];
  const context = contextOn(host);
  return {
    warnings,
    context: { ...context, log: { ...context.log, warn: (line: string) => void warnings.push(line) } },
  };
};
const issued = async (
  host: FakeHost,
  kid: string | undefined,
  claims: object = {},
): Promise<TokenResponse> => {
  const context = contextOn(host);
  // The checks of the library use the clock of this machine.
  const nowS = Math.floor(Date.now() / 1000);
  const own = { iss: issuer, aud: 'c', sub: 'ada', email: 'ada@x.example', iat: nowS, exp: nowS + 600 };
  const id_token = jwt({ kid }, { ...own, ...claims });
  const body = { access_token: `at-${kid}`, token_type: 'Bearer', refresh_token: `rt-${kid}`, id_token };
  return receiveTokens(
    context,
    'refresh',
    { endpoints, clientId: 'c', issuer, jwksUri: keysAt },
    { server: issuer, endpoints, clientId: 'c' },
    { status: 200, headers: { 'content-type': 'application/json' }, text: JSON.stringify(body) },
    { kind: 'refresh' },
  );
};

test('a flood of unknown keys causes one request for keys in a minute, in all processes', async () => {
  const { host, world } = machine();
  for (let at = 0; at < 20; at++)
    expect((await issued(host, `x${at}`)).identity).toMatchObject({ isUnconfirmed: true });
  expect(world.reads).toBe(1);
  host.advance(60_001);
  await issued(host, 'y');
  await issued(host, 'z');
  expect(world.reads).toBe(2);
});
test('sign-ins that name unknown keys in the same moment share one request for keys', async () => {
  const { host, world } = machine();
  const given = await Promise.all([...'0123456789'].map((at) => issued(host, `x${at}`)));
  expect(given.filter(({ identity }) => identity?.isUnconfirmed === true)).toHaveLength(10);
  expect(world.reads).toBe(1);
});
test('sign-ins with known keys in the same moment are all confirmed', async () => {
  const { host } = machine();
  const given = await Promise.all([1, 2, 3].map(() => issued(host, 'k1')));
  expect(given.filter(({ identity }) => identity?.isUnconfirmed !== true)).toHaveLength(3);
});
test('a directory that accepts no lock does not cost a sign-in', async () => {
  const { host } = machine();
  const files = { ...host.files, create: () => Promise.reject(new Error('EROFS')) };
  const given = await issued({ ...host, hostname: host.hostname, files }, 'k1');
  expect(given.identity).not.toHaveProperty('isUnconfirmed');
});
/** Records the pauses of a process that waits for a lock. The time limit of a request is longer. */
const countPauses = (given: FakeHost) => {
  const pauses: number[] = [];
  const sleep: FakeHost['sleep'] = (ms, ...rest) => {
    if (ms < 100) pauses.push(ms);
    return given.sleep(ms, ...rest);
  };
  return { host: { ...given, hostname: given.hostname, sleep }, pauses };
};
test('a lock that cannot be removed does not cost a sign-in', async () => {
  const { host } = machine();
  const files = { ...host.files, remove: () => Promise.reject(new Error('EBUSY')) };
  const given = await issued({ ...host, hostname: host.hostname, files }, 'k1');
  expect(given.identity).not.toHaveProperty('isUnconfirmed');
});
test.each([-12_001, 9e9])('a lock of another machine from %s ms is replaced immediately', async (ageMs) => {
  const { host, pauses } = countPauses(machine().host);
  const lock = `/state/unknown-keys.json.${hash('sha256', keysAt)}.lock`;
  const by = { pid: 7, nonce: 'n', machine: 'elsewhere', sinceMs: host.now() + ageMs };
  await host.files.replace(lock, JSON.stringify(by), 0o600);
  await issued(host, 'k1');
  expect(pauses).toEqual([]);
  expect(host.files.all()).not.toHaveProperty([lock]);
});
test('a lock for the keys of one address does not delay a sign-in at another address', async () => {
  const { host, pauses } = countPauses(machine().host);
  await keyMemory(contextOn(host)).alone('https://other.example/keys', async () => {
    await issued(host, 'k1');
  });
  expect(pauses).toEqual([]);
});
test.each([
  ['two keys have one ID', (own: object, other: object) => [{ ...other, kid: 'k1' }, own], false],
  ['another type of key has the same ID', (own: object) => [{ kty: 'oct', kid: 'k1', k: 'eA' }, own], false],
  ['the key has no ID, and the token names one', ({ kid: _, ...own }: { kid?: string }) => [own], true],
])('a key set in which %s costs no sign-in', async (_, keysOf, isUnconfirmed) => {
  const { host, world } = machine();
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  world.answer = { body: { keys: keysOf(published('k1'), { ...other, alg: 'ES256', use: 'sig' }) } };
  expect((await issued(host, 'k1')).identity?.isUnconfirmed === true).toBe(isUnconfirmed);
});
test('a token without a key ID is confirmed by a key set whose keys have none', async () => {
  const { host, world } = machine();
  const { kid: _, ...own } = published('k1');
  world.answer = { body: { keys: [own] } };
  expect((await issued(host, undefined)).identity).not.toHaveProperty('isUnconfirmed');
});
test('during the pause after an unknown key, the keys that were read still confirm tokens', async () => {
  const { host, world } = machine();
  await issued(host, 'x');
  expect((await issued(host, 'k1')).identity).not.toHaveProperty('isUnconfirmed');
  expect(world.reads).toBe(1);
});
test('known keys never start a pause: a rotation right after them confirms the next token', async () => {
  const { host, world } = machine();
  await issued(host, 'k1');
  world.kid = 'k2';
  expect((await issued(host, 'k2')).identity).not.toHaveProperty('isUnconfirmed');
});
test('a clock that was set back does not make the pause longer', async () => {
  const { host, world } = machine();
  await issued(host, 'x');
  await host.files.replace(
    '/state/unknown-keys.json',
    JSON.stringify([
      { ...JSON.parse(host.files.all()['/state/unknown-keys.json'] ?? '')[0], atMs: host.now() + 9e9 },
    ]),
    0o600,
  );
  await issued(host, 'y');
  expect(world.reads).toBe(2);
});

const signIn = async (
  host: FakeHost,
  kid: string,
  claims: object = {},
  name?: string,
  context = contextOn(host),
): Promise<Account> => {
  const response = await issued(host, kid, claims);
  const owner = { name: name ?? accountNameFrom(response), signIn: '', server: issuer, endpoints };
  const made = accountFrom({ ...owner, clientId: 'c' }, response, ['openid'], instantNow(host));
  return keepAccount(context, made, { name, unreadKeys: response.unreadKeys });
};
const stored = async (host: FakeHost) =>
  (await openCredentialStore(contextOn(host), issuer).read()).accounts.map(
    ({ name, accessToken }) => `${name} ${accessToken}`,
  );
const bob = { sub: 'bob', email: 'bob@x.example' };

test('an unconfirmed person names no account and replaces no confirmed one', async () => {
  const { host } = machine();
  await signIn(host, 'k1');
  const given = await signIn(host, 'x');
  expect(describeAccount(given, instantNow(host))).toMatchObject({
    ...{ account: 'default', email: null, subject: null },
  });
  expect(await stored(host)).toEqual(['ada@x.example at-k1', 'default at-x']);
});
test('an account that has a confirmed person is not replaced because it has the name of unconfirmed ones', async () => {
  const { host } = machine();
  await signIn(host, 'k1', {}, 'default');
  await signIn(host, 'x');
  expect(await stored(host)).toEqual(['default at-k1', 'default-2 at-x']);
});
test('an unconfirmed person gets the same account again, and another person another one', async () => {
  const { host } = machine();
  for (const [kid, who] of [
    ['x', {}],
    ['y', bob],
    ['z', {}],
  ] as const)
    await signIn(host, kid, who);
  expect(await stored(host)).toEqual(['default-2 at-y', 'default at-z']);
});
test.each([
  ['confirmed', 'k1', 'x'],
  ['unconfirmed', 'x', 'y'],
  ['unconfirmed, by a confirmed one', 'x', 'k1'],
])('tokens of another person never replace an account whose person is %s', async (_, first, second) => {
  const { host } = machine();
  await signIn(host, first, {}, 'work');
  await expect(signIn(host, second, bob, 'work')).rejects.toMatchObject({
    detail: { code: 'OTHER_IDENTITY' },
  });
  expect(await stored(host)).toEqual([`work at-${first}`]);
});
test('a refresh with a key of the server confirms the person', async () => {
  const { host } = machine();
  const account = await signIn(host, 'x');
  const now = instantNow(host);
  expect(describeAccount(mergeTokens(account, await issued(host, 'y'), now), now).subject).toBeNull();
  expect(describeAccount(mergeTokens(account, await issued(host, 'k1'), now), now)).toMatchObject({
    ...{ account: 'default', email: 'ada@x.example', subject: 'ada' },
  });
});

const ada = 'ada@x.example';
test('a sign-in of the same person keeps the account confirmed while the keys cannot be read', async () => {
  const { host, world } = machine();
  await signIn(host, 'k1');
  world.answer = { status: 503, body: '' };
  const { warnings, context } = listening(host);
  const given = await signIn(host, 'k1', {}, ada, context);
  expect(describeAccount(given, instantNow(host))).toMatchObject({
    account: ada,
    email: ada,
    subject: 'ada',
  });
  expect((await openCredentialStore(contextOn(host), issuer).read()).accounts).toEqual([
    expect.objectContaining({ email: ada, accessToken: 'at-k1' }),
  ]);
  expect(given).not.toHaveProperty('isUnconfirmed');
  expect(warnings).toEqual([]);
});
test.each([
  ['an unknown key', undefined, undefined],
  ['the status 503', { status: 503, body: '' }, 'HTTP 503'],
  ['the status 404', { status: 404, body: { keys: [] } }, 'HTTP 404'],
  ['a page', { body: '<html>' }, 'no key set'],
  ['two lists of keys', { body: '{"keys":[],"keys":[]}' }, 'appears twice'],
])(
  'the warning about %s contains the address of the keys only if they were not read',
  async (_, answer, why) => {
    const { host, world } = machine();
    world.answer = answer;
    const { warnings, context } = listening(host);
    await signIn(host, 'x', {}, undefined, context);
    expect(warnings).toEqual([expect.stringContaining(why ?? 'account default')]);
    expect(warnings.join().includes(keysAt)).toBe(why !== undefined);
    expect(warnings.join().includes('a minute')).toBe(why === undefined);
  },
);
test('an account whose issuer is not known does not confirm a person', async () => {
  const { host } = machine();
  await signIn(host, 'k1');
  await openCredentialStore(contextOn(host), issuer).swap((data) => ({
    data: {
      ...data,
      accounts: data.accounts.map(({ subjectIssuer: _, idToken: __, ...account }) => account),
    },
  }));
  expect(await signIn(host, 'x', {}, ada)).toMatchObject({ isUnconfirmed: true });
});
test('a warning about a new person of an account never contains an unconfirmed subject', async () => {
  const { host } = machine();
  await signIn(host, 'k1', {}, 'work');
  await openCredentialStore(contextOn(host), issuer).swap((data) => ({
    data: { ...data, accounts: data.accounts.map((account) => ({ ...account, subject: undefined })) },
  }));
  const { warnings, context } = listening(host);
  await signIn(host, 'x', { sub: 'hidden-subject' }, 'work', context);
  expect(warnings).not.toEqual([]);
  expect(warnings.join()).not.toContain('hidden-subject');
});
test('an account that a key confirms later is still of the same person', async () => {
  const { host } = machine();
  await signIn(host, 'x', {}, 'work');
  const { warnings, context } = listening(host);
  await signIn(host, 'k1', {}, 'work', context);
  expect(warnings).toEqual([]);
});

const event = (host: FakeHost, kid: string): string =>
  jwt(
    { kid, typ: 'secevent+jwt' },
    { iss: issuer, aud: 'c', jti: kid, iat: Math.floor(host.now() / 1000), events: { 'a/b': {} } },
  );
const receiver = (host: FakeHost, kid = 'k1', context = contextOn(host)) => {
  const cache = { keys: [published(kid)] };
  const options = { issuer, audiences: ['c'], server: 's', jwksUri: keysAt };
  return (token: string) => verifyWithFreshKeys(context, options, cache, token);
};
test('events that name a new key wait for one request and are all accepted', async () => {
  const { host, world } = machine('k2');
  const verify = receiver(host);
  const results = await Promise.all([1, 2, 3].map(() => verify(event(host, 'k2'))));
  expect(results).toEqual(results.map(() => expect.objectContaining({ id: 'k2' })));
  expect(world.reads).toBe(1);
});
test('an event with an unknown key is rejected after a request, and has to be delivered again before the next', async () => {
  const { host, world } = machine();
  const verify = receiver(host);
  expect(await verify(event(host, 'x'))).toMatchObject({ err: 'invalid_key' });
  expect(await verify(event(host, 'k2'))).toBeUndefined();
  world.kid = 'k2';
  host.advance(60_001);
  expect(await verify(event(host, 'k2'))).toMatchObject({ id: 'k2' });
  expect(world.reads).toBe(2);
});
test('receivers that get forged events in the same moment share one request for keys', async () => {
  const { host, world } = machine();
  await Promise.all([1, 2, 3, 4].map((at) => receiver(host)(event(host, `x${at}`))));
  expect(world.reads).toBe(1);
});
test('a flood of forged events causes one request in a minute, in all receivers', async () => {
  const { host, world } = machine();
  for (let at = 0; at < 5; at++) {
    const verify = receiver(host);
    for (let each = 0; each < 5; each++) await verify(event(host, `x${each}`));
  }
  expect(world.reads).toBe(1);
  host.advance(60_001);
  await receiver(host)(event(host, 'y'));
  expect(world.reads).toBe(2);
});
test('a broken signature and an algorithm that is not accepted are rejected for good, also during the pause', async () => {
  const { host } = machine();
  const verify = receiver(host);
  await verify(event(host, 'x'));
  expect(await verify(`${event(host, 'k1').slice(0, -4)}AAAA`)).toMatchObject({ err: 'invalid_key' });
  expect(await verify(jwt({ kid: 'x', alg: 'none' }, { iss: issuer }))).toMatchObject({ err: 'invalid_key' });
});
test('an event with a key that was published after another process read the keys is delivered again and accepted', async () => {
  const { host, world } = machine();
  await issued(host, 'x');
  world.kid = 'k2';
  host.advance(20_000);
  const verify = receiver(host);
  expect(await verify(event(host, 'k2'))).toBeUndefined();
  host.advance(40_001);
  // The pause counts from the request of the other process.
  expect(await verify(event(host, 'k2'))).toMatchObject({ id: 'k2' });
  expect(world.reads).toBe(2);
});
test('while the keys cannot be read, no event is rejected for good, and each pause has one request and one warning', async () => {
  const { host, world } = machine();
  world.answer = { status: 503, body: '' };
  const { warnings, context } = listening(host);
  const verify = receiver(host, 'k1', context);
  const broken = `${event(host, 'k1').slice(0, -4)}AAAA`;
  for (const token of [event(host, 'k2'), broken, event(host, 'k2')])
    expect(await verify(token)).toBeUndefined();
  expect([world.reads, warnings.length]).toEqual([1, 1]);
  host.advance(60_001);
  expect(await verify(event(host, 'k2'))).toBeUndefined();
  expect([world.reads, warnings.length]).toEqual([2, 2]);
  world.answer = undefined;
  world.kid = 'k2';
  host.advance(60_001);
  expect(await verify(event(host, 'k2'))).toMatchObject({ id: 'k2' });
});
test('an event with an algorithm that is not accepted causes no request for keys', async () => {
  const { host, world } = machine();
  expect(await receiver(host)(jwt({ kid: 'x', alg: 'none' }, { iss: issuer }))).toMatchObject({
    err: 'invalid_key',
  });
  expect(world.reads).toBe(0);
});
