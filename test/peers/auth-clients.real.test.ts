import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type AuthServer,
  Browser,
  ada,
  authServer,
  channels,
  clients,
  location,
  raw,
  scopes,
  secret,
} from '../support/auth-server.ts';
// @ts-expect-error plain JavaScript, shared with the benches
import { peers } from './install.mjs';

/** Real client libraries, used as documented, with the embedded server. */
let server: AuthServer;
let load: (name: string) => Promise<any>;
const redirectUri = 'http://127.0.0.1:4567/callback';
beforeAll(async () => {
  const require = peers();
  load = async (name) => import(pathToFileURL(require.resolve(name)).href);
  server = await authServer();
}, 600_000);

/** Plays the user at the browser and returns the URL that the application's listener receives. */
const signIn = async (url: URL | string, user: { email: string; password: string } = ada): Promise<URL> => {
  const browser = new Browser(server);
  await browser.open(String(url));
  await browser.signIn(user);
  const to = location(await browser.allow());
  // A listener never receives the fragment.
  to.hash = '';
  return to;
};
const scope = `openid email ${scopes.readonly}`;

describe('openid-client', () => {
  test.each([
    ['public client', clients.desktop, undefined],
    ['client with a secret', clients.withSecret, secret],
  ])(
    '%s: discovery, code with PKCE and nonce, id_token, userinfo, refresh, revoke',
    async (_, id, password) => {
      const oidc = await load('openid-client');
      const auth = password === undefined ? oidc.None() : oidc.ClientSecretPost(password);
      const config = await oidc.discovery(new URL(server.origin), id, undefined, auth, {
        execute: [oidc.allowInsecureRequests],
      });
      const verifier = oidc.randomPKCECodeVerifier();
      const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
      const parameters = {
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      };
      const back = await signIn(oidc.buildAuthorizationUrl(config, parameters));
      const tokens = await oidc.authorizationCodeGrant(config, back, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      expect(tokens.claims()).toMatchObject({ sub: ada.sub, email: ada.email, aud: id });
      expect(tokens.scope.split(' ').sort()).toEqual(scope.split(' ').sort());
      expect((await oidc.fetchUserInfo(config, tokens.access_token, ada.sub)).email).toBe(ada.email);
      const fresh = await oidc.refreshTokenGrant(config, tokens.refresh_token);
      expect((await channels(server, fresh.access_token)).status).toBe(200);
      await oidc.tokenRevocation(config, tokens.refresh_token);
      expect((await channels(server, fresh.access_token)).status).toBe(401);
      await expect(oidc.refreshTokenGrant(config, tokens.refresh_token)).rejects.toMatchObject({
        error: 'invalid_grant',
      });
    },
  );
  test('HTTP Basic, and a denial is an AuthorizationResponseError', async () => {
    const oidc = await load('openid-client');
    const config = await oidc.discovery(
      new URL(server.origin),
      clients.withSecret,
      undefined,
      oidc.ClientSecretBasic(secret),
      {
        execute: [oidc.allowInsecureRequests],
      },
    );
    const verifier = oidc.randomPKCECodeVerifier();
    const state = oidc.randomState();
    const parameters = {
      redirect_uri: redirectUri,
      scope: scopes.readonly,
      state,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    };
    const back = await signIn(oidc.buildAuthorizationUrl(config, parameters));
    const tokens = await oidc.authorizationCodeGrant(config, back, {
      pkceCodeVerifier: verifier,
      expectedState: state,
    });
    expect((await channels(server, tokens.access_token)).status).toBe(200);
    const browser = new Browser(server);
    await browser.open(String(oidc.buildAuthorizationUrl(config, parameters)));
    await browser.signIn();
    const denied = location(await browser.submit({ decision: 'deny' }));
    denied.hash = '';
    await expect(
      oidc.authorizationCodeGrant(config, denied, { pkceCodeVerifier: verifier, expectedState: state }),
    ).rejects.toMatchObject({
      error: 'access_denied',
    });
  });
});

describe('oauth4webapi', () => {
  test.each(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'])(
    'metadata of %s, code, refresh, revoke',
    async (path) => {
      const oauth = await load('oauth4webapi');
      const insecure = { [oauth.allowInsecureRequests]: true };
      const issuer = new URL(server.origin);
      const algorithm = path.endsWith('openid-configuration') ? 'oidc' : 'oauth2';
      const as = await oauth.processDiscoveryResponse(
        issuer,
        await oauth.discoveryRequest(issuer, { algorithm, ...insecure }),
      );
      const client = { client_id: clients.desktop };
      const verifier = oauth.generateRandomCodeVerifier();
      const state = oauth.generateRandomState();
      const url = new URL(as.authorization_endpoint);
      const parameters = {
        ...client,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope,
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      const checked = oauth.validateAuthResponse(as, client, await signIn(url), state);
      const reply = await oauth.authorizationCodeGrantRequest(
        as,
        client,
        oauth.None(),
        checked,
        redirectUri,
        verifier,
        insecure,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(as, client, reply);
      expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: ada.sub });
      const refreshed = await oauth.processRefreshTokenResponse(
        as,
        client,
        await oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh_token, insecure),
      );
      expect((await channels(server, refreshed.access_token)).status).toBe(200);
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(as, client, oauth.None(), refreshed.access_token, insecure),
      );
      expect((await channels(server, refreshed.access_token)).status).toBe(401);
    },
  );
});

describe('google-auth-library', () => {
  test('code with PKCE, id_token checked with the published keys, refresh, token info by the API, revoke', async () => {
    const { OAuth2Client, CodeChallengeMethod } = await load('google-auth-library');
    const endpoints = {
      oauth2AuthBaseUrl: `${server.origin}/o/oauth2/v2/auth`,
      oauth2TokenUrl: `${server.origin}/token`,
      oauth2RevokeUrl: `${server.origin}/revoke`,
    };
    const client = new OAuth2Client({
      clientId: clients.withSecret,
      clientSecret: secret,
      redirectUri,
      endpoints,
      issuers: [server.origin],
    });
    const { codeVerifier, codeChallenge } = await client.generateCodeVerifierAsync();
    const url = client.generateAuthUrl({
      access_type: 'offline',
      scope: scope.split(' '),
      state: 's',
      code_challenge: codeChallenge,
      code_challenge_method: CodeChallengeMethod.S256,
    });
    const back = await signIn(url);
    const { tokens } = await client.getToken({ code: back.searchParams.get('code') ?? '', codeVerifier });
    expect(tokens).toMatchObject({ token_type: 'Bearer' });
    client.setCredentials(tokens);
    const { keys } = (await raw(`${server.origin}/oauth2/certs`)).json;
    const certs = Object.fromEntries(
      keys
        .filter((key: { alg: string }) => key.alg === 'RS256')
        .map((key: { kid: string }) => [key.kid, key]),
    );
    const pem = Object.fromEntries(
      await Promise.all(
        Object.entries(certs).map(async ([kid, jwk]) => [
          kid,
          (await import('node:crypto'))
            .createPublicKey({ key: jwk as any, format: 'jwk' })
            .export({ type: 'spki', format: 'pem' }),
        ]),
      ),
    );
    const ticket = await client.verifySignedJwtWithCertsAsync(tokens.id_token, pem, clients.withSecret, [
      server.origin,
    ]);
    expect(ticket.getPayload()).toMatchObject({ sub: ada.sub, email: ada.email });
    const before = tokens.access_token;
    server.advance(3_600_000);
    client.setCredentials({ ...tokens, expiry_date: 1 });
    const reply = await client.request({ url: `${server.origin}/media/v3/channels?part=id&mine=true` });
    expect(reply.data.kind).toBe('media#channelListResponse');
    expect(client.credentials.access_token).not.toBe(before);
    expect(client.credentials.refresh_token).toBe(tokens.refresh_token);
    await client.revokeToken(client.credentials.access_token);
    await expect(client.refreshAccessToken()).rejects.toMatchObject({
      response: { data: { error: 'invalid_grant' } },
    });
  });
});
