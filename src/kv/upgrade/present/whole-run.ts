import type { Host } from '../../../platform/host.ts';
import type { CanaryReport, JournalEntry, UpgradeEvent } from '../../engine/types.ts';
import { broughtUpToDate, journalEvents } from './report.ts';
import { readReport } from './write.ts';

/** A run is resumed once or more often: each time a part of it is done. */
export type Part = {
  readonly events: readonly UpgradeEvent[];
  readonly startedAt: string;
  /** Time at work: what lies between the parts is left out. */
  readonly durationMs: number;
  readonly canary?: CanaryReport | undefined;
};

/** What was done before the part that is at work now: as it was written down, else as far as the journal tells. */
export const partsBefore = async (
  host: Host,
  directory: string,
  entries: readonly JournalEntry[],
  journal: string,
): Promise<Part | undefined> => {
  const [opened] = entries;
  const at = entries.findLastIndex(({ kind }) => kind === 'resumed');
  if (opened?.kind !== 'opened' || at < 0) return undefined;
  const before = entries.slice(0, at);
  const written = await readReport(host, directory).catch(() => undefined);
  if (written !== undefined && broughtUpToDate(written, before) !== undefined) {
    const { started_at, duration_ms, canary } = written.report;
    return { events: written.events, startedAt: started_at, durationMs: duration_ms, canary };
  }
  const events = journalEvents(opened, before, journal);
  return { events, startedAt: opened.at, durationMs: events.at(-1)?.elapsed_ms ?? 0 };
};

const together = (
  before: CanaryReport | undefined,
  now: CanaryReport | undefined,
  events: readonly UpgradeEvent[],
): CanaryReport | undefined => {
  if (before === undefined || now === undefined) return now ?? before;
  const latencies = events
    .flatMap((event) => (event.event === 'canary' && event.ok ? [event.latency_ms] : []))
    .sort((a, b) => a - b);
  const at = (share: number): number | undefined => latencies[Math.floor(latencies.length * share)];
  return {
    writes: before.writes + now.writes,
    failed: before.failed + now.failed,
    longest_gap_ms: Math.max(before.longest_gap_ms, now.longest_gap_ms),
    median_ms: at(0.5),
    p99_ms: at(0.99),
  };
};

/** One run again: the later part begins where the earlier one ended. Steps that it only told of are not its own. */
export const joined = (before: Part | undefined, now: Part): Part => {
  if (before === undefined) return now;
  const own = now.events.filter((event) => event.event !== 'step-finished' || event.was_done_before !== true);
  const later = own.map((event) => ({ ...event, elapsed_ms: event.elapsed_ms + before.durationMs }));
  const events = [...before.events, ...later];
  return {
    events,
    startedAt: before.startedAt,
    durationMs: before.durationMs + now.durationMs,
    canary: together(before.canary, now.canary, events),
  };
};
