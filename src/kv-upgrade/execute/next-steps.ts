import { minorOf } from '../../api-specs/etcd/versions.ts';
import type { Observation, Outcome, Plan } from '../types.ts';

type Where = {
  readonly outcome: Outcome;
  readonly plan: Pick<Plan, 'from' | 'to'>;
  readonly isRollback: boolean;
  readonly after?: Pick<Observation, 'members'> | undefined;
};

/** What can be typed after the end of a run, the best first. After a hold the next command depends on what it held for. Pure. */
export const nextSteps = ({ outcome, plan, isRollback, after }: Where): string[] => {
  if (outcome === 'done' || outcome === 'aborted' || outcome === 'refused') return [];
  if (outcome === 'rolled-back' && isRollback) return ['opsctl kv upgrade'];
  const hasMoved =
    after?.members.some(({ cluster_version }) => minorOf(cluster_version) === plan.to) === true;
  return ['opsctl kv resume', hasMoved ? 'opsctl kv restore' : 'opsctl kv rollback'];
};
