import { dirname } from 'node:path';
import { childPath, pathPart } from '../core/file-name.ts';
import type { AppError } from '../core/problem.ts';
import type { Host } from './host.ts';
import { type ProcessIdentity, processState, thisProcessIdentity } from './process-identity.ts';

/** The owner of a lock file. The nonce is never used twice. */
export type Holder = ProcessIdentity & { readonly nonce: string; readonly sinceMs: number };
type LockHost = Pick<Host, 'hostname' | 'processes' | 'now' | 'files'>;

export const thisProcess = (host: Host): Holder => ({
  ...thisProcessIdentity(host),
  nonce: Buffer.from(host.random(12)).toString('hex'),
  sinceMs: host.now(),
});

export type LockSnapshot<T> =
  | { readonly kind: 'none' }
  /**
   * `by` is absent for the moment in which the file is there and its text is not. An owner that cannot be checked holds
   * the lock until it releases it or a person removes the file. `claim`: the owner holds this file instead of the lock.
   */
  | { readonly kind: 'held'; readonly by?: T; readonly claim?: string }
  | { readonly kind: 'left'; readonly id: string; readonly by?: T };

/** An empty file of this age belongs to a process that crashed between creating and writing it. */
const writingMs = 1000;
const writingPauseMs = 50;

const holderFrom = <T extends Holder>(text: string): T | undefined => {
  try {
    const value = JSON.parse(text) as Partial<T>;
    return typeof value.pid === 'number' &&
      typeof value.nonce === 'string' &&
      typeof value.machine === 'string'
      ? (value as T)
      : undefined;
  } catch {
    return undefined;
  }
};

/** Held, left behind by a process that has gone, or not there. Reads only. */
export const lookAt = async <T extends Holder>(host: LockHost, path: string): Promise<LockSnapshot<T>> => {
  const text = host.files.readNow(path);
  if (text === undefined) return { kind: 'none' };
  const by = holderFrom<T>(text);
  if (by !== undefined)
    return processState(host, by) === 'gone' ? { kind: 'left', id: by.nonce, by } : { kind: 'held', by };
  const info = await host.files.info(path);
  if (info === undefined) return { kind: 'none' };
  const isBeingWritten = text === '' && host.now() - info.modifiedMs < writingMs;
  return isBeingWritten
    ? { kind: 'held' }
    : { kind: 'left', id: `unreadable-${Math.trunc(info.modifiedMs)}` };
};

/**
 * Removes the unfinished files that killed owners left next to the lock. The name of such a file has the ID of its
 * process, and only the owner of a lock or a claim writes there. A process ID that is used again keeps its files.
 */
const removeUnfinished = async (
  host: LockHost,
  path: string,
  gone: readonly Holder[],
  mine: Holder,
): Promise<void> => {
  const isUnused = ({ pid }: Holder): boolean =>
    processState(host, { ...mine, pid, mark: undefined }) === 'gone';
  const pids = new Set(gone.filter(isUnused).map(({ pid }) => pid));
  const directory = dirname(path);
  for (const name of await host.files.list(directory)) {
    const [, pid] = /^\..+\.(\d+)\.[\da-f]{8}\.tmp$/.exec(name) ?? [];
    if (pid === undefined || !pids.has(Number(pid))) continue;
    const file = childPath(directory, pathPart(name));
    if ((await host.files.info(file))?.kind === 'file') await host.files.remove(file);
  }
};
type Left<T> = Extract<LockSnapshot<T>, { readonly kind: 'left' }>;
/** The claims of this process on a lock, and the owners that have gone. */
type Claimed = { readonly claims: string[]; readonly owners: readonly Holder[] };
/** Claims a lock whose owner has exited. Returns the owner of a claim that cannot be checked, or false if another process has the claim. */
const claimLock = async <T extends Holder>(
  host: LockHost,
  path: string,
  left: Left<T>,
  mine: T,
): Promise<Claimed | false | LockSnapshot<T>> => {
  const claims: string[] = [];
  const owners: (Holder | undefined)[] = [left.by];
  for (let dead = left.id; ; ) {
    const claim = `${path}.claim-${dead}`;
    claims.push(claim);
    if (await host.files.create(claim, JSON.stringify(mine), 0o600, true))
      return { claims, owners: owners.filter((owner) => owner !== undefined) };
    const claimant = await lookAt<T>(host, claim);
    // A claimant that cannot be checked may have gone: the caller reports which file it holds.
    if (
      claimant.kind === 'held' &&
      claimant.by !== undefined &&
      processState(host, claimant.by) === 'unknown'
    )
      return { ...claimant, claim };
    if (claimant.kind !== 'left') return false;
    dead = claimant.id;
    owners.push(claimant.by);
    // Claims of the same millisecond are still different, at any position of the chain.
    while (claims.includes(`${path}.claim-${dead}`)) dead = `${dead}-again`;
  }
};
/**
 * Replaces a lock whose owner has exited. Only the process that creates the claim named after the lock may
 * replace it. If that process also exits, the next claim is named after its claim, and so on. A claim that is
 * based on an outdated read is detected by reading the lock again.
 */
const takeOver = async <T extends Holder>(
  host: LockHost,
  path: string,
  left: Left<T>,
  mine: T,
): Promise<boolean | LockSnapshot<T>> => {
  const claimed = await claimLock(host, path, left, mine);
  if (claimed === false || 'kind' in claimed) return claimed;
  const { claims, owners } = claimed;
  const now = await lookAt<T>(host, path);
  const isStillLeft = now.kind === 'left' && now.id === left.id;
  if (isStillLeft) await host.files.replace(path, JSON.stringify(mine), 0o600);
  else claims.splice(0, claims.length - 1);
  for (const claim of claims) await host.files.remove(claim);
  // A directory that cannot be listed does not cost the lock.
  if (isStillLeft) await removeUnfinished(host, path, owners, mine).catch(() => undefined);
  return isStillLeft;
};

/**
 * Makes one attempt. Returns true if this process now has the lock, otherwise the owner. It waits only while
 * a lock file has no content.
 */
export const tryLock = async <T extends Holder>(
  host: LockHost & Pick<Host, 'sleep'>,
  path: string,
  mine: T,
): Promise<true | LockSnapshot<T>> => {
  let seen = await lookAt<T>(host, path);
  // The owner is not known yet: the file gets its content in a moment, or a process crashed before it wrote
  // the file.
  while (seen.kind === 'held' && seen.by === undefined) {
    await host.sleep(writingPauseMs);
    seen = await lookAt<T>(host, path);
  }
  if (seen.kind === 'held') return seen;
  const isTaken =
    seen.kind === 'none'
      ? await host.files.create(path, JSON.stringify(mine), 0o600, true)
      : await takeOver(host, path, seen, mine);
  return isTaken || lookAt<T>(host, path);
};

/** A process that acquires a lock writes its name in a moment. If it was killed, its empty file is abandoned after a second. */
const namedWithinMs = 1500;
const namePauseMs = 100;
/**
 * Makes attempts until this process has the lock or the owner is known. The processes before this one may have been
 * killed while they acquired or replaced the lock, so one attempt may find no owner.
 */
export const tryLockUntilHolderIsKnown = async <T extends Holder>(
  host: LockHost & Pick<Host, 'sleep' | 'elapsed'>,
  path: string,
  mine: T,
): Promise<true | LockSnapshot<T>> => {
  const until = host.elapsed() + namedWithinMs;
  for (;;) {
    const seen = await tryLock(host, path, mine);
    const isNamed = seen === true || (seen.kind === 'held' && seen.by !== undefined);
    if (isNamed || host.elapsed() >= until) return seen;
    await host.sleep(namePauseMs);
  }
};

/** Replaces the lock of an owner that cannot be checked. Only for a person who explicitly asked for it. */
export const replaceLock = (host: Pick<Host, 'files'>, path: string, mine: Holder): Promise<void> =>
  host.files.replace(path, JSON.stringify(mine), 0o600);

/** Removes the lock when it is still ours. */
export const unlock = async (host: Pick<Host, 'files'>, path: string, { nonce }: Holder): Promise<void> => {
  const text = host.files.readNow(path);
  if (text !== undefined && holderFrom(text)?.nonce === nonce) await host.files.remove(path);
};

/** The result of one attempt: the value, or the obstacle. */
export type Try<R, B> = { readonly got: R } | { readonly busy: B };
export type Wait<B> = {
  readonly waitMs: number | ((by: B) => number);
  /**
   * The name of the owner. If it is set, `waitMs` applies to one owner, so that a queue that moves may take
   * any time.
   */
  holder?(by: B): string | undefined;
  /**
   * The time until the next attempt. It differs between processes, so that they do not all retry at the same
   * time.
   */
  pauseMs(): number;
  readonly signal?: AbortSignal;
  /** Called after each try that failed. */
  onBusy?(by: B, waitedMs: number): Promise<void> | void;
  /** What to throw when the time is over. */
  timeoutError(by: B): AppError;
};

/** Only a run holds a lock for longer, and none of the callers is one: an older lock was probably left behind. */
const leaseMs = 120_000;
/** Time in which an owner whose clock differs can still release such a lock. */
const afterLeaseMs = 3000;

/** How long to wait for this owner. One that cannot be checked is never replaced, so after its lease waiting is of little use. */
export const waitFor = (host: LockHost, waitMs: number, by: Holder | undefined): number => {
  if (by === undefined || processState(host, by) !== 'unknown') return waitMs;
  return host.now() - by.sinceMs > leaseMs ? Math.min(waitMs, afterLeaseMs) : waitMs;
};

/**
 * The loop that waits for a lock. The first attempt is immediate. The caller's `attempt` defines the lock.
 */
export const waitForLock = async <R, B>(
  host: Pick<Host, 'elapsed' | 'sleep'>,
  attempt: () => Promise<Try<R, B>>,
  { waitMs, holder, pauseMs, signal, onBusy, timeoutError }: Wait<B>,
): Promise<R> => {
  let start = host.elapsed();
  let last: string | undefined;
  for (;;) {
    const tried = await attempt();
    if ('got' in tried) return tried.got;
    const now = holder?.(tried.busy);
    if (now !== undefined && now !== last) {
      start = host.elapsed();
      last = now;
    }
    const waitedMs = host.elapsed() - start;
    if (waitedMs >= (typeof waitMs === 'number' ? waitMs : waitMs(tried.busy)))
      throw timeoutError(tried.busy);
    await onBusy?.(tried.busy, waitedMs);
    // The sleep does not listen to the signal, because a hundred waiters in one process would add a hundred
    // listeners. The loop checks the signal in each turn.
    await host.sleep(pauseMs());
    signal?.throwIfAborted();
  }
};
