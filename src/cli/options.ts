import { type Settings, removalOf } from '../config/settings.ts';
import { parseDuration } from '../core/duration.ts';
import { formatNames, formatRow } from '../core/output-format.ts';
import { AppError, problem, usageError } from '../core/problem.ts';
import type { OutputOptions } from '../output/types.ts';
import type { Host } from '../platform/host.ts';
import { rateStoreSetting } from '../api/rate-setting.ts';
import type { Globals } from './globals.ts';

/** Output options before the flags are read: enough to report a wrong flag in the format that was asked for. */
export const early = (argv: readonly string[]): OutputOptions => {
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
  verbose: globals.verbose ?? false,
  notes: [],
  filter: {},
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
    `${origin} must be longer than 0`,
    [problem(origin, 'min', 'must be longer than 0')],
    ['--timeout 30s'],
  );
};
const rateOf = (settings: Settings): number | undefined => {
  const rate = settings.get('rate_per_minute');
  if (rate === undefined || rate.value === 'off') return undefined;
  if (/^[1-9]\d*$/.test(rate.value)) return Number(rate.value);
  throw new AppError(
    'config',
    `rate_per_minute must be a whole number from 1, or off; got ${JSON.stringify(rate.value)} (${rate.origin})`,
    { code: 'RATE', tryThis: [removalOf(rate)] },
  );
};
/** For a command that sends nothing. */
export const noPace = {
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

export const choices = (host: Host, globals: Globals, options: OutputOptions) => ({
  format: options.format ?? (host.terminal.stdout.isTty ? 'table' : 'json'),
  isFormatGiven:
    options.template !== undefined ||
    options.format !== undefined ||
    options.jq !== undefined ||
    options.columns !== undefined,
  columns: options.columns,
  isInteractive:
    globals.input !== false && host.terminal.stdin.isTty && host.terminal.stderr.isTty && !host.env.CI,
  asksNothing: globals.input === false,
  isConfirmed: globals.yes ?? false,
  isDryRun: globals['dry-run'] ?? false,
  isQuiet: globals.quiet ?? false,
  isVerbose: globals.verbose ?? false,
  color: globals.color,
});
