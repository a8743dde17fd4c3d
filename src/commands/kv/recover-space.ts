import { int, str } from '../../core/field.ts';
import { defineCommand, type Flags } from '../../cli/command.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { operated } from './operated.ts';

const flags = {
  ...endpointFlags,
  'keep-last': {
    field: int({ min: 1 }),
    summary: 'Revisions of history to keep (default 1000)',
    value: 'n',
  },
  'max-blocked': {
    field: str(undefined, { min: 1 }),
    summary: 'Longest time for which the clients of one member may wait (default 2m)',
    value: 'duration',
  },
} as const satisfies Flags;
const keptRevisions = 1000;

import { askAny } from './ask.ts';

export const recoverSpace = defineCommand({
  path: ['kv', 'recover-space'],
  summary: 'After NOSPACE: compact, defragment each member, disarm the alarm, verify a write',
  about:
    'For a store that takes no write because a member has reached its quota (alarm NOSPACE). Every step is shown, and at a terminal each is confirmed. ' +
    'A full store can hold no lock: only operators on this machine are kept out.',
  flags,
  examples: [
    { line: 'opsctl kv recover-space --cluster cluster.yaml', says: 'step by step, each confirmed' },
    {
      line: 'opsctl kv recover-space --cluster cluster.yaml --keep-last 1 --yes',
      says: 'no history is kept',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const [{ parseDuration }, { recoverPlan }] = await Promise.all([
      import('../../core/duration.ts'),
      import('../../kv/operations/space.ts'),
    ]);
    const maxBlockedMs = parseDuration(values['max-blocked'] ?? '2m', '--max-blocked');
    const { newestAndOldest } = await import('../../kv/client/revisions.ts');
    const { oldest, newest } = await askAny(context, opened, newestAndOldest);
    const revision = Math.max(1, newest - (values['keep-last'] ?? keptRevisions) + 1);
    return operated(context, opened, {
      operation: 'recover-space',
      plan: async (observation, id) =>
        recoverPlan({ id, observation, cluster: opened.cluster, oldest, newest, revision, maxBlockedMs }),
      acts: async () => (await import('../../kv/operations/acts.ts')).recoverActs,
      question: `Recover space in ${opened.cluster.name}?`,
      asksEachStep: true,
    });
  },
});
