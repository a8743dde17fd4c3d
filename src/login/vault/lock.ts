import type { Host } from '../../host/host.ts';
import { AppError } from '../../kernel/problem.ts';

/** Who holds a lock: enough to know from another process whether that one still lives. */
export type Holder = { readonly pid: number; readonly mark: string; readonly machine: string; readonly nonce: string; readonly sinceMs: number };

/** A lock of another machine (a shared home folder) cannot be asked; it is taken over by age. */
const foreignAgeMs = 90_000;
const pollMs = 20;

export const isAbandoned = (holder: Holder | undefined, host: Pick<Host, 'hostname' | 'processes' | 'now'>): boolean => {
  if (holder === undefined) return true;
  if (holder.machine !== host.hostname) return host.now() - holder.sinceMs > foreignAgeMs;
  if (!host.processes.isAlive(holder.pid)) return true;
  // A process id is given out again; the start mark is not.
  return holder.mark !== '' && (host.processes.startMark(holder.pid) ?? '') !== holder.mark;
};

const holderFrom = (text: string): Holder | undefined => {
  try {
    const value = JSON.parse(text) as Partial<Holder>;
    return typeof value.pid === 'number' && typeof value.nonce === 'string' && typeof value.machine === 'string' ? (value as Holder) : undefined;
  } catch {
    return undefined;
  }
};

const self = (host: Host): Holder => ({
  pid: host.pid,
  mark: host.processes.startMark(host.pid) ?? '',
  machine: host.hostname,
  nonce: Buffer.from(host.random(12)).toString('base64url'),
  sinceMs: host.now(),
});

/** An empty lock was created this moment, or its writer died between creating and writing. */
const readHolder = async (host: Host, path: string): Promise<Holder | 'none' | undefined> => {
  const text = await host.files.read(path);
  if (text === undefined) return 'none';
  if (text !== '') return holderFrom(text);
  await host.sleep(100);
  const again = await host.files.read(path);
  return again === undefined ? 'none' : holderFrom(again);
};

const sameHolder = (a: Holder | undefined, b: Holder | undefined): boolean => a?.nonce === b?.nonce;

/**
 * Removes a dead process's lock. Only one waiter does so at a time (the `.takeover` file), and only while
 * the lock is still the very one that was found dead, so that a new holder's lock is never removed.
 */
const removeAbandoned = async (host: Host, path: string, dead: Holder | undefined): Promise<void> => {
  const guard = `${path}.takeover`;
  const me = self(host);
  if (!(await host.files.create(guard, JSON.stringify(me), 0o600))) {
    const other = await readHolder(host, guard);
    if (other !== 'none' && isAbandoned(other, host)) await host.files.remove(guard);
    return;
  }
  try {
    const now = await readHolder(host, path);
    if (now !== 'none' && sameHolder(now, dead)) await host.files.remove(path);
  } finally {
    await host.files.remove(guard);
  }
};

export type Lock = { release(): Promise<void> };
export type LockOptions = {
  readonly waitMs: number;
  readonly signal?: AbortSignal;
  /** Asked at every turn of the wait; true ends it without the lock (another process has done the work). */
  isDone?(): Promise<boolean>;
};

const busy = (path: string, holder: Holder | undefined): AppError =>
  new AppError('network', `another opsctl${holder === undefined ? '' : ` (process ${holder.pid})`} has held ${path} for too long`, {
    code: 'LOCK_BUSY',
    retryable: true,
    tryThis: ['try again', ...(holder === undefined ? [] : [`end process ${holder.pid} if it hangs`])],
  });

/** One holder among all processes of this user. A killed holder is replaced within a few turns of 20 ms. */
export const acquire = async (host: Host, path: string, options: LockOptions): Promise<Lock | undefined> => {
  const me = self(host);
  const until = host.elapsed() + options.waitMs;
  for (;;) {
    options.signal?.throwIfAborted();
    if (await host.files.create(path, JSON.stringify(me), 0o600)) return { release: () => release(host, path, me) };
    const holder = await readHolder(host, path);
    if (holder !== 'none' && isAbandoned(holder, host)) {
      await removeAbandoned(host, path, holder);
      continue;
    }
    if (options.isDone !== undefined && (await options.isDone())) return undefined;
    if (host.elapsed() > until) throw busy(path, holder === 'none' ? undefined : holder);
    // Without the signal: it is looked at each turn, and a hundred waiters in one process would each listen to it.
    await host.sleep(pollMs + (host.random(1)[0] ?? 0) / 10);
  }
};

const release = async (host: Host, path: string, me: Holder): Promise<void> => {
  const holder = await readHolder(host, path);
  if (holder !== 'none' && sameHolder(holder, me)) await host.files.remove(path);
};
