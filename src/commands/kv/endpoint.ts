import { defineCommand } from '../../cli/command.ts';
import { int } from '../../core/field.ts';
import { rowsResult, type Result } from '../../core/result.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { endpointStores } from './endpoint-stores.ts';

export const endpointHash = defineCommand({
  path: ['kv', 'endpoint', 'hashkv'],
  summary: 'Hash the keyspace of every endpoint at one revision, and compare',
  about:
    'All endpoints are asked for the same revision, so that their hashes can be compared. Versions from 3.3 on can. A member does nothing else while it hashes. ' +
    'Exit code 20 when an endpoint does not answer or the members hold different data.',
  flags: {
    ...endpointFlags,
    rev: {
      field: int({ min: 1 }),
      summary: 'Revision up to which keys are hashed (default: the newest that all endpoints have)',
      value: 'revision',
    },
  },
  examples: [
    {
      line: 'opsctl kv endpoint hashkv --endpoints localhost:2379,localhost:22379',
      says: 'the same hash on both when they hold the same data',
    },
    {
      line: 'opsctl kv endpoint hashkv --cluster cluster.yaml --rev 1200 -o json',
      says: 'with revision, compaction and version of each',
    },
  ],
  run: async (context, values) => {
    const { hashedAt, hashVerdict } = await import('../../kv/operations/endpoints.ts');
    const asked = await endpointStores(context, await openCluster(context, values));
    const rows = await hashedAt(asked, values.rev);
    const { isSame, warning } = hashVerdict(rows);
    if (warning !== undefined) context.log.warn(warning);
    return {
      ...rowsResult(rows, { columns: ['endpoint', 'hash', 'error'], name: 'endpoint' }),
      exit: () => (isSame ? 'done' : 'no'),
    } as Result;
  },
});
