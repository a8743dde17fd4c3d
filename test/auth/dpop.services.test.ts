import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { demo, media } from '../../src/api-specs/oauth/endpoints.ts';
import type { LoginPlan } from '../../src/auth/complete-login.ts';
import type { Account } from '../../src/auth/credential-store/account.ts';
import { openCredentialStore } from '../../src/auth/credential-store/store.ts';
import { walkConsent } from '../../src/auth/login/plan.ts';
import { finishDetachedLogin, startDetachedLogin } from '../../src/auth/detached-login.ts';
import { signIn } from '../../src/auth/flow.ts';
import { requestTo } from '../../src/auth/media-api.ts';
import { credentialToken } from '../../src/auth/programs/credential-protocols.ts';
import { sendWithRetry } from '../../src/auth/protocol/send.ts';
import { renewAccount } from '../../src/auth/renew.ts';
import { loginServer } from '../../src/auth/settings.ts';
import { accessToken, authorizationOf } from '../../src/auth/token.ts';
import {
  type AuthServer,
  authServer,
  clients,
  control,
  raw,
  scopes,
  secret,
} from '../support/auth-server.ts';
import { makeAuthContext, type TestAuthContext } from './auth-context.ts';
import { tokenServer } from './token-server.ts';
import { covers } from '../support/covers.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
type Side = { readonly server: AuthServer; readonly context: TestAuthContext };
const open = async (
  serverSettings: object = {},
  settings: Readonly<Record<string, string>> = { 'auth.dpop': 'true' },
): Promise<Side> => {
  const server = await authServer();
  const context = await makeAuthContext({
    settings: { 'auth.issuer': server.origin, 'auth.client_id': clients.desktop, ...settings },
  });
  closers.push(server.close, context.close);
  if (Object.keys(serverSettings).length > 0)
    expect((await control(server, 'PATCH', '/settings', serverSettings)).status).toBe(200);
  return { server, context };
};
const planFor = async (context: TestAuthContext): Promise<LoginPlan> => ({
  server: await loginServer(context, {}),
  scopes: ['openid', scopes.readonly],
  params: [],
  port: 0,
  path: '/callback',
  timeoutMs: 20_000,
  noBrowser: true,
  readsPaste: false,
  hasTerminal: false,
  completePages: (url, redirectUri) => walkConsent(context, url, redirectUri),
});
const login = async (context: TestAuthContext): Promise<Account> => signIn(context, await planFor(context));
const stored = async (context: TestAuthContext): Promise<Account> => {
  const [account] = (await openCredentialStore(context).read()).accounts;
  if (account === undefined) throw new Error('no account');
  return account;
};
const query = new URLSearchParams({ part: 'id', mine: 'true' });
const channelsPath = `${media.basePath}/channels`;
const channels = async ({ server, context }: Side) => {
  const token = await accessToken(context);
  const target = { baseUrl: server.origin, isMock: false, headers: {}, origin: 'test' };
  return sendWithRetry(context, 'data API', requestTo(target, channelsPath, query, token), token.prover);
};
const asBearer = ({ server }: Side, token: string) =>
  raw(`${server.origin}${channelsPath}?${query}`, { headers: { authorization: `Bearer ${token}` } });

describe.each([
  ['by time', {}],
  ['by nonce', { require_dpop_nonce: true }],
  ['required for all tokens', { require_dpop: true, require_pushed_requests: true }],
])('DPoP at the embedded server, proofs checked %s', (_, serverSettings) => {
  test('sign-in, API call and refresh use one key; the tokens are refused without it', async () => {
    const side = await open(serverSettings);
    const account = await login(side.context);
    expect(account).toMatchObject({ tokenType: 'DPoP', server: side.server.origin });
    expect(account.dpopKey).toContain('PRIVATE KEY');
    expect(side.context.said.hidden).toContain(account.dpopKey);
    expect((await channels(side)).status).toBe(200);
    const refused = await asBearer(side, account.accessToken ?? '');
    expect(refused.status).toBe(401);
    expect(String(refused.headers['www-authenticate'])).toMatch(/^DPoP error="invalid_token"/);
    const renewed = await renewAccount(side.context, account, { minTtlMs: 0, force: true });
    expect(renewed.accessToken).not.toBe(account.accessToken);
    expect(renewed).toMatchObject({ tokenType: 'DPoP', dpopKey: account.dpopKey });
    expect((await channels(side)).status).toBe(200);
  });
});

test('login --start and --finish keep the key that the request announced', async () => {
  const side = await open();
  const { completePages: scripted, ...plan } = await planFor(side.context);
  const started = await startDetachedLogin(side.context, plan);
  const url = new URL(started.authorization_url);
  expect(url.searchParams.get('dpop_jkt')).toMatch(/^[\w-]{43}$/);
  await control(side.server, 'PUT', '/consent', { mode: 'auto' });
  const reply = await raw(url.href);
  const account = await finishDetachedLogin(side.context, String(reply.headers.location), undefined);
  expect(account).toMatchObject({ tokenType: 'DPoP' });
  expect((await channels(side)).status).toBe(200);
});

test(
  'a client with a secret signs in without a person, and its token is bound',
  covers(
    'setting/auth.client_id',
    'setting/auth.client_secret',
    'setting/auth.dpop',
    'setting/auth.method',
    'setting/auth.scopes',
  ),
  async () => {
    const side = await open(
      {},
      {
        'auth.dpop': 'true',
        'auth.client_id': demo.clients.desktopWithSecret,
        'auth.client_secret': secret,
        'auth.method': 'client-credentials',
        'auth.scopes': scopes.readonly,
      },
    );
    await control(side.server, 'PATCH', `/clients/${demo.clients.desktopWithSecret}`, {
      service_account: demo.serviceAccount.id,
    });
    const token = await accessToken(side.context);
    expect(authorizationOf(token)).toMatch(/^DPoP ma2\./);
    expect((await asBearer(side, token.token)).status).toBe(401);
  },
);

const good = { access_token: 'at-1', expires_in: 3600, refresh_token: 'rt-1', scope: 'a' };
const accountAt = async (url: string, context: TestAuthContext, more: Partial<Account>): Promise<Account> => {
  const account: Account = {
    ...{ name: 'ada', server: url, clientId: 'c', generation: 1, signIn: 's1', obtainedMs: 0 },
    ...{ requested: ['a'], granted: ['a'], accessToken: 'at-0', accessExpiresMs: 1, refreshToken: 'rt-0' },
    endpoints: { authorize: `${url}/auth`, token: `${url}/token`, revoke: `${url}/revoke` },
    ...more,
  };
  await openCredentialStore(context).swap((data) => ({ data: { ...data, accounts: [account] } }));
  return account;
};
const pem = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string;

describe('a downgrade', () => {
  test.each([
    ['Bearer', 'Bearer'],
    ['no type', undefined],
    ['an empty type', ''],
    ['N_A', 'N_A'],
  ])(
    'a downgrade is rejected if a refresh of a bound account returns %s, and its tokens are revoked',
    async (_, type) => {
      const server = await tokenServer({ body: { ...good, token_type: type } });
      const context = await makeAuthContext();
      closers.push(server.close, context.close);
      const account = await accountAt(server.url, context, { tokenType: 'DPoP', dpopKey: pem() });
      await expect(renewAccount(context, account, { minTtlMs: 0 })).rejects.toMatchObject({
        category: 'refused',
        detail: { code: 'TOKEN_DOWNGRADED' },
      });
      expect((await stored(context)).accessToken).toBe('at-0');
      expect(server.asked.filter(({ url }) => url.startsWith('/revoke'))).not.toEqual([]);
    },
  );

  test('a downgrade is rejected at the sign-in, and no tokens are stored', async () => {
    const side = await open();
    const plan = await planFor(side.context);
    // The same server behind a proxy that drops the proof, as an old gateway does.
    const network = {
      ...side.context.host.network,
      request: (asked: Parameters<typeof side.context.host.network.request>[0]) => {
        const { dpop, ...headers } = asked.headers ?? {};
        const url = asked.url.replace(/&dpop_jkt=[^&]*/, '');
        const body = typeof asked.body === 'string' ? asked.body.replace(/&dpop_jkt=[^&]*/, '') : asked.body;
        return side.context.host.network.request({ ...asked, url, headers, ...(body ? { body } : {}) });
      },
    };
    const host = { ...side.context.host, hostname: side.context.host.hostname, network };
    await expect(signIn({ ...side.context, host }, plan)).rejects.toMatchObject({
      detail: { code: 'TOKEN_DOWNGRADED' },
    });
    expect((await openCredentialStore(side.context).read()).accounts).toEqual([]);
  });

  test('programs that need Bearer tokens get no bound token', async () => {
    const server = await tokenServer({ body: { ...good, token_type: 'DPoP' } });
    const context = await makeAuthContext();
    closers.push(server.close, context.close);
    await accountAt(server.url, context, { tokenType: 'DPoP', dpopKey: pem() });
    await expect(credentialToken(context, undefined)).rejects.toMatchObject({
      detail: { code: 'BOUND_TOKEN' },
    });
  });

  test('does not happen if the key of an account is lost', async () => {
    const context = await makeAuthContext();
    closers.push(context.close);
    await accountAt('http://127.0.0.1:1', context, {
      tokenType: 'DPoP',
      obtainedMs: Date.now(),
      accessExpiresMs: Date.now() + 3600_000,
    });
    await expect(accessToken(context)).rejects.toMatchObject({ detail: { code: 'BAD_DPOP_KEY' } });
  });

  test('a DPoP token that was not requested is rejected too', async () => {
    const server = await tokenServer({ body: { ...good, token_type: 'DPoP' } });
    const context = await makeAuthContext();
    closers.push(server.close, context.close);
    const account = await accountAt(server.url, context, {});
    await expect(renewAccount(context, account, { minTtlMs: 0 })).rejects.toMatchObject({
      detail: { code: 'BAD_TOKEN_ANSWER', tryThis: expect.arrayContaining(['opsctl login --dpop']) },
    });
  });
});

test('a proof has the claims of RFC 9449 4.2, a nonce after the server asked for one, and a new ID each time', async () => {
  const server = await tokenServer(({ headers }) =>
    /nonce/.test(Buffer.from(String(headers.dpop).split('.')[1] ?? '', 'base64url').toString())
      ? { body: { ...good, token_type: 'dpop' } }
      : { status: 400, body: { error: 'use_dpop_nonce' }, headers: { 'dpop-nonce': 'n-1' } },
  );
  const context = await makeAuthContext();
  closers.push(server.close, context.close);
  const account = await accountAt(server.url, context, { tokenType: 'DPoP', dpopKey: pem() });
  const renewed = await renewAccount(context, account, { minTtlMs: 0 });
  expect(renewed.tokenType).toBe('DPoP');
  const proofs = server.asked.map(({ headers }) => {
    const [head = '', body = '', signature = ''] = String(headers.dpop).split('.');
    const [header, claims] = [head, body].map((part) =>
      JSON.parse(Buffer.from(part, 'base64url').toString()),
    );
    const key = createPublicKey({ key: header.jwk, format: 'jwk' });
    const data = Buffer.from(`${head}.${body}`);
    const isGenuine = verify(
      'sha256',
      data,
      { key, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    );
    return { header, claims, isGenuine };
  });
  expect(proofs).toHaveLength(2);
  for (const { header, claims, isGenuine } of proofs) {
    expect(isGenuine).toBe(true);
    expect(header).toMatchObject({ typ: 'dpop+jwt', alg: 'ES256' });
    expect(Object.keys(header.jwk).sort()).toEqual(['crv', 'kty', 'x', 'y']);
    expect(claims).toMatchObject({ htm: 'POST', htu: `${server.url}/token` });
  }
  expect(proofs.map(({ claims }) => claims.nonce)).toEqual([undefined, 'n-1']);
  expect(proofs[0]?.claims.jti).not.toBe(proofs[1]?.claims.jti);
  const token = await accessToken(context);
  const { headers } = token.prover?.prove({ method: 'GET', url: `${server.url}/x?y=1`, headers: {} }) ?? {};
  const claims = JSON.parse(
    Buffer.from(String((headers as Record<string, string>).dpop).split('.')[1] ?? '', 'base64url').toString(),
  );
  expect(claims).toMatchObject({
    htm: 'GET',
    htu: `${server.url}/x`,
    ath: createHash('sha256').update('at-1').digest('base64url'),
  });
});

test('a server whose metadata does not list ES256 is rejected before the sign-in', async () => {
  const server = await tokenServer(({ url }) =>
    url.startsWith('/.well-known')
      ? {
          body: {
            issuer: server.url,
            authorization_endpoint: `${server.url}/auth`,
            token_endpoint: `${server.url}/token`,
            dpop_signing_alg_values_supported: ['EdDSA'],
          },
        }
      : { status: 404 },
  );
  const context = await makeAuthContext({
    settings: { 'auth.issuer': server.url, 'auth.client_id': 'c', 'auth.dpop': 'true' },
  });
  closers.push(server.close, context.close);
  await expect(loginServer(context, {})).rejects.toMatchObject({ detail: { code: 'DPOP_ALGORITHM' } });
  expect((await loginServer(context, { dpop: false })).dpopKey).toBeUndefined();
});

test.each([
  [true, ['client_id', 'request_uri']],
  [false, ['client_id', 'code_challenge', 'code_challenge_method', 'redirect_uri', 'scope', 'state']],
] as const)(
  'the embedded server without an issuer, pushed requests required: %s',
  async (isRequired, expected) => {
    const server = await authServer();
    const context = await makeAuthContext({ mockUrl: server.origin });
    closers.push(server.close, context.close);
    await control(server, 'PATCH', '/settings', { require_pushed_requests: isRequired });
    const plan = await planFor(context);
    expect(plan.server).toMatchObject({ isMock: true, clientId: clients.desktop });
    let address = new URL(server.origin);
    const scripted: LoginPlan['completePages'] = (url, redirectUri) => {
      address = new URL(url);
      return walkConsent(context, url, redirectUri);
    };
    expect((await signIn(context, { ...plan, completePages: scripted })).server).toBe('mock');
    expect([...address.searchParams.keys()]).toEqual(expect.arrayContaining([...expected]));
    expect(address.searchParams.has('request_uri')).toBe(isRequired);
    const detached = await startDetachedLogin(context, plan);
    expect(detached.authorization_url.includes('request_uri')).toBe(isRequired);
  },
);
