import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { signIn } from '../../src/auth/flow.ts';
import { finishDetachedLogin, startDetachedLogin } from '../../src/auth/detached-login.ts';
import type { LoginPlan } from '../../src/auth/complete-login.ts';
import { loginServer } from '../../src/auth/settings.ts';
import { makeAuthContext, type TestAuthContext } from './auth-context.ts';
import { get } from './waiting-login.ts';

let closers: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closers) await close();
  closers = [];
});

type Vendor = {
  readonly issuer: string;
  readonly exchanges: { readonly form: URLSearchParams; readonly authorization: string | undefined }[];
};
/** Starts a server with metadata. `announces` is the metadata entry about `iss` in its responses. */
const vendor = async (announces: boolean | string | undefined, more: object = {}): Promise<Vendor> => {
  const exchanges: Vendor['exchanges'] = [];
  let issuer = '';
  const server: Server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += String(part);
    if (request.url === '/token')
      exchanges.push({ form: new URLSearchParams(body), authorization: request.headers.authorization });
    const metadata = {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
      ...(announces === undefined ? {} : { authorization_response_iss_parameter_supported: announces }),
      ...more,
    };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(
        request.url === '/token' ? { access_token: 'at', token_type: 'Bearer', expires_in: 60 } : metadata,
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => server.close(resolve)));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { issuer, exchanges };
};

const planAt = async (context: TestAuthContext, issuer: string): Promise<LoginPlan> => ({
  server: await loginServer(context, { issuer, clientId: 'c', clientSecret: 's' }),
  scopes: ['read'],
  params: [['resource', 'https://api.example']],
  port: 0,
  path: '',
  timeoutMs: 30_000,
  readsPaste: false,
  hasTerminal: false,
});
const contextFor = async (): Promise<TestAuthContext> => {
  const context = await makeAuthContext();
  closers.unshift(() => context.close());
  return context;
};

const addressIn = async (context: TestAuthContext): Promise<URL> => {
  for (;;) {
    const found = /https?:\/\/\S+code_challenge=\S+/.exec(context.said.text());
    if (found !== null) return new URL(found[0]);
    await new Promise((resolve) => setImmediate(resolve));
  }
};

test.each([
  ['announced and missing', true, undefined, 'does not contain iss'],
  ['announced as text and missing', 'true', undefined, 'does not contain iss'],
  ['denied as text and missing', 'false', undefined, undefined],
  ['announced and another', true, 'https://evil.example', 'mix-up'],
  ['announced and right', true, 'right', undefined],
  ['denied and missing', false, undefined, undefined],
  ['not mentioned and missing', undefined, undefined, undefined],
  ['not mentioned and another', undefined, 'https://evil.example', 'mix-up'],
])('RFC 9207 2.4: iss %s', async (_, announces, iss, refusal) => {
  const { issuer, exchanges } = await vendor(announces);
  const context = await contextFor();
  const outcome = signIn(context, await planAt(context, issuer)).catch((error: Error) => error);
  const url = await addressIn(context);
  const back = new URL(url.searchParams.get('redirect_uri') ?? '');
  back.searchParams.set('code', 'code-1');
  back.searchParams.set('state', url.searchParams.get('state') ?? '');
  if (iss !== undefined) back.searchParams.set('iss', iss === 'right' ? issuer : iss);
  await get(back.href);
  const ended = await outcome;
  expect(exchanges).toHaveLength(refusal === undefined ? 1 : 0);
  if (refusal === undefined) expect(ended).toMatchObject({ accessToken: 'at', issuer });
  else expect((ended as Error).message).toContain(refusal);
});

test.each([
  ['another issuer', true, 'https://evil.example', 'ISSUER_MISMATCH'],
  ['no issuer, although it is announced', true, undefined, 'ISSUER_MISMATCH'],
  ['the right issuer', true, 'right', 'ACCESS_DENIED'],
  ['another issuer, not announced', undefined, 'https://evil.example', 'ISSUER_MISMATCH'],
  ['no issuer, not announced', undefined, undefined, 'ACCESS_DENIED'],
])('RFC 9207 2.4: an error response with %s', async (_, announces, iss, code) => {
  const { issuer } = await vendor(announces);
  const context = await contextFor();
  const outcome = signIn(context, await planAt(context, issuer)).catch((error: Error) => error);
  const url = await addressIn(context);
  const back = new URL(url.searchParams.get('redirect_uri') ?? '');
  const state = url.searchParams.get('state') ?? '';
  const params = { error: 'access_denied', error_description: 'by policy P1', state };
  for (const [name, value] of Object.entries(params)) back.searchParams.set(name, value);
  if (iss !== undefined) back.searchParams.set('iss', iss === 'right' ? issuer : iss);
  await get(back.href);
  expect(await outcome).toMatchObject({
    category: 'auth',
    detail: { code },
    message: expect.stringContaining('by policy P1'),
  });
});

test('several resource values reach the authorization request and the exchange', async () => {
  const { issuer, exchanges } = await vendor(undefined);
  const context = await contextFor();
  const params = [
    ['resource', 'https://a.example'],
    ['resource', 'https://b.example'],
  ] as const;
  const outcome = signIn(context, { ...(await planAt(context, issuer)), params });
  const url = await addressIn(context);
  expect(url.searchParams.getAll('resource')).toEqual(['https://a.example', 'https://b.example']);
  const back = new URL(url.searchParams.get('redirect_uri') ?? '');
  back.searchParams.set('code', 'code-1');
  back.searchParams.set('state', url.searchParams.get('state') ?? '');
  await get(back.href);
  await outcome;
  expect(exchanges[0]?.form.getAll('resource')).toEqual(['https://a.example', 'https://b.example']);
});

test('a login that is finished later keeps what its issuer wants: iss, client authentication, resource', async () => {
  const { issuer, exchanges } = await vendor(true);
  const context = await contextFor();
  const begin = async (more: Record<string, string>): Promise<string> => {
    const started = await startDetachedLogin(context, await planAt(context, issuer));
    const back = new URL(started.redirect_uri);
    const state = new URL(started.authorization_url).searchParams.get('state') ?? '';
    for (const [name, value] of Object.entries({ code: 'code-1', state, ...more }))
      back.searchParams.set(name, value);
    return back.href;
  };
  await expect(finishDetachedLogin(context, await begin({}), 's')).rejects.toMatchObject({
    detail: { code: 'ISSUER_MISMATCH' },
  });
  expect(exchanges).toEqual([]);
  const account = await finishDetachedLogin(context, await begin({ iss: issuer }), 's');
  expect(account).toMatchObject({ issuer, clientAuth: 'basic' });
  expect(exchanges[0]?.authorization).toBe(`Basic ${Buffer.from('c:s').toString('base64')}`);
  expect(exchanges[0]?.form.get('resource')).toBe('https://api.example');
});

test.each([
  [['plain'], true],
  [[], true],
  [['plain', 'S256'], false],
  [undefined, false],
])(
  'a server whose metadata lists PKCE methods without S256 causes a warning: %j',
  async (methods, isWarned) => {
    const { issuer } = await vendor(undefined, { code_challenge_methods_supported: methods });
    const context = await contextFor();
    await startDetachedLogin(context, await planAt(context, issuer));
    expect(/does not support PKCE with S256/.test(context.said.text())).toBe(isWarned);
  },
);
