import { parseUrl } from '../core/external-url.ts';
import { showPlain } from '../core/next.ts';
import type { Context } from '../api/context.ts';
import { firstLine } from '../api/input.ts';
import type { RateStoreSetting } from '../api/rate.ts';
import { type Key, removalOf, type Settings } from '../config/settings.ts';
import { bool, duration, list, oneOf, str, bare } from '../core/field.ts';
import type { Flags, ValuesOf, Flag } from '../core/flag.ts';
import { formatNames, formatRow, parseDuration, reportFormatNames } from '../core/format.ts';
import { AppError, problem, usageError } from '../core/problem.ts';
import { sh } from '../core/shell.ts';
import type { OutputOptions } from '../output/types.ts';
import type { Host } from '../platform/host.ts';
import { type Block, terms } from '../core/result.ts';

type GivenSetting = { readonly value: string; readonly origin: string };

const makeSettingError = (what: string, tryThis: string): AppError =>
  new AppError('config', what, { code: 'RATE_STORE', tryThis: [tryThis] });

/** The value is not repeated: it may hold a password. Pure. */
export const rateStoreSetting = (
  store: GivenSetting | undefined,
  share: GivenSetting | undefined,
): RateStoreSetting | undefined => {
  if (store === undefined) return undefined;
  const url = parseUrl(store.value);
  if (url === undefined || !['redis:', 'rediss:', 'etcd:'].includes(url.protocol) || url.hostname === '')
    throw makeSettingError(
      `rate_store (${store.origin}) must be the address of a Redis or etcd server`,
      'redis://HOST:6379, rediss://HOST:6379 or etcd://HOST:2379',
    );
  if (share !== undefined && !/^[1-9]\d{0,5}$/.test(share.value))
    throw makeSettingError(
      `rate_share must be a whole number from 1; got ${JSON.stringify(share.value)} (${share.origin})`,
      'the number of machines that use the token at the same time',
    );
  return { url, share: Number(share?.value ?? 10) };
};

/**
 * Parses the output options before the other flags, so that a flag error is reported in the requested format.
 */
export const parseOutputOptions = (argv: readonly string[]): OutputOptions => {
  const asked = argv.flatMap((token, i) => {
    const word =
      /^(?:--output=|-o=?)(.+)$/.exec(token)?.[1] ??
      (/^(?:-o|--output)$/.test(token) ? argv[i + 1] : undefined);
    return formatNames.find((name) => name === word) ?? [];
  });
  const format = asked.find((name) => formatRow(name).isJson);
  return { header: true, quiet: false, verbose: false, ...(format ? { format } : {}) };
};
export const outputOptions = (globals: Globals): OutputOptions => ({
  format: globals.output,
  columns: globals.columns?.flatMap((names: string) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  ),
  jq: globals.jq,
  template: globals.template,
  header: globals.header ?? true,
  csvSafe: globals['csv-safe'] ?? false,
  allFields: globals['all-fields'] ?? false,
  pager: globals.pager ?? true,
  color: globals.color,
  quiet: globals.quiet ?? false,
  maskSecrets: globals['mask-secrets'] ?? false,
  verbose: globals.verbose ?? false,
  notes: [],
  lastNotes: [],
  filter: {},
  screen: { isTaken: false },
});
export const settingFlags = (globals: Globals): Record<string, string | undefined> => ({
  profile: globals.profile,
  'tracker.url': globals['tracker-url'],
  'labels.url': globals['labels-url'],
  'api.url': globals['api-url'],
  timeout: globals.timeout,
  max_time: globals['max-time'],
});
/** Milliseconds after which a run is stopped. */
export const maxTimeOf = (settings: Settings): number | undefined => {
  const given = settings.get('max_time');
  return given === undefined ? undefined : parseDuration(given.value, given.origin.replace(/^flag /, ''));
};
const timeoutOf = (settings: Settings): number | undefined => {
  const timeout = settings.get('timeout');
  if (timeout === undefined) return undefined;
  const origin = timeout.origin.replace(/^flag /, '');
  const ms = parseDuration(timeout.value, origin);
  if (ms > 0) return ms;
  throw usageError(
    `${origin} must be greater than 0`,
    [problem(origin, 'min', 'must be greater than 0')],
    ['--timeout 30s'],
  );
};
const rateOf = (settings: Settings): number | undefined => {
  const rate = settings.get('rate_per_minute');
  if (rate === undefined || rate.value === 'off') return undefined;
  if (/^[1-9]\d*$/.test(rate.value)) return Number(rate.value);
  throw new AppError(
    'config',
    `rate_per_minute must be a positive integer or off; got ${JSON.stringify(rate.value)} (${rate.origin})`,
    { code: 'RATE', tryThis: [removalOf(rate)] },
  );
};
/** For a command that sends no request. */
/** True if the variables request traces. Here, so that a run without traces does not load the packages of OpenTelemetry. */
export const requestsTraces = ({ OTEL_TRACES_EXPORTER, OTEL_SDK_DISABLED }: Host['env']): boolean =>
  !['', 'none'].includes(OTEL_TRACES_EXPORTER?.trim() ?? '') &&
  OTEL_SDK_DISABLED?.trim().toLowerCase() !== 'true';
export const unlimitedRate = {
  timeoutMs: undefined,
  ratePerMinute: undefined,
  isRateDefault: false,
  rateStore: undefined,
} as const;
/** How long requests may take and how many there may be in a minute. */
export const paceOf = (settings: Settings) => ({
  timeoutMs: timeoutOf(settings),
  ratePerMinute: rateOf(settings),
  isRateDefault: settings.get('rate_per_minute')?.origin === 'default',
  rateStore: rateStoreSetting(settings.get('rate_store'), settings.get('rate_share')),
});
/** True if the command may ask a person. */
export const isInteractiveRun = ({ terminal, env }: Host, { input }: Globals): boolean =>
  input !== false && terminal.stdin.isTty && terminal.stderr.isTty && !env.CI;
export const choices = (host: Host, globals: Globals, options: OutputOptions) => ({
  format: options.format ?? (host.terminal.stdout.isTty ? 'table' : 'json'),
  isFormatGiven:
    options.template !== undefined ||
    options.format !== undefined ||
    options.jq !== undefined ||
    options.columns !== undefined,
  columns: options.columns,
  isInteractive: isInteractiveRun(host, globals),
  asksNothing: globals.input === false,
  isConfirmed: globals.yes ?? false,
  isDryRun: globals['dry-run'] ?? false,
  isQuiet: globals.quiet ?? false,
  isVerbose: globals.verbose ?? false,
  color: globals.color,
  showAdvice: options.showAdvice ?? showPlain,
});

/** Flags of every command. A command's own flag of the same name wins in that command. */
export const globalFlags = {
  output: {
    effects: [],
    field: oneOf(...formatNames),
    short: 'o',
    summary: 'Output format (default: table on a terminal, json otherwise)',
    value: formatNames.join('|'),
    meanings: Object.fromEntries(formatNames.map((name) => [name, formatRow(name).summary])),
  },
  columns: {
    effects: [],
    field: list(str()),
    repeat: true,
    summary: 'Columns of a table or CSV, comma-separated; dots select nested fields',
    value: 'names',
    complete: 'column',
  },
  jq: { effects: [], field: str(), summary: 'Filter the JSON result with a jq program', value: 'program' },
  template: {
    effects: [],
    field: str(),
    summary: 'Render each row with a Mustache template, such as {{name}}',
    value: 'text',
  },
  'all-fields': {
    effects: [],
    field: bool(),
    summary: 'Show every field of a record on a terminal',
  },
  pager: { effects: ['runs'], field: bool(), negated: true, summary: 'Disable the pager' },
  'csv-safe': {
    effects: [],
    field: bool(),
    summary: 'Escape CSV cells that spreadsheets would treat as formulas',
  },
  header: {
    effects: [],
    field: bool(),
    negated: true,
    summary: 'Omit the header line of a table or CSV',
  },
  color: {
    effects: [],
    field: oneOf('auto', 'always', 'never'),
    summary: 'Color on a terminal',
    value: 'auto|always|never',
    meanings: {
      auto: 'on a terminal, unless NO_COLOR is set',
      always: 'also in a pipe or a file',
      never: 'no color',
    },
  },
  quiet: { effects: [], field: bool(), short: 'q', summary: 'Print only errors on stderr' },
  verbose: {
    effects: [],
    field: bool(),
    short: 'v',
    summary: 'Log requests, retries and the origin of each setting',
  },
  debug: {
    effects: [],
    field: bool(),
    summary:
      'Trace every request on stderr: headers, bodies, times, retries and a curl command; secrets are redacted',
  },
  har: {
    effects: ['writes'],
    field: str(),
    summary: 'Write requests and responses to a HAR file; secrets are redacted',
    value: 'file',
    complete: 'file',
  },
  report: {
    effects: ['writes'],
    field: list(str(4096, { min: 1 })),
    repeat: true,
    summary: `Also write the findings of a check to a file: ${reportFormatNames.join(', ')}`,
    value: 'format=file',
  },
  record: {
    effects: ['writes'],
    field: str(4096, { min: 1 }),
    summary: 'Write requests and responses to a trace for --replay; secrets are redacted',
    value: 'file',
    complete: 'file',
  },
  replay: {
    effects: ['reads'],
    field: str(4096, { min: 1 }),
    summary: 'Replay responses from a trace instead of using the network',
    value: 'file',
    complete: 'file',
  },
  profile: {
    effects: ['sends'],
    field: str(),
    summary: 'Profile to use',
    value: 'name',
    complete: 'profile',
  },
  yes: { effects: [], field: bool(), short: 'y', summary: 'Skip confirmations' },
  'dry-run': { effects: [], field: bool(), summary: 'Print the request without sending it' },
  'send-again': {
    effects: [],
    field: bool(),
    summary: 'Send a request that an earlier command may have sent; this can create a second record',
  },
  timeout: {
    field: duration(),
    summary: 'Request timeout, such as 30s (default 30s)',
    value: 'duration',
  },
  'max-time': {
    field: duration(),
    summary: 'Maximum duration of the command, such as 5m; then it stops as with Ctrl-C (default none)',
    value: 'duration',
  },
  input: { effects: [], field: bool(), negated: true, summary: 'Never prompt; fail instead' },
  help: { effects: [], field: bool(), short: 'h', summary: 'Show help' },
  'approved-files': {
    effects: ['reads', 'writes'],
    field: str(4096, { min: 1 }),
    summary:
      'Directory with copies of the files that a dry run read; with --dry-run, opsctl writes the copies there',
    value: 'directory',
    hidden: true,
  },
  'files-within': {
    effects: ['reads'],
    field: list(str(4096, { min: 1 })),
    repeat: true,
    summary: 'Directory whose paths must not lead out of it',
    value: 'directory',
    hidden: true,
  },
  'mask-secrets': {
    effects: [],
    field: bool(),
    summary: 'Mask values under the names of secrets before --jq reads them; without --jq, no effect',
    hidden: true,
  },
  'tracker-url': {
    effects: ['sends'],
    field: str(),
    summary: 'Base URL of the tracker',
    value: 'url',
    hidden: true,
  },
  'labels-url': {
    effects: ['sends'],
    field: str(),
    summary: 'Base URL of the label service',
    value: 'url',
    hidden: true,
  },
  'api-url': {
    effects: ['sends'],
    field: str(),
    summary: 'Base URL of the data API',
    value: 'url',
    hidden: true,
  },
} as const satisfies Flags;
export type Globals = ValuesOf<typeof globalFlags>;

type Given = { readonly value?: string | undefined; readonly stdin?: boolean | undefined };
/** The value of a setting: given with the command, typed at the terminal, or a line of standard input. */
export const readSettingValue = async (
  { host, isInteractive }: Context,
  key: Key,
  values: Given,
): Promise<string> => {
  if (values.value !== undefined) return values.value;
  if (!values.stdin && isInteractive)
    return host.terminal.prompts.text(`${key.key}:`, { secret: key.secret === true });
  if (!values.stdin)
    throw usageError(
      `${key.key}: no value specified`,
      [],
      [`opsctl config set ${key.key} ${key.secret ? '--stdin' : 'VALUE'}`],
    );
  const line = await firstLine(host);
  if (line !== undefined) return line.trim();
  throw usageError(
    `${key.key}: standard input is empty`,
    [],
    [String(sh`printf %s "$VALUE" | opsctl config set ${[key.key]} --stdin`)],
  );
};

/** A list that is too long for one line goes into the text. */
const LONGEST_VALUE = 24;

const isSwitch = (flag: Flag): boolean => bare(flag.field).type === 'boolean';
export const isRequired = ({ required, field }: Flag): boolean => required ?? field.required ?? false;

const flagRow = ([name, flag]: [string, Flag]): [string, string] => {
  const short = flag.short ? `-${flag.short}, ` : '    ';
  const word = flag.negated ? `--no-${name}` : `--${name}`;
  const value = isSwitch(flag) ? undefined : flag.value;
  const isLong = value !== undefined && value.length > LONGEST_VALUE && value.includes('|');
  const shown = value === undefined ? '' : ` <${isLong ? 'word' : value}>`;
  const words = isLong ? `: ${value.split('|').join(', ')}` : '';
  return [`${short}${word}${shown}`, `${flag.summary}${words}${isRequired(flag) ? ' (required)' : ''}`];
};
export const flagTerms = (flags: Flags): Block =>
  terms(
    Object.entries(flags)
      .filter(([, flag]) => !flag.hidden)
      .map(flagRow),
  );
