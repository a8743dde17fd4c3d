import type { Access } from '../kv-upgrade/observe/access.ts';
import { observe } from '../kv-upgrade/observe/observe.ts';
import { refusalError } from '../kv-upgrade/refusal-error.ts';
import type { Driver } from '../kv-upgrade/supervisors/driver.ts';
import type { ClusterFile, Observation } from '../kv-upgrade/types.ts';
import type { Host } from '../platform/host.ts';
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

/** An election takes one to two seconds, and more where clocks are slow. */
const [electionMs, lookAgainMs] = [5000, 250];

/** The plan that an interrupted operation goes on with, else one for the cluster as it is now. */
export const planNow = async (
  { host, state, cluster, access, driver }: Place,
  asked: Planning,
): Promise<{ readonly plan: OperationPlan; readonly isResumed: boolean }> => {
  const left = await operationToResume(host, state, cluster, asked);
  if (left !== undefined) return { plan: left, isResumed: true };
  const until = host.elapsed() + electionMs;
  for (;;) {
    const observation = await observe({ host, cluster, access, ...(driver === undefined ? {} : { driver }) });
    const made = await asked.plan(observation, await newOperationId(host, state, cluster.name));
    if (!isRefused(made)) return { plan: made, isResumed: false };
    // While a leader is elected every member looks sick: that passes.
    if (observation.leader !== undefined || host.elapsed() >= until)
      throw refusalError(made, (hint) => [hint ?? 'opsctl kv status']);
    await host.sleep(lookAgainMs);
  }
};
