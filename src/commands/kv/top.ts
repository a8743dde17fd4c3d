import { bool, int, duration } from '../../core/field.ts';
import { parseDuration } from '../../core/duration.ts';
import { isJsonStream } from '../../core/output-format.ts';
import { nothing, recordResult } from '../../core/result.ts';
import { columnsOf } from '../../core/wrap.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import type { TopCanary, TopState } from '../../kv-upgrade/live/top-frame.ts';
import { endpointFlags } from './cluster-flags.ts';
import { openCluster, type Opened } from './open-cluster.ts';

const flags = {
  ...endpointFlags,
  interval: { field: duration(), summary: 'Time between two looks (default 2s)', value: 'duration' },
  count: {
    field: int({ min: 1, max: 1_000_000 }),
    summary: 'End after so many looks (-o ndjson)',
    value: 'n',
  },
  canary: { field: bool(), summary: 'Write a test value at each look, and show how long that takes' },
} as const satisfies Flags;

/** The newest run of this machine, and who works on it. */
const runOf = async (
  { host, settings }: Context,
  { cluster }: Opened,
): Promise<Pick<TopState, 'run' | 'worker'>> => {
  const [{ findRuns }, { whoIsAt }] = await Promise.all([
    import('../../kv-upgrade/journal/journal.ts'),
    import('../../kv-upgrade/locks/machine-lock.ts'),
  ]);
  const state = settings.directories.clusters;
  const [run] = await findRuns(host, state, cluster.name).catch(() => []);
  const held = await whoIsAt(host, state, cluster.name).catch(() => undefined);
  return {
    ...(run === undefined ? {} : { run }),
    ...(held === undefined ? {} : { worker: `in progress on ${held.owner.host}, process ${held.owner.pid}` }),
  };
};

const watchedCanary = async (context: Context, { cluster, access }: Opened) => {
  const { startCanary } = await import('../../kv-upgrade/watch/canary.ts');
  let seen: TopCanary = { writes: 0, failed: 0, lastMs: 0, longestMs: 0 };
  const canary = startCanary(
    context.host,
    cluster,
    access,
    `top-${context.host.pid}`,
    (event) => {
      if (event.event !== 'canary') return;
      seen = {
        writes: seen.writes + 1,
        failed: seen.failed + (event.ok ? 0 : 1),
        lastMs: event.latency_ms,
        longestMs: Math.max(seen.longestMs, event.latency_ms),
      };
    },
    () => 1000,
  );
  return { now: () => seen, stop: () => canary.stop() };
};

/** The run under way is asked to stop after its current step, as by Ctrl-C in its own terminal. */
const holdRun = async (context: Context, { cluster }: Opened): Promise<string> => {
  const { whoIsAt } = await import('../../kv-upgrade/locks/machine-lock.ts');
  const { host, settings } = context;
  const held = await whoIsAt(host, settings.directories.clusters, cluster.name);
  if (held === undefined) return 'no run is in progress here; an upgrade takes --hold-last or --hold-after';
  const { pid, host: where } = held.owner;
  if (where !== host.hostname) return `the run is in progress on ${where}: press Ctrl-C there`;
  const question = `Stop the run of ${cluster.name} (process ${pid}) after its current step?`;
  if (!(await host.terminal.prompts.confirm(question, false))) return 'not confirmed; the run goes on';
  return host.processes.signal(pid, 'SIGINT')
    ? 'the run stops after its current step; opsctl kv resume goes on'
    : `process ${pid} could not be signalled`;
};

type Watch = { readonly look: () => Promise<TopState>; readonly stop: () => Promise<unknown> };
const watchOf = async (context: Context, opened: Opened, withCanary: boolean): Promise<Watch> => {
  const { observe } = await import('../../kv-upgrade/observe/observe.ts');
  const { cluster, access } = opened;
  const canary = withCanary ? await watchedCanary(context, opened) : undefined;
  return {
    look: async () => ({
      observation: await observe({ host: context.host, cluster, access }),
      ...(await runOf(context, opened)),
      ...(canary === undefined ? {} : { canary: canary.now() }),
    }),
    stop: async () => canary?.stop(),
  };
};

const dataOf = ({ observation, run, worker, canary }: TopState) => ({
  ...observation,
  last_run: run === undefined ? null : { run: run.run, entries: run.entries.length, worker: worker ?? null },
  ...(canary === undefined ? {} : { canary }),
});

async function* stream(context: Context, watch: Watch, everyMs: number, count: number) {
  try {
    for (let i = 0; i < count && !context.signal.aborted; i += 1) {
      if (i > 0) await context.host.sleep(everyMs, context.signal).catch(() => {});
      if (!context.signal.aborted) yield dataOf(await watch.look());
    }
  } finally {
    await watch.stop();
  }
}

const snapshot = async (context: Context, watch: Watch) => {
  const { topLines } = await import('../../kv-upgrade/live/top-frame.ts');
  const state = await watch.look();
  await watch.stop();
  const columns = Math.min(200, columnsOf(context.host.terminal.stdout));
  const text = topLines(state, { columns, rows: 1000, isColored: false, hasKeys: false }).join('\n');
  return recordResult(dataOf(state), { text });
};

const run = async (context: Context, values: ValuesOf<typeof flags>) => {
  const opened = await openCluster(context, values);
  const everyMs = parseDuration(values.interval ?? '2s', '--interval');
  const watch = await watchOf(context, opened, values.canary ?? false);
  if (isJsonStream(context.format))
    return { kind: 'rows' as const, rows: stream(context, watch, everyMs, values.count ?? Infinity) };
  const { isDrawable, onScreen } = await import('./top-screen.ts');
  if (!isDrawable(context) || context.isFormatGiven === true) return snapshot(context, watch);
  const named = values.cluster === undefined ? [] : ['--cluster', values.cluster];
  const place = { named, look: watch.look, hold: () => holdRun(context, opened) };
  await onScreen(context, place, Math.max(200, everyMs)).finally(watch.stop);
  return nothing();
};

export const top = defineCommand({
  path: ['kv', 'top'],
  summary: 'Watch members, leader, lag, alarms, sizes and the run, with keys for the next step',
  about:
    'For a maintenance window. On a terminal a screen of its own: c check, p plan, u upgrade, h hold, r rollback, q quit; each asks as the command of that name does. Elsewhere one snapshot, and with -o ndjson one JSON object at each look. It changes nothing by itself; --canary writes one key of its own and removes it.',
  flags,
  examples: [
    { line: 'opsctl kv top --cluster cluster.yaml', says: 'during a maintenance window' },
    { line: 'opsctl kv top --endpoints localhost:2379 -o ndjson --count 3', says: 'three looks as data' },
  ],
  run,
});
