import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addressOf, type Program, program } from '../real/auth/program.ts';
import { launchChromium, noChromium } from '../support/chromium.ts';
// @ts-expect-error plain JavaScript, shared with the benches
import { peers } from './install.mjs';

/** The built program against authorization servers of others. */
let load: (name: string) => Promise<any>;
let opsctl: Program;
beforeAll(() => {
  const require = peers();
  load = async (name) => import(pathToFileURL(require.resolve(name)).href);
}, 600_000);
beforeEach(async () => {
  opsctl = await program();
});
afterEach(() => opsctl.close());

const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.closeAllConnections();
    server.close(() => resolve());
  });

describe('oidc-provider 9.13.3', () => {
  let server: Server;
  let issuer: string;
  let browser: Browser | undefined;
  beforeAll(async () => {
    let handle: (request: unknown, response: unknown) => void = () => undefined;
    server = createServer((request, response) => handle(request, response));
    issuer = await listen(server);
    const { default: Provider } = await load('oidc-provider');
    const client = {
      client_id: 'opsctl',
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['http://127.0.0.1', 'http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    };
    const provider = new Provider(issuer, {
      clients: [client],
      cookies: { keys: ['test-only'] },
      features: { devInteractions: { enabled: true }, revocation: { enabled: true } },
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
      },
    });
    handle = provider.callback();
    if (!noChromium()) browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await closed(server);
  });
  const at = (client = 'opsctl'): string[] => [
    '--auth-url',
    `${issuer}/auth`,
    '--token-url',
    `${issuer}/token`,
    '--revoke-url',
    `${issuer}/token/revocation`,
    '--client-id',
    client,
  ];

  /** Its own development pages: any name and password, then consent. */
  const signInWith = async (url: string): Promise<string> => {
    const context = await (browser as Browser).newContext();
    const page = await context.newPage();
    await page.goto(url);
    await page.locator('input[name="login"]').fill('ada');
    await page.locator('input[name="password"]').fill('x');
    await page.locator('button[type="submit"]').click();
    await page.locator('button[type="submit"]').click();
    await page.getByRole('heading', { name: /You are signed in|did not complete/ }).waitFor();
    const text = await page.locator('main').innerText();
    await context.close();
    return text;
  };

  test.skipIf(noChromium())(
    'sign-in through chromium, id_token verified, rotated refresh tokens kept, revoked in the standard form',
    async () => {
      const login = opsctl.start([
        'login',
        ...at(),
        '--scope',
        'openid',
        '--scope',
        'email',
        '--scope',
        'offline_access',
        '--no-browser',
      ]);
      const { url } = await addressOf(login);
      expect(await signInWith(url.href)).toContain('signed in');
      const { code, stdout, stderr } = await login.ended;
      expect({ code, stderr: stderr.replace(/https?:\S+/g, '') }).toMatchObject({ code: 0 });
      expect(JSON.parse(stdout)).toMatchObject({ subject: 'ada', has_refresh_token: true });
      // Each status is a refresh; this server gives a new refresh token for each and ends everything when an old one is used.
      for (let round = 0; round < 3; round++) expect((await opsctl.run(['auth', 'status'])).code).toBe(0);
      expect((await opsctl.run(['logout'])).code).toBe(0);
      expect((await opsctl.run(['auth', 'status'])).code).toBe(4);
    },
  );

  test('doctor auth: the redirect URI is accepted, and a wrong client is named', async () => {
    const right = await opsctl.run(['doctor', 'auth', ...at(), '--scope', 'openid', '-o', 'json']);
    expect(JSON.parse(right.stdout)).toContainEqual(
      expect.objectContaining({ check: 'redirect URI', state: 'ok' }),
    );
    const wrong = await opsctl.run(['doctor', 'auth', ...at('nobody'), '--scope', 'openid']);
    expect(wrong.code).toBe(20);
  });

  test('conformance: the rules of the standards hold; those that only this service has do not', async () => {
    const rfc = await opsctl.run([
      'auth',
      'conformance',
      ...at(),
      '--scope',
      'openid',
      '--only',
      'rfc',
      '-o',
      'json',
    ]);
    const failing = (JSON.parse(rfc.stdout) as { id: string; holds: boolean; saw: string }[])
      .filter(({ holds }) => !holds)
      .map(({ id }) => id);
    expect(failing.filter((id) => !['A18', 'T8', 'V2'].includes(id))).toEqual([]);
    const doc = await opsctl.run([
      'auth',
      'conformance',
      ...at(),
      '--scope',
      'openid',
      '--only',
      'service',
      '-o',
      'json',
    ]);
    expect(doc.code).toBe(20);
    expect(JSON.parse(doc.stdout)).toContainEqual(expect.objectContaining({ id: 'A19', holds: false }));
  });
});

describe('oauth2-mock-server 8.2.3', () => {
  let server: any;
  let issuer: string;
  beforeAll(async () => {
    const { OAuth2Server } = await load('oauth2-mock-server');
    server = new OAuth2Server();
    await server.issuer.keys.generate('RS256');
    await server.start(0, '127.0.0.1');
    issuer = server.issuer.url;
  });
  afterAll(() => server?.stop());

  test('sign-in, refresh and sign-out; its pages ask nothing, so that a plain request plays the browser', async () => {
    const at = [
      '--auth-url',
      `${issuer}/authorize`,
      '--token-url',
      `${issuer}/token`,
      '--revoke-url',
      `${issuer}/revoke`,
      '--client-id',
      'opsctl',
    ];
    const login = opsctl.start(['login', ...at, '--scope', 'openid', '--no-browser']);
    const { url } = await addressOf(login);
    const page = await fetch(url);
    expect(await page.text()).toContain('signed in');
    const { code, stdout, stderr } = await login.ended;
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ signed_in: true, subject: 'johndoe' });
    expect((await opsctl.run(['auth', 'refresh'])).code).toBe(0);
    expect((await opsctl.run(['logout'])).code).toBe(0);
    expect((await opsctl.run(['auth', 'status'])).code).toBe(4);
  });
});
