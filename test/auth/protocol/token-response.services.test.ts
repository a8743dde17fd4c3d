import { createSign, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { metadataFrom } from '../../../src/auth/protocol/discovery.ts';
import { formRequest, type TokenClient } from '../../../src/auth/protocol/token-client.ts';
import {
  processExchange,
  processRevoke,
  processTokenResponse,
  refusalOf,
} from '../../../src/auth/protocol/token-response.ts';
import type { Host } from '../../../src/platform/host.ts';
import { makeAuthContext } from '../auth-context.ts';
import { covers } from '../../support/covers.ts';
import { readJson } from '../../../src/auth/protocol/read-response.ts';
import { tokenServer } from '../token-server.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

test('a form is encoded once, and absent fields are not sent', () => {
  expect(
    formRequest('https://t.example/token', { code: '4/0A+b c&d', client_secret: undefined }),
  ).toMatchObject({
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'code=4%2F0A%2Bb+c%26d',
  });
});

const endpoints = {
  authorize: 'https://a.example/auth',
  token: 'https://a.example/token',
  revoke: 'https://a.example/revoke',
};
test.each([
  [
    { issuer: 'https://a.example', token_endpoint: endpoints.token, jwks_uri: 'https://a.example/keys' },
    'https://a.example',
  ],
  [{ issuer: 'https://a.example', token_endpoint: 'https://evil.example/token' }, undefined],
  [{ issuer: 'no address', token_endpoint: endpoints.token }, undefined],
  [null, undefined],
  ['text', undefined],
])('metadata %j count only for the token endpoint that is in use', (body, issuer) => {
  expect(metadataFrom(body, endpoints)?.issuer).toBe(issuer);
});

const json = (status: number, body: unknown) => ({
  status,
  headers: { 'content-type': 'application/json' },
  text: JSON.stringify(body),
});
test.each([
  [200, {}, 'revoked'],
  [400, { error: 'invalid_token' }, 'was-invalid'],
  [400, { error: 'invalid_request' }, 'wants-standard'],
  [401, { error: 'invalid_client' }, 'wants-standard'],
  [400, { error: 'invalid_client' }, 'wants-standard'],
])('spec/sign-in#revoke with response %i %j: %s', (status, body, outcome) => {
  expect(processRevoke(json(status, body), 0)).toBe(outcome);
});
test.each([
  [503, {}, 'network'],
  [403, { error: 'access_denied' }, 'auth'],
])('spec/sign-in#revoke with response %i %j is a failure', (status, body, category) => {
  expect(() => processRevoke(json(status, body), 0)).toThrow(expect.objectContaining({ category }));
});

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
const nowS = Math.floor(Date.now() / 1000);
const good = {
  iss: 'https://i.example',
  aud: 'client-1',
  sub: 's1',
  email: 'ada@example.com',
  nonce: 'n1',
  iat: nowS,
  exp: nowS + 600,
};
const idToken = (change: object = {}, key = pair.privateKey, header: object = {}): string => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256', kid: 'k1', ...header })}.${part({ ...good, ...change })}`;
  return `${text}.${createSign('sha256').update(text).sign(key).toString('base64url')}`;
};
/** Shortens the limit of ten seconds to 200 ms, for a server whose response is late. Others have all the time they need. */
const withShortLimits = (host: Host): Host => ({
  ...host,
  hostname: host.hostname,
  sleep: (ms, signal) => host.sleep(ms === 10_000 ? 200 : ms, signal),
});
type KeyAnswer = Parameters<typeof tokenServer>[0];
const exchanged = async (
  id_token: string,
  hasMetadata = true,
  more: KeyAnswer = {},
  signal?: AbortSignal,
) => {
  const keys = await tokenServer(
    typeof more === 'function'
      ? more
      : {
          body: {
            keys: [{ ...pair.publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'RS256', use: 'sig' }],
          },
          ...(more as object),
        },
  );
  const isLate = 'delayMs' in more;
  const context = await makeAuthContext(isLate ? { host: withShortLimits } : {});
  closers.push(keys.close, context.close);
  const published = hasMetadata ? { issuer: 'https://i.example', jwksUri: `${keys.url}/keys` } : {};
  const tokenClient: TokenClient = { endpoints, clientId: 'client-1', ...published };
  return processExchange(
    tokenClient,
    json(200, { access_token: 'a', token_type: 'Bearer', expires_in: 3599, id_token }),
    'n1',
    context.host,
    signal,
  );
};

const otherKey = { ...stranger.publicKey.export({ format: 'jwk' }), kid: 'k2', alg: 'RS256', use: 'sig' };

test('an id_token that holds gives the identity', async () => {
  expect((await exchanged(idToken())).identity).toEqual({
    sub: 's1',
    iss: 'https://i.example',
    email: 'ada@example.com',
  });
});

test.each([
  ['another issuer', idToken({ iss: 'https://evil.example' })],
  ['another audience', idToken({ aud: 'client-2' })],
  ['expired', idToken({ exp: nowS - 3600, iat: nowS - 7200 })],
  ['another nonce', idToken({ nonce: 'n2' })],
  ['no nonce', idToken({ nonce: undefined })],
  ['no subject', idToken({ sub: undefined })],
  ['signed by another key', idToken({}, stranger.privateKey)],
  ['not signed', `${idToken().split('.').slice(0, 2).join('.')}.`],
  ['no token at all', 'abc'],
])('an id_token with %s is refused', async (_, token) => {
  await expect(exchanged(token)).rejects.toMatchObject({
    category: 'refused',
    detail: { code: 'BAD_TOKEN_ANSWER' },
  });
});

test.each([
  ['a cut line', { cut: true as const }],
  ['an outage', { status: 503, body: 'x', type: 'text/plain' }],
  ['no such page', { status: 404, body: '<html>', type: 'text/html' }],
  ['a response after its time limit', { delayMs: 5000, body: { keys: [] } }],
  ['other keys', { body: { keys: [otherKey] } }],
  ['no keys', { body: { keys: [] } }],
  ['a text as its keys', { body: { keys: 'x' } }],
  ['an object as its keys', { body: { keys: {} } }],
  ['items that are no keys', { body: { keys: [null, 'x', 7, []] } }],
  ['no member for its keys', { body: {} }],
  ['null as its content', { body: null }],
  ['a list as its content', { body: [] }],
  ['a number as its content', { body: 7 }],
])('a key set with %s does not cost the sign-in; every other check holds', async (_, keys) => {
  const response = await exchanged(idToken(), true, keys);
  expect(response.identity).toMatchObject({ sub: 's1', isUnconfirmed: true });
  expect(response.deviations).toContain('id-token-key');
  await expect(exchanged(idToken({ aud: 'client-2' }), true, keys)).rejects.toMatchObject({
    detail: { code: 'BAD_TOKEN_ANSWER' },
  });
});

test('the error about an algorithm contains the algorithm', async () => {
  const head = Buffer.from(JSON.stringify({ alg: 'PS512', kid: 'k1' })).toString('base64url');
  const token = idToken().replace(/^[^.]+/, head);
  await expect(exchanged(token)).rejects.toMatchObject({ message: expect.stringContaining('PS512') });
});

/** The key of the token with other properties: the key set names it, so it is not unknown. */
const ownKey = (more: object) => ({
  body: { keys: [{ ...pair.publicKey.export({ format: 'jwk' }), kid: 'k1', ...more }] },
});
test.each([
  ['for encryption', { use: 'enc' }],
  ['for signing only', { key_ops: ['sign'] }],
  ['for another algorithm', { alg: 'RS512', use: 'sig' }],
  ['of another type', { kty: 'EC', crv: 'P-256' }],
])(
  'an id_token with a key %s is refused, with a valid signature and with an invalid one',
  async (_, more) => {
    for (const token of [idToken(), idToken({}, stranger.privateKey)])
      await expect(exchanged(token, true, ownKey(more))).rejects.toMatchObject({
        message: expect.stringContaining('the key of the server is not for RS256 signatures'),
        detail: { code: 'BAD_TOKEN_ANSWER' },
      });
  },
);

/** An id_token with an algorithm and a key of another type, and the key set of its server. */
const signedBy = (
  alg: string,
  own: KeyObject,
  published: KeyObject,
  hash: string | null = 'sha256',
  keyAlg = alg,
) => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg, kid: 'e1' })}.${part(good)}`;
  const bytes = sign(hash, Buffer.from(text), { key: own, dsaEncoding: 'ieee-p1363' });
  const keys = { body: { keys: [{ ...published.export({ format: 'jwk' }), kid: 'e1', alg: keyAlg }] } };
  return { token: `${text}.${bytes.toString('base64url')}`, keys };
};
const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const edwards = generateKeyPairSync('ed25519');
test.each([
  ['ES256', signedBy('ES256', curve.privateKey, curve.publicKey)],
  ['EdDSA', signedBy('EdDSA', edwards.privateKey, edwards.publicKey, null)],
  ['Ed25519', signedBy('Ed25519', edwards.privateKey, edwards.publicKey, null)],
  ['Ed25519 and a key for EdDSA', signedBy('Ed25519', edwards.privateKey, edwards.publicKey, null, 'EdDSA')],
  ['EdDSA and a key for Ed25519', signedBy('EdDSA', edwards.privateKey, edwards.publicKey, null, 'Ed25519')],
])('an id_token may be signed with %s', async (_, { token, keys }) => {
  expect(await exchanged(token, true, keys)).toMatchObject({ identity: { sub: 's1' }, deviations: [] });
});
test('an id_token with ES256 and the signature of a stranger is refused', async () => {
  const stray = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { token, keys } = signedBy('ES256', stray.privateKey, curve.publicKey);
  await expect(exchanged(token, true, keys)).rejects.toMatchObject({ detail: { code: 'BAD_TOKEN_ANSWER' } });
});
const small = generateKeyPairSync('rsa', { modulusLength: 1024 });
const larger = generateKeyPairSync('ec', { namedCurve: 'P-384' });
test.each([
  ['an unknown extension in crit', idToken({}, pair.privateKey, { crit: ['x'], x: 1 }), {}],
  ['an empty crit', idToken({}, pair.privateKey, { crit: [] }), {}],
  ['no end', idToken({ exp: undefined }), {}],
  ['an end that is a text', idToken({ exp: 'never' }), {}],
  ['a start in the future', idToken({ nbf: nowS + 3600 }), {}],
  ['a start that is a text', idToken({ nbf: 'now' }), {}],
  [
    'a key of 1024 bits',
    idToken({}, small.privateKey),
    { body: { keys: [{ ...small.publicKey.export({ format: 'jwk' }), kid: 'k1' }] } },
  ],
  ['ES256 and a key of P-384', ...Object.values(signedBy('ES256', larger.privateKey, larger.publicKey))],
  [
    'ES384 and a key of P-256',
    ...Object.values(signedBy('ES384', curve.privateKey, curve.publicKey, 'sha384')),
  ],
] as [string, string, KeyAnswer][])('an id_token with %s is refused', async (_, token, keys) => {
  await expect(exchanged(token, true, keys)).rejects.toMatchObject({ detail: { code: 'BAD_TOKEN_ANSWER' } });
});
test.each(['none', 'HS256', 'RS1'])('an id_token with the algorithm %s is refused', async (alg) => {
  for (const hasMetadata of [true, false])
    await expect(exchanged(idToken({}, pair.privateKey, { alg }), hasMetadata)).rejects.toMatchObject({
      detail: { code: 'BAD_TOKEN_ANSWER' },
    });
});

test.each([
  ['one of two keys without a key ID', [otherKey, ownKey({ kid: undefined }).body.keys[0]], true],
  ['only keys of strangers', [otherKey, { ...otherKey, kid: 'k3' }], false],
])('an id_token without a key ID is compared with each key: %s', async (_, keys, accepted) => {
  const text = idToken({}, pair.privateKey, { kid: undefined });
  const outcome = await exchanged(text, true, { body: { keys } }).then(
    ({ deviations }) => deviations,
    (error: { detail: { code: string } }) => error.detail.code,
  );
  expect(outcome).toEqual(accepted ? [] : 'BAD_TOKEN_ANSWER');
});

test.each(['at+jwt', 'application/at+jwt', 'AT+JWT', 'secevent+jwt', 'logout+jwt', 'dpop+jwt'])(
  'a token of the type %s is not accepted as an id_token',
  async (typ) => {
    const text = idToken({}, pair.privateKey, { typ });
    for (const hasMetadata of [true, false])
      await expect(exchanged(text, hasMetadata)).rejects.toMatchObject({
        message: expect.stringContaining('a token of another kind'),
        detail: { code: 'BAD_TOKEN_ANSWER' },
      });
  },
);
test.each(['JWT', 'jwt', 'application/jwt', undefined])('an id_token may have the type %s', async (typ) => {
  const text = idToken({}, pair.privateKey, { typ });
  expect((await exchanged(text)).deviations ?? []).toEqual([]);
});

test('items of a key set that are no keys do not hide the key of the token', async () => {
  const [own] = ownKey({}).body.keys;
  const keys = { body: { keys: [null, 'x', own] } };
  expect((await exchanged(idToken(), true, keys)).deviations).toEqual([]);
  await expect(exchanged(idToken({}, stranger.privateKey), true, keys)).rejects.toMatchObject({
    detail: { code: 'BAD_TOKEN_ANSWER' },
  });
});
test.each([
  ['of another type', { kty: 'EC', crv: 'P-256' }],
  ['for encryption', { use: 'enc' }],
])('an id_token without a key ID is accepted if the server has only keys %s', async (_, more) => {
  const bare = (change: object, alg = 'RS256') => idToken(change, pair.privateKey, { kid: undefined, alg });
  expect((await exchanged(bare({}), true, ownKey(more))).deviations).toEqual(['id-token-key']);
  for (const token of [bare({ aud: 'client-2' }), bare({}, 'none'), bare({}, 'HS256')])
    await expect(exchanged(token, true, ownKey(more))).rejects.toMatchObject({
      detail: { code: 'BAD_TOKEN_ANSWER' },
    });
});

test('Ctrl-C while the keys are fetched is Ctrl-C', async () => {
  const stop = new AbortController();
  const asking = exchanged(idToken(), true, () => (stop.abort(), { delayMs: 60_000 }), stop.signal);
  await expect(asking).rejects.toMatchObject({ code: 'ABORTED' });
});

test.each([
  ['no nonce', idToken({ nonce: undefined }), true],
  ['the right nonce', idToken(), true],
  ['another nonce', idToken({ nonce: 'n2' }), false],
  ['another audience', idToken({ aud: 'client-2' }), false],
  ['expired', idToken({ exp: nowS - 3600, iat: nowS - 7200 }), false],
])(
  'an id_token with %s is accepted without metadata: %s',
  covers('spec/sign-in#choices-12'),
  async (_, token, accepted) => {
    const outcome = await exchanged(token, false).then(
      () => true,
      () => false,
    );
    expect(outcome).toBe(accepted);
  },
);

const token = { access_token: 'a', token_type: 'Bearer', expires_in: 3599 };
const processed = async (
  body: unknown,
  more: { status?: number; type?: string; headers?: Record<string, string> } = {},
) => {
  const context = await makeAuthContext();
  closers.push(context.close);
  const headers = { 'content-type': more.type ?? 'application/json', ...more.headers };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return processExchange(
    { endpoints, clientId: 'client-1' },
    { status: more.status ?? 200, headers, text },
    undefined,
    context.host,
  );
};

test.each([
  [
    'null fields count as left out',
    { ...token, scope: null, refresh_token: null, id_token: null, refresh_token_expires_in: null },
    { accessToken: 'a', expiresInS: 3599 },
  ],
  [
    'empty tokens count as left out',
    { ...token, refresh_token: '', id_token: '' },
    { accessToken: 'a', expiresInS: 3599 },
  ],
  ['expires_in as a string', { ...token, expires_in: '60' }, { accessToken: 'a', expiresInS: 60 }],
  ['no expires_in', { access_token: 'a', token_type: 'bearer' }, { accessToken: 'a' }],
  [
    'a life longer than dates reach',
    { ...token, expires_in: 1e18, refresh_token_expires_in: 1e300 },
    { expiresInS: 316_224_000, refreshExpiresInS: 316_224_000 },
  ],
  ['a byte order mark', `\uFEFF${JSON.stringify(token)}`, { accessToken: 'a', expiresInS: 3599 }],
])('%s is accepted', async (_, body, answer) => {
  expect(await processed(body)).toMatchObject(answer);
});

test.each([
  [
    'a line end in the token',
    { ...token, access_token: 'a\r\nX: y' },
    {},
    'refused',
    'BAD_TOKEN_ANSWER',
    'access_token',
  ],
  [
    'a blank in the token',
    { ...token, access_token: 'a b' },
    {},
    'refused',
    'BAD_TOKEN_ANSWER',
    'access_token',
  ],
  [
    'an error with status 200',
    { error: 'invalid_grant', error_description: 'used' },
    {},
    'auth',
    'INVALID_GRANT',
    'used',
  ],
  ['JSON that was cut off', '{"access_token":"a', {}, 'network', 'NOT_JSON', 'application/json'],
  ['an empty body', '', {}, 'network', 'NOT_JSON', 'HTTP 200'],
  [
    'a redirect',
    '',
    { status: 307, headers: { location: 'https://b.example/token?x=1' } },
    'network',
    'REDIRECTED',
    'leads to https://b.example/token;',
  ],
  [
    'an error that is an object',
    { error: { code: 400 } },
    { status: 400 },
    'refused',
    'NO_OAUTH_ERROR',
    'HTTP 400 without an OAuth error',
  ],
  ['a wrong address', 'no', { status: 404, type: 'text/plain' }, 'not-found', 'NO_OAUTH_ERROR', 'HTTP 404'],
  [
    'an outage with an OAuth error',
    { error: 'temporarily_unavailable' },
    { status: 503 },
    'network',
    'SERVER_ERROR',
    'HTTP 503 temporarily_unavailable',
  ],
  [
    'too many requests with an OAuth error',
    { error: 'slow_down' },
    { status: 429 },
    'rate-limit',
    'RATE_LIMITED',
    'too many requests',
  ],
])('%s is named for what it is', async (_, body, more, category, code, says) => {
  await expect(processed(body, more)).rejects.toMatchObject({
    category,
    message: expect.stringContaining(says),
    detail: { code },
  });
});

test('an outage passes on how long the service asks to wait', async () => {
  const later = processed('x', { status: 503, headers: { 'retry-after': '7200' } });
  await expect(later).rejects.toMatchObject({
    detail: { tryThis: ['try again in 7200 s, as the service asks'] },
  });
});

test('a response that is nested too deeply is not JSON for opsctl', () => {
  const nested = (depth: number) => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    text: `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`,
  });
  expect(readJson(nested(100)).value).toBeDefined();
  expect(readJson(nested(100_000)).value).toBeUndefined();
});

describe('a response that can mean two things is rejected, and the error names the member', () => {
  const jsonOf = (text: string) => ({ status: 200, headers: { 'content-type': 'application/json' }, text });
  test.each([
    ['a repeated token', '{"access_token":"a","access_token":"b","token_type":"Bearer"}', 'access_token'],
    ['a repeated token with the same value', '{"access_token":"a","access_token":"a"}', 'access_token'],
    ['an escaped repeated token', '{"access_token":"a","access\\u005ftoken":"b"}', 'access_token'],
    ['a repeated key of a key set', '{"keys":[{"kty":"EC","kid":"a","kid":"b"}]}', 'kid'],
    [
      'a repeated endpoint',
      '{"issuer":"https://a.example","jwks_uri":"https://a.example","jwks_uri":"https://b.example"}',
      'jwks_uri',
    ],
    ['a number without a limit', '{"access_token":"a","expires_in":1e400}', 'expires_in'],
    ['a negative number without a limit', '{"access_token":"a","nested":{"at":-1e999}}', 'at'],
  ])('%s', (_, text, member) => {
    expect(() => readJson(jsonOf(text))).toThrow(
      expect.objectContaining({
        category: 'refused',
        message: expect.stringContaining(`"${member}"`),
        detail: expect.objectContaining({ code: 'BAD_TOKEN_ANSWER' }),
      }),
    );
  });
  test('a form', () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const read = (text: string) => readJson({ status: 200, headers: form, text });
    expect(() => read('access_token=a&access_token=b')).toThrow('"access_token"');
    expect(read('access_token=a&scope=b').value).toEqual({ access_token: 'a', scope: 'b' });
  });
  test('the same name in two objects, and large numbers that a service uses as IDs, are accepted', () => {
    const text = '{"access_token":"a","user":{"id":17841400000000001},"team":{"id":1e300}}';
    expect(readJson(jsonOf(text)).value).toMatchObject({ access_token: 'a' });
  });
  test('an outage is reported as an outage', () => {
    const read = { ...jsonOf('{"error":"a","error":"b"}'), status: 503 };
    expect(refusalOf('refresh', read, 0)).toMatchObject({ detail: { retryable: true } });
  });

  const encode = (text: string): string => Buffer.from(text).toString('base64url');
  const tokenOf = (claims: string, header = '{"alg":"none"}'): string =>
    `${encode(header)}.${encode(claims)}.c2ln`;
  const claims = (sub: string, exp = '9999999999'): string =>
    `{"iss":"https://a.example","aud":"c","sub":${JSON.stringify(sub)},"iat":1,"exp":${exp}}`;
  test.each([
    ['repeated claims', tokenOf(claims('a').replace('{', '{"sub":"b",')), '"sub" appears twice'],
    [
      'a repeated member of the header',
      tokenOf(claims('a'), '{"alg":"none","alg":"RS256"}'),
      '"alg" appears twice',
    ],
    ['an end without a limit', tokenOf(claims('a', '1e400')), 'number of "exp"'],
    ['an empty subject', tokenOf(claims('')), '"sub" of the id_token is empty'],
    ['a subject of 256 characters', tokenOf(claims('a'.repeat(256))), '"sub" of the id_token is longer'],
  ])('an id_token with %s', async (_, idToken, problem) => {
    const body = { access_token: 'a', token_type: 'Bearer', id_token: idToken };
    const client = {
      endpoints: { token: 'https://a.example/token', revoke: 'https://a.example/revoke' },
      clientId: 'c',
      issuer: 'https://a.example',
    };
    const checks = { kind: 'exchange', nonce: undefined } as const;
    const context = await makeAuthContext();
    closers.push(context.close);
    await expect(
      processTokenResponse('code exchange', client, jsonOf(JSON.stringify(body)), checks, context.host),
    ).rejects.toMatchObject({
      category: 'refused',
      message: expect.stringContaining(problem),
      detail: { code: 'BAD_TOKEN_ANSWER' },
    });
  });
});
