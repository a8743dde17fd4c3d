import type { Host } from '../../../platform/host.ts';
import { messageOf } from '../../../core/error-message.ts';
import { AppError } from '../../../core/problem.ts';
import type { Status, Store } from '../../client/etcd-client.ts';
import { busyTimeoutMs, type Access } from '../../engine/access.ts';
import type { AlarmSeen, ListedMember, MemberSeen, MemberSpec } from '../../engine/types.ts';

export type Seen = MemberSeen & {
  readonly listed?: readonly ListedMember[];
  readonly alarms?: readonly AlarmSeen[];
};

const errorOf = (error: unknown): Pick<MemberSeen, 'error' | 'error_code'> => {
  const code = error instanceof AppError ? error.detail.code : undefined;
  return { error: messageOf(error), ...(code === undefined ? {} : { error_code: code }) };
};
const healthOf = (
  health: Awaited<ReturnType<Store['health']>> | undefined,
): Pick<MemberSeen, 'is_healthy' | 'health_reason'> => ({
  is_healthy: health?.is_healthy ?? false,
  ...(health === undefined
    ? { health_reason: 'no answer in time' }
    : health.reason === undefined
      ? {}
      : { health_reason: health.reason }),
});

export type VersionsSeen = Pick<MemberSeen, 'server_version' | 'cluster_version' | 'storage_version'>;
/** What a member says of its versions, in the names of an observation. */
export const versionsSeen = async (store: Store): Promise<VersionsSeen> => {
  const { server, cluster, storage } = await store.versions();
  return {
    server_version: server,
    cluster_version: cluster,
    ...(storage === undefined ? {} : { storage_version: storage }),
  };
};

/** How a member answered what it was asked after its version. */
type Answers = {
  readonly health: PromiseSettledResult<Awaited<ReturnType<Store['health']>>>;
  readonly status: PromiseSettledResult<Status>;
  readonly listed: PromiseSettledResult<readonly ListedMember[]>;
  readonly alarms: PromiseSettledResult<readonly AlarmSeen[]>;
};
const isLate = (answer: PromiseSettledResult<unknown>): boolean =>
  answer.status === 'rejected' &&
  answer.reason instanceof AppError &&
  answer.reason.detail.code === 'DEADLINE_EXCEEDED';
const settled = async <T>(work: Promise<T>): Promise<PromiseSettledResult<T>> =>
  (await Promise.allSettled([work]))[0];
const answerOf = <T>(answer: PromiseSettledResult<T>): T | undefined =>
  answer.status === 'fulfilled' ? answer.value : undefined;

/**
 * A member that says its version and is late with the rest is on a busy machine: what was late is asked once more, with more time. Without a
 * leader its health and its lists cannot come, and a refusal must not wait for them.
 */
const answersOf = async (store: Store, patient: Store): Promise<Answers> => {
  const [health, first, listed, alarms] = await Promise.allSettled([
    store.health(),
    store.status(),
    store.members(),
    store.alarms(),
  ]);
  const status = isLate(first) ? await settled(patient.status()) : first;
  if (answerOf(status)?.leader_id === undefined) return { health, status, listed, alarms };
  const [lateHealth, lateListed, lateAlarms] = await Promise.all([
    isLate(health) ? settled(patient.health()) : health,
    isLate(listed) ? settled(patient.members()) : listed,
    isLate(alarms) ? settled(patient.alarms()) : alarms,
  ]);
  return { health: lateHealth, status, listed: lateListed, alarms: lateAlarms };
};

/** One member through its gateway. An unreachable member is a value, not an exception. Without `timeoutMs` it has the time of a look. */
export const seeMember = async (
  host: Host,
  spec: MemberSpec,
  access: Access,
  timeoutMs?: number,
): Promise<Seen> => {
  const store = access.store(spec.client_url, timeoutMs);
  const began = host.elapsed();
  const { name, client_url } = spec;
  const unseen = { name, client_url, is_leader: false, is_learner: false, errors: [] };
  let versions: VersionsSeen;
  try {
    versions = await versionsSeen(store);
  } catch (error) {
    return { ...unseen, is_reachable: false, is_healthy: false, ...errorOf(error) };
  }
  const latency_ms = Math.round((host.elapsed() - began) * 10) / 10;
  const answers = await answersOf(store, access.store(spec.client_url, busyTimeoutMs));
  const [status, listed, alarms] = [
    answerOf(answers.status),
    answerOf(answers.listed),
    answerOf(answers.alarms),
  ];
  const { version: _, ...numbers } = status ?? {};
  return {
    ...unseen,
    is_reachable: true,
    ...healthOf(answerOf(answers.health)),
    ...versions,
    latency_ms,
    ...numbers,
    is_leader: status?.leader_id !== undefined && status.leader_id === status.member_id,
    errors:
      answers.status.status === 'rejected' ? [messageOf(answers.status.reason)] : (status?.errors ?? []),
    ...(listed === undefined ? {} : { listed, listed_ids: listed.map(({ id }) => id).sort() }),
    ...(alarms === undefined ? {} : { alarms }),
  };
};
