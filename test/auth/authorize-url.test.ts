import { expect, test } from 'vitest';
import { authorizeUrl } from '../../src/auth/callback.ts';

const secrets = { challenge: 'c'.repeat(43), state: 's t&a+te', nonce: 'n1' };
const made = (scopes: string[], more = {}) =>
  authorizeUrl({
    endpoint: 'https://a.example/o/oauth2/v2/auth',
    clientId: 'id',
    redirectUri: 'http://127.0.0.1:4711',
    scopes,
    secrets,
    ...more,
  });

test('spec/sign-in#authorize: every parameter, the method named', () => {
  expect(
    Object.fromEntries(
      new URL(made(['x/media', 'x/media.readonly'], { loginHint: 'a@b.example' })).searchParams,
    ),
  ).toEqual({
    client_id: 'id',
    redirect_uri: 'http://127.0.0.1:4711',
    response_type: 'code',
    scope: 'x/media x/media.readonly',
    code_challenge: secrets.challenge,
    code_challenge_method: 'S256',
    state: 's t&a+te',
    login_hint: 'a@b.example',
  });
});

test('spaces are encoded as %20, never as +', () => {
  const url = made(['a', 'b']);
  expect(url).toContain('scope=a%20b');
  expect(url).not.toContain('+');
});

test('a nonce is sent when an id_token will come, and only then', () => {
  expect(new URL(made(['openid'])).searchParams.get('nonce')).toBe('n1');
  expect(new URL(made(['x/media'])).searchParams.has('nonce')).toBe(false);
});

test('a query that the endpoint has already is kept', () => {
  const url = new URL(
    authorizeUrl({
      endpoint: 'https://a.example/auth?tenant=7',
      clientId: 'id',
      redirectUri: 'http://127.0.0.1:1',
      scopes: ['a'],
      secrets,
    }),
  );
  expect(url.searchParams.get('tenant')).toBe('7');
});
