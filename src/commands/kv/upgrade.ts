import { resolve } from 'node:path';
import { str } from '../../core/field.ts';
import { AppError, problem } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { withCurrentFindings } from '../../kv-upgrade/journal/earlier-names.ts';
import type { Plan, PlanOptions } from '../../kv-upgrade/types.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { arrived, digestError, refusalError } from './outcome.ts';
import { refuseOpenRun, refuseOthersWork } from './begin.ts';
import { planFlags, prepare } from './planning.ts';
import { announcedPlan, shownPlan } from './shown-plan.ts';
import { conducted, confirmStart, crossingFlags, runFlags } from './running.ts';

const flags = {
  ...planFlags,
  ...runFlags,
  ...crossingFlags,
  plan: {
    field: str(undefined, { min: 1 }),
    summary: 'Carry out this plan; refused when the cluster no longer matches it',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

/** What the plan is made again with; everything else of the file is compared by its digest. */
const areOptions = (given: unknown): given is PlanOptions => {
  const { accept, copy_data, hold_last, stable_seconds, to, hold_after, stable_before_last_seconds } =
    (given ?? {}) as Record<string, unknown>;
  const isAbsentOr = (type: string, value: unknown): boolean => value === undefined || typeof value === type;
  return (
    Array.isArray(accept) &&
    accept.every((name) => typeof name === 'string') &&
    typeof copy_data === 'boolean' &&
    typeof hold_last === 'boolean' &&
    typeof stable_seconds === 'number' &&
    isAbsentOr('string', to) &&
    [hold_after, stable_before_last_seconds].every((value) => isAbsentOr('number', value))
  );
};

const readPlan = async (context: Context, path: string): Promise<Plan> => {
  const text = await context.host.files.read(resolve(context.host.cwd, path));
  if (text === undefined)
    throw new AppError('usage', `--plan: there is no file ${path}`, { code: 'NO_PLAN' });
  try {
    const plan = withCurrentFindings(JSON.parse(text) as Plan);
    if (plan.format === 1 && typeof plan.digest === 'string' && areOptions(plan.options)) return plan;
  } catch {
    // Said below: a file that is no JSON and one that is no plan are the same mistake.
  }
  throw new AppError('usage', `--plan: ${path} is not a plan`, {
    code: 'NO_PLAN',
    tryThis: ['opsctl kv plan --out plan.json'],
  });
};

export const upgrade = defineCommand({
  path: ['kv', 'upgrade'],
  summary: 'Upgrade a cluster to the next version, member by member, without downtime',
  about:
    'Looks, plans, asks, and then replaces one member after another: verified snapshot, stop, start, proof that the member is good. A member that fails is rolled back at once. ' +
    'Before the last member of the old version it asks once more: after that member the cluster cannot go back. The first Ctrl-C finishes the member in progress and stops; kv resume goes on. Exit codes: 0 done, 8 stopped part-way, 10 refused and nothing changed, 12 rolled back.',
  flags,
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

/** Before the question the plan, which has the warnings too; without a question the warnings alone. */
const announce = async (context: Context, plan: Plan, question: string): Promise<void> => {
  if (context.isInteractive && !context.isConfirmed) {
    context.log.info(`${await announcedPlan(context, plan, question)}\n`);
    return;
  }
  for (const { level, message, hint } of plan.findings)
    if (level === 'warn') context.log.warn(hint === undefined ? message : `${message} → ${hint}`);
};

const upgradeRun = async (context: Context, values: ValuesOf<typeof flags>) => {
  const given = values.plan === undefined ? undefined : await readPlan(context, values.plan);
  const prepared = await prepare(context, values, given?.options);
  const { isRefusal } = await import('../../kv-upgrade/plan.ts');
  const { made, opened, run } = prepared;
  const done = await arrived(prepared);
  if (done !== undefined) return done;
  await refuseOpenRun(context, prepared);
  if (isRefusal(made)) {
    await refuseOthersWork(context, prepared);
    throw refusalError(made);
  }
  if (given !== undefined && given.digest !== made.digest) throw digestError(given, made);
  if (context.isDryRun)
    return recordResult(made, {
      text: await shownPlan(context, made, 'stdout'),
    });
  const { name } = opened.cluster;
  const question = `Upgrade ${name} from ${made.from} to ${made.to}?`;
  await announce(context, made, question);
  await confirmStart(context, name, question, values);
  return conducted(context, values, { opened, plan: made, run, action: 'upgrade' });
};
