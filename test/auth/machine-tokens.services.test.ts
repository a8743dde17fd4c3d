import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openCredentialStore } from '../../src/auth/credential-store/store.ts';
import { accessToken } from '../../src/auth/token.ts';
import { makeAuthContext, type TestAuthContext } from './auth-context.ts';
import { type Asked, type TokenServer, tokenServer } from './token-server.ts';
import { covers } from '../support/covers.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
let count = 0;
const numbered = () => ({
  body: { access_token: `at-${++count}`, token_type: 'Bearer', expires_in: 3600, scope: 'a' },
});
const open = async (
  settings: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
  answer: (asked: Asked) => ReturnType<typeof numbered> = numbered,
): Promise<{
  server: TokenServer;
  context: TestAuthContext;
  again: (more?: object, env?: object) => Promise<TestAuthContext>;
}> => {
  const server = await tokenServer(answer);
  const all = {
    'auth.url': `${server.url}/auth`,
    'auth.token_url': `${server.url}/token`,
    'auth.scopes': 'a',
    ...settings,
  };
  const context = await makeAuthContext({ settings: all, env });
  closers.push(server.close, context.close);
  const again = async (more: object = {}, other: object = {}) => {
    const next = await makeAuthContext({
      settings: { ...all, ...more },
      env: { ...env, ...other },
      directory: context.directory,
    });
    closers.push(next.close);
    return next;
  };
  return { server, context, again };
};
const jwt = (sub: string) =>
  `${[{ alg: 'RS256' }, { sub }].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.c2ln`;
const secret = { 'auth.method': 'client-credentials', 'auth.client_id': 'c', 'auth.client_secret': 's' };
const exchange = { 'auth.method': 'token-exchange', 'auth.audience': 'https://api.example' };

describe('the token of a machine', () => {
  test('is kept, encrypted, for commands with the same settings, and requested once', async () => {
    const { server, context, again } = await open(secret);
    const first = await accessToken(context);
    for (let i = 0; i < 4; i++) expect((await accessToken(await again())).token).toBe(first.token);
    expect(server.asked).toHaveLength(1);
    const file = await context.host.files.read(openCredentialStore(context).path);
    expect(file).not.toContain(first.token);
    expect(context.said.hidden).toContain(first.token);
  });

  test.each<[string, object]>([
    ['secret', { 'auth.client_secret': 's2' }],
    ['client', { 'auth.client_id': 'c2' }],
    ['scope', { 'auth.scopes': 'b' }],
    ['audience', { 'auth.audience': 'x' }],
    ['resource', { 'auth.resource': 'https://r.example' }],
    ['server', { 'auth.issuer': '' }],
    ['binding', { 'auth.dpop': 'false' }],
  ])('is not used with another %s', async (_, more) => {
    const { server, context, again } = await open(secret);
    await accessToken(context);
    const issuer = 'auth.issuer' in more ? { 'auth.token_url': `${server.url}/other` } : more;
    await accessToken(await again(issuer));
    expect(server.asked).toHaveLength(2);
  });

  // RFC 6749 5.1 recommends expires_in: without a valid one, the server decides when the token ends.
  test.each([-5, 0, 'abc'])('has no known lifetime and is not kept with expires_in %j', async (lifetime) => {
    const answer = () => ({ body: { ...numbered().body, expires_in: lifetime as number } });
    const { server, context, again } = await open(secret, {}, answer);
    expect((await accessToken(context)).expiresMs).toBeUndefined();
    expect(await openCredentialStore(context).read()).not.toHaveProperty('kept');
    await accessToken(await again());
    expect(server.asked).toHaveLength(2);
  });
  test('has a lifetime of at most ten years', async () => {
    const answer = () => ({ body: { ...numbered().body, expires_in: 1e12 } });
    const { context } = await open(secret, {}, answer);
    const { expiresMs = 0 } = await accessToken(context);
    expect(expiresMs - context.host.now()).toBeLessThanOrEqual(3660 * 86_400_000);
    expect(expiresMs - context.host.now()).toBeGreaterThan(3600 * 86_400_000);
  });

  test('is requested again after it was refused, before it expires, and if more lifetime is needed', async () => {
    const { server, context, again } = await open(secret);
    const first = await accessToken(context);
    const second = await accessToken(await again(), { refused: first.token });
    expect(second.token).not.toBe(first.token);
    expect((await accessToken(await again())).token).toBe(second.token);
    const late = await makeAuthContext({
      settings: {
        ...secret,
        'auth.url': `${server.url}/auth`,
        'auth.token_url': `${server.url}/token`,
        'auth.scopes': 'a',
      },
      directory: context.directory,
      host: (host) => ({
        ...host,
        hostname: host.hostname,
        now: () => host.now() + 3590_000,
        files: {
          ...host.files,
          readNow: (path) => (path.startsWith('/proc/') ? undefined : host.files.readNow(path)),
        },
      }),
    });
    closers.push(late.close);
    await accessToken(late);
    expect(server.asked).toHaveLength(3);
  });

  test('belongs to one CI job: another job token gets its own', async () => {
    const { server, context, again } = await open({ ...exchange, 'auth.identity_token': jwt('job-1') });
    await accessToken(context);
    await accessToken(await again());
    expect(server.asked).toHaveLength(1);
    await accessToken(await again({ 'auth.identity_token': jwt('job-2') }));
    expect(server.asked).toHaveLength(2);
  });

  test('is not kept if a command prints the identity token, because nothing else tells its jobs apart', async () => {
    const command = { 'auth.identity_token_command': `printf %s ${jwt('job')}` };
    const { server, context, again } = await open({ ...exchange, ...command });
    await accessToken(context);
    await accessToken(await again());
    expect(server.asked).toHaveLength(2);
  });

  test('is used although it cannot be kept', async () => {
    const { context } = await open(secret);
    const files = {
      ...context.host.files,
      replace: () => Promise.reject(Object.assign(new Error('no'), { code: 'EROFS' })),
      create: () => Promise.reject(Object.assign(new Error('no'), { code: 'EROFS' })),
    };
    const host = { ...context.host, hostname: context.host.hostname, files };
    expect((await accessToken({ ...context, host })).token).toMatch(/^at-/);
  });
});

describe('token exchange', () => {
  test(
    'sends resources, additional fields, and separate audiences',
    covers(
      'setting/auth.audience',
      'setting/auth.subject_audience',
      'setting/auth.resource',
      'setting/auth.token_params',
    ),
    async () => {
      const asked: URL[] = [];
      const github = await tokenServer(({ url }) => {
        asked.push(new URL(url, 'http://x'));
        return { body: { value: jwt('repo') } };
      });
      closers.push(github.close);
      const { server, context } = await open(
        {
          ...exchange,
          'auth.subject_audience': 'https://sts.example',
          'auth.resource': 'https://a.example https://b.example',
          'auth.token_params': 'requested_token_type=urn:x&actor_token=t',
        },
        { ACTIONS_ID_TOKEN_REQUEST_URL: `${github.url}/id`, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'r' },
      );
      await accessToken(context);
      expect(asked[0]?.searchParams.get('audience')).toBe('https://sts.example');
      const form = server.asked[0]?.form;
      expect(form?.get('audience')).toBe('https://api.example');
      expect(form?.getAll('resource')).toEqual(['https://a.example', 'https://b.example']);
      expect(form?.getAll('requested_token_type')).toEqual(['urn:x']);
      expect(form?.get('actor_token')).toBe('t');
    },
  );

  test.each([
    ['access_token', 'urn:ietf:params:oauth:token-type:access_token'],
    ['urn:example:type', 'urn:example:type'],
  ])(
    'sends an opaque token with the type %s',
    covers('setting/auth.identity_token', 'setting/auth.subject_token_type'),
    async (type, sent) => {
      const { server, context } = await open({
        ...exchange,
        'auth.identity_token': 'opaque-token',
        'auth.subject_token_type': type,
      });
      await accessToken(context);
      expect(server.asked[0]?.form.get('subject_token_type')).toBe(sent);
      expect(server.asked[0]?.form.get('subject_token')).toBe('opaque-token');
    },
  );

  test.each<[string, object, string]>([
    ['an opaque token without a type', { 'auth.identity_token': 'opaque-token' }, 'NO_IDENTITY_TOKEN'],
    [
      'an unknown type',
      { 'auth.identity_token': jwt('x'), 'auth.subject_token_type': 'jwtt' },
      'UNKNOWN_TOKEN_TYPE',
    ],
    [
      'a field of its own',
      { 'auth.identity_token': jwt('x'), 'auth.token_params': 'scope=b' },
      'OWN_PARAMETER',
    ],
  ])('rejects %s before it sends anything', async (_, settings, code) => {
    const { server, context } = await open({ ...exchange, ...settings });
    await expect(accessToken(context)).rejects.toMatchObject({ detail: { code } });
    expect(server.asked).toEqual([]);
  });
});

const pem = () =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string;
const claimsOf = (text: string | null | undefined) =>
  JSON.parse(Buffer.from(text?.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

test(
  'a key file that every user can read causes a warning, a private one does not',
  covers('setting/auth.service_account_key'),
  async () => {
    const { context, again } = await open({ 'auth.method': 'service-account' });
    const path = join(context.directory, 'key.json');
    for (const [mode, isWarned] of [
      [0o600, false],
      [0o640, false],
      [0o644, true],
    ] as const) {
      writeFileSync(path, JSON.stringify({ client_email: 'a@b', private_key: pem() }));
      chmodSync(path, mode);
      const next = await again({ 'auth.service_account_key': path });
      await accessToken(next);
      expect(next.said.text().includes(`chmod 600 ${path}`)).toBe(isWarned);
    }
  },
);

test('the audience of a client assertion is the issuer if it is known, else the token endpoint', async () => {
  const { 'auth.client_secret': _, ...client } = secret;
  const key = { ...client, 'auth.client_auth': 'private_key_jwt', 'auth.client_key': pem() };
  const { server, context } = await open(key);
  await accessToken(context);
  expect(claimsOf(server.asked[0]?.form.get('client_assertion')).aud).toBe(`${server.url}/token`);
  const known = await tokenServer(({ url }) =>
    url.startsWith('/.well-known')
      ? ({ body: { issuer: known.url, token_endpoint: `${known.url}/token` } } as never)
      : numbered(),
  );
  closers.push(known.close);
  const next = await makeAuthContext({ settings: { ...key, 'auth.issuer': known.url, 'auth.scopes': 'a' } });
  closers.push(next.close);
  await accessToken(next);
  const request = known.asked.find(({ method }) => method === 'POST');
  expect(claimsOf(request?.form.get('client_assertion')).aud).toBe(known.url);
});
