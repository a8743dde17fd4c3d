import { type KeyObject, verify } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../../support/chromium.ts';
import {
  type Handler,
  isOk,
  type Load,
  listening,
  type PeerServer,
  recorded,
  sendJson,
} from './peer-server.ts';

export type Strictness = {
  /** The client must use bound tokens, and each proof requires a nonce from the server. */
  readonly requiresDpop?: boolean;
  readonly requiresPushedRequests?: boolean;
  /** Adds sign-in for programs with identity tokens, assertions and keys. */
  readonly jobs?: TrustedJobs;
};
/** The identity tokens and the assertions that the server trusts. Both are JWTs signed with this key. */
export type TrustedJobs = { readonly publicKey: KeyObject; readonly issuer: string };
export type OidcProvider = PeerServer & {
  /** A client that authenticates with a secret, and a client that signs an assertion with its key. */
  readonly robots: { readonly withSecret: { id: string; secret: string }; readonly withKey: { id: string } };
  /** Signs in on a machine that cannot reach the listener of opsctl, and returns the URL in the address bar. */
  signInElsewhere(url: URL): Promise<string>;
  /** Enters the code of a device flow on the pages of the server. */
  enterCode(url: URL, code: string): Promise<void>;
  /** Makes the server reject an access token that it issued. */
  revoke(accessToken: string): void;
};
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const isTrusted = (
  token: string,
  { publicKey, issuer }: TrustedJobs,
  audiences: readonly string[],
): boolean => {
  const [head = '', body = '', signature = ''] = token.split('.');
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
  return (
    verify('RSA-SHA256', Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, 'base64url')) &&
    claims['iss'] === issuer &&
    audiences.includes(String(claims['aud'])) &&
    Number(claims['exp']) > Date.now() / 1000
  );
};
/** Token exchange (RFC 8693) and assertions (RFC 7523), added as the documentation of oidc-provider shows: by `registerGrantType`. */
const addGrants = (provider: any, jobs: TrustedJobs, audiences: readonly string[]): void => {
  const grant = (tokenField: string) => async (ctx: any) => {
    const { client, params } = ctx.oidc;
    if (!isTrusted(String(params[tokenField]), jobs, audiences)) {
      ctx.status = 400;
      ctx.body = { error: 'invalid_grant', error_description: 'the token is not trusted' };
      return;
    }
    const token = new provider.ClientCredentials({ client, scope: params.scope });
    ctx.body = {
      access_token: await token.save(),
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: token.expiration,
      scope: params.scope,
    };
  };
  const fields = ['subject_token', 'subject_token_type', 'requested_token_type', 'audience', 'scope'];
  provider.registerGrantType(exchangeGrant, grant('subject_token'), fields);
  provider.registerGrantType(assertionGrant, grant('assertion'), ['assertion', 'scope']);
};
const native = {
  application_type: 'native',
  redirect_uris: ['http://127.0.0.1', 'http://127.0.0.1/callback'],
  grant_types: ['authorization_code', 'refresh_token', deviceGrant],
  response_types: ['code'],
};
const machine = {
  redirect_uris: [],
  response_types: [],
  grant_types: ['client_credentials', exchangeGrant, assertionGrant],
};
/** The pages of oidc-provider in Chromium: each visit is a person with a new browser profile. */
const visits = (origin: string) => {
  let browser: Browser | undefined;
  /**
   * Each visit has a new profile. The pages load fonts from the internet, for which a test must not wait. On another
   * machine, only the provider is in reach: requests to every other address go to a proxy that refuses them.
   */
  const open = async (isElsewhere = false): Promise<Page> => {
    browser ??= await launchChromium();
    const proxy = { server: 'http://127.0.0.1:9', bypass: new URL(origin).host };
    const page = await (await browser.newContext(isElsewhere ? { proxy } : {})).newPage();
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Network.enable');
    await cdp.send('Network.setBlockedURLs', { urls: ['*fonts.googleapis.com*'] });
    return page;
  };
  const allow = async (page: Page): Promise<void> => {
    await page.locator('input[name="login"]').fill('ada');
    await page.locator('input[name="password"]').fill('x');
    // Each page has one submit button: without the name of its form, the second click could reach the first page again.
    await page.locator('form:has(input[value="login"]) button[type="submit"]').click();
    await page.locator('form:has(input[value="consent"]) button[type="submit"]').click();
  };
  return {
    signIn: async (url: URL): Promise<string> => {
      const page = await open();
      await page.goto(url.href);
      await allow(page);
      await page.getByRole('heading', { name: /You are signed in|did not complete/ }).waitFor();
      const text = await page.locator('main').innerText();
      await page.context().close();
      return text;
    },
    signInElsewhere: async (url: URL): Promise<string> => {
      const page = await open(true);
      const bar = new Promise<string>((resolve) => {
        page.on('request', (request) => {
          const isElsewhere = request.isNavigationRequest() && new URL(request.url()).origin !== origin;
          if (isElsewhere) resolve(request.url());
        });
      });
      await page.goto(url.href);
      // The last click leads to a page that does not load.
      await allow(page).catch(() => undefined);
      const shown = await bar;
      await page.context().close();
      return shown;
    },
    enterCode: async (url: URL, code: string): Promise<void> => {
      const page = await open();
      await page.goto(url.href);
      await page.locator('input[name="user_code"]').fill(code);
      await page.locator('button[form="op.deviceInputForm"]').click();
      await page.locator('button[form="op.deviceConfirmForm"]').first().click();
      await allow(page);
      await page
        .getByText(/Sign-in Success/i)
        .first()
        .waitFor();
      await page.context().close();
    },
    close: async () => browser?.close(),
  };
};
/** oidc-provider with its own development pages: any name and password, then consent. */
export const oidcProvider = async (
  load: Load,
  { requiresDpop = false, requiresPushedRequests = false, jobs }: Strictness = {},
): Promise<OidcProvider> => {
  let handle: Handler = () => undefined;
  const issued: string[] = [];
  const revoked = new Set<string>();
  const server = await listening((request, response) => {
    recorded(response, issued);
    return handle(request, response);
  });
  const { default: Provider } = await load('oidc-provider');
  const robots = { withSecret: { id: 'robot', secret: 'robot secret:1' }, withKey: { id: 'signer' } };
  const keys =
    jobs === undefined ? [] : [{ ...jobs.publicKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }];
  const clients = [
    {
      ...native,
      client_id: 'opsctl',
      token_endpoint_auth_method: 'none',
      ...(requiresDpop ? { dpop_bound_access_tokens: true } : {}),
    },
    { ...native, client_id: 'desktop', client_secret: 'desktop secret:1' },
    {
      ...machine,
      client_id: robots.withSecret.id,
      client_secret: robots.withSecret.secret,
      token_endpoint_auth_method: 'client_secret_basic',
    },
    // The identity token or the assertion identifies the client. These clients have no other authentication.
    {
      ...machine,
      client_id: 'job',
      grant_types: [exchangeGrant, assertionGrant],
      token_endpoint_auth_method: 'none',
    },
    ...(jobs === undefined
      ? []
      : [
          {
            ...machine,
            client_id: robots.withKey.id,
            token_endpoint_auth_method: 'private_key_jwt',
            jwks: { keys },
          },
        ]),
  ];
  const provider = new Provider(server.origin, {
    clients,
    cookies: { keys: ['test-only'] },
    scopes: ['openid', 'email', 'offline_access', 'media.readonly'],
    features: {
      devInteractions: { enabled: true },
      revocation: { enabled: true },
      deviceFlow: { enabled: true },
      clientCredentials: { enabled: true },
      pushedAuthorizationRequests: {
        enabled: true,
        requirePushedAuthorizationRequests: requiresPushedRequests,
      },
      dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => requiresDpop },
    },
    claims: { openid: ['sub'], email: ['email'] },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@peer.example` }),
    }),
    issueRefreshToken: () => true,
    ttl: {
      AccessToken: 3600,
      ClientCredentials: 3600,
      DeviceCode: 600,
      IdToken: 3600,
      RefreshToken: 86_400,
      Interaction: 600,
      Session: 600,
      Grant: 600,
      PushedAuthorizationRequest: 600,
    },
  });
  if (jobs !== undefined) addGrants(provider, jobs, [server.origin, `${server.origin}/token`]);
  const pages = provider.callback();
  const isKnown = async (token: string): Promise<boolean> =>
    !revoked.has(token) &&
    ((await provider.ClientCredentials.find(token)) ?? (await provider.AccessToken.find(token))) !==
      undefined;
  /** A resource server next to the provider: the data API, whose tokens the provider knows. */
  const answerChannels = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const isRight = await isKnown((request.headers.authorization ?? '').replace(/^Bearer /, ''));
    sendJson(
      response,
      isRight ? 200 : 401,
      isRight ? { items: [{ id: 'UC1' }] } : { error: 'invalid_token' },
    );
  };
  handle = (request, response) =>
    request.url?.startsWith('/media/') ? answerChannels(request, response) : pages(request, response);
  const person = visits(server.origin);
  return {
    issuer: server.origin,
    client: { id: 'opsctl' },
    robots,
    scopes: ['openid', 'email', 'offline_access'],
    endsUsedTokens: true,
    revocation: 'published',
    signIn: person.signIn,
    signInElsewhere: person.signInElsewhere,
    enterCode: person.enterCode,
    revoke: (token) => void revoked.add(token),
    isAlive: (token) => isOk(`${server.origin}/me`, token),
    issued: async () => issued,
    close: async () => {
      await person.close();
      await server.close();
    },
  };
};
