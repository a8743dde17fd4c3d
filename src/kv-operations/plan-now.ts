import { AppError, problem } from '../core/problem.ts';
import type { Access } from '../kv-upgrade/observe/access.ts';
import { observe } from '../kv-upgrade/observe/observe.ts';
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

const refusal = ({ refused, findings }: OperationRefusal): AppError => {
  const [first, ...rest] = refused;
  const more = rest.length === 0 ? '' : ` (and ${rest.length} more)`;
  return new AppError(
    'unsafe',
    `refused, nothing was changed: ${first?.message ?? 'a guard refused'}${more}`,
    {
      code: first?.guard.toUpperCase().replaceAll('-', '_') ?? 'REFUSED',
      problems:
        rest.length === 0
          ? []
          : refused.map(({ guard, message, hint }) => problem(guard, 'rule', message, hint)),
      tryThis: first?.hint === undefined ? ['opsctl kv status'] : [first.hint],
      data: { refused, findings },
    },
  );
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
    if (observation.leader !== undefined || host.elapsed() >= until) throw refusal(made);
    await host.sleep(lookAgainMs);
  }
};
