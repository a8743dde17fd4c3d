import { int, str } from '../../core/field.ts';
import { problem } from '../../core/problem.ts';
import type { Problem } from '../../core/problem.ts';
import { type Context, defineCommand, type Flags } from '../../cli/command.ts';
import { askAny } from './ask.ts';
import { endpointFlags } from './cluster-flags.ts';
import { type Opened, openCluster } from './open-cluster.ts';
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

/** What can be read now, in revisions. */
export const newestAndOldest = async (
  context: Context,
  opened: Opened,
): Promise<{ readonly oldest: number; readonly newest: number }> => {
  const { oldestRevision } = await import('../../etcd-client/compacted-revision.ts');
  return askAny(context, opened, async (store) => {
    const { revision } = await store.range('opsctl/none');
    return { newest: revision, oldest: await oldestRevision(store, revision) };
  });
};

const oneOf = (given: Readonly<Record<string, unknown>>): Problem[] => {
  const names = ['revision', 'keep-last', 'keep-for'].filter((name) => given[name] !== undefined);
  if (names.length === 1) return [];
  const [code, what] =
    names.length === 0
      ? (['required', 'must be given, or --keep-last, or --keep-for'] as const)
      : (['exclusive', `cannot be given together with --${names.at(-1)}`] as const);
  return [problem('<revision>', code, what, 'opsctl kv compact --keep-last 10000')];
};

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
      import('../../kv-operations/compact/plan.ts'),
    ]);
    const waitMs = values['keep-for'] === undefined ? 0 : parseDuration(values['keep-for'], '--keep-for');
    const { oldest, newest } = await newestAndOldest(context, opened);
    const kept = values['keep-last'];
    const revision = values.revision ?? (kept === undefined ? newest : Math.max(1, newest - kept + 1));
    return operated(context, opened, {
      operation: 'compact',
      plan: async (observation, id) => compactPlan(observation, { id, oldest, newest, revision, waitMs }),
      acts: async () => (await import('../../kv-operations/compact/act.ts')).compactActs,
      question: `Remove the history before revision ${revision} of ${opened.cluster.name}?`,
    });
  },
});
