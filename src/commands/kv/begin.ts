import { recordResult, type Result } from '../../core/result.ts';
import type { Plan, PlanKind } from '../../kv/engine/types.ts';
import type { Context, Flags, ValuesOf } from '../../cli/command.ts';
import { noPlan } from './outcome.ts';
import { announce, shownPlan } from './shown-plan.ts';
import { planFlags } from './plan-flags.ts';
import { prepare } from './prepare.ts';
import type { Prepared } from './prepare.ts';
import { conducted } from './conducted.ts';
import { confirmStart } from './confirm-start.ts';
import { runFlags } from './run-flags.ts';
import { takenOver } from './taken-over.ts';

/** A crashed run may have left a member down: it is brought to its end before anything new begins. */
const refuseOpenRun = async (context: Context, { opened }: Prepared): Promise<void> => {
  const [{ crashedRun, unfinishedError }, { refuseOtherHere }] = await Promise.all([
    import('../../kv/engine/journal.ts'),
    import('../../kv/engine/machine-lock.ts'),
  ]);
  // A run that somebody is at work on has no end yet either.
  await refuseOtherHere(context.host, context.settings.directories.clusters, opened.cluster.name);
  await takenOver(context, opened);
  const left = await crashedRun(context.host, context.settings.directories.clusters, opened.cluster.name);
  if (left !== undefined) throw unfinishedError(left);
};

const refuseOthersWork = async (context: Context, { opened, observation }: Prepared): Promise<void> => {
  const { refuseOther } = await import('../../kv/engine/take-locks.ts');
  const urls = observation.members.flatMap(({ is_reachable, client_url }) =>
    is_reachable ? [client_url] : [],
  );
  await refuseOther(context.host, context.settings.directories.clusters, opened.cluster, opened.access, urls);
};

/** The plan, when nothing stands against it: no run that is open, no guard that refuses. */
export const clearedPlan = async (context: Context, prepared: Prepared): Promise<Plan> => {
  const { isRefusal } = await import('../../kv/upgrade/plan.ts');
  const { made } = prepared;
  await refuseOpenRun(context, prepared);
  if (!isRefusal(made)) return made;
  await refuseOthersWork(context, prepared);
  throw noPlan(made);
};

const { to: _, 'hold-last': __, 'stable-before-last': ___, ...switchFlags } = planFlags;
/** Flags of what is done member by member, without a point of no return. */
export const memberByMemberFlags = { ...switchFlags, ...runFlags } as const satisfies Flags;
export type MemberByMember = ValuesOf<typeof memberByMemberFlags> & {
  readonly 'keep-program'?: boolean | undefined;
};

/** Looks, plans, asks and carries out: a downgrade or a restart. */
export const begin = async (
  context: Context,
  values: MemberByMember,
  kind: Exclude<PlanKind, 'upgrade'>,
  question: (cluster: string, from: string, to: string) => string,
): Promise<Result> => {
  const prepared = await prepare(context, values, undefined, kind);
  const { opened, driver, run } = prepared;
  const made = await clearedPlan(context, prepared);
  if (context.isDryRun) return recordResult(made, { text: await shownPlan(context, made, 'stdout') });
  const { name } = opened.cluster;
  const asked = question(name, made.from, made.to);
  await announce(context, made, asked);
  await confirmStart(context, name, asked, values);
  return conducted(context, values, { opened, driver, plan: made, run, action: 'upgrade' });
};
