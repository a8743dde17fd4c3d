import { beforeAll, describe, expect, test } from 'vitest';
import {
  type Asked,
  type AuthServer,
  Browser,
  ada,
  ask,
  authServer,
  authorizeUrl,
  bob,
  challenge,
  clients,
  control,
  form,
  formOf,
  location,
  pageError,
  post,
  raw,
  request,
  scopes,
  verifier,
} from '../support/auth-server.ts';
import { covers } from '../support/covers.ts';

let server: AuthServer;
const made: Record<string, string> = {};
const create = async (body: Record<string, unknown>): Promise<string> =>
  (await control(server, 'POST', '/clients', body)).json.id;
beforeAll(async () => {
  server = await authServer();
  made.exact = await create({
    type: 'desktop',
    name: 'exact',
    redirect_uris: ['http://127.0.0.1/cb', 'http://[::1]/cb?kept=1'],
  });
  made.plain = await create({ type: 'desktop', name: 'plain' });
});

const error = async (more: Asked, headers: Record<string, string> = {}): Promise<string> =>
  pageError(await ask(server, more, headers));
const passes = async (more: Asked, headers: Record<string, string> = {}): Promise<void> => {
  const reply = await ask(server, more, headers);
  expect([reply.status, reply.text.slice(0, 400)]).toEqual([
    200,
    expect.stringContaining('<title>Sign in</title>'),
  ]);
};

describe('required parameters', () => {
  test.each([
    ['[OAS-2.2]', { client_id: undefined }, 'invalid_request'],
    ['[OAS-2.2] empty', { client_id: '' }, 'invalid_request'],
    ['[OAS-2.3]', { client_id: 'nobody' }, 'invalid_client'],
    ['[OAS-2.5]', { redirect_uri: undefined }, 'invalid_request'],
    ['[OAS-2.18] missing', { response_type: undefined }, 'invalid_request'],
    ['[OAS-2.18] token', { response_type: 'token' }, 'invalid_request'],
    ['[OAS-2.18] id_token', { response_type: 'id_token' }, 'invalid_request'],
    ['[OAS-2.18] code token', { response_type: 'code token' }, 'invalid_request'],
    ['[OAS-2.18] Code', { response_type: 'Code' }, 'invalid_request'],
    ['[OAS-2.19] missing', { scope: undefined }, 'invalid_request'],
    ['[OAS-2.19] empty', { scope: '' }, 'invalid_request'],
    ['[OAS-2.19] blank', { scope: '  ' }, 'invalid_request'],
    ['[OAS-2.20] unknown', { scope: 'https://scopes.opsctl.example/auth/nope' }, 'invalid_scope'],
    [
      '[OAS-2.20] wrong case',
      { scope: 'https://scopes.opsctl.example/auth/Media.readonly' },
      'invalid_scope',
    ],
    ['[OAS-2.21] comma', { scope: `${scopes.readonly},${scopes.upload}` }, 'invalid_scope'],
  ])('%s %j is a page with %s', async (_, more, code) => {
    expect(await error(more as Asked)).toBe(code);
  });
  test('[OAS-2.3] an unknown client is 401', async () => {
    const reply = await ask(server, { client_id: 'nobody' });
    expect([reply.status, reply.text]).toEqual([
      401,
      expect.stringContaining('The OAuth client was not found.'),
    ]);
  });
  test('[OAS-2.21] both encodings of the space are accepted', async () => {
    const url = authorizeUrl(server, { scope: undefined });
    const two = encodeURIComponent(scopes.upload);
    for (const blank of ['+', '%20']) {
      const reply = await raw(`${url}&scope=${encodeURIComponent(scopes.readonly)}${blank}${two}`);
      expect(reply.status).toBe(200);
    }
  });
  test('[OAS-2.22] a parameter given twice, even with the same value', async () => {
    for (const name of ['client_id', 'scope', 'state', 'code_challenge']) {
      const reply = await raw(`${authorizeUrl(server)}&${form({ [name]: request()[name] })}`);
      expect(pageError(reply), name).toBe('invalid_request');
    }
  });
  test('[OAS-2.34] an unknown parameter is ignored', () => passes({ frobnicate: 'yes' }));
  test(
    '[OAS-4.1] all seven scopes of the table, and the identity scopes, are known',
    covers('spec/sign-in#scope-2'),
    async () => {
      const names = [
        'media',
        'media.channel-memberships.creator',
        'media.force-ssl',
        'media.readonly',
        'media.upload',
        'mediapartner',
        'mediapartner-channel-audit',
      ];
      await passes({
        scope: [
          ...names.map((name) => `https://scopes.opsctl.example/auth/${name}`),
          'openid',
          'profile',
          'email',
        ].join(' '),
      });
    },
  );
  test('broken percent-encoding is a malformed request', async () => {
    expect(pageError(await raw(`${authorizeUrl(server)}&login_hint=%ZZ`))).toBe('invalid_request');
    expect(pageError(await raw(`${authorizeUrl(server)}&login_hint=%FF%FE`))).toBe('invalid_request');
  });
});

describe('redirect URIs', () => {
  const scheme = (id: string) => id.split('.').reverse().join('.');
  test.each([
    ['[OAS-2.6]', 'http://evil.example/cb'],
    ['[OAS-2.6]', 'https://evil.example/cb'],
    ['[OAS-2.7] case', 'http://127.0.0.1:80/CB'],
    ['[OAS-2.7] slash', 'http://127.0.0.1:80/cb/'],
    ['[OAS-2.7] query', 'http://127.0.0.1:80/cb?x=1'],
    ['[OAS-2.7] fragment', 'http://127.0.0.1:80/cb#x'],
    ['[OAS-2.7] userinfo', 'http://u@127.0.0.1:80/cb'],
    ['[OAS-2.7] other path', 'http://127.0.0.1:80/'],
    ['[OAS-2.8]', 'urn:ietf:wg:oauth:2.0:oob'],
    ['[OAS-2.8]', 'urn:ietf:wg:oauth:2.0:oob:auto'],
    ['[OAS-2.8]', 'urn:ietf:wg:oauth:2.0:oob:other'],
    ['[OAS-2.9]', 'com.example.app:/cb'],
    ['[OAS-2.10] port 0', 'http://127.0.0.1:0/cb'],
    ['[OAS-2.10] port 65536', 'http://127.0.0.1:65536/cb'],
    ['[OAS-2.10] port 080', 'http://127.0.0.1:080/cb'],
    ['[OAS-2.11]', 'http://localhost:1234/cb'],
    ['[OAS-2.12]', 'https://127.0.0.1:1234/cb'],
    ['[OAS-2.12]', 'http://127.0.0.2:1234/cb'],
    ['[OAS-2.12]', 'http://127.0.0.1.evil.example/cb'],
    ['[OAS-2.12]', 'http://0.0.0.0:1234/cb'],
    ['[OAS-2.12]', 'http://127.1:1234/cb'],
    ['[OAS-2.12]', 'http://[::ffff:127.0.0.1]:1234/cb'],
    ['[OAS-2.12]', 'http://127.0.0.1:1234\\@evil.example/cb'],
    ['[OAS-2.12]', 'HTTP://127.0.0.1:1234/cb'],
  ])(
    '%s %s is redirect_uri_mismatch and never redirected to',
    covers('spec/sign-in#authorize-3', 'spec/sign-in#errors-7', 'spec/sign-in#versions-2'),
    async (_, uri) => {
      const reply = await ask(server, { client_id: made.exact, redirect_uri: uri });
      expect([pageError(reply), reply.headers.location]).toEqual(['redirect_uri_mismatch', undefined]);
    },
  );
  test.each([1, 80, 1024, 49152, 65535])(
    '[OAS-2.10] port %d on both addresses',
    covers('spec/sign-in#redirect-2', 'spec/sign-in#choices-3'),
    async (port) => {
      await passes({ client_id: made.exact, redirect_uri: `http://127.0.0.1:${port}/cb` });
      await passes({ client_id: made.exact, redirect_uri: `http://[::1]:${port}/cb?kept=1` });
      await passes({ client_id: made.plain, redirect_uri: `http://127.0.0.1:${port}` });
      await passes({ client_id: made.plain, redirect_uri: `http://[::1]:${port}/` });
    },
  );
  test(
    '[OAS-0.7] without registered URIs the path is empty, unless the client or a setting opens all',
    covers('spec/sign-in#choices-3'),
    async () => {
      expect(await error({ client_id: made.plain, redirect_uri: 'http://127.0.0.1:1/cb' })).toBe(
        'redirect_uri_mismatch',
      );
      await passes({ client_id: clients.desktop, redirect_uri: 'http://127.0.0.1:1/any/path-7f3a' });
      await control(server, 'PATCH', '/settings', { any_loopback_path: true });
      await passes({ client_id: made.plain, redirect_uri: 'http://127.0.0.1:1/cb' });
      await control(server, 'PATCH', '/settings', { any_loopback_path: false });
    },
  );
  test('[OAS-2.11] localhost is accepted by a setting', covers('spec/sign-in#choices-3'), async () => {
    await control(server, 'PATCH', '/settings', { accept_localhost: true });
    await passes({ client_id: made.plain, redirect_uri: 'http://localhost:1234' });
    await control(server, 'PATCH', '/settings', { accept_localhost: false });
    expect(await error({ client_id: made.plain, redirect_uri: 'http://localhost:1234' })).toBe(
      'redirect_uri_mismatch',
    );
  });
  test('[OAS-2.11] localhost is accepted when the developer registered it', async () => {
    const uris = ['http://localhost/cb'];
    const { json } = await control(server, 'POST', '/clients', {
      type: 'desktop',
      name: 'named',
      redirect_uris: uris,
    });
    await passes({ client_id: json.id, redirect_uri: 'http://localhost:3000/cb' });
    expect(await error({ client_id: json.id, redirect_uri: 'http://127.0.0.1:3000/cb' })).toBe(
      'redirect_uri_mismatch',
    );
    expect(await error({ client_id: json.id, redirect_uri: 'http://localhost.evil.example:3000/cb' })).toBe(
      'redirect_uri_mismatch',
    );
  });
  test.each(['mobileA', 'mobileB', 'extension'] as const)(
    '[OAS-2.9] %s with a loopback URI',
    async (type) => {
      expect(await error({ client_id: clients[type], redirect_uri: 'http://127.0.0.1:1234/cb' })).toBe(
        'redirect_uri_mismatch',
      );
    },
  );
  test(
    '[OAS-2.9] mobile loopback is deprecated: a setting accepts it',
    covers('spec/sign-in#versions-3'),
    async () => {
      await control(server, 'PATCH', '/settings', { mobile_loopback: 'warn' });
      await passes({ client_id: clients.mobileA, redirect_uri: 'http://127.0.0.1:1234' });
      expect(await error({ client_id: clients.extension, redirect_uri: 'http://127.0.0.1:1234' })).toBe(
        'redirect_uri_mismatch',
      );
      await control(server, 'PATCH', '/settings', { mobile_loopback: 'refuse' });
    },
  );
  test.each([
    'myapp:/x',
    'myapp:',
    'javascript:alert(1)',
    'com.example.app:no-slash',
    'com.example.app:?x=1',
  ])('[OAS-2.13] %s is invalid_request', async (uri) => {
    expect(await error({ client_id: clients.mobileB, redirect_uri: uri })).toBe('invalid_request');
  });
  test('[OAS-2.14] a custom scheme with and without path', covers('spec/sign-in#redirect-1'), async () => {
    await passes({ client_id: clients.mobileB, redirect_uri: 'com.example.app:/cb' });
    await passes({ client_id: clients.mobileB, redirect_uri: 'com.example.app:' });
    expect(await error({ client_id: clients.mobileB, redirect_uri: 'com.other.app:/cb' })).toBe(
      'redirect_uri_mismatch',
    );
  });
  test('[OAS-2.15] two slashes are refused', covers('spec/sign-in#redirect-1'), async () => {
    expect(await error({ client_id: clients.mobileB, redirect_uri: 'com.example.app://cb' })).toBe(
      'invalid_request',
    );
  });
  test('[OAS-2.16] the client ID read backwards is a scheme', covers('spec/sign-in#redirect-1'), async () => {
    await passes({ client_id: clients.mobileB, redirect_uri: `${scheme(clients.mobileB)}:/oauth2redirect` });
    expect(await error({ client_id: clients.mobileB, redirect_uri: `${scheme(clients.mobileA)}:/x` })).toBe(
      'redirect_uri_mismatch',
    );
  });
  test(
    '[OAS-2.17] mobile A with the checkbox off',
    covers('spec/sign-in#versions-4', 'spec/sign-in#states-7'),
    async () => {
      const off = await create({
        type: 'mobile-a',
        name: 'off',
        package_name: 'com.example.off',
        fingerprint: 'aB'.repeat(20),
      });
      const reply = await ask(server, { client_id: off, redirect_uri: 'com.example.off:/cb' });
      expect([pageError(reply), reply.text]).toEqual([
        'invalid_request',
        expect.stringContaining('not enabled'),
      ]);
    },
  );
  test('an extension returns to its own https address', async () => {
    await passes({
      client_id: clients.extension,
      redirect_uri: 'https://demoextensionitem.extensions.opsctl.example/cb',
    });
    expect(
      await error({
        client_id: clients.extension,
        redirect_uri: 'https://other.extensions.opsctl.example/cb',
      }),
    ).toBe('redirect_uri_mismatch');
  });
});

describe('proof keys', () => {
  const pkce = (challengeText: string | undefined, method: string | undefined) => ({
    code_challenge: challengeText,
    code_challenge_method: method,
  });
  test.each([
    ['[OAS-2.23] no method is plain', pkce('a'.repeat(43), undefined)],
    ['[OAS-2.23] no method, 128 characters', pkce('a'.repeat(128), undefined)],
    ['[OAS-2.24] plain, 43', pkce('-._~'.repeat(10) + 'abc', 'plain')],
    ['[OAS-2.24] plain, 128', pkce(verifier.padEnd(128, 'Z'), 'plain')],
    ['[OAS-2.25] S256', pkce(challenge, 'S256')],
    ['[OAS-2.30] no proof key at all', pkce(undefined, undefined)],
  ])('%s is accepted', (_, more) => passes(more));
  test.each([
    ['[OAS-2.26] padding', pkce(`${challenge.slice(0, 42)}=`, 'S256'), 'invalid_grant'],
    ['[OAS-2.26] plus', pkce(`${challenge.slice(0, 42)}+`, 'S256'), 'invalid_grant'],
    ['[OAS-2.26] slash', pkce(`${challenge.slice(0, 42)}/`, 'S256'), 'invalid_grant'],
    ['[OAS-2.26] 42', pkce(challenge.slice(0, 42), 'S256'), 'invalid_grant'],
    ['[OAS-2.26] 44', pkce(`${challenge}a`, 'S256'), 'invalid_grant'],
    ['[OAS-2.27] [OAS-0.3]', pkce(undefined, 'S256'), 'invalid_grant'],
    ['[OAS-2.27] plain', pkce('', 'plain'), 'invalid_grant'],
    ['[OAS-2.28]', pkce(challenge, 'S512'), 'invalid_request'],
    ['[OAS-2.28] case', pkce(challenge, 's256'), 'invalid_request'],
    ['[OAS-2.29] 42', pkce('a'.repeat(42), 'plain'), 'invalid_grant'],
    ['[OAS-2.29] 129', pkce('a'.repeat(129), 'plain'), 'invalid_grant'],
    ['[OAS-2.29] sign', pkce(`${'a'.repeat(43)}+`, 'plain'), 'invalid_grant'],
    ['[OAS-2.29] no method', pkce(`${'a'.repeat(42)}é`, undefined), 'invalid_grant'],
  ])('%s %j is a page with %s', async (_, more, code) => {
    expect(await error(more as Asked)).toBe(code);
  });
  test('[OAS-2.30] a setting demands a proof key', async () => {
    await control(server, 'PATCH', '/settings', { require_pkce: true });
    expect(await error(pkce(undefined, undefined))).toBe('invalid_grant');
    await control(server, 'PATCH', '/settings', { require_pkce: false });
  });
});

describe('user agents', () => {
  const desktop = 'Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko)';
  const phone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';
  test.each([
    'Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/120.0 Mobile Safari/537.36',
    'Mozilla/5.0 (Linux; Android 5) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/43.0 Mobile Safari/537.36',
    `${phone} Mobile/15E148`,
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64; WebView/3.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/70 Safari/537.36 Edge/18',
    'Mozilla/5.0 (Windows NT 10.0; MSAppHost/3.0) like Gecko',
    `${phone} Mobile/15E148 Safari/604.1 musical_ly_2023`,
    `${phone} Mobile/15E148 Safari/604.1 [Pinterest/iOS]`,
    `${phone} Mobile/15E148 Safari/604.1 [FBAN/FBIOS;FBAV/430.0]`,
    `${phone} Mobile/15E148 Instagram 300.0`,
    `${desktop} app/1.0 Chrome/120.0 Electron/28.0 Safari/537.36`,
    `${desktop} Chrome/120.0 Safari/537.36 CefSharp/120`,
  ])(
    '[OAS-2.38] %s is disallowed_useragent',
    covers('spec/sign-in#service-4', 'spec/sign-in#errors-3'),
    async (agent) => {
      const reply = await ask(server, {}, { 'user-agent': agent });
      expect([pageError(reply), reply.status]).toEqual(['disallowed_useragent', 403]);
    },
  );
  test.each([
    `${desktop} Chrome/120.0.0.0 Safari/537.36`,
    `${desktop} Chrome/120.0.0.0 Safari/537.36 Edg/120.0`,
    `${phone} Version/17.0 Mobile/15E148 Safari/604.1`,
    'Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:120.0) Gecko/20100101 Firefox/120.0',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1 Safari/605.1.15',
    'curl/8.5.0',
    'Lynx/2.9.0',
    '',
  ])('[OAS-2.38] %s continues', (agent) => passes({}, { 'user-agent': agent }));
});

describe('method, transport, headers', () => {
  test.each(['POST', 'PUT', 'DELETE'])(
    '[OAS-2.37] %s is 405',
    covers('spec/sign-in#choices-1'),
    async (method) => {
      const reply = await raw(`${server.origin}/o/oauth2/v2/auth`, {
        method,
        body: form(request()),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
      expect([reply.status, reply.headers.allow]).toEqual([405, 'GET']);
    },
  );
  test(
    '[OAS-2.41] [OAS-2.42] [OAS-12.11] error pages: code in the text, status, no script, escaped, not cached, not framed, no CORS',
    covers('spec/sign-in#errors-1'),
    async () => {
      const replies = [
        await ask(server, { redirect_uri: 'http://127.0.0.1:1/"><script>alert(1)</script>' }),
        await ask(server, { scope: '<img src=x onerror=alert(1)>' }),
        await ask(server, { response_type: `'"><svg onload=alert(1)>` }),
        await ask(server),
      ];
      for (const reply of replies) {
        expect(reply.text).not.toMatch(/<script|<img|<svg|onerror=[^&]*>/);
        expect(reply.headers['cache-control']).toBe('no-store');
        expect(reply.headers['x-frame-options']).toBe('DENY');
        expect(reply.headers['content-security-policy']).toMatch(
          /default-src 'none';.*frame-ancestors 'none'/,
        );
        expect(reply.headers['referrer-policy']).toBe('no-referrer');
        expect(reply.headers['content-type']).toBe('text/html; charset=utf-8');
        expect(reply.headers['access-control-allow-origin']).toBeUndefined();
      }
      expect(replies[1]?.text).toContain('&lt;img');
      expect(replies[1]?.text).toContain('<code>invalid_scope</code>');
      expect(replies.map(({ status }) => status)).toEqual([400, 400, 400, 200]);
    },
  );
  test(
    '[OAS-12.10] the path of the authorization endpoint has v2; token and revoke have no version',
    covers('spec/sign-in#versions-1'),
    async () => {
      expect((await raw(`${server.origin}/o/oauth2/auth?${form(request())}`)).status).toBe(404);
      expect((await post(`${server.origin}/token`, {})).status).toBe(400);
      expect((await post(`${server.origin}/revoke`, {})).status).toBe(400);
      expect((await post(`${server.origin}/v2/token`, {})).status).toBe(404);
    },
  );
});

describe('policies and organizations', () => {
  const signedIn = async (user: typeof ada | typeof bob, more: Asked) => {
    const browser = new Browser(server);
    await browser.ask(more);
    return browser.signIn(user);
  };
  test(
    '[OAS-2.39] an internal project refuses accounts of others after sign-in',
    covers('spec/sign-in#errors-4'),
    async () => {
      const project = (
        await control(server, 'POST', '/projects', {
          name: 'Inside',
          organization: 'demo.example',
          is_internal: true,
        })
      ).json.id;
      const id = await create({ type: 'desktop', name: 'inside', project, any_path: true });
      const outsider = await signedIn(bob, { client_id: id });
      expect([pageError(outsider), outsider.status]).toEqual(['org_internal', 403]);
      expect((await signedIn(ada, { client_id: id })).text).toContain('inside wants to access');
      const lonely = await control(server, 'POST', '/projects', {
        name: 'No organization',
        is_internal: true,
      });
      expect(Object.keys(lonely.json.errors)).toEqual(['organization']);
    },
  );
  test(
    '[OAS-2.40] [OAS-3.10] one forbidden scope stops the whole request, for a trusted app too',
    covers('spec/sign-in#errors-2'),
    async () => {
      const policy = (
        await control(server, 'POST', '/policies', {
          organization: 'demo.example',
          blocked_scopes: [scopes.upload],
        })
      ).json.id;
      const trusted = await create({ type: 'desktop', name: 'trusted', trust: 'trusted', any_path: true });
      for (const client_id of [clients.desktop, trusted]) {
        const page = await signedIn(ada, { client_id, scope: `${scopes.readonly} ${scopes.upload}` });
        expect([pageError(page), page.status]).toEqual(['admin_policy_enforced', 400]);
      }
      expect((await signedIn(ada, { scope: scopes.readonly })).text).toContain('wants to access');
      expect((await signedIn(bob, { scope: scopes.upload })).text).toContain('wants to access');
      expect((await control(server, 'DELETE', `/policies/${policy}`)).status).toBe(204);
      expect((await signedIn(ada, { scope: scopes.upload })).text).toContain('wants to access');
      const wrong = await control(server, 'POST', '/policies', {
        organization: 'demo.example',
        blocked_scopes: ['nope'],
      });
      expect(wrong.json.errors['blocked_scopes[0]']).toContain('not a known scope');
    },
  );
});

describe('login_hint', () => {
  test(
    '[OAS-2.32] e-mail or sub fills the sign-in page; [OAS-2.33] an unknown one does no harm',
    covers('spec/sign-in#authorize-6'),
    async () => {
      const value = async (hint: string) =>
        /name="email"[^>]*value="([^"]*)"/.exec((await ask(server, { login_hint: hint })).text)?.[1];
      expect(await value(ada.email)).toBe(ada.email);
      expect(await value(ada.sub)).toBe(ada.email);
      expect(await value('ADA@demo.example')).toBe(ada.email);
      expect(await value('unknown@demo.example')).toBe('unknown@demo.example');
      expect(await value('12345')).toBe('');
      expect(await value('"><b>@x')).toBe('&quot;&gt;&lt;b&gt;@x');
    },
  );
  test('[OAS-2.32] picks the session of the user', covers('spec/sign-in#authorize-6'), async () => {
    const browser = new Browser(server);
    for (const user of [ada, bob]) {
      await browser.ask({ login_hint: user.email });
      await browser.signIn(user);
    }
    expect((await browser.ask({ login_hint: ada.sub })).text).toContain(ada.email);
    expect((await browser.ask({ login_hint: bob.email })).text).toContain(bob.email);
    expect((await browser.ask()).text).toContain('Choose an account');
    const chosen = await browser.submit({ account: ada.sub });
    expect(chosen.text).toContain(ada.email);
  });
});

test('[OAS-2.35] [OAS-2.36] prompt: none without session, without consent, with it; select_account; consent; ignored parameters', async () => {
  const browser = new Browser(server);
  const silent = async () => location(await browser.ask({ prompt: 'none' })).searchParams;
  expect((await silent()).get('error')).toBe('login_required');
  await browser.ask();
  await browser.signIn();
  expect((await silent()).get('error')).toBe('consent_required');
  expect((await silent()).get('state')).toBe('state-of-the-test');
  await browser.ask();
  await browser.allow();
  expect((await silent()).get('code')).toMatch(/^4\/0/);
  expect((await browser.ask({ prompt: 'select_account' })).text).toContain('Choose an account');
  expect((await browser.ask({ prompt: 'login' })).text).toContain('<h1>Sign in</h1>');
  expect((await browser.signIn()).text).toContain('wants to access');
  expect(
    (await browser.ask({ prompt: 'consent', access_type: 'online', hd: 'x', nonce: 'n' })).text,
  ).toContain('wants to access');
});

test('the checks stop after an invalid redirect URI', async () => {
  expect(await error({ redirect_uri: 'http://evil.example', response_type: 'token', scope: 'nope' })).toBe(
    'redirect_uri_mismatch',
  );
  expect(formOf((await ask(server)).text).hidden.request).toMatch(/^[A-Za-z0-9_-]{24}$/);
});
