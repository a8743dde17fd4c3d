import { countText } from '../../core/format.ts';
import { next } from '../../core/next.ts';
import { minorOf } from '../../api-specs/etcd/versions.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import { hexId } from '../client/messages.ts';
import { firstAnswer, type ListedMember, type Status, type Store } from '../client/etcd-client.ts';
import type { GateCheck, Observation, Detail } from '../engine/model.ts';
import { openGate, passGate } from '../upgrade/execute/health-check.ts';
import { gateMs } from '../upgrade/execute/connection-checks.ts';
import { handOver } from '../upgrade/execute/member.ts';
import { repairOf, stopProblem } from '../upgrade/guards/membership.ts';
import { isOfRemovedMember } from '../upgrade/guards/store.ts';
import { observe } from '../upgrade/observe/observe.ts';
import { memberOf } from '../upgrade/run.ts';
import type {
  OperationStepHandler,
  OperationStepHandlers,
  Operation,
  OperationPlan,
  OperationStep,
} from './journal.ts';
import { healthIgnoringAlarms, isFull, worksUnderAlarm } from './plan.ts';

/** Timeout for a busy member. The short inspection timeout must not stop an operation. */
export const memberGraceMs = 10_000;
export const storeOf = ({ checking }: Operation, name: string, timeoutMs?: number): Store =>
  checking.access.store(memberOf(checking, name).client_url, timeoutMs);
export const observeNow = ({ host, cluster, checking }: Operation): Promise<Observation> =>
  observe({ host, cluster, access: checking.access });
export const memberStep = ({ member }: OperationStep): string => member as string;
/** Checks that a member without free space, or without a reachable host, cannot pass. */
const fullStore: readonly GateCheck[] = ['health', 'write', 'read-back', 'alarms', 'hash'];
const skipsOf = ({ hasDriver, plan }: Operation): ReadonlySet<GateCheck> =>
  new Set([
    ...(hasDriver ? [] : (['process'] as const)),
    ...(plan.operation === 'recover-space' || isFull(plan.observation) ? fullStore : []),
  ]);
/**
 * Runs the health check of the upgrade. The operation changes no other member before this member has passed
 * it.
 */
export const passCheck = async (operation: Operation, name: string): Promise<void> => {
  const { checking } = operation;
  const { server } = await storeOf(operation, name, memberGraceMs).versions();
  const gate = openGate(checking, name, minorOf(server) ?? checking.plan.to);
  const isStarted = operation.plan.steps.some(({ kind, member }) => kind === 'start' && member === name);
  await passGate({ ...gate, isStarted, skips: skipsOf(operation) }, gateMs(checking, name)).catch(
    (error: unknown) => {
      throw new AppError('stopped', messageOf(error), {
        code: 'NOT_HEALTHY',
        tryThis: [`read the log of ${name}`, next(['kv', 'status'])],
        cause: error,
      });
    },
  );
};
export const check: OperationStepHandler = async (operation, step) => {
  await passCheck(operation, memberStep(step));
  return undefined;
};
const leads = (status: Status): boolean => status.leader_id === status.member_id;
/** Moves the leadership if the member is the leader now. The leader may have changed since the plan. */
export const moveLeaderAway = async (operation: Operation, name: string, target: string): Promise<void> => {
  const store = storeOf(operation, name, memberGraceMs);
  if (!leads(await store.status()) || !(await store.row()).can.moveLeader) return;
  await handOver(operation.checking, name, target);
};
export const moveLeader: OperationStepHandler = async (operation, step) => {
  await moveLeaderAway(operation, memberStep(step), step.target as string);
  return undefined;
};
const answeringNow = async (operation: Operation): Promise<Observation> => {
  const seen = await observeNow(operation);
  return seen.alarms.length > 0 && worksUnderAlarm(operation.plan) ? healthIgnoringAlarms(seen) : seen;
};
const lookAgainMs = 250;
/**
 * Returns why the quorum would be lost. Retries, because a member may seem unhealthy during an election or on
 * a busy machine.
 */
const lostQuorum = async (
  operation: Operation,
  name: string,
): Promise<{ readonly problem: string; readonly hint: string } | undefined> => {
  const { host, cluster, signal } = operation;
  const until = host.elapsed() + memberGraceMs;
  for (;;) {
    const seen = await answeringNow(operation);
    const problem = stopProblem(seen, name, cluster.members.length === 2);
    if (problem === undefined) return undefined;
    if (host.elapsed() >= until || signal.aborted)
      return { problem, hint: repairOf(seen.members, 'start the other members first') };
    await host.sleep(lookAgainMs);
  }
};
/** Throws if the other members are not a healthy majority without this member. */
export const refuseLostQuorum = async (operation: Operation, name: string): Promise<void> => {
  const lost = await lostQuorum(operation, name);
  if (lost === undefined) return;
  throw new AppError('stopped', lost.problem, { code: 'QUORUM', tryThis: [lost.hint] });
};

/**
 * Timeout of a membership change. It waits for a majority and, after a start, until the connections are five
 * seconds old.
 */
const changeMs = 10_000;
const patienceMs = 15_000;
const pollMs = 250;
const changedName = ({ observation, values }: OperationPlan): string | undefined =>
  observation.members.find(({ member_id }) => member_id !== undefined && member_id === values.member_id)
    ?.name;
/**
 * Returns clients of the unchanged members. The changed member may be down or may not know yet that it was
 * removed.
 */
const storesOf = ({ cluster, checking, plan }: Operation): Store[] =>
  cluster.members
    .filter(({ name }) => name !== plan.subject && name !== changedName(plan))
    .map(({ client_url }) => checking.access.store(client_url, changeMs));
export const listedNow = (operation: Operation): Promise<ListedMember[]> =>
  firstAnswer(storesOf(operation), (store) => store.members());
const isPassing = (error: unknown): boolean =>
  error instanceof AppError &&
  (error.detail.code === 'NO_LEADER' ||
    /unhealthy cluster|re-configuration failed|in sync with leader|too many requests/.test(error.message));
/** Retries errors that disappear after a member has started or caught up. */
const patiently = async <T>(
  { host, signal }: Operation,
  withinMs: number,
  work: () => Promise<T>,
): Promise<T> => {
  const until = host.elapsed() + withinMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || host.elapsed() >= until || signal.aborted) throw error;
      await host.sleep(pollMs);
    }
  }
};
const sameUrls = (one: readonly string[], other: readonly string[]): boolean =>
  one.toSorted().join() === other.toSorted().join();
const withUrls = (members: readonly ListedMember[], peerUrls: readonly string[]): ListedMember | undefined =>
  members.find(({ peer_urls }) => sameUrls(peer_urls, peerUrls));
const notProved = (what: string): AppError =>
  new AppError('stopped', `the cluster responded, but its member list does not show the change: ${what}`, {
    code: 'NOT_PROVEN',
    tryThis: [next(['kv', 'member', 'list'])],
  });
/** Waits until the change is listed. Another member may apply it a moment later. */
const awaitListed = async <T>(
  operation: Operation,
  what: string,
  look: (members: readonly ListedMember[]) => T | undefined,
): Promise<T> => {
  const { host, signal } = operation;
  const until = host.elapsed() + patienceMs;
  for (;;) {
    const found = look(await listedNow(operation));
    if (found !== undefined) return found;
    if (host.elapsed() >= until || signal.aborted) throw notProved(what);
    await host.sleep(pollMs);
  }
};
/** Returns the environment of a new member. */
export const startSettings = (
  members: readonly ListedMember[],
  added: ListedMember,
  name: string,
): Readonly<Record<string, string>> => ({
  ETCD_NAME: name,
  ETCD_INITIAL_CLUSTER: members
    .flatMap((member) =>
      member.peer_urls.map((url) => `${member.id === added.id ? name : member.name}=${url}`),
    )
    .join(','),
  ETCD_INITIAL_ADVERTISE_PEER_URLS: added.peer_urls.join(','),
  ETCD_INITIAL_CLUSTER_STATE: 'existing',
});
export const add: OperationStepHandler = async (operation): Promise<Detail> => {
  const { plan, say, holdLock } = operation;
  const { peer_urls = [], is_learner = false } = plan.values;
  if (withUrls(await listedNow(operation), peer_urls) === undefined) {
    await holdLock();
    await patiently(operation, patienceMs, () =>
      firstAnswer(storesOf(operation), (store) => store.addMember(peer_urls, is_learner)),
    );
  }
  // Both values come from one list, because the list of another member may not contain the new member yet.
  const { added, start } = await awaitListed(operation, peer_urls.join(', '), (members) => {
    const found = withUrls(members, peer_urls);
    return found && { added: found, start: startSettings(members, found, plan.subject as string) };
  });
  say(`member ${hexId(added.id)} was added${is_learner ? ' as a learner' : ''}`);
  return { member_id: hexId(added.id), start_with: start };
};
/** Returns a client of the leader, because a follower of some versions cannot forward the request. */
const leaderStore = async (operation: Operation): Promise<Store> => {
  const { members } = await observeNow(operation);
  const leader = members.find(({ is_leader }) => is_leader);
  if (leader === undefined)
    throw new AppError('stopped', 'no known member is the leader', {
      code: 'NO_LEADER',
      tryThis: ['list every member in --endpoints', next(['kv', 'status'])],
    });
  return operation.checking.access.store(leader.client_url, changeMs);
};
export const promoteMember = async (operation: Operation, id: string, withinMs: number): Promise<void> => {
  const isLearner = async (): Promise<boolean | undefined> =>
    (await listedNow(operation)).find((member) => member.id === id)?.is_learner;
  if (await isLearner()) {
    await operation.holdLock();
    await patiently(operation, withinMs, async () => (await leaderStore(operation)).promoteMember(id));
  }
  await awaitListed(operation, `${hexId(id)} votes`, (members) =>
    members.find((member) => member.id === id && !member.is_learner),
  );
};
const promoteWithinMs = 300_000;
const promote: OperationStepHandler = async (operation) => {
  const id = operation.plan.values.member_id as string;
  await promoteMember(operation, id, promoteWithinMs);
  operation.say(`member ${hexId(id)} votes`);
  return { member_id: hexId(id) };
};
const update: OperationStepHandler = async (operation) => {
  const { member_id: id = '', peer_urls = [] } = operation.plan.values;
  await operation.holdLock();
  await patiently(operation, patienceMs, () =>
    firstAnswer(storesOf(operation), (store) => store.updateMember(id, peer_urls)),
  );
  await awaitListed(operation, peer_urls.join(', '), (members) => {
    const found = withUrls(members, peer_urls);
    return found?.id === id ? found : undefined;
  });
  return { member_id: hexId(id), peer_urls };
};
/** Removes the member. A member that is no longer listed counts as removed. */
export const removeMember = async (operation: Operation, id: string): Promise<void> => {
  const isListed = async (): Promise<boolean> =>
    (await listedNow(operation)).some((member) => member.id === id);
  if (!(await isListed())) return;
  await operation.holdLock();
  await patiently(operation, patienceMs, () =>
    firstAnswer(storesOf(operation), (store) => store.removeMember(id)),
  );
  await awaitListed(operation, `${hexId(id)} is gone`, (members) =>
    members.some((member) => member.id === id) ? undefined : true,
  );
};
const remove: OperationStepHandler = async (operation) => {
  const id = operation.plan.values.member_id as string;
  await removeMember(operation, id);
  operation.say(`member ${hexId(id)} was removed`);
  return { member_id: hexId(id) };
};
/** Disarms the alarms of removed members. Alarms remain after a removal. */
export const disarmRemoved: OperationStepHandler = async (operation): Promise<Detail> => {
  const hasLeft = async () => {
    const listed = await listedNow(operation);
    const alarms = await firstAnswer(storesOf(operation), (store) => store.alarms());
    return alarms.filter((raised) => isOfRemovedMember(raised, { members: [], listed }));
  };
  const alarms = await hasLeft();
  for (const alarm of alarms) await firstAnswer(storesOf(operation), (store) => store.disarm(alarm));
  if ((await hasLeft()).length > 0) throw notProved('the alarm is disarmed');
  operation.say(`${countText(alarms.length, 'alarm')} disarmed`);
  return { disarmed: alarms.length };
};
export const membershipActs: OperationStepHandlers = {
  ...{ add, promote, update, remove },
  disarm: disarmRemoved,
  'move-leader': moveLeader,
};
