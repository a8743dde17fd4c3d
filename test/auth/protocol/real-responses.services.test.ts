/** Responses of real servers: opsctl accepts and names harmless deviations, and rejects and revokes dangerous ones. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { accessToken } from '../../../src/auth/token.ts';
import { keepAccount } from '../../../src/auth/complete-login.ts';
import { type Account, withAccount } from '../../../src/auth/credential-store/account.ts';
import { openCredentialStore } from '../../../src/auth/credential-store/store.ts';
import { refusedByUser } from '../../../src/auth/flow.ts';
import { makeUnexpectedResponseError, serviceFailure } from '../../../src/auth/protocol/send.ts';
import { errorIn, readResponse } from '../../../src/auth/protocol/read-response.ts';
import { tolerances } from '../../../src/auth/protocol/token-client.ts';
import { refusalOf } from '../../../src/auth/protocol/token-response.ts';
import type { HttpReply } from '../../../src/platform/host.ts';
import { partlyMade } from '../../support/context.ts';
import { makeAuthContext } from '../auth-context.ts';
import { type TokenResponse, tokenServer } from '../token-server.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const tokens = { access_token: 'at-2', token_type: 'Bearer', expires_in: 3600, scope: 'a b' };
const jwt = (claims: object): string =>
  `${[{ alg: 'RS256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.c2ln`;
const nowS = Math.floor(Date.now() / 1000);

const signedIn = async (answer: TokenResponse, more: Partial<Account> = {}) => {
  const server = await tokenServer(answer);
  const made = await makeAuthContext();
  const settings = { ...made.settings, profile: { name: 'p', origin: 'flag --profile' } };
  const context = { ...made, settings };
  closers.push(server.close, context.close);
  const [authorize, token, revoke] = ['auth', 'token', 'revoke'].map((path) => `${server.url}/${path}`);
  const account = {
    ...{ name: 'ada', server: server.url, clientId: 'c', generation: 1, signIn: 's1', obtainedMs: 0 },
    ...{
      requested: ['a', 'b'],
      granted: ['a', 'b'],
      accessToken: 'at-1',
      accessExpiresMs: 1,
      refreshToken: 'rt-1',
    },
    endpoints: { authorize, token, revoke },
    ...more,
  } as Account;
  await openCredentialStore(context).swap((data) => ({ data: withAccount(data, account) }));
  const stored = async () =>
    (await openCredentialStore(context).read()).accounts.find(({ name }) => name === account.name);
  const revoked = () =>
    server.asked
      .filter(({ url }) => url.startsWith('/revoke'))
      .map(({ form, url }) => form.get('token') ?? new URL(url, 'http://x').searchParams.get('token'));
  return { server, context, account, stored, revoked };
};
const text = (body: unknown): string => JSON.stringify(body);
const { token_type, ...untyped } = tokens;
const { expires_in, ...endless } = tokens;

describe('a response that deviates harmlessly is used, and -v names the deviation once', () => {
  test.each<[string, TokenResponse, keyof typeof tolerances | undefined]>([
    ['conforms', { body: tokens }, undefined],
    ['has scopes in an array', { body: { ...tokens, scope: ['a', 'b'] } }, 'scope-array'],
    ['has scopes with commas', { body: { ...tokens, scope: 'a,b' } }, 'scope-commas'],
    ['has scopes with commas and blanks', { body: { ...tokens, scope: 'a, b' } }, 'scope-commas'],
    ['has no token_type', { body: untyped }, 'missing-token-type'],
    ['has an empty token_type', { body: { ...tokens, token_type: '' } }, 'missing-token-type'],
    ['is text/plain', { body: tokens, type: 'text/plain' }, 'content-type'],
    ['is text/html', { body: tokens, type: 'text/html; charset=utf-8' }, 'content-type'],
    ['has no content type', { body: tokens, type: '' }, 'content-type'],
    [
      'is gzip',
      { body: gzipSync(text(tokens)), headers: { 'content-encoding': 'gzip' } },
      'content-encoding',
    ],
    [
      'is deflate',
      { body: deflateSync(text(tokens)), headers: { 'content-encoding': 'deflate' } },
      'content-encoding',
    ],
    [
      'is raw deflate',
      { body: deflateRawSync(text(tokens)), headers: { 'content-encoding': 'deflate' } },
      'content-encoding',
    ],
    [
      'is br',
      { body: brotliCompressSync(text(tokens)), headers: { 'content-encoding': 'br' } },
      'content-encoding',
    ],
    [
      'has two codings',
      { body: brotliCompressSync(gzipSync(text(tokens))), headers: { 'content-encoding': 'gzip, br' } },
      'content-encoding',
    ],
    ['starts with a byte order mark', { body: `\uFEFF${text(tokens)}` }, 'byte-order-mark'],
    ['has null fields', { body: { ...tokens, refresh_token: null } }, 'null-field'],
    [
      'is a form',
      {
        body: String(new URLSearchParams({ ...tokens, expires_in: '3600' })),
        type: 'application/x-www-form-urlencoded',
      },
      'form-response',
    ],
    [
      'is a form as text/plain',
      {
        body: String(new URLSearchParams({ ...tokens, expires_in: '3600' })),
        type: 'text/plain',
      },
      'form-response',
    ],
    [
      'is encoded in ISO-8859-1',
      {
        body: Buffer.from(text({ ...tokens, note: 'caf\u00e9' }), 'latin1'),
        type: 'application/json; charset=iso-8859-1',
      },
      'charset',
    ],
    ['has status 201', { body: tokens, status: 201 }, 'success-status'],
    ...['3600', 3599.97, -1, 0, 1e300, 'soon', '', [], {}, true].map(
      (value): [string, TokenResponse, 'expires-in'] => [
        `has expires_in ${text(value)}`,
        { body: { ...endless, expires_in: value } },
        'expires-in',
      ],
    ),
  ])('the client accepts that the response %s', async (_, answer, deviation) => {
    const { context, stored } = await signedIn(answer);
    expect((await accessToken(context)).token).toBe('at-2');
    const account = await stored();
    expect(account).toMatchObject({ granted: ['a', 'b'], tokenType: 'Bearer', refreshToken: 'rt-1' });
    const lines = context.said.lines.filter((line) => line.includes('deviates'));
    expect(lines).toEqual(
      deviation === undefined ? [] : [expect.stringContaining(tolerances[deviation].rule)],
    );
  });
});

const person = { iss: 'https://i.example', sub: 'alice', aud: 'c', iat: nowS, exp: nowS + 600 };
describe('a dangerous response is rejected and its tokens are revoked', () => {
  test.each<[string, TokenResponse, string[]]>([
    ['of type DPoP', { body: { ...tokens, token_type: 'DPoP', refresh_token: 'rt-2' } }, ['rt-2', 'at-2']],
    ['of type mac', { body: { ...tokens, token_type: 'mac' } }, ['at-2']],
    ['of type N_A', { body: { ...tokens, token_type: 'N_A' } }, ['at-2']],
    ['of a type that is a number', { body: { ...tokens, token_type: 7 } }, ['at-2']],
    [
      'with a line end',
      { body: { ...tokens, access_token: 'a\r\nX: y', refresh_token: 'rt-2' } },
      ['rt-2', 'a\r\nX: y'],
    ],
    ['with scopes that are numbers', { body: { ...tokens, scope: [1] } }, ['at-2']],
    ['of another user', { body: { ...tokens, id_token: jwt({ ...person, sub: 'mallory' }) } }, ['at-2']],
    [
      'of another issuer',
      { body: { ...tokens, id_token: jwt({ ...person, iss: 'https://evil.example' }) } },
      ['at-2'],
    ],
  ])('tokens %s', async (_, answer, tokensRevoked) => {
    const first = jwt(person);
    const { context, stored, revoked } = await signedIn(answer, {
      ...{ subject: 'alice', subjectIssuer: 'https://i.example', idToken: first },
    });
    await expect(accessToken(context)).rejects.toMatchObject({
      detail: { code: expect.stringMatching(/^(BAD_TOKEN_ANSWER|OTHER_IDENTITY)$/) },
    });
    expect(await stored()).toMatchObject({ accessToken: 'at-1', refreshToken: 'rt-1', idToken: first });
    expect(revoked()).toEqual(tokensRevoked);
  });

  test('the issuer of a file of version 0.1.0 is that of its stored id_token', async () => {
    const answer = { body: { ...tokens, id_token: jwt({ ...person, iss: 'https://evil.example' }) } };
    const { context } = await signedIn(answer, { subject: 'alice', idToken: jwt(person) });
    await expect(accessToken(context)).rejects.toMatchObject({ detail: { code: 'OTHER_IDENTITY' } });
  });
});

describe('an account that a person signed in to again', () => {
  const again = async (before: Partial<Account>, now: Partial<Account>, naming: object = { name: 'ada' }) => {
    const made = await signedIn({ body: {} }, before);
    const { name, generation, signIn, ...given } = {
      ...made.account,
      accessToken: 'at-9',
      refreshToken: 'rt-9',
      ...now,
    };
    const ended = await keepAccount(made.context, { name, ...given }, naming).then(
      (account) => account.name,
      (error: { detail: { code: string } }) => error.detail.code,
    );
    return { ended, stored: await made.stored(), revoked: made.revoked() };
  };
  const alice = { subject: 'alice', subjectIssuer: 'https://i.example' };

  test.each([
    ['the same person', {}, 'ada', 'at-9', []],
    ['another subject', { subject: 'mallory' }, 'OTHER_IDENTITY', 'at-1', ['rt-9', 'at-9']],
    ['another issuer', { subjectIssuer: 'https://evil.example' }, 'OTHER_IDENTITY', 'at-1', ['rt-9', 'at-9']],
    ['another server', { server: 'https://other.example' }, 'OTHER_SERVER', 'at-1', ['rt-9', 'at-9']],
  ])('%s', async (_, now, ended, accessToken, revoked) => {
    const result = await again(alice, { ...alice, ...now });
    expect(result).toMatchObject({ ended, stored: { accessToken }, revoked });
  });

  test('a second person with the same address gets another name without a question', async () => {
    const { ended, stored } = await again(alice, { ...alice, subject: 'alice-2' }, {});
    expect([ended, stored?.accessToken]).toEqual(['ada-2', 'at-1']);
  });

  test('added scopes never cost an account its refresh token', async () => {
    const base = { name: 'ada', signIn: 's1' };
    const lost = await again(
      alice,
      { ...alice, refreshToken: undefined, granted: ['a', 'b', 'x'] },
      { name: 'ada', base },
    );
    expect(lost).toMatchObject({
      ended: 'REFRESH_TOKEN_LOST',
      stored: { refreshToken: 'rt-1' },
      revoked: [],
    });
    const kept = await again(alice, { ...alice, granted: ['a', 'b', 'x'] }, { name: 'ada', base });
    expect(kept).toMatchObject({ ended: 'ada', stored: { refreshToken: 'rt-9' } });
  });
});

test.each([
  [{ error: 'invalid_grant', error_description: 'x' }, 'invalid_grant', 'x', true],
  [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: 'bad' } }, 'INVALID_ARGUMENT', 'bad', false],
  [{ error: { type: 'OAuthException', message: 'm', code: 190 } }, 'OAuthException', 'm', false],
  [{ errorCode: 'E0000011', errorSummary: 'Invalid token' }, 'E0000011', 'Invalid token', false],
  [{ errors: [{ code: 'c', message: 'm' }] }, 'c', 'm', false],
  [{ errors: ['m'] }, '', 'm', false],
  [{ status: 400, message: 'invalid client' }, '400', 'invalid client', false],
  [{ errcode: 40029, errmsg: 'invalid code' }, '40029', 'invalid code', false],
  [{ ok: false, error: 'invalid_code' }, 'invalid_code', undefined, true],
])('an error object %j is read', (body, error, description, isStandard) => {
  expect(errorIn(body)).toEqual({ error, isStandard, ...(description === undefined ? {} : { description }) });
});

test.each([
  [
    'the code of the standards in an object',
    { error: { code: 'invalid_client', message: 'why' } },
    'INVALID_CLIENT',
    'auth',
  ],
  [
    'another name for the description',
    { error: 'invalid_client', errorDescription: 'why' },
    'INVALID_CLIENT',
    'auth',
  ],
  ['a code of the provider', { error: { code: 'E77', message: 'why' } }, 'E77', 'refused'],
  ['problem details (RFC 9457)', { type: 'about:blank', title: 'why' }, 'PROVIDER_ERROR', 'refused'],
  ['a page', '<html><style>p{}</style><p>why', 'NO_OAUTH_ERROR', 'refused'],
  ['another text', 'why\u001b[31m', 'NO_OAUTH_ERROR', 'refused'],
])('the text of the server reaches the user: %s', (_, body, code, category) => {
  const failure = refusalOf(
    'refresh',
    {
      status: 400,
      headers: { 'content-type': 'text/html' },
      text: typeof body === 'string' ? body : text(body),
    },
    0,
  );
  expect(failure).toMatchObject({ category, detail: { code } });
  expect(failure.message).toContain('why');
  expect(failure.message).not.toContain('\u001b');
  expect(failure.message).not.toContain('p{}');
});

test.each([[{}], [[]], ['x'], [{ access_token: 'a' }], [{ error: { code: 400 } }], [{ error: '' }]])(
  '%j is not an error object',
  (body) => {
    expect(errorIn(body)).toBeUndefined();
  },
);

test.each([
  ['refresh', 'interaction_required', 'auth', 'opsctl login'],
  ['refresh', 'invalid_grant', 'auth', 'opsctl login'],
  ['device flow', 'expired_token', 'auth', 'opsctl login --method device (shows a new code)'],
  ['token-exchange', 'invalid_grant', 'auth', expect.stringContaining('identity token')],
  ['service-account', 'invalid_grant', 'auth', expect.stringContaining('key')],
  ['client-credentials', 'invalid_grant', 'auth', expect.stringContaining('client secret')],
])('%s: the hint for %s fits the method', (what, error, category, first) => {
  const failure = serviceFailure(what, error, 'why', 400);
  expect(failure).toMatchObject({ category, message: `${what}: ${error} (why)` });
  expect(failure.detail.tryThis?.[0]).toEqual(first);
});

test('the reason for access_denied reaches the user', () => {
  const { message } = refusedByUser(
    {
      error: 'access_denied',
      description: 'User is not assigned.',
      params: new URLSearchParams(),
    },
    ['email'],
  );
  expect(message).toBe('access was denied in the browser: User is not assigned.');
});

test.each(['gzip', 'deflate', 'br', 'gzip, gzip'])(
  'a response with the coding %s that is too large when it is unpacked is rejected with that cause',
  async (coding) => {
    const plain = Buffer.alloc(5 * 1024 * 1024, 32);
    const packed = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, 'gzip, gzip': gzipSync }[
      coding
    ];
    const once = packed?.(plain) ?? plain;
    const bytes = coding === 'gzip, gzip' ? gzipSync(once) : once;
    const reply = { status: 200, headers: { 'content-encoding': coding }, bytes: async () => bytes };
    await expect(readResponse(reply as never)).rejects.toMatchObject({ code: 'TOO_LARGE' });
  },
);
test('a response with more codings than a server uses is not unpacked', async () => {
  const unpacked = async (count: number) => {
    const coding = Array.from({ length: count }, () => 'identity').join(', ');
    const headers = { 'content-type': 'application/json', 'content-encoding': `${coding}, gzip` };
    const bytes = async () => gzipSync('{"a":1}');
    return (await readResponse(partlyMade<HttpReply>({ status: 200, headers, bytes }))).text;
  };
  expect(await unpacked(4)).toBe('{"a":1}');
  expect(await unpacked(5)).not.toContain('"a"');
});
test('the error of a rejection without a body contains the challenge of the server, without its control characters', () => {
  const headers = { 'www-authenticate': 'Basic realm="x", error="invalid_client"\u001b[31m' };
  const { message, detail } = makeUnexpectedResponseError('refresh', { status: 401, headers, text: '' });
  expect(message).toContain('error="invalid_client"');
  expect(message).not.toContain('\u001b');
  expect(detail.code).toBe('NO_OAUTH_ERROR');
});
