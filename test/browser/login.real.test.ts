import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addressOf, type Program, program, type Running } from '../real/auth/program.ts';
import { covers } from '../support/covers.ts';
import { launchChromium, noChromium } from '../support/chromium.ts';

/** The whole sign-in: the built program, the embedded mock server as a separate process, and a real browser between them. */
describe.skipIf(noChromium())('opsctl login in chromium', () => {
  let browser: Browser;
  let opsctl: Program;
  let server: Running | undefined;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    opsctl = await program();
  });
  afterEach(async () => {
    server?.child.kill('SIGTERM');
    await server?.ended;
  });

  const serve = async (...flags: string[]): Promise<string[]> => {
    server = opsctl.start(['mock', 'serve', '--ephemeral', '-o', 'json', ...flags], { input: 'open' });
    const [line] = await server.seen(/\{"ready":true.*\}\n/);
    const { auth, media } = JSON.parse(line);
    return [
      '--auth-url',
      auth.authorization_endpoint,
      '--token-url',
      auth.token_endpoint,
      '--revoke-url',
      auth.revocation_endpoint,
      '--client-id',
      auth.client_id,
      media.base_url,
    ];
  };
  const shoot = (name: string): string | undefined =>
    process.env.OPSCTL_SCREENSHOTS === undefined
      ? undefined
      : `${process.env.OPSCTL_SCREENSHOTS}/${name}.png`;

  const walk = async (url: string, press: 'Allow' | 'Deny', uncheck?: string) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(url);
    await page.getByLabel('E-mail address').fill('ada@demo.example');
    await page.getByLabel('Password').fill('ada-demo');
    await page.getByRole('button', { name: 'Sign in' }).click();
    if (uncheck !== undefined) await page.locator(`input[type=checkbox][value$="${uncheck}"]`).uncheck();
    await page.getByRole('button', { name: press }).click();
    await page.getByRole('heading', { name: /You are signed in|did not complete/ }).waitFor();
    const text = await page.locator('main').innerText();
    const path = shoot(`login-${press}-${uncheck ?? 'all'}`);
    if (path !== undefined) await page.screenshot({ path, fullPage: true });
    const address = page.url();
    await context.close();
    return { text, address, complaints };
  };
  const scopes = ['openid', 'email', 'media.readonly', 'media.upload'].flatMap((scope) => ['--scope', scope]);

  test.each(['both', 'fragment', 'query'])(
    'spec/sign-in#authorize-5 state in %s: the user is signed in, and the data API responds',
    async (stateIn) => {
      const [at, api] = [await serve('--state-in', stateIn), ''];
      const base = at.pop() ?? api;
      const login = opsctl.start(['login', ...at, ...scopes, '--no-browser', '--redirect-path', 'random']);
      const { url } = await addressOf(login);
      const { text, complaints } = await walk(url.href, 'Allow');
      expect(text).toContain('You are signed in as ada@demo.example');
      expect(complaints.filter((line) => !line.includes('favicon'))).toEqual([]);
      expect((await login.ended).code).toBe(0);
      const media = await opsctl.run(
        ['media', 'get', 'channels', '--param', 'part=id', '--param', 'mine=true'],
        { env: { OPSCTL_API_URL: base } },
      );
      expect(media.code).toBe(0);
      expect((await opsctl.run(['logout'])).code).toBe(0);
    },
  );

  test(
    'code and state leave the address, and the last page survives a reload after the command has ended',
    covers('spec/sign-in#choices-14'),
    async () => {
      const at = await serve();
      at.pop();
      const login = opsctl.start(['login', ...at, ...scopes, '--no-browser']);
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto((await addressOf(login)).url.href);
      await page.getByLabel('E-mail address').fill('ada@demo.example');
      await page.getByLabel('Password').fill('ada-demo');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Allow' }).click();
      const heading = page.getByRole('heading', { name: 'You are signed in as ada@demo.example' });
      await heading.waitFor();
      expect((await login.ended).code).toBe(0);
      expect(page.url()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/done\/[\w-]+$/);
      const isKept =
        'navigator.serviceWorker.getRegistration().then((one) => one?.active?.state === "activated")';
      await page.waitForFunction(isKept);
      await page.reload();
      await heading.waitFor();
      await context.close();
    },
  );

  test('the page and the terminal name a permission that the user removed', async () => {
    const at = await serve();
    at.pop();
    const login = opsctl.start(['login', ...at, ...scopes, '--no-browser', '--require-scopes']);
    const { text } = await walk((await addressOf(login)).url.href, 'Allow', 'media.upload');
    expect(text).toContain('media.upload (not granted)');
    const { code, stderr } = await login.ended;
    expect(code).toBe(4);
    expect(stderr).toContain('--add-scope media.upload');
  });

  test('the page reports a denied consent, and the program exits with code 4', async () => {
    const at = await serve();
    at.pop();
    const login = opsctl.start(['login', ...at, ...scopes, '--no-browser']);
    const { text } = await walk((await addressOf(login)).url.href, 'Deny');
    expect(text).toContain('Access was denied');
    expect((await login.ended).code).toBe(4);
  });
});
