import { defineCommand, type Context } from '../../cli/command.ts';
import { minorOf } from '../../api-specs/etcd/versions.ts';
import { recordResult } from '../../core/result.ts';
import { alarmMessages } from '../../kv-upgrade/guards/no-alarms.ts';
import { columnsOf, wrap } from '../../core/wrap.ts';
import type { Held } from '../../kv-upgrade/locks/lock-holder.ts';
import type { Outcome } from '../../kv-upgrade/types.ts';
import type { FoundRun } from '../../kv-upgrade/journal/journal.ts';
import { isRolledBack } from '../../kv-upgrade/journal/journal.ts';
import { momentText } from '../../kv-upgrade/report/labels.ts';
import { endpointFlags } from './cluster-flags.ts';
import { openCluster } from './open-cluster.ts';
import type { Opened } from './open-cluster.ts';

const goesOn: ReadonlySet<Outcome> = new Set(['held', 'stopped', 'failed']);
/** After the last member there is no rollback any more. */
const waysOf = ({ entries }: FoundRun, clusterVersion: string | undefined): string[] => {
  const isOver = entries[0]?.kind === 'opened' && minorOf(clusterVersion) === entries[0].plan.to;
  return ['  go on:   opsctl kv resume', `  go back: opsctl kv ${isOver ? 'restore' : 'rollback'}`];
};
type RunLine = {
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

const runLine = (found: FoundRun, worker: Held | undefined, clusterVersion: string | undefined): RunLine => {
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

const lastRun = async (
  { host, settings }: Context,
  { cluster, access }: Opened,
  clusterVersion: string | undefined,
): Promise<RunLine | undefined> => {
  const [{ findRuns }, { sharedRun }, { whoIsAt }, { whoIsIn }] = await Promise.all([
    import('../../kv-upgrade/journal/journal.ts'),
    import('../../kv-upgrade/journal/shared-progress.ts'),
    import('../../kv-upgrade/locks/machine-lock.ts'),
    import('../../kv-upgrade/locks/store-lock.ts'),
  ]);
  const state = settings.directories.clusters;
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  const [newest] = await findRuns(host, state, cluster.name).catch(() => []);
  const shared = await sharedRun({ host, cluster, stores }, state).catch(() => undefined);
  if (shared !== undefined && (newest === undefined || shared.run >= newest.run)) {
    const line = runLine(shared, await whoIsIn(stores), clusterVersion);
    const by = shared.owner === undefined ? 'another machine' : shared.owner.host;
    return {
      ...line,
      text: `${line.text}\n  its journal is on ${by}; kv resume and kv rollback take it over here`,
    };
  }
  return newest === undefined
    ? undefined
    : runLine(newest, await whoIsAt(host, state, cluster.name), clusterVersion);
};

/** The last restore, when nothing was upgraded since. */
const lastRestore = async ({ host, settings }: Context, cluster: string, endedAt: string | undefined) => {
  const { readRestore, restoreLine } = await import('../../kv-upgrade/restore/restore-journal.ts');
  const line = restoreLine(await readRestore(host, settings.directories.clusters, cluster));
  return line === undefined || (endedAt !== undefined && line.at < endedAt) ? undefined : line;
};

const openOperation = async ({ host, settings }: Context, cluster: string) =>
  (await import('../../kv-operations/unfinished.ts')).operationLine(
    host,
    settings.directories.clusters,
    cluster,
  );

/** After an empty line; what is indented is to be copied and stays as it is. */
const wrapped = (said: readonly string[], columns: number): string[] =>
  said.length === 0
    ? []
    : ['', ...said.join('\n').split('\n')].map((line) =>
        line.startsWith(' ') ? line : wrap(line, columns, '  '),
      );

export const status = defineCommand({
  path: ['kv', 'status'],
  summary: 'Show members, versions, leader and the last upgrade run',
  flags: endpointFlags,
  examples: [
    { line: 'opsctl kv status --cluster cluster.yaml', says: 'every member at a glance' },
    { line: 'opsctl kv status --endpoints 10.0.0.1:2379,10.0.0.2:2379', says: 'without a cluster file' },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { cluster, access, file } = opened;
    const [{ observe }, { observationText }] = await Promise.all([
      import('../../kv-upgrade/observe/observe.ts'),
      import('../../kv-upgrade/format/texts.ts'),
    ]);
    const observation = await observe({ host: context.host, cluster, access });
    const run = file === undefined ? undefined : await lastRun(context, opened, observation.cluster_version);
    const restored = file === undefined ? undefined : await lastRestore(context, cluster.name, run?.endedAt);
    const simulated = cluster.simulated === true ? { simulated: true } : {};
    const isBack =
      run?.outcome === 'done' && run.from !== undefined && minorOf(observation.cluster_version) === run.from;
    const ofRun =
      run === undefined
        ? []
        : [isBack && restored === undefined ? `${run.text}; it was rebuilt on ${run.from} since` : run.text];
    const operation = file === undefined ? undefined : await openOperation(context, cluster.name);
    const alarms = alarmMessages(observation).map(({ message, hint }) => `${message}\n  next: ${hint}`);
    const said = [...alarms, ...ofRun, ...[restored, operation].flatMap((line) => line?.text ?? [])];
    const data = {
      ...observation,
      ...simulated,
      ...(run === undefined ? {} : { last_run: { run: run.run, outcome: run.outcome } }),
      ...(restored === undefined ? {} : { last_restore: { outcome: restored.outcome, at: restored.at } }),
      ...(operation === undefined ? {} : { unfinished_operation: operation }),
    };
    const columns = columnsOf(context.host.terminal.stdout);
    const text = [observationText(observation, columns), ...wrapped(said, columns)].join('\n');
    return recordResult(
      data,
      { text, namesCommands: true },
      observation.members.every(({ is_healthy }) => is_healthy) ? undefined : 'no',
    );
  },
});
