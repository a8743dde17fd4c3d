import { afterEach, expect, test } from 'vitest';
import { accessToken } from '../../src/auth/token.ts';
import { renewAccount } from '../../src/auth/renew.ts';
import { signOut } from '../../src/auth/issued-tokens.ts';
import { type Account, withAccount, describeAccount } from '../../src/auth/credential-store/account.ts';
import { openCredentialStore } from '../../src/auth/credential-store/store.ts';
import { type TestAuthContext, makeAuthContext } from './auth-context.ts';
import { type TokenResponse, type Asked, type TokenServer, tokenServer } from './token-server.ts';
import { covers } from '../support/covers.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

type Set = { readonly context: TestAuthContext; readonly tokens: TokenServer; readonly account: Account };
const fresh: TokenResponse = {
  body: { access_token: 'at-2-secret', expires_in: 3599, scope: 'x/media.readonly', token_type: 'Bearer' },
};
const signedIn = async (
  answer: TokenResponse | ((asked: Asked) => TokenResponse | Promise<TokenResponse>) = fresh,
  more: Partial<Account> = {},
  settings = {},
): Promise<Set> => {
  const tokens = await tokenServer(answer);
  const context = await makeAuthContext({ settings });
  closers.push(tokens.close, context.close);
  const account: Account = {
    name: 'ada',
    server: tokens.url,
    endpoints: {
      authorize: `${tokens.url}/auth`,
      token: `${tokens.url}/token`,
      revoke: `${tokens.url}/revoke`,
    },
    clientId: 'client-1',
    requested: ['x/media.readonly', 'x/media.upload'],
    granted: ['x/media.readonly'],
    generation: 1,
    signIn: 's1',
    obtainedMs: context.host.now() - 3600_000,
    accessToken: 'at-1-secret',
    accessExpiresMs: context.host.now() - 1000,
    refreshToken: 'rt-1-secret',
    ...more,
  };
  await openCredentialStore(context).swap((data) => ({ data: withAccount(data, account) }));
  return { context, tokens, account };
};
const stored = async (context: TestAuthContext): Promise<Account | undefined> =>
  (await openCredentialStore(context).read()).accounts[0];

test('spec/sign-in#refresh: the fields of the request, and the merged response', async () => {
  const { context, tokens } = await signedIn();
  expect(await accessToken(context)).toMatchObject({ token: 'at-2-secret', origin: 'account ada' });
  expect(Object.fromEntries(tokens.asked[0]?.form ?? [])).toEqual({
    client_id: 'client-1',
    grant_type: 'refresh_token',
    refresh_token: 'rt-1-secret',
  });
  expect(await stored(context)).toMatchObject({ accessToken: 'at-2-secret', refreshToken: 'rt-1-secret' });
});

test('spec/sign-in#authentication-5: a missing scope stops before the request; of a token with unknown scopes the service decides', async () => {
  const good = { accessExpiresMs: Date.now() + 3600_000, obtainedMs: Date.now() };
  const none = await signedIn(fresh, { ...good, granted: [] });
  await expect(accessToken(none.context, { scopes: ['media'] })).rejects.toMatchObject({
    detail: { code: 'MISSING_SCOPE' },
  });
  const unknown = await signedIn(fresh, { ...good, granted: [], requested: [] });
  expect((await accessToken(unknown.context, { scopes: ['media'] })).token).toBe('at-1-secret');
});

test('a good token needs no request', async () => {
  const { context, tokens } = await signedIn(fresh, {
    accessExpiresMs: Date.now() + 3600_000,
    obtainedMs: Date.now(),
  });
  expect((await accessToken(context)).token).toBe('at-1-secret');
  expect(tokens.asked).toEqual([]);
});

test('thirty concurrent commands send one refresh', async () => {
  const { context, tokens } = await signedIn();
  const found = await Promise.all(Array.from({ length: 30 }, () => accessToken(context)));
  expect(new Set(found.map(({ token }) => token))).toEqual(new Set(['at-2-secret']));
  expect(tokens.asked).toHaveLength(1);
});

/** Creates other processes of the same user. The network request starts only when all of them wait. */
const crowd = async (first: TestAuthContext, size: number): Promise<TestAuthContext[]> => {
  let waiting = 0;
  const seen = new Set<number>();
  const all = await Promise.all(
    Array.from({ length: size }, (_, i) =>
      makeAuthContext({
        directory: first.directory,
        host: (host) => ({
          ...host,
          hostname: host.hostname,
          files: {
            ...host.files,
            readNow: (path) => {
              if (path.endsWith('.failed') && !seen.has(i)) {
                seen.add(i);
                waiting += 1;
              }
              return host.files.readNow(path);
            },
          },
          network: {
            ...host.network,
            request: async (request) => {
              await expect.poll(() => waiting < size, { interval: 5 }).toBe(false);
              return host.network.request(request);
            },
          },
        }),
      }),
    ),
  );
  closers.push(...all.map(({ close }) => close));
  return all;
};

test('fifty who wait for an outage share it: one asks, and no time limit comes after another', async () => {
  const { context, tokens } = await signedIn({
    status: 503,
    body: 'x',
    type: 'text/plain',
    headers: { 'retry-after': '0' },
  });
  const all = await crowd(context, 50);
  const outcomes = await Promise.all(all.map((each) => accessToken(each).catch((error: unknown) => error)));
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ category: 'network', detail: { code: 'SERVER_ERROR', retryable: true } });
  // The three attempts of the process that sent the request.
  expect(tokens.asked).toHaveLength(3);
  tokens.answer(fresh);
  expect((await accessToken(context)).token).toBe('at-2-secret');
});

test.each([
  ['an outage', { status: 503, body: 'x', type: 'text/plain', headers: { 'retry-after': '0' } }],
  ['a cut line', { cut: true as const }],
  ['too many requests', { status: 429, body: { error: 'slow_down' }, headers: { 'retry-after': '0' } }],
])('%s at an early refresh: the valid token is used, with a warning', async (_, answer) => {
  const { context } = await signedIn(answer, { accessExpiresMs: Date.now() + 40_000 });
  expect(await accessToken(context)).toMatchObject({ token: 'at-1-secret' });
  expect(context.said.text()).toContain('still good');
  await expect(accessToken(context, { minTtlMs: 50_000 })).rejects.toMatchObject({
    detail: { retryable: true },
  });
  await expect(accessToken(context, { refused: 'at-1-secret' })).rejects.toMatchObject({
    detail: { retryable: true },
  });
});

test(
  'an early refresh waits for at most five seconds with any timeout',
  covers('setting/timeout'),
  async () => {
    const limits: (number | undefined)[] = [];
    const timed = async (settings: Record<string, string>, accessExpiresMs: number): Promise<void> => {
      const { context } = await signedIn(fresh, { accessExpiresMs }, settings);
      const { request } = context.host.network;
      const network = {
        ...context.host.network,
        request: (asked: Parameters<typeof request>[0]) => {
          limits.push(asked.timeoutMs);
          return request(asked);
        },
      };
      await accessToken({ ...context, host: { ...context.host, hostname: context.host.hostname, network } });
    };
    await timed({}, Date.now() + 55_000);
    await timed({ timeout: '60s' }, Date.now() + 55_000);
    await timed({ timeout: '2s' }, Date.now() + 55_000);
    await timed({}, Date.now() - 1000);
    expect(limits).toEqual([5000, 5000, 2000, 30_000]);
  },
);

test('a rejection at an early refresh is not an outage', async () => {
  const { context } = await signedIn(
    { status: 401, body: { error: 'invalid_client' } },
    { accessExpiresMs: Date.now() + 40_000 },
  );
  await expect(accessToken(context)).rejects.toMatchObject({ detail: { code: 'INVALID_CLIENT' } });
});

test.each(['a b', 'a\nb', 'ä'])(
  'an access token of the environment that no header can carry is a setting to fix',
  async (value) => {
    const context = await makeAuthContext({ settings: { access_token: value } });
    closers.push(context.close);
    await expect(accessToken(context)).rejects.toMatchObject({
      category: 'config',
      detail: { code: 'BAD_TOKEN' },
    });
  },
);

test('--min-ttl: refreshed early, and refused when the service gives less', async () => {
  const { context, tokens } = await signedIn(fresh, {
    accessExpiresMs: Date.now() + 300_000,
    obtainedMs: Date.now(),
  });
  expect((await accessToken(context, { minTtlMs: 600_000 })).token).toBe('at-2-secret');
  expect(tokens.asked).toHaveLength(1);
  await expect(accessToken(context, { minTtlMs: 7200_000 })).rejects.toMatchObject({
    category: 'refused',
    detail: { code: 'TTL_TOO_LONG' },
  });
});

test.each([
  ['a cut line', { cut: true as const }, 'network'],
  ['an outage', { status: 503, body: 'x', type: 'text/plain', headers: { 'retry-after': '0' } }, 'network'],
  ['a web page', { status: 200, body: '<html>', type: 'text/html' }, 'network'],
  ['too many requests', { status: 429, body: 'x', headers: { 'retry-after': '0' } }, 'rate-limit'],
  ['a wrong client', { status: 401, body: { error: 'invalid_client' } }, 'auth'],
  ['a wrong client by 400', { status: 400, body: { error: 'invalid_client' } }, 'auth'],
  ['a deleted client', { status: 401, body: { error: 'deleted_client' } }, 'auth'],
])('a refresh that fails with %s deletes no credentials', async (_, answer, category) => {
  const { context, account } = await signedIn(answer);
  await expect(accessToken(context)).rejects.toMatchObject({ category });
  // The store records the rejected refresh next to the tokens.
  const { refreshFailure, generation, ...kept } = (await stored(context)) as Account;
  const { generation: before, ...given } = account;
  expect(kept).toEqual(given);
});

test.each([
  ['kept as it was', fresh, 'for this command only'],
  [
    'replaced',
    { body: { ...(fresh.body as object), refresh_token: 'rt-2-secret' } },
    'a new `opsctl login` will be needed',
  ],
])(
  'a full disk: this command uses the new token, with a warning; the refresh token was %s',
  async (_, answer, text) => {
    const { context, account } = await signedIn(answer);
    const full: TestAuthContext = {
      ...context,
      host: {
        ...context.host,
        hostname: context.host.hostname,
        files: {
          ...context.host.files,
          replace: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })),
        },
      },
    };
    expect((await accessToken(full)).token).toBe('at-2-secret');
    expect(context.said.text()).toContain('the disk is full');
    expect(context.said.text()).toContain(text);
    expect(context.said.hidden).toContain('at-2-secret');
    expect(await stored(context)).toEqual(account);
  },
);

test('a short outage is retried', async () => {
  let count = 0;
  const { context, tokens } = await signedIn(() =>
    ++count === 1 ? { status: 503, body: 'x', headers: { 'retry-after': '0' } } : fresh,
  );
  expect((await accessToken(context)).token).toBe('at-2-secret');
  expect(tokens.asked).toHaveLength(2);
});

const refused: TokenResponse = {
  status: 400,
  body: { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' },
};
test('invalid_grant removes the tokens and keeps the account, and later commands send no request', async () => {
  const { context, tokens } = await signedIn(refused);
  await expect(accessToken(context)).rejects.toMatchObject({
    category: 'auth',
    detail: { code: 'SIGN_IN_ENDED', tryThis: ['opsctl login --account ada'] },
  });
  expect(await stored(context)).toMatchObject({ name: 'ada', ended: expect.stringContaining('revoked') });
  expect(await stored(context)).not.toHaveProperty('refreshToken');
  await expect(accessToken(context)).rejects.toMatchObject({ category: 'auth' });
  expect(tokens.asked).toHaveLength(1);
});

test('invalid_grant re-reads first: a newer refresh token of another program is used, not deleted', async () => {
  const { context } = await signedIn((asked) =>
    asked.form.get('refresh_token') === 'rt-2-secret' ? fresh : refused,
  );
  const credentials = openCredentialStore(context);
  const slip = context.host.network.request;
  const sneaky: TestAuthContext = {
    ...context,
    host: {
      ...context.host,
      hostname: context.host.hostname,
      network: {
        ...context.host.network,
        request: async (request) => {
          const reply = await slip(request);
          await credentials.swap((data) => ({
            data: {
              ...data,
              accounts: data.accounts.map((each) => ({ ...each, refreshToken: 'rt-2-secret' })),
            },
          }));
          return reply;
        },
      },
    },
  };
  expect((await accessToken(sneaky)).token).toBe('at-2-secret');
  expect(await stored(context)).toMatchObject({ refreshToken: 'rt-2-secret', accessToken: 'at-2-secret' });
});

test('a token that the service rejected is replaced once, even if it looks valid', async () => {
  const { context, tokens } = await signedIn(fresh, {
    accessExpiresMs: Date.now() + 3600_000,
    obtainedMs: Date.now(),
  });
  expect((await accessToken(context, { refused: 'at-1-secret' })).token).toBe('at-2-secret');
  expect((await accessToken(context, { refused: 'at-1-secret' })).token).toBe('at-2-secret');
  expect(tokens.asked).toHaveLength(1);
});

test('a missing scope stops before the request, with the exact line', async () => {
  const { context, tokens } = await signedIn();
  await expect(accessToken(context, { scopes: ['media.upload'] })).rejects.toMatchObject({
    category: 'auth',
    detail: { code: 'MISSING_SCOPE', tryThis: ['opsctl login --account ada --add-scope x/media.upload'] },
  });
  expect(tokens.asked).toEqual([]);
});

test('OPSCTL_ACCESS_TOKEN is used unchanged, and hidden', covers('setting/access_token'), async () => {
  const { context, tokens } = await signedIn(fresh, {}, { access_token: 'given-secret' });
  expect(await accessToken(context)).toMatchObject({
    token: 'given-secret',
    origin: 'environment access_token',
  });
  expect(context.said.hidden).toContain('given-secret');
  expect(tokens.asked).toEqual([]);
});

test(
  'an account of another server is not used for the one that is set',
  covers('setting/auth.url'),
  async () => {
    const { context } = await signedIn(fresh, {}, { 'auth.url': 'https://other.example' });
    await expect(accessToken(context)).rejects.toMatchObject({
      category: 'auth',
      message: 'not signed in at https://other.example',
    });
  },
);

test('an unknown account and a missing sign-in are errors', async () => {
  const context = await makeAuthContext();
  closers.push(context.close);
  await expect(accessToken(context)).rejects.toMatchObject({
    category: 'auth',
    detail: { code: 'NOT_SIGNED_IN' },
  });
  const { context: other } = await signedIn();
  await expect(accessToken(other, { account: 'bob' })).rejects.toMatchObject({
    message: 'account not found: bob; accounts: ada',
  });
});

test('an id_token in a refresh response does not need metadata', async () => {
  const { context, account } = await signedIn();
  const next = await renewAccount(context, account, { minTtlMs: 0, force: true });
  expect(next.accessToken).toBe('at-2-secret');
});

test.each([
  ['200', { status: 200, body: '' }],
  [
    '400 invalid_token',
    { status: 400, body: { error: 'invalid_token', error_description: 'Token expired or revoked' } },
  ],
])('spec/sign-in#revoke with response %s: signed out', async (_, answer) => {
  const { context, tokens, account } = await signedIn(answer);
  expect(await signOut(context, account, false)).toMatchObject({ revoked: true, removed: true });
  expect(await stored(context)).toBeUndefined();
  expect(tokens.asked[0]).toMatchObject({ method: 'POST', url: '/revoke?token=rt-1-secret' });
  expect(tokens.asked[0]?.headers['content-type']).toBe('application/x-www-form-urlencoded');
});

test('a server of the standard gets the token in the body', async () => {
  const { context, tokens, account } = await signedIn(({ form }) =>
    form.has('token') ? { status: 200, body: '' } : { status: 400, body: { error: 'invalid_request' } },
  );
  expect(await signOut(context, account, false)).toMatchObject({ revoked: true });
  expect(Object.fromEntries(tokens.asked[1]?.form ?? [])).toEqual({
    token: 'rt-1-secret',
    client_id: 'client-1',
  });
});

test.each([
  ['a cut line', { cut: true as const }],
  ['an outage', { status: 500, body: 'x', headers: { 'retry-after': '0' } }],
])('%s at sign-out keeps the credential; --local forgets it', async (_, answer) => {
  const { context, account } = await signedIn(answer);
  await expect(signOut(context, account, false)).rejects.toMatchObject({ category: 'network' });
  expect(await stored(context)).toEqual(account);
  expect(await signOut(context, account, true)).toMatchObject({ revoked: false, removed: true });
  expect(await stored(context)).toBeUndefined();
});

test('a server that moved its token endpoint is found again by its issuer, and stays found', async () => {
  const tokens = await tokenServer(({ url }) => {
    if (url.startsWith('/.well-known'))
      return { body: { issuer: tokens.url, token_endpoint: `${tokens.url}/new/token` } };
    return url === '/new/token' ? fresh : { status: 404, body: 'gone', type: 'text/plain' };
  });
  const context = await makeAuthContext();
  closers.push(tokens.close, context.close);
  const account: Account = {
    ...{ name: 'ada', server: tokens.url, clientId: 'c', generation: 1, signIn: 's1', obtainedMs: 0 },
    ...{ requested: [], granted: [], accessToken: 'at-1', accessExpiresMs: 1, refreshToken: 'rt-1' },
    issuer: tokens.url,
    endpoints: { token: `${tokens.url}/token`, revoke: `${tokens.url}/revoke` },
  };
  await openCredentialStore(context).swap((data) => ({ data: withAccount(data, account) }));
  expect((await accessToken(context)).token).toBe('at-2-secret');
  expect((await stored(context))?.endpoints.token).toBe(`${tokens.url}/new/token`);
});

test.each([
  ['interaction_required', 'INTERACTION_REQUIRED'],
  ['unauthorized_client', 'UNAUTHORIZED_CLIENT'],
])(
  'a refresh that the server rejects with %s is noted, and forgotten after the next one',
  async (error, code) => {
    const { context, tokens, account } = await signedIn({ status: 400, body: { error } });
    await expect(accessToken(context)).rejects.toMatchObject({ detail: { code } });
    const seen = await stored(context);
    expect(seen).toMatchObject({ refreshToken: account.refreshToken, refreshFailure: { code } });
    expect(describeAccount(seen as Account, { wallMs: Date.now() })).toMatchObject({
      signed_in: false,
      refresh_failure: code,
    });
    tokens.answer(fresh);
    await accessToken(context);
    expect(describeAccount((await stored(context)) as Account, { wallMs: Date.now() })).toMatchObject({
      signed_in: true,
      refresh_failure: null,
    });
  },
);

test('an outage is not noted as a rejected refresh', async () => {
  const { context } = await signedIn({ status: 400, body: { error: 'temporarily_unavailable' } });
  await expect(accessToken(context)).rejects.toMatchObject({ category: 'network' });
  expect((await stored(context))?.refreshFailure).toBeUndefined();
});

test('a sign-out during a refresh revokes the new refresh token, which would stay valid at the service', async () => {
  const made: { context?: TestAuthContext } = {};
  const signOutMeanwhile = async (asked: Asked): Promise<TokenResponse> => {
    if (asked.url.startsWith('/revoke')) return { body: {} };
    await openCredentialStore(made.context as TestAuthContext).swap((data) => ({
      data: { ...data, accounts: [] },
    }));
    return { body: { ...(fresh.body as object), refresh_token: 'rt-2-secret' } };
  };
  const { context, account, tokens } = await signedIn(signOutMeanwhile);
  made.context = context;
  await expect(renewAccount(context, account, { minTtlMs: 0, force: true })).rejects.toMatchObject({
    category: 'auth',
  });
  const revocations = tokens.asked.filter(({ url }) => url.startsWith('/revoke'));
  expect(
    revocations.map(
      ({ url, form }) => form.get('token') ?? new URL(url, 'http://x').searchParams.get('token'),
    ),
  ).toEqual(['rt-2-secret']);
});

test('Ctrl-C ends the wait for another process that refreshes', async () => {
  const { context, account } = await signedIn();
  const lock = await openCredentialStore(context).lockAccount('ada', { waitMs: 0 });
  const waiting = renewAccount(context, account, { minTtlMs: 0, force: true });
  setTimeout(() => context.abort.abort(new Error('Ctrl-C')), 50);
  // Without the signal, the wait ends after two minutes with another error.
  await expect(waiting).rejects.toThrow('Ctrl-C');
  await lock?.release();
});
