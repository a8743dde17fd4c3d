import type { AppError } from '../core/problem.ts';
import type { Host } from './host.ts';

/** Who holds a lock file: enough to tell from any other process whether that one still lives. The nonce is never used twice. */
export type Holder = {
  readonly pid: number;
  /** Start mark of the process: its id is given out again, the mark is not. Absent where the system has none. */
  readonly mark?: string | undefined;
  readonly machine: string;
  readonly nonce: string;
  readonly sinceMs: number;
};
type LockHost = Pick<Host, 'hostname' | 'processes' | 'now' | 'files'>;

export const thisProcess = (host: Host): Holder => ({
  pid: host.pid,
  mark: host.processes.startMark(host.pid),
  machine: host.hostname,
  nonce: Buffer.from(host.random(12)).toString('hex'),
  sinceMs: host.now(),
});

/** A holder on another machine (a shared home directory) cannot be asked: it counts as gone after `foreignAgeMs`. */
export const isGone = (host: Omit<LockHost, 'files'>, holder: Holder, foreignAgeMs: number): boolean => {
  if (holder.machine !== host.hostname) return host.now() - holder.sinceMs > foreignAgeMs;
  return (
    !host.processes.isAlive(holder.pid) ||
    (holder.mark !== undefined && host.processes.startMark(holder.pid) !== holder.mark)
  );
};

export type Seen<T> =
  | { readonly kind: 'none' }
  /** `by` is absent for the moment in which the file is there and its text is not. */
  | { readonly kind: 'held'; readonly by?: T }
  | { readonly kind: 'left'; readonly id: string; readonly by?: T };

/** An empty file this old was left by a process that died between creating and writing it. */
const writingMs = 1000;

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
export const lookAt = async <T extends Holder>(
  host: LockHost,
  path: string,
  foreignAgeMs = Number.POSITIVE_INFINITY,
): Promise<Seen<T>> => {
  const text = host.files.readNow(path);
  if (text === undefined) return { kind: 'none' };
  const by = holderFrom<T>(text);
  if (by !== undefined)
    return isGone(host, by, foreignAgeMs) ? { kind: 'left', id: by.nonce, by } : { kind: 'held', by };
  const info = await host.files.info(path);
  if (info === undefined) return { kind: 'none' };
  const isBeingWritten = text === '' && host.now() - info.modifiedMs < writingMs;
  return isBeingWritten
    ? { kind: 'held' }
    : { kind: 'left', id: `unreadable-${Math.trunc(info.modifiedMs)}` };
};

/**
 * Takes the place of a holder that has gone. Whoever creates the claim named after it is the only one that may replace
 * its lock; when that one dies too, its own claim is named after it, and so on. A claim made from an old look at the
 * lock is seen to be late by looking again.
 */
const takeOver = async <T extends Holder>(
  host: LockHost,
  path: string,
  gone: string,
  mine: T,
  foreignAgeMs: number,
): Promise<boolean> => {
  const claims: string[] = [];
  for (let dead = gone; ; ) {
    const claim = `${path}.claim-${dead}`;
    claims.push(claim);
    if (await host.files.create(claim, JSON.stringify(mine), 0o600, true)) break;
    const claimant = await lookAt<T>(host, claim, foreignAgeMs);
    if (claimant.kind !== 'left') return false;
    dead = claimant.id;
    // Those that are named after the same moment are still different ones, wherever they stand in the row.
    while (claims.includes(`${path}.claim-${dead}`)) dead = `${dead}-again`;
  }
  const now = await lookAt<T>(host, path, foreignAgeMs);
  const isStillLeft = now.kind === 'left' && now.id === gone;
  if (isStillLeft) await host.files.replace(path, JSON.stringify(mine), 0o600);
  else claims.splice(0, claims.length - 1);
  for (const claim of claims) await host.files.remove(claim);
  return isStillLeft;
};

/** One try, without waiting: true when the lock is ours now, else what was seen there. */
export const tryLock = async <T extends Holder>(
  host: LockHost,
  path: string,
  mine: T,
  foreignAgeMs = Number.POSITIVE_INFINITY,
): Promise<true | Seen<T>> => {
  const seen = await lookAt<T>(host, path, foreignAgeMs);
  if (seen.kind === 'held') return seen;
  const isTaken =
    seen.kind === 'none'
      ? await host.files.create(path, JSON.stringify(mine), 0o600, true)
      : await takeOver(host, path, seen.id, mine, foreignAgeMs);
  return isTaken || lookAt<T>(host, path, foreignAgeMs);
};

/** Removes the lock when it is still ours. */
export const unlock = async (host: Pick<Host, 'files'>, path: string, { nonce }: Holder): Promise<void> => {
  const text = host.files.readNow(path);
  if (text !== undefined && holderFrom(text)?.nonce === nonce) await host.files.remove(path);
};

/** One try of somebody who waits: what was wanted, or what is in the way. */
export type Try<R, B> = { readonly got: R } | { readonly busy: B };
export type Wait<B> = {
  readonly waitMs: number;
  /** Whose name is given: then `waitMs` is for one holder, so that a queue that moves is waited for however long it is. */
  holder?(by: B): string | undefined;
  /** Time to the next try. It differs between processes, so that they do not all try at once. */
  pauseMs(): number;
  readonly signal?: AbortSignal;
  /** Called after each try that failed. */
  onBusy?(by: B, waitedMs: number): Promise<void> | void;
  /** What to throw when the time is over. */
  expired(by: B): AppError;
};

/** The one loop in which a lock is waited for. The first try comes at once; what a lock is, the caller's `attempt` says. */
export const waitForLock = async <R, B>(
  host: Pick<Host, 'elapsed' | 'sleep'>,
  attempt: () => Promise<Try<R, B>>,
  { waitMs, holder, pauseMs, signal, onBusy, expired }: Wait<B>,
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
    if (waitedMs >= waitMs) throw expired(tried.busy);
    await onBusy?.(tried.busy, waitedMs);
    // Without the signal: it is looked at each turn, and a hundred waiters in one process would each listen to it.
    await host.sleep(pauseMs());
    signal?.throwIfAborted();
  }
};
