import { messageOf } from '../../core/error-message.ts';
import { AppError } from '../../core/problem.ts';
import type { Status, Store } from '../client/etcd-client.ts';
import { minorOf } from '../../api-specs/etcd/versions.ts';
import { openGate, passGate } from '../upgrade/execute/gate.ts';
import { gateMs } from '../upgrade/execute/health-verdict.ts';
import { handOver } from '../upgrade/execute/move-leader.ts';
import { stopProblem } from '../upgrade/guards/quorum-survives.ts';
import { observe } from '../upgrade/observe/observe.ts';
import { memberOf } from '../upgrade/run.ts';
import type { GateCheck, Observation } from '../engine/types.ts';
import { disarms, healthBeyondAlarms } from './alarmed.ts';
import type { Act, Operation, OperationStep } from './types.ts';

/** A busy member takes its time: the short time of a first look is not enough to stop an operation for. */
export const patientMs = 10_000;
export const storeOf = ({ checking }: Operation, name: string, timeoutMs?: number): Store =>
  checking.access.store(memberOf(checking, name).client_url, timeoutMs);

export const observeNow = ({ host, cluster, checking }: Operation): Promise<Observation> =>
  observe({ host, cluster, access: checking.access });

export const memberStep = ({ member }: OperationStep): string => member as string;

/** What a member without space, or one that nobody can look at from here, cannot pass. */
const fullStore: readonly GateCheck[] = ['health', 'write', 'read-back', 'alarms', 'hash'];
const skipsOf = ({ hasDriver, plan }: Operation): ReadonlySet<GateCheck> =>
  new Set([
    ...(hasDriver ? [] : (['process'] as const)),
    ...(plan.operation === 'recover-space' ? fullStore : []),
  ]);

/** The health check of the upgrade: nothing else is touched before this member has passed it. */
export const passCheck = async (operation: Operation, name: string): Promise<void> => {
  const { checking } = operation;
  const { server } = await storeOf(operation, name, patientMs).versions();
  const gate = openGate(checking, name, minorOf(server) ?? checking.plan.to);
  await passGate({ ...gate, skips: skipsOf(operation) }, gateMs(checking, name)).catch((error: unknown) => {
    throw new AppError('stopped', messageOf(error), {
      code: 'NOT_HEALTHY',
      tryThis: [`read the log of ${name}`, 'opsctl kv status'],
      cause: error,
    });
  });
};
export const check: Act = async (operation, step) => {
  await passCheck(operation, memberStep(step));
  return undefined;
};

const leads = (status: Status): boolean => status.leader_id === status.member_id;
/** Somebody else may have become the leader since the plan: the member that is touched next must not lead. */
export const moveLeaderAway = async (operation: Operation, name: string, target: string): Promise<void> => {
  const store = storeOf(operation, name, patientMs);
  if (!leads(await store.status()) || !(await store.row()).can.moveLeader) return;
  await handOver(operation.checking, name, target);
};
export const moveLeader: Act = async (operation, step) => {
  await moveLeaderAway(operation, memberStep(step), step.target as string);
  return undefined;
};

const answeringNow = async (operation: Operation): Promise<Observation> => {
  const seen = await observeNow(operation);
  return seen.alarms.length > 0 && disarms(operation.plan) ? healthBeyondAlarms(seen) : seen;
};

const lookAgainMs = 250;
/** An election, or a busy machine, looks like a sick member for a moment: that passes. */
const lostQuorum = async (operation: Operation, name: string): Promise<string | undefined> => {
  const { host, cluster, signal } = operation;
  const until = host.elapsed() + patientMs;
  for (;;) {
    const problem = stopProblem(await answeringNow(operation), name, cluster.members.length === 2);
    if (problem === undefined || host.elapsed() >= until || signal.aborted) return problem;
    await host.sleep(lookAgainMs);
  }
};

/** Without this member a majority must stay, and it must be there now. */
export const refuseLostQuorum = async (operation: Operation, name: string): Promise<void> => {
  const problem = await lostQuorum(operation, name);
  if (problem === undefined) return;
  throw new AppError('stopped', problem, {
    code: 'QUORUM',
    tryThis: ['bring the other members back first'],
  });
};
