import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { crosses, kindOf } from '../plan-kind.ts';
import type { Observation, Outcome, Plan } from '../../engine/types.ts';

type Where = {
  readonly outcome: Outcome;
  readonly plan: Pick<Plan, 'from' | 'to' | 'kind'>;
  readonly isRollback: boolean;
  readonly after?: Pick<Observation, 'members'> | undefined;
};

/** What can be typed after the end of a run, the best first. After a hold the next command depends on what it held for. Pure. */
export const nextSteps = ({ outcome, plan, isRollback, after }: Where): string[] => {
  if (outcome === 'done' || outcome === 'aborted' || outcome === 'refused') return [];
  if (outcome === 'rolled-back' && isRollback) return [`opsctl kv ${kindOf(plan)}`];
  const hasMoved =
    crosses(plan) &&
    after?.members.some(({ cluster_version }) => minorOf(cluster_version) === plan.to) === true;
  return ['opsctl kv resume', hasMoved ? 'opsctl kv restore' : 'opsctl kv rollback'];
};
