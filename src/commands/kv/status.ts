import { defineCommand, type Context } from '../../cli/command.ts';
import { recordResult } from '../../core/result.ts';
import { columnsOf } from '../../core/wrap.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';

/** The last restore, when nothing was upgraded since. */
const lastRestore = async ({ host, settings }: Context, cluster: string, endedAt: string | undefined) => {
  const { readRestore, restoreLine } = await import('../../kv/upgrade/restore/restore-journal.ts');
  const line = restoreLine(await readRestore(host, settings.directories.clusters, cluster));
  return line === undefined || (endedAt !== undefined && line.at < endedAt) ? undefined : line;
};

const openOperation = async ({ host, settings }: Context, cluster: string) =>
  (await import('../../kv/operations/unfinished.ts')).operationLine(
    host,
    settings.directories.clusters,
    cluster,
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
    const [{ observe }, { observationText }, { lastRun }, { statusLines }] = await Promise.all([
      import('../../kv/upgrade/observe/observe.ts'),
      import('../../kv/upgrade/present/text.ts'),
      import('../../kv/upgrade/present/last-run.ts'),
      import('../../kv/upgrade/present/status-lines.ts'),
    ]);
    const { host, settings } = context;
    const state = settings.directories.clusters;
    const observation = await observe({ host: host, cluster, access });
    const run =
      file === undefined ? undefined : await lastRun(host, state, opened, observation.cluster_version);
    const restored = file === undefined ? undefined : await lastRestore(context, cluster.name, run?.endedAt);
    const simulated = cluster.simulated === true ? { simulated: true } : {};
    const operation = file === undefined ? undefined : await openOperation(context, cluster.name);
    const data = {
      ...observation,
      ...simulated,
      ...(run === undefined ? {} : { last_run: { run: run.run, outcome: run.outcome } }),
      ...(restored === undefined ? {} : { last_restore: { outcome: restored.outcome, at: restored.at } }),
      ...(operation === undefined ? {} : { unfinished_operation: operation }),
    };
    const columns = columnsOf(host.terminal.stdout);
    const said = statusLines({ observation, run, restored, operation }, columns);
    const text = [observationText(observation, columns), ...said].join('\n');
    return recordResult(
      data,
      { text, namesCommands: true },
      observation.members.every(({ is_healthy }) => is_healthy) ? undefined : 'no',
    );
  },
});
