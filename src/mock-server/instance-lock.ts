import { join } from 'node:path';
import { childPath, pathPart } from '../core/file-name.ts';
import { AppError } from '../core/problem.ts';
import {
  type Holder,
  lookAt,
  thisProcess,
  type Try,
  tryLock,
  unlock,
  waitFor,
  waitForLock,
} from '../platform/file-lock.ts';
import type { Files, Host } from '../platform/host.ts';
import { describeProcess, processState, type ProcessState, waysPast } from '../platform/process-identity.ts';

type Ticket = {
  /** Joins the queue. A second call has no effect. */
  take(): Promise<void>;
  /** True if no running process has waited longer. Without a ticket: true if no process waits. */
  isFirst(): Promise<boolean>;
  leave(): Promise<void>;
};
const WIDTH = 14;
/** `-` parts a ticket's name, and a start mark may be any text. */
const plain = (mark: string | undefined): string => (mark ?? '').replace(/[^A-Za-z0-9]/g, '').slice(-40);
const parseJson = <T>(text: string | undefined): T | undefined => {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
};
/** A process that cannot be checked does not wait longer than this: it may have exited without removing its ticket. */
const MOST_WAITING_MS = 60_000;
/**
 * The queue for the state directory, with one file per process: `<since>-<pid>-<mark>-<nonce>`, which contains its owner.
 * It only makes waiting fair. The lock ensures that one process works on the directory, so a lost or leftover ticket
 * causes no damage.
 */
const waitingLine = (host: Host, directory: string, mine: Holder): Ticket => {
  const line = join(directory, 'waiting');
  let name: string | undefined;
  /** A ticket of an earlier version is empty: its process IDs are those of this machine. */
  const isNamedAlive = (ticket: string): boolean => {
    const [, pid = '', mark = ''] = ticket.split('-');
    return (
      host.processes.isAlive(Number(pid)) &&
      (mark === '' || plain(host.processes.startMark(Number(pid))) === mark)
    );
  };
  const stateOf = (ticket: string): ProcessState => {
    const text = host.files.readNow(childPath(line, pathPart(ticket)));
    if (text === undefined) return 'gone';
    const owner = parseJson<Holder>(text);
    if (owner !== undefined) return processState(host, owner);
    return isNamedAlive(ticket) ? 'alive' : 'gone';
  };
  return {
    take: async () => {
      if (name !== undefined) return;
      await host.files.makeDirectory(line, 0o700);
      name = `${String(host.now()).padStart(WIDTH, '0')}-${mine.pid}-${plain(mine.mark)}-${mine.nonce}`;
      await host.files.create(childPath(line, pathPart(name)), JSON.stringify(mine), 0o600, true);
    },
    isFirst: async () => {
      for (const ticket of (await host.files.list(line)).sort()) {
        if (ticket === name) return true;
        const state = stateOf(ticket);
        const isOld = host.now() - Number(ticket.slice(0, WIDTH)) > MOST_WAITING_MS;
        if (state === 'alive' || (state === 'unknown' && !isOld)) return false;
        if (state === 'gone') await host.files.remove(childPath(line, pathPart(ticket)));
      }
      return true;
    },
    leave: async () => {
      if (name !== undefined) await host.files.remove(childPath(line, pathPart(name)));
    },
  };
};

/** The URL of a long-running server, as printed in its ready line. */
export type Live = {
  readonly url: string;
  readonly pid: number;
  readonly ready: Readonly<Record<string, unknown>>;
};
type Lock = Holder & { readonly what: string; readonly server?: Omit<Live, 'pid'> };
export type Ownership =
  | { readonly kind: 'live'; readonly live: Live }
  | { readonly kind: 'owned'; publish(server: Omit<Live, 'pid'>): Promise<void>; release(): Promise<void> };
export type OwnerOptions = {
  readonly what: string;
  readonly waitMs: number;
  readonly signal?: AbortSignal;
  /** Called once, after a moment, with the owner of the lock. */
  readonly onWait?: (who: string) => void;
};
const PRIVATE = 0o600;
const REACH_MS = 1000;
const POLL_MS = 15;
/** Commands are short: only a wait longer than this is worth a word. */
const TELL_AFTER_MS = 2000;
export const lockPath = (directory: string): string => join(directory, 'owner.json');
const makeOwned = (host: Host, directory: string, mine: Lock): Ownership => ({
  kind: 'owned',
  publish: (server) => host.files.replace(lockPath(directory), JSON.stringify({ ...mine, server }), PRIVATE),
  release: () => unlock(host, lockPath(directory), mine),
});
const ownerText = (host: Host, by: Lock | undefined): string =>
  by ? `${by.what} (${describeProcess(host, by)})` : 'another process';
const busy = (host: Host, directory: string, by: Lock | undefined, waitMs: number): AppError =>
  new AppError(
    'network',
    `the embedded mock server is in use by ${ownerText(host, by)} for more than ${waitMs / 1000} s`,
    {
      code: 'MOCK_BUSY',
      retryable: true,
      tryThis: [
        ...(by !== undefined && processState(host, by) === 'unknown'
          ? waysPast(host, by, lockPath(directory)).slice(0, 1)
          : []),
        'opsctl mock serve (one server that all commands share)',
        'OPSCTL_HOME=<another directory> for a separate state',
      ],
      data: { directory, pid: by?.pid },
    },
  );
/** The live server of a directory, without waiting for anything. */
export const liveServer = (host: Host, directory: string): Live | undefined => {
  const lock = parseJson<Lock>(host.files.readNow(lockPath(directory)));
  return lock?.server !== undefined && processState(host, lock) !== 'gone'
    ? { ...lock.server, pid: lock.pid }
    : undefined;
};
const usable = async (files: Files, directory: string): Promise<void> => {
  const cause: unknown = await files.makeDirectory(directory, 0o700).catch((error: unknown) => error);
  if (cause === undefined && (await files.isWritable(directory))) return;
  const why = cause instanceof Error ? cause.message : 'this user may not write there';
  throw new AppError('config', `the embedded mock server cannot keep its state in ${directory}: ${why}`, {
    code: 'STATE_DIRECTORY',
    tryThis: [
      'OPSCTL_HOME=<a directory that can be written>',
      'opsctl mock serve --ephemeral (saves no state)',
    ],
    cause,
  });
};
/** Makes one attempt: returns the lock, a running server, or the owner of the lock. */
const attempt = async (
  host: Host,
  directory: string,
  mine: Lock,
  ticket: Ticket,
): Promise<Try<Ownership, Lock | undefined>> => {
  const seen = await lookAt<Lock>(host, lockPath(directory));
  if (seen.kind === 'held') {
    const { by } = seen;
    if (!by?.server) return { busy: by };
    const { hostname, port } = new URL(by.server.url);
    // The server of another container is useful only if this process can connect to it.
    const isReachable =
      processState(host, by) === 'alive' ||
      (await host.network.canConnect(hostname, Number(port), REACH_MS).catch(() => false));
    return isReachable ? { got: { kind: 'live', live: { ...by.server, pid: by.pid } } } : { busy: by };
  }
  if (!(await ticket.isFirst())) return { busy: undefined };
  const taken = await tryLock(host, lockPath(directory), mine);
  return taken === true ? { got: makeOwned(host, directory, mine) } : { busy: undefined };
};
/**
 * Makes this process the only one that works on `directory`, or finds the server that does. Waits for
 * commands that hold the directory, in the order of arrival.
 */
export const claimDirectory = async (
  host: Host,
  directory: string,
  { what, waitMs, signal, onWait }: OwnerOptions,
): Promise<Ownership> => {
  await usable(host.files, directory);
  const mine: Lock = { ...thisProcess(host), what };
  const ticket = waitingLine(host, directory, mine);
  let isTold = false;
  const onBusy = async (by: Lock | undefined, waitedMs: number): Promise<void> => {
    if (waitedMs >= TELL_AFTER_MS && !isTold) {
      isTold = true;
      onWait?.(ownerText(host, by));
    }
    await ticket.take();
  };
  try {
    return await waitForLock(host, () => attempt(host, directory, mine, ticket), {
      waitMs: (by) => waitFor(host, waitMs, by),
      signal,
      onBusy,
      pauseMs: () => POLL_MS + (mine.pid % 10),
      timeoutError: (by) => busy(host, directory, by, waitMs),
    });
  } finally {
    await ticket.leave();
  }
};
