import { dirname, join, resolve } from 'node:path';
import type { Context } from '../cli/command.ts';
import { AppError } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import { type Holder, type Seen, thisProcess, tryLock, unlock } from '../platform/file-lock.ts';
import { describeProcess, waysPast } from '../platform/process-identity.ts';
import type { LabelRecord, LockFile } from './lock-file.ts';
import { LOCK_FILE, emptyLock, lockFrom, lockText } from './lock-file.ts';

/** The directory in which the definitions of `-f` lie; undefined for standard input. */
export const directoryOf = async ({ host }: Context, file: string): Promise<string | undefined> => {
  if (file === '-') return undefined;
  const path = resolve(host.cwd, file);
  return (await host.files.info(path))?.kind === 'directory' ? path : dirname(path);
};

export const readLock = async ({ host }: Context, directory: string): Promise<LockFile | undefined> => {
  const path = join(directory, LOCK_FILE);
  const text = await host.files.read(path);
  return text === undefined ? undefined : lockFrom(path, text);
};

const pollMs = 50;
/** How long another command may hold the file: it only reads and writes it. */
const patienceMs = 30_000;

const lockFileHeld = (host: Host, path: string, seen: Seen<Holder>): AppError => {
  const held = seen.kind === 'held' ? seen : undefined;
  const who = held?.by === undefined ? 'another command' : describeProcess(host, held.by);
  return new AppError('unsafe', `${who} holds ${path}; the lock file was not written`, {
    code: 'LOCK_FILE_HELD',
    tryThis: waysPast(host, held?.by, held?.claim ?? path),
  });
};

const whileHeld = async <T>({ host, signal }: Context, path: string, use: () => Promise<T>): Promise<T> => {
  const mine = thisProcess(host);
  const since = host.elapsed();
  for (;;) {
    const seen = await tryLock(host, path, mine);
    if (seen === true) break;
    if (host.elapsed() - since > patienceMs) throw lockFileHeld(host, path, seen);
    await host.sleep(pollMs, signal);
  }
  try {
    return await use();
  } finally {
    await unlock(host, path, mine);
  }
};

/** Reads, changes and replaces the file as one: what another command wrote meanwhile is kept. */
export const changeLock = async (
  context: Context,
  directory: string,
  change: (lock: LockFile) => LockFile,
): Promise<LockFile> =>
  whileHeld(context, join(directory, `.${LOCK_FILE}.held`), async () => {
    const before = (await readLock(context, directory)) ?? emptyLock;
    const after = change(before);
    const text = lockText(after);
    const path = join(directory, LOCK_FILE);
    if ((await context.host.files.read(path)) !== text) await context.host.files.replace(path, text);
    return after;
  });

/** One label's record for one deployment put into a lock; the other deployments stay. Pure. */
export const withRecord = (
  lock: LockFile,
  key: string,
  file: string | undefined,
  deployment: string,
  record: LabelRecord['deployments'][string],
): LockFile => {
  const known = lock.labels[key];
  const where = file ?? known?.file;
  return {
    labels: {
      ...lock.labels,
      [key]: {
        ...(where === undefined ? {} : { file: where }),
        deployments: { ...known?.deployments, [deployment]: record },
      },
    },
  };
};
