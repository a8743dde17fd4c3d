import type { Host } from '../../platform/host.ts';
import { processState } from '../../platform/process-identity.ts';
import { AppError } from '../../core/problem.ts';
import type { KeyValue, Store } from '../client/etcd-client.ts';
import { firstAnswer } from '../client/first-response.ts';
import { processOf, taken } from './lock-holder.ts';
import type { Held, Lock } from './lock-holder.ts';

const lockKey = 'opsctl/upgrade-lock';
const ttlSeconds = 60;
const beatMs = 15_000;
const where = `key ${lockKey} in the store`;
const hint = `wait; the lock of a dead process goes after ${ttlSeconds} s. A key that stays although nobody holds it: opsctl kv del ${lockKey}`;
const nobody: Held = { run: 'unknown', owner: { host: 'an unknown host', pid: 0 }, since: 'an unknown time' };

const heldIn = ({ value }: KeyValue): Held => {
  try {
    const held = JSON.parse(value) as Held;
    return typeof held.owner?.host === 'string' ? held : nobody;
  } catch {
    return nobody;
  }
};

/** A process of this machine and namespace that has gone. opsctl cannot check any other process: its lease decides. */
const hasGone = (host: Host, { owner }: Held): boolean => processState(host, processOf(owner)) === 'gone';

type Ask = <T>(work: (store: Store) => Promise<T>) => Promise<T>;

/** Writes the key, or replaces the very value that a dead process of this machine left. Throws LOCKED. */
const write = async (host: Host, ask: Ask, value: string, lease: string): Promise<void> => {
  if (await ask((store) => store.create(lockKey, value, lease))) return;
  const there = (await ask((store) => store.range(lockKey))).kvs[0];
  if (there === undefined) return write(host, ask, value, lease);
  const isOurs =
    there.value === value ||
    (hasGone(host, heldIn(there)) && (await ask((store) => store.replace(there, value, lease))));
  if (!isOurs) throw taken(heldIn(there), where, hint);
};

type Grip = { readonly lease: string; readonly value: string };
const grip = async (host: Host, ask: Ask, held: Held): Promise<Grip> => {
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

/** The grip that holds now. It is renewed once, also when the beat and a member's stop both find it gone. */
const firmGrip = async (host: Host, ask: Ask, held: Held) => {
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
 * One operator at a time in the world: a key with a lease in the store itself. It goes away by itself when its owner dies.
 * A lease that ran out while the store had no quorum is taken anew; `onLost` hears when somebody else was faster.
 */
export const lockStore = async (
  host: Host,
  stores: () => readonly Store[],
  held: Held,
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
        // A store that does not answer has no lock to give; whether a member may be stopped is asked of the members themselves.
        if (isTaken(error)) throw error;
      }),
    release: async () => {
      over.abort();
      await beating;
      await letGo();
    },
  };
};

/** The lock of a run that is over: left by a kill after its last line, or restored with a snapshot that was taken while it worked. */
export const dropLock = (stores: readonly Store[], run: string): Promise<void> =>
  firstAnswer(stores, async (store) => {
    const there = (await store.range(lockKey)).kvs[0];
    if (there !== undefined && heldIn(there).run === run) await store.del(lockKey);
  });

/** Who holds the lock in the store. Reads only, and without a quorum too. */
export const whoIsIn = async (stores: readonly Store[]): Promise<Held | undefined> => {
  const found = await firstAnswer(stores, (store) => store.range(lockKey, { isSerializable: true })).catch(
    () => undefined,
  );
  return found?.kvs[0] === undefined ? undefined : heldIn(found.kvs[0]);
};

/** Throws LOCKED when the store names somebody at work. Reads only, and without a quorum too. */
export const refuseOtherIn = async (host: Host, stores: readonly Store[]): Promise<void> => {
  const answers = await Promise.allSettled(
    stores.map((store) => store.range(lockKey, { isSerializable: true })),
  );
  const found = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value.kvs : [])).map(heldIn);
  const there = found.find((held) => !hasGone(host, held));
  if (there !== undefined) throw taken(there, where, hint);
};
