import { defineCommand } from '../../cli/command.ts';
import { str } from '../../core/field.ts';
import type { Flags } from '../../core/flag.ts';
import { recordResult } from '../../core/result.ts';
import { endpointFlags } from './flags.ts';
import { askAny, openCluster } from './prepare.ts';

const setFlags = {
  ...endpointFlags,
  reason: {
    effects: [],
    field: str(500, { min: 1 }),
    summary: 'Reason, which every refused run prints',
    value: 'text',
  },
} as const satisfies Flags;
export const holdSet = defineCommand({
  path: ['kv', 'hold', 'set'],
  noDryRun: 'opsctl kv hold show',
  summary: 'Store a hold in the cluster',
  about:
    'While the hold is stored, no upgrade of any machine passes the point of no return of this cluster: it holds before the last member, where a rollback is possible. No flag of the upgrade overrides it.',
  flags: setFlags,
  examples: [
    {
      line: 'opsctl kv hold set --reason "soak test until Friday" --cluster cluster.yaml',
      says: 'Keep the way to the old version open for every operator',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { clusterHold, holdKey } = await import('../../kv/engine/hold.ts');
    const hold = clusterHold(context.host, values.reason);
    await askAny(context, opened, (store) => store.put(holdKey, JSON.stringify(hold)));
    const message = `${opened.cluster.name} is held: no upgrade passes its point of no return`;
    return recordResult({ cluster: opened.cluster.name, ...hold }, { message });
  },
});
export const holdShow = defineCommand({
  path: ['kv', 'hold', 'show'],
  summary: 'Show the hold of the cluster',
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { holdKey, parseHold } = await import('../../kv/engine/hold.ts');
    const { kvs } = await askAny(context, opened, (store) => store.range(holdKey));
    const hold = parseHold(kvs[0]?.value);
    return recordResult(
      { cluster: opened.cluster.name, is_held: hold !== undefined, ...hold },
      { message: hold === undefined ? 'no hold' : `held by ${hold.by} since ${hold.since}: ${hold.reason}` },
    );
  },
});
export const holdRemove = defineCommand({
  path: ['kv', 'hold', 'remove'],
  noDryRun: 'opsctl kv hold show',
  summary: 'Remove the hold of the cluster',
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { name } = opened.cluster;
    await context.confirm(`Remove the hold of ${name}? An upgrade can then pass the point of no return.`);
    const { holdKey } = await import('../../kv/engine/hold.ts');
    const { deleted } = await askAny(context, opened, (store) => store.del(holdKey));
    return recordResult(
      { cluster: name, was_held: deleted > 0 },
      { message: deleted > 0 ? `removed the hold of ${name}` : `${name} was not held` },
    );
  },
});
