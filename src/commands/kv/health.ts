import { defineCommand } from '../../cli/command.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { judged } from './endpoint-rows.ts';
import { endpointStores } from './endpoint-stores.ts';

export const health = defineCommand({
  path: ['kv', 'health'],
  summary: 'Ask every member for its /health',
  flags: endpointFlags,
  examples: [
    {
      line: 'opsctl kv health --endpoints 127.0.0.1:2379',
      says: 'exit code 20 when a member is not healthy',
    },
  ],
  run: async (context, values) => {
    const { askedHealth } = await import('../../kv/operations/health.ts');
    const asked = await endpointStores(context, await openCluster(context, values));
    const rows = await Promise.all(asked.map(askedHealth));
    return judged(rows, (row) => row['health'] === 'true', ['endpoint', 'health', 'status', 'reason']);
  },
});
