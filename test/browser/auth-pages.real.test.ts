import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type AuthServer,
  ada,
  authServer,
  authorizeUrl,
  bob,
  clients,
  control,
  exchange,
  scopes,
} from '../support/auth-server.ts';
import { chooserPage, consentPage, devicePage } from '../../src/mock-server/oauth/pages.ts';
import type { Client, User } from '../../src/mock-server/oauth/state.ts';
import { launchChromium, noChromium } from '../support/chromium.ts';

/** `OPSCTL_SCREENSHOTS=directory` saves a screenshot of each page. */
const shoot = async (page: Page, name: string): Promise<void> => {
  const directory = process.env.OPSCTL_SCREENSHOTS;
  if (directory !== undefined) await page.screenshot({ path: `${directory}/${name}.png`, fullPage: true });
};

describe.skipIf(noChromium())('the pages in chromium', () => {
  let server: AuthServer;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let listener: Server;
  let port: number;
  const arrived: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    server = await authServer();
    browser = await launchChromium();
    listener = createServer((request, reply) => {
      if (!request.url?.includes('favicon')) arrived.push(request.url ?? '');
      const framed = request.url?.startsWith('/framer?')
        ? `<iframe src="${decodeURIComponent(request.url.slice(8)).replaceAll('&', '&amp;')}"></iframe>`
        : '';
      reply.end(`<!doctype html><title>back</title><h1>Back in the application</h1>${framed}`);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => listener.once('listening', resolve));
    port = (listener.address() as AddressInfo).port;
  });
  afterAll(async () => {
    await browser?.close();
    listener?.close();
  });
  beforeEach(async () => {
    arrived.length = 0;
    complaints.length = 0;
    context = await browser.newContext({ viewport: { width: 390, height: 780 }, javaScriptEnabled: false });
    page = await context.newPage();
    page.on('console', (message) => complaints.push(message.text()));
  });
  afterEach(() => context.close());

  const url = (more = {}) =>
    authorizeUrl(server, { redirect_uri: `http://127.0.0.1:${port}/callback`, ...more });

  test('the user signs in, removes one permission, and allows; without script, on a phone', async () => {
    await page.goto(url({ scope: `${scopes.readonly} ${scopes.upload} ${scopes.media} openid email` }));
    await shoot(page, 'sign-in');
    await page.getByLabel('E-mail address').fill(ada.email);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(await page.getByRole('alert').textContent()).toBe('The e-mail address or the password is wrong.');
    await shoot(page, 'sign-in-wrong');
    await page.getByLabel('Password').fill(ada.password);
    await page.getByLabel('Password').press('Enter');
    await page.getByRole('heading', { name: 'opsctl wants to access your account' }).waitFor();
    await shoot(page, 'consent');
    await page.getByLabel('Manage your videos').uncheck();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Back in the application' }).waitFor();
    const back = new URL(page.url());
    expect(back.hash).toBe('#state=state-of-the-test');
    const tokens = await exchange(server, back.searchParams.get('code') ?? '', {
      redirect_uri: `http://127.0.0.1:${port}/callback`,
    });
    expect(tokens.json.scope.split(' ')).toEqual([scopes.readonly, scopes.media, 'openid', 'email']);
    expect(arrived).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  test('a second sign-in goes straight to consent; deny brings access_denied', async () => {
    await page.goto(url());
    await page.getByLabel('E-mail address').fill(ada.email);
    await page.getByLabel('Password').fill(ada.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('heading', { name: 'Back in the application' }).waitFor();
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
    await page.goto(url());
    await page.getByRole('heading', { name: 'opsctl wants to access your account' }).waitFor();
    await shoot(page, 'consent-one');
  });

  test('two accounts: the chooser; login_hint picks one', async () => {
    for (const user of [ada, bob]) {
      await page.goto(url({ login_hint: user.email }));
      expect(await page.getByLabel('E-mail address').inputValue()).toBe(user.email);
      await page.getByLabel('Password').fill(user.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Deny' }).waitFor();
    }
    await page.goto(url());
    await page.getByRole('heading', { name: 'Choose an account' }).waitFor();
    await shoot(page, 'chooser');
    await page.getByRole('button', { name: ada.email }).click();
    await page.getByText(ada.email).waitFor();
    await page.goto(url({ login_hint: bob.email }));
    await page.getByText(bob.email).waitFor();
    expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(1);
  });

  test('the user signs in with the keyboard only', async () => {
    await page.goto(url());
    // On a busy machine, the field receives its focus shortly after the page loads.
    await page.locator('#email:focus').waitFor();
    await page.keyboard.type(ada.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(ada.password);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Deny' }).waitFor();
    for (let i = 0; i < 3; i += 1) {
      await page.keyboard.press('Tab');
      if ((await page.locator(':focus').textContent()) === 'Allow') break;
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Back in the application' }).waitFor();
    expect(arrived[0]).toContain('code=');
  });

  test('the consent form leads to [::1] too', async () => {
    const six = createServer((_, reply) => reply.end('<!doctype html><h1>Back on six</h1>')).listen(0, '::1');
    await new Promise((resolve) => six.once('listening', resolve));
    const target = `http://[::1]:${(six.address() as AddressInfo).port}/callback`;
    await page.goto(url({ redirect_uri: target }));
    await page.getByLabel('E-mail address').fill(ada.email);
    await page.getByLabel('Password').fill(ada.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Back on six' }).waitFor();
    expect(page.url()).toContain('code=');
    six.close();
  });

  test('long values stay in the window, and every field of a form has the look of the page', async () => {
    await page.setViewportSize({ width: 400, height: 780 });
    const step = {
      request: 'request',
      proof: 'proof',
      redirectUri: `http://127.0.0.1:${port}/callback`,
      cookies: [],
      client: { name: 'opsctl', trust: 'none', verified_by: null } as Client,
    };
    const long = { id: '1', name: '', email: `${'a-long-local-part.'.repeat(4)}x@example.com` } as User;
    const unknown = `https://example.com/auth/${'permission.'.repeat(6)}name`;
    const shown = {
      chooser: chooserPage(step, [long, { ...long, name: 'Ada' }]),
      consent: consentPage(step, long, [unknown, 'openid']),
      device: devicePage({ userCode: 'WDJB-MJHT', client: 'TV', scopes: [unknown], accounts: [] }),
    };
    for (const [name, { body }] of Object.entries(shown)) {
      await page.setContent(String(body));
      await shoot(page, `long-${name}`);
      expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBe(400);
      const corners = await page.evaluate(
        `[...document.querySelectorAll('input:not([type=hidden]):not([type=checkbox]),select')].map((field) => getComputedStyle(field).borderRadius)`,
      );
      expect(corners, name).not.toContain('0px');
    }
    expect(String(shown.consent.body).split(unknown)).toHaveLength(3);
  });

  test('an error page shows the code; a frame shows no content', async () => {
    await page.goto(url({ redirect_uri: 'http://evil.example/<script>alert(1)</script>' }));
    expect(await page.title()).toBe('Error 400: redirect_uri_mismatch');
    expect(await page.locator('script').count()).toBe(0);
    await shoot(page, 'error');
    const refused = page.waitForEvent('console', (message) =>
      /frame-ancestors|X-Frame-Options/i.test(message.text()),
    );
    await page.goto(`http://127.0.0.1:${port}/framer?${encodeURIComponent(url())}`);
    await refused;
  });

  test('the developer console makes a client and shows its secret once', async () => {
    await page.setViewportSize({ width: 1200, height: 900 });
    await page.goto(`${server.origin}/__opsctl/oauth/console`);
    await shoot(page, 'console');
    await page.getByText('New client: Desktop', { exact: true }).click();
    const form = page.locator('form', { has: page.locator('#desktop-name') });
    await form.getByLabel('name').fill('From the page');
    await form.getByLabel('secret').selectOption('true');
    await form.getByRole('button', { name: 'Create client' }).click();
    expect(await page.getByRole('status').textContent()).toMatch(
      /From the page Client secret, shown once: OCS-/,
    );
    await shoot(page, 'console-created');
    const list = await control(server, 'GET', '/clients');
    expect(list.json.map((client: { name: string }) => client.name)).toContain('From the page');
    await page.getByText('New client: Universal desktop platform').click();
    const universal = page.locator('form', { has: page.locator('#universal-desktop-name') });
    await universal.getByLabel('name').fill('Wrong');
    await universal.getByLabel('store id').fill('12345678901');
    await universal.getByRole('button', { name: 'Create client' }).click();
    expect(await page.getByRole('alert').textContent()).toContain(
      'store_id must have exactly 12 characters, has 11',
    );
  });

  test('dark colors and a wide window', async () => {
    const dark = await browser.newContext({
      colorScheme: 'dark',
      viewport: { width: 1100, height: 800 },
      javaScriptEnabled: false,
    });
    const wide = await dark.newPage();
    await wide.goto(url({ scope: `${scopes.readonly} ${scopes.upload}`, login_hint: ada.email }));
    await wide.getByLabel('Password').fill(ada.password);
    await wide.getByRole('button', { name: 'Sign in' }).click();
    await wide.getByRole('button', { name: 'Deny' }).waitFor();
    const ground = await wide.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(ground).toBe('rgb(16, 19, 23)');
    await shoot(wide, 'consent-dark');
    await dark.close();
    expect(clients.desktop).toContain('demodesktop');
  });
});
