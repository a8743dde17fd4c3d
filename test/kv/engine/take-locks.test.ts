import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/core/problem.ts';
import { shareProgress } from '../../../src/kv/engine/progress.ts';
import {
  dropLock,
  lockMachine,
  ownerOf,
  refuseOther,
  refuseOtherHere,
  takeLocks,
  takeOver,
  readMachineLock,
  readStoreLock,
} from '../../../src/kv/engine/locks.ts';
import type { JournalEntry } from '../../../src/kv/engine/model.ts';
import { thisProcess } from '../../../src/platform/file-lock.ts';
import type { Store } from '../../../src/kv/client/etcd-client.ts';
import { planned } from '../../support/observations.ts';
import { STATE, smallCluster } from '../../support/small-cluster.ts';
import { accessWith } from '../../../src/kv/engine/access.ts';
import { brokenIfSlow, slowHost } from '../../support/slow-host.ts';
import { expectInOrder } from '../../support/trace.ts';
import { traceCluster } from '../../support/traced-cluster.ts';
import { naming } from '../../support/facts.ts';

type Small = ReturnType<typeof smallCluster>;
const KEY = 'opsctl/upgrade-lock';
const FILE = `${STATE}/test/lock`;
const run = '20260101T000000Z-1';
const locking = ({ host, cluster, access }: Small, more: object = {}) =>
  takeLocks({ ...{ host, state: STATE, cluster, access, run }, ...more });
const urlsOf = ({ cluster }: Small): string[] => cluster.members.map(({ client_url }) => client_url);
const storesOf = (small: Small): Store[] => urlsOf(small).map((url) => small.access.store(url));
/** Another machine owns the lock in the store. */
const held = (small: Small, owner: object = { user: 'eve', host: 'elsewhere', pid: 7 }): void => {
  const value = JSON.stringify({ run: 'r9', owner, since: '2026-01-01T00:00:00Z' });
  small.keys.set(KEY, { value, lease: '9', mod: 3, create: 3 });
};
const away = (small: Small): void => {
  for (const name of ['n1', 'n2', 'n3']) small.end(name);
};

/** Returns the owner in the store and whether the value and the key name the same lease. */
const ownerInStore = (small: Small): readonly unknown[] => {
  const { value = '{}', lease } = small.keys.get(KEY) ?? {};
  const parsed = JSON.parse(value) as { run?: string; lease?: string };
  return [parsed.run, lease !== '' && parsed.lease === lease];
};

describe('both locks of a run', () => {
  it('each effect on the disk is complete when the locks are held, and when they are released', async () => {
    const broken = await brokenIfSlow(async (slow) => {
      const small = smallCluster();
      const host = { ...slow(small.host), network: small.host.network };
      const lock = await locking({ ...small, host: host as Small['host'] });
      const isHeld = small.host.files.readNow(FILE) !== undefined && small.keys.has(KEY);
      await lock.release();
      const isLeft = small.host.files.readNow(FILE) !== undefined || small.keys.has(KEY);
      return [...(isHeld ? [] : ['a lock is missing']), ...(isLeft ? ['a lock is left'] : [])];
    });
    expect(broken).toEqual([]);
  });
  it('a replacement that has no name yet is asked again only after each pause', async () => {
    const small = smallCluster();
    const gone = { ...thisProcess(small.host), pid: 999_999, nonce: 'gone' };
    await small.host.files.replace(FILE, JSON.stringify(gone), 0o600);
    await small.host.files.replace(`${FILE}.claim-gone`, '', 0o600);
    const processes = { ...small.host.processes, isAlive: (pid: number) => pid !== 999_999 };
    const slow = slowHost({ ...small.host, processes });
    const lock = await lockMachine(slow.host, STATE, 'test', { run, owner: ownerOf(small.host), since: '' });
    expect(slow.overlaps).toEqual([]);
    expect(small.host.elapsed()).toBeGreaterThanOrEqual(1000);
    expect(small.host.files.readNow(FILE)).toContain(run);
    await lock.release();
  });
  it('a directory that another user owns when it has been made contains no lock', async () => {
    const small = smallCluster();
    let isMade = false;
    const files: typeof small.host.files = {
      ...small.host.files,
      makeDirectory: async (path, mode) => {
        await small.host.files.makeDirectory(path, mode);
        isMade = true;
      },
      info: async (path) => {
        const found = await small.host.files.info(path);
        return isMade && path === `${STATE}/test` && found !== undefined ? { ...found, uid: 4711 } : found;
      },
    };
    await expect(locking({ ...small, host: { ...small.host, files } })).rejects.toMatchObject({
      message: expect.stringContaining('4711'),
    });
    expect([small.host.files.readNow(FILE), small.keys.has(KEY)]).toEqual([undefined, false]);
  });
  it('the lock of an exited process of this machine is replaced, with the own run and lease', async () => {
    const small = smallCluster();
    const owner = { ...ownerOf(small.host), pid: 999_999 };
    const host = { ...small.host, processes: { ...small.host.processes, isAlive: () => false } };
    held(small, owner);
    await locking({ ...small, host: host as Small['host'] });
    expect(ownerInStore(small)).toEqual([run, true]);
  });
  it('a heartbeat is complete before the lease is revoked', async () => {
    const small = smallCluster();
    const traced = traceCluster(small, undefined, true);
    const lock = await locking({
      ...small,
      host: traced.host as Small['host'],
      access: accessWith(traced.host, undefined, undefined),
    });
    const beat = 'POST n1 /v3/lease/keepalive';
    await small.host.sleep(15_001);
    await expect.poll(() => traced.entries, { interval: 1 }).toContain(beat);
    expect(traced.entries).not.toContain(`${beat} done`);
    await lock.release();
    expectInOrder(
      traced.entries,
      beat,
      `${beat} done`,
      'POST n1 /v3/lease/revoke',
      'POST n1 /v3/lease/revoke done',
    );
  });
  it('the lease of a lock that was not taken is revoked before the error', async () => {
    const small = smallCluster();
    held(small);
    const traced = traceCluster(small, undefined, true);
    const access = accessWith(traced.host, undefined, undefined);
    await expect(locking({ ...small, host: traced.host as Small['host'], access })).rejects.toMatchObject({
      detail: { code: 'LOCKED' },
    });
    traced.note('the error');
    expectInOrder(
      traced.entries,
      ...['POST n1 /v3/lease/revoke done', 'remove lock', 'remove lock done', 'the error'],
    );
  });
  it('a lock that disappears between the attempt and the read is taken, with the own run and lease', async () => {
    const small = smallCluster();
    let count = 0;
    small.state.replyOf = (_, call) => {
      if (call !== '/kv/txn') return undefined;
      count += 1;
      return count === 1 ? { body: { header: { revision: '10' }, succeeded: false } } : undefined;
    };
    await locking(small);
    expect(ownerInStore(small)).toEqual([run, true]);
  });
  it('name the run and its owner, and go with it', async () => {
    const small = smallCluster();
    const lock = await locking(small);
    const expected = { run, owner: { host: 'testhost', pid: 4242 }, since: '2026-01-02T03:04:05.000Z' };
    expect(JSON.parse(small.keys.get(KEY)?.value ?? '')).toMatchObject(expected);
    expect(JSON.parse(small.host.files.readNow(FILE) ?? '')).toMatchObject(expected);
    expect(await readMachineLock(small.host, STATE, 'test')).toMatchObject({ run });
    expect(await readStoreLock(storesOf(small))).toMatchObject({ run });
    small.keys.delete(KEY);
    await lock.hold();
    expect(small.keys.has(KEY)).toBe(true);
    await lock.release();
    expect([small.keys.has(KEY), small.host.files.readNow(FILE)]).toEqual([false, undefined]);
    expect(await readMachineLock(small.host, STATE, 'test')).toBeUndefined();
    expect(await readStoreLock(storesOf(small))).toBeUndefined();
  });
  it('both locks are released if the store has another owner, even for a resumed run', async () => {
    const small = smallCluster();
    held(small);
    const warned: string[] = [];
    const warn = (text: string) => warned.push(text);
    await expect(locking(small, { warn })).rejects.toMatchObject({ detail: { code: 'LOCKED' } });
    expect([warned, small.host.files.readNow(FILE)]).toEqual([[], undefined]);
  });
  it('an unresponsive store prevents new runs; a started run continues with a warning', async () => {
    const small = smallCluster();
    away(small);
    await expect(locking(small)).rejects.toMatchObject({
      ...{ category: 'unsafe', detail: { code: 'NO_LOCK', tryThis: [naming('again'), 'opsctl kv status'] } },
      message: naming('changes', 'made', 'lock', 'cluster', '127.0.0.1:20003', 'connection refused'),
    });
    expect(small.host.files.readNow(FILE)).toBeUndefined();
    const warned: string[] = [];
    const lock = await locking(small, { warn: (text: string) => warned.push(text) });
    expect(warned).toEqual([
      naming('lock', 'cluster', '127.0.0.1:20003', 'connection refused', 'this machine'),
    ]);
    await lock.hold();
    expect(small.host.files.readNow(FILE)).toContain(run);
    await lock.release();
    expect(small.host.files.readNow(FILE)).toBeUndefined();
    expect(await readStoreLock(storesOf(small))).toBeUndefined();
  });
  it('a full store: the machine lock is sufficient, unless the store shows another owner', async () => {
    const small = smallCluster();
    const full = new AppError('refused', 'etcdserver: mvcc: database space exceeded', { code: 'NO_SPACE' });
    const access = {
      ...small.access,
      store: (url: string) => ({
        ...small.access.store(url),
        grant: async () => {
          throw full;
        },
      }),
    };
    const warned: string[] = [];
    const warn = (text: string) => warned.push(text);
    const lock = await locking(small, { access, warn });
    expect(warned).toEqual([naming('lock', 'cluster', 'database space exceeded', 'this machine')]);
    await lock.release();
    held(small);
    await expect(locking(small, { access, warn })).rejects.toMatchObject({ detail: { code: 'LOCKED' } });
    expect(small.host.files.readNow(FILE)).toBeUndefined();
  });
  it('a run learns that another run acquired its lock', async () => {
    const small = smallCluster();
    const lost: AppError[] = [];
    const lock = await locking(small, { onLost: (error: AppError) => void lost.push(error) });
    small.keys.delete(KEY);
    held(small);
    await expect(lock.hold()).rejects.toThrow('eve on elsewhere, process 7');
    await lock.release();
    // The lock belongs to another process, so it remains.
    expect(small.keys.has(KEY)).toBe(true);
  });
});

describe('the check of locks before a plan', () => {
  const refused = (small: Small) =>
    refuseOther(small.host, STATE, small.cluster, small.access, urlsOf(small)).catch(
      (error: unknown) => error,
    );
  it('a plan is rejected while a run is active here or in the store', async () => {
    const small = smallCluster();
    expect(await refused(small)).toBeUndefined();
    held(small);
    expect(await refused(small)).toMatchObject({
      ...{ category: 'unsafe', message: expect.stringContaining('eve on elsewhere, process 7, since') },
      detail: {
        code: 'LOCKED',
        data: { run: 'r9' },
        tryThis: [expect.toRead('60 s'), 'opsctl kv status'],
      },
    });
    small.keys.delete(KEY);
    const lock = await locking(small);
    expect(await refused(small)).toMatchObject({
      message: expect.stringContaining('testhost, process 4242'),
      detail: { tryThis: [naming('exited'), 'opsctl kv status'] },
    });
    await lock.release();
    expect(await refused(small)).toBeUndefined();
  });
  it('the lock of this machine decides before the store is asked, and names its owner', async () => {
    const small = smallCluster();
    const lock = await locking(small);
    held(small);
    let calls = 0;
    const store: typeof small.access.store = (url) => {
      calls += 1;
      return small.access.store(url);
    };
    const access = { ...small.access, store };
    await expect(refuseOther(small.host, STATE, small.cluster, access, urlsOf(small))).rejects.toMatchObject({
      detail: { code: 'LOCKED', data: { owner: ownerOf(small.host) } },
    });
    expect(calls).toBe(0);
    await lock.release();
  });
  it('one responding member is enough, and exited processes are ignored', async () => {
    const small = smallCluster();
    held(small);
    for (const name of ['n1', 'n2']) small.end(name);
    expect(await refused(small)).toMatchObject({ detail: { code: 'LOCKED' } });
    held(small, { ...ownerOf(small.host), pid: 1 });
    expect(await refused(small)).toBeUndefined();
    // A record of version 0.1.0 may belong to a process in a container with this host name.
    held(small, { host: 'testhost', pid: 1 });
    expect(await refused(small)).toMatchObject({ detail: { code: 'LOCKED' } });
    away(small);
    expect(await refused(small)).toBeUndefined();
  });
  it('an unreadable lock is reported with an unknown owner', async () => {
    const small = smallCluster();
    for (const value of ['garbage', '{"owner":{}}', 'null']) {
      small.keys.set(KEY, { value, lease: '', mod: 3, create: 3 });
      expect(await refused(small)).toMatchObject({
        message: naming('locked', 'operator', 'unknown user', 'unknown host', 'process 0', 'unknown time'),
      });
    }
  });
  it('the hint names the command to remove a lock of a lost machine, or a retry for an unnamed lock', async () => {
    const small = smallCluster();
    const { host } = small;
    const other = { pid: 7, machine: 'elsewhere', nonce: 'x', sinceMs: 0, run: 'r9', since: 'then' };
    await host.files.replace(FILE, JSON.stringify({ ...other, owner: { host: 'elsewhere', pid: 7 } }));
    await expect(refuseOtherHere(host, STATE, 'test')).rejects.toMatchObject({
      message: naming(
        'locked',
        'operator',
        'unknown user',
        'elsewhere',
        'process 7',
        'since then',
        'on this machine',
      ),
      detail: { tryThis: [expect.stringContaining(`rm ${FILE}`), 'opsctl kv status'] },
    });
    await host.files.replace(FILE, '');
    await expect(refuseOtherHere(host, STATE, 'test')).rejects.toMatchObject({
      ...{ category: 'unsafe', message: naming(FILE, 'another', 'taking') },
      detail: { code: 'LOCKED', tryThis: ['try again', 'opsctl kv status'] },
    });
    expect(await readMachineLock(host, STATE, 'test')).toBeUndefined();
    await host.files.replace(
      FILE,
      JSON.stringify({ ...other, machine: 'testhost', pid: 1, ...host.processes.scope() }),
    );
    expect(await refuseOtherHere(host, STATE, 'test')).toBeUndefined();
    expect(await readMachineLock(host, STATE, 'test')).toBeUndefined();
  });
});

it('the lock of a run that is over goes, that of another run stays', async () => {
  const small = smallCluster();
  held(small);
  await dropLock(storesOf(small), 'r8');
  expect(small.keys.has(KEY)).toBe(true);
  await dropLock(storesOf(small), 'r9');
  expect(small.keys.has(KEY)).toBe(false);
  await dropLock(storesOf(small), 'r9');
});

describe('a run of another machine', () => {
  const opened = (owner: object | undefined): JournalEntry =>
    ({
      ...{ kind: 'opened', at: '2026-01-01T00:00:00.000Z', run, action: 'upgrade', plan: planned() },
      ...{ cluster_file: '/c', owner },
    }) as JournalEntry;
  const shared = async (entries: readonly JournalEntry[]): Promise<Small> => {
    const small = smallCluster();
    const { host, cluster } = small;
    await shareProgress({ host, cluster, stores: storesOf(small), run, entries }).flush();
    return small;
  };
  const taken = ({ host, cluster, access }: Small) => takeOver(host, STATE, cluster, access);
  const words = 'its progress was read from the cluster or from the directory of the snapshots';
  it('a run of another machine is adopted once, with a message about its origin', async () => {
    const small = await shared([opened({ user: 'eve', host: 'elsewhere', pid: 7 })]);
    expect(await taken(small)).toEqual(naming('eve', 'elsewhere', run, words, 'adopted'));
    expect(small.host.files.readNow(`${STATE}/test/${run}/journal.jsonl`)).toContain('"opened"');
    expect(await taken(small)).toBeUndefined();
    expect(await taken(await shared([opened({ host: 'elsewhere', pid: 7 })]))).toEqual(
      naming('elsewhere', run, words, 'adopted', 'unknown user'),
    );
    const line: JournalEntry = { kind: 'begin', at: '', step: 'n2.stop' };
    expect(await taken(await shared([line]))).toEqual(naming(run, words, 'adopted'));
  });
  it('an active run of another machine is not adopted', async () => {
    const small = await shared([opened({ host: 'elsewhere', pid: 7 })]);
    held(small);
    await expect(taken(small)).rejects.toMatchObject({ detail: { code: 'LOCKED' } });
    expect(small.host.files.readNow(`${STATE}/test/${run}/journal.jsonl`)).toBeUndefined();
  });
  it('no run is adopted without shared progress, whoever the owner is', async () => {
    const small = smallCluster();
    held(small);
    expect(await taken(small)).toBeUndefined();
  });
});
