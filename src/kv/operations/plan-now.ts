import { electionPatienceMs } from '../upgrade/execute/patience.ts';
import type { Access } from '../engine/access.ts';
import { observe } from '../upgrade/observe/observe.ts';
import { refusalError } from '../upgrade/refusal-error.ts';
import type { Driver } from '../upgrade/supervisors/driver.ts';
import type { ClusterFile, Observation } from '../engine/types.ts';
import type { Host } from '../../platform/host.ts';
import { newOperationId } from './journal.ts';
import { isRefused } from './plan.ts';
import type { OperationKind, OperationPlan, OperationRefusal } from './types.ts';
import { operationToResume } from './unfinished.ts';

/** What is to be done, and its planner. */
export type Planning = {
  readonly operation: OperationKind;
  readonly subject?: string;
  /** Looked at before; `id` names the operation. */
  plan(observation: Observation, id: string): Promise<OperationPlan | OperationRefusal>;
};
type Place = {
  readonly host: Host;
  readonly state: string;
  readonly cluster: ClusterFile;
  readonly access: Access;
  readonly driver: Driver | undefined;
};

const lookAgainMs = 250;
/**
 * While a leader is elected every member looks sick, and for a moment afterwards some of them (`leader changed`): that passes. An alarm does not,
 * nor does a member that does not answer.
 */
const passes = ({ leader, alarms, members }: Observation): boolean =>
  leader === undefined ||
  (alarms.length === 0 && members.some(({ is_reachable, is_healthy }) => is_reachable && !is_healthy));

/** The plan that an interrupted operation goes on with, else one for the cluster as it is now. */
export const planNow = async (
  { host, state, cluster, access, driver }: Place,
  asked: Planning,
): Promise<{ readonly plan: OperationPlan; readonly isResumed: boolean }> => {
  const left = await operationToResume(host, state, cluster, asked);
  if (left !== undefined) return { plan: left, isResumed: true };
  const until = host.elapsed() + electionPatienceMs;
  for (;;) {
    const observation = await observe({ host, cluster, access, ...(driver === undefined ? {} : { driver }) });
    const made = await asked.plan(observation, await newOperationId(host, state, cluster.name));
    if (!isRefused(made)) return { plan: made, isResumed: false };
    if (!passes(observation) || host.elapsed() >= until)
      throw refusalError(made, (hint) => [hint ?? 'opsctl kv status']);
    await host.sleep(lookAgainMs);
  }
};
