import { describe, expect, it } from 'vitest';
import {
  mostCurrent,
  seeDirectory,
  snapshotSource,
  detectBinary,
  observe,
} from '../../../../src/kv/upgrade/observe/observe.ts';
import { seeV2 } from '../../../../src/kv/upgrade/observe/see-member.ts';
import { newestLeader } from '../../../../src/kv/upgrade/watch/canary.ts';
import { AppError } from '../../../../src/core/problem.ts';
import { accessWith } from '../../../../src/kv/engine/access.ts';
import { type FakeHostOptions, fakeHost } from '../../../support/fake-host.ts';
import { away, seen } from '../../../support/observations.ts';
import { smallCluster } from '../../../support/small-cluster.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

describe('whom a snapshot is read from', () => {
  const leader = seen('n1', { raft_index: 5000 });
  const follower = (name: string, raft_index: number, patch = {}) => seen(name, { raft_index, ...patch });
  const source = (...members: ReturnType<typeof seen>[]) => snapshotSource({ members })?.name;

  it('a snapshot is read from the nearest follower that keeps up', () => {
    expect(source(leader, follower('n2', 4000), follower('n3', 4001))).toBe('n3');
    expect(source(leader, follower('n2', 4000))).toBe('n2');
    expect(source(leader, follower('n2', 3999))).toBe('n1');
    expect(source(leader, follower('n2', 5000, { is_learner: true }))).toBe('n1');
    expect(source(leader, follower('n2', 5000, { is_healthy: false }))).toBe('n1');
  });
  it('a snapshot is read from any responding member if no member is healthy', () => {
    const sick = { is_healthy: false };
    expect(source(follower('n2', 1, sick), follower('n3', 2, sick), away('n1'))).toBe('n3');
    expect(source(away('n1'))).toBeUndefined();
    expect(source(away('n2'), seen('n3', { raft_index: undefined } as never))).toBe('n3');
  });
  it('mostCurrent returns the leader, otherwise the member with the highest index', () => {
    expect(mostCurrent([follower('n2', 9000), leader])?.name).toBe('n1');
    expect(mostCurrent([away('n1'), follower('n2', 1), follower('n3', 2)])?.name).toBe('n3');
    expect(mostCurrent([away('n1')])).toBeUndefined();
  });
});

it('the program that runs is the new one only when its version is', async () => {
  const small = smallCluster();
  expect(await detectBinary(small.cluster, small.access, small.driver)).toBe('old');
  small.members('n1').which = 'new';
  expect(await detectBinary(small.cluster, small.access, small.driver)).toBe('new');
  const blind = { ...small.driver, facts: async () => ({}) };
  expect(await detectBinary(small.cluster, small.access, blind)).toBe('old');
  small.end('n1');
  expect(await detectBinary(small.cluster, small.access, small.driver)).toBe('old');
  expect(await detectBinary({ ...small.cluster, members: [] }, small.access, small.driver)).toBe('old');
});

it('the leader of the newest term wins among several leaders', () => {
  const at = (leader: string, term: number) => ({ leader, term });
  expect(newestLeader([at('n1', 2), undefined, at('n2', 3)])).toBe('n2');
  expect(newestLeader([at('n1', 4), at('n2', 3)])).toBe('n1');
  expect(newestLeader([undefined])).toBeUndefined();
});

describe('data of the old interface', () => {
  const v2 = async (reply: FakeHostOptions['reply'], server_version: string | undefined = '3.4.45') => {
    const host = fakeHost({ reply });
    const member = seen('n1', { server_version } as never);
    return { found: await seeV2(host, accessWith(host, undefined, undefined), member), host };
  };
  it.each([
    [200, '{"node":{"nodes":[]}}', { bytes: 0 }],
    [200, '{"node":{"nodes":[{"key":"/a"}]}}', { bytes: 33 }],
    [200, '{"node":{"value":"x"}}', { bytes: 22 }],
    [200, '{"node":{"dir":true}}', { bytes: 0 }],
    [404, '', { bytes: 0 }],
    [410, '', { bytes: 0 }],
    [500, '', { unknown: naming('500', 'interface', 'returned') }],
  ])('v2 data with response %i %s is %j', async (status, body, expected) => {
    expect((await v2(() => ({ status, body }))).found).toEqual(expected);
  });
  it('v2 data is not read if the read can do harm', covers('spec/store#choices-5'), async () => {
    for (const version of ['3.5.0', '3.6.1']) {
      const { found, host } = await v2(() => ({ status: 500 }), version);
      expect([found, host.requests]).toEqual([{ bytes: 0 }, []]);
    }
    const { host } = await v2(() => ({ status: 404 }), '3.4.0');
    // The HEAD makes the scan distinguishable from recursive reads of clients, so the member counts it first.
    expect(host.requests.map(({ method }) => method)).toEqual(['HEAD', 'GET']);
  });
  it('unreadable v2 data is unknown', async () => {
    expect((await v2(undefined)).found).toMatchObject({
      unknown: expect.stringContaining('nothing was scripted'),
    });
  });
});

describe('complete inspection of a cluster', () => {
  const deep = ({ host, cluster, access, driver }: ReturnType<typeof smallCluster>) =>
    observe({ host, cluster, access, driver, isDeep: true, runDirectory: '/runs/r' });

  it('the inspection reads hashes if all members support them, the directories of the run, and no users', async () => {
    const small = smallCluster();
    const seenNow = await deep(small);
    expect(seenNow.hashes?.map(({ name, hash }) => [name, hash])).toEqual([
      ...[
        ['n1', 7],
        ['n2', 7],
        ['n3', 7],
      ],
    ]);
    expect(seenNow).not.toHaveProperty('not_hashed');
    expect(seenNow).toMatchObject({ leader: 'n1', auth: { is_on: false }, lease_count: 0, v2: { bytes: 0 } });
    expect(seenNow.operator?.run.path).toBe('/runs/r');
    expect(seenNow.members[0]).toMatchObject({ quota_bytes: 2 * 1024 ** 3, host: { is_running: true } });
    const plain = await observe({ host: small.host, cluster: small.cluster, access: small.access });
    expect(plain).not.toHaveProperty('hashes');
    expect(plain).not.toHaveProperty('operator');
    expect(plain.auth).toEqual({ is_on: undefined });
  });

  it('the inspection reports why no hash was requested', async () => {
    const small = smallCluster();
    small.members('n2').isHealthy = false;
    expect((await deep(small)).not_hashed).toBe('n2 did not respond');
    small.members('n2').isHealthy = true;
    small.end('n3');
    expect((await deep(small)).not_hashed).toBe('n3 did not respond');
    for (const name of ['n1', 'n2']) small.end(name);
    const nobody = await deep(small);
    expect(nobody.not_hashed).toBe('no member is healthy');
    expect(nobody.auth).toEqual({ is_on: undefined });
    expect(nobody).not.toHaveProperty('leader');
  });
});

describe('users of the store', () => {
  /** The store rejects requests without a user. With a user it accepts the request or returns `refusal`. */
  const authOf = async (refusal?: string) => {
    const small = smallCluster();
    const refused = (message: string) => async () => {
      throw new AppError('auth', message, { code: 'STORE_AUTH' });
    };
    const access = {
      ...small.access,
      anonymous: (url: string) => ({ ...small.access.anonymous(url), range: refused('user name is empty') }),
      store: (...asked: Parameters<typeof small.access.store>) => {
        const store = small.access.store(...asked);
        return refusal === undefined ? store : { ...store, range: refused(refusal) };
      },
    } as typeof small.access;
    const { host, cluster, driver } = small;
    return (await observe({ host, cluster, access, driver, isDeep: true })).auth;
  };
  it('users exist if the store rejects a read without one, even if ours is rejected too', async () => {
    expect(await authOf()).toEqual({ is_on: true });
    expect(await authOf('wrong password')).toEqual({
      is_on: true,
      problem: 'wrong password',
      is_rejected: true,
    });
  });
});

it('the room in a directory is that of the one that will hold it, as far as it can be seen', async () => {
  const { files } = fakeHost({ files: { '/backups/old.db': 'x' } });
  const seenWith = (freeBytes: () => Promise<number>, disk: string | undefined) =>
    seeDirectory({ ...files, freeBytes, diskOf: async () => disk }, '/backups/new/run');
  expect(await seenWith(async () => 7, 'disk')).toStrictEqual({
    ...{ path: '/backups/new/run', is_writable: true, free_bytes: 7, disk: 'disk' },
  });
  const blind = await seenWith(() => Promise.reject(new Error('no statfs')), undefined);
  expect(blind).toStrictEqual({ path: '/backups/new/run', is_writable: true });
});
