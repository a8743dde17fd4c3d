import { expect, test } from 'vitest';
import {
  type Account,
  accountFrom,
  accountNameFrom,
  describeAccount,
  endedAccount,
  freeName,
  isFresh,
  isSamePerson,
  mergeTokens,
  personOf,
  secretsOf,
  withAccount,
  withoutAccount,
} from '../../../src/auth/credential-store/account.ts';

const owner = {
  name: 'ada',
  signIn: 's1',
  server: 's',
  endpoints: { authorize: 'a', token: 't', revoke: 'r' },
  clientId: 'c',
};
const now = 1_000_000;
const account = (more: Partial<Account> = {}): Account => ({
  ...accountFrom(
    owner,
    { accessToken: 'a1', expiresInS: 3600, refreshToken: 'r1', scopes: ['x'] },
    ['x', 'y'],
    { wallMs: now },
  ),
  ...more,
});

test.each([
  [0, 0, true],
  [3539_000, 0, true],
  [3540_000, 0, false],
  [3600_000, 0, false],
  [0, 3599_000, true],
  [0, 3600_000, false],
  [1800_000, 1800_000, false],
])('after %i ms, with %i ms wanted, the token is valid: %s (clock skew 60 s)', (passedMs, minTtlMs, good) => {
  expect(isFresh(account(), { wallMs: now + passedMs }, minTtlMs)).toBe(good);
});

test('a token with a lifetime below the clock skew is not refreshed in a loop', () => {
  const brief = accountFrom(owner, { accessToken: 'a', expiresInS: 20 }, [], { wallMs: now });
  expect(isFresh(brief, { wallMs: now })).toBe(true);
  expect(isFresh(brief, { wallMs: now + 11_000 })).toBe(false);
});

test('a token without a known end is used until it is refused', () => {
  expect(isFresh(accountFrom(owner, { accessToken: 'a' }, [], { wallMs: now }), { wallMs: now * 1000 })).toBe(
    true,
  );
});

test('spec/sign-in#refresh: a response without a refresh token keeps the stored one', () => {
  expect(mergeTokens(account(), { accessToken: 'a2', expiresInS: 100 }, { wallMs: now + 5 })).toMatchObject({
    accessToken: 'a2',
    refreshToken: 'r1',
    granted: ['x'],
    accessExpiresMs: now + 100_005,
  });
});

test('a rotated refresh token and other scopes replace the old ones', () => {
  expect(
    mergeTokens(account(), { accessToken: 'a2', refreshToken: 'r2', scopes: ['z'] }, { wallMs: now }),
  ).toMatchObject({
    refreshToken: 'r2',
    granted: ['z'],
    requested: ['x', 'y'],
  });
});

test('a refresh replaces the type of the token, and a response without a type keeps it', () => {
  const bound = account({ tokenType: 'DPoP' });
  expect(mergeTokens(bound, { accessToken: 'a2', tokenType: 'Bearer' }, { wallMs: now }).tokenType).toBe(
    'Bearer',
  );
  expect(mergeTokens(bound, { accessToken: 'a2' }, { wallMs: now }).tokenType).toBe('DPoP');
});

test('a refresh keeps the endpoints unless its response names others', () => {
  const other = { authorize: 'a2', token: 't2', revoke: 'r2' };
  expect(mergeTokens(account(), { accessToken: 'a2' }, { wallMs: now }).endpoints).toEqual(owner.endpoints);
  expect(mergeTokens(account(), { accessToken: 'a2', endpoints: other }, { wallMs: now }).endpoints).toEqual(
    other,
  );
});

test('spec/sign-in#token-4 refresh_token_expires_in is kept with its own end', () => {
  const timed = accountFrom(owner, { accessToken: 'a', refreshToken: 'r', refreshExpiresInS: 60 }, [], {
    wallMs: now,
  });
  expect(timed.refreshExpiresMs).toBe(now + 60_000);
  expect(mergeTokens(timed, { accessToken: 'b' }, { wallMs: now + 1 }).refreshExpiresMs).toBe(now + 60_000);
});

test('a response without scopes grants the requested ones (RFC 6749 5.1)', () => {
  expect(accountFrom(owner, { accessToken: 'a' }, ['x', 'y'], { wallMs: now }).granted).toEqual(['x', 'y']);
});

test('an ended account has no secret left', () => {
  expect(secretsOf(endedAccount(account({ idToken: 'i' }), 'revoked'))).toEqual([]);
});

test('accounts are replaced by name; the newest is current; removing it makes the only other one current', () => {
  const one = withAccount({ accounts: [] }, account());
  const two = withAccount(one, account({ name: 'bob' }));
  expect(two).toMatchObject({ current: 'bob', accounts: [{ name: 'ada' }, { name: 'bob' }] });
  expect(withAccount(two, account({ clientId: 'other' })).accounts).toHaveLength(2);
  expect(withoutAccount(two, 'bob')).toMatchObject({ current: 'ada', accounts: [{ name: 'ada' }] });
  expect(withoutAccount(two, 'ada').current).toBe('bob');
  const three = withAccount(two, account({ name: 'eve' }));
  expect(withoutAccount(three, 'eve').current).toBeUndefined();
  expect(withoutAccount(three, 'ada').current).toBe('eve');
});

test.each([
  [{ sub: 's', email: 'ada@example.com' }, 'ada@example.com'],
  [{ sub: 'a b;$(x)' }, 'a-b---x-'],
  [undefined, 'default'],
])('the name of %j is %s', (identity, name) => {
  expect(accountNameFrom({ accessToken: 'a', identity })).toBe(name);
});

test('an account starts before its first generation, and keeps an ID token that a refresh omits', () => {
  expect(account().generation).toBe(0);
  const signed = account({ idToken: 'i1' });
  expect(mergeTokens(signed, { accessToken: 'a2' }, { wallMs: now }).idToken).toBe('i1');
  expect(mergeTokens(signed, { accessToken: 'a2', idToken: 'i2' }, { wallMs: now }).idToken).toBe('i2');
});

test('a name that another server has gets the name of its server; the same server keeps it', () => {
  const data = { accounts: [account({ name: 'ada', server: 'https://a.example/x' })] };
  expect(freeName(data, 'ada', 'https://a.example/x')).toBe('ada');
  expect(freeName(data, 'ben', 'https://b.example')).toBe('ben');
  expect(freeName(data, 'ada', 'https://b.example:8443/r m')).toBe('ada@b.example-8443-r-m');
  expect(freeName(data, 'ada', 'http://b.example')).toBe('ada@b.example');
});

test.each([
  ['the same subject of the same issuer', { sub: 'a', iss: 'i' }, { sub: 'a', iss: 'i' }, true],
  ['the same subject of another issuer', { sub: 'a', iss: 'i' }, { sub: 'a', iss: 'j' }, false],
  ['another subject of the same issuer', { sub: 'a', iss: 'i' }, { sub: 'b', iss: 'i' }, false],
  ['the same subject of an unknown issuer', { sub: 'a', iss: 'i' }, { sub: 'a', iss: undefined }, true],
])('%s: same person or not', (_, left, right, isSame) => {
  expect([isSamePerson(left, right), isSamePerson(right, left)]).toEqual([isSame, isSame]);
});
test('the issuer of a person is the stored one, else that of the id_token', () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const idToken = `${part({ alg: 'RS256' })}.${part({ iss: 'https://token.example', sub: 'a' })}.c2ln`;
  const of = (more: Partial<Account>) => personOf(account({ subject: 'a', ...more }));
  expect(of({ subjectIssuer: 'https://stored.example' }).iss).toBe('https://stored.example');
  expect(of({ subjectIssuer: 'https://stored.example', idToken }).iss).toBe('https://stored.example');
  expect(of({ idToken }).iss).toBe('https://token.example');
  expect(of({}).iss).toBeUndefined();
});
test('the description of an account names its token type, Bearer if the service named none', () => {
  const typeOf = (more: Partial<Account>) => describeAccount(account(more), { wallMs: now }).token_type;
  expect([typeOf({ tokenType: 'DPoP' }), typeOf({})]).toEqual(['DPoP', 'Bearer']);
});
