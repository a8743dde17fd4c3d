import { generateKeyPairSync, verify } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { accountFrom, withAccount } from '../../src/auth/credential-store/account.ts';
import { openCredentialStore } from '../../src/auth/credential-store/store.ts';
import { identityToken } from '../../src/auth/machine/identity-token.ts';
import { machineOptions, machineToken } from '../../src/auth/machine/machine-token.ts';
import { metadataPlaces } from '../../src/auth/protocol/discovery.ts';
import { loginServer } from '../../src/auth/settings.ts';
import { signOut } from '../../src/auth/issued-tokens.ts';
import { makeAuthContext, type TestAuthContext } from './auth-context.ts';
import { covers } from '../support/covers.ts';

type Asked = {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly form: URLSearchParams;
};
let closers: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closers) await close();
  closers = [];
});

/** Starts a server of another vendor: its realms are below a path, and its metadata defines everything else. */
const vendor = async (more: Record<string, unknown> = {}) => {
  const asked: Asked[] = [];
  let origin = '';
  const server: Server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += String(part);
    const url = new URL(request.url ?? '/', origin);
    asked.push({ path: url.pathname, headers: request.headers, form: new URLSearchParams(body) });
    const issuer = `${origin}/realms/one`;
    const answers: Record<string, unknown> = {
      '/realms/one/.well-known/openid-configuration': {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        revocation_endpoint: `${issuer}/goodbye`,
        ...more,
      },
      '/realms/one/token': { access_token: 'at', token_type: 'Bearer', expires_in: 60 },
      '/realms/one/goodbye': {},
    };
    const answer = answers[url.pathname];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  closers.push(() => new Promise((resolve) => server.close(resolve)));
  return { origin, issuer: `${origin}/realms/one`, asked };
};
const contextWith = async (settings: Record<string, string>, env = {}): Promise<TestAuthContext> => {
  const context = await makeAuthContext({ settings, env });
  closers.push(() => context.close());
  return context;
};

test('the two well-known places of an issuer with a path', () => {
  expect(metadataPlaces('https://a.example/realms/one/')).toEqual([
    'https://a.example/realms/one/.well-known/openid-configuration',
    'https://a.example/.well-known/oauth-authorization-server/realms/one',
  ]);
});

test(
  'auth.issuer: endpoints, client authentication and the account space come from the metadata',
  covers('setting/auth.issuer'),
  async () => {
    const { issuer } = await vendor({ token_endpoint_auth_methods_supported: ['client_secret_basic'] });
    const context = await contextWith({
      'auth.issuer': issuer,
      'auth.client_id': 'c',
      'auth.client_secret': 's',
    });
    expect(await loginServer(context, {})).toMatchObject({
      endpoints: { authorize: `${issuer}/auth`, token: `${issuer}/token`, revoke: `${issuer}/goodbye` },
      key: issuer,
      isMock: false,
      clientAuth: 'basic',
    });
  },
);

test('metadata of another issuer are refused', async () => {
  const { issuer } = await vendor({ issuer: 'https://evil.example' });
  const context = await contextWith({ 'auth.client_id': 'c' });
  await expect(loginServer(context, { issuer })).rejects.toThrow('its metadata name "https://evil.example"');
  await expect(loginServer(context, { issuer: 'http://a.example' })).rejects.toThrow(
    'invalid URL of the issuer',
  );
});

test(
  'auth.client_auth basic: ID and secret are form-encoded, so that any legal character survives',
  covers('setting/auth.client_auth'),
  async () => {
    const { issuer, asked } = await vendor();
    const context = await contextWith({
      'auth.issuer': issuer,
      'auth.client_id': 'c:1',
      'auth.client_secret': 'a b:c%+ü',
      'auth.audience': 'https://api.example',
    });
    await machineToken(context, machineOptions(context, 'client-credentials'));
    const request = asked.find(({ path }) => path.endsWith('/token'));
    const [id, secret] = Buffer.from(String(request?.headers.authorization).slice(6), 'base64')
      .toString()
      .split(':');
    const decoded = (text = '') => decodeURIComponent(text.replaceAll('+', ' '));
    expect([decoded(id), decoded(secret)]).toEqual(['c:1', 'a b:c%+ü']);
    expect(request?.form.has('client_secret')).toBe(false);
    expect(request?.form.get('audience')).toBe('https://api.example');
  },
);

test(
  'auth.client_key and auth.client_key_id: private_key_jwt, a new assertion for the issuer',
  covers('setting/auth.client_key', 'setting/auth.client_key_id'),
  async () => {
    const { issuer, asked } = await vendor({ token_endpoint_auth_methods_supported: ['private_key_jwt'] });
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    const context = await contextWith({
      'auth.issuer': issuer,
      'auth.client_id': 'c',
      'auth.client_key': pem,
      'auth.client_key_id': 'k1',
    });
    await machineToken(context, machineOptions(context, 'client-credentials'));
    const form = asked.find(({ path }) => path.endsWith('/token'))?.form;
    const [head = '', body = '', signature = ''] = (form?.get('client_assertion') ?? '').split('.');
    const json = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(json(head)).toMatchObject({ alg: 'ES256', kid: 'k1' });
    expect(json(body)).toMatchObject({ iss: 'c', sub: 'c', aud: issuer });
    const key = { key: pair.publicKey, dsaEncoding: 'ieee-p1363' as const };
    expect(verify('sha256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'))).toBe(
      true,
    );
  },
);

test('a sign-out at a server with metadata uses its endpoint, without a token in a URL', async () => {
  const { issuer, asked } = await vendor();
  const context = await contextWith({});
  const endpoints = { authorize: `${issuer}/auth`, token: `${issuer}/token`, revoke: `${issuer}/goodbye` };
  const owner = { name: 'a', signIn: 's', server: issuer, endpoints, clientId: 'c', issuer };
  const made = accountFrom(owner, { accessToken: 'at', refreshToken: 'rt-secret' }, [], { wallMs: 1 });
  await openCredentialStore(context).swap((data) => ({ data: withAccount(data, made) }));
  expect(await signOut(context, made, false)).toMatchObject({ revoked: true, removed: true });
  const request = asked.find(({ path }) => path.endsWith('/goodbye'));
  expect(Object.fromEntries(request?.form ?? [])).toEqual({ client_id: 'c', token: 'rt-secret' });
  expect(asked.map(({ path }) => path).join()).not.toContain('rt-secret');
});

test('a sign-out at a server without a revocation endpoint sends no token and reports that', async () => {
  const { issuer, asked } = await vendor({ revocation_endpoint: undefined });
  const context = await contextWith({});
  const endpoints = { authorize: `${issuer}/auth`, token: `${issuer}/token`, revoke: `${issuer}/revoke` };
  const owner = { name: 'a', signIn: 's', server: issuer, endpoints, clientId: 'c', issuer };
  const made = accountFrom(owner, { accessToken: 'at', refreshToken: 'rt-secret' }, [], { wallMs: 1 });
  await openCredentialStore(context).swap((data) => ({ data: withAccount(data, made) }));
  expect(await signOut(context, made, false)).toMatchObject({ revoked: false, removed: true });
  expect(asked.map(({ path, form }) => path + form).join()).not.toContain('rt-secret');
  expect((await openCredentialStore(context).read()).accounts).toHaveLength(0);
});

const jwt = 'eyJhIjoxfQ.eyJiIjoyfQ.c2ln';
test(
  'auth.identity_token_file and auth.identity_token_command give the identity token of a job',
  covers('setting/auth.identity_token_file', 'setting/auth.identity_token_command'),
  async () => {
    const context = await contextWith({});
    mkdirSync(context.directory, { recursive: true });
    const path = join(context.directory, 'token');
    writeFileSync(path, `${jwt}\n`);
    const audience = undefined;
    const read = async (settings: Record<string, string>) =>
      identityToken(await contextWith(settings), { audience });
    expect(await read({ 'auth.identity_token_file': path })).toBe(jwt);
    expect(await read({ 'auth.identity_token_command': `cat ${path}` })).toBe(jwt);
    await expect(read({ 'auth.identity_token_command': 'echo broken >&2; exit 3' })).rejects.toThrow(
      'broken',
    );
    await expect(read({ 'auth.identity_token_file': '/no/such/file' })).rejects.toThrow('cannot be read');
    await expect(read({ 'auth.identity_token': 'no jwt' })).rejects.toThrow('not a JWT');
  },
);
