import { int, str } from '../../core/field.ts';
import { defineCommand, type Flags } from '../../cli/command.ts';
import { openCluster } from './open-cluster.ts';
import { operated } from './operated.ts';
import { operationFlags } from './operation-flags.ts';

const flags = {
  ...operationFlags,
  'max-blocked': {
    field: str(undefined, { min: 1 }),
    summary: 'Longest time for which the clients of one member may wait (default 2m)',
    value: 'duration',
  },
  'min-free': {
    field: int({ min: 0, max: 99 }),
    summary: 'Leave members alone whose file holds less free space, in percent (default 0)',
    value: 'percent',
  },
} as const satisfies Flags;

export const defrag = defineCommand({
  path: ['kv', 'defrag'],
  summary: 'Give free space in the database files back, one member at a time, the leader last',
  about:
    'A member answers nobody while it is defragmented. Before the leader its leadership is moved. After each member a health check has to pass before the next one is touched. ' +
    'Interrupted, the same command goes on within an hour.',
  flags,
  examples: [
    {
      line: 'opsctl kv defrag --cluster cluster.yaml --dry-run',
      says: 'the order, and how long each may wait',
    },
    {
      line: 'opsctl kv defrag --cluster cluster.yaml --min-free 45 --yes',
      says: 'only members of which 45 % are free',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { parseDuration } = await import('../../core/duration.ts');
    const options = {
      maxBlockedMs: parseDuration(values['max-blocked'] ?? '2m', '--max-blocked'),
      minFreePercent: values['min-free'] ?? 0,
    };
    return operated(context, opened, {
      operation: 'defrag',
      plan: async (observation, id) =>
        (await import('../../kv/operations/defrag.ts')).defragPlan({
          observation,
          cluster: opened.cluster,
          options: { id, ...options },
        }),
      acts: async () => (await import('../../kv/operations/defrag-act.ts')).defragActs,
      question: `Defragment the members of ${opened.cluster.name}?`,
      hasCanary: values.canary !== false,
      confirmsEach: values['confirm-each'],
    });
  },
});
