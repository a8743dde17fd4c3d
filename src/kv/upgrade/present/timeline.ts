import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { kindOf } from '../plan-kind.ts';
import type { Report, UpgradeEvent } from '../../engine/types.ts';

/** Times are milliseconds since the start of the run. */
export type Span<K extends string> = { readonly kind: K; readonly fromMs: number; readonly toMs: number };
export type Lane = {
  readonly name: string;
  readonly spans: readonly Span<'old' | 'down' | 'new'>[];
  readonly snapshotsAt: readonly number[];
  readonly revertedAt: readonly number[];
};
export type Point = { readonly atMs: number; readonly latencyMs: number; readonly ok: boolean };
export type Timeline = {
  readonly durationMs: number;
  readonly lanes: readonly Lane[];
  /** Who led from when to when. */
  readonly leaders: readonly { readonly name: string; readonly fromMs: number; readonly toMs: number }[];
  readonly steps: readonly {
    readonly title: string;
    readonly fromMs: number;
    readonly toMs: number;
    readonly ok: boolean;
  }[];
  /** Writes of the canary; a failed one counts as long as it took to fail. */
  readonly points: readonly Point[];
  /** Times without an acknowledged write that were longer than usual. */
  readonly gaps: readonly { readonly fromMs: number; readonly toMs: number }[];
  /** Where the run rested between two of its parts, and for how long. */
  readonly pauses: readonly { readonly atMs: number; readonly forMs: number }[];
};
const GAP_MS = 150;
const MOST_GAPS = 12;

const laneOf = (
  name: string,
  events: readonly UpgradeEvent[],
  durationMs: number,
  isNewAtStart: boolean,
): Lane => {
  const spans: Span<'old' | 'down' | 'new'>[] = [];
  let [kind, from]: ['old' | 'down' | 'new', number] = [isNewAtStart ? 'new' : 'old', 0];
  const change = (next: 'old' | 'down' | 'new', at: number): void => {
    if (at > from) spans.push({ kind, fromMs: from, toMs: at });
    [kind, from] = [next, at];
  };
  const revertedAt: number[] = [];
  for (const event of events) {
    if (event.event === 'member-down' && event.member === name) change('down', event.elapsed_ms);
    if (event.event === 'member-up' && event.member === name) change('new', event.elapsed_ms);
    if (event.event === 'reverted' && event.member === name) {
      revertedAt.push(event.elapsed_ms);
      change('old', event.elapsed_ms);
    }
  }
  change(kind, durationMs);
  const snapshotsAt = events.flatMap((event) =>
    event.event === 'snapshot-saved' && event.snapshot.member === name ? [event.elapsed_ms] : [],
  );
  return { name, spans, snapshotsAt, revertedAt };
};

const leadersOf = (events: readonly UpgradeEvent[], durationMs: number): Timeline['leaders'] => {
  const found: { name: string; fromMs: number; toMs: number }[] = [];
  const lead = (name: string | undefined, at: number): void => {
    const last = found.at(-1);
    if (last?.name === name) return;
    if (last !== undefined) last.toMs = Math.min(last.toMs, at);
    if (name !== undefined) found.push({ name, fromMs: at, toMs: durationMs });
  };
  for (const event of events) {
    if (event.event === 'run-started' && found.length === 0) lead(event.plan.observation.leader, 0);
    if (event.event === 'observed' && event.observation.leader !== undefined)
      lead(event.observation.leader, event.elapsed_ms);
    if (event.event === 'leader-changed' && event.to !== undefined) lead(event.to, event.elapsed_ms);
  }
  return found;
};

const stepsOf = (events: readonly UpgradeEvent[], durationMs: number): Timeline['steps'] => {
  const found: { id: string; title: string; fromMs: number; toMs: number; ok: boolean }[] = [];
  for (const event of events) {
    if (event.event === 'step-started')
      found.push({
        id: event.step.id,
        title: event.step.title,
        fromMs: event.elapsed_ms,
        toMs: durationMs,
        ok: true,
      });
    if (event.event !== 'step-finished' && event.event !== 'step-failed') continue;
    const open = found.findLast((step) => step.id === event.step.id);
    if (open === undefined) continue;
    open.toMs = event.elapsed_ms;
    open.ok = event.event === 'step-finished';
  }
  return found.map(({ title, fromMs, toMs, ok }) => ({ title, fromMs, toMs, ok }));
};

const pausesOf = (events: readonly UpgradeEvent[]): Timeline['pauses'] =>
  events.flatMap((event, i) => {
    const last = events[i - 1];
    return event.event === 'run-started' && last !== undefined
      ? [{ atMs: event.elapsed_ms, forMs: Math.max(0, Date.parse(event.at) - Date.parse(last.at)) }]
      : [];
  });

/** From the moment a write is tried until one is taken, as the canary counts: its own pause between two writes is no gap, and neither is the rest of a run. */
const gapsOf = (points: readonly Point[], pauses: Timeline['pauses']): Timeline['gaps'] => {
  const found: { fromMs: number; toMs: number }[] = [];
  let since: number | undefined;
  for (const { atMs, latencyMs, ok } of points) {
    since ??= Math.max(0, atMs - latencyMs);
    if (!ok) continue;
    found.push({ fromMs: since, toMs: atMs });
    since = undefined;
  }
  const isRest = (fromMs: number, toMs: number): boolean =>
    pauses.some(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  const long = found.filter(({ fromMs, toMs }) => toMs - fromMs >= GAP_MS && !isRest(fromMs, toMs));
  return long.sort((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs)).slice(0, MOST_GAPS);
};

/** What a drawing of the run needs, from its events. Pure. */
export const timelineFrom = (report: Report, events: readonly UpgradeEvent[]): Timeline => {
  const durationMs = Math.max(report.duration_ms, 1, ...events.slice(-1).map((event) => event.elapsed_ms));
  const points = events.flatMap((event) =>
    event.event === 'canary' ? [{ atMs: event.elapsed_ms, latencyMs: event.latency_ms, ok: event.ok }] : [],
  );
  const pauses = pausesOf(events);
  // A restart begins with what it ends with, but for the start itself.
  const isNewAtStart = (version: string | undefined): boolean =>
    kindOf(report) !== 'restart' && minorOf(version) === report.to;
  return {
    durationMs,
    lanes: report.members.map((member) =>
      laneOf(member.name, events, durationMs, isNewAtStart(member.version_before)),
    ),
    leaders: leadersOf(events, durationMs),
    steps: stepsOf(events, durationMs),
    points,
    gaps: gapsOf(points, pauses),
    pauses,
  };
};
