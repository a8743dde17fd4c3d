import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { keepAccount } from '../../src/auth/complete-login.ts';
import { openCredentialStore } from '../../src/auth/credential-store/store.ts';
import { signOut } from '../../src/auth/issued-tokens.ts';
import { makeAuthContext } from './auth-context.ts';

/** Starts a server that publishes its revocation endpoint only if `hasRevocation` is set. It revokes only access tokens. */
const vendor = async (
  hasRevocation: boolean,
  confirm: (response: ServerResponse) => unknown = (response) => response.end('{}'),
) => {
  const revoked: string[] = [];
  const server = createServer((request, response) => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      if (request.url?.startsWith('/.well-known/openid-configuration')) {
        const more = hasRevocation ? { revocation_endpoint: `${origin}/revocation` } : {};
        return response.end(JSON.stringify({ issuer: origin, token_endpoint: `${origin}/token`, ...more }));
      }
      const token = new URLSearchParams(body).get('token') ?? '';
      if (request.url !== '/revocation') response.statusCode = 404;
      else if (token.startsWith('rt')) response.statusCode = 400;
      else revoked.push(token);
      return response.statusCode === 400
        ? response.end('{"error":"unsupported_token_type"}')
        : confirm(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const context = await makeAuthContext();
  const endpoints = { authorize: `${issuer}/auth`, token: `${issuer}/token`, revoke: `${issuer}/revoke` };
  const account = await keepAccount(context, {
    name: 'a',
    server: issuer,
    issuer,
    endpoints,
    clientId: 'c',
    requested: [],
    granted: [],
    obtainedMs: context.host.now(),
    accessToken: 'at-1',
    refreshToken: 'rt-1',
  });
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await context.close();
  };
  return { context, account, revoked, close };
};

test('a server without revocation: the account is forgotten, and what stays valid is named', async () => {
  const { context, account, close } = await vendor(false);
  expect(await signOut(context, account, false)).toEqual({ account: 'a', revoked: false, removed: true });
  expect((await openCredentialStore(context, account.server).read()).accounts).toEqual([]);
  expect(context.said.text()).toMatch(/refresh token and the access token.*until they expire/);
  await close();
});
test('RFC 7009 2.2.1: a server that revokes no refresh tokens revokes the access token', async () => {
  const { context, account, revoked, close } = await vendor(true);
  expect(await signOut(context, account, false)).toMatchObject({ revoked: true, removed: true });
  expect(revoked).toEqual(['at-1']);
  await close();
});

const gzip = { 'content-encoding': 'gzip' };
test.each<[string, (response: ServerResponse) => unknown]>([
  ['is too large', (response) => response.writeHead(200, gzip).end(gzipSync(Buffer.alloc(5 << 20, ' ')))],
  [
    'is cut off',
    (response) => response.writeHead(200, { 'content-length': 9 }).write('{', () => response.destroy()),
  ],
  ['is damaged gzip', (response) => response.writeHead(200, gzip).end('{}')],
  ['is not JSON', (response) => response.end('<html>')],
  ['contains a key twice', (response) => response.end('{"a":1,"a":2}')],
])('RFC 7009 2.2: the status 200 confirms a revocation if its body %s', async (_, confirm) => {
  const { context, account, revoked, close } = await vendor(true, confirm);
  expect(await signOut(context, account, false)).toEqual({ account: 'a', revoked: true, removed: true });
  expect(revoked).toEqual(['at-1']);
  await close();
});
