import { type Advice, after, next } from '../../core/next.ts';
import { join } from 'node:path';
import { momentText } from '../../core/format.ts';
import { cutText, AppError, messageOf } from '../../core/problem.ts';
import {
  type Holder,
  lookAt,
  type LockSnapshot,
  thisProcess,
  tryLockUntilHolderIsKnown,
  unlock,
} from '../../platform/file-lock.ts';
import type { Host } from '../../platform/host.ts';
import { type ProcessIdentity, processState, thisProcessIdentity } from '../../platform/process-identity.ts';
import { assertTrusted } from '../../platform/trust.ts';
import { firstAnswer, type KeyValue, type Store } from '../client/etcd-client.ts';
import { type Access, busyTimeoutMs } from './access.ts';
import { clusterDirectory, findRuns, openRun } from './journal.ts';
import type { ClusterFile, Owner, ClusterHold, Observation } from './model.ts';
import { adoptRun, sharedRun } from './progress.ts';

/** Content of both locks: the owner and its run. */
export type LockInfo = { readonly run: string; readonly owner: Owner; readonly since: string };
export type Lock = {
  release(): Promise<void>;
  /** Throws LOCKED if another process owns the lock. Writes the key again if it was deleted. */
  hold(): Promise<void>;
};
export const ownerOf = (host: Host): Owner => {
  const name = host.env['USER'] ?? host.env['LOGNAME'];
  const { pid, machine, mark, machineId, bootId, pidNamespace } = thisProcessIdentity(host);
  // Services and containers often have no user name. Then the uid identifies the user.
  const user = name ?? (host.uid < 0 ? undefined : host.uid === 0 ? 'root' : `uid ${host.uid}`);
  return {
    ...(user === undefined ? {} : { user }),
    host: machine,
    pid,
    ...(mark === undefined ? {} : { start_mark: mark }),
    ...(machineId === undefined ? {} : { machine_id: machineId }),
    ...(bootId === undefined ? {} : { boot_id: bootId }),
    ...(pidNamespace === undefined ? {} : { pid_namespace: pidNamespace }),
  };
};
const processOf = (owner: Owner): ProcessIdentity => ({
  pid: owner.pid,
  machine: owner.host,
  mark: owner.start_mark,
  machineId: owner.machine_id,
  bootId: owner.boot_id,
  pidNamespace: owner.pid_namespace,
});
export const makeLockHeldError = ({ owner, since, run }: LockInfo, where: string, hint: Advice): AppError =>
  new AppError(
    'unsafe',
    `the cluster is locked by another operator: ${owner.user ?? 'an unknown user'} on ${owner.host}, process ${owner.pid}, since ${/^\d{4}-/.test(since) ? momentText(since) : since} (${where})`,
    { code: 'LOCKED', tryThis: [hint, next(['kv', 'status'])], data: { run, owner } },
  );

const lockKey = 'opsctl/upgrade-lock';
const ttlSeconds = 60;
const beatMs = 15_000;
const where = `key ${lockKey} in the cluster`;
const hint = after(
  `wait; the lock of a process that exited expires after ${ttlSeconds} s. If the key remains and no opsctl holds it:`,
  ['kv', 'del', `${lockKey}`],
);
const nobody: LockInfo = {
  run: 'unknown',
  owner: { host: 'an unknown host', pid: 0 },
  since: 'an unknown time',
};
const heldIn = ({ value }: KeyValue): LockInfo => {
  try {
    const held = JSON.parse(value) as LockInfo;
    return typeof held.owner?.host === 'string' ? held : nobody;
  } catch {
    return nobody;
  }
};
/**
 * Returns whether the owner is an exited process of this machine and PID namespace. opsctl cannot check other
 * processes, so their lease decides.
 */
const hasGone = (host: Host, { owner }: LockInfo): boolean => processState(host, processOf(owner)) === 'gone';
type Ask = <T>(work: (store: Store) => Promise<T>) => Promise<T>;
/** Writes the key, or replaces the value that an exited process of this machine wrote. Throws LOCKED. */
const write = async (host: Host, ask: Ask, value: string, lease: string): Promise<void> => {
  if (await ask((store) => store.create(lockKey, value, lease))) return;
  const there = (await ask((store) => store.range(lockKey))).kvs[0];
  if (there === undefined) return write(host, ask, value, lease);
  const isOurs =
    there.value === value ||
    (hasGone(host, heldIn(there)) && (await ask((store) => store.replace(there, value, lease))));
  if (!isOurs) throw makeLockHeldError(heldIn(there), where, hint);
};
type Grip = { readonly lease: string; readonly value: string };
const grip = async (host: Host, ask: Ask, held: LockInfo): Promise<Grip> => {
  const lease = await ask((store) => store.grant(ttlSeconds));
  const value = JSON.stringify({ ...held, lease });
  try {
    await write(host, ask, value, lease);
    return { lease, value };
  } catch (error) {
    await ask((store) => store.revoke(lease)).catch(() => {});
    throw error;
  }
};
/**
 * Keeps the current lease. opsctl acquires it again only once, even if the heartbeat and a member stop detect
 * the loss at the same time.
 */
const firmGrip = async (host: Host, ask: Ask, held: LockInfo) => {
  let mine = await grip(host, ask, held);
  let gripping: Promise<Grip> | undefined;
  const gripAgain = async (lost: Grip): Promise<void> => {
    if (mine !== lost) return;
    gripping ??= grip(host, ask, held).finally(() => {
      gripping = undefined;
    });
    mine = await gripping;
  };
  return {
    beat: async (): Promise<void> => {
      const now = mine;
      if ((await ask((store) => store.keepAlive(now.lease))) <= 0) await gripAgain(now);
    },
    hold: async (): Promise<void> => {
      const now = mine;
      const there = (await ask((store) => store.range(lockKey))).kvs[0];
      if (there?.value !== now.value) await gripAgain(now);
    },
    letGo: (): Promise<void> => ask((store) => store.revoke(mine.lease)).catch(() => {}),
  };
};
const isTaken = (error: unknown): error is AppError =>
  error instanceof AppError && error.detail.code === 'LOCKED';
/**
 * Locks the cluster for one operator with a key and a lease in the store. The key expires after its owner
 * exits. If the lease expires while the store has no quorum, opsctl acquires the lock again. `onLost` is
 * called if another process acquired it first.
 */
export const lockStore = async (
  host: Host,
  stores: () => readonly Store[],
  held: LockInfo,
  onLost: (error: AppError) => void,
): Promise<Lock> => {
  const over = new AbortController();
  const { beat, hold, letGo } = await firmGrip(host, (work) => firstAnswer(stores(), work), held);
  const beating = (async () => {
    while (!over.signal.aborted) {
      await host.sleep(beatMs, over.signal).catch(() => {});
      if (over.signal.aborted) return;
      await beat().catch((error: unknown) => {
        if (isTaken(error)) onLost(error);
      });
    }
  })();
  return {
    hold: () =>
      hold().catch((error: unknown) => {
        // A store that does not respond cannot give the lock to another run. The guards decide whether a
        // member may be stopped.
        if (isTaken(error)) throw error;
      }),
    release: async () => {
      over.abort();
      await beating;
      await letGo();
    },
  };
};
/**
 * Removes the lock of a finished run. A crash after the last journal line, or a restored snapshot, can leave
 * such a lock.
 */
export const dropLock = (stores: readonly Store[], run: string): Promise<void> =>
  firstAnswer(stores, async (store) => {
    const there = (await store.range(lockKey)).kvs[0];
    if (there !== undefined && heldIn(there).run === run) await store.del(lockKey);
  });
/** Returns the owner of the lock in the store. Read-only; works without a quorum. */
export const readStoreLock = async (stores: readonly Store[]): Promise<LockInfo | undefined> => {
  const found = await firstAnswer(stores, (store) => store.range(lockKey, { isSerializable: true })).catch(
    () => undefined,
  );
  return found?.kvs[0] === undefined ? undefined : heldIn(found.kvs[0]);
};
/** Throws LOCKED if the store contains the lock of a running process. Read-only; works without a quorum. */
export const refuseOtherIn = async (host: Host, stores: readonly Store[]): Promise<void> => {
  const answers = await Promise.allSettled(
    stores.map((store) => store.range(lockKey, { isSerializable: true })),
  );
  const found = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value.kvs : [])).map(heldIn);
  const there = found.find((held) => !hasGone(host, held));
  if (there !== undefined) throw makeLockHeldError(there, where, hint);
};

const pathOf = (state: string, cluster: string): string => join(clusterDirectory(state, cluster), 'lock');
const takenHere = (host: Host, path: string, seen: LockSnapshot<Holder & LockInfo>): AppError => {
  const by = seen.kind === 'none' ? undefined : seen.by;
  if (by === undefined)
    return new AppError('unsafe', `another opsctl is taking the lock ${path}`, {
      code: 'LOCKED',
      tryThis: ['try again', next(['kv', 'status'])],
    });
  // In a shared home directory, opsctl cannot check a process of another machine or container and never
  // replaces its lock.
  const file = (seen.kind === 'held' ? seen.claim : undefined) ?? path;
  const hint =
    processState(host, by) === 'unknown'
      ? `wait until it has exited; if no opsctl runs on ${by.machine} or in its containers: rm ${file}`
      : 'wait until it has exited';
  const owner = by.owner ?? { host: by.machine, pid: by.pid };
  return makeLockHeldError(
    { ...by, owner, since: by.since ?? 'an unknown time' },
    'lock on this machine',
    hint,
  );
};
/**
 * Locks the cluster for one operator on this machine. One of the waiting processes takes over the lock of a
 * process that has exited.
 */
export const lockMachine = async (
  host: Host,
  state: string,
  cluster: string,
  held: LockInfo,
): Promise<Pick<Lock, 'release'>> => {
  const path = pathOf(state, cluster);
  await host.files.makeDirectory(clusterDirectory(state, cluster), 0o700);
  await assertTrusted(host, 'the state directory', clusterDirectory(state, cluster));
  const mine = { ...thisProcess(host), ...held };
  const seen = await tryLockUntilHolderIsKnown(host, path, mine);
  if (seen !== true) throw takenHere(host, path, seen);
  return { release: () => unlock(host, path, mine) };
};
/** Throws LOCKED if another process on this machine owns the lock. Read-only. */
export const refuseOtherHere = async (host: Host, state: string, cluster: string): Promise<void> => {
  const path = pathOf(state, cluster);
  const seen = await lookAt<Holder & LockInfo>(host, path);
  if (seen.kind === 'held') throw takenHere(host, path, seen);
};
/** Returns the process on this machine that currently owns the lock of this cluster. Read-only. */
export const readMachineLock = async (
  host: Host,
  state: string,
  cluster: string,
): Promise<(Holder & LockInfo) | undefined> => {
  const seen = await lookAt<Holder & LockInfo>(host, pathOf(state, cluster));
  return seen.kind === 'held' ? seen.by : undefined;
};

export type Locking = {
  readonly host: Host;
  /** Directory of all clusters. */
  readonly state: string;
  readonly cluster: ClusterFile;
  readonly access: Access;
  readonly run: string;
  /**
   * If set, the run continues with only the machine lock when the store cannot hold a lock, for example to
   * resume without a quorum. If not set, the run does not start.
   */
  readonly warn?: ((text: string) => void) | undefined;
  /** Called if another run acquired the store lock while the store was not writable. */
  readonly onLost?: (error: AppError) => void;
};
const noStoreLock = async (
  { host, warn }: Locking,
  stores: readonly Store[],
  error: unknown,
): Promise<Lock> => {
  if (isTaken(error)) throw error;
  // A full store accepts no new key, but the key of an earlier operator is still readable.
  if (error instanceof AppError && error.detail.code === 'NO_SPACE') await refuseOtherIn(host, stores);
  const why = messageOf(error);
  if (warn === undefined)
    throw new AppError('unsafe', `no changes were made: cannot write the lock to the cluster: ${why}`, {
      code: 'NO_LOCK',
      tryThis: ['try again', next(['kv', 'status'])],
      cause: error,
    });
  warn(`no lock in the cluster (${why}): only operators on this machine are locked out`);
  return { release: async () => {}, hold: async () => {} };
};
/** Locks the cluster on this machine and in the store for all other machines. */
export const takeLocks = async (locking: Locking): Promise<Lock> => {
  const { host, state, cluster, access, run, onLost = () => {} } = locking;
  const held: LockInfo = { run, owner: ownerOf(host), since: new Date(host.now()).toISOString() };
  const machine = await lockMachine(host, state, cluster.name, held);
  try {
    const stores = () => cluster.members.map(({ client_url }) => access.store(client_url));
    const store = await lockStore(host, stores, held, onLost).catch((error: unknown) =>
      noStoreLock(locking, stores(), error),
    );
    return {
      release: async () => {
        await store.release();
        await machine.release();
      },
      hold: store.hold,
    };
  } catch (error) {
    await machine.release();
    throw error;
  }
};
/**
 * Reports the running operation instead of its visible effects: a member that is being replaced is not an
 * unhealthy member. Read-only; throws LOCKED. `urls` lists the members that responded.
 */
export const refuseOther = async (
  host: Host,
  state: string,
  cluster: ClusterFile,
  access: Access,
  urls: readonly string[],
): Promise<void> => {
  await refuseOtherHere(host, state, cluster.name);
  await refuseOtherIn(
    host,
    urls.map((url) => access.store(url)),
  );
};

/**
 * Imports the journal of a run that another machine started or resumed. Returns a message if it found one.
 * Throws PROGRESS_UNREAD if it could not check.
 */
export const takeOver = async (
  host: Host,
  state: string,
  cluster: ClusterFile,
  access: Access,
): Promise<string | undefined> => {
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  const patient = cluster.members.map(({ client_url }) => access.store(client_url, busyTimeoutMs));
  const found = await sharedRun({ host, cluster, stores }, state).catch(async (error: unknown) => {
    if (openRun(await findRuns(host, state, cluster.name)) !== undefined) throw error;
    // A busy machine responds slowly. A timeout does not prove that no run exists.
    return sharedRun({ host, cluster, stores: patient }, state);
  });
  if (found === undefined) return undefined;
  // The other machine may still own the lock.
  await refuseOther(
    host,
    state,
    cluster,
    access,
    cluster.members.map(({ client_url }) => client_url),
  );
  const adopted = await adoptRun({ host, cluster, stores: patient }, state);
  if (adopted === undefined) return undefined;
  const { owner, run } = adopted;
  const by = owner === undefined ? '' : ` of ${owner.user ?? 'an unknown user'} on ${owner.host}`;
  return `adopted run ${run}${by}: its progress was read from the cluster or from the directory of the snapshots`;
};

/** Key of the hold in the cluster. Every machine that runs an upgrade reads it, and it has no lease. */
export const holdKey = 'opsctl/hold';
export const clusterHold = (host: Host, reason = 'no reason given'): ClusterHold => {
  const { user, host: machine } = ownerOf(host);
  return { reason, by: `${user ?? 'unknown'}@${machine}`, since: new Date(host.now()).toISOString() };
};
/** Parses a hold. Any value counts as a hold, including a value that another program wrote. */
export const parseHold = (value: string | undefined): ClusterHold | undefined => {
  if (value === undefined) return undefined;
  try {
    const read = JSON.parse(value) as Partial<ClusterHold> | null;
    if (typeof read?.reason === 'string')
      return { reason: read.reason, by: String(read.by), since: String(read.since) };
  } catch {
    // A value that is not valid JSON also counts as a hold.
  }
  return { reason: cutText(value, 200), by: 'unknown', since: 'unknown' };
};
export const holdText = ({ by, since, reason }: ClusterHold): string =>
  `the cluster is held by ${by} since ${since}: ${reason}`;
/** Requests the hold from one member after the other until a member responds. */
export const seeHold = async (
  stores: readonly Store[],
): Promise<Pick<Observation, 'hold' | 'hold_unread'>> => {
  let why = 'no member is healthy';
  for (const store of stores) {
    try {
      return { hold: parseHold((await store.range(holdKey)).kvs[0]?.value) ?? null };
    } catch (error) {
      why = messageOf(error);
    }
  }
  return { hold_unread: why };
};
/**
 * Returns why an upgrade must not pass the point of no return. If no member can return the hold, the cluster
 * counts as held.
 */
export const findHold = async (stores: readonly Store[]): Promise<string | undefined> => {
  const { hold } = await seeHold(stores);
  if (hold === undefined) return 'no member returned whether the cluster is held';
  return hold === null ? undefined : holdText(hold);
};
