import { defineCommand, type Flags } from '../../cli/command.ts';
import { int, str } from '../../core/field.ts';
import { problem, type Problem } from '../../core/problem.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { operated } from './operated.ts';

const flags = {
  ...endpointFlags,
  'keep-last': {
    field: int({ min: 1 }),
    summary: 'Instead of a revision: keep so many of the newest ones',
    value: 'n',
  },
  'keep-for': {
    field: str(undefined, { min: 1 }),
    summary: 'Instead of a revision: wait so long, then remove what is older than now',
    value: 'duration',
  },
} as const satisfies Flags;

const oneOf = (given: Readonly<Record<string, unknown>>): Problem[] => {
  const names = ['revision', 'keep-last', 'keep-for'].filter((name) => given[name] !== undefined);
  if (names.length === 1) return [];
  const [code, what] =
    names.length === 0
      ? (['required', 'must be given, or --keep-last, or --keep-for'] as const)
      : (['exclusive', `cannot be given together with --${names.at(-1)}`] as const);
  return [problem('<revision>', code, what, 'opsctl kv compact --keep-last 10000')];
};

import { askAny } from './ask.ts';

export const compact = defineCommand({
  path: ['kv', 'compact'],
  summary: 'Remove history up to a revision, and wait until its space is free',
  about:
    'The newest value of every key stays. Reads and watches that begin before the revision are refused from then on. ' +
    'The files keep their size: opsctl kv defrag gives the space back.',
  args: [
    {
      name: 'revision',
      field: int({ min: 1 }),
      summary: 'The oldest revision that can be read afterwards',
      optional: true,
    },
  ],
  flags,
  check: oneOf,
  examples: [
    {
      line: 'opsctl kv compact --keep-last 10000 --cluster cluster.yaml --dry-run',
      says: 'which revisions would go',
    },
    { line: 'opsctl kv compact 120000 --endpoints localhost:2379 --yes', says: 'up to a known revision' },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const [{ parseDuration }, { compactPlan }] = await Promise.all([
      import('../../core/duration.ts'),
      import('../../kv/operations/compact-plan.ts'),
    ]);
    const waitMs = values['keep-for'] === undefined ? 0 : parseDuration(values['keep-for'], '--keep-for');
    const { newestAndOldest } = await import('../../kv/client/revisions.ts');
    const { oldest, newest } = await askAny(context, opened, newestAndOldest);
    const kept = values['keep-last'];
    const revision = values.revision ?? (kept === undefined ? newest : Math.max(1, newest - kept + 1));
    return operated(context, opened, {
      operation: 'compact',
      plan: async (observation, id) => compactPlan(observation, { id, oldest, newest, revision, waitMs }),
      acts: async () => (await import('../../kv/operations/act.ts')).compactActs,
      question: `Remove the history before revision ${revision} of ${opened.cluster.name}?`,
    });
  },
});
