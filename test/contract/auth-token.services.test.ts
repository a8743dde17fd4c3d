import { beforeAll, describe, expect, test } from 'vitest';
import { readSpec } from '../spec/read.ts';
import { createHash, createPublicKey, verify } from 'node:crypto';
import {
  type AuthServer,
  Browser,
  ada,
  authServer,
  channels,
  clients,
  codeFor,
  control,
  exchange,
  form,
  post,
  raw,
  redirect,
  refresh,
  scopes,
  secret,
  tokensFor,
  verifier,
} from '../support/auth-server.ts';
import { covers } from '../support/covers.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await authServer();
});
const token = (fields: Record<string, string | undefined> | string, headers = {}) =>
  post(`${server.origin}/token`, fields, headers);
const set = (settings: Record<string, unknown>) => control(server, 'PATCH', '/settings', settings);
const both = `${scopes.readonly} ${scopes.upload}`;
const base = {
  client_id: clients.desktop,
  grant_type: 'authorization_code',
  redirect_uri: redirect,
  code_verifier: verifier,
};

describe('code exchange', () => {
  test(
    '[OAS-5.1] [OAS-5.2] [OAS-5.3] [OAS-4.4] the response has exactly these fields',
    covers('spec/sign-in#token-1', 'spec/sign-in#exchange-2', 'spec/sign-in#token-3'),
    async () => {
      const reply = await exchange(server, await codeFor(server, { scope: both }));
      expect(reply.status).toBe(200);
      expect(Object.keys(reply.json).sort()).toEqual([
        'access_token',
        'expires_in',
        'refresh_token',
        'scope',
        'token_type',
      ]);
      expect(reply.json).toMatchObject({ token_type: 'Bearer', expires_in: 3599, scope: both });
      expect(reply.headers).toMatchObject({
        'cache-control': 'no-store',
        pragma: 'no-cache',
        'content-type': 'application/json; charset=utf-8',
      });
      expect(reply.headers['access-control-allow-origin']).toBeUndefined();
    },
  );
  test.each(readSpec('oauth-token-fields').map(({ field = '', type = '' }) => ({ field, type })))(
    'the response has the documented field $field',
    async ({ field, type }) => {
      const browser = new Browser(server);
      await browser.ask({ scope: `openid ${scopes.readonly}` });
      await browser.signIn();
      const consented = await browser.allow(undefined, { access_for: '3600' });
      const code = new URL(String(consented.headers.location)).searchParams.get('code') ?? '';
      const value = (await exchange(server, code)).json[field];
      expect(typeof value).toBe(type === 'integer' ? 'number' : 'string');
      if (type === 'integer') expect(Number.isInteger(value)).toBe(true);
    },
  );
  test(
    '[OAS-0.4] a refresh token is always issued, for any access_type',
    covers('spec/sign-in#token-3'),
    async () => {
      const reply = await exchange(server, await codeFor(server, { access_type: 'online' }));
      expect(reply.json.refresh_token).toMatch(/^1\/\//);
    },
  );
  test(
    '[OAS-5.5] content type JSON, another one, none: refused, and the code stays good',
    covers('spec/sign-in#exchange-1'),
    async () => {
      const fields = { ...base, code: await codeFor(server) };
      for (const type of ['application/json', undefined, 'multipart/form-data; boundary=x', 'text/plain']) {
        const body = type === 'application/json' ? JSON.stringify(fields) : form(fields);
        const reply = await raw(`${server.origin}/token`, {
          method: 'POST',
          body,
          headers: type === undefined ? {} : { 'content-type': type },
        });
        expect([reply.status, reply.json.error, reply.json.error_description], type).toEqual([
          400,
          'invalid_request',
          expect.stringContaining('Content-Type'),
        ]);
      }
      expect(
        (await token(fields, { 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=UTF-8' })).status,
      ).toBe(200);
    },
  );
  test.each(['GET', 'PUT', 'DELETE', 'PATCH'])('[OAS-5.6] %s is 405', async (method) => {
    const reply = await raw(`${server.origin}/token`, {
      method,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect([reply.status, reply.headers.allow, reply.json.error]).toEqual([405, 'POST', 'invalid_request']);
  });
  test.each([
    ['[OAS-5.7]', { grant_type: undefined }, 'invalid_request', 'grant_type'],
    ['[OAS-5.7]', { grant_type: 'password' }, 'unsupported_grant_type', 'grant_type'],
    ['machines-2', { grant_type: 'client_credentials' }, 'unauthorized_client', 'service account'],
    ['[OAS-5.8]', { code: undefined }, 'invalid_request', 'code'],
    ['[OAS-5.8]', { redirect_uri: undefined }, 'invalid_request', 'redirect_uri'],
    ['[OAS-5.8]', { client_id: undefined }, 'invalid_request', 'client_id'],
    ['[OAS-5.8] empty', { code: '' }, 'invalid_request', 'code'],
    ['[OAS-5.9]', { code: 'garbage' }, 'invalid_grant', 'Malformed auth code.'],
    ['[OAS-5.9]', { code: `4/0${'A'.repeat(43)}` }, 'invalid_grant', 'Malformed auth code.'],
  ])('%s %j is 400 %s naming %s', async (_, change, error, says) => {
    const reply = await token({ ...base, code: '4/0x', ...(change as object) });
    expect([reply.status, reply.json.error]).toEqual([400, error]);
    expect(reply.json.error_description).toContain(says);
  });
  test('[OAS-5.10] a used code again: refused, and all its tokens are revoked', async () => {
    const code = await codeFor(server);
    const first = (await exchange(server, code)).json;
    expect((await channels(server, first.access_token)).status).toBe(200);
    const again = await exchange(server, code);
    expect([again.status, again.json.error]).toEqual([400, 'invalid_grant']);
    expect((await channels(server, first.access_token)).status).toBe(401);
    expect((await refresh(server, first.refresh_token)).json.error).toBe('invalid_grant');
  });
  test('[OAS-5.11] ten concurrent exchanges of one code: exactly one succeeds', async () => {
    const code = await codeFor(server);
    const replies = await Promise.all(Array.from({ length: 10 }, () => exchange(server, code)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(9).fill(400)]);
  });
  test('[OAS-3.17] [OAS-5.12] a code is valid for ten minutes, or for the configured time', async () => {
    const [young, old] = [await codeFor(server), await codeFor(server)];
    server.advance(599_000);
    expect((await exchange(server, young)).status).toBe(200);
    server.advance(1_000);
    expect((await exchange(server, old)).json).toEqual({
      error: 'invalid_grant',
      error_description: 'The code has expired.',
    });
    await set({ code_seconds: 5 });
    const short = await codeFor(server);
    server.advance(5_000);
    expect((await exchange(server, short)).json.error).toBe('invalid_grant');
    await set({ code_seconds: 600 });
  });
  test.each([
    'http://127.0.0.1:4568/callback',
    'http://127.0.0.1:4567/other',
    'http://[::1]:4567/callback',
    'http://127.0.0.1:4567/callback/',
  ])('[OAS-5.13] redirect_uri %s is not the one of the request', async (uri) => {
    const reply = await exchange(server, await codeFor(server), { redirect_uri: uri });
    expect([reply.status, reply.json.error]).toEqual([400, 'invalid_grant']);
    expect(reply.json.error_description).toContain('redirect_uri_mismatch');
  });
  test('[OAS-5.14] a code of another client, which stays good for its own', async () => {
    const code = await codeFor(server);
    const stolen = await exchange(server, code, { client_id: clients.withSecret, client_secret: secret });
    expect([stolen.status, stolen.json.error]).toEqual([400, 'invalid_grant']);
    expect((await exchange(server, code)).status).toBe(200);
  });
  test('[OAS-5.26] a field twice', async () => {
    for (const name of ['code', 'client_id', 'grant_type', 'redirect_uri', 'code_verifier']) {
      const reply = await token(`${form({ ...base, code: '4/0x' })}&${name}=again`);
      expect([reply.status, reply.json.error], name).toEqual([400, 'invalid_request']);
    }
  });
  test('[OAS-5.27] a megabyte, ten thousand fields', async () => {
    const big = await token(`${form(base)}&code=${'x'.repeat(1_000_000)}`);
    expect(big.status).toBe(413);
    const many = await token(
      Array.from({ length: 10_000 }, (_, i) => `f${i}=1`)
        .join('&')
        .slice(0, 60_000),
    );
    expect([many.status, many.json.error]).toEqual([400, 'invalid_request']);
  });
  test(
    '[OAS-5.28] [OAS-6.9] account disabled or deleted between code and token, and after',
    covers('spec/sign-in#errors-6'),
    async () => {
      const codes: string[] = [];
      for (const [end, name] of [
        ['disable', 'one'],
        ['delete', 'two'],
      ] as const) {
        const user = { email: `${name}@demo.example`, password: 'p' };
        await control(server, 'POST', '/users', user);
        const tokens = await tokensFor(server, {}, user);
        const code = await codeFor(server, {}, user);
        codes.push(code);
        await (end === 'disable'
          ? control(server, 'POST', `/users/${user.email}/disable`, {})
          : control(server, 'DELETE', `/users/${user.email}`));
        expect((await exchange(server, code)).json.error).toBe('invalid_grant');
        expect((await refresh(server, tokens.refresh_token)).json.error).toBe('invalid_grant');
        expect((await channels(server, tokens.access_token)).status).toBe(401);
      }
      await control(server, 'POST', '/users/one@demo.example/enable', {});
      // A rejected exchange does not use the code.
      expect((await exchange(server, codes[0] ?? '')).status).toBe(200);
      expect((await tokensFor(server, {}, { email: 'one@demo.example', password: 'p' })).token_type).toBe(
        'Bearer',
      );
      expect((await control(server, 'POST', '/users/two@demo.example/enable', {})).status).toBe(409);
    },
  );
  test('[OAS-5.29] a new sign-in gives a new refresh token, the older stays good', async () => {
    const [one, two] = [await tokensFor(server), await tokensFor(server)];
    expect(one.refresh_token).not.toBe(two.refresh_token);
    for (const tokens of [one, two]) expect((await refresh(server, tokens.refresh_token)).status).toBe(200);
  });
});

describe('proof keys', () => {
  const wrong = 'b'.repeat(43);
  test.each([
    ['[OAS-5.15] none', { code_verifier: undefined }, 'Missing code verifier.'],
    ['[OAS-5.16] wrong', { code_verifier: wrong }, 'Invalid code verifier.'],
    ['[OAS-5.17] 42', { code_verifier: 'a'.repeat(42) }, 'Invalid code verifier'],
    ['[OAS-5.17] 129', { code_verifier: 'a'.repeat(129) }, 'Invalid code verifier'],
    ['[OAS-5.17] plus', { code_verifier: `${'a'.repeat(43)}+` }, 'Invalid code verifier'],
    ['[OAS-5.17] blank', { code_verifier: `${'a'.repeat(43)} ` }, 'Invalid code verifier'],
    ['[OAS-5.17] é', { code_verifier: `${'a'.repeat(43)}é` }, 'Invalid code verifier'],
  ])('%s verifier is invalid_grant', covers('spec/sign-in#limits-1'), async (_, change, says) => {
    const reply = await exchange(server, await codeFor(server), change);
    expect([reply.status, reply.json.error]).toEqual([400, 'invalid_grant']);
    expect(reply.json.error_description).toContain(says);
  });
  test.each([
    ['43', 'A'.repeat(43)],
    ['128', 'z'.repeat(128)],
    ['every character', 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~'],
  ])(
    '[OAS-5.18] a verifier of %s works with S256 and plain',
    covers('spec/sign-in#pkce-2', 'spec/sign-in#limits-1'),
    async (_, text) => {
      const s256 = createHash('sha256').update(text).digest('base64url');
      for (const asked of [
        { code_challenge: s256 },
        { code_challenge: text, code_challenge_method: 'plain' },
        { code_challenge: text, code_challenge_method: undefined },
      ]) {
        const reply = await exchange(server, await codeFor(server, asked), { code_verifier: text });
        expect(reply.status, reply.text).toBe(200);
      }
    },
  );
  test('a plain challenge is not met by its hash', covers('spec/sign-in#pkce-3'), async () => {
    const text = 'A'.repeat(43);
    const code = await codeFor(server, { code_challenge: text, code_challenge_method: 'plain' });
    expect(
      (await exchange(server, code, { code_verifier: createHash('sha256').update(text).digest('base64url') }))
        .json.error,
    ).toBe('invalid_grant');
    expect((await exchange(server, code, { code_verifier: text })).status).toBe(200);
  });
  test('[OAS-5.19] a verifier without a challenge is refused, none is right', async () => {
    const without = { code_challenge: undefined, code_challenge_method: undefined };
    const reply = await exchange(server, await codeFor(server, without));
    expect([reply.json.error, reply.json.error_description]).toEqual([
      'invalid_grant',
      expect.stringContaining('not needed'),
    ]);
    expect(
      (await exchange(server, await codeFor(server, without), { code_verifier: undefined })).status,
    ).toBe(200);
  });
  test('[OAS-5.20] the same challenge twice is allowed and noted', async () => {
    const code_challenge = createHash('sha256').update('once').digest('base64url');
    for (let i = 0; i < 2; i += 1) await codeFor(server, { code_challenge });
    const warnings = (await control(server, 'GET', '/warnings')).json;
    expect(warnings.at(-1)).toMatchObject({
      client: clients.desktop,
      text: expect.stringContaining('same code challenge'),
    });
  });
});

describe('client authentication', () => {
  const own = { client_id: clients.withSecret };
  const code = () => codeFor(server, own);
  const basic = (id: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(password)}`).toString('base64')}`,
  });
  test(
    '[OAS-5.21] a client with a secret: none, a wrong one, the right one',
    covers('spec/sign-in#authentication-1', 'spec/sign-in#choices-6'),
    async () => {
      const none = await exchange(server, await code(), own);
      expect([none.status, none.json]).toEqual([
        401,
        { error: 'invalid_client', error_description: 'client_secret is missing.' },
      ]);
      const wrong = await exchange(server, await code(), { ...own, client_secret: `${secret}x` });
      expect([wrong.status, wrong.json.error]).toEqual([401, 'invalid_client']);
      expect((await exchange(server, await code(), { ...own, client_secret: secret })).status).toBe(200);
    },
  );
  test(
    '[OAS-0.5] [OAS-5.22] clients without a secret need none; what mobile clients send is ignored',
    covers('spec/sign-in#client-7', 'spec/sign-in#choices-6'),
    async () => {
      expect((await exchange(server, await codeFor(server))).status).toBe(200);
      const asked = { client_id: clients.mobileB, redirect_uri: 'com.example.app:/cb' };
      expect(
        (await exchange(server, await codeFor(server, asked), { ...asked, client_secret: 'anything' }))
          .status,
      ).toBe(200);
    },
  );
  test(
    '[OAS-5.23] HTTP Basic is accepted, and a 401 names it',
    covers('spec/sign-in#choices-6'),
    async () => {
      const fields = async () => ({ ...base, client_id: undefined, code: await code() });
      expect((await token(await fields(), basic(clients.withSecret, secret))).status).toBe(200);
      const wrong = await token(await fields(), basic(clients.withSecret, 'no'));
      expect([wrong.status, wrong.headers['www-authenticate']]).toEqual([
        401,
        'Basic realm="oauth", charset="UTF-8"',
      ]);
      const twice = await token(
        { ...(await fields()), client_secret: secret },
        basic(clients.withSecret, secret),
      );
      expect([twice.status, twice.json.error]).toEqual([400, 'invalid_request']);
      const differs = await token(
        { ...(await fields()), client_id: clients.desktop },
        basic(clients.withSecret, secret),
      );
      expect([differs.status, differs.json.error]).toEqual([400, 'invalid_request']);
    },
  );
  test('[OAS-5.24] an unknown client', async () => {
    const reply = await token({ ...base, client_id: 'nobody', code: '4/0x' });
    expect([reply.status, reply.json]).toEqual([
      401,
      { error: 'invalid_client', error_description: 'The OAuth client was not found.' },
    ]);
  });
});

describe('refresh', () => {
  test(
    '[OAS-6.1] [OAS-6.3] a refresh returns a new access token and no new refresh token; older access tokens stay valid',
    covers('spec/sign-in#states-2', 'spec/sign-in#refresh-2'),
    async () => {
      const tokens = await tokensFor(server, { scope: both });
      const reply = await refresh(server, tokens.refresh_token);
      expect(Object.keys(reply.json).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type']);
      expect(reply.json).toMatchObject({ expires_in: 3599, scope: both, token_type: 'Bearer' });
      expect(reply.json.access_token).not.toBe(tokens.access_token);
      expect(reply.headers['cache-control']).toBe('no-store');
      for (const access of [tokens.access_token, reply.json.access_token])
        expect((await channels(server, access)).status).toBe(200);
    },
  );
  test(
    '[OAS-6.2] a hundred repeated and concurrent refreshes succeed',
    covers('spec/sign-in#states-3'),
    async () => {
      const tokens = await tokensFor(server);
      const replies = await Promise.all(
        Array.from({ length: 100 }, () => refresh(server, tokens.refresh_token)),
      );
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(replies.map(({ json }) => json.access_token)).size).toBe(100);
    },
  );
  test('[OAS-4.7] fewer scopes are given, more are invalid_scope', async () => {
    const tokens = await tokensFor(server, { scope: both });
    const narrow = await refresh(server, tokens.refresh_token, { scope: scopes.upload });
    expect(narrow.json.scope).toBe(scopes.upload);
    expect((await channels(server, narrow.json.access_token)).status).toBe(403);
    const more = await refresh(server, tokens.refresh_token, { scope: `${scopes.upload} ${scopes.media}` });
    expect([more.status, more.json.error]).toEqual([400, 'invalid_scope']);
    expect((await refresh(server, tokens.refresh_token)).json.scope).toBe(both);
  });
  test(
    '[OAS-4.8] [OAS-6.4] the user revokes one scope, or everything',
    covers('spec/sign-in#states-3'),
    async () => {
      const tokens = await tokensFor(server, { client_id: clients.withSecret, scope: both });
      const mine = { client_id: clients.withSecret, client_secret: secret };
      const grant = `${ada.sub}.${clients.withSecret}`;
      const left = await control(server, 'POST', `/grants/${grant}/remove-scope`, { scope: scopes.upload });
      expect(left.json.scopes).toEqual([scopes.readonly]);
      expect((await refresh(server, tokens.refresh_token, mine)).json).toEqual({
        error: 'invalid_grant',
        error_description: 'Token has been expired or revoked.',
      });
      const again = await tokensFor(server, { client_id: clients.withSecret });
      expect((await control(server, 'DELETE', `/grants/${grant}`)).status).toBe(204);
      expect((await refresh(server, again.refresh_token, mine)).json.error).toBe('invalid_grant');
      expect(
        (await control(server, 'GET', `/grants?user=${ada.email}`)).json.map((g: { id: string }) => g.id),
      ).not.toContain(grant);
      expect((await control(server, 'DELETE', `/grants/${grant}`)).status).toBe(404);
    },
  );
  test('[OAS-5.4] [OAS-6.6] [OAS-6.7] time-based access: seconds left fall, then the end; access tokens end with it', async () => {
    const browser = new Browser(server);
    await browser.ask();
    await browser.signIn();
    const reply = await browser.allow([], { access_for: '3600' });
    const code = new URL(String(reply.headers.location)).searchParams.get('code') ?? '';
    const tokens = (await exchange(server, code)).json;
    expect(tokens.refresh_token_expires_in).toBe(3600);
    server.advance(3_000_000);
    const later = (await refresh(server, tokens.refresh_token)).json;
    expect([later.refresh_token_expires_in, later.expires_in]).toEqual([600, 600]);
    server.advance(600_000);
    expect((await refresh(server, tokens.refresh_token)).json.error).toBe('invalid_grant');
    expect((await channels(server, later.access_token)).status).toBe(401);
    expect((await tokensFor(server)).refresh_token_expires_in).toBeUndefined();
  });
  test.each([
    ['[OAS-6.8] garbage', 'garbage'],
    ['[OAS-6.8] well-formed', `1//1-${'A'.repeat(43)}`],
    ['[OAS-6.12] missing', undefined],
    ['[OAS-6.12] empty', ''],
  ])('%s refresh token', async (title, value) => {
    const reply = await token({
      client_id: clients.desktop,
      grant_type: 'refresh_token',
      refresh_token: value,
    });
    expect([reply.status, reply.json.error]).toEqual([
      400,
      title.includes('6.12') ? 'invalid_request' : 'invalid_grant',
    ]);
  });
  test('[OAS-6.8] [OAS-6.10] a token of another client, and an access token', async () => {
    const tokens = await tokensFor(server);
    const other = await refresh(server, tokens.refresh_token, {
      client_id: clients.withSecret,
      client_secret: secret,
    });
    expect([other.status, other.json.error]).toEqual([400, 'invalid_grant']);
    expect((await refresh(server, tokens.access_token)).json.error).toBe('invalid_grant');
    expect((await refresh(server, tokens.refresh_token)).status).toBe(200);
  });
  test(
    '[OAS-6.11] with a secret it is needed; mobile and extension clients need none',
    covers('spec/sign-in#refresh-1'),
    async () => {
      const tokens = await tokensFor(server, { client_id: clients.withSecret });
      expect((await refresh(server, tokens.refresh_token, { client_id: clients.withSecret })).status).toBe(
        401,
      );
      expect(
        (
          await refresh(server, tokens.refresh_token, {
            client_id: clients.withSecret,
            client_secret: secret,
          })
        ).status,
      ).toBe(200);
      const apps = [
        { client_id: clients.mobileA, redirect_uri: 'com.example.app:/cb' },
        { client_id: clients.mobileB, redirect_uri: 'com.example.app:/cb' },
        {
          client_id: clients.extension,
          redirect_uri: 'https://demoextensionitem.extensions.opsctl.example/cb',
        },
      ];
      for (const app of apps)
        expect(
          (await refresh(server, (await tokensFor(server, app)).refresh_token, { client_id: app.client_id }))
            .status,
        ).toBe(200);
    },
  );
});

describe('limits of refresh tokens', () => {
  test(
    '[OAS-6.13] [OAS-6.16] [OAS-0.9] per client and user the oldest token stops, revoked ones do not count, its access token stays valid',
    covers(
      'spec/sign-in#states-4',
      'spec/sign-in#limits-3',
      'spec/sign-in#choices-8',
      'spec/program#choices-3',
    ),
    async () => {
      expect((await control(server, 'GET', '/settings')).json).toMatchObject({
        refresh_tokens_per_client: 100,
        refresh_tokens_per_user: 500,
      });
      const user = { email: 'limit@demo.example', password: 'p' };
      await control(server, 'POST', '/users', user);
      await set({ refresh_tokens_per_client: 3 });
      const all: { access_token: string; refresh_token: string }[] = [];
      for (let i = 0; i < 3; i += 1) all.push(await tokensFor(server, {}, user));
      await post(`${server.origin}/revoke?token=${encodeURIComponent(all[2]?.refresh_token ?? '')}`, '');
      all.push(await tokensFor(server, {}, user));
      const states = async () =>
        Promise.all(all.map(async (tokens) => (await refresh(server, tokens.refresh_token)).status));
      expect(await states()).toEqual([200, 200, 400, 200]);
      all.push(await tokensFor(server, {}, user));
      expect(await states()).toEqual([400, 200, 400, 200, 200]);
      expect((await channels(server, all[0]?.access_token ?? '')).status).toBe(200);
      expect((await tokensFor(server)).token_type).toBe('Bearer');
      await set({ refresh_tokens_per_client: 100 });
    },
  );
  test(
    '[OAS-6.14] [OAS-6.15] per user across clients the token issued first stops, for any client and use',
    covers('spec/sign-in#states-4', 'spec/sign-in#limits-3'),
    async () => {
      const user = { email: 'across@demo.example', password: 'p' };
      await control(server, 'POST', '/users', user);
      await set({ refresh_tokens_per_user: 3, refresh_tokens_per_client: 2 });
      const mine = { client_id: clients.withSecret, client_secret: secret };
      const first = await tokensFor(server, { client_id: clients.withSecret }, user);
      const second = await tokensFor(server, {}, user);
      await refresh(server, first.refresh_token, mine);
      const third = await tokensFor(server, {}, user);
      expect((await refresh(server, first.refresh_token, mine)).status).toBe(200);
      const fourth = await tokensFor(server, { client_id: clients.withSecret }, user);
      expect((await refresh(server, first.refresh_token, mine)).status).toBe(400);
      expect((await refresh(server, second.refresh_token)).status).toBe(200);
      const fifth = await tokensFor(server, {}, user);
      expect((await refresh(server, second.refresh_token)).status).toBe(400);
      for (const [tokens, more] of [
        [third, {}],
        [fourth, mine],
        [fifth, {}],
      ] as const)
        expect((await refresh(server, tokens.refresh_token, more)).status).toBe(200);
      await set({ refresh_tokens_per_user: 500, refresh_tokens_per_client: 100 });
    },
  );
});

describe('id_token', () => {
  const claims = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
  const isSigned = async (jwt: string): Promise<string> => {
    const [head = '', body = '', signature = ''] = jwt.split('.');
    const { kid, alg } = JSON.parse(Buffer.from(head, 'base64url').toString());
    const jwk = (await raw(`${server.origin}/oauth2/certs`)).json.keys.find(
      (key: { kid: string }) => key.kid === kid,
    );
    const key = {
      key: createPublicKey({ key: jwk, format: 'jwk' }),
      ...(alg === 'ES256' ? { dsaEncoding: 'ieee-p1363' as const } : {}),
    };
    return verify('sha256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'))
      ? alg
      : 'not signed';
  };
  test.each(['openid', 'profile', 'email'])(
    '[OAS-4.2] %s brings an id_token',
    covers('spec/sign-in#token-2'),
    async (scope) => {
      const tokens = await tokensFor(server, { scope, nonce: 'n-1' });
      expect(await isSigned(tokens.id_token)).toBe('RS256');
      const said = claims(tokens.id_token);
      expect(said).toMatchObject({
        iss: server.origin,
        aud: clients.desktop,
        azp: clients.desktop,
        sub: ada.sub,
        nonce: 'n-1',
      });
      expect(said.exp - said.iat).toBe(3599);
      expect([said.email, said.name]).toEqual([
        scope === 'email' ? ada.email : undefined,
        scope === 'profile' ? 'Ada Demo' : undefined,
      ]);
      const at_hash = createHash('sha256')
        .update(tokens.access_token)
        .digest()
        .subarray(0, 16)
        .toString('base64url');
      expect(said.at_hash).toBe(at_hash);
    },
  );
  test(
    '[OAS-4.3] without a granted identity scope there is no id_token',
    covers('spec/sign-in#token-2'),
    async () => {
      expect((await tokensFor(server)).id_token).toBeUndefined();
      const browser = new Browser(server);
      await browser.ask({ scope: `openid ${scopes.readonly}` });
      await browser.signIn();
      const reply = await browser.allow([scopes.readonly]);
      const tokens = (
        await exchange(server, new URL(String(reply.headers.location)).searchParams.get('code') ?? '')
      ).json;
      expect(tokens).not.toHaveProperty('id_token');
    },
  );
  test('ES256 where the client asks for it, and no nonce where none was sent', async () => {
    const made = await control(server, 'POST', '/clients', {
      type: 'desktop',
      name: 'es',
      id_token_alg: 'ES256',
      any_path: true,
    });
    const tokens = await tokensFor(server, { client_id: made.json.id, scope: 'openid' });
    expect(await isSigned(tokens.id_token)).toBe('ES256');
    expect(claims(tokens.id_token).nonce).toBeUndefined();
  });
  test('userinfo gives what the scopes open', async () => {
    const tokens = await tokensFor(server, { scope: 'openid email' });
    const at = `${server.origin}/oauth2/userinfo`;
    const reply = await raw(at, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    expect(reply.json).toEqual({ sub: ada.sub, email: ada.email, email_verified: true, hd: 'demo.example' });
    expect((await raw(at)).status).toBe(401);
    const posted = await raw(at, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens.access_token}` },
    });
    expect(posted.json).toEqual(reply.json);
    const wrong = await raw(at, { method: 'PUT' });
    expect([wrong.status, wrong.headers.allow]).toEqual([405, 'GET, POST']);
  });
});
