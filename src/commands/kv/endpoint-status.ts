import { defineCommand } from '../../cli/command.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { judged } from './endpoint-rows.ts';
import { endpointStores } from './endpoint-stores.ts';

export const endpointStatus = defineCommand({
  path: ['kv', 'endpoint', 'status'],
  summary: 'Show version, size, leader and raft position of every endpoint',
  flags: endpointFlags,
  examples: [{ line: 'opsctl kv endpoint status --cluster cluster.yaml', says: 'one row for each member' }],
  run: async (context, values) => {
    const { askedStatus, statusColumns } = await import('../../kv/operations/status.ts');
    const asked = await endpointStores(context, await openCluster(context, values));
    const rows = await Promise.all(asked.map(askedStatus));
    return judged(rows, (row) => row['error'] === undefined, statusColumns(rows));
  },
});
