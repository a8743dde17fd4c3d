import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { Store, type Change } from '../../src/mock-server/store.ts';
import { defaultOptions } from '../../src/mock-server/service-set.ts';
import { startMock } from '../../src/mock-server/server.ts';
import { makeAuth } from '../../src/mock-server/oauth/service.ts';
import {
  type AuthServer,
  Browser,
  ada,
  ask,
  authServer,
  channels,
  clients,
  codeFor,
  control,
  exchange,
  form,
  location,
  post,
  raw,
  redirect,
  refresh,
  request,
  scopes,
  secret,
  tokensFor,
  verifier,
} from '../support/auth-server.ts';
import { realHost } from '../support/real-host.ts';
import { makeIdentity } from '../../src/mock-server/local-authority.ts';
import { covers } from '../support/covers.ts';

let server: AuthServer;
beforeAll(async () => {
  server = await authServer();
});

describe('metadata', () => {
  test.each(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'])(
    '[OAS-12.1] %s is true to fact',
    async (path) => {
      const { json, status } = await raw(server.origin + path);
      expect(status).toBe(200);
      expect(json).toMatchObject({
        issuer: server.origin,
        authorization_endpoint: `${server.origin}/o/oauth2/v2/auth`,
        token_endpoint: `${server.origin}/token`,
        revocation_endpoint: `${server.origin}/revoke`,
        jwks_uri: `${server.origin}/oauth2/certs`,
        response_types_supported: ['code'],
        grant_types_supported: [
          'authorization_code',
          'refresh_token',
          'client_credentials',
          'urn:ietf:params:oauth:grant-type:jwt-bearer',
          'urn:ietf:params:oauth:grant-type:token-exchange',
          'urn:ietf:params:oauth:grant-type:device_code',
        ],
        device_authorization_endpoint: `${server.origin}/device/code`,
        code_challenge_methods_supported: ['S256', 'plain'],
        authorization_response_iss_parameter_supported: true,
        id_token_signing_alg_values_supported: ['RS256', 'ES256'],
      });
      for (const scope of json.scopes_supported)
        expect((await ask(server, { scope })).status, scope).toBe(200);
      expect((await raw(server.origin + path, { method: 'POST' })).status).toBe(405);
    },
  );
  test.each(['localhost', '[::1]', 'authority.test'])(
    '[OAS-12.1] who came by the name %s finds an issuer of that name everywhere',
    async (name) => {
      const host = `${name}:${new URL(server.origin).port}`;
      const issuer = `http://${host}`;
      const { json } = await raw(`${server.origin}/.well-known/openid-configuration`, { headers: { host } });
      expect(json).toMatchObject({
        issuer,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/oauth2/certs`,
      });
      await control(server, 'PUT', '/consent', { mode: 'auto' });
      const to = location(await ask(server, { scope: 'openid' }, { host }));
      await control(server, 'PUT', '/consent', { mode: 'ask' });
      expect(to.searchParams.get('iss')).toBe(issuer);
      const fields = {
        client_id: clients.desktop,
        code: to.searchParams.get('code') ?? '',
        code_verifier: verifier,
        redirect_uri: redirect,
      };
      const tokens = await post(
        `${server.origin}/token`,
        { ...fields, grant_type: 'authorization_code' },
        { host },
      );
      const claims = JSON.parse(Buffer.from(tokens.json.id_token.split('.')[1], 'base64url').toString());
      expect(claims.iss).toBe(issuer);
    },
  );
  test('the key set has public halves only', async () => {
    const { keys } = (await raw(`${server.origin}/oauth2/certs`)).json;
    expect(keys.map(({ kty, alg, use }: Record<string, string>) => [kty, alg, use])).toEqual([
      ['RSA', 'RS256', 'sig'],
      ['EC', 'ES256', 'sig'],
    ]);
    for (const key of keys)
      for (const secretPart of ['d', 'p', 'q', 'dp', 'dq', 'qi']) expect(key).not.toHaveProperty(secretPart);
  });
});

describe('secrets', () => {
  test('[OAS-12.2] [OAS-8.12] the request log has no code, state, token, verifier, secret or password', async () => {
    const code = await codeFor(server, { client_id: clients.withSecret, state: 'hot-state-value' });
    const tokens = (await exchange(server, code, { client_id: clients.withSecret, client_secret: secret }))
      .json;
    await refresh(server, tokens.refresh_token, { client_id: clients.withSecret, client_secret: secret });
    await raw(
      `${server.origin}/media/v3/channels?part=id&access_token=${encodeURIComponent(tokens.access_token)}`,
    );
    await channels(server, tokens.access_token);
    await post(`${server.origin}/revoke?token=${encodeURIComponent(tokens.refresh_token)}`, '');
    const log = (await raw(`${server.origin}/__opsctl/requests?limit=1000`)).text;
    expect(log).toContain('/media/v3/channels');
    for (const hot of [
      code,
      tokens.access_token,
      tokens.refresh_token,
      verifier,
      secret,
      ada.password,
      'hot-state-value',
    ]) {
      expect(log.includes(hot) || log.includes(encodeURIComponent(hot)), hot.slice(0, 6)).toBe(false);
    }
  });
  test('[OAS-12.3] the saved state contains no code, token, secret or password', async () => {
    const code = await codeFor(server);
    const tokens = await tokensFor(server, { client_id: clients.withSecret });
    const state = (await raw(`${server.origin}/__opsctl/state`)).text;
    expect(state).toContain('auth.families');
    for (const hot of [code, tokens.access_token, tokens.refresh_token, secret, `"${ada.password}"`])
      expect(state).not.toContain(hot);
  });
  test('[OAS-12.12] secrets, verifiers and proofs are always compared in constant time', () => {
    const source = (path: string) =>
      readFileSync(new URL(`../../src/mock-server/oauth/${path}`, import.meta.url), 'utf8');
    for (const path of [
      'rules/token-client.ts',
      'tokens.ts',
      'authorize.ts',
      'keys.ts',
      'console/console-page.ts',
    ])
      expect(source(path), path).toContain('sameText(');
    expect(source('keys.ts')).toContain('timingSafeEqual');
    const compared = /(secret|verifier|proof|challenge|hash)\s*(===|!==)(?!\s*(null|undefined|''))/;
    for (const path of ['tokens.ts', 'authorize.ts', 'token-endpoint.ts', 'rules/token-client.ts'])
      expect(source(path)).not.toMatch(compared);
  });
});

/** A store that records its commits as the journal does. */
const recorded = () => {
  const commits: string[] = [];
  return { store: new Store((changes) => void commits.push(JSON.stringify(changes))), commits };
};
const restored = (commits: readonly string[]): Store => {
  const store = new Store();
  for (const text of commits)
    for (const { c, k, v } of JSON.parse(text) as Change[]) store.collection(c).load(k, v);
  return store;
};

describe('restart', () => {
  test('[OAS-12.4] clients, grants, sessions and refresh tokens are kept; access tokens stay good', async () => {
    const { store, commits } = recorded();
    const first = await authServer({ store });
    const browser = new Browser(first);
    await browser.ask({ scope: `openid ${scopes.readonly}` });
    await browser.signIn();
    const code = location(await browser.allow()).searchParams.get('code') ?? '';
    const tokens = (await exchange(first, code)).json;
    await first.close();
    const second = await authServer({ store: restored(commits) });
    expect((await refresh(second, tokens.refresh_token)).status).toBe(200);
    expect((await channels(second, tokens.access_token)).status).toBe(200);
    expect((await control(second, 'GET', '/clients')).json).toHaveLength(6);
    const again = new Browser(second);
    again.cookie = browser.cookie;
    expect((await again.ask()).text).toContain('wants to access');
    await second.close();
  });
  test('[OAS-12.5] killed after any change: a code is used or not, with its tokens or without, never half', async () => {
    const { store, commits } = recorded();
    const first = await authServer({ store });
    const code = await codeFor(first);
    const before = commits.length;
    const tokens = (await exchange(first, code)).json;
    await first.close();
    expect(commits.length - before).toBe(1);
    for (let cut = before; cut <= commits.length; cut += 1) {
      const second = await authServer({ store: restored(commits.slice(0, cut)) });
      const isKept = (await refresh(second, tokens.refresh_token)).status === 200;
      expect(isKept).toBe(cut === commits.length);
      expect((await exchange(second, code)).status).toBe(isKept ? 400 : 200);
      await second.close();
    }
  });
  test('an event that was not delivered goes out after the restart', async () => {
    const { store, commits } = recorded();
    const first = await authServer({ store });
    await control(first, 'PATCH', '/settings', { event_attempts: 1 });
    await control(first, 'POST', '/events/subscriptions', {
      client: clients.desktop,
      receiver: 'http://127.0.0.1:9/closed',
    });
    await post(
      `${first.origin}/revoke?token=${encodeURIComponent((await tokensFor(first)).refresh_token)}`,
      '',
    );
    await first.close();
    const pending = commits.findLastIndex((text) => text.includes('"state":"pending"'));
    const second = await authServer({ store: restored(commits.slice(0, pending + 1)) });
    await expect
      .poll(async () =>
        (await control(second, 'GET', '/events/deliveries')).json.map((one: { state: string }) => one.state),
      )
      .toEqual(['failed']);
    await second.close();
  });
});

test('[OAS-12.7] the same seed and a set clock give the same codes and tokens', async () => {
  const run = async () => {
    const real = await realHost();
    const mock = await startMock({
      host: { ...real.host, now: () => 1_800_000_000_000 },
      options: defaultOptions,
      services: [{ name: 'auth', claims: () => true, load: async () => makeAuth }],
      documents: {},
      store: new Store(),
      seed: 'demo',
      port: 0,
      idSeed: 'same',
      onFailure: (error) => {
        throw error;
      },
    });
    const code = await codeFor(mock);
    const answer = (await exchange(mock, code)).json;
    const again = (await refresh(mock, answer.refresh_token)).json;
    await mock.close();
    await real.close();
    return [code, answer, again];
  };
  expect(await run()).toEqual(await run());
});

describe('faults and limits', () => {
  const fault = (body: unknown) =>
    raw(`${server.origin}/__opsctl/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  test('[OAS-12.8] latency, 500, 503, wrong content type, broken JSON and a cut connection at token and revoke', async () => {
    const tokens = await tokensFor(server);
    await fault({ path: '/token', status: 503, headers: { 'retry-after': '1' }, count: 1 });
    const busy = await refresh(server, tokens.refresh_token);
    expect([busy.status, busy.headers['retry-after']]).toEqual([503, '1']);
    await fault({
      path: '/token',
      status: 200,
      body: '{"access_token":"x',
      content_type: 'text/html',
      count: 1,
    });
    const broken = await refresh(server, tokens.refresh_token);
    expect([broken.headers['content-type'], broken.json]).toEqual(['text/html', undefined]);
    await fault({ path: '/revoke', cut: true, count: 1 });
    await expect(post(`${server.origin}/revoke?token=x`, '')).rejects.toThrow();
    await fault({ path: '/token', delay_ms: 30, count: 1 });
    expect((await refresh(server, tokens.refresh_token)).status).toBe(200);
  });
  test('[OAS-12.9] no rate limit, unless a setting gives one', covers('spec/sign-in#limits-6'), async () => {
    const tokens = await tokensFor(server);
    for (let i = 0; i < 300; i += 1) expect((await refresh(server, tokens.refresh_token)).status).toBe(200);
    await control(server, 'PATCH', '/settings', { rate_per_minute: 3 });
    server.advance(60_000);
    const replies = await Promise.all(Array.from({ length: 5 }, () => refresh(server, tokens.refresh_token)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429]);
    const limited = replies.find(({ status }) => status === 429);
    expect([limited?.json.error, limited?.headers['retry-after']]).toEqual(['rate_limit_exceeded', '60']);
    server.advance(60_000);
    expect((await refresh(server, tokens.refresh_token)).status).toBe(200);
    await control(server, 'PATCH', '/settings', { rate_per_minute: null });
  });
  test('[OAS-12.6] expired codes, pages, sessions and refresh tokens do not pile up', async () => {
    await control(server, 'PUT', '/consent', { mode: 'auto', user: ada.email, access_for_seconds: 60 });
    await control(server, 'PATCH', '/settings', { refresh_tokens_per_client: 50, access_token_seconds: 60 });
    // The same service without a socket: only the records count here.
    const { handle } = makeAuth(server.env);
    const call = {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      remoteAddress: '127.0.0.1',
      isTls: false,
    };
    const asked = form(request({ code_challenge: undefined, code_challenge_method: undefined }));
    for (let round = 0; round < 6; round += 1) {
      for (let i = 0; i < 400; i += 1) {
        const reply = await handle({
          ...call,
          method: 'GET',
          path: '/o/oauth2/v2/auth',
          query: asked,
          body: new Uint8Array(),
        });
        const code = new URL(String(reply.headers?.location)).searchParams.get('code') ?? '';
        const fields = form({
          client_id: clients.desktop,
          grant_type: 'authorization_code',
          redirect_uri: redirect,
          code,
        });
        expect(
          (await handle({ ...call, method: 'POST', path: '/token', query: '', body: Buffer.from(fields) }))
            .status,
        ).toBe(200);
      }
      server.advance(3_600_000);
    }
    const counts = (await control(server, 'GET', '/counts')).json;
    expect(counts.codes).toBeLessThanOrEqual(1400);
    expect(counts.families).toBeLessThanOrEqual(1400);
    await control(server, 'PUT', '/consent', { mode: 'ask' });
    await control(server, 'PATCH', '/settings', {
      refresh_tokens_per_client: 100,
      access_token_seconds: 3599,
    });
  });
});

test(
  '[OAS-0.6] [OAS-2.1] with TLS plain HTTP gets no redirect; without it, loopback only',
  covers('spec/sign-in#authentication-3'),
  async () => {
    const tls = makeIdentity(Date.now(), (bytes) => server.real.host.random(bytes));
    const secure = await authServer({ tls });
    const over = await ask(secure);
    expect([over.status, String(over.headers['set-cookie'])]).toEqual([
      200,
      expect.stringMatching(/; Secure$/),
    ]);
    const plain = secure.origin.replace('https:', 'http:');
    await expect(raw(`${plain}/o/oauth2/v2/auth?client_id=${clients.desktop}`)).rejects.toThrow();
    await secure.close();
    const { handle } = makeAuth(server.env);
    const request = {
      method: 'GET',
      path: '/o/oauth2/v2/auth',
      query: `client_id=${clients.desktop}`,
      headers: {},
      body: new Uint8Array(),
      isTls: false,
    };
    for (const [remoteAddress, says] of [
      ['192.0.2.1', 'from this machine only'],
      ['127.0.0.1', 'redirect_uri'],
      ['::1', 'redirect_uri'],
      ['::ffff:127.0.0.1', 'redirect_uri'],
    ] as const) {
      const reply = await handle({ ...request, remoteAddress });
      expect([reply.status, String(reply.body)]).toEqual([400, expect.stringContaining(says)]);
      expect(reply.headers).not.toHaveProperty('location');
    }
  },
);

test('[OAS-0.6] a server with TLS accepts no code and no token over plain HTTP', async () => {
  const { handle } = makeAuth({ ...server.env, origin: () => 'https://127.0.0.1:1' });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const path of ['/token', '/revoke']) {
    const reply = await handle({
      method: 'POST',
      path,
      query: 'token=x',
      headers,
      body: new Uint8Array(),
      isTls: false,
      remoteAddress: '127.0.0.1',
    });
    expect([reply.status, String(reply.body)]).toEqual([
      400,
      expect.stringContaining('Plain HTTP is refused'),
    ]);
  }
});
