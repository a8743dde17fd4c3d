import { beforeAll, describe, expect, test } from 'vitest';
import {
  type AuthServer,
  Browser,
  ada,
  ask,
  authServer,
  authorizeUrl,
  bob,
  clients,
  codeFor,
  control,
  exchange,
  formOf,
  location,
  pageError,
  raw,
  redirect,
  scopes,
  tokensFor,
} from '../support/auth-server.ts';
import { covers } from '../support/covers.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await authServer();
});
const both = `${scopes.readonly} ${scopes.upload}`;
const create = async (body: Record<string, unknown>): Promise<string> =>
  (await control(server, 'POST', '/clients', body)).json.id;
const atConsent = async (more = {}, user: { email: string; password: string } = ada): Promise<Browser> => {
  const browser = new Browser(server);
  await browser.ask(more);
  await browser.signIn(user);
  return browser;
};
const granted = async (code: string, more = {}) => (await exchange(server, code, more)).json.scope.split(' ');

describe('sign-in and consent', () => {
  test('[OAS-3.1] no session: sign-in, then consent; [OAS-3.2] session: straight to consent', async () => {
    const browser = new Browser(server);
    expect((await browser.ask()).text).toContain('<h1>Sign in</h1>');
    expect((await browser.signIn()).text).toContain('wants to access your account');
    expect((await browser.ask()).text).toContain('wants to access your account');
  });
  test('a wrong password, an unknown user and a disabled one do not sign in', async () => {
    const browser = new Browser(server);
    await browser.ask();
    expect((await browser.signIn({ email: ada.email, password: 'no' })).text).toContain('is wrong');
    expect((await browser.signIn({ email: 'nobody@demo.example', password: 'x' })).text).toContain(
      'is wrong',
    );
    await control(server, 'POST', '/users', { email: 'off@demo.example', password: 'x' });
    await control(server, 'POST', '/users/off@demo.example/disable', {});
    expect((await browser.signIn({ email: 'off@demo.example', password: 'x' })).text).toContain(
      'disabled or deleted',
    );
    for (let i = 0; i < 6; i += 1) await browser.signIn({ email: ada.email, password: 'no' });
    const { page } = browser;
    expect((await browser.signIn({ email: ada.email, password: 'no' })).text).toContain(
      'Too many wrong passwords',
    );
    browser.page = page;
    expect(pageError(await browser.signIn())).toBe('invalid_request');
  });
  test(
    'cancel on the sign-in page is a denial',
    covers('spec/sign-in#states-1', 'spec/sign-in#errors-9'),
    async () => {
      const browser = new Browser(server);
      await browser.ask();
      expect(location(await browser.submit({ decision: 'cancel' })).searchParams.get('error')).toBe(
        'access_denied',
      );
    },
  );
  test(
    '[OAS-3.3] everything granted before: asked again, unless a setting remembers it as the real service does',
    covers('spec/sign-in#choices-4'),
    async () => {
      const browser = await atConsent();
      await browser.allow();
      expect((await browser.ask()).text).toContain('wants to access');
      await control(server, 'PATCH', '/settings', { remember_consent: true });
      expect(location(await browser.ask()).searchParams.get('code')).toMatch(/^4\/0/);
      expect((await browser.ask({ prompt: 'consent' })).text).toContain('wants to access');
      await control(server, 'PATCH', '/settings', { remember_consent: false });
    },
  );
  test('[OAS-3.4] [OAS-3.15] [OAS-3.16] all granted: code, scope, state and issuer come back; codes are opaque, long and differ', async () => {
    const codes = new Set<string>();
    for (let i = 0; i < 3; i += 1) {
      const to = location(await (await atConsent({ scope: both })).allow());
      expect([...to.searchParams.keys()].sort()).toEqual(['code', 'iss', 'scope', 'state']);
      expect(to.searchParams.get('iss')).toBe(server.origin);
      expect(to.searchParams.get('scope')).toBe(both);
      expect(to.searchParams.get('code')).toMatch(/^4\/0[A-Za-z0-9_-]{43}$/);
      codes.add(to.searchParams.get('code') ?? '');
    }
    expect(codes.size).toBe(3);
  });
  test(
    '[OAS-3.5] a subset is granted, and the response lists it',
    covers('spec/sign-in#states-1'),
    async () => {
      const to = location(await (await atConsent({ scope: both })).allow([scopes.upload]));
      expect(await granted(to.searchParams.get('code') ?? '')).toEqual([scopes.upload]);
    },
  );
  test.each([
    ['[OAS-3.6] nothing is checked', { decision: 'allow' }],
    ['[OAS-3.6] only a scope that was not asked for', { decision: 'allow', scope: scopes.media }],
    ['[OAS-3.7] deny', { decision: 'deny', scope: scopes.readonly }],
    ['no decision', { scope: scopes.readonly }],
  ])('%s is access_denied with the state', async (_, fields) => {
    const to = location(await (await atConsent({ scope: both })).submit(fields));
    expect(to.searchParams.get('error')).toBe('access_denied');
    expect([to.searchParams.get('state'), to.hash, to.searchParams.get('code')]).toEqual([
      'state-of-the-test',
      '#state=state-of-the-test',
      null,
    ]);
  });
  test('[OAS-3.8] one scope has no checkbox; several have one each', async () => {
    expect(formOf((await atConsent()).page.text).boxes).toEqual([]);
    expect(formOf((await atConsent({ scope: `${both} openid` })).page.text).boxes).toEqual([
      scopes.readonly,
      scopes.upload,
      'openid',
    ]);
  });
  test.each(['trusted', 'domain-wide'])(
    '[OAS-3.9] a %s app has no granular page: all scopes or none',
    async (trust) => {
      const client_id = await create({ type: 'desktop', name: trust, trust, any_path: true });
      const browser = await atConsent({ client_id, scope: both });
      expect(formOf(browser.page.text).boxes).toEqual([]);
      const to = location(await browser.allow([scopes.upload]));
      expect(await granted(to.searchParams.get('code') ?? '', { client_id })).toEqual([
        scopes.readonly,
        scopes.upload,
      ]);
      const denied = location(
        await (await atConsent({ client_id, scope: both })).submit({ decision: 'deny' }),
      );
      expect(denied.searchParams.get('error')).toBe('access_denied');
    },
  );
});

describe('forms are safe', () => {
  test('[OAS-3.11] replayed, without proof, with a proof of another step, in another browser, without cookie', async () => {
    const browser = await atConsent();
    const page = browser.page;
    const tampered = async (change: Record<string, string>, cookie = browser.cookie) => {
      const other = new Browser(server);
      if (cookie !== '') other.cookie = cookie;
      other.page = page;
      return pageError(await other.submit({ decision: 'allow' }, change));
    };
    expect(await tampered({ proof: '' })).toBe('invalid_request');
    expect(await tampered({ proof: 'A'.repeat(43) })).toBe('invalid_request');
    expect(await tampered({}, '')).toBe('invalid_request');
    expect(await tampered({}, (await atConsent({}, bob)).cookie)).toBe('invalid_request');
    expect(await tampered({ request: 'unknown' })).toBe('invalid_request');
    expect(location(await browser.allow()).searchParams.get('code')).not.toBeNull();
    browser.page = page;
    expect(pageError(await browser.allow())).toBe('invalid_request');
  });
  test('[OAS-3.12] additional form fields have no effect: the stored request counts', async () => {
    const browser = await atConsent({ scope: both });
    const reply = await browser.submit({
      decision: 'allow',
      scope: [scopes.readonly, scopes.media],
      redirect_uri: 'http://evil.example',
      client_id: clients.withSecret,
      state: 'other',
    });
    const to = location(reply);
    expect(to.host).toBe('127.0.0.1:4567');
    expect(to.searchParams.get('state')).toBe('state-of-the-test');
    expect(await granted(to.searchParams.get('code') ?? '')).toEqual([scopes.readonly]);
  });
  test('a page older than 15 minutes and a page of a deleted client are rejected', async () => {
    const old = await atConsent();
    const client_id = await create({ type: 'desktop', name: 'gone', any_path: true });
    server.advance(15 * 60_000 + 1000);
    expect(pageError(await old.allow())).toBe('invalid_request');
    const browser = await atConsent({ client_id });
    await control(server, 'DELETE', `/clients/${client_id}`);
    expect(pageError(await browser.allow())).toBe('deleted_client');
  });
  test('the cookie is HttpOnly, same-site, and changes at sign-in; a planted cookie is useless', async () => {
    const reply = await ask(server);
    expect(String(reply.headers['set-cookie'])).toMatch(
      /^opsctl_session=[A-Za-z0-9_-]{43}; Path=\/o\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
    );
    const browser = new Browser(server);
    await browser.ask();
    const before = browser.cookie;
    await browser.signIn();
    expect(browser.cookie).not.toBe(before);
    expect((await raw(authorizeUrl(server), { headers: { cookie: before } })).text).toContain(
      '<h1>Sign in</h1>',
    );
  });
  test('two requests of one browser wait side by side', async () => {
    const browser = new Browser(server);
    const first = await browser.ask({ state: 'first' });
    await browser.ask({ state: 'second' });
    await browser.signIn();
    expect(location(await browser.allow()).searchParams.get('state')).toBe('second');
    const request = formOf(first.text).hidden.request ?? '';
    const page = await browser.open(`${server.origin}/o/oauth2/v2/auth/continue?request=${request}`);
    expect(page.text).toContain('wants to access');
    expect(location(await browser.allow()).searchParams.get('state')).toBe('first');
  });
  test('a form that was open in another tab during a sign-in is still good', async () => {
    const browser = new Browser(server);
    const first = await browser.ask({ state: 'first' });
    await browser.ask({ state: 'second' });
    const consent = await browser.signIn();
    browser.page = first;
    const other = await browser.signIn(bob);
    expect(other.text).toContain(bob.email);
    browser.page = consent;
    expect(location(await browser.allow()).searchParams.get('state')).toBe('second');
    const stranger = new Browser(server);
    await stranger.ask();
    stranger.page = other;
    expect(pageError(await stranger.allow())).toBe('invalid_request');
  });
});

describe('the redirect', () => {
  test('[OAS-3.13] is 302 or 303 with an encoded Location', async () => {
    const reply = await (await atConsent()).allow();
    expect(reply.status).toBe(303);
    expect(reply.headers.location).toMatch(
      /^http:\/\/127\.0\.0\.1:4567\/callback\?state=state-of-the-test&code=4%2F0[A-Za-z0-9_-]+&scope=https%3A%2F%2F/,
    );
    await control(server, 'PUT', '/consent', { mode: 'auto' });
    expect((await ask(server)).status).toBe(302);
    await control(server, 'PUT', '/consent', { mode: 'ask' });
  });
  test('[OAS-3.14] a query of the redirect URI is kept', async () => {
    const to = location(
      await (await atConsent({ redirect_uri: 'http://127.0.0.1:4567/cb?a=1&b=%2F' })).allow(),
    );
    expect(to.href).toMatch(/^http:\/\/127\.0\.0\.1:4567\/cb\?a=1&b=%2F&state=/);
  });
  test('[OAS-0.2] a custom scheme gets code and state in the query, without path too', async () => {
    for (const uri of ['com.example.app:/cb', 'com.example.app:']) {
      const reply = await (await atConsent({ client_id: clients.mobileB, redirect_uri: uri })).allow();
      expect(String(reply.headers.location).startsWith(`${uri}?state=state-of-the-test&code=4%2F0`)).toBe(
        true,
      );
    }
  });
  const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('');
  test.each([
    ['every printable character', printable],
    ['4 KiB', 'x'.repeat(4096)],
    ['UTF-8', 'grüße 日本 🎉'],
    ['CR and LF', 'a\r\nSet-Cookie: x=1'],
    ['empty', ''],
  ])(
    '[OAS-2.31] state: %s comes back byte for byte, in query and fragment',
    covers('spec/program#choices-1'),
    async (_, state) => {
      const to = location(await (await atConsent({ state })).allow());
      expect(to.searchParams.get('state')).toBe(state);
      expect(new URLSearchParams(to.hash.slice(1)).get('state')).toBe(state);
    },
  );
  test('[OAS-2.31] bytes that are not UTF-8 come back, too; an absent state stays absent', async () => {
    const browser = new Browser(server);
    await browser.open(`${authorizeUrl(server, { state: undefined })}&state=%FF%00%fe+x`);
    await browser.signIn();
    expect(String((await browser.allow()).headers.location)).toContain('?state=%FF%00%FE%20x&');
    const none = location(await (await atConsent({ state: undefined })).allow());
    expect([none.searchParams.has('state'), none.hash]).toEqual([false, '']);
  });
  test.each([
    ['both', 'state-of-the-test', '#state=state-of-the-test'],
    ['fragment', null, '#state=state-of-the-test'],
    ['query', 'state-of-the-test', ''],
  ] as const)('[OAS-0.1] --state-in %s', covers('spec/program#choices-1'), async (stateIn, query, hash) => {
    const other = await authServer({ stateIn });
    const browser = new Browser(other);
    await browser.ask();
    await browser.signIn();
    const to = location(await browser.allow());
    expect([to.searchParams.get('state'), to.hash]).toEqual([query, hash]);
    expect(to.searchParams.get('code')).not.toBeNull();
    await other.close();
  });
});

describe('scripted consent', () => {
  // spec/sign-in#scope-3
  test.each(['media.readonly', scopes.readonly])('selects a requested scope by %s', async (name) => {
    await control(server, 'PUT', '/consent', { mode: 'auto', scopes: [name] });
    const code = new URL(String((await ask(server, { scope: both })).headers.location)).searchParams.get(
      'code',
    );
    expect(await granted(String(code))).toEqual([scopes.readonly]);
    await control(server, 'PUT', '/consent', { mode: 'ask', scopes: [] });
  });
  test('auto signs the named user in and grants; deny refuses; parts and time-based access', async () => {
    await control(server, 'PUT', '/consent', {
      mode: 'auto',
      user: bob.email,
      scopes: [scopes.readonly],
      access_for_seconds: 3600,
    });
    const to = location(await ask(server, { scope: both }));
    const tokens = (await exchange(server, to.searchParams.get('code') ?? '')).json;
    expect(tokens).toMatchObject({ scope: scopes.readonly, refresh_token_expires_in: 3600 });
    await control(server, 'PUT', '/consent', { mode: 'deny' });
    expect(location(await ask(server)).searchParams.get('error')).toBe('access_denied');
    await control(server, 'PUT', '/consent', { mode: 'ask' });
    expect((await ask(server)).text).toContain('<h1>Sign in</h1>');
    expect((await control(server, 'PUT', '/consent', { mode: 'auto', user: 'nobody' })).status).toBe(404);
    expect((await control(server, 'GET', '/consent')).json.mode).toBe('ask');
  });
});

test('sessions can be listed and ended', async () => {
  const browser = await atConsent({}, bob);
  const before = (await control(server, 'GET', '/sessions')).json;
  const mine = before.filter((session: { users: string[] }) => session.users.includes(bob.sub)).at(-1);
  expect(JSON.stringify(before)).not.toContain(browser.cookie.split('=')[1]);
  expect((await control(server, 'DELETE', `/sessions/${mine.id}`)).status).toBe(204);
  expect((await browser.ask()).text).toContain('<h1>Sign in</h1>');
  expect((await control(server, 'DELETE', `/sessions/${mine.id}`)).status).toBe(404);
});

test('[OAS-4.6] include_granted_scopes returns the union of old and new scopes', async () => {
  const client_id = await create({ type: 'desktop', name: 'incremental', any_path: true });
  await tokensFor(server, { client_id, scope: scopes.readonly });
  const code = await codeFor(server, { client_id, scope: scopes.upload, include_granted_scopes: 'true' });
  expect((await granted(code, { client_id, redirect_uri: redirect })).sort()).toEqual(
    [scopes.readonly, scopes.upload].sort(),
  );
});

test('the sign-in page shows the demo accounts until their password is changed', async () => {
  const other = await authServer();
  const page = async () => (await ask(other)).text;
  expect(await page()).toMatch(/ada@demo\.example<\/dt><dd>password <code>ada-demo/);
  await control(other, 'PATCH', `/users/${ada.sub}`, { password: 'mine' });
  await control(other, 'POST', `/users/${bob.sub}/disable`, {});
  expect(await page()).not.toContain('Demo accounts');
  await other.close();
});
