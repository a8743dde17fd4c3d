import { afterEach, beforeEach, expect, test } from 'vitest';
import { addressOf, type Program, program, type Running } from './program.ts';

let opsctl: Program;
const servers: Running[] = [];
beforeEach(async () => {
  opsctl = await program();
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.child.kill('SIGTERM');
    await server.ended;
  }
});

type Served = {
  readonly flags: string[];
  readonly origin: string;
  readonly caFile: string;
  control(method: string, path: string, body?: object): Promise<any>;
};
const serve = async (...more: string[]): Promise<Served> => {
  const server = opsctl.start(['mock', 'serve', '--ephemeral', '-o', 'json', ...more], { input: 'open' });
  servers.push(server);
  const { auth, media, ca_file: caFile } = JSON.parse((await server.seen(/\{"ready":true.*\}\n/))[0]);
  const origin: string = new URL(media.base_url).origin;
  return {
    origin,
    caFile,
    flags: [
      '--auth-url',
      auth.authorization_endpoint,
      '--token-url',
      auth.token_endpoint,
      '--client-id',
      auth.client_id,
    ],
    control: async (method, path, body) => {
      const reply = await fetch(`${origin}/__opsctl/oauth${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await reply.text();
      if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
      return text === '' ? undefined : JSON.parse(text);
    },
  };
};

test('an error of the embedded server has its code and a hint', async () => {
  const refused = await opsctl.run(['login', '--redirect-host', 'localhost']);
  expect(refused.code).toBe(5);
  expect(refused.stderr).toContain(
    'the authorization server refused: redirect_uri_mismatch (The redirect URI is not authorized for this client: http://localhost:',
  );
  expect(refused.stderr).toContain('set --redirect-path and --port to what is registered');
});

test('a login that is finished later needs a server that is still there', async () => {
  const alone = await opsctl.run(['login', '--start']);
  expect(alone).toMatchObject({ code: 3, stdout: '' });
  expect(alone.stderr).toContain('the embedded server stops with this command');
  expect(alone.stderr).not.toContain('code_challenge');
  const server = opsctl.start(['mock', 'serve', '-o', 'json'], { input: 'open' });
  servers.push(server);
  await server.seen(/"ready":true/);
  const started = await opsctl.run(['login', '--start']);
  expect(started.code).toBe(0);
  expect(JSON.parse(started.stdout).authorization_url).toContain('code_challenge=');
});

test('without configuration: sign-in, data API, more scopes, sign-out, without a browser or a terminal', async () => {
  const login = await opsctl.run(['login']);
  expect(login.code).toBe(0);
  expect(JSON.parse(login.stdout)).toMatchObject({
    account: 'ada@demo.example',
    server: 'mock',
    signed_in: true,
    missing_scopes: [],
  });
  const redirectUri =
    new URL(/https?:\/\/\S+code_challenge=\S+/.exec(login.stderr)?.[0] ?? '').searchParams.get(
      'redirect_uri',
    ) ?? '';
  // Other users cannot guess the path, which contains 12 random bytes.
  expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{16}$/);
  // The embedded server has another port after each start, and the account still works.
  const channels = await opsctl.run([
    'media',
    'get',
    '/media/v3/channels',
    '--param',
    'part=id',
    '--param',
    'mine=true',
  ]);
  expect(JSON.parse(channels.stdout).items).toHaveLength(1);
  const raw = await opsctl.run(['api', 'api', 'GET', '/media/v3/channels', '--param', 'part=id']);
  expect(JSON.parse(raw.stdout).kind).toBe('media#channelListResponse');
  const elsewhere = await opsctl.run(['media', 'get', 'channels'], {
    env: { OPSCTL_API_URL: 'http://127.0.0.1:9' },
  });
  expect(elsewhere.code).toBe(4);
  expect(elsewhere.stderr).toContain('signed in at the embedded server only');
  const named = await opsctl.run([
    'media',
    'get',
    'channels',
    '--param',
    'part=id,snippet',
    '--param',
    'mine=true',
    '-o',
    'name',
  ]);
  expect(named.stdout).toBe(`${JSON.parse(channels.stdout).items[0].id}\n`);
  const table = await opsctl.run([
    'media',
    'get',
    'channels',
    '--param',
    'part=id,snippet',
    '--param',
    'mine=true',
    '-o',
    'table',
  ]);
  expect(table.stdout).toContain('TITLE');
  const refused = await opsctl.run(['media', 'get', 'assets', '--param', 'part=id']);
  expect(refused.code).toBe(4);
  const [line = ''] = /opsctl login .*--add-scope \S+/.exec(refused.stderr) ?? [];
  expect((await opsctl.run(line.split(' ').slice(1))).code).toBe(0);
  expect((await opsctl.run(['media', 'get', 'assets', '--param', 'part=id'])).code).toBe(0);
  expect((await opsctl.run(['media', 'get', 'channels', '--param', 'part=id'])).code).toBe(0);
  // The only command that prints a token prints it once. No other command prints it, and no file contains it in plain text.
  const said = opsctl.said();
  const token = (await opsctl.run(['auth', 'token'])).stdout.trim();
  expect(token.length).toBeGreaterThan(20);
  expect(said).not.toContain(token);
  expect(await opsctl.files()).not.toContain(token);
  expect((await opsctl.run(['logout'])).code).toBe(0);
  expect((await opsctl.run(['auth', 'status'])).code).toBe(4);
  expect(opsctl.said().split(token)).toHaveLength(2);
});

test.each(['both', 'fragment', 'query'])(
  'spec/sign-in#authorize-5 state in %s, scripted',
  async (stateIn) => {
    const { flags } = await serve('--state-in', stateIn);
    expect((await opsctl.run(['login', ...flags, '--scripted'])).code).toBe(0);
  },
);

test('--login-hint selects the user', async () => {
  const { flags } = await serve();
  const login = await opsctl.run([
    'login',
    ...flags,
    '--scripted',
    '--login-hint',
    'bob@demo.example',
    '--scope',
    'openid',
    '--scope',
    'email',
  ]);
  expect(JSON.parse(login.stdout)).toMatchObject({ email: 'bob@demo.example' });
});

test('spec/sign-in#authorize-1 TLS: HTTPS with a private authority works; without it the server is not trusted, with a hint', async () => {
  const { flags, caFile } = await serve('--tls');
  const blind = await opsctl.run(['login', ...flags, '--scripted']);
  expect(blind.code).toBe(11);
  expect(blind.stderr).toContain('ca_file');
  const env = { OPSCTL_CA_FILE: caFile };
  expect(
    (
      await opsctl.run(['login', ...flags, '--scripted', '--scope', 'openid', '--scope', 'media.readonly'], {
        env,
      })
    ).code,
  ).toBe(0);
  expect((await opsctl.run(['auth', 'status'], { env })).code).toBe(0);
  const doctor = JSON.parse((await opsctl.run(['doctor', 'auth', ...flags])).stdout) as {
    check: string;
    state: string;
    remedy: string;
  }[];
  expect(doctor).toContainEqual(
    expect.objectContaining({
      check: 'token endpoint',
      state: 'fail',
      remedy: expect.stringContaining('ca_file'),
    }),
  );
});

test('the settings name the server as well as the flags do', async () => {
  const { flags } = await serve();
  const env = {
    OPSCTL_AUTH_URL: flags[1] ?? '',
    OPSCTL_TOKEN_URL: flags[3] ?? '',
    OPSCTL_CLIENT_ID: flags[5] ?? '',
  };
  expect((await opsctl.run(['login', '--scripted'], { env })).code).toBe(0);
  expect((await opsctl.run(['auth', 'status'], { env })).code).toBe(0);
  const other = await opsctl.run(['auth', 'status'], { env: { OPSCTL_AUTH_URL: 'https://other.example' } });
  expect(other.code).toBe(4);
  expect(other.stderr).toContain('not signed in at https://other.example');
});

test('after the user revokes the grant, the next command exits with code 4', async () => {
  const { flags, control } = await serve();
  await opsctl.run(['login', ...flags, '--scripted']);
  const [grant] = await control('GET', '/grants');
  await control('DELETE', `/grants/${grant.id}`);
  expect((await opsctl.run(['auth', 'status'])).code).toBe(4);
});

test('spec/sign-in#limits: if the clock of the server is fast, the token is rejected once and refreshed', async () => {
  const { flags, origin } = await serve();
  await opsctl.run(['login', ...flags, '--scripted']);
  expect(
    (await opsctl.run(['mock', 'clock', 'advance', '2h'], { env: { OPSCTL_MOCK_URL: origin } })).code,
  ).toBe(0);
  const before = JSON.parse((await opsctl.run(['auth', 'status', '--offline'])).stdout).expires_at;
  const media = await opsctl.run(['media', 'get', 'channels', '--param', 'part=id'], {
    env: { OPSCTL_API_URL: origin },
  });
  expect(media.code).toBe(0);
  expect(JSON.parse((await opsctl.run(['auth', 'status', '--offline'])).stdout).expires_at).not.toBe(before);
});

test.each(['2026-01-01T00:00:00Z', '2031-06-01T00:00:00Z'])(
  'a server whose clock was set to %s: its id_token is judged by its own time',
  async (time) => {
    const { flags } = await serve('--clock', time);
    const login = await opsctl.run([
      'login',
      ...flags,
      '--scripted',
      '--scope',
      'openid',
      '--scope',
      'media.readonly',
    ]);
    expect({ code: login.code, stderr: login.code === 0 ? '' : login.stderr }).toEqual({
      code: 0,
      stderr: '',
    });
    expect((await opsctl.run(['auth', 'status'])).code).toBe(0);
  },
);

test.each([
  ['token-revoked', 'DELETE', (tokens: any[]) => `/tokens/${tokens[0].id}`, 'dropped the credential', 4],
  ['account-disabled', 'POST', () => '/users/ada@demo.example/disable', 'dropped the credential', 4],
  ['sessions-revoked', 'POST', () => '/users/ada@demo.example/sign-out', 'dropped the access token', 0],
] as const)(
  'spec/sign-in#events: %s reaches the receiver, and the credential goes',
  async (event, method, path, did, code) => {
    const { flags, control } = await serve();
    await opsctl.run(['login', ...flags, '--scripted', '--scope', 'openid', '--scope', 'media.readonly']);
    const receiver = opsctl.start(
      ['auth', 'events', '--listen', '--subscribe', '--count', '1', ...flags, '-o', 'json'],
      { input: 'open' },
    );
    await receiver.seen(/Receiving security events/);
    await control(method, path(await control('GET', '/tokens')), method === 'POST' ? {} : undefined);
    const ended = await receiver.ended;
    expect(ended.code).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject([
      { types: [expect.stringContaining(event)], effects: [{ event, did }] },
    ]);
    expect((await opsctl.run(['auth', 'status', '--offline'])).code).toBe(code);
    expect(await control('GET', '/events/subscriptions')).toEqual([]);
  },
);

test('the receiver accepts only data that the server signed', async () => {
  const { flags, origin } = await serve();
  await opsctl.run(['login', ...flags, '--scripted', '--scope', 'openid', '--scope', 'media.readonly']);
  const receiver = opsctl.start(['auth', 'events', '--listen', ...flags], { input: 'open' });
  const [, url = ''] = await receiver.seen(/at (http:\/\/127\.0\.0\.1:\d+\/)/);
  const type = 'application/secevent+jwt';
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const forged = `${part({ alg: 'none', typ: 'secevent+jwt' })}.${part({ iss: origin, aud: flags[5], iat: Math.floor(Date.now() / 1000), jti: 'x', events: { 'a/account-disabled': {} } })}.`;
  const sent = async (method: string, headers: Record<string, string>, body?: string) =>
    (await fetch(url, { method, headers, body })).status;
  expect(await sent('POST', { 'content-type': type }, forged)).toBe(400);
  expect(await sent('POST', { 'content-type': 'application/json' }, forged)).toBe(400);
  expect(await sent('GET', {})).toBe(405);
  expect(await sent('POST', { 'content-type': type }, 'x'.repeat(100_000))).toBe(413);
  receiver.child.kill('SIGINT');
  expect((await receiver.ended).code).toBe(130);
  expect((await opsctl.run(['auth', 'status', '--offline'])).code).toBe(0);
});

test('the embedded server passes every check of auth conformance, and doctor auth finds no problem', async () => {
  const rows = JSON.parse((await opsctl.run(['auth', 'conformance', '--login'])).stdout) as {
    id: string;
    holds: boolean;
  }[];
  expect(rows.filter(({ holds }) => !holds)).toEqual([]);
  expect(rows.length).toBeGreaterThanOrEqual(44);
  const doctor = await opsctl.run(['doctor', 'auth']);
  expect(doctor.code).toBe(0);
  expect(JSON.parse(doctor.stdout).map(({ check }: { check: string }) => check)).toEqual([
    'listen on 127.0.0.1',
    'listen on ::1',
    'browser',
    'keychain',
    'stored credentials',
    'token endpoint',
    'clock',
    'proxy',
    'certificate authority',
    'redirect URI',
  ]);
});

test('doctor auth: a server that is gone, exit 20 with a remedy on each line', async () => {
  const gone = await opsctl.run(['doctor', 'auth', '--auth-url', 'http://127.0.0.1:9', '--client-id', 'c']);
  expect(gone.code).toBe(20);
  for (const row of JSON.parse(gone.stdout) as { state: string; remedy: string }[])
    expect(row.state === 'pass' || row.remedy !== '').toBe(true);
});

test.each([
  [['--auth-url', 'https://accounts.example.com'], 'the client ID is not set'],
  [['--auth-url', 'http://accounts.example.com', '--client-id', 'c'], 'must be https'],
])(
  'doctor auth %j: the invalid setting is a finding, and the machine is still checked',
  async (flags, found) => {
    const ended = await opsctl.run(['doctor', 'auth', ...flags]);
    expect(ended.code).toBe(20);
    const rows = JSON.parse(ended.stdout) as {
      check: string;
      state: string;
      found: string;
      remedy: string;
    }[];
    expect(rows.map(({ check }) => check)).toContain('listen on 127.0.0.1');
    const setting = rows.find(({ check }) => check === 'settings');
    expect(setting).toMatchObject({
      state: 'fail',
      found: expect.stringContaining(found),
      remedy: expect.stringContaining('opsctl'),
    });
  },
);

test('an unregistered redirect URI is found before the sign-in', async () => {
  const { flags } = await serve();
  const found = await opsctl.run([
    'doctor',
    'auth',
    ...flags.slice(0, 4),
    '--client-id',
    '417000000001-demomobilea000000000000000000000.apps.opsctl.example',
  ]);
  expect(found.code).toBe(20);
  expect(found.stdout).toContain('redirect_uri_mismatch');
});

test('fifty logins of other users do not end a waiting login', async () => {
  const { flags } = await serve();
  const login = opsctl.start(['login', ...flags, '--no-browser']);
  const { redirect, state } = await addressOf(login);
  await Promise.all(
    Array.from({ length: 50 }, () => fetch(redirect({ code: 'x', state: 'wrong' })).catch(() => undefined)),
  );
  expect(login.child.exitCode).toBeNull();
  await fetch(redirect({ error: 'access_denied', state }));
  expect((await login.ended).code).toBe(4);
});
