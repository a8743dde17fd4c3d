import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AuthServer, authServer, clients, control, post, raw } from '../support/auth-server.ts';
import { covers } from '../support/covers.ts';

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const deviceCode = 'urn:ietf:params:oauth:grant-type:device_code';
const jwtType = 'urn:ietf:params:oauth:token-type:jwt';
const secret = 'OCS-demo-secret-that-protects-nothing';

let server: AuthServer;
let issuer: Server;
let issuerUrl = '';
const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
beforeAll(async () => {
  server = await authServer();
  issuer = createServer((request, response) => {
    const body = request.url?.endsWith('openid-configuration')
      ? { issuer: issuerUrl, jwks_uri: `${issuerUrl}/keys` }
      : { keys: [{ ...pair.publicKey.export({ format: 'jwk' }), kid: 'k1' }] };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
  issuerUrl = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
});
afterAll(() => {
  issuer.close();
});

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const jwt = (claims: object, key: KeyObject | string, kid?: string, alg = 'RS256'): string => {
  const text = `${part({ alg, kid, typ: 'JWT' })}.${part(claims)}`;
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
};
const token = (fields: Record<string, string>) => post(`${server.origin}/token`, fields);
const nowS = () => Math.floor(server.env.now() / 1000);

describe('machines-1: JWT bearer', () => {
  let key: { private_key: string; private_key_id: string; client_email: string };
  beforeAll(async () => {
    key = (await control(server, 'POST', '/service-keys', { user: 'ci@demo.example' })).json;
  });
  const assertion = (change: object = {}, withKey: KeyObject | string = key.private_key) =>
    jwt(
      {
        iss: key.client_email,
        sub: key.client_email,
        aud: `${server.origin}/token`,
        iat: nowS(),
        exp: nowS() + 300,
        scope: 'media.readonly',
        ...change,
      },
      withKey,
      key.private_key_id,
    );
  test(
    'the key of a service account gets a token without a refresh token, which opens the data API',
    covers('spec/sign-in#machines-1', 'spec/sign-in#machines-4'),
    async () => {
      const reply = await token({ grant_type: jwtBearer, assertion: assertion() });
      expect(reply.status).toBe(200);
      expect(reply.json).toMatchObject({ token_type: 'Bearer', scope: 'media.readonly', expires_in: 3599 });
      expect(reply.json.refresh_token).toBeUndefined();
      const media = await raw(`${server.origin}/media/v3/channels?part=id&mine=true`, {
        headers: { authorization: `Bearer ${reply.json.access_token}` },
      });
      expect(media.status).toBe(200);
    },
  );
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  test.each<[string, () => string, string]>([
    ['another key', () => assertion({}, other), 'signature'],
    ['another audience', () => assertion({ aud: 'https://other.example' }), 'audience'],
    ['no end', () => assertion({ exp: undefined }), 'exp'],
    ['an end that has passed', () => assertion({ exp: nowS() - 301 }), 'expired'],
    ['an end after more than an hour', () => assertion({ exp: nowS() + 4000 }), 'hour'],
    ['a beginning in the future', () => assertion({ iat: nowS() + 400, exp: nowS() + 600 }), 'clock'],
    ['a person as issuer', () => assertion({ iss: 'ada@demo.example' }), 'service account'],
    ['something that is no JWT', () => 'a.b', 'service account'],
    ['alg none', () => `${part({ alg: 'none' })}.${part({ iss: key.client_email })}.`, 'signature'],
  ])(
    '%s is rejected, and the text states the reason',
    covers('spec/sign-in#machines-1'),
    async (_, text, says) => {
      const reply = await token({ grant_type: jwtBearer, assertion: text() });
      expect([reply.status, reply.json.error]).toEqual([400, 'invalid_grant']);
      expect(reply.json.error_description).toContain(says);
    },
  );
  test('no scope and unknown scopes are invalid_scope', async () => {
    for (const scope of [undefined, 'nonsense']) {
      const reply = await token({ grant_type: jwtBearer, assertion: assertion({ scope }) });
      expect(reply.json.error).toBe('invalid_scope');
    }
  });
});

describe('machines-2: client credentials', () => {
  const fields = { grant_type: 'client_credentials', scope: 'media.readonly' };
  test(
    'a client with a secret and a service account acts for it, by Basic and in the body',
    covers('spec/sign-in#machines-2'),
    async () => {
      const inBody = await token({ ...fields, client_id: clients.withSecret, client_secret: secret });
      expect(inBody.status).toBe(200);
      const basic = Buffer.from(`${clients.withSecret}:${secret}`).toString('base64');
      const byHeader = await post(`${server.origin}/token`, fields, { authorization: `Basic ${basic}` });
      expect(byHeader.status).toBe(200);
      expect(byHeader.json.refresh_token).toBeUndefined();
    },
  );
  test('a wrong secret is 401, and a client without a service account is refused', async () => {
    const wrong = await token({ ...fields, client_id: clients.withSecret, client_secret: 'no' });
    expect([wrong.status, wrong.json.error]).toEqual([401, 'invalid_client']);
    const none = await token({ ...fields, client_id: clients.desktop });
    expect([none.status, none.json.error]).toEqual([400, 'unauthorized_client']);
  });
});

describe('machines-3: token exchange', () => {
  const trust = {
    audience: 'opsctl',
    subject: 'repo:acme/*',
    user: 'ci@demo.example',
    scopes: ['media.readonly'],
  };
  beforeAll(async () => {
    const made = await control(server, 'POST', '/trusts', { ...trust, issuer: issuerUrl });
    expect(made.status).toBe(201);
  });
  const subject = (change: object = {}, key: KeyObject = pair.privateKey) =>
    jwt(
      {
        iss: issuerUrl,
        aud: 'opsctl',
        sub: 'repo:acme/web:ref:refs/heads/main',
        exp: nowS() + 300,
        ...change,
      },
      key,
      'k1',
    );
  const fields = () => ({
    grant_type: exchange,
    subject_token: subject(),
    subject_token_type: jwtType,
    scope: 'media.readonly',
  });
  test(
    'a trusted identity token becomes a token of the service account',
    covers('spec/sign-in#machines-3'),
    async () => {
      const reply = await token(fields());
      expect(reply.json).toMatchObject({
        token_type: 'Bearer',
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        scope: 'media.readonly',
      });
    },
  );
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  test.each<[string, () => Record<string, string>, string, string]>([
    [
      'another issuer',
      () => ({ subject_token: subject({ iss: 'https://x.example' }) }),
      'invalid_grant',
      'issuer',
    ],
    ['another audience', () => ({ subject_token: subject({ aud: 'x' }) }), 'invalid_target', 'audience'],
    [
      'another subject',
      () => ({ subject_token: subject({ sub: 'repo:evil/web' }) }),
      'invalid_grant',
      'subject',
    ],
    [
      'a longer name',
      () => ({ subject_token: subject({ sub: 'xrepo:acme/web' }) }),
      'invalid_grant',
      'subject',
    ],
    ['another key', () => ({ subject_token: subject({}, other) }), 'invalid_grant', 'signature'],
    ['an old token', () => ({ subject_token: subject({ exp: nowS() - 400 }) }), 'invalid_grant', 'expired'],
    ['a scope beyond the trust', () => ({ scope: 'media.upload' }), 'invalid_scope', 'trust'],
    ['no type', () => ({ subject_token_type: '' }), 'invalid_request', 'subject_token_type'],
    ['no token', () => ({ subject_token: '' }), 'invalid_request', 'subject_token'],
    ['another result', () => ({ requested_token_type: 'x' }), 'invalid_request', 'requested_token_type'],
  ])(
    '%s is rejected, and the text names the part that does not match',
    covers('spec/sign-in#machines-3'),
    async (_, change, error, says) => {
      const reply = await token({ ...fields(), ...change() });
      expect([reply.status, reply.json.error]).toEqual([400, error]);
      expect(reply.json.error_description).toContain(says);
    },
  );
  test('jobs of the embedded CI are trusted by the demo, and ask for their audience', async () => {
    const { json } = await control(server, 'POST', '/ci/jobs', { provider: 'github', project: 'demo/app' });
    const url = `${json.environment.ACTIONS_ID_TOKEN_REQUEST_URL}&audience=opsctl-demo`;
    const bearer = `bearer ${json.environment.ACTIONS_ID_TOKEN_REQUEST_TOKEN}`;
    const identity = await raw(url, { headers: { authorization: bearer } });
    const reply = await token({ ...fields(), subject_token: identity.json.value });
    expect(reply.status).toBe(200);
    expect((await raw(url, { headers: { authorization: 'bearer x.y.z' } })).status).toBe(401);
  });
});

describe('machines-5: devices', () => {
  const begin = async () =>
    (await post(`${server.origin}/device/code`, { client_id: clients.desktop, scope: 'media.readonly' }))
      .json;
  const poll = (code: string) =>
    token({ grant_type: deviceCode, device_code: code, client_id: clients.desktop });
  const decide = (userCode: string, decision: string, password = 'ada-demo') =>
    post(`${server.origin}/device`, { user_code: userCode, email: 'ada@demo.example', password, decision });
  test(
    'a device waits, its user allows, and it gets tokens once',
    covers('spec/sign-in#machines-5'),
    async () => {
      const device = await begin();
      expect(device).toMatchObject({
        interval: 5,
        expires_in: 900,
        verification_uri: `${server.origin}/device`,
      });
      expect(device.user_code).toMatch(/^[B-Z]{4}-[B-Z]{4}$/);
      expect((await poll(device.device_code)).json.error).toBe('authorization_pending');
      expect((await poll(device.device_code)).json.error).toBe('slow_down');
      expect((await decide(device.user_code, 'allow', 'wrong')).status).toBe(400);
      expect((await decide(device.user_code.toLowerCase().replace('-', ' '), 'allow')).status).toBe(200);
      const tokens = await poll(device.device_code);
      expect(tokens.json).toMatchObject({ token_type: 'Bearer', scope: 'media.readonly' });
      expect(tokens.json.refresh_token).toBeDefined();
      expect((await poll(device.device_code)).json.error).toBe('invalid_grant');
    },
  );
  test(
    'a rejection, an expiry and another client have different errors',
    covers('spec/sign-in#machines-5'),
    async () => {
      const device = await begin();
      expect((await decide(device.user_code, 'deny')).status).toBe(200);
      expect((await poll(device.device_code)).json.error).toBe('access_denied');
      const late = await begin();
      server.advance(901_000);
      expect((await poll(late.device_code)).json.error).toBe('expired_token');
      expect((await decide(late.user_code, 'allow')).status).toBe(400);
    },
  );
});

test(
  'machines-6: offline_access has no effect, and a setting adds scopes',
  covers('spec/sign-in#machines-6'),
  async () => {
    const ask = (scope: string) =>
      post(`${server.origin}/device/code`, { client_id: clients.desktop, scope });
    expect((await ask('media.readonly offline_access')).status).toBe(200);
    expect((await ask('vendor:files')).json.error).toBe('invalid_scope');
    await control(server, 'PATCH', '/settings', { extra_scopes: ['vendor:files'] });
    expect((await ask('vendor:files')).status).toBe(200);
  },
);
