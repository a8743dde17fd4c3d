import { type ShowAdvice, next, showPlain } from '../../../core/next.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { momentText } from '../../../core/format.ts';
import { wrap } from '../../../core/text.ts';
import type { Host } from '../../../platform/host.ts';
import type { Access } from '../../engine/access.ts';
import { findRuns, type FoundRun, isRolledBack } from '../../engine/journal.ts';
import { type Held, whoIsAt, whoIsIn } from '../../engine/locks.ts';
import type { ClusterFile, Observation, Outcome } from '../../engine/model.ts';
import { sharedRun } from '../../engine/shared-progress.ts';
import { alarmMessages } from '../guards/store.ts';

const goesOn: ReadonlySet<Outcome> = new Set(['held', 'stopped', 'failed']);
/** After the last member there is no rollback any more. */
const waysOf = ({ entries }: FoundRun, clusterVersion: string | undefined, show: ShowAdvice): string[] => {
  const isOver = entries[0]?.kind === 'opened' && minorOf(clusterVersion) === entries[0].plan.to;
  return [
    `  go on:   ${show(next(['kv', 'resume']))}`,
    `  go back: ${show(next(['kv', isOver ? 'restore' : 'rollback']))}`,
  ];
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
  show: ShowAdvice = showPlain,
): RunLine => {
  const ways = waysOf(found, clusterVersion, show);
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

/** The newest run of the cluster, of this machine or of another one. */
export const lastRun = async (
  host: Host,
  state: string,
  { cluster, access }: { readonly cluster: ClusterFile; readonly access: Access },
  clusterVersion: string | undefined,
  show: ShowAdvice = showPlain,
): Promise<RunLine | undefined> => {
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  const [newest] = await findRuns(host, state, cluster.name).catch(() => []);
  const shared = await sharedRun({ host, cluster, stores }, state).catch(() => undefined);
  if (shared !== undefined && (newest === undefined || shared.run >= newest.run)) {
    const line = runLine(shared, await whoIsIn(stores), clusterVersion, show);
    const by = shared.owner === undefined ? 'another machine' : shared.owner.host;
    return {
      ...line,
      text: `${line.text}\n  its journal is on ${by}; kv resume and kv rollback take it over here`,
    };
  }
  return newest === undefined
    ? undefined
    : runLine(newest, await whoIsAt(host, state, cluster.name), clusterVersion, show);
};

type Known = {
  readonly observation: Observation;
  readonly run: RunLine | undefined;
  readonly restored: { readonly text: string } | undefined;
  readonly operation: { readonly text: string } | undefined;
};
const runText = ({ observation, run, restored }: Known): string[] => {
  if (run === undefined) return [];
  const isBack =
    run.outcome === 'done' && run.from !== undefined && minorOf(observation.cluster_version) === run.from;
  return [isBack && restored === undefined ? `${run.text}; it was rebuilt on ${run.from} since` : run.text];
};
/** After an empty line; what is indented is to be copied and stays as it is. */
const wrapLines = (said: readonly string[], columns: number): string[] =>
  said.length === 0
    ? []
    : ['', ...said.join('\n').split('\n')].map((line) =>
        line.startsWith(' ') ? line : wrap(line, columns, '  '),
      );
/** What kv status says below the members: alarms, the last run, the last restore and an operation that is not finished. */
export const statusLines = (known: Known, columns: number, show: ShowAdvice = showPlain): string[] => {
  const { observation, restored, operation } = known;
  const alarms = alarmMessages(observation).map(({ message, hint }) => `${message}\n  next: ${show(hint)}`);
  const others = [restored, operation].flatMap((line) => line?.text ?? []);
  return wrapLines([...alarms, ...runText(known), ...others], columns);
};
