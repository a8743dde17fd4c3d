import { demo } from '../../api-specs/oauth/endpoints.ts';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, list, oneOf, str } from '../../core/field.ts';
import { formatRow } from '../../core/format.ts';
import type { Category } from '../../core/problem.ts';
import { nothing, rawResult, type Result } from '../../core/result.ts';
import type { Handler } from '../../platform/host.ts';
import { type Launched, portFlag, serverFlags, untilAborted } from './launch.ts';
import type { Ready } from './start.ts';

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
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> => {
  const ended = await context.host.processes.run(program, args, {
    env,
    stdio: 'inherit',
    signal: context.signal,
  });
  if (ended.startError === undefined) return ended.code ?? 128 + (SIGNALS[ended.signal ?? ''] ?? 0);
  const hint = '  try: write -- before the command, and pass each argument separately';
  await context.host.terminal.stderr.write(`error: cannot run ${program}: ${ended.startError}\n${hint}\n`);
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
};
type Ending = {
  readonly what: string;
  /** After the last response; a category becomes the exit code when the command itself succeeded. */
  close(): Promise<Category | undefined>;
};
/** Serves requests on 127.0.0.1 for as long as a command runs, or until Ctrl-C. */
export const serveThrough = async (
  context: Context,
  { command = [], port = 0, service = 'tracker' }: Given,
  handler: Handler,
  { what, close }: Ending,
): Promise<Result> => {
  const { host, log, signal } = context;
  const listener = await host.network.listen(handler, { host: '127.0.0.1', port });
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
  args: [
    {
      name: 'command',
      effects: ['runs'],
      field: list(str()),
      summary: 'The command and its arguments',
      rest: true,
      allowsEmpty: true,
    },
  ],
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

const quoteForShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const doubleQuotes = (text: string): string => `'${text.replaceAll("'", "''")}'`;
/** How each shell or CI system reads one variable. */
const forms = {
  sh: (name: string, value: string) => `export ${name}=${quoteForShell(value)}`,
  fish: (name: string, value: string) => `set -gx ${name} ${quoteForShell(value)}`,
  powershell: (name: string, value: string) => `$env:${name} = ${doubleQuotes(value)}`,
  dotenv: (name: string, value: string) => `${name}=${value}`,
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
