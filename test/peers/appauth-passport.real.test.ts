import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { beforeAll, expect, test } from 'vitest';
import { type AuthServer, authServer, channels, clients, scopes, secret } from '../support/auth-server.ts';
import { signInAt } from './browser-of-clients.ts';
// @ts-expect-error plain JavaScript, shared with the benches
import { directory, peers } from './install.mjs';
import { listening } from './servers/peer-server.ts';
import { makeDirectory } from '../support/directory.ts';

/** Clients with their own listeners at the embedded server. The browser calls the listener last. */
let server: AuthServer;
let load: (name: string) => Promise<any>;
const made = makeDirectory();
beforeAll(async () => {
  const require = peers();
  load = async (name) => import(pathToFileURL(require.resolve(name)).href);
  server = await authServer();
}, 600_000);

/** AppAuth is published for bundlers. Its browser is a function of this test. */
const appAuth = async (): Promise<any> => {
  writeFileSync(join(made, 'opener.mjs'), 'export default (url) => globalThis.openedByAppAuth(url);');
  await build({
    stdin: {
      contents: `export * from '@openid/appauth';
export * from '@openid/appauth/built/src/node_support/index.js';`,
      resolveDir: directory,
    },
    alias: { opener: join(made, 'opener.mjs') },
    outfile: join(made, 'appauth.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  return import(pathToFileURL(join(made, 'appauth.mjs')).href);
};

test('AppAuth: discovery, its own listener, PKCE, refresh, revoke', async () => {
  const app = await appAuth();
  app.setFlag('IS_LOG', false);
  const requestor = new app.NodeRequestor();
  const config = await app.AuthorizationServiceConfiguration.fetchFromIssuer(server.origin, requestor);
  const spare = await listening(() => undefined);
  const redirectUri = spare.origin;
  await spare.close();
  const handler = new app.NodeBasedHandler(Number(new URL(redirectUri).port));
  Object.assign(globalThis, {
    openedByAppAuth: async (url: string) => fetch(await signInAt(server, url)),
  });
  const request = new app.AuthorizationRequest(
    {
      client_id: clients.desktop,
      redirect_uri: redirectUri,
      scope: scopes.readonly,
      response_type: app.AuthorizationRequest.RESPONSE_TYPE_CODE,
    },
    new app.NodeCrypto(),
  );
  handler.performAuthorizationRequest(config, request);
  const { response, error } = await handler.completeAuthorizationRequest();
  expect(error).toBeNull();
  expect(response.state).toBe(request.state);
  const tokens = new app.BaseTokenRequestHandler(requestor);
  const ask = (more: Record<string, unknown>) =>
    tokens.performTokenRequest(
      config,
      new app.TokenRequest({ client_id: clients.desktop, redirect_uri: redirectUri, ...more }),
    );
  const first = await ask({
    grant_type: app.GRANT_TYPE_AUTHORIZATION_CODE,
    code: response.code,
    extras: { code_verifier: request.internal.code_verifier },
  });
  expect((await channels(server, first.accessToken)).status).toBe(200);
  const next = await ask({
    grant_type: app.GRANT_TYPE_REFRESH_TOKEN,
    refresh_token: first.refreshToken,
  });
  expect((await channels(server, next.accessToken)).status).toBe(200);
  await tokens.performRevokeTokenRequest(config, new app.RevokeTokenRequest({ token: first.refreshToken }));
  expect((await channels(server, next.accessToken)).status).toBe(401);
});

test('passport: state in the session, PKCE, the callback of the application, refresh', async () => {
  const { default: passport } = await load('passport');
  const { default: OAuth2Strategy } = await load('passport-oauth2');
  const session: Record<string, unknown> = {};
  let tokens: { access: string; refresh: string } | undefined;
  let act: (request: any, response: any) => void = () => undefined;
  const app = await listening((request, response) => act(request, response));
  const strategy = new OAuth2Strategy(
    {
      authorizationURL: `${server.origin}/o/oauth2/v2/auth`,
      tokenURL: `${server.origin}/token`,
      clientID: clients.withSecret,
      clientSecret: secret,
      callbackURL: `${app.origin}/callback`,
      scope: [scopes.readonly],
      state: true,
      pkce: true,
    },
    (access: string, refresh: string, _profile: unknown, done: (error: null, user: object) => void) => {
      tokens = { access, refresh };
      done(null, { name: 'ada' });
    },
  );
  const authenticate = new passport.Passport().use('peer', strategy).authenticate('peer', { session: false });
  act = (request, response) => {
    const query = Object.fromEntries(new URL(request.url, app.origin).searchParams);
    Object.assign(request, { query, session });
    authenticate(request, response, (error: unknown) => response.end(error ? String(error) : 'done'));
  };
  const started = await fetch(`${app.origin}/login`, { redirect: 'manual' });
  const back = await signInAt(server, started.headers.get('location') ?? '');
  expect(await (await fetch(back)).text()).toBe('done');
  expect((await channels(server, tokens?.access ?? '')).status).toBe(200);
  const fresh = await new Promise<string>((resolve, reject) =>
    strategy._oauth2.getOAuthAccessToken(
      tokens?.refresh,
      { grant_type: 'refresh_token' },
      (error: unknown, access: string) => (error ? reject(error) : resolve(access)),
    ),
  );
  expect((await channels(server, fresh)).status).toBe(200);
  // The client checks the state and rejects the response of another sign-in.
  back.searchParams.set('state', 'stolen');
  expect((await fetch(back)).status).toBe(403);
  await app.close();
});
