import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  applyEvent,
  receiveEvents,
  type Key,
  type SecurityEvent,
  type Trust,
  verifyEvent,
} from '../../../src/auth/events/receiver.ts';
import type { Account } from '../../../src/auth/credential-store/account.ts';
import { type ScriptedReply, fakeHost } from '../../support/fake-host.ts';
import { contextOn } from '../schedules/environment.ts';
import { covers } from '../../support/covers.ts';
import { naming } from '../../support/facts.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = (pair: typeof rsa, kid: string): Key => ({
  ...pair.publicKey.export({ format: 'jwk' }),
  kid,
  use: 'sig',
});
const nowMs = Date.UTC(2026, 0, 2);
const trust: Trust = {
  issuer: 'https://i.example',
  audiences: ['client-1'],
  keys: [jwk(rsa, 'k1'), jwk(ec, 'k2')],
  nowMs,
};

const base = 'https://s.example/secevent';
const claims = {
  iss: 'https://i.example',
  aud: 'client-1',
  iat: nowMs / 1000,
  jti: 'j1',
  events: {
    [`${base}/risc/event-type/account-disabled`]: {
      subject: { subject_type: 'iss-sub', iss: 'https://i.example', sub: 's1' },
    },
  },
};
const part = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const token = (change: object = {}, header: object = {}, key = rsa.privateKey, hash = 'sha256') => {
  const text = `${part({ alg: 'RS256', kid: 'k1', typ: 'secevent+jwt', ...header })}.${part({ ...claims, ...change })}`;
  return `${text}.${sign(hash, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
};

test.each([
  ['RS256', token()],
  ['ES256', token({}, { alg: 'ES256', kid: 'k2' }, ec.privateKey)],
  ['a list of audiences', token({ aud: ['other', 'client-1'] })],
  ['without a type', token({}, { typ: undefined })],
  ['without a key ID', token({}, { kid: undefined })],
])('%s is accepted', (_, text) => {
  expect(verifyEvent(text, trust)).toMatchObject({ id: 'j1', audience: 'client-1', issuedMs: nowMs });
});

const cut = (text: string) => `${text.slice(0, -4)}AAAA`;
test.each([
  ['another issuer', token({ iss: 'https://evil.example' }), 'invalid_issuer'],
  ['another audience', token({ aud: 'client-2' }), 'invalid_audience'],
  ['no audience', token({ aud: undefined }), 'invalid_audience'],
  ['a broken signature', cut(token()), 'invalid_key'],
  ['an unknown key', token({}, { kid: 'k9' }), 'invalid_key'],
  ['the key of another kind', token({}, { kid: 'k2' }), 'invalid_key'],
  ['alg none', `${part({ alg: 'none' })}.${part(claims)}.`, 'invalid_key'],
  ['alg HS256 with the public key as secret', token({}, { alg: 'HS256' }), 'invalid_key'],
  ['alg of a prototype', token({}, { alg: 'constructor' }), 'invalid_key'],
  ['an id_token', token({}, { typ: 'JWT' }), 'invalid_request'],
  ['a list of types', token({}, { typ: ['secevent+jwt'] }), 'invalid_request'],
  ['padding after the signature', `${token()}==`, 'invalid_request'],
  ['a line break in the signature', token().replace(/.{9}$/, '\n$&'), 'invalid_request'],
  ['a part in base64 with other characters', token().replace('.', '*.'), 'invalid_request'],
  ['no jti', token({ jti: '' }), 'invalid_request'],
  ['no iat', token({ iat: undefined }), 'invalid_request'],
  ['from the future', token({ iat: nowMs / 1000 + 3600 }), 'invalid_request'],
  ['weeks old', token({ iat: nowMs / 1000 - 30 * 86_400 }), 'invalid_request'],
  ['no events', token({ events: {} }), 'invalid_request'],
  ['two parts', 'a.b', 'invalid_request'],
  ['no JSON', `${part('x')}.${part('y')}.z`, 'invalid_request'],
  ['nothing', '', 'invalid_request'],
])('%s is refused', (_, text, err) => {
  expect(verifyEvent(text, trust)).toMatchObject({ err });
});

test('an event without a key ID is refused if no key of the issuer is for its algorithm', () => {
  const keys = trust.keys.filter(({ kty }) => kty === 'EC');
  expect(verifyEvent(token({}, { kid: undefined }), { ...trust, keys })).toEqual({
    err: 'invalid_key',
    description: expect.any(String),
  });
});

const account: Account = {
  name: 'ada',
  server: 's',
  endpoints: { authorize: 'a', token: 't', revoke: 'r' },
  clientId: 'client-1',
  subject: 's1',
  requested: [],
  granted: ['x'],
  generation: 0,
  signIn: 's1',
  obtainedMs: 0,
  accessToken: 'at-1',
  refreshToken: 'rt-1-with-some-length',
};
const bob: Account = { ...account, name: 'bob', subject: 's2', refreshToken: 'rt-2-with-some-length' };
const event = (type: string, subject: object): SecurityEvent => ({
  id: 'j',
  issuer: 'https://i.example',
  audience: 'client-1',
  issuedMs: 0,
  events: { [`${base}/${type}`]: { subject: subject as Record<string, unknown> } },
});
const hashed = (text: string) =>
  createHash('sha512').update(createHash('sha512').update(text).digest()).digest('base64');
const sub = { subject_type: 'iss-sub', iss: 'https://i.example', sub: 's1' };
const oauthToken = (alg: string, text: string) => ({
  subject_type: 'oauth_token',
  token_type: 'refresh_token',
  token_identifier_alg: alg,
  token: text,
});

test.each([
  ['account-disabled', event('risc/event-type/account-disabled', sub), 'credential'],
  ['account-purged', event('risc/event-type/account-purged', sub), 'credential'],
  ['tokens-revoked', event('oauth/event-type/tokens-revoked', sub), 'credential'],
  [
    'token-revoked by hash',
    event(
      'oauth/event-type/token-revoked',
      oauthToken('hash_base64_sha512_sha512', hashed('rt-1-with-some-length')),
    ),
    'credential',
  ],
  [
    'token-revoked by prefix',
    event('oauth/event-type/token-revoked', oauthToken('prefix', 'rt-1-with-some-l')),
    'credential',
  ],
  ['sessions-revoked', event('risc/event-type/sessions-revoked', sub), 'access token'],
])('spec/sign-in#events: %s concerns one account', covers('spec/sign-in#choices-13'), (_, seen, did) => {
  const { data, effects } = applyEvent({ current: 'ada', accounts: [account, bob] }, seen);
  expect(effects).toEqual([{ event: expect.any(String), account: 'ada', did: naming(did, 'dropped') }]);
  expect(data.accounts[0]).not.toHaveProperty('accessToken');
  expect(data.accounts[0]?.refreshToken).toBe(did === 'credential' ? undefined : 'rt-1-with-some-length');
  expect(data.accounts[1]).toEqual(bob);
});

test.each([
  ['another client', { ...event('risc/event-type/account-disabled', sub), audience: 'client-2' }],
  ['another user', event('risc/event-type/account-disabled', { ...sub, sub: 's9' })],
  [
    'another issuer in the subject',
    event('risc/event-type/account-disabled', { ...sub, iss: 'https://evil.example' }),
  ],
  [
    'another token',
    event('oauth/event-type/token-revoked', oauthToken('hash_base64_sha512_sha512', hashed('other'))),
  ],
  [
    'a prefix so short that it fits many',
    event('oauth/event-type/token-revoked', oauthToken('prefix', 'rt')),
  ],
  [
    'an unknown way to name a token',
    event('oauth/event-type/token-revoked', oauthToken('plain', 'rt-1-with-some-length')),
  ],
  ['an event that is not known', event('risc/event-type/verification', sub)],
])('an invalid event has no effect: %s', (_, seen) => {
  const data = { current: 'ada', accounts: [account, bob] };
  expect(applyEvent(data, seen)).toEqual({ data, effects: [] });
});

const small = generateKeyPairSync('rsa', { modulusLength: 1024 });
test.each([
  ['an unknown extension in crit', token({}, { crit: ['x'], x: 1 }), {}],
  ['a crit that is empty', token({}, { crit: [] }), {}],
  ['an end in the past', token({ exp: nowMs / 1000 - 1 }), {}],
  ['an end that is no number', token({ exp: 'never' }), {}],
  ['a start in the future', token({ nbf: nowMs / 1000 + 3600 }), {}],
  ['a key for encryption', token(), { use: 'enc' }],
  ['a key for another algorithm', token(), { alg: 'RS512' }],
  ['a key for signing only', token(), { key_ops: ['sign'] }],
])('%s is rejected', (_, text, change) => {
  const [first, ...others] = trust.keys;
  const verified = verifyEvent(text, { ...trust, keys: [{ ...first, ...change } as Key, ...others] });
  expect(verified).toHaveProperty('err');
});
test('a key of 1024 bits, and a curve of another algorithm, are rejected', () => {
  const short = token({}, {}, small.privateKey);
  expect(verifyEvent(short, { ...trust, keys: [jwk(small, 'k1')] })).toHaveProperty('err');
  const wrong = token({}, { alg: 'ES384', kid: 'k2' }, ec.privateKey, 'sha384');
  expect(verifyEvent(wrong, trust)).toHaveProperty('err');
});
test('a past expiry counts even if the clock of the server may differ', () => {
  const anyTime: Trust = { ...trust, nowMs: 'any', wallMs: nowMs };
  expect(verifyEvent(token({ exp: nowMs / 1000 - 1 }), anyTime)).toHaveProperty('err');
  expect(verifyEvent(token({ exp: nowMs / 1000 + 60 }), anyTime)).toHaveProperty('id', 'j1');
});

test.each<[string, ScriptedReply]>([
  [
    'an HTML page',
    { body: '<!DOCTYPE html><title>Sign in</title>', headers: { 'content-type': 'text/html' } },
  ],
  ['a page with the status 404', { status: 404, body: { error: 'not_found' } }],
  ['JSON without keys', { body: { jwks: [] } }],
  ['a list of keys without a key set', { body: [] }],
  ['an empty response', { body: '' }],
])('the receiver does not start if the address of the keys returns %s', async (_, answer) => {
  const host = fakeHost({ reply: () => answer });
  const server = {
    endpoints: { token: 'https://i.example/token', revoke: 'https://i.example/r' },
    key: 'k',
    isMock: false,
  };
  const started = receiveEvents(
    contextOn(host),
    { ...server, clientId: 'client-1' },
    {},
    {
      ...{ issuer: 'https://i.example', audiences: ['client-1'], server: 'k', onEvent: () => undefined },
      jwksUri: 'https://u:p@i.example/keys?token=t0',
    },
  );
  await expect(started).rejects.toMatchObject({
    category: 'network',
    message: naming(
      'keys',
      'https://***@i.example/keys?token=***',
      'HTTP 200',
      `HTTP ${answer.status ?? 200} (`,
    ),
    detail: { code: 'EVENT_KEYS' },
  });
});

test.each([
  ['a key that appears twice', '{"keys":[{"kid":"a","kid":"b"}]}'],
  ['a number that is too large', '{"keys":[{"kid":"a","n":1e400}]}'],
])('a key set with %s is an error of the address of the keys', async (_, body) => {
  const host = fakeHost({ reply: () => ({ body, headers: { 'content-type': 'application/json' } }) });
  const started = receiveEvents(
    contextOn(host),
    {
      endpoints: { token: 'https://i.example/token', revoke: 'https://i.example/r' },
      ...{ key: 'k', isMock: false, clientId: 'client-1' },
    },
    {},
    {
      ...{ issuer: 'https://i.example', audiences: ['client-1'], server: 'k', onEvent: () => undefined },
      jwksUri: 'https://i.example/keys',
    },
  );
  await expect(started).rejects.toMatchObject({ category: 'network', detail: { code: 'EVENT_KEYS' } });
});
