import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { parseDuration } from '../../core/duration.ts';
import { bool, int, duration } from '../../core/field.ts';
import { isJsonStream } from '../../core/output-format.ts';
import { nothing, recordResult } from '../../core/result.ts';
import { columnsOf } from '../../core/wrap.ts';
import type { TopWatch } from '../../kv/upgrade/present/top-watch.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';

const flags = {
  ...endpointFlags,
  interval: { field: duration(), summary: 'Time between two looks (default 2s)', value: 'duration' },
  count: {
    field: int({ min: 1, max: 1_000_000 }),
    summary: 'End after so many looks (-o ndjson)',
    value: 'n',
  },
  canary: {
    effects: ['writes'],
    field: bool(),
    summary: 'Write a test value at each look, and show how long that takes',
  },
} as const satisfies Flags;

async function* stream(context: Context, watch: TopWatch, everyMs: number, count: number) {
  const { topData } = await import('../../kv/upgrade/present/top-watch.ts');
  try {
    for (let i = 0; i < count && !context.signal.aborted; i += 1) {
      if (i > 0) await context.host.sleep(everyMs, context.signal).catch(() => {});
      if (!context.signal.aborted) yield topData(await watch.look());
    }
  } finally {
    await watch.stop();
  }
}

const snapshot = async (context: Context, watch: TopWatch) => {
  const [{ topLines }, { topData }] = await Promise.all([
    import('../../kv/upgrade/present/top.ts'),
    import('../../kv/upgrade/present/top-watch.ts'),
  ]);
  const state = await watch.look();
  await watch.stop();
  const columns = Math.min(200, columnsOf(context.host.terminal.stdout));
  const text = topLines(state, { columns, rows: 1000, isColored: false, hasKeys: false }).join('\n');
  return recordResult(topData(state), { text });
};

const run = async (context: Context, values: ValuesOf<typeof flags>) => {
  const opened = await openCluster(context, values);
  const everyMs = parseDuration(values.interval ?? '2s', '--interval');
  const [{ topWatch }, { holdRun }] = await Promise.all([
    import('../../kv/upgrade/present/top-watch.ts'),
    import('../../kv/upgrade/present/top-hold.ts'),
  ]);
  const { host, settings } = context;
  const { cluster, access } = opened;
  const state = settings.directories.clusters;
  const watch = topWatch({ host, state, cluster, access }, values.canary ?? false);
  if (isJsonStream(context.format))
    return { kind: 'rows' as const, rows: stream(context, watch, everyMs, values.count ?? Infinity) };
  const { isDrawable, onScreen } = await import('./top-screen.ts');
  if (!isDrawable(context) || context.isFormatGiven === true) return snapshot(context, watch);
  const named = values.cluster === undefined ? [] : ['--cluster', values.cluster];
  const place = { named, look: watch.look, hold: () => holdRun(host, state, cluster.name) };
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
