import { defineCommand } from '../../cli/command.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { endpointStores } from './endpoint-stores.ts';

export const endpointHealth = defineCommand({
  path: ['kv', 'endpoint', 'health'],
  summary: 'Commit a proposal through every endpoint',
  about: 'One line for each endpoint; another format with -o. Exit code 20 when one of them is unhealthy.',
  flags: endpointFlags,
  examples: [
    {
      line: 'opsctl kv endpoint health --endpoints localhost:2379,localhost:22379',
      says: 'localhost:2379 is healthy: successfully committed proposal: took = 2.1ms',
    },
  ],
  run: async (context, values) => {
    const { proposalText, propose } = await import('../../kv/operations/health.ts');
    const asked = await endpointStores(context, await openCluster(context, values));
    const rows = await Promise.all(asked.map((endpoint) => propose(context.host, endpoint)));
    const exit = () => (rows.every((row) => row.health) ? ('done' as const) : ('no' as const));
    if (context.isFormatGiven === true)
      return {
        kind: 'rows',
        rows,
        view: { columns: ['endpoint', 'health', 'took', 'error'], name: 'endpoint' },
        exit,
      };
    if (exit() === 'no') context.log.warn('unhealthy cluster');
    return {
      kind: 'raw',
      chunks: [`${proposalText(rows)}\n`],
      ...(exit() === 'no' ? { exit: 'no' as const } : {}),
    };
  },
});
