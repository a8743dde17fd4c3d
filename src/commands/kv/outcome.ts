import { AppError, problem } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import type { Result } from '../../core/result.ts';
import type { Plan, Refusal } from '../../kv-upgrade/types.ts';
import type { Prepared } from './prepare.ts';

/** Nothing was changed: every reason at once, the first in the message. */
export const refusalError = ({ refused, findings }: Refusal): AppError => {
  const [first, ...rest] = refused;
  const more = rest.length === 0 ? '' : ` (and ${rest.length} more)`;
  const hints = first?.hint === undefined ? [] : [first.hint];
  return new AppError(
    'unsafe',
    `refused, nothing was changed: ${first?.message ?? 'a guard refused'}${more}`,
    {
      code: first?.guard.toUpperCase().replaceAll('-', '_') ?? 'REFUSED',
      problems:
        rest.length === 0
          ? []
          : refused.map(({ guard, message, hint }) => problem(guard, 'rule', message, hint)),
      tryThis: [...hints, 'opsctl kv check shows every finding'],
      data: { refused, findings },
    },
  );
};

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
