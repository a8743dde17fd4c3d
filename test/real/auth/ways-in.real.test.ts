import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Asked, goodTokens, type TokenServer, tokenServer } from '../../auth/token-server.ts';
import { addressOf, type Program, program } from './program.ts';
import { errorOf } from '../../support/facts.ts';

let tokens: TokenServer;
let opsctl: Program;
const api = { status: 200, body: { kind: 'media#channelListResponse', items: [{ id: 'ch-1' }] } };
const usual = (asked: Asked) =>
  asked.url.startsWith('/media/') ? api : asked.url === '/token' ? goodTokens : { status: 200, body: '' };
beforeEach(async () => {
  tokens = await tokenServer(usual);
  opsctl = await program();
});

/** Values that must never appear in an output. Only the address of a waiting login may contain its state. */
const secrets = (): string[] => {
  const forms = tokens.asked.flatMap(({ form }) =>
    ['code', 'code_verifier', 'refresh_token', 'client_secret'].map((name) => form.get(name)),
  );
  return ['at-secret-1', 'rt-secret-1', ...forms.filter((value) => value !== null)];
};
afterEach(async () => {
  const said = opsctl.said().replace(/https?:\/\/\S+code_challenge=\S+/g, '');
  for (const secret of secrets()) expect(said).not.toContain(secret);
  const files = await opsctl.files().catch(() => '');
  for (const secret of ['at-secret-1', 'rt-secret-1', 'client-secret-1']) expect(files).not.toContain(secret);
  await tokens.close();
});

const server = (): string[] => [
  '--auth-url',
  tokens.url,
  '--client-id',
  'client-1',
  '--scope',
  'x/media.readonly',
];
const waiting = (more: string[] = [], options: Parameters<Program['start']>[1] = {}) =>
  opsctl.start(['login', ...server(), '--no-browser', ...more], options);
const signIn = async (more: string[] = []): Promise<void> => {
  const login = waiting(more);
  const { state, redirect } = await addressOf(login);
  await fetch(redirect({ code: 'code-secret-1', state }));
  expect(await login.ended).toMatchObject({ code: 0 });
};

test('login, status, data API, sign-out: spec/sign-in#service-3 flow (a) to (g) through the program', async () => {
  await signIn();
  const status = await opsctl.run(['auth', 'status']);
  expect(status.code).toBe(0);
  expect(JSON.parse(status.stdout)).toMatchObject({
    signed_in: true,
    verified: true,
    scopes: ['x/media.readonly'],
  });
  const media = await opsctl.run(
    ['media', 'get', '/media/v3/channels', '--param', 'part=id', '--param', 'mine=true'],
    {
      env: { OPSCTL_API_URL: tokens.url },
    },
  );
  expect(JSON.parse(media.stdout)).toEqual(api.body);
  expect(tokens.asked.find(({ url }) => url.startsWith('/media/'))).toMatchObject({
    url: '/media/v3/channels?part=id&mine=true',
    headers: { authorization: 'Bearer at-secret-1' },
  });
  expect((await opsctl.run(['logout'])).code).toBe(0);
  expect(tokens.asked.at(-1)).toMatchObject({ method: 'POST', url: '/revoke?token=rt-secret-1' });
  expect((await opsctl.run(['auth', 'status'])).code).toBe(4);
  expect((await opsctl.run(['media', 'get', 'channels'], { env: { OPSCTL_API_URL: tokens.url } })).code).toBe(
    4,
  );
});

test('--dry-run shows the masked requests of sign-out, revoke and refresh, and makes no changes', async () => {
  await signIn();
  const before = tokens.asked.length;
  for (const [words, url, body] of [
    [['logout'], '/revoke?token=***', ''],
    [['logout', '--all'], '/revoke?token=***', ''],
    [['auth', 'revoke'], '/revoke?token=***', ''],
    [['auth', 'refresh'], '/token', 'client_id=client-1&grant_type=refresh_token&refresh_token=***'],
  ] as const) {
    const shown = await opsctl.run([...words, '--dry-run']);
    expect(shown.code).toBe(0);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      dry_run: true,
      method: 'POST',
      url: tokens.url + url,
      body,
    });
  }
  expect(JSON.parse((await opsctl.run(['logout', '--local', '--dry-run'])).stdout)).toEqual({
    dry_run: true,
    forgets: ['default'],
    request: null,
  });
  expect(JSON.parse((await opsctl.run(['auth', 'status', '--dry-run'])).stdout)).toMatchObject({
    signed_in: true,
    verified: false,
  });
  expect((await opsctl.run(['auth', 'token', '--dry-run'])).code).toBe(2);
  expect(tokens.asked).toHaveLength(before);
  expect((await opsctl.run(['auth', 'status'])).code).toBe(0);
});

test('a data API that redirects, breaks off or sends no data is never a success', async () => {
  await signIn();
  const env = { OPSCTL_API_URL: tokens.url };
  const asks = (...words: string[]) => opsctl.run([...words, '/media/v3/channels'], { env });
  tokens.answer({ status: 302, headers: { location: 'https://elsewhere.example/steal' } });
  for (const found of [await asks('media', 'get'), await asks('api', 'api', 'GET')]) {
    expect(found).toMatchObject({ code: 11, stdout: '' });
    expect(found.stderr).toContain('redirects to https://elsewhere.example/steal');
  }
  tokens.answer({ status: 200, body: '{"items":[' });
  for (const found of [await asks('media', 'get'), await asks('api', 'api', 'GET')]) {
    expect(found).toMatchObject({ code: 11, stdout: '' });
    expect(found.stderr).toContain('incomplete');
  }
  tokens.answer({ status: 200, body: '' });
  expect(await asks('media', 'get')).toMatchObject({ code: 0, stdout: '' });
});

test('a service that cannot revoke: the credential stays, and the fix is named', async () => {
  await signIn();
  tokens.answer({ status: 404, body: 'no such page', type: 'text/plain' });
  const out = await opsctl.run(['logout']);
  expect(out.code).toBe(6);
  expect(out.stderr).toContain('opsctl logout --local');
  expect(await opsctl.run(['logout', '--local'])).toMatchObject({ code: 0 });
});

test('the pasted address ends the wait while stdin stays open', async () => {
  const login = waiting([], { input: 'open' });
  const { state, redirect } = await addressOf(login);
  login.child.stdin?.write('http://127.0.0.1:1/?code=a&state=wrong\n');
  await login.seen(/pasted line was not used/);
  login.child.stdin?.write(`${redirect({ code: 'code-secret-1' })}#state=${state}\n`);
  expect(await login.ended).toMatchObject({ code: 0 });
});

test('the bare code can be pasted', async () => {
  const login = waiting([], { input: 'code-secret-1\n' });
  expect(await login.ended).toMatchObject({ code: 0 });
  expect(tokens.asked[0]?.form.get('code')).toBe('code-secret-1');
});

test('detached login: start, finish in another process, and no second finish', async () => {
  const started = opsctl.start(['login', ...server(), '--start']);
  const { state, redirect } = await addressOf(started);
  expect((await started.ended).code).toBe(0);
  expect((await opsctl.run(['login', '--finish', redirect({ code: 'x', state: 'wrong' })])).code).toBe(2);
  expect(tokens.asked).toEqual([]);
  const finished = await opsctl.run(['login', '--finish', '-'], {
    input: `${redirect({ code: 'code-secret-1', state })}\n`,
  });
  expect(finished.code, finished.stderr).toBe(0);
  expect(tokens.asked[0]?.form.get('redirect_uri')).toBe(redirect({}).slice(0, -1));
  expect((await opsctl.run(['login', '--finish', '-'], { input: 'code-secret-1\n' })).code).toBe(4);
});

test.each([
  ['a broken store', 'credentials.json', '{'],
  ['an empty store', 'credentials.json', ''],
])('%s is reported before the sign-in', async (_, name, text) => {
  await signIn();
  const before = tokens.asked.length;
  await writeFile(join(opsctl.home, 'state', 'localhost', name), text);
  for (const way of [['--no-browser'], ['--start'], ['--finish', 'x']]) {
    const ended = await opsctl.run(['login', ...(way[0] === '--finish' ? [] : server()), ...way]);
    expect(ended).toMatchObject({ code: 3, stdout: '' });
    expect(ended.stderr).toContain('cannot be read');
    expect(ended.stderr).not.toContain('Open this address');
  }
  expect(tokens.asked).toHaveLength(before);
});

test.runIf(process.platform === 'linux')('an unwritable home exits with code 3 immediately', async () => {
  for (const home of ['/proc/opsctl-nothing', '/dev/null/x']) {
    const ended = await opsctl.run(['login', ...server(), '--no-browser'], { env: { OPSCTL_HOME: home } });
    expect(ended.code).toBe(3);
    expect(ended.stderr).toContain('OPSCTL_HOME=DIRECTORY');
  }
});

test('detached login for scripts: the URL, the redirect and the expiry are data', async () => {
  const started = await opsctl.run(['login', ...server(), '--start', '-o', 'json']);
  const { authorization_url: url, redirect_uri: redirect, ...rest } = JSON.parse(started.stdout);
  expect(started.stderr).toContain(url);
  expect(new URL(url).searchParams.get('redirect_uri')).toBe(redirect);
  expect(Object.keys(rest)).toEqual(['expires_at']);
  const state = new URL(url).searchParams.get('state');
  expect((await opsctl.run(['login', '--finish', `${redirect}/?code=c-1&state=${state}`])).code).toBe(0);
});

test('files of a detached login are private, and rejected otherwise', async () => {
  const started = opsctl.start(['login', ...server(), '--start']);
  const { redirect, state } = await addressOf(started);
  await started.ended;
  const path = join(opsctl.home, 'state', 'mock', 'pending-login.json');
  await readFile(path);
  await chmod(path, 0o644);
  expect((await opsctl.run(['login', '--finish', redirect({ code: 'x', state })])).code).toBe(3);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a waiting login with %i', async (signal, code) => {
  const login = waiting([], { input: 'open' });
  await addressOf(login);
  login.child.kill(signal);
  expect((await login.ended).code).toBe(code);
});

test('--timeout exits with code 4 and a hint', async () => {
  const login = await waiting(['--timeout', '300ms'], { input: 'open' }).ended;
  expect(login.code).toBe(4);
  expect(login.stderr).toContain('--finish');
});

test('one waiting login per profile; --replace stops the other', async () => {
  const first = waiting();
  await addressOf(first);
  const second = await waiting().ended;
  expect(second.code).toBe(4);
  expect(second.stderr).toContain(`process ${first.child.pid}`);
  const third = waiting(['--replace']);
  const { state, redirect } = await addressOf(third);
  expect((await first.ended).code).toBe(143);
  await fetch(redirect({ code: 'code-secret-1', state }));
  expect((await third.ended).code).toBe(0);
});

test('denied in the browser: exit 4', async () => {
  const login = waiting();
  const { state, redirect } = await addressOf(login);
  await fetch(redirect({ error: 'access_denied', state }));
  expect((await login.ended).code).toBe(4);
});

test('partial consent is a success that names what is missing; --require-scopes makes it 4', async () => {
  const login = waiting(['--scope', 'x/media.upload']);
  const first = await addressOf(login);
  expect(first.url.searchParams.get('scope')).toBe('x/media.readonly x/media.upload');
  await fetch(first.redirect({ code: 'code-secret-1', state: first.state }));
  const done = await login.ended;
  expect(done.code).toBe(0);
  expect(done.stderr).toContain('opsctl login --add-scope x/media.upload');
  expect(JSON.parse(done.stdout)).toMatchObject({ missing_scopes: ['x/media.upload'] });
  const strict = waiting(['--scope', 'x/media.upload', '--require-scopes']);
  const second = await addressOf(strict);
  await fetch(second.redirect({ code: 'code-secret-1', state: second.state }));
  expect((await strict.ended).code).toBe(4);
});

test('--add-scope keeps what was granted', async () => {
  await signIn();
  const login = opsctl.start([
    'login',
    '--auth-url',
    tokens.url,
    '--client-id',
    'client-1',
    '--no-browser',
    '--add-scope',
    'x/media.upload',
  ]);
  const { url, state, redirect } = await addressOf(login);
  expect(url.searchParams.get('scope')).toBe('x/media.readonly x/media.upload');
  await fetch(redirect({ code: 'code-secret-1', state }));
  await login.ended;
  expect(JSON.parse((await opsctl.run(['auth', 'list'])).stdout)).toHaveLength(1);
});

test('a missing scope stops a command with the line that fixes it', async () => {
  await signIn();
  const { code, stderr } = await opsctl.run(['media', 'get', 'assets', '--param', 'part=id'], {
    env: { OPSCTL_API_URL: tokens.url },
  });
  expect(code).toBe(4);
  expect(stderr).toContain('opsctl login --account default --add-scope x/mediapartner');
  expect(tokens.asked.some(({ url }) => url.startsWith('/media/'))).toBe(false);
});

test('a rejected token is refreshed once, and the request repeated once', async () => {
  await signIn();
  let calls = 0;
  tokens.answer((asked) => {
    if (!asked.url.startsWith('/media/'))
      return { ...goodTokens, body: { ...(goodTokens.body as object), access_token: 'at-secret-2' } };
    return ++calls === 1
      ? { status: 401, body: { error: { code: 401, message: 'Invalid Credentials' } } }
      : api;
  });
  expect(
    (
      await opsctl.run(['media', 'get', 'channels', '--param', 'part=id'], {
        env: { OPSCTL_API_URL: tokens.url },
      })
    ).code,
  ).toBe(0);
  expect(calls).toBe(2);
  tokens.answer((asked) =>
    asked.url.startsWith('/media/') ? { status: 401, body: { error: 'invalid_token' } } : goodTokens,
  );
  expect((await opsctl.run(['media', 'get', 'channels'], { env: { OPSCTL_API_URL: tokens.url } })).code).toBe(
    4,
  );
  expect(calls).toBe(2);
});

test.each([
  [
    403,
    {
      error: {
        code: 403,
        message: 'Request had insufficient authentication scopes.',
        errors: [{ reason: 'insufficientPermissions' }],
      },
    },
    4,
  ],
  [403, { error: { code: 403, message: 'forbidden' } }, 5],
  [400, { error: { code: 400, message: 'part is required' } }, 5],
  [404, {}, 6],
  [503, {}, 11],
])('the data API returns %i %j: exit code %i', async (status, body, code) => {
  await signIn();
  tokens.answer((asked) =>
    asked.url.startsWith('/media/') ? { status, body, headers: { 'retry-after': '0' } } : goodTokens,
  );
  expect((await opsctl.run(['media', 'get', 'channels'], { env: { OPSCTL_API_URL: tokens.url } })).code).toBe(
    code,
  );
});

test('a given token: OPSCTL_ACCESS_TOKEN, --token-stdin, login --token-stdin', async () => {
  const env = { OPSCTL_API_URL: tokens.url };
  expect(
    (await opsctl.run(['media', 'get', 'channels'], { env: { ...env, OPSCTL_ACCESS_TOKEN: 'at-secret-1' } }))
      .code,
  ).toBe(0);
  expect(
    (await opsctl.run(['media', 'get', 'channels', '--token-stdin'], { env, input: 'at-secret-1\n' })).code,
  ).toBe(0);
  expect(
    (
      await opsctl.run(['login', '--auth-url', tokens.url, '--token-stdin', '--scope', 'x/media.readonly'], {
        input: 'at-secret-1\n',
      })
    ).code,
  ).toBe(0);
  expect((await opsctl.run(['media', 'get', 'channels'], { env })).code).toBe(0);
  expect(tokens.asked.filter(({ headers }) => headers.authorization === 'Bearer at-secret-1')).toHaveLength(
    3,
  );
});

test('the client secret comes from the environment or from stdin, never from a flag', async () => {
  const login = opsctl.start(['login', ...server(), '--no-browser', '--client-secret-stdin'], {
    input: 'client-secret-1\n',
  });
  const { state, redirect } = await addressOf(login);
  await fetch(redirect({ code: 'code-secret-1', state }));
  expect((await login.ended).code).toBe(0);
  expect(tokens.asked[0]?.form.get('client_secret')).toBe('client-secret-1');
  expect((await opsctl.run(['login', ...server(), '--client-secret', 'x'])).code).toBe(2);
});

test('a client secret may contain spaces and every other legal character, including at its ends', async () => {
  const all = Array.from({ length: 95 }, (_, i) => String.fromCharCode(0x20 + i)).join('');
  const secret = ` ${all} `;
  for (const way of ['stdin', 'environment']) {
    const inStdin = way === 'stdin';
    const login = opsctl.start(
      ['login', ...server(), '--no-browser', ...(inStdin ? ['--client-secret-stdin'] : [])],
      inStdin ? { input: `${secret}\n` } : { env: { OPSCTL_CLIENT_SECRET: all.trim() } },
    );
    const { state, redirect } = await addressOf(login);
    await fetch(redirect({ code: 'code-secret-1', state }));
    expect((await login.ended).code).toBe(0);
    expect(tokens.asked.at(-1)?.form.get('client_secret')).toBe(inStdin ? secret : all.trim());
  }
  for (const wrong of ['tab\tinside', 'two\nlines', 'é', '']) {
    const refused = await opsctl.run(['login', ...server(), '--client-secret-stdin'], { input: wrong });
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('--client-secret-stdin');
  }
});

test('--param reaches the authorization request, resource the exchange too; what the sign-in sets itself is refused', async () => {
  const params = { audience: 'https://api.example/?a=b&c', resource: 'https://r.example', prompt: 'consent' };
  const flags = Object.entries(params).flatMap(([name, value]) => ['--param', `${name}=${value}`]);
  const login = waiting([...flags, '--param', 'acr_values=a b']);
  const { url, state, redirect } = await addressOf(login);
  expect(Object.fromEntries(url.searchParams)).toMatchObject({ ...params, acr_values: 'a b' });
  await fetch(redirect({ code: 'code-secret-1', state }));
  expect((await login.ended).code).toBe(0);
  expect(tokens.asked[0]?.form.get('resource')).toBe(params.resource);
  for (const wrong of ['state=x', 'redirect_uri=x', 'code_challenge=x', 'no-value', '=x']) {
    const refused = await opsctl.run(['login', ...server(), '--param', wrong]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('--param');
  }
});

test('two users without an identity: the second never gets the account of the first, and is informed', async () => {
  await signIn();
  const login = waiting();
  const { state, redirect } = await addressOf(login);
  await fetch(redirect({ code: 'code-secret-2', state }));
  const second = await login.ended;
  expect(JSON.parse(second.stdout)).toMatchObject({ account: 'default-2', signed_in: true });
  expect(second.stderr).toContain('opsctl login --account NAME');
  const accounts = JSON.parse((await opsctl.run(['auth', 'list'])).stdout) as { account: string }[];
  expect(accounts.map(({ account }) => account)).toEqual(['default', 'default-2']);
});

test('two accounts: list, switch, sign out one', async () => {
  await signIn(['--account', 'work']);
  await signIn(['--account', 'home']);
  const names = async () =>
    (JSON.parse((await opsctl.run(['auth', 'list'])).stdout) as { account: string; current: boolean }[]).map(
      ({ account, current }) => `${account}${current ? '*' : ''}`,
    );
  expect(await names()).toEqual(['work', 'home*']);
  expect((await opsctl.run(['auth', 'switch', 'work'])).code).toBe(0);
  expect(await names()).toEqual(['work*', 'home']);
  expect((await opsctl.run(['auth', 'switch', 'nobody'])).code).toBe(4);
  expect((await opsctl.run(['auth', 'logout', '--account', 'work'])).code).toBe(0);
  expect(await names()).toEqual(['home*']);
});

test('profiles keep their credentials apart', async () => {
  await signIn();
  for (const [key, value] of [
    ['auth.url', tokens.url],
    ['auth.client_id', 'client-2'],
    ['api.url', tokens.url],
  ]) {
    expect((await opsctl.run(['config', 'set', `${key}`, `${value}`, '--profile', 'work'])).code).toBe(0);
  }
  expect((await opsctl.run(['auth', 'status', '--profile', 'work'])).code).toBe(4);
  const login = opsctl.start(['login', '--profile', 'work', '--no-browser', '--scope', 'x/media.readonly']);
  const { url, state, redirect } = await addressOf(login);
  expect(url.searchParams.get('client_id')).toBe('client-2');
  await fetch(redirect({ code: 'code-secret-1', state }));
  expect((await login.ended).code).toBe(0);
  expect((await opsctl.run(['media', 'get', 'channels', '--profile', 'work'])).code).toBe(0);
  const rows = JSON.parse((await opsctl.run(['auth', 'list', '--all-profiles'])).stdout) as {
    profile: string;
    client_id: string;
  }[];
  expect(rows.map(({ profile, client_id }) => `${profile} ${client_id}`).sort()).toEqual([
    'localhost client-1',
    'work client-2',
  ]);
});

test('a network that fails keeps the credential; logout --local forgets it', async () => {
  await signIn();
  tokens.answer({ cut: true });
  expect((await opsctl.run(['auth', 'status'])).code).toBe(11);
  expect((await opsctl.run(['logout'])).code).toBe(11);
  expect((await opsctl.run(['auth', 'status', '--offline'])).code).toBe(0);
  expect((await opsctl.run(['logout', '--local'])).code).toBe(0);
  expect((await opsctl.run(['auth', 'status', '--offline'])).code).toBe(4);
});

test('a revoked refresh token: auth status exits with code 4 and names the command to sign in', async () => {
  await signIn();
  tokens.answer({ status: 400, body: { error: 'invalid_grant' } });
  const { code, stderr } = await opsctl.run(['auth', 'status', '-o', 'json']);
  expect(code).toBe(4);
  expect(errorOf({ stderr })).toMatchObject({ code: 'SIGN_IN_ENDED' });
});

test('stored credentials that others can read are refused', async () => {
  await signIn();
  await chmod(join(opsctl.home, 'state', 'localhost', 'credentials.json'), 0o644);
  expect((await opsctl.run(['auth', 'token'])).code).toBe(3);
});

test('a browser that cannot be started is detected, and the URL still works', async () => {
  const login = opsctl.start(['login', ...server(), '--browser'], {
    env: { BROWSER: '/bin/false', DISPLAY: ':99' },
  });
  const { state, redirect } = await addressOf(login);
  await login.seen(/\/bin\/false\) could not be started/);
  await fetch(redirect({ code: 'code-secret-1', state }));
  expect((await login.ended).code).toBe(0);
});

test('the browser command line holds no secret', async () => {
  const script = join(opsctl.home, '..', 'browser.sh');
  await writeFile(script, `#!/bin/sh\necho "$1" > ${script}.seen\n`, { mode: 0o755 });
  const login = opsctl.start(['login', ...server(), '--browser'], {
    env: { BROWSER: script, DISPLAY: ':99' },
  });
  const { url, state, redirect } = await addressOf(login);
  await login.seen(/Waiting for the browser/);
  // The program does not wait for the browser.
  const written = (): Promise<string> => readFile(`${script}.seen`, 'utf8').catch(() => '');
  await expect.poll(written).toMatch(/\n$/);
  const launched = (await written()).trim();
  expect(launched).not.toContain(state);
  expect((await fetch(launched, { redirect: 'manual' })).headers.get('location')).toBe(url.href);
  await fetch(redirect({ code: 'code-secret-1', state }));
  await login.ended;
});

test('no process list shows a secret while a login waits', async () => {
  const login = waiting(['--login-hint', 'ada@example.com']);
  const { state, url, redirect } = await addressOf(login);
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  const seen = lines.filter((line) =>
    [state, url.searchParams.get('code_challenge') ?? state].some((secret) => line.includes(secret)),
  );
  expect(seen).toEqual([]);
  await fetch(redirect({ code: 'code-secret-1', state }));
  expect((await login.ended).code).toBe(0);
});

test('SSH: the line to copy has the port of this login', async () => {
  const login = opsctl.start(['login', ...server()], {
    env: { SSH_CONNECTION: '1.2.3.4 5 10.0.0.9 22', USER: 'ada' },
  });
  const { redirect, state } = await addressOf(login);
  const [, port] = await login.seen(/ssh -N -L (\d+):127\.0\.0\.1:\d+ ada@10\.0\.0\.9/);
  expect(redirect({})).toContain(`:${port}`);
  await fetch(redirect({ code: 'code-secret-1', state }));
  await login.ended;
});

test('without a terminal a browser is opened only on request', async () => {
  const login = opsctl.start(['login', ...server()], { env: { BROWSER: '/bin/false', DISPLAY: ':99' } });
  const { redirect, state } = await addressOf(login);
  await fetch(redirect({ code: 'code-secret-1', state }));
  expect((await login.ended).stderr).not.toContain('could not be started');
});

test.each([
  [['--auth-url', 'http://accounts.example.com', '--client-id', 'c'], 2],
  [['--auth-url', 'https://accounts.example.com'], 3],
  [['--start', '--finish', 'x'], 2],
  [['--redirect-path', 'callback'], 2],
  [['--port', '0'], 2],
  [['--timeout', '0'], 2],
  [['--timeout', 'soon'], 2],
])('login %j: exit %i before anything is sent', async (flags, code) => {
  const ended = await opsctl.run(['login', ...flags]);
  expect(ended.code).toBe(code);
  if (flags[0] === '--timeout') expect(ended.stderr).toContain('--timeout');
});
