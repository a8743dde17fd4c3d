import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type AuthServer, authServer, clients, control, secret } from '../../support/auth-server.ts';
import { type Program, program } from './program.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
let server: AuthServer;
let run: Program;
let keyFile = '';
let keyText = '';
beforeAll(async () => {
  server = await authServer();
  run = await program({
    OPSCTL_TOKEN_URL: server.origin,
    OPSCTL_API_URL: server.origin,
    OPSCTL_MOCK: 'never',
  });
  const key = await control(server, 'POST', '/service-keys', { user: 'ci@demo.example' });
  keyText = key.text;
  keyFile = join(run.home, '..', 'key.json');
  writeFileSync(keyFile, keyText, { mode: 0o600 });
});

const channels = ['media', 'get', 'channels', '--param', 'part=id', '--param', 'mine=true', '-o', 'json'];
const scopes = { OPSCTL_SCOPES: 'media.readonly' };

/** Presses keys on a separate terminal after a text has appeared. */
const atTerminal = (
  { env: base }: Program,
  env: NodeJS.ProcessEnv,
  args: readonly string[],
  keys: readonly (readonly [string, string])[],
): Promise<{ stdout: string; code: number | null }> =>
  new Promise((resolve) => {
    const quoted = [process.execPath, `${root}bin/opsctl.js`, ...args].map(
      (word) => `'${word.replaceAll("'", String.raw`'\''`)}'`,
    );
    const child = spawn('script', ['-qec', `exec ${quoted.join(' ')}`, '/dev/null'], {
      env: { ...base, ...env },
    });
    const left = [...keys];
    let stdout = '';
    let from = 0;
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      stdout += piece;
      const [next] = left;
      if (next === undefined || !stdout.slice(from).includes(next[0])) return;
      from = stdout.length;
      left.shift();
      child.stdin.write(next[1]);
    });
    child.once('close', (code) => resolve({ stdout, code }));
  });

describe('machines sign in without a person, and only their token is kept, encrypted', () => {
  test.each<[string, () => Record<string, string>]>([
    ['a key file', () => ({ OPSCTL_SERVICE_ACCOUNT_KEY: keyFile })],
    ['the content of a key file', () => ({ OPSCTL_SERVICE_ACCOUNT_KEY: keyText })],
    [
      'client credentials',
      () => ({
        OPSCTL_AUTH_METHOD: 'client-credentials',
        OPSCTL_CLIENT_ID: clients.withSecret,
        OPSCTL_CLIENT_SECRET: secret,
      }),
    ],
    [
      'client credentials by Basic',
      () => ({
        OPSCTL_AUTH_METHOD: 'client-credentials',
        OPSCTL_CLIENT_ID: clients.withSecret,
        OPSCTL_CLIENT_SECRET: secret,
        OPSCTL_CLIENT_AUTH: 'basic',
      }),
    ],
  ])('%s', async (_, env) => {
    const done = await run.run(channels, { env: { ...scopes, ...env() } });
    expect(done.stderr).toBe('');
    expect(done.code).toBe(0);
    expect(JSON.parse(done.stdout).items).toHaveLength(3);
    const files = await run.files();
    expect(files).toContain('"tag"');
    expect(files).not.toMatch(/ma1\.|PRIVATE KEY/);
    expect(files).not.toContain(secret);
  });
  test.each<[string, Record<string, string>, number, string]>([
    [
      'a key file that is not there',
      { OPSCTL_SERVICE_ACCOUNT_KEY: '/no/such/key.json' },
      3,
      'does not exist',
    ],
    ['something else', { OPSCTL_SERVICE_ACCOUNT_KEY: '{"client_email":"x"}' }, 3, 'private_key is missing'],
    ['an unknown method', { OPSCTL_AUTH_METHOD: 'magic' }, 3, 'browser, service-account, client-credentials'],
    [
      'no secret',
      { OPSCTL_AUTH_METHOD: 'client-credentials', OPSCTL_CLIENT_ID: 'x' },
      3,
      'OPSCTL_CLIENT_SECRET',
    ],
    [
      'GitHub without the permission',
      { OPSCTL_AUTH_METHOD: 'token-exchange', GITHUB_ACTIONS: 'true' },
      4,
      'id-token: write',
    ],
    ['GitLab without a token', { OPSCTL_AUTH_METHOD: 'token-exchange', GITLAB_CI: 'true' }, 4, 'id_tokens'],
    ['nothing at all', { CI: 'true' }, 4, 'error: not signed in\n  try: OPSCTL_SERVICE_ACCOUNT_KEY'],
    ['GitLab', { GITLAB_CI: 'true' }, 4, 'error: not signed in\n  try: OPSCTL_AUTH_METHOD=token-exchange'],
    [
      'GitHub',
      { GITHUB_ACTIONS: 'true' },
      4,
      'error: not signed in\n  try: OPSCTL_AUTH_METHOD=token-exchange',
    ],
  ])('%s is refused with what would work', async (_, env, code, says) => {
    const done = await run.run(['auth', 'token'], { env: { ...scopes, ...env } });
    expect(done.code).toBe(code);
    expect(done.stderr).toContain(says);
    expect(done.stdout).toBe('');
  });
  test('login --no-input exits immediately and names the methods that work', async () => {
    const done = await run.run(['login', '--client-id', 'x', '--auth-url', server.origin, '--no-input']);
    expect(done.code).toBe(4);
    expect(done.stderr).toContain('OPSCTL_SERVICE_ACCOUNT_KEY');
    expect(done.stderr).not.toContain('code_challenge');
  });
});

describe('stored data on request', () => {
  test('login --method keeps the path of the key, not the key, and signs in again automatically', async () => {
    const login = await run.run([
      'login',
      '--method',
      'service-account',
      '--key-file',
      keyFile,
      '--scope',
      'media.readonly',
    ]);
    expect(login.code).toBe(0);
    expect(JSON.parse(login.stdout)).toMatchObject({
      account: 'ci@demo.example',
      method: 'service-account',
      signed_in: true,
      has_refresh_token: false,
    });
    const first = await run.run(['auth', 'token', '--account', 'ci@demo.example']);
    const refresh = await run.run(['auth', 'refresh', '--account', 'ci@demo.example']);
    expect(refresh.code).toBe(0);
    const second = await run.run(['auth', 'token', '--account', 'ci@demo.example']);
    expect(second.stdout).not.toBe(first.stdout);
    expect(await run.files()).not.toContain('PRIVATE KEY');
    expect((await run.run(['logout', '--account', 'ci@demo.example'])).code).toBe(0);
  });
});

describe('tokens for other programs', () => {
  const env = () => ({ ...scopes, OPSCTL_SERVICE_ACCOUNT_KEY: keyFile });
  test('auth exec: a private file, gone afterwards, and the exit code of the command', async () => {
    const script =
      'stat -c %a "$OPSCTL_TOKEN_FILE"; cat "$OPSCTL_TOKEN_FILE"; echo; echo "$OPSCTL_TOKEN_FILE"; exit 7';
    const done = await run.run(['auth', 'exec', '--', 'sh', '-c', script], { env: env() });
    expect(done.code).toBe(7);
    const [mode, token, path = ''] = done.stdout.split('\n');
    expect(mode).toBe('600');
    expect(token).toMatch(/^ma1\./);
    expect(() => statSync(path)).toThrow('ENOENT');
  });
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'auth exec: %s ends the command, and the file goes with it',
    async (signal) => {
      const script = 'echo "at $OPSCTL_TOKEN_FILE"; exec sleep 600';
      const running = run.start(['auth', 'exec', '--', 'sh', '-c', script], { env: env() });
      const [, path = ''] = await running.seen(/at (\S+)\n/);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      running.child.kill(signal);
      expect((await running.ended).code).toBe(signal === 'SIGINT' ? 130 : 143);
      expect(() => statSync(path)).toThrow('ENOENT');
    },
  );
  test('auth exec: at a terminal Ctrl-C is for the command, which may continue', async () => {
    // A shell checks for a trap and then reads. A signal between the two steps waits for the next line, which this test sends only
    // afterward.
    const loop =
      "process.on('SIGINT', () => console.log('caught')); process.stdin.on('data', (line) => { console.log(`got ${line}`); process.exit(5); }); console.log('ready');";
    const { stdout, code } = await atTerminal(
      run,
      env(),
      ['auth', 'exec', '--', process.execPath, '-e', loop],
      [
        ['ready', '\u0003'],
        ['caught', 'more\r'],
      ],
    );
    expect(stdout).toContain('got more');
    expect(code).toBe(5);
  });
  test('auth exec: a command that is not there is 127', async () => {
    expect((await run.run(['auth', 'exec', '--', 'no-such-program'], { env: env() })).code).toBe(127);
  });
  test('auth header, kubectl, git and docker', async () => {
    const header = await run.run(['auth', 'header'], { env: env() });
    expect(header.stdout).toMatch(/^Authorization: Bearer ma1\.\S+\n$/);
    const info = '{"apiVersion":"client.authentication.k8s.io/v1beta1"}';
    const kube = await run.run(['auth', 'kubectl-credential'], {
      env: { ...env(), KUBERNETES_EXEC_INFO: info },
    });
    expect(JSON.parse(kube.stdout)).toMatchObject({
      apiVersion: 'client.authentication.k8s.io/v1beta1',
      kind: 'ExecCredential',
      status: { token: expect.stringMatching(/^ma1\./), expirationTimestamp: expect.any(String) },
    });
    const git = (input: string) =>
      run.run(['auth', 'git-credential', '--host', 'git.example.com', 'get'], { env: env(), input });
    expect((await git('protocol=https\nhost=git.example.com\n\n')).stdout).toMatch(
      /^username=oauth2\npassword=ma1\.\S+\npassword_expiry_utc=\d+\n$/,
    );
    for (const foreign of [
      'protocol=https\nhost=evil.example\n\n',
      'protocol=http\nhost=git.example.com\n\n',
    ])
      expect(await git(foreign)).toMatchObject({ code: 0, stdout: '' });
    const docker = (input: string) =>
      run.run(['auth', 'docker-credential', '--host', 'registry.example.com', 'get'], { env: env(), input });
    expect(JSON.parse((await docker('https://registry.example.com')).stdout)).toMatchObject({
      ServerURL: 'https://registry.example.com',
      Username: 'oauth2',
    });
    expect((await docker('https://evil.example')).stdout).toContain('credentials not found');
  });
  test('auth inspect shows a JWT, and reports that its signature was not checked', async () => {
    const { json } = await control(server, 'POST', '/ci/jobs', { provider: 'gitlab', project: 'demo/app' });
    const done = await run.run(['auth', 'inspect', '--stdin'], {
      input: json.environment.OPSCTL_IDENTITY_TOKEN,
    });
    expect(JSON.parse(done.stdout)).toMatchObject({
      header: { alg: 'RS256' },
      claims: { project_path: 'demo/app' },
      expired: false,
      signature: 'not checked',
    });
    expect((await run.run(['auth', 'inspect', '--stdin'], { input: 'opaque' })).code).toBe(2);
  });
});

/** The call is asynchronous, because the server runs in this process. */
const sh = (line: string, env: Record<string, string>): Promise<{ code: number | null; stderr: string }> =>
  new Promise((resolve) => {
    const child = spawn('sh', ['-c', line], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('close', (code) => resolve({ code, stderr }));
  });

describe('the CI scripts of the documentation run as they are', () => {
  type Steps = { readonly env: Record<string, string>; readonly lines: readonly string[] };
  const github = (): Steps => {
    const { jobs } = parse(readFileSync(`${root}docs/ci/github-actions.yml`, 'utf8'));
    return {
      env: jobs.channels.env,
      lines: jobs.channels.steps.flatMap((step: { run?: string }) => step.run ?? []),
    };
  };
  const gitlab = (): Steps => {
    const { channels: job } = parse(readFileSync(`${root}docs/ci/gitlab-ci.yml`, 'utf8'));
    return { env: job.variables, lines: job.script };
  };
  test.each<['github' | 'gitlab', () => Steps]>([
    ['github', github],
    ['gitlab', gitlab],
  ])('%s', async (provider, stepsOf) => {
    const bin = join(run.home, '..', `bin-${provider}`);
    mkdirSync(bin);
    writeFileSync(join(bin, 'opsctl'), `#!/bin/sh\nexec ${process.execPath} ${root}bin/opsctl.js "$@"\n`);
    chmodSync(join(bin, 'opsctl'), 0o755);
    const { json } = await control(server, 'POST', '/ci/jobs', { provider, audience: 'opsctl-demo' });
    const { env, lines } = stepsOf();
    const urls = { OPSCTL_TOKEN_URL: server.origin, OPSCTL_API_URL: server.origin };
    const all = { ...env, ...json.environment, ...urls, PATH: `${bin}:${process.env['PATH']}` };
    for (const line of lines) {
      const ended = await sh(line, { ...run.env, ...all });
      expect(ended, line).toMatchObject({ code: 0, stderr: '' });
    }
    expect(lines.length).toBeGreaterThan(1);
  });
});
