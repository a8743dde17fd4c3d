import { describe, expect, it } from 'vitest';
import { type TestCluster, type TestMember, b64, testCluster, until } from './members.ts';
import { covers } from '../support/covers.ts';

let cluster: TestCluster;
const put = (name: string, key: string, value: string) =>
  cluster.member(name).post('/v3alpha/kv/put', { key: b64(key), value: b64(value) });
const valueAt = async (name: string, key: string, prefix = '/v3alpha') =>
  Buffer.from(
    (await cluster.member(name).post(`${prefix}/kv/range`, { key: b64(key) })).json?.kvs?.[0]?.value ?? '',
    'base64',
  ).toString();
const three = ['3.2.32', '3.2.32', '3.2.32'];

describe('three members', () => {
  it('members elect a leader, and a write through one is immediately readable through every other', async () => {
    cluster = await testCluster(three);
    for (const [i, name] of ['n1', 'n2', 'n3'].entries()) {
      expect((await put(name, 'k', String(i))).status).toBe(200);
      for (const other of ['n1', 'n2', 'n3']) expect(await valueAt(other, 'k')).toBe(String(i));
    }
    const leaders = await Promise.all(
      cluster.members.map(async (member) => (await member.post('/v3alpha/maintenance/status')).json.leader),
    );
    expect(new Set(leaders)).toEqual(new Set([BigInt(`0x${(await cluster.leader()).id}`).toString()]));
  });
  it('two members continue without the third one, which catches up later', async () => {
    cluster = await testCluster(three);
    expect(await cluster.stop('n3')).toBe(0);
    for (let i = 0; i < 50; i += 1)
      // An election, after the stop or on a busy machine, refuses writes for a moment.
      await until(
        `k${i} is stored`,
        async () => (await put(i % 2 === 0 ? 'n1' : 'n2', `k${i}`, 'x')).status === 200,
      );
    await cluster.start('n3', '3.2.32');
    await until(
      'n3 answers',
      async () =>
        (
          await cluster
            .member('n3')
            .get('/health')
            .catch(() => undefined)
        )?.status === 200,
    );
    expect(await valueAt('n3', 'k49')).toBe('x');
    expect(cluster.member('n3').log.join('\n')).toMatch(
      /restarting member [0-9a-f]+ in cluster [0-9a-f]+ at commit index \d+/,
    );
  });
  it(
    'a stopping leader transfers its leadership and logs that',
    covers('spec/store#measured-upgrade-1'),
    async () => {
      cluster = await testCluster(three);
      const leader = await cluster.leader();
      await cluster.stop(leader.name);
      expect(leader.log.join('\n')).toMatch(
        /starts leadership transfer from [0-9a-f]+ to [0-9a-f]+\n[\s\S]*finished leadership transfer from .* \(took [\d.]+(µs|ms|s)\)/,
      );
      const others = cluster.members.filter((member) => member !== leader);
      expect((await put((others[0] as { name: string }).name, 'after', '1')).status).toBe(200);
      const last = others[1] as { name: string; log: string[] };
      expect(last.log.join('\n')).toContain(`changed leader from ${leader.id} to`);
    },
  );
  it(
    'a stopping follower logs that no transfer is needed; the others notice its absence',
    covers('spec/store#states-1'),
    async () => {
      cluster = await testCluster(three);
      const leader = await cluster.leader();
      const follower = cluster.members.find(
        (member) => member !== leader,
      ) as (typeof cluster.members)[number];
      await cluster.stop(follower.name);
      expect(follower.log.join('\n')).toContain('skipped leadership transfer for stopping non-leader member');
      const lines = () => leader.log.join('\n');
      await until('the leader misses it', () => lines().includes(`peer ${follower.id} became inactive`));
      expect(lines()).toContain(
        `lost the TCP streaming connection with peer ${follower.id} (stream Message reader)`,
      );
      expect(lines()).toMatch(
        new RegExp(
          `failed to dial ${follower.id} on stream Message \\(dial tcp 127\\.0\\.0\\.1:\\d+: connect: connection refused\\)`,
        ),
      );
    },
  );
  it(
    'without a majority health is false, local reads succeed, writes fail',
    covers('spec/store#measured-answers-1', 'spec/store#measured-versions-1'),
    async () => {
      cluster = await testCluster(three);
      await cluster.stop('n1');
      await cluster.stop('n2');
      await until(
        'n3 sees that nobody leads',
        async () => (await cluster.member('n3').get('/health')).status === 503,
      );
      expect((await cluster.member('n3').get('/health')).text).toBe('{"health": "false"}');
      expect(
        (await cluster.member('n3').post('/v3alpha/kv/range', { key: b64('k'), serializable: true })).status,
      ).toBe(200);
      expect((await cluster.member('n3').post('/v3alpha/maintenance/status')).json.leader).toBeUndefined();
      expect((await cluster.member('n3').get('/version')).status).toBe(200);
      let isOver = false;
      const answer = put('n3', 'k', 'v').finally(() => (isOver = true));
      await until('it gives up', () => {
        cluster.member('n3').passes(200);
        return isOver;
      });
      const refused = await answer;
      expect([refused.status, refused.text]).toEqual([
        503,
        '{"error":"etcdserver: request timed out","code":14}',
      ]);
    },
  );
  it('a partitioned member loses no data and disturbs no other member after its return', async () => {
    cluster = await testCluster(three);
    const leader = await cluster.leader();
    const follower = cluster.members.find((member) => member !== leader) as TestMember;
    const term = async (): Promise<number> =>
      ((await (await fetch(`${follower.peerUrl}/simulation/state`)).json()) as { term: number }).term;
    await cluster.fault(follower.name, [{ kind: 'cut' }]);
    await until('it knows no leader', async () => (await follower.get('/health')).status === 503);
    const whenCut = await term();
    expect((await put(leader.name, 'while-cut', '1')).status).toBe(200);
    // The follower campaigns repeatedly. A higher term would depose the current leader after the follower reconnects.
    for (let i = 0; i < 20; i += 1) {
      follower.passes(1000);
      expect(await term()).toBe(whenCut);
    }
    await cluster.fault(follower.name, []);
    await until('it is back', async () => (await follower.get('/health')).status === 200);
    expect(await valueAt(follower.name, 'while-cut')).toBe('1');
  });
});

describe('the upgrade', () => {
  it(
    'the cluster stays at the lowest version until the last member is new, and then cannot go back',
    covers('spec/store#states-3', 'spec/store#states-4', 'spec/store#measured-upgrade-5'),
    async () => {
      cluster = await testCluster(three);
      const versions = async () =>
        Promise.all(cluster.members.map(async (member) => (await member.get('/version')).json.kvcluster));
      for (const name of ['n1', 'n2']) {
        await cluster.stop(name);
        await cluster.start(name, '3.3.27');
        await cluster.healthy();
        expect(await versions()).toEqual(['3.2.0', '3.2.0', '3.2.0']);
      }
      // spec/store#states: while versions are mixed, a member can return to the old version.
      await cluster.stop('n1');
      await cluster.start('n1', '3.2.32');
      await cluster.healthy();
      expect((await put('n1', 'mixed', '1')).status).toBe(200);
      for (const name of ['n1', 'n3']) {
        await cluster.stop(name);
        await cluster.start(name, '3.3.27');
        await cluster.healthy();
      }
      await until('the cluster is 3.3', async () =>
        (await versions()).every((version) => version === '3.3.0'),
      );
      expect(await valueAt('n2', 'mixed', '/v3beta')).toBe('1');
      const all = cluster.members.flatMap((member) => member.log).join('\n');
      for (const line of [
        'updating the cluster version from 3.2 to 3.3',
        'updated the cluster version from 3.2 to 3.3',
        'enabled capabilities for version 3.3',
      ])
        expect(all).toContain(line);
      await cluster.stop('n2');
      const old = await cluster.start('n2', '3.2.32');
      expect(await old.ended).toBe(1);
      expect(old.log.at(-1)).toContain(
        'C | membership: cluster cannot be downgraded (current version: 3.2.32 is lower than determined cluster version: 3.3).',
      );
      await cluster.start('n2', '3.3.27');
      await cluster.healthy();
    },
  );
  it('an old leader warns of members with a higher version', covers('spec/store#states-2'), async () => {
    cluster = await testCluster(three);
    const leader = await cluster.leader();
    const follower = cluster.members.find((member) => member !== leader) as (typeof cluster.members)[number];
    await cluster.stop(follower.name);
    await cluster.start(follower.name, '3.3.27');
    await until('it warns', () =>
      leader.log.join('\n').includes(`member ${follower.id} has a higher version 3.3.27`),
    );
    expect(leader.log.join('\n')).toContain('W | kvserver: the local kv version 3.2.32 is not up-to-date');
  });
  it('a member that was away while the cluster moved is refused as soon as it hears of it', async () => {
    cluster = await testCluster(['3.3.27', '3.3.27', '3.3.27'], { wait: false });
    await cluster.healthy();
    await cluster.stop('n1');
    expect(await (await cluster.start('n1', '3.2.32')).ended).toBe(1);
  });
  it('a member with an empty directory cannot join under a previous identity', async () => {
    cluster = await testCluster(three);
    await cluster.stop('n1');
    const stranger = await cluster.start('n1', '3.3.27', [
      '--data-dir',
      `${cluster.member('n1').dataDir}-other`,
    ]);
    expect(await stranger.ended).toBe(1);
    expect(stranger.log.at(-1)).toContain(`member ${stranger.id} has already been bootstrapped`);
  });
});

describe('alarms, auth, faults', () => {
  it('NOSPACE rejects writes on all members; only 3.3 reports it in /health', async () => {
    cluster = await testCluster(three, { args: ['--quota-backend-bytes', '100000'] });
    const value = 'x'.repeat(60_000);
    expect((await put('n1', 'a', value)).status).toBe(200);
    // A member counts only the data that it has applied. A read through n2 waits until n2 has applied the write.
    await cluster.member('n2').post('/v3alpha/kv/range', { key: Buffer.from('a').toString('base64') });
    const full = await put('n2', 'b', value);
    expect([full.status, full.text]).toEqual([
      403,
      '{"error":"etcdserver: mvcc: database space exceeded","code":8}',
    ]);
    expect((await put('n3', 'c', '1')).status).toBe(403);
    expect((await cluster.member('n1').get('/health')).status).toBe(200);
    await cluster.stop('n1');
    await cluster.start('n1', '3.3.27');
    await until(
      'n1 answers',
      async () =>
        (
          await cluster
            .member('n1')
            .get('/version')
            .catch(() => undefined)
        )?.status === 200,
    );
    expect((await cluster.member('n1').get('/health')).text).toBe('{"health":"false"}\n');
    const { alarms } = (await cluster.member('n2').post('/v3alpha/maintenance/alarm', { action: 'GET' }))
      .json;
    expect(alarms).toEqual([
      { memberID: BigInt(`0x${cluster.member('n2').id}`).toString(), alarm: 'NOSPACE' },
    ]);
    await cluster.member('n2').post('/v3alpha/maintenance/alarm', {
      action: 'DEACTIVATE',
      memberID: alarms[0].memberID,
      alarm: 'NOSPACE',
    });
    expect((await put('n3', 'c', '1')).status).toBe(200);
  });
  it(
    'tokens are for one member and end with it; health and version stay open',
    covers(
      'spec/store#measured-answers-3',
      'spec/store#measured-versions-1',
      'spec/store#measured-versions-2',
    ),
    async () => {
      cluster = await testCluster(three);
      const n1 = cluster.member('n1');
      await n1.post('/v3alpha/auth/user/add', { name: 'root', password: 'secret' });
      expect((await n1.post('/v3alpha/auth/enable')).status).toBe(200);
      expect((await put('n1', 'k', '1')).text).toBe('{"error":"etcdserver: user name is empty","code":3}');
      expect(
        (await n1.post('/v3alpha/auth/authenticate', { name: 'root', password: 'wrong' })).text,
      ).toContain('authentication failed, invalid user ID or password');
      const { token } = (await n1.post('/v3alpha/auth/authenticate', { name: 'root', password: 'secret' }))
        .json;
      const write = (header: string, value: string) =>
        cluster.member('n1').post('/v3alpha/kv/put', { key: b64('k'), value: b64('1') }, { [header]: value });
      expect((await write('Grpc-Metadata-Token', token)).status).toBe(200);
      expect((await write('Authorization', token)).status).toBe(400);
      expect((await n1.get('/health')).status).toBe(200);
      expect((await n1.post('/v3alpha/maintenance/defragment')).text).toBe(
        '{"error":"auth: user name is empty","code":2}',
      );
      expect((await n1.post('/v3alpha/maintenance/snapshot')).text).toContain('"error":{');
      await cluster.stop('n1');
      await cluster.start('n1', '3.3.27');
      await cluster.healthy();
      const stale = await cluster
        .member('n1')
        .post('/v3beta/kv/put', { key: b64('k'), value: b64('1') }, { Authorization: token });
      expect([stale.status, stale.text]).toEqual([
        401,
        '{"error":"etcdserver: invalid auth token","code":16}',
      ]);
    },
  );
  it.each([
    ['crash-at-start', {}],
    ['exit-after', { ms: 100 }],
  ] as const)('%s only of the new version: the old one starts', async (kind, more) => {
    cluster = await testCluster(three);
    await cluster.stop('n1');
    await cluster.fault('n1', [{ kind, version: '3.3', ...more }]);
    expect(await (await cluster.start('n1', '3.3.27')).ended).toBe(1);
    await cluster.start('n1', '3.2.32');
    await cluster.healthy();
  });
  it('ignore-sigterm: the member continues until the fault is removed', async () => {
    cluster = await testCluster(three);
    await cluster.fault('n1', [{ kind: 'ignore-sigterm' }]);
    cluster.member('n1').signal('SIGTERM');
    await until('it said so', () =>
      cluster.member('n1').log.join('\n').includes('SIGTERM ignored on demand'),
    );
    expect((await put('n1', 'k', '1')).status).toBe(200);
    await cluster.fault('n1', []);
    expect(await cluster.stop('n1')).toBe(0);
  });
  it('moves the leader where the version can, and only when the leader is asked', async () => {
    cluster = await testCluster(['3.3.27', '3.3.27', '3.3.27']);
    const leader = await cluster.leader();
    const other = cluster.members.find((member) => member !== leader) as (typeof cluster.members)[number];
    const targetID = BigInt(`0x${other.id}`).toString();
    const wrong = await other.post('/v3beta/maintenance/transfer-leadership', { targetID });
    expect([wrong.status, wrong.text]).toEqual([412, '{"error":"etcdserver: not leader","code":9}']);
    expect((await leader.post('/v3beta/maintenance/transfer-leadership', { targetID })).status).toBe(200);
    expect((await cluster.leader()).name).toBe(other.name);
  });
  it('a lease expires automatically with its keys, even after a new leader', async () => {
    cluster = await testCluster(three);
    const { ID } = (await cluster.member('n1').post('/v3alpha/lease/grant', { TTL: 1 })).json;
    await cluster.member('n2').post('/v3alpha/kv/put', { key: b64('leased'), value: '', lease: ID });
    await cluster.stop((await cluster.leader()).name);
    const alive = cluster.members.find(
      (member) =>
        member.log.at(-1)?.includes('shutting') !== true && !member.log.join().includes('terminated signal'),
    ) as (typeof cluster.members)[number];
    await until(
      'the lease is over',
      async () => (await alive.post('/v3alpha/kv/lease/timetolive', { ID })).json.TTL === '-1',
    );
    expect((await alive.post('/v3alpha/kv/range', { key: b64('leased') })).json.kvs).toBeUndefined();
  });
  it(
    'raising the alarm NONE stops every 3.2 member, like real ones',
    covers('spec/store#measured-answers-5'),
    async () => {
      cluster = await testCluster(three);
      await cluster.member('n1').post('/v3alpha/maintenance/alarm', { action: 'ACTIVATE' });
      expect(await Promise.all(cluster.members.map((member) => member.ended))).toEqual([1, 1, 1]);
      expect(cluster.member('n3').log.join('\n')).toContain(
        'C | mvcc/backend: cannot put key into bucket (key required)',
      );
    },
  );
});
