import { expect, test } from 'vitest';
import { endpointProblems, endpointsFrom, serverKey } from '../../src/auth/protocol/token-client.ts';
import { covers } from '../support/covers.ts';
import { naming } from '../support/facts.ts';

test.each([
  [
    { auth: 'https://a.example', token: 'https://t.example' },
    ['https://a.example/o/oauth2/v2/auth', 'https://t.example/token', 'https://t.example/revoke'],
  ],
  [
    { auth: 'https://a.example/', token: 'https://t.example/' },
    ['https://a.example/o/oauth2/v2/auth', 'https://t.example/token', 'https://t.example/revoke'],
  ],
  [
    { auth: 'https://a.example' },
    ['https://a.example/o/oauth2/v2/auth', 'https://a.example/token', 'https://a.example/revoke'],
  ],
  [
    {
      auth: 'https://a.example/o/oauth2/v2/auth',
      token: 'https://t.example/token',
      revoke: 'https://r.example/revoke',
    },
    ['https://a.example/o/oauth2/v2/auth', 'https://t.example/token', 'https://r.example/revoke'],
  ],
  [
    { auth: 'https://a.example/auth', token: 'https://a.example/x/token' },
    ['https://a.example/auth', 'https://a.example/x/token', 'https://a.example/x/revoke'],
  ],
  [
    { auth: 'http://127.0.0.1:9', revoke: 'http://127.0.0.1:9' },
    ['http://127.0.0.1:9/o/oauth2/v2/auth', 'http://127.0.0.1:9/token', 'http://127.0.0.1:9/revoke'],
  ],
])('spec/sign-in#authorize: %j', covers('spec/sign-in#choices-10'), (given, [authorize, token, revoke]) => {
  expect(endpointsFrom(given)).toEqual({ authorize, token, revoke });
});

test.each([
  'http://a.example',
  'http://10.0.0.1',
  'ftp://a.example',
  'a.example',
  'http://127.0.0.1.evil.example',
])('spec/sign-in#authorize-1 TLS only: %s is refused', (auth) => {
  expect(endpointProblems({ auth }).map(({ path }) => path)).toEqual(['--auth-url']);
});

test.each(['https://a.example', 'http://127.0.0.1:8', 'http://[::1]:8', 'http://localhost:8'])(
  '%s is accepted',
  (auth) => {
    expect(endpointProblems({ auth })).toEqual([]);
  },
);

test.each([
  [{ auth: 'https://ada:pw@a.example' }, [naming('--auth-url', 'user', 'password', 'hold')]],
  [{ auth: 'https://a.example/x#y' }, [naming('--auth-url', 'fragment')]],
  [
    { auth: 'https://a.example', token: 'http://t.example' },
    [naming('--token-url', 'https', 'http', 'loopback')],
  ],
  [
    { auth: 'nowhere', revoke: 'neither' },
    [naming('--auth-url', 'absolute', 'address'), naming('--revoke-url', 'absolute', 'address')],
  ],
])('every given URL has a specific problem: %j', (given, said) => {
  expect(endpointProblems(given).map(({ path, message }) => `${path} ${message}`)).toEqual(said);
});

test('accounts are separated by the origin of the authorization server', () => {
  expect(serverKey(endpointsFrom({ auth: 'https://a.example/x' }))).toBe('https://a.example');
});
