import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { defaultOptions, type Environment } from '../../../src/mock-server/service-set.ts';
import { Store } from '../../../src/mock-server/store.ts';
import {
  findUser,
  idToken,
  type Signer,
  sameText,
  sha256,
  tokenHash,
} from '../../../src/mock-server/oauth/keys.ts';
import { makeAuth } from '../../../src/mock-server/oauth/service.ts';
import { type Auth, type Code, authState } from '../../../src/mock-server/oauth/state.ts';
import {
  issueFamily,
  issueForMachine,
  liveAccess,
  makeAccess,
  makeSweeper,
  readAccess,
  readRefresh,
} from '../../../src/mock-server/oauth/tokens.ts';
import { partlyMade } from '../../support/context.ts';

let now = 0;
let auth: Auth;
beforeEach(() => {
  now = 1_800_000_000_000;
  const env = partlyMade<Environment>({
    host: {},
    store: new Store(),
    options: defaultOptions,
    now: () => now,
    random: (n: number) => randomBytes(n),
    uuid: () => '',
    origin: () => 'http://127.0.0.1:1',
    later: () => {},
  });
  makeAuth(env).seed('demo');
  auth = authState(env);
});
const client = '417000000001-demodesktop000000000000000000000.apps.opsctl.example';
const code = (more: Partial<Code> = {}): Code => ({
  hash: 'h',
  user: '100001000000000000001',
  scopes: ['a', 'b', 'c'],
  signed_in_at: 0,
  access_for_seconds: null,
  created_at: now,
  used: null,
  asked: { client } as Code['asked'],
  ...more,
});
const issue = (more: Partial<Code> = {}) => auth.env.store.transact(() => issueFamily(auth, code(more)));

test('the times of an id_token are whole seconds: of the sign-in, of the token, and of its end', () => {
  now += 1999;
  const signer = { jwt: (alg: string, claims: object) => JSON.stringify({ alg, ...claims }) };
  const signedIn = code({
    scopes: ['openid'],
    signed_in_at: now - 90_000,
    asked: { nonce: 'n-1' } as Code['asked'],
  });
  const known = auth.clients.get(client);
  if (known === undefined) throw new Error('the client is missing');
  const given = { client: known, code: signedIn, issuer: 'http://127.0.0.1:1' };
  const { id_token = '{}' } = idToken(auth, partlyMade<Signer>(signer), given, 'token');
  const iat = 1_800_000_001;
  expect(JSON.parse(id_token)).toMatchObject({
    ...{ auth_time: iat - 90, iat, exp: iat + auth.settings().access_token_seconds, nonce: 'n-1' },
    ...{ iss: 'http://127.0.0.1:1', aud: client, azp: client },
  });
});

test.each([60, 3600])('a machine token is valid for its %d seconds, and not longer', (seconds) => {
  const { env } = auth;
  const settings = (): ReturnType<Auth['settings']> => ({
    ...auth.settings(),
    access_token_seconds: seconds,
  });
  const owner = { user: '100001000000000000001', client };
  const issued = env.store.transact(() => issueForMachine({ ...auth, settings }, owner, ['a']));
  expect(issued.expires_in).toBe(seconds);
  now += seconds * 1000 - 1;
  expect(liveAccess(auth, issued.access_token)).toBeDefined();
  now += 1;
  expect(liveAccess(auth, issued.access_token)).toBeUndefined();
});
test('a sweep keeps machine tokens as long as they are valid', () => {
  const settings = (): ReturnType<Auth['settings']> => ({
    ...auth.settings(),
    ...{ access_token_seconds: 3600, refusal_text_hours: null },
  });
  const own = { ...auth, settings };
  auth.env.store.transact(() => {
    for (let i = 0; i < 1500; i += 1) issueForMachine(own, { user: `m${i}`, client }, ['a']);
  });
  const leftAfter = (ms: number): number => {
    now += ms;
    makeSweeper(own)();
    return auth.families.size;
  };
  expect([leftAfter(3_599_999), leftAfter(1)]).toEqual([1500, 0]);
});

describe('access tokens carry all they need', () => {
  test('number, scopes and end come back', () => {
    const { family } = issue();
    const token = makeAccess(auth, family, now + 10_000, ['a', 'c']);
    expect(readAccess(auth, token)).toEqual({ family, scopes: ['a', 'c'], endsAt: now + 10_000 });
    expect(token).toMatch(/^ma1\.[A-Za-z0-9_-]{64}$/);
    expect(makeAccess(auth, family, now + 10_000, ['a', 'c'])).not.toBe(token);
  });
  test('a changed sign anywhere makes it worthless', () => {
    const token = makeAccess(auth, issue().family, now + 10_000, ['a']);
    for (let i = 4; i < token.length; i += 1) {
      const changed = `${token.slice(0, i)}${token[i] === 'A' ? 'B' : 'A'}${token.slice(i + 1)}`;
      expect(readAccess(auth, changed), String(i)).toBeUndefined();
    }
  });
  test('rubbish is refused without harm', () => {
    const found = (text: string) =>
      readAccess(auth, text) ??
      readAccess(auth, `ma1.${text}`) ??
      readRefresh(auth, text) ??
      readRefresh(auth, `1//1-${text}`);
    fc.assert(fc.property(fc.string(), (text) => found(text) === undefined));
  });
  test('thirty scopes fit', () => {
    const scopes = Array.from({ length: 30 }, (_, i) => `s${i}`);
    const { family } = issue({ scopes });
    expect(readAccess(auth, makeAccess(auth, family, now + 1, scopes))?.scopes).toEqual(scopes);
    expect(readAccess(auth, makeAccess(auth, family, now + 1, ['s29']))?.scopes).toEqual(['s29']);
  });
  test('a token of a disabled user or a deleted client is not valid', () => {
    const { family } = issue();
    const token = makeAccess(auth, family, now + 10_000, ['a']);
    expect(liveAccess(auth, token)).toBeDefined();
    const user = auth.users.get(family.user);
    auth.env.store.transact(() => auth.users.put(family.user, { ...user, state: 'disabled' } as never));
    expect(liveAccess(auth, token)).toBeUndefined();
    auth.env.store.transact(() => auth.users.put(family.user, user as never));
    const app = auth.clients.get(client);
    auth.env.store.transact(() => auth.clients.put(client, { ...app, deleted_at: now } as never));
    expect(liveAccess(auth, token)).toBeUndefined();
  });
});

test('refresh tokens are stored as a hash and found by their number', () => {
  const { family, refreshToken } = issue();
  expect(family.hash).toBe(tokenHash(refreshToken));
  expect(JSON.stringify(family)).not.toContain(refreshToken.slice(-43));
  expect(readRefresh(auth, refreshToken)?.id).toBe(family.id);
  expect(
    readRefresh(auth, `${refreshToken.slice(0, -1)}${refreshToken.endsWith('A') ? 'B' : 'A'}`),
  ).toBeUndefined();
});

test('a model of the limits: after any sequence of sign-ins at most N for a client and M for a user live, the newest ones', () => {
  const sequence = fc.array(fc.tuple(fc.constantFrom('u1', 'u2'), fc.constantFrom('c1', 'c2', 'c3')), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(
      sequence,
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 6 }),
      (logins, perClient, perUser) => {
        auth.env.store.transact(() => {
          auth.single.put('settings', {
            ...auth.settings(),
            refresh_tokens_per_client: perClient,
            refresh_tokens_per_user: perUser,
          });
          for (const [key] of [...auth.families.entries()]) auth.families.delete(key);
        });
        let model: { id: number; user: string; client: string }[] = [];
        for (const [user, app] of logins) {
          const { family } = issue({ user, asked: { client: app } as Code['asked'] });
          model.push({ id: family.id, user, client: app });
          const same = model.filter((one) => one.user === user && one.client === app);
          model = model.filter((one) => !same.slice(0, -perClient).includes(one));
          const mine = model.filter((one) => one.user === user);
          model = model.filter((one) => !mine.slice(0, -perUser).includes(one));
        }
        const live = auth.families.filter((family) => family.stopped_at === null).map(({ id }) => id);
        expect(live.sort((a, b) => a - b)).toEqual(model.map(({ id }) => id).sort((a, b) => a - b));
      },
    ),
    { numRuns: 60 },
  );
});

test('the sweeper keeps valid tokens and drops expired ones, in any order', () => {
  const sweep = makeSweeper(auth);
  for (let i = 0; i < 1500; i += 1) issue({ user: `u${i}`, access_for_seconds: i % 2 === 0 ? 60 : null });
  sweep();
  expect(auth.families.size).toBe(1500);
  now += 61_000;
  for (let i = 0; i < 1600; i += 1) issue({ user: `v${i}` });
  sweep();
  expect(auth.families.size).toBe(750 + 1600);
});

test.each([
  ['evicted', 'stopped_at', 3_599_000],
  ['revoked with a delay of 60 s', 'revoked_at', 60_000],
] as const)(
  'the sweeper keeps a token that was %s as long as an access token of it is valid',
  (_, field, ms) => {
    const settings = { ...auth.settings(), revoke_delay_seconds: 60 };
    const delayed = { ...auth, settings: () => settings };
    for (let i = 0; i < 1001; i += 1) issue({ user: `u${i}` });
    for (const family of auth.families.values()) Object.assign(family, { [field]: now });
    const leftAfter = (passed: number): number => {
      now += passed;
      makeSweeper(delayed)();
      return auth.families.size;
    };
    expect([leftAfter(ms - 1), leftAfter(1)]).toEqual([1001, 0]);
  },
);

test('texts are compared whole', () => {
  for (const [a, b, same] of [
    ['a', 'a', true],
    ['a', 'b', false],
    ['a', 'ab', false],
    ['', '', true],
    ['é', 'e', false],
  ] as const)
    expect(sameText(a, b)).toBe(same);
  expect(sha256('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0');
});
test('an address means its active user, whichever record is older, and its deleted user only if there is no other', () => {
  const [base] = auth.users.filter(() => true);
  if (base === undefined) throw new Error('the demo has no users');
  const put = (id: string, state: typeof base.state): void =>
    auth.env.store.transact(() => auth.users.put(id, { ...base, id, email: 'Old@Example.com', state }));
  put('1', 'deleted');
  expect(findUser(auth, ' old@example.com ')?.id).toBe('1');
  put('2', 'active');
  expect(findUser(auth, 'OLD@example.com')?.id).toBe('2');
  expect(findUser(auth, '1')?.id).toBe('1');
  expect(findUser(auth, 'nobody@example.com')).toBeUndefined();
});
