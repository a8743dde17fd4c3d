import { describe, expect, it } from 'vitest';
import { type Answer, type TestCluster, b64, testCluster, until } from './members.ts';
import { covers } from '../support/covers.ts';

let cluster: TestCluster;
const VERSION = '3.5.16';
const three = [VERSION, VERSION, VERSION];

type Listed = { ID: string; name?: string; peerURLs: string[]; isLearner?: boolean };
const call = (name: string, verb: string, body: unknown): Promise<Answer> =>
  cluster.member(name).post(`/v3/cluster/member/${verb}`, body);
const listed = async (name = 'n1'): Promise<Listed[]> => (await call(name, 'list', {})).json.members;
const idOf = async (name: string): Promise<string> =>
  (await listed()).find(({ peerURLs }) => peerURLs.includes(cluster.peerUrl(name)))?.ID as string;
/** A member can be added only after the members have been connected for five seconds. Waits for the connections and advances the clock. */
const rested = async (name = 'n1'): Promise<void> => {
  const connected = (): Set<string> =>
    new Set(cluster.member(name).log.flatMap((line) => /peer (\S+) became active/.exec(line)?.[1] ?? []));
  await until('the others are connected', () => connected().size === cluster.members.length - 1);
  cluster.member(name).passes(6_000);
  await cluster.healthy();
};
const put = (name: string, key: string) =>
  cluster.member(name).post('/v3/kv/put', { key: b64(key), value: b64('x') });
const names = ['n1', 'n2', 'n3', 'n4'];
const joins = (): string[] => [
  ...['--initial-cluster', names.map((name) => `${name}=${cluster.peerUrl(name)}`).join(',')],
  ...['--initial-cluster-state', 'existing'],
];
const addLearner = async (): Promise<string> => {
  await rested();
  const added = await call('n1', 'add', { peerURLs: [cluster.peerUrl('n4')], isLearner: true });
  expect(added.text).toContain('"isLearner":true');
  return added.json.member.ID;
};
const joined = async (): Promise<string> => {
  const id = await addLearner();
  await cluster.start('n4', VERSION, joins());
  await until('n4 is named', async () => (await listed()).some(({ name }) => name === 'n4'));
  return id;
};
const promoted = async (id: string): Promise<void> =>
  until('n4 votes', async () => (await call('n2', 'promote', { ID: id })).status === 200);

describe('a member joins', () => {
  it(
    'a member joins as a learner, gets the log, is promoted and accepts writes',
    covers('spec/store#measured-answers-6'),
    async () => {
      cluster = await testCluster(three);
      for (let i = 0; i < 20; i += 1) await put('n2', `k${i}`);
      const id = await joined();
      const n4 = cluster.member('n4');
      await until('it has what the others have', async () => {
        const all = { key: b64('k'), range_end: b64('l'), count_only: true, serializable: true };
        return (await n4.post('/v3/kv/range', all)).json.count === '20';
      });
      expect((await put('n4', 'early')).text).toContain('rpc not supported for learner');
      expect((await n4.post('/v3/maintenance/status')).json.isLearner).toBe(true);
      await promoted(id);
      await until('n4 knows it', async () => (await put('n4', 'late')).status === 200);
      expect((await listed('n4')).map(({ name, isLearner }) => [name, isLearner === true])).toEqual(
        names.map((name) => [name, false]),
      );
      // The member restarts with the identity in its data and ignores its initial flags.
      await cluster.stop('n4');
      await cluster.start('n4', VERSION, ['--initial-cluster', `n4=${cluster.peerUrl('n4')}`]);
      await cluster.healthy();
      expect((await put('n4', 'again')).status).toBe(200);
    },
  );
  it('a learner is healthy and not ready', covers('spec/store#measured-later-6'), async () => {
    cluster = await testCluster(three);
    await addLearner();
    const n4 = await cluster.start('n4', '3.5.33', joins());
    const page = (path: string) => n4.get(path).catch(() => undefined);
    await until('the learner is healthy', async () => (await page('/health'))?.status === 200);
    const ready = await page('/readyz');
    expect([ready?.status, ready?.text]).toEqual([503, expect.stringContaining('non_learner failed')]);
  });
  it('a join is rejected with other members in its flags, or when no member responds', async () => {
    cluster = await testCluster(three);
    await addLearner();
    const url = cluster.peerUrl('n4');
    const start = async (...others: string[]): Promise<string> => {
      const flags = ['--initial-cluster', [...others, `n4=${url}`].join(',')];
      const member = await cluster.start('n4', VERSION, [...flags, '--initial-cluster-state', 'existing']);
      expect(await member.ended).toBe(1);
      return member.log.at(-1) ?? '';
    };
    const [n1, n2] = ['n1', 'n2'].map((name) => `${name}=${cluster.peerUrl(name)}`) as [string, string];
    expect(await start(n1)).toContain('member count is unequal');
    expect(await start(n1, n2, 'n3=http://127.0.0.1:1')).toContain('no match found for existing member');
    expect(await start('n1=http://127.0.0.1:1')).toContain('cannot fetch cluster info from peer urls');
  });
});

describe('a change is refused', () => {
  it(
    'a change is rejected before the members have been connected for five seconds',
    covers('spec/store#measured-answers-6'),
    async () => {
      cluster = await testCluster(three);
      const add = { peerURLs: [cluster.peerUrl('n4')], isLearner: true };
      expect((await call('n1', 'add', add)).json).toEqual({
        code: 14,
        message: 'etcdserver: unhealthy cluster',
      });
      await rested();
      expect((await call('n1', 'add', add)).status).toBe(200);
    },
  );
  it(
    'a change is rejected while a voter is down; the stopped member may be removed, a healthy one may not',
    covers('spec/store#measured-answers-7'),
    async () => {
      cluster = await testCluster(three);
      await rested();
      const [second, third] = [await idOf('n2'), await idOf('n3')];
      await cluster.stop('n3');
      const add = { peerURLs: [cluster.peerUrl('n4')], isLearner: true };
      await until('n1 knows', () => cluster.member('n1').log.some((line) => /became inactive/.test(line)));
      expect((await call('n1', 'add', add)).json.message).toContain('unhealthy cluster');
      expect((await call('n1', 'remove', { ID: second })).json.message).toContain('unhealthy cluster');
      expect((await call('n1', 'remove', { ID: third })).status).toBe(200);
      expect((await call('n1', 'remove', { ID: third })).json).toEqual({
        code: 5,
        message: 'etcdserver: member not found',
      });
      expect(await listed()).toHaveLength(2);
      await cluster.start('n3', VERSION);
      expect(await cluster.member('n3').ended).toBe(0);
      expect(cluster.member('n3').log.join('\n')).toContain('permanently removed from the cluster');
    },
  );
  it('a change is rejected for the last member, and for versions without learners', async () => {
    cluster = await testCluster(['3.3.27']);
    const member = cluster.member('n1');
    const post = (verb: string, body: unknown) => member.post(`/v3beta/cluster/member/${verb}`, body);
    const { members } = (await post('list', {})).json;
    const last = await post('remove', { ID: members[0].ID });
    expect(last.json.error).toContain('not enough started members');
    expect((await post('promote', { ID: members[0].ID })).status).toBe(404);
    // A second member requires no connections. It becomes a voter immediately, even if it is added as a learner.
    const added = await post('add', { peerURLs: [cluster.peerUrl('n2')], isLearner: true });
    expect(added.json.member.isLearner).toBeUndefined();
  });
});

describe('a member leaves', () => {
  it('a removed leader exits, the others elect a new one, and no data is lost', async () => {
    cluster = await testCluster(three);
    await rested();
    await put('n1', 'before');
    const leader = await cluster.leader();
    const rest = cluster.members.filter((member) => member !== leader);
    const [asked] = rest as [(typeof rest)[0]];
    await rested(asked.name);
    const id = await idOf(leader.name);
    await until('it is removed', async () => (await call(asked.name, 'remove', { ID: id })).status === 200);
    expect(await leader.ended).toBe(0);
    await until('the others write', async () => (await put(asked.name, 'after')).status === 200);
    for (const { name } of rest) expect(await listed(name)).toHaveLength(2);
  });
  it('a member that moved is reached at its new address', async () => {
    cluster = await testCluster(three);
    const id = await idOf('n3');
    const there = cluster.peerUrl('n3').replace('127.0.0.1', 'localhost');
    const moved = await call('n1', 'update', { ID: id, peerURLs: [there] });
    expect(moved.json.members[2].peerURLs).toEqual([there]);
    await put('n1', 'after');
    await until('n3 has it', async () => {
      const asked = { key: b64('after'), serializable: true };
      return (await cluster.member('n3').post('/v3/kv/range', asked)).json.count === '1';
    });
    const taken = await call('n1', 'update', { ID: id, peerURLs: [cluster.peerUrl('n2')] });
    expect(taken.json.message).toBe('etcdserver: Peer URLs already exists');
  });
});
