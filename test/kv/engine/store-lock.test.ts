import { beforeEach, describe, expect, it } from 'vitest';
import type { Host } from '../../../src/platform/host.ts';
import type { AppError } from '../../../src/core/problem.ts';
import type { KeyValue, Store } from '../../../src/kv/client/etcd-client.ts';
import { type LockInfo, lockStore, ownerOf, refuseOtherIn } from '../../../src/kv/engine/locks.ts';
import { partlyMade } from '../../support/context.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { type RealHost, realHost } from '../../support/real-host.ts';
import { withPatience } from '../../support/small-cluster.ts';

let real: RealHost;
beforeEach(async () => {
  real = await realHost();
});

/**
 * An in-memory store with one key and a lease. Every response waits for a turn of the event loop, so that
 * concurrent callers interleave.
 */
const memoryStore = () => {
  let [there, revision, leases] = [undefined as KeyValue | undefined, 1, 0];
  const alive = new Set<string>();
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const put = (value: string, lease: string): void => {
    revision += 1;
    there = {
      key: 'opsctl/upgrade-lock',
      value,
      create_revision: 1,
      mod_revision: revision,
      version: 1,
      lease,
    };
  };
  const store = {
    grant: async () => {
      leases += 1;
      alive.add(String(leases));
      await turn();
      return String(leases);
    },
    keepAlive: async (id: string) => (alive.has(id) ? 60 : 0),
    revoke: async (id: string) => {
      alive.delete(id);
      if (there?.lease === id) there = undefined;
    },
    range: async () => {
      await turn();
      return { kvs: there === undefined ? [] : [there], count: 0, revision };
    },
    create: async (_: string, value: string, lease: string) => {
      await turn();
      if (there !== undefined) return false;
      put(value, lease);
      return true;
    },
    replace: async (seen: KeyValue, value: string, lease: string) => {
      await turn();
      if (there?.mod_revision !== seen.mod_revision) return false;
      put(value, lease);
      return true;
    },
  };
  const expire = (): void => {
    alive.clear();
    there = undefined;
  };
  return { store: store as unknown as Store, value: () => there?.value, put, expire };
};

const held = (host: Host, more: Partial<LockInfo> = {}): LockInfo => ({
  run: 'r1',
  owner: ownerOf(host),
  since: '2026-01-01T00:00:00.000Z',
  ...more,
});
const gone = (host: Host): LockInfo =>
  held(host, { owner: { ...ownerOf(host), start_mark: 'of an earlier process' } });
/** Sleeps return immediately until the lock is released. */
const hurried = (host: Host): Host =>
  Object.create(host, {
    sleep: { value: (ms: number, signal?: AbortSignal) => host.sleep(Math.min(ms, 1), signal) },
  });
const never = (): void => {
  throw new Error('not expected');
};

describe('the lock in the store', () => {
  it('the store lock has one owner; the others learn its name', async () => {
    const { store } = memoryStore();
    const lock = await lockStore(real.host, () => [store], held(real.host), never);
    await expect(lockStore(real.host, () => [store], held(real.host), never)).rejects.toMatchObject({
      detail: { code: 'LOCKED' },
    });
    await expect(refuseOtherIn(real.host, [store])).rejects.toThrow(`process ${process.pid}`);
    await lock.release();
    await refuseOtherIn(real.host, [store]);
  });

  it('the lock of an exited process goes to exactly one of the processes that find it, even if all resume the same run', async () => {
    const { store, put } = memoryStore();
    put(JSON.stringify(gone(real.host)), '77');
    await refuseOtherIn(real.host, [store]);
    const tries = await Promise.allSettled(
      Array.from({ length: 8 }, () => lockStore(real.host, () => [store], held(real.host), never)),
    );
    const locks = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(locks).toHaveLength(1);
    await locks[0]?.release();
  });

  it.each([
    [
      'a process of another machine',
      JSON.stringify(
        held(
          partlyMade<Host>({
            hostname: 'elsewhere',
            env: {},
            pid: 1,
            processes: { startMark: () => undefined, scope: () => ({}) },
          }),
        ),
      ),
    ],
    ['something that cannot be read', 'garbage'],
  ])('the lock of %s is not replaced', async (_, value) => {
    const { store, put } = memoryStore();
    put(value, '77');
    await expect(lockStore(real.host, () => [store], held(real.host), never)).rejects.toMatchObject({
      detail: { code: 'LOCKED' },
    });
  });

  it('the lock is acquired again if its lease expired while the store had no quorum', async () => {
    const { store, value, expire } = memoryStore();
    const lock = await lockStore(hurried(real.host), () => [store], held(real.host), never);
    expire();
    await expect.poll(value, { interval: 1 }).toBeDefined();
    expect(JSON.parse(value() ?? '{}')).toMatchObject({ run: 'r1' });
    await lock.release();
    expect(value()).toBeUndefined();
  });

  it('a deleted lock key is written again before the next member, unless another run has the lock', async () => {
    const { store, value, put, expire } = memoryStore();
    const lock = await lockStore(real.host, () => [store], held(real.host), never);
    const before = value();
    await lock.hold();
    expect(value()).toBe(before);
    expire();
    await lock.hold();
    expect(JSON.parse(value() ?? '{}')).toMatchObject({ run: 'r1' });
    expire();
    put(JSON.stringify(held(real.host, { owner: { host: 'elsewhere', pid: 7, user: 'ada' } })), '99');
    await expect(lock.hold()).rejects.toMatchObject({ detail: { code: 'LOCKED' } });
    await lock.release();
  });

  it('the lease of 60 s is kept alive every 15 s', async () => {
    const host = withPatience(fakeHost());
    const { store } = memoryStore();
    let beats = 0;
    const ttls: number[] = [];
    const counted = {
      ...store,
      grant: (seconds: number) => {
        ttls.push(seconds);
        return store.grant(seconds);
      },
      keepAlive: (id: string) => {
        beats += 1;
        return store.keepAlive(id);
      },
    } as Store;
    const lock = await lockStore(host, () => [counted], held(host), never);
    await host.sleep(59_000);
    await lock.release();
    expect([beats, ttls]).toEqual([3, [60]]);
  });
  it('a lock that another run acquired is reported as lost', async () => {
    const { store, put, expire } = memoryStore();
    const lost = new Promise<AppError>((resolve) => {
      void lockStore(hurried(real.host), () => [store], held(real.host), resolve).then(async (lock) => {
        expire();
        put(JSON.stringify(held(real.host, { owner: { host: 'elsewhere', pid: 7, user: 'ada' } })), '99');
        await lost;
        await lock.release();
      });
    });
    expect((await lost).message).toContain('ada on elsewhere, process 7');
  });
});
