import { join } from 'node:path';
import { AppError } from '../core/problem.ts';
import { type Holder, isGone, lookAt, thisProcess, tryLock, unlock } from '../platform/file-lock.ts';
import type { Files, Host } from '../platform/host.ts';
import { type Ticket, waitingLine } from './lock-queue.ts';

/** Where a long-running server is, as its ready line says it. */
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
  /** Hears once, after a moment, who is in the way. */
  readonly onWait?: (who: string) => void;
};

const PRIVATE = 0o600;
/** A state folder belongs to one machine: whoever is named from elsewhere (a container with another name, an earlier name of this one) has gone. */
const foreignAgeMs = 0;
const POLL_MS = 15;
/** Commands are short: only a wait longer than this is worth a word. */
const TELL_AFTER_MS = 2000;

export const lockPath = (folder: string): string => join(folder, 'owner.json');

const parsed = <T>(text: string | undefined): T | undefined => {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
};

const owned = (host: Host, folder: string, mine: Lock): Ownership => ({
  kind: 'owned',
  publish: (server) => host.files.replace(lockPath(folder), JSON.stringify({ ...mine, server }), PRIVATE),
  release: () => unlock(host, lockPath(folder), mine),
});

const busy = (folder: string, by: Lock | undefined, waitMs: number): AppError =>
  new AppError(
    'network',
    `the embedded mock server is in use by ${by ? `${by.what} (process ${by.pid})` : 'another process'} for more than ${waitMs / 1000} s`,
    {
      code: 'MOCK_BUSY',
      retryable: true,
      tryThis: [
        'opsctl mock serve (one server that all commands share)',
        'OPSCTL_HOME=<another folder> for a state of its own',
      ],
      data: { folder, pid: by?.pid },
    },
  );

/** The live server of a folder, without waiting for anything. */
export const liveServer = (host: Host, folder: string): Live | undefined => {
  const lock = parsed<Lock>(host.files.readNow(lockPath(folder)));
  return lock?.server !== undefined && !isGone(host, lock, foreignAgeMs)
    ? { ...lock.server, pid: lock.pid }
    : undefined;
};

const usable = async (files: Files, folder: string): Promise<void> => {
  const cause: unknown = await files.makeFolder(folder, 0o700).catch((error: unknown) => error);
  if (cause === undefined && (await files.isWritable(folder))) return;
  const why = cause instanceof Error ? cause.message : 'this user may not write there';
  throw new AppError('config', `the embedded mock server cannot keep its state in ${folder}: ${why}`, {
    code: 'STATE_FOLDER',
    tryThis: ['OPSCTL_HOME=<a folder that can be written>', 'opsctl mock serve --ephemeral (keeps nothing)'],
    cause,
  });
};

/** One try: the lock, a live server, or who is in the way. */
const attempt = async (
  host: Host,
  folder: string,
  mine: Lock,
  ticket: Ticket,
): Promise<Ownership | { kind: 'wait'; by: Lock | undefined }> => {
  const seen = await lookAt<Lock>(host, lockPath(folder), foreignAgeMs);
  if (seen.kind === 'held') {
    const { by } = seen;
    return by?.server ? { kind: 'live', live: { ...by.server, pid: by.pid } } : { kind: 'wait', by };
  }
  if (!(await ticket.isFirst())) return { kind: 'wait', by: undefined };
  const taken = await tryLock(host, lockPath(folder), mine, foreignAgeMs);
  return taken === true ? owned(host, folder, mine) : { kind: 'wait', by: undefined };
};

/**
 * Makes this process the only one that works on `folder`, or finds the server that does. Commands that hold the folder
 * are waited for, in the order in which the waiting began.
 */
export const own = async (
  host: Host,
  folder: string,
  { what, waitMs, signal, onWait }: OwnerOptions,
): Promise<Ownership> => {
  await usable(host.files, folder);
  const mine: Lock = { ...thisProcess(host), what };
  const ticket = waitingLine(host, folder, mine);
  const start = host.elapsed();
  let isTold = false;
  try {
    for (;;) {
      const got = await attempt(host, folder, mine, ticket);
      if (got.kind !== 'wait') return got;
      const waitedMs = host.elapsed() - start;
      if (waitedMs >= waitMs) throw busy(folder, got.by, waitMs);
      if (waitedMs >= TELL_AFTER_MS && !isTold) {
        isTold = true;
        onWait?.(got.by ? `${got.by.what} (process ${got.by.pid})` : 'another process');
      }
      await ticket.take();
      await host.sleep(POLL_MS + (mine.pid % 10), signal);
    }
  } finally {
    await ticket.leave();
  }
};
