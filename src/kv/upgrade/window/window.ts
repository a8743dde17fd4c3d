import { trustCall } from '../../../core/program-call.ts';
import { limits } from '../../../core/limits.ts';
import { cutText, invalidArguments, messageOf, problem } from '../../../core/problem.ts';
import { misfit } from '../../../core/shape.ts';
import type { Host } from '../../../platform/host.ts';

/** A source that reports whether the upgrade affects users now. */
export type ImpactProbe =
  | { readonly kind: 'command'; readonly command: string }
  | {
      readonly kind: 'query';
      readonly query: string;
      /** Base URL of a server with the HTTP API of Prometheus. */
      readonly prometheus: string;
      readonly token?: string | undefined;
    };
/** `unknown` causes a pause like `yes`: a missing observation is not a pass. */
export type ImpactStatus = {
  readonly state: 'yes' | 'no' | 'unknown';
  readonly reason: string;
  /** The probe itself is wrong: it cannot give another result later. */
  readonly isUnusable?: true;
};
const probeMs = 30_000;
const mostShown = 3;
/** POSIX, 2.8.2: the shell cannot execute the command, or does not find it. */
const notExecuted = [126, 127];
const unknownImpact = (reason: string, isUnusable = false): ImpactStatus => ({
  state: 'unknown',
  reason,
  ...(isUnusable ? { isUnusable } : {}),
});
const lastLine = (text: string): string => cutText(text.trim().split('\n').at(-1) ?? '', 200);
/**
 * Uses exit codes like `while COMMAND` in a shell: 0 is yes. 1 is no, as in grep and test; every other code
 * means that the command failed.
 */
const byCommand = async (host: Host, command: string): Promise<ImpactStatus> => {
  const done = await host.processes.run(...trustCall(['/bin/sh', '-c', command]), { timeoutMs: probeMs });
  const said = lastLine(done.stdout) || lastLine(done.stderr);
  if (done.timedOut) return unknownImpact(`the command did not finish within ${probeMs / 1000} s`);
  const what = `exit code ${done.code ?? done.signal ?? 'none'}${said === '' ? '' : `: ${said}`}`;
  if (done.code === 0) return { state: 'yes', reason: said === '' ? 'the command reports it' : said };
  if (done.code === 1) return { state: 'no', reason: what };
  const isUnusable = done.startError !== undefined || notExecuted.includes(done.code ?? 0);
  return unknownImpact(`the command failed with ${done.startError ?? what}`, isUnusable);
};
type Sample = { readonly metric?: Readonly<Record<string, string>> };
const labels = ({ metric = {} }: Sample): string =>
  metric['alertname'] ??
  cutText(
    Object.entries(metric)
      .map(([name, value]) => `${name}=${value}`)
      .join(','),
    100,
  );
type Answer = {
  readonly status?: string;
  readonly error?: string;
  readonly data?: { readonly resultType?: string; readonly result?: unknown };
};
const ofVector = (samples: readonly Sample[]): ImpactStatus => {
  if (samples.length === 0) return { state: 'no', reason: 'no sample' };
  const count = samples.length === 1 ? 'a sample' : `${samples.length} samples`;
  const more = samples.length > mostShown ? ` and ${samples.length - mostShown} more` : '';
  return { state: 'yes', reason: `${count}: ${samples.slice(0, mostShown).map(labels).join('; ')}${more}` };
};
const ofScalar = (value: string): ImpactStatus =>
  Number(value) === 0 ? { state: 'no', reason: '0' } : { state: 'yes', reason: value };
/**
 * A server that is busy or starting may give another response later. Prometheus rejects an invalid query with 400;
 * 422 means that it could not execute the query now, for example because of too many samples.
 */
const isFinal = (status: number): boolean => status < 500 && ![408, 422, 429].includes(status);
/**
 * Uses the rule of alerting: a vector with any sample is yes, regardless of its value; a scalar is yes unless
 * its value is zero. Pure.
 */
export const impactOf = (status: number, text: string): ImpactStatus => {
  const toUnknown = (reason: string): ImpactStatus => unknownImpact(reason, isFinal(status));
  let body: Answer;
  try {
    body = JSON.parse(text) as Answer;
  } catch {
    return toUnknown(`the response (${status}) is not JSON: check that this is the base URL of Prometheus`);
  }
  if (misfit(body, {}) !== undefined) return toUnknown(`the response (${status}) is not an object`);
  if (body.status !== 'success')
    return toUnknown(`the query failed (${status}): ${cutText(String(body.error ?? 'no reason'), 200)}`);
  const { resultType, result } = body.data ?? {};
  if (resultType === 'vector' && misfit(result, [{ 'metric?': 'record' }]) === undefined)
    return ofVector(result as readonly Sample[]);
  if (resultType === 'scalar' && Array.isArray(result)) return ofScalar(String(result[1]));
  return toUnknown(`the query returns a ${resultType ?? 'result of no type'}, not a vector or scalar`);
};
const byQuery = async (
  host: Host,
  { query, prometheus, token }: Extract<ImpactProbe, { kind: 'query' }>,
): Promise<ImpactStatus> => {
  const url = `${prometheus.replace(/\/+$/, '')}/api/v1/query`;
  try {
    const reply = await host.network.request({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: new URLSearchParams({ query, timeout: '20s' }).toString(),
      timeoutMs: probeMs,
      maxReplyBytes: limits.metricReplyBytes,
    });
    return impactOf(reply.status, await reply.text());
  } catch (error) {
    const why = messageOf(error);
    return unknownImpact(`${new URL(url).host} does not respond: ${why}`);
  }
};
export const askImpact = (host: Host, probe: ImpactProbe): Promise<ImpactStatus> =>
  probe.kind === 'command' ? byCommand(host, probe.command) : byQuery(host, probe);

const flagOf = { command: '--pause-while-command', query: '--pause-while-query' } as const;
/**
 * Refuses a probe that cannot work, such as a program that does not exist, before any change: the run would
 * pause before its first member until --pause-at-most has passed.
 */
export const refuseUnusableProbes = async (host: Host, probes: readonly ImpactProbe[]): Promise<void> => {
  const seen = await Promise.all(
    probes.map(async (probe) => ({ probe, impact: await askImpact(host, probe) })),
  );
  const problems = seen.flatMap(({ probe: { kind }, impact }) =>
    impact.isUnusable === true
      ? [problem(flagOf[kind], 'format', `cannot determine whether users are affected: ${impact.reason}`)]
      : [],
  );
  if (problems.length > 0) throw invalidArguments(problems);
};

/** `04:00`, `04:00 Europe/Berlin`, `04:00Z`, `04:00+02:00`, or an RFC 3339 time. */
const clockPattern = /^([01]?\d|2[0-3]):([0-5]\d)\s*(Z|[+-]\d\d:\d\d|[A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)*)?$/;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
const dayMs = 86_400_000;
const isZone = (zone: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
};
/** The offset of a zone from UTC at that time. */
const offsetMs = (at: number, zone: string): number => {
  const fixed = /^([+-])(\d\d):(\d\d)$/.exec(zone);
  if (fixed !== null)
    return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3])) * 60_000;
  if (zone === 'Z') return 0;
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(at);
  const number = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  const local = Date.UTC(
    number('year'),
    number('month') - 1,
    number('day'),
    number('hour'),
    number('minute'),
    number('second'),
  );
  return local - Math.floor(at / 1000) * 1000;
};
/**
 * Returns the next time after `nowMs` at which the clock of that zone shows the time. In a night with a clock
 * change, the first such time.
 */
const nextClock = (nowMs: number, hour: number, minute: number, zone: string): number => {
  const localNow = nowMs + offsetMs(nowMs, zone);
  const midnight = Math.floor(localNow / dayMs) * dayMs;
  for (let day = 0; ; day += 1) {
    const local = midnight + day * dayMs + (hour * 60 + minute) * 60_000;
    // Uses the offset at the target time, not the current offset. Two steps find it, because the offset
    // changes at most once in a night.
    const at = local - offsetMs(local - offsetMs(local, zone), zone);
    if (at > nowMs) return at;
  }
};
export type Until = {
  readonly atMs: number;
  readonly zone: string /** The text that the user typed. */;
  readonly text: string;
};
/** The end of a window, or a sentence about the error in the text. Pure. */
export const parseUntil = (text: string, nowMs: number, localZone: string): Until | string => {
  const trimmed = text.trim();
  if (timePattern.test(trimmed)) {
    const atMs = Date.parse(trimmed);
    if (Number.isNaN(atMs)) return 'is not a time';
    return atMs > nowMs ? { atMs, zone: 'Z', text: trimmed } : 'is in the past';
  }
  const found = clockPattern.exec(trimmed);
  if (found === null) return 'must be HH:MM, HH:MM ZONE or an RFC 3339 time';
  const zone = found[3] ?? localZone;
  const isFixed = zone === 'Z' || /^[+-]/.test(zone);
  if (!isFixed && !isZone(zone)) return `has an unknown time zone: ${zone}`;
  return { atMs: nextClock(nowMs, Number(found[1]), Number(found[2]), zone), zone, text: trimmed };
};
/** `04:00 (Europe/Berlin)`, as its clock shows it. Pure. */
export const untilText = ({ atMs, zone }: Pick<Until, 'atMs' | 'zone'>): string =>
  `${new Date(atMs + offsetMs(atMs, zone)).toISOString().slice(11, 16)} (${zone === 'Z' ? 'UTC' : zone})`;

/** Parses `--until`: a time of day in the local zone or in a named zone. */
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
/** The sources that report whether users are affected: commands, and queries with their server. */
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

/** Additional checks before each member is stopped. */
export type Window = {
  /** False: the run holds there. The signal withdraws the question. */
  readonly confirmEach?: ((member: string, withdrawn: AbortSignal) => Promise<boolean>) | undefined;
  readonly until?: Until | undefined;
  readonly probes: readonly ImpactProbe[];
  /** Maximum total length of all pauses before one member. */
  readonly pauseAtMostMs: number;
  /** Durations of the members in earlier runs of this cluster. */
  readonly earlierMs: readonly number[];
};

const margin = 1.25;
/**
 * Time that the next member needs: the longest duration in this run, otherwise in earlier runs, plus 25 %.
 * Without a known duration, the limits. Pure.
 */
export const neededMs = (
  thisRun: readonly number[],
  earlier: readonly number[],
  limitsMs: number,
): { readonly ms: number; readonly isLearned: boolean } => {
  const known = thisRun.length > 0 ? thisRun : earlier;
  return known.length === 0
    ? { ms: limitsMs, isLearned: false }
    : { ms: Math.ceil(Math.max(...known) * margin), isLearned: true };
};
