import { pathToFileURL } from 'node:url';
import { createHash, randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import {
  ada,
  type AuthServer,
  authServer,
  Browser,
  channels,
  clients,
  control,
  formOf,
  scopes,
  secret,
} from '../support/auth-server.ts';
import { signInAt } from './browser-of-clients.ts';
// @ts-expect-error plain JavaScript, shared with the benches
import { peers } from './install.mjs';

/** Clients of other vendors, used as documented, with the embedded server. */
let server: AuthServer;
let load: (name: string) => Promise<any>;
const redirectUri = 'http://127.0.0.1:4567/callback';
beforeAll(async () => {
  const require = peers();
  load = async (name) => import(pathToFileURL(require.resolve(name)).href);
  server = await authServer();
}, 600_000);

const signIn = (url: string): Promise<URL> => signInAt(server, url);

/** MSAL accepts only https addresses, and the embedded server of this test uses plain HTTP. */
const networkClient = () => {
  const send = async (method: string, url: string, options: any = {}) => {
    const reply = await fetch(url.replace(/^https:/, 'http:'), {
      method,
      headers: options.headers,
      ...(method === 'POST' ? { body: options.body } : {}),
    });
    const text = (await reply.text()).replaceAll('http://', 'https://');
    return { status: reply.status, headers: Object.fromEntries(reply.headers), body: JSON.parse(text) };
  };
  return {
    sendGetRequestAsync: (url: string, options?: any) => send('GET', url, options),
    sendPostRequestAsync: (url: string, options?: any) => send('POST', url, options),
  };
};

test('MSAL signs in: it always asks for offline_access', async () => {
  const { PublicClientApplication, ProtocolMode } = await load('@azure/msal-node');
  const authority = server.origin.replace('http:', 'https:');
  const app = new PublicClientApplication({
    auth: {
      clientId: clients.desktop,
      authority,
      knownAuthorities: [new URL(authority).host],
      protocolMode: ProtocolMode?.OIDC ?? 'OIDC',
    },
    system: { networkClient: networkClient(), protocolMode: ProtocolMode?.OIDC ?? 'OIDC' },
  });
  const verifier = randomBytes(32).toString('base64url');
  const url = await app.getAuthCodeUrl({
    scopes: [scopes.readonly],
    redirectUri,
    codeChallenge: createHash('sha256').update(verifier).digest('base64url'),
    codeChallengeMethod: 'S256',
  });
  expect(new URL(url).searchParams.get('scope')).toContain('offline_access');
  const back = await signIn(url.replace(/^https:/, 'http:'));
  const result = await app.acquireTokenByCode({
    code: back.searchParams.get('code') ?? '',
    scopes: [scopes.readonly],
    redirectUri,
    codeVerifier: verifier,
  });
  expect((await channels(server, result.accessToken)).status).toBe(200);
  expect(result.idTokenClaims).toMatchObject({ sub: ada.sub });
});

/** Submits the form of the response as a browser does (response_mode=form_post). */
const sendForm = async (page: string): Promise<void> => {
  const { action, hidden } = formOf(page);
  await fetch(action, { method: 'POST', body: new URLSearchParams(hidden) });
};
test('MSAL signs in by itself: it listens on http://localhost and takes the response as a form only', async () => {
  const { PublicClientApplication, ProtocolMode } = await load('@azure/msal-node');
  const client = await control(server, 'POST', '/clients', {
    type: 'desktop',
    name: 'MSAL',
    project: 'demo-project',
    redirect_uris: ['http://localhost'],
  });
  expect(client.status, client.text).toBe(201);
  const local = server.origin.replace('127.0.0.1', 'localhost');
  const authority = local.replace('http:', 'https:');
  const app = new PublicClientApplication({
    auth: {
      clientId: client.json.id ?? client.json.client_id,
      authority,
      knownAuthorities: [new URL(authority).host],
      protocolMode: ProtocolMode?.OIDC ?? 'OIDC',
    },
    system: { networkClient: networkClient(), protocolMode: ProtocolMode?.OIDC ?? 'OIDC' },
  });
  const result = await app.acquireTokenInteractive({
    scopes: ['openid', 'offline_access', scopes.readonly],
    openBrowser: async (url: string) => {
      expect(new URL(url).searchParams.get('redirect_uri')).toMatch(/^http:\/\/localhost:\d+$/);
      const browser = new Browser({ origin: local });
      await browser.open(url.replace(/^https:/, 'http:'));
      await browser.signIn(ada);
      void sendForm((await browser.allow()).text);
    },
  });
  expect((await channels(server, result.accessToken)).status).toBe(200);
  expect(result.idTokenClaims).toMatchObject({ sub: ada.sub });
  const [account] = await app.getTokenCache().getAllAccounts();
  const again = await app.acquireTokenSilent({ account, scopes: [scopes.readonly], forceRefresh: true });
  expect((await channels(server, again.accessToken)).status).toBe(200);
});

test('simple-oauth2: code, refresh, revoke and client credentials', async () => {
  const { AuthorizationCode, ClientCredentials } = await load('simple-oauth2');
  const config = {
    client: { id: clients.withSecret, secret },
    auth: {
      tokenHost: server.origin,
      tokenPath: '/token',
      revokePath: '/revoke',
      authorizePath: '/o/oauth2/v2/auth',
    },
  };
  const client = new AuthorizationCode(config);
  const back = await signIn(
    client.authorizeURL({ redirect_uri: redirectUri, scope: scopes.readonly, state: 's' }),
  );
  const token = await client.getToken({ code: back.searchParams.get('code'), redirect_uri: redirectUri });
  expect((await channels(server, token.token.access_token)).status).toBe(200);
  const fresh = await token.refresh();
  expect((await channels(server, fresh.token.access_token)).status).toBe(200);
  await token.revoke('refresh_token');
  await expect(token.refresh()).rejects.toThrow();
  const { authorizePath, ...tokens } = config.auth;
  const machine = await new ClientCredentials({ ...config, auth: tokens }).getToken({
    scope: scopes.readonly,
  });
  expect((await channels(server, machine.token.access_token)).status).toBe(200);
});
