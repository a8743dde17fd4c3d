import { expect, test } from 'vitest';
import {
  type Account,
  describeAccount,
  lifeText,
  missingScopes,
  scopeLines,
} from '../../src/auth/credential-store/account.ts';

const now = { wallMs: Date.UTC(2026, 0, 2, 3, 4, 5) };
const account = (patch: Partial<Account> = {}): Account => ({
  name: 'ada@example.com',
  generation: 1,
  signIn: 's1',
  server: 'https://accounts.example.com',
  endpoints: { authorize: 'https://a/auth', token: 'https://t/token', revoke: 'https://t/revoke' },
  clientId: 'client',
  requested: ['openid', 'x.read', 'x.write'],
  granted: ['openid', 'x.read'],
  obtainedMs: now.wallMs - 600_000,
  accessToken: 'secret-access',
  accessExpiresMs: now.wallMs + 3_000_000,
  refreshToken: 'secret-refresh',
  ...patch,
});

test('an account is shown with times, scopes and no secret', () => {
  const shown = describeAccount(account(), now);
  expect(shown).toEqual({
    account: 'ada@example.com',
    email: null,
    subject: null,
    server: 'https://accounts.example.com',
    client_id: 'client',
    method: null,
    token_type: 'Bearer',
    signed_in: true,
    scopes: ['openid', 'x.read'],
    missing_scopes: ['x.write'],
    expires_at: '2026-01-02T03:54:05.000Z',
    expires_in: 3000,
    has_refresh_token: true,
    refresh_expires_at: null,
    ended: null,
    refresh_failure: null,
  });
  expect(JSON.stringify(shown)).not.toContain('secret');
});
test('an account of a machine names the method that signs it in again', () => {
  const shown = describeAccount(account({ method: { name: 'service-account', scopes: [] } }), now);
  expect(shown.method).toBe('service-account');
});

test.each([
  ['without tokens', { accessToken: undefined, refreshToken: undefined }, false],
  ['with a fresh access token only', { refreshToken: undefined }, true],
  ['with an old access token only', { refreshToken: undefined, accessExpiresMs: now.wallMs - 1 }, false],
  ['with a refresh token only', { accessToken: undefined }, true],
  ['that was ended', { ended: 'revoked' }, false],
])('an account %s: signed in is %s', (_, patch, signedIn) => {
  expect(describeAccount(account(patch), now).signed_in).toBe(signedIn);
});

test('an expired token has no remaining seconds, and a token without expiry shows that', () => {
  expect(describeAccount(account({ accessExpiresMs: now.wallMs - 5000 }), now).expires_in).toBe(0);
  expect(describeAccount(account({ accessExpiresMs: undefined }), now)).toMatchObject({
    expires_at: null,
    expires_in: null,
  });
  expect(lifeText(account({ accessExpiresMs: undefined }), now)).toBe('token without a known end');
  expect(lifeText(account(), now)).toMatch(/^token valid for 50/);
});

test('identity scopes that the id_token proves are not missing', () => {
  const patch = { requested: ['openid', 'email', 'x.read'], granted: ['x.read'] };
  expect(missingScopes(account(patch))).toEqual(['openid', 'email']);
  expect(missingScopes(account({ ...patch, idToken: 'jwt' }))).toEqual([]);
});

test('every scope has a line with its grant status', () => {
  expect(scopeLines(account())).toEqual([
    '  ✓ granted      openid',
    '  ✓ granted      x.read',
    '  ✗ not granted  x.write',
  ]);
});
