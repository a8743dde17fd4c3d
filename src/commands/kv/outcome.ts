import { AppError } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import type { Result } from '../../core/result.ts';
import { refusalError } from '../../kv-upgrade/refusal-error.ts';
import type { Plan, Refusal } from '../../kv-upgrade/types.ts';
import type { Prepared } from './prepare.ts';

/** Why there is no plan, and where every finding is shown. */
export const noPlan = (refusal: Refusal): AppError =>
  refusalError(refusal, (hint) => [
    ...(hint === undefined ? [] : [hint]),
    'opsctl kv check shows every finding',
  ]);

/** The answer when there is nothing left to do. */
export const arrived = async ({
  observation,
  opened,
  options,
}: Pick<Prepared, 'observation' | 'opened' | 'options'>): Promise<Result | undefined> => {
  const { isArrived, wayOf } = await import('../../kv-upgrade/plan.ts');
  const asked = options.to ?? opened.cluster.to;
  const to = wayOf({ observation, cluster: opened.cluster, options }).to;
  if (asked === undefined || to === undefined || !isArrived(observation, to)) return undefined;
  return recordResult(
    {
      ok: true,
      outcome: 'done',
      message: `cluster ${opened.cluster.name} runs ${to} already`,
      cluster_version: observation.cluster_version,
    },
    {
      message: `cluster ${opened.cluster.name} runs ${to} already: nothing to do`,
      text: `cluster ${opened.cluster.name} runs ${to} already: nothing to do`,
    },
  );
};

export const digestError = (given: Plan, now: Plan): AppError =>
  new AppError(
    'unsafe',
    `refused, nothing was changed: the cluster no longer matches the plan (${differences(given, now).join('; ')})`,
    {
      code: 'PLAN_OUTDATED',
      tryThis: ['opsctl kv plan --out FILE, and look at it again'],
      data: { given: given.digest, now: now.digest },
    },
  );

const differences = (given: Plan, now: Plan): string[] => {
  const found: string[] = [];
  if (given.cluster !== now.cluster) found.push(`the plan is for ${given.cluster}`);
  if (given.from !== now.from || given.to !== now.to)
    found.push(`the way is ${now.from} → ${now.to}, the plan says ${given.from} → ${given.to}`);
  if (given.order.join() !== now.order.join())
    found.push(`the order is ${now.order.join(', ')}, the plan says ${given.order.join(', ')}`);
  return found.length > 0 ? found : ['members, binaries or commands have changed'];
};
