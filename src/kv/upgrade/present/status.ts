import { minorOf } from '../../../api-specs/etcd/versions.ts';
import type { Held } from '../../engine/lock-holder.ts';
import { momentText } from './labels.ts';
import type { Outcome } from '../../engine/types.ts';
import { type FoundRun, isRolledBack } from '../../engine/journal.ts';

const goesOn: ReadonlySet<Outcome> = new Set(['held', 'stopped', 'failed']);

/** After the last member there is no rollback any more. */
const waysOf = ({ entries }: FoundRun, clusterVersion: string | undefined): string[] => {
  const isOver = entries[0]?.kind === 'opened' && minorOf(clusterVersion) === entries[0].plan.to;
  return ['  go on:   opsctl kv resume', `  go back: opsctl kv ${isOver ? 'restore' : 'rollback'}`];
};

export type RunLine = {
  readonly run: string;
  readonly outcome: string;
  readonly text: string;
  readonly from?: string;
  readonly endedAt?: string;
};

/** The step that was begun last, with its place in the plan. */
const whereIn = (entries: FoundRun['entries']): string => {
  const [first, begun] = [entries[0], entries.findLast((entry) => entry.kind === 'begin')];
  if (begun?.kind !== 'begin' || first?.kind !== 'opened') return '';
  const i = first.plan.steps.findIndex(({ id }) => id === begun.step);
  return i < 0
    ? ` at ${begun.step}`
    : ` at step ${i + 1} of ${first.plan.steps.length}: ${first.plan.steps[i]?.title}`;
};

const openText = ({ run, entries }: FoundRun, worker: Held | undefined, ways: readonly string[]): string => {
  if (worker === undefined) return [`run ${run} was interrupted${whereIn(entries)}`, ...ways].join('\n');
  const { user = 'somebody', host, pid } = worker.owner;
  return `run ${run} is in progress${whereIn(entries)}\n  by ${user} on ${host}, process ${pid}, since ${momentText(worker.since)}`;
};

/** Where a run stands, and how it can go on. `worker`: who is at work on it. */
export const runLine = (
  found: FoundRun,
  worker: Held | undefined,
  clusterVersion: string | undefined,
): RunLine => {
  const ways = waysOf(found, clusterVersion);
  const { run, entries } = found;
  const last = entries.at(-1);
  if (last?.kind === 'closed') {
    // A member that went back by itself ends the run, but not the way: fixed, it goes on.
    const mayGoOn = goesOn.has(last.outcome) || (last.outcome === 'rolled-back' && !isRolledBack(entries));
    const text = `last run ${run}: ${last.message.startsWith(last.outcome) ? '' : `${last.outcome}: `}${last.message}`;
    const from = entries[0]?.kind === 'opened' ? { from: entries[0].plan.from, endedAt: last.at } : {};
    return { run, outcome: last.outcome, text: [text, ...(mayGoOn ? ways : [])].join('\n'), ...from };
  }
  return {
    run,
    outcome: worker === undefined ? 'interrupted' : 'at-work',
    text: openText(found, worker, ways),
  };
};
