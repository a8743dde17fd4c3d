import { join } from 'node:path';
import { AppError } from '../kernel/problem.ts';
import type { Files, Host, Processes } from '../host/host.ts';
import { type Ticket, waitingLine } from './waiting-line.ts';

/** Where a long-running server is, as its ready line says it. */
export type Live = { readonly url: string; readonly pid: number; readonly ready: Readonly<Record<string, unknown>> };
type Process = { readonly pid: number; readonly mark: string | undefined; readonly nonce: string };
type Lock = Process & { readonly what: string; readonly server?: Omit<Live, 'pid'> };

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
/** A lock or claim without readable text this old was left by a process that died while it wrote it. */
const WRITING_MS = 2000;
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

const isRunning = (processes: Processes, { pid, mark }: Process): boolean =>
  processes.isAlive(pid) && (mark === undefined || processes.startMark(pid) === mark);

/** The process named in a lock or claim; `dead` with the name under which its place may be claimed. */
type Seen<T> = { readonly kind: 'none' } | { readonly kind: 'running'; readonly by: T | undefined } | { readonly kind: 'dead'; readonly id: string };

const look = async <T extends Process>(host: Host, path: string): Promise<Seen<T>> => {
  const text = host.files.readNow(path);
  if (text === undefined) return { kind: 'none' };
  const found = parsed<T>(text);
  if (found !== undefined) return isRunning(host.processes, found) ? { kind: 'running', by: found } : { kind: 'dead', id: found.nonce };
  const info = await host.files.info(path);
  const isOld = info !== undefined && host.now() - info.modifiedMs > WRITING_MS;
  return isOld ? { kind: 'dead', id: `broken-${Math.trunc(info.modifiedMs)}` } : { kind: 'running', by: undefined };
};

const claimPath = (folder: string, id: string): string => join(folder, `claim-${id}`);

/**
 * Takes the place of a dead owner. Whoever creates the claim named after the dead process is the only one that may
 * replace its lock; when that one dies too, its own claim is named after it, and so on. Names are never used twice,
 * so a claim made from an old look at the lock is seen to be late by looking again.
 */
const takeOver = async (host: Host, folder: string, deadOwner: string, mine: Lock): Promise<boolean> => {
  const claims: string[] = [];
  for (let dead = deadOwner; ; ) {
    const claim = claimPath(folder, dead);
    claims.push(claim);
    if (await host.files.create(claim, JSON.stringify(mine), PRIVATE, true)) break;
    const claimant = await look<Lock>(host, claim);
    if (claimant.kind !== 'dead') return false;
    dead = claimant.id;
  }
  const now = await look<Lock>(host, lockPath(folder));
  const isStillDead = now.kind === 'dead' && now.id === deadOwner;
  if (isStillDead) await host.files.replace(lockPath(folder), JSON.stringify(mine), PRIVATE);
  else claims.splice(0, claims.length - 1);
  for (const claim of claims) await host.files.remove(claim);
  return isStillDead;
};

const owned = (files: Files, folder: string, mine: Lock): Ownership => ({
  kind: 'owned',
  publish: (server) => files.replace(lockPath(folder), JSON.stringify({ ...mine, server }), PRIVATE),
  release: async () => {
    if (parsed<Lock>(files.readNow(lockPath(folder)))?.nonce === mine.nonce) await files.remove(lockPath(folder));
  },
});

const busy = (folder: string, by: Lock | undefined, waitMs: number): AppError =>
  new AppError(
    'network',
    `the embedded mock server is in use by ${by ? `${by.what} (process ${by.pid})` : 'another process'} for more than ${waitMs / 1000} s`,
    {
      code: 'MOCK_BUSY',
      retryable: true,
      tryThis: ['opsctl mock serve (one server that all commands share)', 'OPSCTL_HOME=<another folder> for a state of its own'],
      data: { folder, pid: by?.pid },
    },
  );

/** The live server of a folder, without waiting for anything. */
export const liveServer = (host: Host, folder: string): Live | undefined => {
  const lock = parsed<Lock>(host.files.readNow(lockPath(folder)));
  return lock?.server !== undefined && isRunning(host.processes, lock) ? { ...lock.server, pid: lock.pid } : undefined;
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
const attempt = async (host: Host, folder: string, mine: Lock, ticket: Ticket): Promise<Ownership | { kind: 'wait'; by: Lock | undefined }> => {
  const seen = await look<Lock>(host, lockPath(folder));
  if (seen.kind === 'running') {
    const { by } = seen;
    return by?.server ? { kind: 'live', live: { ...by.server, pid: by.pid } } : { kind: 'wait', by };
  }
  if (!(await ticket.isFirst())) return { kind: 'wait', by: undefined };
  const taken =
    seen.kind === 'none'
      ? await host.files.create(lockPath(folder), JSON.stringify(mine), PRIVATE, true)
      : await takeOver(host, folder, seen.id, mine);
  return taken ? owned(host.files, folder, mine) : { kind: 'wait', by: undefined };
};

/**
 * Makes this process the only one that works on `folder`, or finds the server that does. Commands that hold the folder
 * are waited for, in the order in which the waiting began.
 */
export const own = async (host: Host, folder: string, { what, waitMs, signal, onWait }: OwnerOptions): Promise<Ownership> => {
  await usable(host.files, folder);
  const nonce = [...host.random(8)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const mine: Lock = { pid: host.pid, mark: host.processes.startMark(host.pid), nonce, what };
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
