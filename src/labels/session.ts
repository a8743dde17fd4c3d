import type { Context } from '../cli/command.ts';
import { deploymentOf } from './deployment.ts';
import type { LockFile } from './lock-file.ts';
import { readLock } from './lock-store.ts';
import { type Wish, lockPlaceOf } from './wishes.ts';

/** What the flags of `labels apply`, `plan` and `diff -f` ask for. */
export type Options = {
  readonly publish: boolean;
  readonly prune: boolean;
  readonly admin: boolean;
  /** Who wins where others changed what the file says. */
  readonly take?: 'ours' | 'theirs';
  readonly deployment?: string;
};
/** One run over definition files: the deployment, and the lock files of their directories. */
export type Session = {
  readonly context: Context;
  readonly options: Options;
  readonly deployment: string;
  /** By directory; undefined where there is no lock file. */
  readonly locks: ReadonlyMap<string, LockFile | undefined>;
};

export const openSession = async (
  context: Context,
  options: Options,
  wishes: readonly Wish[],
): Promise<Session> => {
  const locks = new Map<string, LockFile | undefined>();
  for (const wish of wishes) {
    const { directory } = lockPlaceOf(context, wish);
    if (directory !== undefined && !locks.has(directory))
      locks.set(directory, await readLock(context, directory));
  }
  return { context, options, deployment: await deploymentOf(context, options.deployment), locks };
};

export const adminBody = ({ options }: Session): { useAdminAccess?: boolean } =>
  options.admin ? { useAdminAccess: true } : {};
