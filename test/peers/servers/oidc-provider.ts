import type { Browser } from 'playwright-core';
import { launchChromium } from '../../support/chromium.ts';
import { type Handler, isOk, type Load, listening, type PeerServer, recorded } from './peer-server.ts';

export type Strictness = {
  /** The client may have bound tokens only, and each proof needs a nonce of the server. */
  readonly requiresDpop?: boolean;
  readonly requiresPushedRequests?: boolean;
};
/** oidc-provider with its own development pages: any name and password, then consent. */
export const oidcProvider = async (
  load: Load,
  { requiresDpop = false, requiresPushedRequests = false }: Strictness = {},
): Promise<PeerServer> => {
  let handle: Handler = () => undefined;
  const issued: string[] = [];
  const server = await listening((request, response) => {
    recorded(response, issued);
    return handle(request, response);
  });
  const { default: Provider } = await load('oidc-provider');
  const client = {
    client_id: 'opsctl',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['http://127.0.0.1', 'http://127.0.0.1/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...(requiresDpop ? { dpop_bound_access_tokens: true } : {}),
  };
  const provider = new Provider(server.origin, {
    clients: [client],
    cookies: { keys: ['test-only'] },
    features: {
      devInteractions: { enabled: true },
      revocation: { enabled: true },
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
      IdToken: 3600,
      RefreshToken: 86_400,
      Interaction: 600,
      Session: 600,
      Grant: 600,
      PushedAuthorizationRequest: 600,
    },
  });
  handle = provider.callback();
  let browser: Browser | undefined;
  return {
    issuer: server.origin,
    client: { id: 'opsctl' },
    scopes: ['openid', 'email', 'offline_access'],
    endsUsedTokens: true,
    revocation: 'published',
    signIn: async (url) => {
      browser ??= await launchChromium();
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(url.href);
      await page.locator('input[name="login"]').fill('ada');
      await page.locator('input[name="password"]').fill('x');
      await page.locator('button[type="submit"]').click();
      await page.locator('button[type="submit"]').click();
      await page.getByRole('heading', { name: /You are signed in|did not complete/ }).waitFor();
      const text = await page.locator('main').innerText();
      await context.close();
      return text;
    },
    isAlive: (token) => isOk(`${server.origin}/me`, token),
    issued: async () => issued,
    close: async () => {
      await browser?.close();
      await server.close();
    },
  };
};
