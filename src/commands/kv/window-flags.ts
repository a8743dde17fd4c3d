import { bool, list, str } from '../../core/field.ts';
import { parseDuration } from '../../core/duration.ts';
import { invalidArguments, problem, usageError } from '../../core/problem.ts';
import type { ImpactProbe } from '../../kv-upgrade/window/impact.ts';
import type { Until } from '../../kv-upgrade/window/until.ts';
import type { Window } from '../../kv-upgrade/window/window-types.ts';
import type { Context, Flags, ValuesOf } from '../../cli/command.ts';
import { earlierMs } from './shown-plan.ts';
import type { Ask } from './watching.ts';

export const confirmFlags = {
  'confirm-each': { field: bool(), summary: 'Ask before each member; "no" holds the run there' },
} as const satisfies Flags;

/** For runs that nobody watches, or that somebody watches closely. */
export const windowFlags = {
  ...confirmFlags,
  until: {
    field: str(64, { min: 1 }),
    summary:
      'Start no member that may not be finished by then: 04:00, 04:00 Europe/Berlin, 04:00Z; the run holds',
    value: 'time',
  },
  'pause-while-command': {
    field: list(str(4096, { min: 1 })),
    repeat: true,
    summary: 'Before each member, pause while this shell command exits 0 (users are affected); 1 is no',
    value: 'command',
  },
  'pause-while-query': {
    field: list(str(8192, { min: 1 })),
    repeat: true,
    summary: 'Before each member, pause while this PromQL query gives a sample, as an alert fires',
    value: 'promql',
  },
  prometheus: {
    field: str(2048, { min: 1, pattern: '^https?://' }),
    summary: 'Base URL for --pause-while-query; a bearer token comes from OPSCTL_PROMETHEUS_TOKEN',
    value: 'url',
  },
  'pause-at-most': {
    field: str(32, { min: 1 }),
    summary: 'Pause so long before one member, then hold (default 1h)',
    value: 'duration',
  },
} as const satisfies Flags;
export type WindowValues = ValuesOf<typeof windowFlags>;

const untilOf = async ({ host }: Context, text: string | undefined): Promise<Until | undefined> => {
  if (text === undefined) return undefined;
  const { parseUntil } = await import('../../kv-upgrade/window/until.ts');
  const zone = host.env['TZ'] || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const until = parseUntil(text, host.now(), zone);
  if (typeof until !== 'string') return until;
  throw invalidArguments([
    problem(
      '--until',
      'format',
      `${until}; got ${JSON.stringify(text)}`,
      'like 04:00, 04:00 Europe/Berlin or 04:00Z',
    ),
  ]);
};

const probesOf = ({ host, log }: Context, values: WindowValues): ImpactProbe[] => {
  const queries = values['pause-while-query'] ?? [];
  const { prometheus } = values;
  if (queries.length > 0 && prometheus === undefined)
    throw invalidArguments([
      problem('--prometheus', 'required', 'must name the server for --pause-while-query'),
    ]);
  const token = host.env['OPSCTL_PROMETHEUS_TOKEN'];
  if (token) log.hide(token);
  return [
    ...(values['pause-while-command'] ?? []).map((command) => ({ kind: 'command', command }) as const),
    ...queries.map(
      (query) => ({ kind: 'query', query, prometheus: prometheus ?? '', token: token || undefined }) as const,
    ),
  ];
};

const defaultPause = '1h';
const isAsked = (values: WindowValues): boolean =>
  (Object.keys(windowFlags) as (keyof typeof windowFlags)[]).some((name) => values[name] !== undefined);

const eachConfirmed =
  ({ host }: Context, ask: Ask) =>
  (member: string, withdrawn: AbortSignal): Promise<boolean> =>
    ask(async () => {
      const answer = await host.terminal.prompts.text(`Go on with ${member}? [y/N]`, { signal: withdrawn });
      return /^y(es)?$/i.test(answer.trim());
    });

/** Whatever is wrong with a flag is said before anything is planned. */
export const refuseWrongWindow = async (context: Context, values: WindowValues): Promise<void> => {
  await untilOf(context, values.until);
  probesOf(context, values);
  parseDuration(values['pause-at-most'] ?? defaultPause, '--pause-at-most');
  if (values['confirm-each'] !== true || context.isInteractive) return;
  throw usageError(
    '--confirm-each asks before each member, and nobody can be asked here',
    [],
    ['--until and --pause-while-query, for runs that nobody watches'],
  );
};

/** Undefined when nothing of the kind is asked for. */
export const windowOf = async (
  context: Context,
  values: WindowValues,
  cluster: string,
  ask: Ask,
): Promise<Window | undefined> => {
  if (!isAsked(values)) return undefined;
  return {
    until: await untilOf(context, values.until),
    probes: probesOf(context, values),
    pauseAtMostMs: parseDuration(values['pause-at-most'] ?? defaultPause, '--pause-at-most'),
    earlierMs: await earlierMs(context, cluster),
    confirmEach: values['confirm-each'] === true ? eachConfirmed(context, ask) : undefined,
  };
};
