import { messageOf } from '../../core/error-message.ts';
import type { Host } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import type { Access } from './access.ts';
import type { ClusterFile } from './types.ts';
import { ownerOf } from './lock-holder.ts';
import type { Held, Lock } from './lock-holder.ts';
import { lockMachine, refuseOtherHere } from './machine-lock.ts';
import { lockStore, refuseOtherIn } from './locks.ts';

export type Locking = {
  readonly host: Host;
  /** Directory of all clusters. */
  readonly state: string;
  readonly cluster: ClusterFile;
  readonly access: Access;
  readonly run: string;
  /**
   * Where the store cannot hold a lock, nothing new is begun. A run that has to be brought to its end (no quorum on a resume)
   * is told here and goes on with the machine's lock alone.
   */
  readonly warn?: ((text: string) => void) | undefined;
  /** The store's lock went to somebody else while the store could not be written. */
  readonly onLost?: (error: AppError) => void;
};

const noStoreLock = ({ warn }: Locking, error: unknown): Lock => {
  if (error instanceof AppError && error.detail.code === 'LOCKED') throw error;
  const why = messageOf(error);
  if (warn === undefined)
    throw new AppError(
      'unsafe',
      `refused, nothing was changed: no lock could be put into the store: ${why}`,
      {
        code: 'NO_LOCK',
        tryThis: ['try again', 'opsctl kv status'],
        cause: error,
      },
    );
  warn(`no lock in the store (${why}): only operators on this machine are kept out`);
  return { release: async () => {}, hold: async () => {} };
};

/** One operator at a time: on this machine, and in the store for all others. */
export const takeLocks = async (locking: Locking): Promise<Lock> => {
  const { host, state, cluster, access, run, onLost = () => {} } = locking;
  const held: Held = { run, owner: ownerOf(host), since: new Date(host.now()).toISOString() };
  const machine = await lockMachine(host, state, cluster.name, held);
  try {
    const stores = () => cluster.members.map(({ client_url }) => access.store(client_url));
    const store = await lockStore(host, stores, held, onLost).catch((error: unknown) =>
      noStoreLock(locking, error),
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
 * Says who is at work, instead of what that work looks like from outside: a member that is being replaced is no sick member.
 * Reads only; throws LOCKED. `urls`: members that answered just now.
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
