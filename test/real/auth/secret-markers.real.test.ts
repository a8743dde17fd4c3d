/** Secrets of every kind, each a marker: no process list, recording, log or stored file contains one of them. */
import { writeFileSync } from 'node:fs';
import { type IncomingMessage, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Ended, type Program, program } from '../../support/built-program.ts';
import { filesBelow, makeMarkers, readAny, watchProcesses } from '../../support/secret-markers.ts';

/** Every kind of secret that reaches opsctl: in a response, a header, an address, a file, its input or its environment. */
const IN_RESPONSES = [
  ...[
    'access_token',
    'refresh_token',
    'id_token',
    'token',
    'api_token',
    'accessToken',
    'refreshToken',
    'idToken',
  ],
  ...['client_secret', 'clientSecret', 'secret', 'webhook_secret', 'signing_secret', 'password', 'passwd'],
  ...[
    'passphrase',
    'user_password',
    'adminPassword',
    'api_key',
    'apikey',
    'apiKey',
    'private_key',
    'privateKey',
  ],
  ...[
    'x-api-key',
    'authorization',
    'proxy_authorization',
    'cookie',
    'set_cookie',
    'credential',
    'code_verifier',
  ],
  ...['assertion', 'client_assertion', 'device_code', 'user_code', 'signature', 'registration_access_token'],
] as const;
const IN_HEADERS = [
  'set-cookie',
  'x-auth-token',
  'x-api-key',
  'location.code',
  'location.state',
  'location.access_token',
] as const;
const IN_REQUESTS = [
  ...[
    'query.access_token',
    'query.api_key',
    'query.code',
    'body.password',
    'body.client_secret',
    'body.private_key',
  ],
  ...[
    'form.refresh_token',
    'form.code_verifier',
    'upstream.password',
    'header.authorization',
    'header.x-api-key',
  ],
] as const;
const FROM_USER = [
  ...[
    'tracker token',
    'labels token',
    'client secret',
    'kv password',
    'password file',
    'webhook secret file',
  ],
  ...[
    'webhook secret prompt',
    'access token input',
    'identity token',
    'subject token file',
    'access token environment',
  ],
] as const;
const names = [
  ...IN_RESPONSES.map((name) => `response ${name}`),
  ...IN_HEADERS.map((name) => `header ${name}`),
  ...IN_REQUESTS.map((name) => `request ${name}`),
  ...FROM_USER,
];
const { marker, leaksIn } = makeMarkers(names);

const record = Object.fromEntries(IN_RESPONSES.map((name) => [name, marker(`response ${name}`)]));
const answerTo = (
  request: IncomingMessage,
): { status: number; headers: Record<string, string>; body: string } => {
  const headers = {
    'content-type': 'application/json',
    'set-cookie': `sid=${marker('header set-cookie')}; HttpOnly`,
    'x-auth-token': marker('header x-auth-token'),
    'x-api-key': marker('header x-api-key'),
  };
  const url = request.url ?? '';
  if (url.includes('redirect'))
    return {
      status: 302,
      headers: {
        ...headers,
        location: `http://127.0.0.1:9/cb?code=${marker('header location.code')}&state=${marker('header location.state')}#access_token=${marker('header location.access_token')}`,
      },
      body: '',
    };
  if (url.includes('broken'))
    return { status: 200, headers, body: `{"token": "${marker('response token')}", ` };
  if (url.includes('rejected'))
    return { status: 422, headers, body: JSON.stringify({ message: 'no', ...record }) };
  if (url.includes('/auth/authenticate'))
    return { status: 200, headers, body: JSON.stringify({ token: marker('response token') }) };
  return {
    status: 200,
    headers,
    body: JSON.stringify({ id: 1, name: 'bug', entity_type: 'label', ...record, inner: [record] }),
  };
};

let server: Server;
let opsctl: Program;
let url = '';
const outputs: { readonly what: string; readonly text: string }[] = [];
const commandLines = new Map<string, string>();
const environments = new Map<string, string>();
let processes: { stop(): void };

/** Keeps the command line of every process, and the environment of every process that opsctl started except opsctl itself. */
const inspect = (words: string, pid: string): void => {
  commandLines.set(words, pid);
  if (words.includes('MARKED_CHILD')) environments.set(readAny(`/proc/${pid}/environ`), words);
};
const secrets = (): Record<string, string> => ({
  OPSCTL_KEYCHAIN: 'never',
  OPSCTL_TRACKER_URL: url,
  OPSCTL_LABELS_URL: url,
  OPSCTL_TRACKER_TOKEN: marker('tracker token'),
  OPSCTL_LABELS_TOKEN: marker('labels token'),
  OPSCTL_KV_PASSWORD: marker('kv password'),
  OPSCTL_CLIENT_SECRET: marker('client secret'),
  OPSCTL_IDENTITY_TOKEN: marker('identity token'),
  XDG_RUNTIME_DIR: join(opsctl.home, 'run'),
});
let runs = 0;
/** Runs a command with all recordings, and keeps what it printed. `isData`: its standard output is the response itself. */
const run = async (
  args: readonly string[],
  more: { input?: string; isData?: boolean; env?: Record<string, string> } = {},
): Promise<Ended> => {
  runs += 1;
  const recordings = ['--debug', '--har', `r${runs}.har`];
  const env = { ...secrets(), ...more.env };
  const cut = args.indexOf('--');
  const line =
    cut < 0 ? [...args, ...recordings] : [...args.slice(0, cut), ...recordings, ...args.slice(cut)];
  const ended = await opsctl.run(line, { env, ...(more.input === undefined ? {} : { input: more.input }) });
  const recorded = await opsctl.run(
    [
      ...args.slice(0, cut < 0 ? undefined : cut),
      '--record',
      `r${runs}.trace`,
      ...(cut < 0 ? [] : args.slice(cut)),
    ],
    { env, ...(more.input === undefined ? {} : { input: more.input }) },
  );
  for (const { stdout, stderr } of [ended, recorded])
    outputs.push({ what: args.join(' '), text: more.isData ? stderr : stderr + stdout });
  return ended;
};
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const { status, headers, body } = answerTo(request);
      // A process of this command runs until this point, so its child processes can be inspected.
      setTimeout(() => response.writeHead(status, headers).end(body), 30);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  opsctl = program();
  processes = watchProcesses(inspect);
});
afterAll(() => {
  processes.stop();
  server.close();
});

test(`${names.length} secrets reach opsctl in every way`, async () => {
  const at = (name: string, text: string): string => {
    writeFileSync(join(opsctl.home, name), text, { mode: 0o600 });
    return name;
  };
  const body = at(
    'body.json',
    JSON.stringify({
      name: 'x',
      password: marker('request body.password'),
      client_secret: marker('request body.client_secret'),
      inner: { private_key: marker('request body.private_key') },
    }),
  );
  const query = `access_token=${marker('request query.access_token')}&api_key=${marker('request query.api_key')}&code=${marker('request query.code')}`;
  // Other users can see arguments that a user types. These secrets are only in requests of a client of the recorder below.
  const get = ['api', 'tracker', 'GET'];
  await run([...get, '/api/v3/labels/1'], { isData: true });
  await run([...get, '/api/v3/redirect']);
  await run([...get, '/api/v3/broken'], { isData: true });
  await run([...get, '/api/v3/rejected']);
  await run(['api', 'labels', 'POST', '/v2beta/labels', '--body', `@${body}`], { isData: true });
  await run(['api', 'tracker', 'POST', '/api/v3/labels', '--body', `@${body}`, '--dry-run']);
  await run(['tracker', 'labels', 'get', '1'], { isData: true });
  const hook = [
    'tracker',
    'webhooks',
    'create',
    '--webhook-url',
    'https://hooks.example/in',
    '--secret-file',
  ];
  await run([...hook, at('hook.txt', marker('webhook secret file'))], { isData: true });
  await run([...hook, '-'], { input: marker('webhook secret prompt'), isData: true });
  await run([...hook, 'hook.txt', '--dry-run']);
  const list = ['kv', 'member', 'list', '--endpoints', url, '--user', 'root'];
  await run(list);
  await run([...list, '--password-file', at('password.txt', marker('password file'))]);
  await run(['login', '--token-stdin'], { input: marker('access token input') });
  const oauth = ['--auth-url', url, '--token-url', url, '--client-id', 'c'];
  await run(['login', '--method', 'client-credentials', ...oauth]);
  await run(['login', '--method', 'token-exchange', ...oauth, '--audience', 'a']);
  await run(['login', '--method', 'token-exchange', ...oauth, '--audience', 'a'], {
    env: {
      OPSCTL_IDENTITY_TOKEN: '',
      OPSCTL_IDENTITY_TOKEN_FILE: at('subject.txt', marker('subject token file')),
    },
  });
  const child = await run(['auth', 'exec', '--', 'sh', '-c', 'sleep 0.5; : MARKED_CHILD'], {
    env: { OPSCTL_ACCESS_TOKEN: marker('access token environment') },
  });
  expect(child.code, child.stderr).toBe(0);
  await run(['auth', 'status']);
  await run(['doctor', '--offline']);
  // For an unknown command and an invalid value, the error and the crash report contain no environment.
  await run(['tracker', 'nothing']);

  // A recorder between a client and the service.
  const upstream = url.replace('//', `//user:${marker('request upstream.password')}@`);
  const record = opsctl.start(['mock', 'record', '--upstream', upstream, '--out', 'c.cassette'], {
    env: { OPSCTL_KEYCHAIN: 'never' },
  });
  const [, base = ''] = await record.said(/ at (http\S+)/);
  const send = (path: string, options: RequestInit = {}) =>
    fetch(base + path, { redirect: 'manual', ...options }).then((reply) => reply.text());
  await send(`/labels?${query}`, {
    headers: {
      authorization: `Bearer ${marker('request header.authorization')}`,
      'x-api-key': marker('request header.x-api-key'),
    },
  });
  await send('/redirect');
  await send('/broken');
  await send('/token', {
    method: 'POST',
    body: new URLSearchParams({
      refresh_token: marker('request form.refresh_token'),
      code_verifier: marker('request form.code_verifier'),
    }),
  });
  record.kill('SIGINT');
  const { stdout, stderr } = await record.ended;
  outputs.push({ what: 'mock record', text: stdout + stderr });
  expect(readAny(join(opsctl.home, 'c.cassette')).length).toBeGreaterThan(500);
}, 600_000);

/** The user types this secret: `--upstream` with a password is visible until the command exits. */
const TYPED = 'request upstream.password';
test('no command line of any process contains a secret', () => {
  expect([...commandLines.keys()].some((line) => line.includes('opsctl.js'))).toBe(true);
  expect(
    [...commandLines.keys()].flatMap((line) =>
      leaksIn(line, (name) => name === TYPED).map((name) => `${name}: ${line.slice(0, 200)}`),
    ),
  ).toEqual([]);
});

/** Variables of the user for other commands. `auth exec` passes them on, because its command may be a script that runs opsctl. */
const HANDED_ON = new Set(['tracker token', 'labels token', 'kv password']);

test('a program that opsctl starts gets no secret of a sign-in in its environment', () => {
  expect(environments.size).toBeGreaterThan(0);
  const found = [...environments].filter(([, words]) => !words.includes('opsctl.js'));
  expect(found.length).toBeGreaterThan(0);
  expect(
    found.flatMap(([environment, words]) =>
      leaksIn(environment, (name) => HANDED_ON.has(name)).map((name) => `${name}: ${words}`),
    ),
  ).toEqual([]);
});

test('no message of a command contains a secret', () => {
  expect(outputs.flatMap(({ what, text }) => leaksIn(text).map((name) => `${name}: ${what}`))).toEqual([]);
});

test('no recording, log, cache or stored file contains a secret', () => {
  const inputs = new Set(
    ['body.json', 'hook.txt', 'password.txt', 'subject.txt'].map((name) => join(opsctl.home, name)),
  );
  const files = filesBelow(opsctl.home).filter((path) => !inputs.has(path));
  const kinds = files.map((path) => /\.(har|trace|cassette)$|audit|credentials/.exec(path)?.[0]);
  for (const kind of ['.har', '.trace', '.cassette', 'audit']) expect(kinds, kind).toContain(kind);
  expect(
    files.flatMap((path) =>
      leaksIn(readAny(path)).map((name) => `${name}: ${path.replace(opsctl.home, '')}`),
    ),
  ).toEqual([]);
});

test('a redirect carries no secret to another server', async () => {
  const seen: string[] = [];
  const other = createServer((request, response) => {
    seen.push(JSON.stringify(request.headers));
    response.end('{}');
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const to = `http://127.0.0.1:${(other.address() as AddressInfo).port}/taken`;
  const redirecting = createServer((request, response) => {
    request.resume();
    request.on('end', () =>
      response.writeHead(Number(/\d{3}/.exec(request.url ?? '')?.[0]), { location: to }).end(),
    );
  });
  await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve));
  const env = {
    ...secrets(),
    OPSCTL_TRACKER_URL: `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`,
  };
  try {
    for (const status of [301, 302, 303, 307, 308])
      for (const method of ['GET', 'POST']) {
        const body = method === 'POST' ? ['--body', '{"name":"x"}'] : [];
        const { code } = await opsctl.run(['api', 'tracker', method, `/x/${status}`, ...body], { env });
        expect(code).not.toBe(0);
      }
    expect(seen.flatMap((headers) => leaksIn(headers))).toEqual([]);
  } finally {
    other.close();
    redirecting.close();
  }
});
