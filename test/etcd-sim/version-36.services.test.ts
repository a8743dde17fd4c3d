/** Differences of 3.6 (spec/store#measured-later): responses, startup, and the downgrade to 3.5. */
import { describe, expect, it } from 'vitest';
import {
  StartRefused,
  checkConfig,
  configFrom,
  flagsFrom,
  checkRetention,
} from '../../src/etcd-sim/server-flags.ts';
import { type Answer, type TestCluster, type TestMember, b64, testCluster, until } from './members.ts';
import { covers } from '../support/covers.ts';

let cluster: TestCluster | undefined;
const started = async (versions: readonly string[]): Promise<TestMember[]> => {
  cluster = await testCluster(versions, { word: 'etcd', monitorMs: 100 });
  return cluster.members;
};
const versionOf = async (member: TestMember) => JSON.parse((await member.get('/version')).text);
const downgrade = (member: TestMember, action: string, version?: string) =>
  member.post('/v3/maintenance/downgrade', { action, ...(version === undefined ? {} : { version }) });
const all = async (members: readonly TestMember[], minor: string): Promise<void> =>
  until(`cluster ${minor}`, async () =>
    (await Promise.all(members.map(versionOf))).every(({ etcdcluster }) => etcdcluster === `${minor}.0`),
  );

describe('a member of 3.6', () => {
  it(
    'a 3.6 member reports the version of its data, and has the second gateway',
    covers('spec/store#measured-later-1', 'spec/store#measured-later-5'),
    async () => {
      const [member] = (await started(['3.6.14'])) as [TestMember];
      expect(await versionOf(member)).toEqual({
        etcdserver: '3.6.14',
        etcdcluster: '3.6.0',
        storage: '3.6.0',
      });
      const { json } = await member.post('/v3/maintenance/status');
      expect(json).toMatchObject({ storageVersion: '3.6.0', dbSizeQuota: '2147483648', downgradeInfo: {} });
      const get = await member.get('/v3/kv/put');
      expect([get.status, JSON.parse(get.text)]).toEqual([501, { code: 12, message: 'Method Not Allowed' }]);
      const unknown = await member.post('/v3/kv/nothing');
      expect([unknown.status, unknown.json]).toEqual([404, { code: 5, message: 'Not Found' }]);
      expect([(await member.get('/readyz')).status, (await member.get('/livez')).status]).toEqual([200, 200]);
    },
  );
  it(
    'a 3.6 member returns 429 when the database is full',
    covers('spec/store#measured-later-5'),
    async () => {
      const [member] = (await started(['3.6.14'])) as [TestMember];
      await member.post('/v3/maintenance/alarm', { action: 'ACTIVATE', memberID: '0', alarm: 'NOSPACE' });
      const { status, json } = await member.post('/v3/kv/put', { key: b64('a'), value: b64('1') });
      expect([status, json.code]).toEqual([429, 8]);
    },
  );
  it(
    'without a majority a 3.6 member is not ready, and a write returns 504',
    covers('spec/store#measured-later-5', 'spec/store#measured-later-6'),
    async () => {
      const [member] = (await started(['3.6.14', '3.6.14'])) as [TestMember];
      expect((await member.get('/readyz')).status).toBe(200);
      await cluster!.stop('n2');
      await until('n1 has no leader', async () => (await member.get('/health')).status === 503);
      const ended = async (answer: Promise<Answer>): Promise<Answer> => {
        let isOver = false;
        void answer.finally(() => (isOver = true));
        await until('it gives up', () => {
          member.passes(200);
          return isOver;
        });
        return answer;
      };
      const write = await ended(member.post('/v3/kv/put', { key: b64('a'), value: b64('1') }));
      expect([write.status, write.json.code]).toEqual([504, 4]);
      expect((await ended(member.get('/readyz'))).status).toBe(503);
    },
  );
  it.each([
    ['3.4.41', 200],
    ['3.4.42', 400],
    ['3.5.27', 200],
    ['3.5.28', 400],
    ['3.6.8', 200],
    ['3.6.9', 400],
  ])(
    'with authentication, %s returns %i to a query of its state without a user',
    covers('spec/store#measured-later-7'),
    async (version, status) => {
      const [member] = (await started([version])) as [TestMember];
      await member.post('/v3/auth/user/add', { name: 'root', password: 'secret' });
      expect((await member.post('/v3/auth/enable')).status).toBe(200);
      for (const call of [
        '/maintenance/status',
        '/maintenance/alarm',
        '/cluster/member/list',
        '/lease/leases',
      ])
        expect((await member.post(`/v3${call}`)).status, call).toBe(status);
      const open = version.startsWith('3.4') ? ['/health', '/version'] : ['/health', '/version', '/readyz'];
      for (const page of open) expect((await member.get(page)).status, page).toBe(200);
    },
  );
});

describe('a downgrade', () => {
  it(
    'lowers cluster and storage on every member, and can be cancelled',
    covers('spec/store#measured-later-10'),
    async () => {
      const members = await started(['3.6.14', '3.6.14', '3.6.14']);
      const [member] = members as [TestMember];
      expect((await downgrade(member, 'VALIDATE', '3.5')).json.version).toBe('3.6');
      expect((await downgrade(member, 'ENABLE', '3.5.0')).status).toBe(200);
      await all(members, '3.5');
      const { json } = await member.post('/v3/maintenance/status');
      expect(json.downgradeInfo).toEqual({ enabled: true, targetVersion: '3.5.0' });
      expect((await downgrade(member, 'ENABLE', '3.5')).status).toBe(400);
      expect((await downgrade(member, 'CANCEL')).status).toBe(200);
      await all(members, '3.6');
      // No downgrade is enabled any more.
      expect((await downgrade(member, 'CANCEL')).status).toBe(200);
    },
  );
  it(
    'the versions follow ENABLE when a member that was down responds again',
    covers('spec/store#measured-later-11'),
    async () => {
      const members = await started(['3.6.14', '3.6.14', '3.6.14']);
      const [member] = members as [TestMember];
      await cluster!.stop('n3');
      await until('n1 has a leader', async () => (await member.get('/health')).status === 200);
      expect((await downgrade(member, 'ENABLE', '3.5')).status).toBe(200);
      // The leader compares the versions ten times in this time.
      let looks = 0;
      await until('a hundred looks', async () => {
        expect(await versionOf(member)).toMatchObject({ etcdcluster: '3.6.0', storage: '3.6.0' });
        looks += 1;
        return looks === 100;
      });
      await cluster!.start('n3', '3.6.14');
      await cluster!.healthy();
      await all(members, '3.5');
    },
  );
  it.each([
    ['3.4', 'etcdserver: invalid downgrade target version'],
    ['3.6', 'etcdserver: invalid downgrade target version'],
    ['x', 'etcdserver: wrong downgrade target version format'],
  ])('a downgrade to %s is rejected', async (version, message) => {
    const [member] = (await started(['3.6.14'])) as [TestMember];
    expect((await downgrade(member, 'VALIDATE', version)).json).toEqual({ code: 3, message });
  });
  it('a downgrade is impossible for a mixed cluster and for 3.5 itself', async () => {
    const [old, fresh] = (await started(['3.5.33', '3.6.14', '3.6.14'])) as [TestMember, TestMember];
    expect((await downgrade(fresh, 'VALIDATE', '3.5')).status).toBe(400);
    expect((await downgrade(old, 'ENABLE', '3.4')).status).toBe(503);
  });
  it(
    'a downgrade finishes automatically when every member runs 3.5, and 3.6 may return',
    covers('spec/store#measured-later-9'),
    async () => {
      const members = await started(['3.6.14', '3.6.14', '3.6.14']);
      await downgrade(members[0] as TestMember, 'ENABLE', '3.5');
      await all(members, '3.5');
      for (const { name } of members) {
        await cluster!.stop(name);
        await cluster!.start(name, '3.5.33');
        await cluster!.healthy();
      }
      await until('the downgrade is over', () =>
        cluster!.members.some(({ log }) => log.join('\n').includes('the cluster has been downgraded')),
      );
      await cluster!.stop('n1');
      const again = await cluster!.start('n1', '3.6.14');
      await cluster!.healthy();
      expect((await again.post('/v3/maintenance/status')).json.downgradeInfo).toEqual({});
    },
  );
  it(
    'a 3.5 member that comes before the cluster is ready keeps it at 3.6',
    covers('spec/store#measured-later-8'),
    async () => {
      // A new leader compares the versions immediately unless the time between two checks is infinite.
      cluster = await testCluster(['3.6.14', '3.6.14', '3.6.14'], { word: 'etcd', monitorMs: Infinity });
      const [first, second] = cluster.members as [TestMember, TestMember, TestMember];
      await downgrade(second, 'ENABLE', '3.5');
      // A member that has not received the downgrade state refuses to start as 3.5.
      await until('the member itself knows of the downgrade', async () =>
        Boolean((await first.post('/v3/maintenance/status')).json.downgradeInfo?.enabled),
      );
      await cluster.stop(first.name);
      await cluster.start(first.name, '3.5.33');
      await cluster.healthy();
      // Only the leader checks, so a member that checks often becomes the leader.
      await cluster.stop(second.name);
      const checking = await cluster.start(second.name, '3.6.14', [], 100);
      await cluster.healthy();
      await until('the leader says why', async () => {
        const leader = await cluster!.leader();
        const { json } = await checking.post('/v3/maintenance/status');
        if (leader !== checking)
          await leader.post('/v3/maintenance/transfer-leadership', { targetID: json.header?.member_id });
        return checking.log.join('\n').includes('Cannot downgrade from');
      });
      expect((await versionOf(checking)).etcdcluster).toBe('3.6.0');
    },
  );
  it('without a downgrade 3.5 does not start again', async () => {
    const members = await started(['3.6.14', '3.6.14', '3.6.14']);
    await all(members, '3.6');
    await cluster!.stop('n1');
    const old = await cluster!.start('n1', '3.5.33');
    expect(await old.ended).toBe(1);
    expect(old.log.join('\n')).toContain('invalid downgrade; server version is lower');
  });
});

const said = (work: () => void): string => {
  try {
    work();
    return 'starts';
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return `${error.code} ${error.message}`;
  }
};
describe('the start of 3.6', () => {
  it.each([
    ['--enable-v2=false', '2 flag provided but not defined: -enable-v2'],
    ['--proxy=off', '2 flag provided but not defined: -proxy'],
    ['--feature-gates=Foo=true', '2 unrecognized feature gate: Foo'],
    ['--v2-deprecation=not-yet', '2 invalid value "not-yet" for flag -v2-deprecation'],
    ['--experimental-corrupt-check-time=1m', 'starts'],
    [
      '--corrupt-check-time=1m --experimental-corrupt-check-time=1m',
      '1 cannot set --experimental-corrupt-check-time and --corrupt-check-time at the same time',
    ],
    [
      '--experimental-initial-corrupt-check --feature-gates=InitialCorruptCheck=true',
      '1 cannot set --experimental-InitialCorruptCheck and --InitialCorruptCheck at the same time',
    ],
  ])(
    'starting 3.6 with %s: %s',
    covers('spec/store#measured-later-2', 'spec/store#measured-later-3'),
    (line, expected) => expect(said(() => void flagsFrom(line.split(' '), '3.6'))).toBe(expected),
  );
  it.each([
    ['enable-v2: true', 'starts'],
    ['log-outputs: stderr', '1 error unmarshaling'],
    ['log-outputs: [stderr]', 'starts'],
    ['experimental-corrupt-check-time: 1m', '1 error unmarshaling'],
    ['auto-compaction-retention: "24h"', 'starts'],
  ])('starting 3.6 with the file %s: %s', covers('spec/store#measured-later-2'), (text, expected) =>
    expect(said(() => checkRetention(checkConfig(configFrom(text), '3.6'), '3.6', true))).toContain(expected),
  );
  it('3.5 ends on the new names', covers('spec/store#measured-later-3'), () => {
    expect(said(() => void flagsFrom(['--feature-gates=CompactHashCheck=true'], '3.5'))).toBe(
      '2 flag provided but not defined: -feature-gates',
    );
  });
});
