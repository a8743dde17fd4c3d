import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/core/problem.ts';
import type { Access } from '../../../../src/kv/engine/access.ts';
import {
  contradictions,
  hashMembers,
  observationFrom,
  observe,
  withReadFile,
} from '../../../../src/kv/upgrade/observe/observe.ts';
import {
  configuredQuota,
  type InspectedMember,
  seeMetrics,
  seeV2,
} from '../../../../src/kv/upgrade/observe/see-member.ts';
import type { ClusterFile, HostFacts } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { away, clusterFile, seen } from '../../../support/observations.ts';
import { partlyMade } from '../../../support/context.ts';
import { covers } from '../../../support/covers.ts';

/** Access whose members answer with this function. */
const accessThrough = (get: unknown): Access =>
  partlyMade<Access>({ store: () => ({ connection: { get } }) });

const row = (id: string, name: string) => ({ id, name, peer_urls: [], client_urls: [], is_learner: false });
const whole = (members: readonly InspectedMember[]) =>
  observationFrom('c', 'now', members, { is_on: false }, {});

describe('facts of a whole cluster', () => {
  it('the leader is the member that more than half of all members name', () => {
    const votes = (...leaders: (string | undefined)[]) =>
      whole(leaders.map((leader_id, i) => seen(`n${i + 1}`, { leader_id } as never))).leader;
    expect(votes('1001', '1001', '1002')).toBe('n1');
    expect(votes('1002', '1002', undefined)).toBe('n2');
    expect(votes('1001', '1002', undefined)).toBeUndefined();
    expect(votes('1001', '1001', '1002', '1002')).toBeUndefined();
    expect(votes('1001', undefined)).toBeUndefined();
    expect(votes('9', '9', '9')).toBeUndefined();
    expect(votes('1001')).toBe('n1');
    const nameless = seen('n1', { member_id: undefined, leader_id: undefined } as never);
    expect(whole([nameless, nameless])).not.toHaveProperty('leader');
  });
  it('the list of members comes from a member with a leader, otherwise from any member', () => {
    const of = (...members: InspectedMember[]) => whole(members).listed.map(({ name }) => name);
    const blind = { ...seen('n1', { leader_id: undefined } as never), listed: [row('1', 'old')] };
    expect(of(blind, { ...seen('n2'), listed: [row('1', 'new')] })).toEqual(['new']);
    expect(of(seen('n2'), blind)).toEqual(['old']);
    expect(of(seen('n1'))).toEqual([]);
  });
  it('the version is the first decided one', () => {
    const version = (...versions: (string | undefined)[]) =>
      whole(versions.map((cluster_version, i) => seen(`n${i + 1}`, { cluster_version } as never)));
    expect(version(undefined, 'not_decided', '3.4.0', '3.5.0').cluster_version).toBe('3.4.0');
    expect(version('not_decided')).not.toHaveProperty('cluster_version');
  });
  it('alarms are listed once each, and versions from the lowest to the highest', () => {
    const alarm = (member_id: string, kind: string) => ({ member_id, alarm: kind }) as never;
    const seenAlarms = whole([
      { ...seen('n1', { server_version: '3.5.1' }), alarms: [alarm('1', 'NOSPACE'), alarm('2', 'NOSPACE')] },
      { ...seen('n2', { server_version: '3.4.9' }), alarms: [alarm('1', 'NOSPACE'), alarm('1', 'CORRUPT')] },
      seen('n3', { server_version: undefined } as never),
    ]);
    expect(seenAlarms.alarms).toEqual([alarm('1', 'NOSPACE'), alarm('2', 'NOSPACE'), alarm('1', 'CORRUPT')]);
    expect([seenAlarms.lowest, seenAlarms.highest]).toEqual(['3.4', '3.5']);
    for (const member of seenAlarms.members)
      for (const key of ['alarms', 'listed']) expect(member).not.toHaveProperty(key);
    const none = whole([away('n1')]);
    for (const key of ['lowest', 'highest', 'leader']) expect(none).not.toHaveProperty(key);
  });
});

type Asked = Record<string, unknown>;
type Told = {
  readonly revision?: number;
  readonly server?: string;
  readonly hash?: number | Error;
  readonly compacted?: number;
  readonly bytes?: number;
  readonly isSick?: boolean;
};
const refused = () => new AppError('auth', 'no', { code: 'STORE_AUTH' });
/** A cluster with scripted responses, which records its requests. */
const cluster = (told: Readonly<Record<string, Told>>, store: Asked = {}, anonymous: Asked = {}) => {
  const names = Object.keys(told);
  const asked: string[] = [];
  const file: ClusterFile = clusterFile(names.length);
  const of = (url: string): [string, Told] => {
    const name = names[file.members.findIndex(({ client_url }) => client_url === url)] as string;
    return [name, told[name] as Told];
  };
  const answers = (url: string): Asked => {
    const [name, one] = of(url);
    const { revision = 5, server = '3.4.1', hash = 7, compacted = -1, bytes = 100, isSick = false } = one;
    return {
      versions: async () => ({ server, cluster: '3.4.0' }),
      health: async () => ({ is_healthy: !isSick }),
      status: async () => ({
        ...{ member_id: name, leader_id: 'n1', revision, db_size_bytes: bytes, errors: [] },
      }),
      members: async () => names.map((one) => row(one, one)),
      alarms: async () => [],
      row: async () => 'a row',
      leases: async () => [],
      range: async (key: string, options: object) => {
        asked.push(`range ${key} ${JSON.stringify(options)}`);
        return { revision };
      },
      hashKv: async (at: number) => {
        asked.push(`hash ${name} ${at}`);
        if (hash instanceof Error) throw hash;
        return { hash, compact_revision: compacted };
      },
      connection: { get: async () => ({ status: 404, text: '' }) },
      ...store,
    };
  };
  const access = partlyMade<Access>({
    store: answers,
    anonymous: (url: string) => ({ ...answers(url), ...anonymous }),
  });
  const host = fakeHost({ reply: () => ({ status: 404 }) });
  return { asked, deep: () => observe({ host, cluster: file, access, isDeep: true }) };
};
const three = { n1: {}, n2: {}, n3: {} };

describe('the configuration file of a variable', () => {
  const host = { pid: 7, is_config_of_variable: true as const, config: { 'data-dir': '/other' } };
  const { server_version: __, ...unversioned } = seen('n1');
  const config = (version?: string, facts: HostFacts = host) =>
    withReadFile({
      ...unversioned,
      host: facts,
      ...(version === undefined ? {} : { server_version: version }),
    }).host;
  it('is not the configuration of a version that ignores the variable', () => {
    expect(config('3.3.25')).toEqual({ pid: 7, is_config_of_variable: true });
    expect(config('3.3.25', { ...host, config_error: 'cannot read /c' })).not.toHaveProperty('config_error');
    expect(config('3.4.23')).toEqual(host);
    expect(config()).toEqual(host);
  });
  it('does not affect a file of the command line', () => {
    const { is_config_of_variable: _, ...named } = host;
    expect(config('3.3.25', named)).toEqual(named);
  });
});

describe('authentication of a store', () => {
  const read = 'range opsctl {"isSerializable":true,"limit":1}';
  it('authentication is off if any user may read, and one key is read to check it', async () => {
    const open = cluster(three);
    expect((await open.deep()).auth).toEqual({ is_on: false });
    expect(open.asked.filter((one) => one.includes('isSerializable'))).toEqual([read]);
  });
  it('authentication is on if a read without a user is rejected, and the result includes our access', async () => {
    const range = async () => Promise.reject(refused());
    const ours = cluster(three, {}, { range });
    expect((await ours.deep()).auth).toEqual({ is_on: true });
    expect(ours.asked.filter((one) => one.includes('isSerializable'))).toEqual([read]);
    expect((await cluster(three, { range }, { range }).deep()).auth).toEqual({
      is_on: true,
      problem: 'no',
      is_rejected: true,
    });
  });
  it('authentication is unknown if the read fails for another reason', async () => {
    for (const error of [new Error('odd'), new AppError('network', 'odd', {})]) {
      const range = async () => Promise.reject(error);
      expect((await cluster(three, {}, { range }).deep()).auth).toEqual({ is_on: undefined, problem: 'odd' });
    }
  });
  it('a member that does not respond in time rejects nobody, and the next one is asked', async () => {
    const refuse = async () => Promise.reject(refused());
    let reads = 0;
    const late = (failures: number) => async (_key: string, options: Asked) => {
      if (options['isSerializable'] !== true) return { revision: 5 };
      reads += 1;
      if (reads <= failures) throw new AppError('network', 'late', {});
      return {};
    };
    expect((await cluster(three, { range: late(1) }, { range: refuse }).deep()).auth).toEqual({
      is_on: true,
    });
    expect(reads).toBe(2);
    reads = 0;
    expect((await cluster(three, { range: late(3) }, { range: refuse }).deep()).auth).toEqual({
      is_on: true,
      problem: 'late',
    });
    expect(reads).toBe(3);
  });
  it.each([
    ['does not respond', async () => Promise.reject(new AppError('network', 'late', {}))],
    ['answers without a user', async () => ({})],
  ])('a member that rejected a read without a user decides, even if the next one %s', async (_, answer) => {
    let asked = 0;
    const anonymous = async () => {
      asked += 1;
      return asked === 1 ? Promise.reject(refused()) : answer();
    };
    const late = async () => Promise.reject(new AppError('network', 'late', {}));
    expect((await cluster(three, { range: late }, { range: anonymous }).deep()).auth).toEqual({
      is_on: true,
      problem: 'late',
    });
    expect(asked).toBe(3);
  });
});

describe('leases of a store', () => {
  const leases = async (times: readonly (number | Error)[], more: Asked = {}) => {
    const asked: string[] = [];
    const { lease_count, shortest_lease_seconds } = await cluster(three, {
      leases: async () => times.map((_, i) => String(i)),
      timeToLive: async (id: string) => {
        asked.push(id);
        const time = times[Number(id)] as number | Error;
        if (time instanceof Error) throw time;
        return { granted_seconds: time };
      },
      ...more,
    }).deep();
    return [lease_count, shortest_lease_seconds, asked.length];
  };
  it('leases are counted, and the shortest existing one is reported', async () => {
    expect(await leases([])).toEqual([0, undefined, 0]);
    expect(await leases([60, 30, 90])).toEqual([3, 30, 3]);
    expect(await leases([60, -1, 0, 1, new Error('gone')])).toEqual([5, 1, 5]);
    expect(await leases([0, -1])).toEqual([2, undefined, 2]);
  });
  it('fifty leases are read', async () =>
    expect(await leases(Array.from({ length: 51 }, (_, i) => 100 - i))).toEqual([51, 51, 50]));
  it('leases are unknown if they cannot be listed', async () =>
    expect(await leases([], { leases: async () => Promise.reject(new Error('no')) })).toEqual([
      ...[undefined, undefined, 0],
    ]));
});

describe('hashes of a cluster', () => {
  const MiB = 2 ** 20;
  it('hashes are requested at the revision that all members have', async () => {
    const some = cluster({ n1: { revision: 9 }, n2: { revision: 6 } });
    const { hashes, not_hashed } = await some.deep();
    expect(some.asked.filter((one) => one.startsWith('hash'))).toEqual(['hash n1 6', 'hash n2 6']);
    expect([hashes?.map(({ name, hash }) => `${name} ${hash}`), not_hashed]).toEqual([
      ...[['n1 7', 'n2 7'], undefined],
    ]);
  });
  it('hashes are not requested for one member', async () => {
    const one = cluster({ n1: {} });
    const found = await one.deep();
    expect([found.hashes, found.not_hashed, one.asked.some((text) => text.startsWith('hash'))]).toEqual([
      ...[undefined, undefined, false],
    ]);
  });
  it('members without a hash are named; a single member yields no result', async () => {
    const lost = new Error('lost');
    const two = await cluster({ n1: {}, n2: { hash: lost }, n3: {} }).deep();
    expect([two.hashes?.length, two.not_hashed]).toEqual([2, 'n2 returned no hash at revision 5']);
    const one = await cluster({ n1: {}, n2: { hash: lost }, n3: { hash: lost } }).deep();
    expect([one.hashes, one.not_hashed]).toEqual([undefined, 'n2, n3 returned no hash at revision 5']);
  });
  it.each<[string, Readonly<Record<string, Told>>, string | undefined]>([
    ['a version that has none', { n1: {}, n2: { server: '3.2.32' } }, '3.2 cannot hash its data'],
    ['a sick member', { n1: {}, n2: { isSick: true } }, 'n2 did not respond'],
    ['no revision', { n1: {}, n2: { revision: undefined as never } }, undefined],
    ['a database of half a GiB', { n1: {}, n2: { bytes: 512 * MiB } }, undefined],
    [
      'a larger database',
      { n1: {}, n2: { bytes: 600 * MiB } },
      'n2 has 600 MiB, and its clients would feel the pause',
    ],
  ])('hashes are compared with %s', async (_, told, why) =>
    expect((await cluster(told).deep()).not_hashed).toBe(why),
  );
  it('a member without its revision is not asked for a hash', async () => {
    const status = async () => ({ member_id: 'n1', leader_id: 'n1', errors: [] });
    expect((await cluster({ n1: {}, n2: {} }, { status }).deep()).not_hashed).toBe('n1 did not respond');
  });
  it('a member whose version has no hash is omitted', covers('spec/store#measured-versions-3'), async () => {
    const store = (server: string) =>
      ({
        versions: async () => ({ server }),
        hashKv: async () => ({ hash: 1, compact_revision: 2 }),
      }) as never;
    const asked = [
      { name: 'n1', store: store('3.2.1') },
      { name: 'n2', store: store('3.3.1') },
    ];
    expect(await hashMembers(asked, 5)).toEqual([
      { name: 'n2', server: '3.3.1', hash: 1, compact_revision: 2 },
    ]);
  });
});

describe('hashes of a cluster during compactions', () => {
  const compacted = () => new AppError('usage', 'etcdserver: mvcc: required revision has been compacted', {});
  const hashedWith = async (hashKv: (at: number) => Promise<unknown>, revisions: () => number) => {
    const status = async () => ({
      ...{ member_id: 'n1', leader_id: 'n1', revision: revisions(), db_size_bytes: 100, errors: [] },
    });
    const { hashes, not_hashed } = await cluster({ n1: {}, n2: {} }, { hashKv, status }).deep();
    return [hashes?.length, not_hashed];
  };
  it('members without a write since the compaction are hashed at their newest revision', async () => {
    const idle = async (at: number) => {
      if (at !== 0) throw compacted();
      return { hash: 7, compact_revision: 5, revision: 5 };
    };
    expect(await hashedWith(idle, () => 5)).toEqual([2, undefined]);
  });
  it('the lowest revision is read again if a compaction overtook it', async () => {
    let newest = 5;
    const busy = async (at: number) => {
      newest += 1;
      if (at !== 0 && at < 8) throw compacted();
      return { hash: 7, compact_revision: 7, revision: newest };
    };
    expect(await hashedWith(busy, () => newest)).toEqual([2, undefined]);
  });
  it('hashes at different newest revisions are not compared', async () => {
    let newest = 5;
    const moving = async (at: number) => {
      newest += 1;
      if (at !== 0) throw compacted();
      return { hash: newest, compact_revision: 5, revision: newest };
    };
    expect(await hashedWith(moving, () => 5)).toEqual([undefined, 'n1, n2 returned no hash at revision 5']);
  });
});

describe('revisions of a cluster', () => {
  const row = (name: string, before: number, after = before) => ({ name, before, after });
  it.each<[string, readonly ReturnType<typeof row>[], readonly string[] | undefined]>([
    ['no member', [], undefined],
    ['one member', [row('n1', 5)], undefined],
    ['equal members', [row('n1', 5), row('n2', 5), row('n3', 5)], undefined],
    ['members that serve writes', [row('n1', 5, 9), row('n2', 6, 8), row('n3', 8, 8)], undefined],
    ['a member that is ahead', [row('n1', 5, 6), row('n2', 7, 7), row('n3', 5, 6)], ['n2']],
    ['a member that is behind', [row('n1', 5), row('n2', 4), row('n3', 5)], ['n2']],
    ['two members', [row('n1', 5), row('n2', 6)], []],
    ['no majority', [row('n1', 5), row('n2', 6), row('n3', 7)], []],
    ['two of five', [row('n1', 5), row('n2', 6), row('n3', 5), row('n4', 7), row('n5', 5)], ['n2', 'n4']],
  ])('contradictions of %s', (_, rows, odd) => expect(contradictions(rows)).toEqual(odd));
  it('revisions are read from healthy voters, and a voter without a revision is named', async () => {
    const seenRevisions = async (told: Readonly<Record<string, Told>>, store: Asked = {}) => {
      const { revisions, revisions_unread } = await cluster(told, store).deep();
      return [revisions?.map(({ name, before, after }) => `${name} ${before} ${after}`), revisions_unread];
    };
    expect(await seenRevisions({ n1: { revision: 9 }, n2: { revision: 6 } })).toEqual([
      ...[['n1 9 9', 'n2 6 6'], undefined],
    ]);
    expect(await seenRevisions({ n1: {}, n2: { isSick: true }, n3: {} })).toEqual([
      ...[['n1 5 5', 'n3 5 5'], undefined],
    ]);
    expect(await seenRevisions({ n1: {} })).toEqual([undefined, undefined]);
    const range = async () => Promise.reject(new Error('late'));
    expect(await seenRevisions({ n1: {}, n2: {} }, { range })).toEqual([...[[], 'no revision from n1, n2']]);
  });
  it('a comparison during a compaction is repeated three times', async () => {
    const some = cluster({ n1: {}, n2: { compacted: 4 } });
    await some.deep();
    expect(some.asked.filter((one) => one.startsWith('hash n1'))).toHaveLength(3);
  });
});

it('read-only inspection of a cluster requests no hashes', async () => {
  const some = cluster(three);
  const sick = cluster({ n1: { isSick: true }, n2: { isSick: true } });
  const found = await sick.deep();
  expect([found.auth, found.lease_count, found.v2, sick.asked]).toEqual([
    { is_on: undefined },
    undefined,
    undefined,
    [],
  ]);
  expect((await some.deep()).v2).toEqual({ bytes: 0 });
});

describe('the quota of a member', () => {
  const spec = clusterFile(1).members[0] as ClusterFile['members'][number];
  const GiB = 1024 ** 3;
  const flag = {
    ...spec,
    old_command: ['etcd', '--quota-backend-bytes', '1'],
    env: { ETCD_QUOTA_BACKEND_BYTES: '2' },
  };
  const file = { 'quota-backend-bytes': 3 };
  it('a flag replaces the variable, and the file replaces both', () => {
    expect(configuredQuota(flag, {})).toBe(1);
    expect(configuredQuota({ ...spec, env: flag.env }, {})).toBe(2);
    expect(configuredQuota(flag, { host: { config: file } })).toBe(3);
    expect(configuredQuota(flag, { host: { config: { 'Quota-Backend-Bytes': 4 } } })).toBe(4);
    expect(configuredQuota(flag, { host: { config: { name: 'n1' } } })).toBe(2 * GiB);
    const inFile = (value: unknown) =>
      configuredQuota(spec, { host: { config: { 'quota-backend-bytes': value } } });
    // A negative value removes the limit.
    expect([0, null, '1_000', -1].map(inFile)).toEqual([2 * GiB, 2 * GiB, 1000, -1]);
    expect(inFile('odd')).toBeUndefined();
  });
  it('the process replaces the cluster file', () => {
    const host = { command: ['etcd', '--quota-backend-bytes=5'], environment: {} };
    expect(configuredQuota(flag, { host })).toBe(5);
    expect(configuredQuota(flag, { host: { command: ['etcd'], environment: {} } })).toBe(2 * GiB);
  });
  it.each([
    ['no command', { name: 'n1', client_url: '' }, {}],
    ['a script without flags', { ...spec, old_command: ['/opt/start.sh'] }, {}],
    ['a file that was not read', { ...spec, old_command: ['etcd', '--config-file', '/e.yml'] }, {}],
    [
      'a file of the variable that was not read',
      { ...flag, env: { ETCD_CONFIG_FILE: '/e.yml' } },
      { server_version: '3.4.23' },
    ],
    ['a process without readable variables', flag, { host: { command: ['etcd', '--name', 'n1'] } }],
  ])('the quota of %s is unknown', (_, member, seen) =>
    expect(configuredQuota(member, seen)).toBeUndefined(),
  );
  it('a version before 3.4 ignores the file of the variable', () =>
    expect(
      configuredQuota({ ...flag, env: { ETCD_CONFIG_FILE: '/e.yml' } }, { server_version: '3.3.25' }),
    ).toBe(1));
  it('the quota is the reported one if the member can be queried', async () => {
    const quota = async (
      answer: { status: number; text: string } | Error,
      member: InspectedMember | undefined = seen('n1'),
    ) => {
      const asked: string[] = [];
      const get = async (path: string) => {
        asked.push(path);
        if (answer instanceof Error) throw answer;
        return answer;
      };
      const access = accessThrough(get);
      const found = await seeMetrics(
        fakeHost({}),
        { name: 'c', members: [spec] },
        access,
        member === undefined ? [] : [member],
      );
      return [found.get('n1')?.quota_bytes, asked.length];
    };
    const line = (value: string) => `x 1\netcd_server_quota_backend_bytes ${value}\ny 2\n`;
    expect(await quota({ status: 200, text: line('8.589934592e+09') })).toEqual([8 * GiB, 1]);
    expect(await quota({ status: 200, text: line('1') })).toEqual([1, 1]);
    expect(await quota({ status: 200, text: line('-1') })).toEqual([-1, 1]);
    for (const answer of [
      { status: 200, text: line('0') },
      { status: 200, text: line('+Inf') },
      { status: 200, text: 'nothing' },
      { status: 404, text: line('1') },
      { status: 201, text: line('1') },
      new Error('refused'),
    ])
      expect(await quota(answer)).toEqual([2 * GiB, 1]);
    expect(await quota({ status: 200, text: line('1') }, away('n1'))).toEqual([2 * GiB, 0]);
    const other = seen('n2');
    expect(await quota({ status: 200, text: line('1') }, other)).toEqual([undefined, 0]);
  });
});

describe('metrics while another program sends requests', () => {
  const spec = { name: 'n1', client_url: 'http://a:1' };
  /** A page after `received` requests of the v2 interface, of which `missing` HEAD requests have ended. */
  const page = (received: number, missing: number): string =>
    [
      'etcd_server_has_leader 1',
      `etcd_debugging_store_reads_total{action="getRecursive"} ${1 + missing}`,
      `etcd_http_failed_total{code="404",method="HEAD"} ${missing}`,
      `etcd_http_received_total{method="HEAD"} ${received}`,
      '',
    ].join('\n');
  const reads = async (...pages: string[]) => {
    const host = fakeHost({});
    const get = async () => ({ status: 200, text: pages.shift() ?? 'no page is left' });
    const access = accessThrough(get);
    const found = await seeMetrics(host, { name: 'c', members: [spec] }, access, [seen('n1')]);
    return { clients: found.get('n1')?.clients?.v2_requests, pages: pages.length, sleeps: host.slept };
  };
  const [quiet, half, early] = [page(2, 2), page(3, 2), page(1, 2)];
  it.each([
    { name: 'a member without requests is asked once', pages: [quiet, half], clients: 0, left: 1 },
    { name: 'a half counted scan is no client', pages: [half, quiet, half], clients: 0, left: 1 },
    { name: 'a page that counts the end before the start', pages: [early, quiet, half], clients: 0, left: 1 },
    { name: 'requests on two pages in a row', pages: [half, half, quiet], clients: 1, left: 1 },
    { name: 'requests that go on', pages: [6, 7, 8, 9, 10].map((n) => page(n, 2)), clients: 8, left: 0 },
    { name: 'a second page that cannot be read', pages: [half, '', quiet], clients: 1, left: 1 },
    { name: 'counters that never agree', pages: [1, 0, 1, 0, 1].map((n) => page(n, 2)), left: 0 },
  ])('$name', async ({ pages, clients, left }) => {
    const found = await reads(...pages);
    expect(found).toMatchObject({ clients, pages: left });
    expect(found.sleeps.every((ms) => ms === 50)).toBe(true);
  });
});

it('v2 data is not requested for an unknown version, and a partial count is the limit', async () => {
  const host = fakeHost({ reply: () => ({ status: 200, body: '{"node":{"value":"x"}}' }) });
  const access = partlyMade<Access>({ tls: undefined, user: undefined });
  expect(await seeV2(host, access, seen('n1', { server_version: undefined } as never))).toEqual({ bytes: 0 });
  expect(host.requests).toEqual([]);
  const large = fakeHost({
    reply: () => {
      throw new AppError('network', 'too large', { code: 'RESOURCE_EXHAUSTED' });
    },
  });
  expect(await seeV2(large, access, seen('n1'))).toEqual({ bytes: 100_000_000 });
  const other = fakeHost({
    reply: () => {
      throw new AppError('network', 'too slow', { code: 'DEADLINE_EXCEEDED' });
    },
  });
  expect(await seeV2(other, access, seen('n1'))).toEqual({ unknown: 'too slow' });
});
