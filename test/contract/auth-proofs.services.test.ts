import { createHash, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { compactJwt } from '../../src/auth/sign-jwt.ts';
import {
  type AuthServer,
  authServer,
  Browser,
  clients,
  codeFor,
  control,
  exchange,
  form,
  formOf,
  location,
  pageError,
  post,
  raw,
  redirect,
  request,
  scopes,
  secret,
  verifier,
} from '../support/auth-server.ts';

/** RFC 9449 and RFC 9126 on the embedded mock server, with handmade requests. */
let server: AuthServer;
beforeAll(async () => {
  server = await authServer();
});
afterEach(() =>
  control(server, 'PATCH', '/settings', {
    require_dpop: false,
    require_dpop_nonce: false,
    require_pushed_requests: false,
  }),
);

const keyPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
type Pair = ReturnType<typeof keyPair>;
const jwkOf = ({ publicKey }: Pair) => publicKey.export({ format: 'jwk' });
const thumbprintOf = (pair: Pair): string => {
  const { crv, kty, x, y } = jwkOf(pair);
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
};
type Change = { header?: object; claims?: object; key?: KeyObject };
const proof = (pair: Pair, method: string, path: string, { header, claims, key }: Change = {}): string =>
  compactJwt(
    key ?? pair.privateKey,
    { typ: 'dpop+jwt', alg: 'ES256', jwk: jwkOf(pair), ...header },
    {
      jti: randomUUID(),
      htm: method,
      htu: server.origin + path,
      iat: Math.floor(server.env.now() / 1000),
      ...claims,
    },
  );
const token = (fields: Record<string, string>, dpop: string | undefined) =>
  post(`${server.origin}/token`, fields, dpop === undefined ? {} : { dpop });
const exchangeWith = (code: string, dpop: string | undefined, more: Record<string, string> = {}) =>
  token(
    {
      client_id: clients.desktop,
      code,
      code_verifier: verifier,
      grant_type: 'authorization_code',
      redirect_uri: redirect,
      ...more,
    },
    dpop,
  );
const hash = (text: string): string => createHash('sha256').update(text).digest('base64url');
const path = '/media/v3/channels';
const channels = (accessToken: string, dpop?: string, scheme = 'DPoP') =>
  raw(`${server.origin}${path}?part=id&mine=true`, {
    headers: { authorization: `${scheme} ${accessToken}`, ...(dpop === undefined ? {} : { dpop }) },
  });

describe('a proof at the token endpoint is refused', () => {
  const me = keyPair();
  const other = keyPair();
  const { d, ...rest } = me.privateKey.export({ format: 'jwk' });
  test.each<[string, () => string]>([
    ['that is not a JWT', () => 'x'],
    ['of another type', () => proof(me, 'POST', '/token', { header: { typ: 'JWT' } })],
    ['without an algorithm', () => proof(me, 'POST', '/token', { header: { alg: 'none' } })],
    ['with a shared secret', () => proof(me, 'POST', '/token', { header: { alg: 'HS256' } })],
    ['without a key', () => proof(me, 'POST', '/token', { header: { jwk: undefined } })],
    ['with a private key', () => proof(me, 'POST', '/token', { header: { jwk: { ...rest, d } } })],
    ['signed by another key', () => proof(me, 'POST', '/token', { key: other.privateKey })],
    ['for another method', () => proof(me, 'GET', '/token')],
    ['for another path', () => proof(me, 'POST', '/revoke')],
    ['for another host', () => proof(me, 'POST', '/token', { claims: { htu: 'https://x.example/token' } })],
    ['without an ID', () => proof(me, 'POST', '/token', { claims: { jti: undefined } })],
    ['without a time', () => proof(me, 'POST', '/token', { claims: { iat: undefined } })],
  ])('%s', async (_, make) => {
    const reply = await exchangeWith(await codeFor(server), make());
    expect(reply).toMatchObject({ status: 400, json: { error: 'invalid_dpop_proof' } });
  });
  test.each([-600, 600])(
    'a proof %i s away from the time of the server is rejected with a nonce',
    async (s) => {
      const iat = Math.floor(server.env.now() / 1000) + s;
      const code = await codeFor(server);
      const reply = await exchangeWith(code, proof(me, 'POST', '/token', { claims: { iat } }));
      expect(reply).toMatchObject({ status: 400, json: { error: 'use_dpop_nonce' } });
      const nonce = String(reply.headers['dpop-nonce']);
      const again = await exchangeWith(code, proof(me, 'POST', '/token', { claims: { iat, nonce } }));
      expect(again).toMatchObject({ status: 200, json: { token_type: 'DPoP' } });
    },
  );
  test('a reused proof is rejected', async () => {
    const once = proof(me, 'POST', '/token');
    expect((await exchangeWith(await codeFor(server), once)).status).toBe(200);
    expect((await exchangeWith(await codeFor(server), once)).json.error).toBe('invalid_dpop_proof');
  });
  test('a proof with an old nonce is rejected', async () => {
    await control(server, 'PATCH', '/settings', { require_dpop_nonce: true });
    const code = await codeFor(server);
    const first = await exchangeWith(code, proof(me, 'POST', '/token'));
    expect(first.json.error).toBe('use_dpop_nonce');
    const nonce = String(first.headers['dpop-nonce']);
    server.advance(601_000);
    const late = await exchangeWith(
      await codeFor(server),
      proof(me, 'POST', '/token', { claims: { nonce } }),
    );
    expect(late.json.error).toBe('use_dpop_nonce');
    expect(late.headers['dpop-nonce']).not.toBe(nonce);
  });
});

test('a URL in another notation is the same: case of the host, a query', async () => {
  const me = keyPair();
  const htu = `${server.origin.replace('http:', 'HTTP:')}/token?x=1#y`;
  const reply = await exchangeWith(await codeFor(server), proof(me, 'POST', '/token', { claims: { htu } }));
  expect(reply.json.token_type).toBe('DPoP');
});

describe('a bound token', () => {
  const [me, other] = [keyPair(), keyPair()];
  const bound = async () => (await exchangeWith(await codeFor(server), proof(me, 'POST', '/token'))).json;
  test('a bound token opens the data API only with a proof for this request', async () => {
    const { access_token: access } = await bound();
    const ath = hash(access);
    const good = () => proof(me, 'GET', path, { claims: { ath } });
    expect((await channels(access, good())).status).toBe(200);
    const refused = [
      [await channels(access), 'invalid_dpop_proof'],
      [await channels(access, good(), 'Bearer'), 'invalid_token'],
      [await channels(access, undefined, 'Bearer'), 'invalid_token'],
      [await channels(access, proof(me, 'GET', path)), 'invalid_dpop_proof'],
      [await channels(access, proof(me, 'GET', path, { claims: { ath: hash('x') } })), 'invalid_dpop_proof'],
      [await channels(access, proof(other, 'GET', path, { claims: { ath } })), 'invalid_token'],
    ] as const;
    for (const [{ status, headers }, error] of refused)
      expect([status, headers['www-authenticate']]).toEqual([
        401,
        expect.stringContaining(`DPoP error="${error}"`),
      ]);
    const inQuery = await raw(`${server.origin}${path}?part=id&mine=true&access_token=${access}`);
    expect(inQuery.status).toBe(401);
    const userinfo = await raw(`${server.origin}/oauth2/userinfo`, {
      headers: { authorization: `Bearer ${access}` },
    });
    expect([userinfo.status, userinfo.json.error]).toEqual([401, 'invalid_token']);
  });
  test('gets its nonce from the data API as well', async () => {
    await control(server, 'PATCH', '/settings', { require_dpop_nonce: false });
    const { access_token: access } = await bound();
    await control(server, 'PATCH', '/settings', { require_dpop_nonce: true });
    const ath = hash(access);
    const first = await channels(access, proof(me, 'GET', path, { claims: { ath } }));
    expect(String(first.headers['www-authenticate'])).toContain('error="use_dpop_nonce"');
    const nonce = String(first.headers['dpop-nonce']);
    expect((await channels(access, proof(me, 'GET', path, { claims: { ath, nonce } }))).status).toBe(200);
  });
  test('a Bearer token is refused as a bound one', async () => {
    const { access_token: access } = (await exchange(server, await codeFor(server))).json;
    const dpop = proof(me, 'GET', path, { claims: { ath: hash(access) } });
    expect((await channels(access, dpop)).status).toBe(401);
    expect((await channels(access, undefined, 'Bearer')).status).toBe(200);
  });
  test('a refresh of a public client needs the key; a client with a secret may use a new one', async () => {
    const { refresh_token: refresh } = await bound();
    const fields = { client_id: clients.desktop, grant_type: 'refresh_token', refresh_token: refresh };
    expect((await token(fields, undefined)).json.error).toBe('invalid_dpop_proof');
    expect((await token(fields, proof(other, 'POST', '/token'))).json.error).toBe('invalid_grant');
    expect((await token(fields, proof(me, 'POST', '/token'))).json.token_type).toBe('DPoP');
    const id = { client_id: clients.withSecret, client_secret: secret };
    const code = await codeFor(server, { client_id: clients.withSecret });
    const { refresh_token: own } = (await exchangeWith(code, proof(me, 'POST', '/token'), id)).json;
    const again = { ...id, grant_type: 'refresh_token', refresh_token: own };
    const { access_token: access } = (await token(again, proof(other, 'POST', '/token'))).json;
    const dpop = proof(other, 'GET', path, { claims: { ath: hash(access) } });
    expect((await channels(access, dpop)).status).toBe(200);
  });
  test('a code of a request with dpop_jkt needs that key', async () => {
    const dpop_jkt = thumbprintOf(me);
    const none = await exchangeWith(await codeFor(server, { dpop_jkt }), undefined);
    expect(none.json.error).toBe('invalid_dpop_proof');
    const wrong = await exchangeWith(await codeFor(server, { dpop_jkt }), proof(other, 'POST', '/token'));
    expect(wrong.json.error).toBe('invalid_grant');
    const right = await exchangeWith(await codeFor(server, { dpop_jkt }), proof(me, 'POST', '/token'));
    expect(right.json.token_type).toBe('DPoP');
  });
  test('require_dpop: no token without a proof', async () => {
    await control(server, 'PATCH', '/settings', { require_dpop: true });
    expect((await exchange(server, await codeFor(server))).json.error).toBe('invalid_dpop_proof');
  });
});

describe('pushed authorization requests', () => {
  const push = (fields: Record<string, string | undefined>, headers: Record<string, string> = {}) =>
    post(`${server.origin}/par`, fields, headers);
  const openPushed = async (requestUri: string, client: string = clients.desktop) => {
    const browser = new Browser(server);
    const query = form({ client_id: client, request_uri: requestUri });
    await browser.open(`${server.origin}/o/oauth2/v2/auth?${query}`);
    return browser;
  };
  test('a reference replaces the parameters, including for a second load of the page', async () => {
    const { status, json } = await push(request());
    expect([status, json.expires_in]).toEqual([201, 90]);
    await openPushed(json.request_uri);
    const browser = await openPushed(json.request_uri);
    await browser.signIn();
    const to = location(await browser.allow());
    expect(to.searchParams.get('state')).toBe('state-of-the-test');
    expect((await exchange(server, to.searchParams.get('code') ?? '')).status).toBe(200);
  });
  test('parameters next to the reference have no effect', async () => {
    const { json } = await push(request());
    const browser = new Browser(server);
    const query = form({ ...request({ scope: scopes.media }), request_uri: json.request_uri });
    await browser.open(`${server.origin}/o/oauth2/v2/auth?${query}`);
    await browser.signIn();
    const to = location(await browser.allow());
    const tokens = await exchange(server, to.searchParams.get('code') ?? '');
    expect(tokens.json.scope).toBe(scopes.readonly);
  });
  test.each<[string, Record<string, string | undefined>, string]>([
    ['an unknown client', { client_id: 'x' }, 'invalid_client'],
    ['a client without its secret', { client_id: clients.withSecret }, 'invalid_client'],
    ['a redirect URI that is not authorized', { redirect_uri: 'https://x.example/' }, 'invalid_request'],
    ['an unknown scope', { scope: 'x' }, 'invalid_scope'],
    ['a reference in place of parameters', { request_uri: 'urn:x' }, 'invalid_request'],
    ['a broken challenge', { code_challenge: 'x' }, 'invalid_request'],
  ])('%s is refused before the browser opens', async (_, change, error) => {
    const { status, json } = await push(request(change));
    expect([status >= 400 && status < 500, json.error]).toEqual([true, error]);
  });
  test('GET is refused, and the secret of a client is not stored with the request', async () => {
    expect((await raw(`${server.origin}/par`)).status).toBe(405);
    const id = { client_id: clients.withSecret, client_secret: secret };
    const { json } = await push({ ...request(), ...id });
    const page = await openPushed(json.request_uri, clients.withSecret);
    expect(page.page.text).toContain('name="password"');
    const basic = `Basic ${Buffer.from(`${encodeURIComponent(clients.withSecret)}:${secret}`).toString('base64')}`;
    const { client_id, ...rest } = request();
    expect((await push(rest, { authorization: basic })).status).toBe(201);
  });
  test('a reference of another client, an unknown one and an expired one end on a page', async () => {
    const { json } = await push(request());
    expect(pageError((await openPushed(json.request_uri, clients.withSecret)).page)).toBe('invalid_request');
    expect(pageError((await openPushed(`${json.request_uri}x`)).page)).toBe('invalid_request');
    server.advance(90_000);
    expect(pageError((await openPushed(json.request_uri)).page)).toBe('invalid_request');
  });
  test('a proof binds the code to its key, and must be of the key that dpop_jkt names', async () => {
    const [me, other] = [keyPair(), keyPair()];
    const { json } = await push(request(), { dpop: proof(me, 'POST', '/par') });
    const browser = await openPushed(json.request_uri);
    await browser.signIn();
    const code = location(await browser.allow()).searchParams.get('code') ?? '';
    expect((await exchangeWith(code, proof(other, 'POST', '/token'))).json.error).toBe('invalid_grant');
    const wrong = await push(request({ dpop_jkt: thumbprintOf(other) }), { dpop: proof(me, 'POST', '/par') });
    expect(wrong.json.error).toBe('invalid_dpop_proof');
  });
  test('require_pushed_requests is in the metadata, and an ordinary request ends on an error page', async () => {
    await control(server, 'PATCH', '/settings', { require_pushed_requests: true });
    const { json } = await raw(`${server.origin}/.well-known/openid-configuration`);
    expect(json).toMatchObject({
      require_pushed_authorization_requests: true,
      pushed_authorization_request_endpoint: `${server.origin}/par`,
      dpop_signing_alg_values_supported: ['ES256', 'RS256'],
    });
    expect(pageError(await new Browser(server).ask())).toBe('invalid_request');
    const { json: pushed } = await push(request());
    expect((await openPushed(pushed.request_uri)).page.text).toContain('name="password"');
  });
});

describe('response_mode=form_post', () => {
  test.each([
    ['allow', 'code'],
    ['deny', 'error'],
  ])(
    'after %s, the page sends %s, state and issuer as a form, and nothing in the address',
    async (decision, field) => {
      const browser = new Browser(server);
      await browser.ask({ response_mode: 'form_post', state: 'a b&"<é' });
      await browser.signIn();
      const page = await browser.submit({ decision });
      expect([page.status, page.headers.location]).toEqual([200, undefined]);
      const { action, hidden } = formOf(page.text);
      expect(action).toBe(redirect);
      expect(hidden).toMatchObject({
        state: 'a b&"<é',
        iss: server.origin,
        [field]: expect.stringMatching(/./),
      });
      const policy = String(page.headers['content-security-policy']);
      const script = /<script>(.*?)<\/script>/.exec(page.text)?.[1] ?? '';
      const digest = createHash('sha256').update(script).digest('base64');
      expect(policy).toContain(`script-src 'sha256-${digest}'`);
      expect(policy).toMatch(/form-action 'self' http:\/\/127\.0\.0\.1:4567;/);
      expect(policy).not.toContain('unsafe');
      if (field === 'code') expect((await exchange(server, hidden.code ?? '')).status).toBe(200);
    },
  );
  test('another response_mode has no effect, as any unknown parameter', async () => {
    const browser = new Browser(server);
    await browser.ask({ response_mode: 'jwt' });
    await browser.signIn();
    expect(location(await browser.allow()).searchParams.get('code')).not.toBeNull();
  });
});
