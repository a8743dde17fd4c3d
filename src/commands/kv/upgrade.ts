import { defineCommand, type Context, type ValuesOf } from '../../cli/command.ts';
import { problem } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { clearedPlan } from './begin.ts';
import { conducted } from './conducted.ts';
import { confirmStart } from './confirm-start.ts';
import { arrived, digestError } from './outcome.ts';
import { planFlags } from './plan-flags.ts';
import { prepare } from './prepare.ts';
import { announce, shownPlan } from './shown-plan.ts';
import { upgradeFlags } from './upgrade-flags.ts';

export const upgrade = defineCommand({
  path: ['kv', 'upgrade'],
  summary: 'Upgrade a cluster to the next version, member by member, without downtime',
  about:
    'Looks, plans, asks, and then replaces one member after another: verified snapshot, stop, start, proof that the member is good. A member that fails is rolled back at once. ' +
    'Before the last member of the old version it asks once more: after that member the cluster cannot go back. The first Ctrl-C finishes the member in progress and stops; kv resume goes on. Exit codes: 0 done, 8 stopped part-way, 10 refused and nothing changed, 12 rolled back.',
  flags: upgradeFlags,
  examples: [
    { line: 'opsctl kv upgrade --cluster cluster.yaml', says: 'shows the plan and asks' },
    {
      line: 'opsctl kv upgrade --cluster cluster.yaml --hold-after 1 --yes',
      says: 'one member, then a soak; kv resume goes on',
    },
    {
      line: 'opsctl kv upgrade --cluster cluster.yaml --yes --accept-point-of-no-return -o ndjson',
      says: 'for scripts: to the end, one event a line',
    },
  ],
  check: (values) => {
    const decided = (Object.keys(planFlags) as (keyof typeof planFlags)[]).filter(
      (name) => name !== 'cluster' && values.plan !== undefined && values[name] !== undefined,
    );
    return decided.map((name) =>
      problem(
        `--${name}`,
        'exclusive',
        'is part of the plan and cannot be given together with --plan',
        `opsctl kv plan --${name} … --out FILE puts it there`,
      ),
    );
  },
  run: async (context, values) => upgradeRun(context, values),
});

const upgradeRun = async (context: Context, values: ValuesOf<typeof upgradeFlags>) => {
  const { readPlan } = await import('../../kv/upgrade/plan-file.ts');
  const given = values.plan === undefined ? undefined : await readPlan(context.host, values.plan);
  const prepared = await prepare(context, values, given?.options);
  const { opened, driver, run } = prepared;
  const done = await arrived(prepared);
  if (done !== undefined) return done;
  const made = await clearedPlan(context, prepared);
  if (given !== undefined && given.digest !== made.digest) throw digestError(given, made);
  if (context.isDryRun)
    return recordResult(made, {
      text: await shownPlan(context, made, 'stdout'),
    });
  const { name } = opened.cluster;
  const question = `Upgrade ${name} from ${made.from} to ${made.to}?`;
  await announce(context, made, question);
  await confirmStart(context, name, question, values);
  return conducted(context, values, { opened, driver, plan: made, run, action: 'upgrade' });
};
