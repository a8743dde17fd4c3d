import { describe, expect, test } from 'vitest';
import {
  type Account,
  numberGenerations,
  type StoredCredentials,
  swapEnded,
  swapRefreshed,
  swapRemoved,
  swapSignedIn,
} from '../../../src/auth/credential-store/account.ts';
import type { TokenResponse } from '../../../src/auth/protocol/token-response.ts';

const account = (patch: Partial<Account> = {}): Account => ({
  ...{ name: 'ada', server: 's', endpoints: { authorize: 'a', token: 't', revoke: 'r' }, clientId: 'c' },
  ...{ requested: [], granted: ['read'], generation: 1, signIn: 's1', obtainedMs: 0 },
  ...{ accessToken: 'a1', refreshToken: 'r1' },
  ...patch,
});
const stored = (...accounts: Account[]): StoredCredentials => ({ current: 'ada', accounts });
const asked = { wallMs: 9, boot: undefined } as Parameters<typeof swapRefreshed>[3];
const answer = { accessToken: 'a2', refreshToken: 'r2' } as TokenResponse;
const used = account();
const signedInAgain = account({ signIn: 's2', accessToken: 'a9', refreshToken: 'r9' });
const tokens = ({ data }: { data: StoredCredentials }) =>
  data.accounts.map(({ accessToken, refreshToken }) => [accessToken, refreshToken]);

describe('the response to a refresh', () => {
  const refreshed = (now: StoredCredentials, response = answer) => {
    const swap = swapRefreshed(now, used, response, asked);
    return { outcome: swap.outcome, tokens: tokens(swap), isSame: swap.data === now };
  };
  test('the response is stored if no other process wrote in the meantime', () => {
    expect(refreshed(stored(used))).toEqual({ outcome: 'stored', tokens: [['a2', 'r2']], isSame: false });
  });
  test('the tokens are added to the stored account, not to the account that was read', () => {
    const now = account({ email: 'ada@example.com', granted: ['read', 'write'] });
    const { data } = swapRefreshed(stored(now), used, answer, asked);
    expect(data.accounts).toMatchObject([{ accessToken: 'a2', email: 'ada@example.com' }]);
  });
  test.each<[string, StoredCredentials, string]>([
    ['who signed out', stored(), 'signed-out'],
    ['another account', stored(account({ name: 'bob' })), 'signed-out'],
    ['who signed in again', stored(signedInAgain), 'superseded'],
    ['whose sign-in is over', stored(account({ ended: 'revoked' })), 'ended'],
    ['whose newer sign-in is over', stored(account({ refreshToken: 'r5', ended: 'revoked' })), 'ended'],
    ['who has a newer refresh token', stored(account({ refreshToken: 'r5' })), 'superseded'],
  ])('the response does not change an account that %s', (_, now, outcome) => {
    expect(refreshed(now)).toMatchObject({ outcome, isSame: true });
  });
  test('keeps the new refresh token when the access token is another one or was dropped', () => {
    expect(refreshed(stored(account({ accessToken: 'a5' })))).toEqual({
      ...{ outcome: 'superseded', tokens: [['a5', 'r2']], isSame: false },
    });
    const { accessToken: _, ...dropped } = account();
    expect(refreshed(stored(dropped))).toMatchObject({ outcome: 'ask-again', tokens: [[undefined, 'r2']] });
    const same = { accessToken: 'a2', refreshToken: 'r1' } as TokenResponse;
    const none = { accessToken: 'a2' } as TokenResponse;
    for (const response of [same, none])
      expect(refreshed(stored(account({ accessToken: 'a5' })), response).isSame).toBe(true);
  });
});

test('tokens that were refused go, and no newer ones', () => {
  const ended = (now: StoredCredentials) => swapEnded(now, used, 'refused');
  expect(ended(stored())).toMatchObject({ outcome: 'signed-out' });
  expect(ended(stored(signedInAgain))).toMatchObject({ outcome: 'superseded' });
  expect(ended(stored(account({ refreshToken: 'r2' })))).toMatchObject({ outcome: 'superseded' });
  const over = ended(stored(account({ accessToken: 'a2' })));
  expect([over.outcome, tokens(over), over.data.accounts[0]?.ended]).toEqual([
    ...['ended', [[undefined, undefined]], 'refused'],
  ]);
});

test('an account is removed only if it is unchanged since the read', () => {
  const removed = (now: StoredCredentials) => swapRemoved(now, used);
  expect(removed(stored()).outcome).toBe('gone');
  expect(removed(stored(signedInAgain)).outcome).toBe('replaced');
  expect(removed(stored(account({ refreshToken: 'r2' }))).outcome).toBe('refreshed');
  const bob = account({ name: 'bob' });
  expect(removed(stored(used, bob))).toEqual({
    ...{ outcome: 'removed', data: { current: 'bob', accounts: [bob] } },
  });
});

test('a sign-in that adds scopes never removes a scope from a concurrent sign-in', () => {
  const wider = account({ signIn: 's2', granted: ['read', 'write'] });
  const signIn = (now: StoredCredentials, next: Account, base: Account | undefined) =>
    swapSignedIn(now, next, base).outcome;
  expect(signIn(stored(wider), used, used)).toBe('changed');
  expect(signIn(stored(wider), used, undefined)).toBe('stored');
  expect(signIn(stored(wider), used, wider)).toBe('stored');
  expect(signIn(stored(), used, used)).toBe('stored');
  expect(signIn(stored(wider), account({ granted: ['read', 'write'] }), used)).toBe('stored');
  expect(swapSignedIn(stored(wider), used, used).data.accounts).toEqual([wider]);
});

test('every account that an edit changes gets a new generation', () => {
  const bob = account({ name: 'bob', generation: 2 });
  const before = { ...stored(used, bob), generation: 7 };
  const after = numberGenerations(before, { ...before, accounts: [{ ...used }, bob] });
  expect(after.accounts.map(({ generation }) => generation)).toEqual([8, 2]);
  expect(after.generation).toBe(8);
  expect(after.accounts[1]).toBe(bob);
  const first = numberGenerations(stored(), stored(used, bob));
  expect([first.generation, first.accounts.map(({ generation }) => generation)]).toEqual([2, [1, 2]]);
});
