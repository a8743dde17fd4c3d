/** Every command with every holder of a secret: no output, recording, file or argument of a program contains one of them. */
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { withoutSecrets } from '../../src/cli/mcp/call.ts';
import { runProgram } from '../../src/cli/run.ts';
import { program } from '../../src/commands/program.ts';
import { keys } from '../../src/config/settings.ts';
import type { Flag } from '../../src/core/flag.ts';
import { isSecretName } from '../../src/core/redact-secrets.ts';
import type { Host, HttpRequest } from '../../src/platform/host.ts';
import { AppError } from '../../src/core/problem.ts';
import { goodLine, listCommands } from '../support/command-lines.ts';
import { type FakeHost, fakeHost, type ScriptedReply } from '../support/fake-host.ts';
import { trackerInMemory } from '../support/in-memory.ts';
import { makeMarkers } from '../support/secret-markers.ts';
import { slice } from '../support/slice.ts';
import { readSources } from '../support/sources.ts';

const commands = await listCommands();

/** Settings whose value is a secret, from the table of settings. */
const secretKeys = keys.filter(({ secret, env }) => secret === true && env !== undefined);
const urlKeys = keys.filter(({ kind, env }) => kind === 'url' && env !== undefined);
/** Variables with the name of a secret that a source reads next to the table of settings. */
const otherVariables = [
  ...new Set(
    readSources().flatMap(([, text]) =>
      [...text.matchAll(/(?:\benv\??\.|['"`])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b/g)].flatMap(([, name = '']) =>
        isSecretName(name) ? [name] : [],
      ),
    ),
  ),
].filter((name) => keys.every(({ env }) => env !== name));
/** Variables whose value has a secret inside. */
const WITH_SECRET_INSIDE = {
  HTTPS_PROXY: 'http://user:MARK@proxy.example',
  HTTP_PROXY: 'http://user:MARK@proxy.example',
  ALL_PROXY: 'http://user:MARK@proxy.example',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer MARK',
} as const;
/** The names of secrets in a response of a service. */
const IN_RESPONSE = [
  'token',
  'accessToken',
  'client_secret',
  'password',
  'api_key',
  'x-api-key',
  'privateKey',
  'signature',
];
/** Flags whose file is sent as a secret, and bodies, which can contain one. */
const secretFlags = (command: Command): string[] =>
  Object.entries(command.flags ?? {}).flatMap(([name, flag]: [string, Flag]) =>
    flag.effects?.includes('reads') && (flag.effects.includes('sends') || name === 'body') ? [name] : [],
  );

const { marker, leaksIn } = makeMarkers([
  ...secretKeys.map(({ key }) => key),
  ...urlKeys.map(({ key }) => `password of ${key}`),
  ...otherVariables,
  ...Object.keys(WITH_SECRET_INSIDE),
  ...IN_RESPONSE.map((name) => `response ${name}`),
  ...['file', 'stdin', 'body', 'prompt'],
]);

type Scene = {
  readonly name: string;
  readonly flags: readonly string[];
  readonly reply: 'ok' | 'rejected' | 'broken' | 'crash';
  /** Settings come from the environment, or from the profile. In `urls`, each address contains a password. */
  readonly from: 'environment' | 'profile' | 'urls';
  /** The result contains no secret of a response either. */
  readonly isMasked?: true;
  readonly isTerminal?: true;
  readonly env?: Readonly<Record<string, string>>;
};
const collector = 'http://localhost:4318';
const traces = {
  OTEL_TRACES_EXPORTER: 'otlp',
  OTEL_EXPORTER_OTLP_ENDPOINT: collector,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
};
const toolFlags = ['--output=json', '--no-input', '--mask-secrets'];
const har = ['--debug', '--verbose', '--har', 'h.har'];
const trace = ['--record', 'r.trace'];
const scenes: readonly Scene[] = [
  { name: 'har', flags: har, from: 'environment', reply: 'ok', isMasked: true },
  { name: 'trace', flags: trace, from: 'profile', reply: 'ok' },
  { name: 'dry run', flags: ['--dry-run', '--verbose'], from: 'environment', reply: 'ok' },
  { name: 'terminal', flags: ['--verbose'], from: 'profile', reply: 'ok', isTerminal: true },
  { name: 'rejected', flags: ['--debug', ...trace], from: 'environment', reply: 'rejected' },
  { name: 'broken', flags: har, from: 'profile', reply: 'broken', isMasked: true },
  { name: 'crash', flags: ['--debug', '-o', 'json'], from: 'environment', reply: 'crash', isMasked: true },
  { name: 'urls', flags: ['--debug'], from: 'urls', reply: 'ok', isMasked: true },
  { name: 'spans', flags: [], from: 'environment', reply: 'rejected', env: traces },
  { name: 'tool', flags: toolFlags, from: 'profile', reply: 'ok', isMasked: true },
];

const home = '/home/user/opsctl';
const addresses = {
  'tracker.url': 'https://tracker.example',
  'labels.url': 'https://labels.example',
  'api.url': 'https://api.example',
  'auth.url': 'https://sso.example/auth',
  'auth.token_url': 'https://sso.example/token',
  'auth.client_id': 'client',
};
/** Their values must be a key or the address of a store, so a marker would end every command at once. */
const NO_TEXT = new Set(['rate_store', 'auth.client_key', 'auth.service_account_key']);
const secretSettings = Object.fromEntries(
  secretKeys.filter(({ key }) => !NO_TEXT.has(key)).map(({ key }) => [key, marker(key)]),
);
const addressesWithPasswords = Object.fromEntries(
  urlKeys.map(({ key }) => [key, `https://user:${marker(`password of ${key}`)}@x.example`]),
);
const asVariables = (settings: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    keys.flatMap(({ key, env }) =>
      env === undefined || settings[key] === undefined ? [] : [[env, settings[key]]],
    ),
  );
const settingsOf = ({ from }: Scene): Record<string, string> => ({
  ...addresses,
  ...(from === 'urls' ? addressesWithPasswords : secretSettings),
});
const environmentOf = (scene: Scene): Record<string, string> => ({
  ...{
    HOME: '/home/user',
    OPSCTL_HOME: home,
    OPSCTL_KEYCHAIN: 'never',
    PATH: '/usr/bin',
    OPSCTL_MOCK: 'never',
  },
  ...(scene.from === 'profile' ? {} : asVariables(settingsOf(scene))),
  ...Object.fromEntries(otherVariables.map((name) => [name, marker(name)])),
  ...Object.fromEntries(
    Object.entries(WITH_SECRET_INSIDE).map(([name, text]) => [name, text.replace('MARK', marker(name))]),
  ),
  ...scene.env,
});
const filesOf = (scene: Scene): Record<string, string> => ({
  '/place/x': `${marker('file')}\n`,
  '/place/body.json': JSON.stringify({
    name: 'x',
    password: marker('body'),
    inner: { private_key: marker('body') },
  }),
  ...(scene.from === 'profile'
    ? {
        [`${home}/config.json`]: JSON.stringify({ current: 'work', profiles: { work: settingsOf(scene) } }),
      }
    : {}),
});

const record = Object.fromEntries(IN_RESPONSE.map((name) => [name, marker(`response ${name}`)]));
/** Adds secrets to each object of a response. */
const withSecrets = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const pairs = Object.entries(value).map(([key, inner]) => [key, withSecrets(inner)]);
  return { ...Object.fromEntries(pairs), ...record };
};
const tracker = trackerInMemory({}, 'demo');
const member = {
  ID: '1',
  name: 'n1',
  clientURLs: ['https://kv.example'],
  peerURLs: ['https://kv.example:2380'],
};
/** The store, as far as commands need it before they read a value. */
const storeReplies: Readonly<Record<string, unknown>> = {
  '/version': { etcdserver: '3.4.20', etcdcluster: '3.4.0' },
  '/v3/cluster/member/list': { header: { cluster_id: '1', member_id: '1' }, members: [member] },
  '/v3/auth/authenticate': { token: marker('response token') },
};
const resultOf = ({ method, url, body }: { method: string; url: string; body?: unknown }): unknown => {
  const { pathname, search } = new URL(url);
  if (storeReplies[pathname] !== undefined) return storeReplies[pathname];
  try {
    // All commands read the same service, so none changes it.
    if (method === 'GET') return tracker.send(method, pathname.replace(/^\/api\/v3/, '') + search);
    return { id: 1, ...JSON.parse(String(body)) };
  } catch {
    return { id: 1, name: 'x', labels: [] };
  }
};
const replyOf = ({ reply }: Scene, request: HttpRequest): ScriptedReply => {
  const token = marker('response token');
  if (request.url.startsWith(collector)) return { body: {} };
  if (reply === 'crash') throw new TypeError(`cannot send ${JSON.stringify(request.headers)}`);
  if (reply === 'broken') return { headers: { 'set-cookie': `a=${token}` }, body: `<p>token: ${token}</p>` };
  if (reply === 'rejected') return { status: 422, body: { message: 'rejected', ...record } };
  return { headers: { 'x-api-key': marker('response x-api-key') }, body: withSecrets(resultOf(request)) };
};

/** Their result is the response or the secret itself, on request. */
const isRaw = (name: string): boolean => /^(api |media get|mock )/.test(name);
const PRINT_THE_TOKEN = new Set(['auth token', 'auth header', 'auth kubectl-credential']);
const mayPrint =
  (name: string, { isMasked }: Scene) =>
  (secret: string): boolean =>
    (secret === 'access_token' && PRINT_THE_TOKEN.has(name)) ||
    (secret.startsWith('response ') && (isMasked !== true || isRaw(name)));
/** Everything that leaves the run, except requests to the service that a secret is for. */
const outputsOf = (host: FakeHost, scene: Scene): [where: string, text: string][] => {
  const given = filesOf(scene);
  const isReadable = (path: string): boolean => given[path] === undefined && !path.endsWith('.gz');
  const written = Object.entries(host.files.all()).filter(([path]) => isReadable(path));
  const spans = host.requests.filter(({ url }) => url.startsWith(collector));
  const shown = (text: string): string => (scene.name === 'tool' ? withoutSecrets(text).text : text);
  return [
    ['stdout', shown(host.out())],
    ['stderr', shown(host.err())],
    ...host.ran.map(({ command, args }): [string, string] => ['arguments', [command, ...args].join(' ')]),
    ...host.opened.map((url): [string, string] => ['browser', url]),
    ...host.asked.map((text): [string, string] => ['question', text]),
    ...spans.map(({ body }): [string, string] => ['spans', Buffer.from(body as Uint8Array).toString()]),
    ...written.map(([path, text]): [string, string] => [path, text]),
  ];
};
/** A request of a service that a secret does not belong to must not contain it. */
const OWN_HOST: Readonly<Record<string, RegExp>> = {
  'tracker.token': /^tracker\./,
  'labels.token': /^labels\./,
  'auth.client_secret': /^sso\./,
  access_token: /^api\./,
  OPSCTL_KV_PASSWORD: /^kv\./,
};
const strangersOf = (host: FakeHost): string[] =>
  host.requests.flatMap(({ url, headers, body }) =>
    leaksIn(`${url} ${JSON.stringify(headers)} ${typeof body === 'string' ? body : ''}`)
      .filter((name) => OWN_HOST[name]?.test(new URL(url).host) === false)
      .map((name) => `${name}: sent to ${url}`),
  );

type Line = { readonly command: Command; readonly scene: Scene; readonly flag?: string };
const argvOf = ({ command, scene, flag }: Line): string[] => {
  const { endpoints, user } = command.flags ?? {};
  const store = endpoints === undefined || flag === 'endpoints' ? [] : ['--endpoints=https://kv.example'];
  return [
    ...goodLine(command, flag === undefined ? ['endpoints', 'user'] : [flag, 'endpoints', 'user']),
    ...(flag === undefined ? [] : [`--${flag}=${flag === 'body' ? '@body.json' : 'x'}`]),
    ...[...store, ...(user === undefined ? [] : ['--user=root'])],
    ...[...scene.flags, '--yes'],
  ];
};
const TURNS = 20_000;
const SIGNALS = 5;
const MOST_REQUESTS = 300;
type Sent = readonly { readonly method: string; readonly url: string }[];
/** Counts the requests since the last one with a new method and path: a later kind shows that the command still goes on. */
const repetitionCounter = (requests: Sent): (() => number) => {
  const kinds = new Set<string>();
  let [at, count] = [0, 0];
  return () => {
    for (const { method, url } of requests.slice(at)) {
      const kind = `${method} ${url.split('?')[0]}`;
      count = kinds.has(kind) ? count + 1 : 0;
      kinds.add(kind);
    }
    at = requests.length;
    return count;
  };
};
/** Returns whether a run has waited long enough. A command that repeats a request without an end has sent every kind of it. */
const isOverdue = (turn: number, repetitions: () => number): boolean =>
  turn % TURNS === 0 || (turn % 100 === 0 && repetitions() > MOST_REQUESTS);
/** Runs a line. A command that waits for events or requests gets signals after a while. Returns whether it ended. */
const runLine = async (host: FakeHost, argv: readonly string[]): Promise<boolean> => {
  let isDone = false;
  void runProgram(host, argv, program)
    .catch(() => undefined)
    .finally(() => {
      isDone = true;
    });
  const repetitions = repetitionCounter(host.requests);
  for (let turn = 1; !isDone && turn <= TURNS * SIGNALS; turn++) {
    await host.turn();
    try {
      if (isOverdue(turn, repetitions)) host.raise('SIGTERM');
    } catch {
      // The second signal calls `exit` of the host, which throws here.
      isDone = true;
    }
  }
  return isDone;
};
const PROMPTS = 20;
/** Prompts for a secret get a marker; other prompts get a word. */
const withAnswers = (host: FakeHost): FakeHost => {
  let count = 0;
  const answer = async <T>(value: T): Promise<T> => {
    count += 1;
    if (count > PROMPTS) throw new AppError('interrupted', 'canceled at the prompt');
    return value;
  };
  const prompts: Host['terminal']['prompts'] = {
    ...host.terminal.prompts,
    text: (_, options) => answer(options?.secret === true ? marker('prompt') : 'x'),
    confirm: () => answer(true),
  };
  return { ...host, terminal: { ...host.terminal, prompts } };
};
/** The value of a key is data like the result of `kv get`: recordings show both, as SECURITY.md says. */
const READS_A_VALUE = 'kv put';
const stdinOf = ({ path }: Command): string =>
  path.join(' ') === READS_A_VALUE ? 'value\n' : `${marker('stdin')}\n`;
type Ran = { readonly leaks: readonly string[]; readonly host: FakeHost };
const runMarked = async (line: Line): Promise<Ran> => {
  const { command, scene } = line;
  const host = fakeHost({
    env: environmentOf(scene),
    files: filesOf(scene),
    stdin: stdinOf(command),
    ...(scene.isTerminal === true ? { tty: ['stdin', 'stdout', 'stderr'] as const } : {}),
    reply: (request) => replyOf(scene, request),
  });
  const argv = argvOf(line);
  await runLine(withAnswers(host), argv);
  // What an undo would do, and the log of the run, are made from what the run stored.
  if (host.requests.some(({ method }) => method !== 'GET'))
    for (const after of [
      ['undo', '--dry-run'],
      ['audit', '--verbose'],
    ])
      await runLine(withAnswers(host), [...after, ...(scene.isMasked === true ? ['--debug'] : [])]);
  const at = command.path.join(' ');
  const outputs = outputsOf(host, scene);
  const leaks = outputs.flatMap(([where, text]) =>
    leaksIn(text, where === 'stdout' ? mayPrint(at, scene) : undefined).map((name) => `${name} in ${where}`),
  );
  return {
    host,
    leaks: [...leaks, ...strangersOf(host)].map((leak) => `${leak}: ${scene.name}: ${argv.join(' ')}`),
  };
};

const cells: Line[] = commands.flatMap((command) =>
  [undefined, ...secretFlags(command)].flatMap((flag) =>
    scenes.map((scene) => ({ command, scene, ...(flag === undefined ? {} : { flag }) })),
  ),
);
test('the holders of secrets are those of the tables', () => {
  expect(secretKeys.length).toBeGreaterThan(6);
  expect(otherVariables).toEqual(expect.arrayContaining(['OPSCTL_KV_PASSWORD', 'AWS_SECRET_ACCESS_KEY']));
  expect(cells.filter(({ flag }) => flag !== undefined).length).toBeGreaterThan(1000);
});
test('many requests of one kind do not end a command that then sends another kind', () => {
  const requests = Array.from({ length: MOST_REQUESTS + 2 }, (_, page) => ({
    method: 'GET',
    url: `https://tracker.example/labels?page=${page}`,
  }));
  const repetitions = repetitionCounter(requests);
  expect(isOverdue(100, repetitions)).toBe(true);
  requests.push({ method: 'POST', url: 'https://tracker.example/labels' });
  expect(isOverdue(200, repetitions)).toBe(false);
});
test('no output, recording or file of a command contains a secret', async () => {
  const leaks: string[] = [];
  const sent = new Set<string>();
  // Which cells of a part send requests depends on the seed, so one command runs always.
  const known = 'tracker labels list';
  const named = new Set([known, READS_A_VALUE]);
  const always = cells.filter(({ command, flag }) => flag === undefined && named.has(command.path.join(' ')));
  for (const line of new Set([...always, ...slice(cells, 600)])) {
    const ran = await runMarked(line);
    leaks.push(...ran.leaks);
    if (ran.host.requests.length > 0) sent.add(line.command.path.join(' '));
  }
  expect(leaks).toEqual([]);
  expect(sent).toContain(known);
}, 1_800_000);
test('a support archive contains no secret', async () => {
  for (const scene of scenes.filter(({ from }) => from !== 'profile')) {
    const host = fakeHost({
      env: environmentOf(scene),
      files: filesOf(scene),
      reply: (request) => replyOf(scene, request),
    });
    await runProgram(host, ['doctor', '--bundle', 'b.tar.gz'], program);
    const bytes = await host.files.readBytes('/place/b.tar.gz');
    expect(bytes, host.err()).toBeDefined();
    expect(leaksIn(gunzipSync(bytes ?? new Uint8Array()).toString('latin1'))).toEqual([]);
  }
});
