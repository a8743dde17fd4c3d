import { createHash } from 'node:crypto';
import type { Finding, Observation } from '../engine/types.ts';
import type { OperationPlan, OperationRefusal } from './types.ts';

/** Everything that decides what will be done; times, sizes and indexes do not. */
const digestOf = (plan: Omit<OperationPlan, 'digest'>): string => {
  const members = plan.observation.members.map(({ name, client_url, member_id, cluster_id }) => [
    name,
    client_url,
    member_id,
    cluster_id,
  ]);
  const steps = plan.steps.map(({ id, kind, member, target }) => [id, kind, member, target]);
  return createHash('sha256')
    .update(JSON.stringify([plan.operation, plan.subject, plan.cluster, plan.values, members, steps]))
    .digest('hex');
};

type Content = Omit<OperationPlan, 'format' | 'digest' | 'made_at' | 'cluster'>;
/** The plan, or all reasons against it. Pure. */
export const planned = (content: Content): OperationPlan | OperationRefusal => {
  const { findings, observation } = content;
  const refused = findings.filter(({ level }) => level === 'fail');
  if (refused.length > 0) return { refused, findings, observation };
  const plan = {
    format: 1 as const,
    ...content,
    cluster: observation.cluster,
    made_at: observation.taken_at,
  };
  return { ...plan, digest: digestOf(plan) };
};
export const isRefused = (made: OperationPlan | OperationRefusal): made is OperationRefusal =>
  'refused' in made;

type Said = { readonly member?: string; readonly message: string; readonly hint?: string };
/** A condition of an operation as a finding: `problem` undefined is a pass, and `good` says what was seen. */
export const condition = (
  guard: string,
  good: string,
  problem: Said | undefined,
  level: 'fail' | 'warn' = 'fail',
): Finding =>
  problem === undefined ? { guard, level: 'pass', message: good } : { guard, level, ...problem };

/** Followers first, as the cluster file lists them; the leader last. */
export const leaderLast = ({ members }: Observation): Observation['members'] =>
  members.toSorted((a, b) => Number(a.is_leader) - Number(b.is_leader));
