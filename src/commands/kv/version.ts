import { defineCommand } from '../../cli/command.ts';
import { rowsResult, type Result } from '../../core/result.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { endpointStores } from './endpoint-stores.ts';

export const version = defineCommand({
  path: ['kv', 'version'],
  summary: 'Ask every member for its /version',
  flags: endpointFlags,
  examples: [
    { line: 'opsctl kv version --cluster cluster.yaml', says: 'server and cluster version of each member' },
  ],
  run: async (context, values) => {
    const { askedVersions } = await import('../../kv/operations/version.ts');
    const rows = await askedVersions(await endpointStores(context, await openCluster(context, values)));
    return {
      ...rowsResult(rows, { columns: ['endpoint', 'kvserver', 'kvcluster', 'error'], name: 'endpoint' }),
      exit: () => (rows.some((row) => 'error' in row) ? 'partial' : 'done'),
    } as Result;
  },
});
