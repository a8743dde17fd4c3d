import { trustCall } from '../../core/program-call.ts';
import { dirname, join } from 'node:path';
import { demo } from '../../api-specs/oauth/endpoints.ts';
import type { Context } from '../../api/context.ts';
import { commandArgument, defineCommand } from '../../cli/command.ts';
import { bool, oneOf } from '../../core/field.ts';
import { formatRow } from '../../core/format.ts';
import { type Category, AppError } from '../../core/problem.ts';
import { scriptText, sh } from '../../core/shell.ts';
import { nothing, rawResult, type Result, recordResult } from '../../core/result.ts';
import type { Handler, Host } from '../../platform/host.ts';
import {
  type Launched,
  portFlag,
  serverFlags,
  untilAborted,
  alreadyRuns,
  type LaunchValues,
} from './launch.ts';
import type { Ready } from './start.ts';
import { lossyText } from '../../core/text.ts';
import { type Live, liveServer } from '../../mock-server/instance-lock.ts';
import { mockDirectory } from './embedded.ts';

/**
 * Prints the ready line, then stays silent until it is stopped. Stopping is the normal end of a server, so it
 * counts as success.
 */
const serve = async function* (context: Context, server: Launched): AsyncGenerator<string> {
  try {
    const { ready } = server;
    yield formatRow(context.format).isJson ? `${JSON.stringify(ready)}\n` : banner(ready, server.directory);
    await Promise.race([untilAborted(context.signal), server.mock.shutdownAsked]);
  } finally {
    await server.close();
  }
};
export const serveCommand = defineCommand({
  path: ['mock', 'serve'],
  noDryRun: 'opsctl mock serve --help',
  summary: 'Run the embedded services until stopped',
  about:
    'Serves tracker, label service, authorization server and data API over HTTP on 127.0.0.1 and ::1. Commands without a configured URL discover a running server automatically. With -o json, the first line on stdout contains all URLs and appears when the server accepts connections. SIGTERM and Ctrl-C stop the server.',
  flags: {
    port: portFlag,
    ephemeral: { field: bool(), summary: 'Do not save state; other commands do not discover this server' },
    ...serverFlags,
  },
  examples: [
    { line: 'opsctl mock serve --port 8080', says: 'Serve the saved state' },
    {
      line: 'opsctl mock serve --ephemeral --seed empty -o json',
      says: 'Start for a test suite that reads the first line',
    },
  ],
  run: async (context, values) => {
    const { launch } = await import('./launch.ts');
    const server = await launch(context, values, 'mock serve', values.ephemeral === true);
    return { kind: 'raw', chunks: serve(context, server) };
  },
});

/** Shells give a command that a signal ended 128 and the signal's number. */
const SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};
/** As shells, env and timeout do. */
const COMMAND_NOT_FOUND = 127;
/** Runs a command with further variables; its exit code, as a shell gives it. */
const runChild = async (
  context: Context,
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> => {
  const ended = await context.host.processes.run(...trustCall(words), {
    env,
    stdio: 'inherit',
    signal: context.signal,
  });
  if (ended.startError === undefined) return ended.code ?? 128 + (SIGNALS[ended.signal ?? ''] ?? 0);
  const hint = '  try: write -- before the command, and pass each argument separately';
  await context.host.terminal.stderr.write(`error: cannot run ${words[0]}: ${ended.startError}\n${hint}\n`);
  return COMMAND_NOT_FOUND;
};
/** Ends this process as the command ended. */
const endAs = (context: Context, code: number): Result => {
  if (code !== 0) context.host.exit(code);
  return nothing();
};

type Given = {
  readonly command?: readonly string[] | undefined;
  readonly port?: number | undefined;
  readonly service?: 'tracker' | 'labels' | 'api' | undefined;
  readonly 'allow-host'?: readonly string[] | undefined;
};
type Ending = {
  readonly what: string;
  /** After the last response; a category becomes the exit code when the command itself succeeded. */
  close(): Promise<Category | undefined>;
};
/** Serves requests on 127.0.0.1 for as long as a command runs, or until Ctrl-C. */
export const serveThrough = async (
  context: Context,
  { command = [], port = 0, service = 'tracker', 'allow-host': allowed }: Given,
  handler: Handler,
  { what, close }: Ending,
): Promise<Result> => {
  const { host, log, signal } = context;
  const { guardHandler } = await import('../../mock-server/server.ts');
  const listener = await host.network.listen(guardHandler(handler, host, allowed), {
    host: '127.0.0.1',
    port,
  });
  const url = `http://127.0.0.1:${listener.port}`;
  log.info(`${what} at ${url}`);
  const variable = `OPSCTL_${service.toUpperCase()}_URL`;
  const work =
    command.length === 0
      ? untilAborted(signal).then(() => 0)
      : runChild(context, command, { [variable]: url });
  const code = await work.finally(() => listener.close());
  const category = await close();
  return code === 0 && category !== undefined ? { kind: 'nothing', exit: category } : endAs(context, code);
};

/** What a person reads; every address can be copied. */
export const banner = (ready: Ready, directory: string | undefined): string => {
  const [user] = demo.users;
  const isTls = ready.ca_file !== undefined;
  return [
    `mock server at ${ready.url} (process ${ready.pid})`,
    `  tracker   ${ready.tracker.base_url}/api/v3   Tracker-Token: ${ready.tracker.token}`,
    `  labels    ${ready.labels.base_url}/v2beta   Authorization: Bearer ${ready.labels.token}`,
    `  sign-in   ${ready.auth.authorization_endpoint}   client_id ${ready.auth.client_id}`,
    `            ${user.email}, password ${user.password}`,
    `  media     ${ready.media.base_url}/media/v3`,
    `  documents tracker: ${ready.url}/openapi.json  /swagger.json`,
    `            labels:  ${ready.url}/openapi/labels.json  /discovery/labels/v2beta`,
    isTls
      ? `  TLS       trust ${ready.ca_file}`
      : '  plain HTTP: for this machine only (real services require TLS: --tls)',
    directory === undefined ? '  state     not saved' : `  state     ${directory}`,
    'Stop with Ctrl-C or SIGTERM.',
    '',
  ].join('\n');
};

/**
 * The environment for opsctl processes and scripts below this process, with the names that connect them to
 * the server.
 */
export const clientEnvironment = (ready: Ready): Record<string, string> => ({
  OPSCTL_TRACKER_URL: ready.tracker.base_url,
  OPSCTL_TRACKER_TOKEN: ready.tracker.token,
  ...(ready.tracker.rate_limit === 'off' ? { OPSCTL_RATE_PER_MINUTE: 'off' } : {}),
  OPSCTL_LABELS_URL: ready.labels.base_url,
  OPSCTL_LABELS_TOKEN: ready.labels.token,
  OPSCTL_AUTH_URL: ready.auth.authorization_endpoint,
  OPSCTL_TOKEN_URL: ready.auth.token_endpoint,
  OPSCTL_REVOKE_URL: ready.auth.revocation_endpoint,
  OPSCTL_CLIENT_ID: ready.auth.client_id,
  OPSCTL_API_URL: ready.media.base_url,
  OPSCTL_MOCK_URL: ready.url,
  ...(ready.ca_file === undefined
    ? {}
    : { OPSCTL_CA_FILE: ready.ca_file, NODE_EXTRA_CA_CERTS: ready.ca_file }),
});

export const runCommand = defineCommand({
  path: ['mock', 'run'],
  noDryRun: 'opsctl mock run --help',
  summary: 'Run a command against a temporary mock server',
  about:
    "Starts the embedded services with separate data, sets OPSCTL_TRACKER_URL, OPSCTL_TRACKER_TOKEN and similar variables for the command, and stops the services when the command exits. Exits with the command's exit code. Write -- before the command.",
  args: [commandArgument],
  flags: {
    port: portFlag,
    keep: { field: bool(), summary: 'Use the saved state instead of temporary data' },
    ...serverFlags,
  },
  examples: [
    {
      line: 'opsctl mock run --seed empty -- npm test',
      says: 'Run a test suite against the mock server',
    },
  ],
  run: async (context, values) => {
    const { launch } = await import('./launch.ts');
    const server = await launch(context, values, 'mock run', values.keep !== true);
    const ended = runChild(context, values.command, clientEnvironment(server.ready));
    return endAs(context, await ended.finally(() => server.close()));
  },
});

/** fish(1): a backslash in single quotes escapes a quote and a backslash. */
const quoteForFish = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
/** PowerShell (about_Quoting_Rules) treats four more characters as single quotes. Each is doubled, as EscapeSingleQuotedStringContent does. */
const quoteForPowershell = (text: string): string => `'${text.replaceAll(/['\u2018-\u201b]/g, '$&$&')}'`;
/** A line break would start another variable, and the format cannot escape it. */
const refuseLineBreak = (name: string, value: string): string => {
  if (!/[\r\n\0]/.test(value)) return value;
  throw new AppError('usage', `${name} contains a line break: --form dotenv has one line for each variable`, {
    tryThis: ['opsctl mock env --form sh'],
  });
};
/** How each shell or CI system reads one variable. */
export const forms = {
  sh: (name: string, value: string) => scriptText(sh`export ${[name]}=${value}`),
  fish: (name: string, value: string) => `set -gx ${name} ${quoteForFish(value)}`,
  powershell: (name: string, value: string) => `$env:${name} = ${quoteForPowershell(value)}`,
  dotenv: (name: string, value: string) => `${name}=${refuseLineBreak(name, value)}`,
} as const;
type Form = keyof typeof forms;
export const envCommand = defineCommand({
  path: ['mock', 'env'],
  summary: 'Print environment variables for the running mock server',
  flags: {
    form: {
      field: oneOf(...(Object.keys(forms) as Form[])),
      summary: 'Format; dotenv suits $GITHUB_ENV and dotenv reports (default sh)',
    },
  },
  examples: [
    { line: 'eval "$(opsctl mock env)"', says: 'Set the variables in this shell' },
    {
      line: 'opsctl mock env --form dotenv >> "$GITHUB_ENV"',
      says: 'Set the variables for the next steps of a CI job',
    },
  ],
  run: async (context, values) => {
    const [{ runningServer }, { readyIn }] = await Promise.all([
      import('./embedded.ts'),
      import('./start.ts'),
    ]);
    const ready = readyIn(runningServer(context));
    const form = forms[(values.form ?? 'sh') as Form];
    const lines = Object.entries(clientEnvironment(ready)).map(([name, value]) => form(name, value));
    return rawResult(`${lines.join('\n')}\n`);
  },
});

export const startCommand = defineCommand({
  path: ['mock', 'start'],
  noDryRun: 'opsctl mock status shows whether a server runs',
  summary: 'Start the embedded services in the background',
  about:
    'Returns when the server accepts connections. Later commands, including those in other shells and later steps of a CI job, discover it automatically. `mock env` prints the variables for other programs; `mock stop` stops the server.',
  flags: { port: portFlag, ...serverFlags },
  examples: [
    {
      line: 'opsctl mock start --seed empty --rate-limit off',
      says: 'Start the services for the next steps of a CI job',
    },
  ],
  run: async (context, values) => {
    const { url, pid, ready } = await startDetached(context, values);
    return recordResult(ready, {
      columns: ['url', 'pid'],
      message: `mock server running at ${url} (process ${pid}); stop it with opsctl mock stop`,
    });
  },
});

const READY_MS = 30_000;
const POLL_MS = 20;
const LOG_LINES = 20;
/** The flags as they were given, for the process that serves. */
const wordsOf = (values: LaunchValues): string[] =>
  (['port', ...(Object.keys(serverFlags) as (keyof typeof serverFlags)[])] as const).flatMap((name) => {
    const value = values[name];
    if (value === undefined || value === false) return [];
    if (value === true) return [`--${name}`];
    return (Array.isArray(value) ? value : [value]).map((one) => `--${name}=${one}`);
  });
/** On a full disk the server cannot even write why it ended. */
const fullDisk = async ({ files }: Host, log: string): Promise<string> =>
  (await files.freeBytes(dirname(log))) === 0 ? `the disk of ${dirname(log)} is full` : '';
const notStarted = async (context: Context, log: string, why: string): Promise<AppError> => {
  const text = lossyText(await context.host.files.readBytes(log));
  const tail = text.trim().split('\n').slice(-LOG_LINES).join('\n') || (await fullDisk(context.host, log));
  return new AppError('config', `the mock server did not start: ${why}${tail === '' ? '' : `\n${tail}`}`, {
    code: 'MOCK_NOT_STARTED',
    tryThis: ['opsctl mock serve (the same flags; it prints its errors here)'],
    data: { log },
  });
};
/** Starts `mock serve` in a separate process. Resolves when it accepts connections. */
const startDetached = async (context: Context, values: LaunchValues): Promise<Live> => {
  const { host, settings, signal } = context;
  const directory = mockDirectory(settings);
  const running = liveServer(host, directory);
  if (running !== undefined) throw alreadyRuns(running.url, running.pid);
  await host.files.makeDirectory(directory, 0o700);
  const logFile = join(directory, 'server.log');
  await host.files.replace(logFile, '', 0o600);
  const { pid } = await host.processes.start(
    ...trustCall([...host.self, 'mock', 'serve', ...wordsOf(values)]),
    {
      detached: true,
      logFile,
    },
  );
  const until = host.elapsed() + READY_MS;
  for (;;) {
    const live = liveServer(host, directory);
    if (live !== undefined) return live;
    if (!host.processes.isAlive(pid)) throw await notStarted(context, logFile, `process ${pid} exited`);
    if (host.elapsed() > until) {
      host.processes.signal(pid, 'SIGTERM');
      throw await notStarted(context, logFile, `not ready after ${READY_MS / 1000} s`);
    }
    await host.sleep(POLL_MS, signal);
  }
};

/** A large state takes its time to be written. */
const STOP_MS = 60_000;
/** Waits until the server of the state directory has let go of it: the next command may start one there. */
const hasEnded = async ({ host, signal }: Context, directory: string, pid: number): Promise<boolean> => {
  const until = host.elapsed() + STOP_MS;
  while (liveServer(host, directory)?.pid === pid) {
    if (host.elapsed() > until) return false;
    await host.sleep(POLL_MS, signal);
  }
  return true;
};
export const stopCommand = defineCommand({
  path: ['mock', 'stop'],
  noDryRun: 'opsctl mock status shows whether a server runs',
  summary: 'Stop the running mock server',
  run: async (context) => {
    const { isServed, withMockServer } = await import('./embedded.ts');
    if (!isServed(context)) return nothing('no mock server is running');
    const directory = mockDirectory(context.settings);
    const own = liveServer(context.host, directory);
    return nothing(
      await withMockServer(context, async (ask, url) => {
        await ask('POST', 'shutdown');
        const isEnded = own?.url === url && (await hasEnded(context, directory, own.pid));
        return `the mock server at ${url} ${isEnded ? 'has stopped' : 'ends'}`;
      }),
    );
  },
});

export const statusCommand = defineCommand({
  path: ['mock', 'status'],
  summary: 'Show the status and content of the mock server',
  run: async (context) => {
    const { isServed, withMockServer } = await import('./embedded.ts');
    const served = isServed(context);
    const { url, pid, ...rest } = await withMockServer(context, (ask) =>
      ask<Readonly<Record<string, unknown>>>('GET', 'status'),
    );
    return recordResult({ running: served, url: served ? url : null, pid: served ? pid : null, ...rest });
  },
});
