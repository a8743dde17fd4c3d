/** Secrets that reach opsctl through other programs: agents, credential helpers, keys of clients, and crashes. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectToServer } from '../../support/mcp-client.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Program, program } from '../../support/built-program.ts';
import { filesBelow, makeMarkers, readAny, watchProcesses } from '../../support/secret-markers.ts';

const { marker, add, leaksIn } = makeMarkers([
  ...['tracker token', 'labels token', 'client secret', 'kv password', 'access token', 'identity token'],
  ...['tool body', 'tool password', 'tool token', 'tool response'],
  ...['git password', 'docker secret', 'erased password'],
  ...['thrown message', 'thrown property', 'thrown cause', 'access token of the server'],
]);
const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../../bin/opsctl.js', import.meta.url));
/** Every ES256 key in PKCS#8 starts with these bytes. opsctl creates the key of DPoP itself. */
const PKCS8_START = Buffer.from('308187020100301306072a8648ce3d020106082a8648ce3d030107', 'hex');
add('a private key of DPoP', PKCS8_START.toString('latin1'));
/** Returns a private key whose text is a marker. */
const keyText = (name: string): string => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  for (const line of pem.split('\n').slice(2, 5)) add(name, line);
  return pem;
};

let server: Server;
let opsctl: Program;
let url = '';
let processes: { stop(): void };
const commandLines = new Set<string>();
const outputs: { readonly what: string; readonly text: string }[] = [];
const inputs = new Set<string>();
const at = (name: string, text: string): string => {
  const path = join(opsctl.home, name);
  writeFileSync(path, text, { mode: 0o600 });
  inputs.add(path);
  return path;
};
const directory = (name: string): string => join(opsctl.home, name);
const environment = (): Record<string, string> => ({
  OPSCTL_KEYCHAIN: 'never',
  OPSCTL_TRACKER_URL: url,
  OPSCTL_LABELS_URL: url,
  OPSCTL_TRACKER_TOKEN: marker('tracker token'),
  OPSCTL_LABELS_TOKEN: marker('labels token'),
  OPSCTL_KV_PASSWORD: marker('kv password'),
  OPSCTL_CLIENT_SECRET: marker('client secret'),
  OPSCTL_IDENTITY_TOKEN: marker('identity token'),
  XDG_RUNTIME_DIR: directory('run'),
  TMPDIR: directory('tmp'),
});
let runs = 0;
/** Runs a command with all recordings, and keeps what it printed. `isData`: its standard output is the credential. */
const run = async (
  args: readonly string[],
  more: { input?: string; isData?: boolean; env?: Record<string, string> } = {},
) => {
  runs += 1;
  const ended = await opsctl.run([...args, '--debug', '--har', `p${runs}.har`], {
    env: { ...environment(), ...more.env },
    ...(more.input === undefined ? {} : { input: more.input }),
  });
  outputs.push({ what: args.join(' '), text: more.isData ? ended.stderr : ended.stderr + ended.stdout });
  return ended;
};

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const isToken = request.url?.includes('/token');
      const tokens = {
        access_token: marker('access token of the server'),
        token_type: 'DPoP',
        expires_in: 3600,
      };
      const label = { id: 1, name: 'bug', entity_type: 'label', token: marker('tool response') };
      // A process of this command runs until this point, so its command line can be inspected.
      setTimeout(() => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(isToken ? tokens : label));
      }, 60);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  opsctl = program();
  for (const name of ['run', 'tmp']) mkdirSync(directory(name), { mode: 0o700 });
  processes = watchProcesses((words) => commandLines.add(words));
});
afterAll(() => {
  processes.stop();
  server.close();
});

test('a crash report contains no secret', async () => {
  const preload = at(
    'throws.mjs',
    `const fail = () => {
  if (process.listenerCount('uncaughtException') === 0) return setTimeout(fail, 5);
  const cause = new Error('${marker('thrown cause')}');
  throw Object.assign(new RangeError('cannot read ${marker('thrown message')}', { cause }), { value: '${marker('thrown property')}' });
};
setTimeout(fail, 5);`,
  );
  const ended = await opsctl.run(['mock', 'serve', '--ephemeral'], {
    env: { ...environment(), NODE_OPTIONS: `--import=${preload}` },
  });
  outputs.push({ what: 'a crash', text: ended.stderr + ended.stdout });
  expect(ended.stderr).toContain('internal error (RangeError)');
  const reports = readdirSync(directory('state/crashes')).map((name) => directory(`state/crashes/${name}`));
  expect(reports).toHaveLength(1);
  expect(reports.flatMap((path) => leaksIn(readAny(path)))).toEqual([]);
});

test('a call of an agent reaches its command, and no process list and no file', async () => {
  const client = await connectToServer({
    command: process.execPath,
    args: [BIN, 'mcp', '--allow-write', '--group', 'all'],
    env: { PATH: process.env.PATH ?? '', HOME: opsctl.home, OPSCTL_HOME: opsctl.home, ...environment() },
    stderr: 'ignore',
    cwd: opsctl.home,
  });
  const file = at('description.txt', 'text');
  const body = { name: 'x', password: marker('tool body') };
  const changes: [string, Record<string, unknown>][] = [
    ['tracker_labels_create', { body }],
    ['tracker_labels_create', { name: 'x', 'description-file': file }],
    ['mock_oauth_tokens_revoke', { token: marker('tool token') }],
    ['mock_oauth_users_create', { email: 'a@example.com', password: marker('tool password') }],
  ];
  try {
    for (const [name, given] of changes) {
      const shown: any = await client.callTool(name, given);
      // This dry run names the object of the call to its caller: the token itself.
      if (name !== 'mock_oauth_tokens_revoke')
        outputs.push({ what: `${name} dry run`, text: JSON.stringify(shown) });
      const approval = shown.structuredContent?.approval;
      if (approval === undefined) continue;
      const done: any = await client.callTool(name, { ...given, approval });
      outputs.push({ what: name, text: JSON.stringify(done) });
    }
    const get: any = await client.callTool('tracker_labels_get', { label: '1' });
    expect(get.isError ?? false, JSON.stringify(get)).toBe(false);
    // A filter can remove the name of a secret, or change its text.
    for (const jq of [
      '.token',
      '[.[]]',
      '.token | explode | map(tostring)',
      '.token | @base64',
      'tostring',
      '.token | ascii_upcase',
    ]) {
      const filtered: any = await client.callTool('tracker_labels_get', { label: '1', jq });
      expect(filtered.isError ?? false, JSON.stringify(filtered)).toBe(false);
      outputs.push({ what: `jq ${jq}`, text: JSON.stringify(filtered) });
      // The other forms of the text are not markers.
      expect(JSON.stringify(filtered)).not.toContain(
        Buffer.from(marker('tool response')).toString('base64').slice(0, 8),
      );
      expect(JSON.stringify(filtered)).not.toContain(marker('tool response').toUpperCase());
    }
  } finally {
    await client.close();
  }
  // The copies of approved files exist only during a call.
  expect(readdirSync(directory('tmp')).filter((name) => name.startsWith('opsctl-approved'))).toEqual([]);
});

test('credential helpers print the token to the program that called them, and nowhere else', async () => {
  const env = { OPSCTL_ACCESS_TOKEN: marker('access token') };
  const git = ['auth', 'git-credential'];
  const request = 'protocol=https\nhost=git.example.com\n';
  const host = ['--host', 'git.example.com'];
  const got = await run([...git, 'get', ...host], { input: `${request}\n`, isData: true, env });
  expect(got.stdout).toContain(marker('access token'));
  await run([...git, 'store', ...host], { input: `${request}password=${marker('git password')}\n\n`, env });
  await run([...git, 'erase', ...host], {
    input: `${request}password=${marker('erased password')}\n\n`,
    env,
  });
  const docker = ['auth', 'docker-credential'];
  const registry = ['--host', 'registry.example.com'];
  await run([...docker, 'get', ...registry], { input: 'registry.example.com', isData: true, env });
  const stored = { ServerURL: 'registry.example.com', Username: 'u', Secret: marker('docker secret') };
  await run([...docker, 'store', ...registry], { input: JSON.stringify(stored), env });
  await run(['auth', 'kubectl-credential'], { isData: true, env });
});

test('keys of clients and of tokens stay in their files', async () => {
  const oauth = ['--auth-url', url, '--token-url', `${url}/token`, '--client-id', 'c'];
  const login = ['login', '--method', 'client-credentials', ...oauth];
  const bound = await run([...login, '--dpop']);
  expect(bound.code, bound.stderr).toBe(0);
  const pem = keyText('client key in the environment');
  const other = at('client-key.pem', keyText('client key in a file'));
  const keyAuth = { OPSCTL_CLIENT_AUTH: 'private_key_jwt', OPSCTL_CLIENT_SECRET: '' };
  await run(login, { env: { ...keyAuth, OPSCTL_CLIENT_KEY: pem } });
  await run(login, { env: { ...keyAuth, OPSCTL_CLIENT_KEY: other } });
  const account = JSON.stringify({
    type: 'service_account',
    client_email: 'ci@example.com',
    private_key_id: 'k1',
    private_key: keyText('service account key'),
    token_uri: `${url}/token`,
  });
  await run(['login', '--method', 'service-account', ...oauth], {
    env: { OPSCTL_SERVICE_ACCOUNT_KEY: account },
  });
  const key = at('tls-key.pem', keyText('TLS client key'));
  const cluster = at(
    'cluster.yaml',
    `name: orders\ntls: { cert_file: tls-cert.pem, key_file: ${key}, ca_file: tls-cert.pem }\nmembers:\n  - { name: n1, client_url: "https://127.0.0.1:1", peer_url: "https://127.0.0.1:2" }\n`,
  );
  at('tls-cert.pem', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n');
  for (const words of [['member', 'list'], ['check'], ['certs']])
    await run(['kv', ...words, '--cluster', cluster]);
});

test('no command line of any process contains a secret', () => {
  const lines = [...commandLines];
  expect(lines.filter((line) => line.includes('opsctl.js')).length).toBeGreaterThan(10);
  expect(lines.flatMap((line) => leaksIn(line).map((name) => `${name}: ${line.slice(0, 200)}`))).toEqual([]);
});

test('no message of a command contains a secret', () => {
  expect(outputs.length).toBeGreaterThan(15);
  expect(outputs.flatMap(({ what, text }) => leaksIn(text).map((name) => `${name}: ${what}`))).toEqual([]);
});

test('no recording, report, cache or stored file contains a secret, and each is private', () => {
  const files = filesBelow(opsctl.home).filter((path) => !inputs.has(path));
  expect(files.filter((path) => path.endsWith('.har')).length).toBeGreaterThan(5);
  expect(
    files.flatMap((path) =>
      leaksIn(readAny(path)).map((name) => `${name}: ${path.replace(opsctl.home, '')}`),
    ),
  ).toEqual([]);
  const open = files.filter(
    (path) => /\.har$|state|credentials/.test(path) && (statSync(path).mode & 0o077) !== 0,
  );
  expect(open.map((path) => path.replace(opsctl.home, ''))).toEqual([]);
});
