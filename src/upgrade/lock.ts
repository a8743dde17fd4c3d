import { join } from 'node:path';
import type { Host } from '../host/host.ts';
import { AppError } from '../kernel/problem.ts';
import type { Access } from './access.ts';
import type { Store } from './gateway/store.ts';
import { clusterFolder } from './journal.ts';
import type { ClusterFile, Owner } from './types.ts';

const lockKey = 'opsctl/upgrade-lock';
const ttlSeconds = 60;
const beatMs = 15_000;

export type Lock = { release(): Promise<void> };
type Held = { readonly run: string; readonly owner: Owner; readonly since: string; readonly lease?: string };

export const ownerOf = (host: Host): Owner => {
  const [user, mark] = [host.env['USER'] ?? host.env['LOGNAME'], host.processes.startMark(host.pid)];
  return { ...(user === undefined ? {} : { user }), host: host.hostname, pid: host.pid, ...(mark === undefined ? {} : { start_mark: mark }) };
};

const isGone = (host: Host, owner: Owner): boolean =>
  owner.host === host.hostname &&
  (!host.processes.isAlive(owner.pid) || (owner.start_mark !== undefined && host.processes.startMark(owner.pid) !== owner.start_mark));

const taken = (held: Held, where: string, hint: string): AppError =>
  new AppError(
    'unsafe',
    `another operator is at work on this cluster: ${held.owner.user ?? 'somebody'} on ${held.owner.host}, process ${held.owner.pid}, since ${held.since} (${where})`,
    {
      code: 'LOCKED',
      tryThis: [hint, 'opsctl kv status'],
      data: { run: held.run, owner: held.owner },
    },
  );

const parseHeld = (text: string): Held | undefined => {
  try {
    return JSON.parse(text) as Held;
  } catch {
    return undefined;
  }
};

/** One operator at a time on this machine. A lock whose process has gone is taken over. */
const lockMachine = async (host: Host, state: string, cluster: string, held: Held): Promise<Lock> => {
  const folder = clusterFolder(state, cluster);
  const path = join(folder, 'lock');
  await host.files.makeFolder(folder, 0o700);
  for (let tries = 0; tries < 3; tries += 1) {
    if (await host.files.create(path, `${JSON.stringify(held)}\n`, 0o600)) return { release: () => host.files.remove(path) };
    const other = parseHeld((await host.files.read(path)) ?? '');
    if (other !== undefined && !isGone(host, other.owner)) throw taken(other, 'lock on this machine', 'wait until it has ended');
    // Two that find the same stale lock: the rename succeeds for one of them only.
    const aside = `${path}.${host.pid}`;
    await host.files
      .rename(path, aside)
      .then(() => host.files.remove(aside))
      .catch(() => {});
  }
  throw new AppError('unsafe', `the lock ${path} could not be taken`, { code: 'LOCKED', tryThis: ['try again'] });
};

const readHeld = async (store: Store): Promise<Held | undefined> => {
  const found = (await store.range(lockKey)).kvs[0];
  return found === undefined ? undefined : parseHeld(found.value);
};

/** One operator at a time in the world: a key with a lease in the store itself. It goes away by itself when its owner dies. */
const lockStore = async (host: Host, stores: () => readonly Store[], held: Held): Promise<Lock> => {
  const ask = async <T>(work: (store: Store) => Promise<T>): Promise<T> => firstAnswer(stores(), work);
  const lease = await ask((store) => store.grant(ttlSeconds));
  const value = JSON.stringify({ ...held, lease });
  if (!(await ask((store) => store.create(lockKey, value, lease)))) {
    const other = await ask(readHeld);
    const isOurs = other !== undefined && (other.run === held.run || isGone(host, other.owner));
    if (!isOurs) {
      await ask((store) => store.revoke(lease)).catch(() => {});
      throw taken(
        other ?? { ...held, owner: { host: 'an unknown host', pid: 0 } },
        `key ${lockKey} in the store`,
        `wait; the lock of a dead process goes after ${ttlSeconds} s`,
      );
    }
    await ask((store) => store.put(lockKey, value, lease));
  }
  const over = new AbortController();
  const beating = beat(host, over.signal, () => ask((store) => store.keepAlive(lease)));
  return {
    release: async () => {
      over.abort();
      await beating;
      await ask((store) => store.revoke(lease)).catch(() => {});
    },
  };
};

const beat = async (host: Host, over: AbortSignal, once: () => Promise<unknown>): Promise<void> => {
  while (!over.aborted) {
    await host.sleep(beatMs, over).catch(() => {});
    if (!over.aborted) await once().catch(() => {});
  }
};

const firstAnswer = async <T>(stores: readonly Store[], work: (store: Store) => Promise<T>): Promise<T> => {
  let last: unknown = new AppError('network', 'no member answers', { code: 'UNAVAILABLE' });
  for (const store of stores) {
    try {
      return await work(store);
    } catch (error) {
      last = error;
    }
  }
  throw last;
};

/**
 * Says who is at work, instead of what that work looks like from outside: a member that is being replaced is no sick member.
 * Reads only; throws LOCKED. `urls`: members that answered just now.
 */
export const refuseOther = async (host: Host, state: string, cluster: ClusterFile, access: Access, urls: readonly string[]): Promise<void> => {
  const here = parseHeld((await host.files.read(join(clusterFolder(state, cluster.name), 'lock'))) ?? '');
  if (here !== undefined && !isGone(host, here.owner)) throw taken(here, 'lock on this machine', 'wait until it has ended');
  const asked = urls.map((url) => access.store(url).range(lockKey, { isSerializable: true }));
  const answers = (await Promise.allSettled(asked)).flatMap((one) => (one.status === 'fulfilled' ? one.value.kvs : []));
  const there = answers.map(({ value }) => parseHeld(value)).find((held) => held !== undefined && !isGone(host, held.owner));
  if (there !== undefined) throw taken(there, `key ${lockKey} in the store`, `wait; the lock of a dead process goes after ${ttlSeconds} s`);
};

/**
 * Both locks. Where the store cannot hold one, nothing new is begun; a run that has to be brought to its end (no quorum on a resume) passes
 * `warn` and goes on with the machine's lock alone.
 */
export const takeLocks = async (
  host: Host,
  state: string,
  cluster: ClusterFile,
  access: Access,
  run: string,
  warn?: (text: string) => void,
): Promise<Lock> => {
  const held: Held = { run, owner: ownerOf(host), since: new Date(host.now()).toISOString() };
  const machine = await lockMachine(host, state, cluster.name, held);
  try {
    const store = await lockStore(host, () => cluster.members.map(({ client_url }) => access.store(client_url)), held).catch(
      (error: unknown): Lock => {
        if (error instanceof AppError && error.detail.code === 'LOCKED') throw error;
        const why = error instanceof Error ? error.message : String(error);
        if (warn === undefined)
          throw new AppError('unsafe', `refused, nothing was changed: no lock could be put into the store: ${why}`, {
            code: 'NO_LOCK',
            tryThis: ['try again', 'opsctl kv status'],
            cause: error,
          });
        warn(`no lock in the store (${why}): only operators on this machine are kept out`);
        return { release: async () => {} };
      },
    );
    return {
      release: async () => {
        await store.release();
        await machine.release();
      },
    };
  } catch (error) {
    await machine.release();
    throw error;
  }
};
