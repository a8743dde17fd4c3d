import { invalidArguments, problem } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import type { ImpactProbe } from './window.ts';
import { parseUntil, type Until } from './until.ts';

/** `--until`: a time of day, here or in a named zone. */
export const untilOf = (host: Host, text: string | undefined): Until | undefined => {
  if (text === undefined) return undefined;
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

type GivenProbes = {
  readonly 'pause-while-command'?: readonly string[] | undefined;
  readonly 'pause-while-query'?: readonly string[] | undefined;
  readonly prometheus?: string | undefined;
};

/** What says whether users are affected: commands, and queries with the server that answers them. */
export const probesOf = (values: GivenProbes, token: string | undefined): ImpactProbe[] => {
  const queries = values['pause-while-query'] ?? [];
  const { prometheus } = values;
  if (queries.length > 0 && prometheus === undefined)
    throw invalidArguments([
      problem('--prometheus', 'required', 'must name the server for --pause-while-query'),
    ]);
  return [
    ...(values['pause-while-command'] ?? []).map((command) => ({ kind: 'command', command }) as const),
    ...queries.map(
      (query) => ({ kind: 'query', query, prometheus: prometheus ?? '', token: token || undefined }) as const,
    ),
  ];
};
