import { describe, expect, it } from 'vitest';
import { faultKinds } from '../../src/etcd-sim/forms.ts';
import { type TestCluster, b64, testCluster, until } from './members.ts';
import { covers } from '../support/covers.ts';

let cluster: TestCluster;
const three = ['3.3.27', '3.3.27', '3.3.27'];
const put = (name: string, value: string) =>
  cluster.member(name).post('/v3beta/kv/put', { key: b64('k'), value: b64(value) });
const follower = async () => {
  const leader = await cluster.leader();
  return cluster.members.find((one) => one !== leader) as (typeof cluster.members)[number];
};

describe('the table of faults', () => {
  it('the table describes every fault', () => {
    for (const { says } of Object.values(faultKinds)) expect(says.length).toBeGreaterThan(20);
  });
});

describe('faults of a simulated member', () => {
  it('disk-full: the next write stops the member, keeps acknowledged data, and the member returns with space', async () => {
    cluster = await testCluster(three);
    const one = await follower();
    await cluster.fault(one.name, [{ kind: 'disk-full' }]);
    const leader = await cluster.leader();
    expect((await put(leader.name, 'kept')).status).toBe(200);
    expect(await one.ended).toBe(1);
    expect(one.log.join('\n')).toContain('no space left on device');
    await cluster.fault(one.name, []);
    await cluster.start(one.name, '3.3.27');
    await cluster.healthy();
    const { json } = await cluster.member(one.name).post('/v3beta/kv/range', { key: b64('k') });
    expect(json.kvs[0].value).toBe(b64('kept'));
  });
  it('cut-in: the member receives no messages, so it is unhealthy, and the others continue', async () => {
    cluster = await testCluster(three);
    const one = await follower();
    await cluster.fault(one.name, [{ kind: 'cut-in' }]);
    await until('it knows no leader', async () => (await one.get('/health')).status === 503);
    expect((await put((await cluster.leader()).name, '1')).status).toBe(200);
    await cluster.fault(one.name, []);
    await cluster.healthy();
  });
  it('cut-out: the leader whose messages get lost is replaced', async () => {
    cluster = await testCluster(three);
    const before = await cluster.leader();
    await cluster.fault(before.name, [{ kind: 'cut-out' }]);
    const others = cluster.members.filter((one) => one !== before);
    await until('another one leads', async () => {
      const answers = await Promise.all(others.map((one) => one.post('/v3beta/maintenance/status')));
      return answers.every(
        ({ json }) => json?.leader !== undefined && BigInt(json.leader).toString(16) !== before.id,
      );
    });
    expect((await put(others[0]?.name ?? '', '2')).status).toBe(200);
    await cluster.fault(before.name, []);
    await cluster.healthy();
  });
  it('links-out: the member records no round trip, and without the fault it keeps those to a stopped peer', async () => {
    cluster = await testCluster(['3.4.23', '3.4.23', '3.4.23']);
    const reaches = async (): Promise<boolean[]> => {
      const { text } = await cluster.member('n1').get('/metrics');
      const sums = text.matchAll(/^\w+_network_peer_round_trip_time_seconds_sum\{To="[0-9a-f]+"\} (\S+)$/gm);
      return [...sums].map(([, sum]) => Number(sum) > 0);
    };
    cluster.member('n1').passes(5000);
    await until('n1 records round trips to both peers', async () => {
      const both = await reaches();
      return both.length === 2 && both.every((one) => one);
    });
    await cluster.stop('n2');
    expect(await reaches()).toEqual([true, true]);
    await cluster.start('n2', '3.4.23');
    await cluster.stop('n1');
    await cluster.fault('n1', [{ kind: 'links-out' }]);
    await cluster.start('n1', '3.4.23');
    await cluster.healthy();
    cluster.member('n1').passes(5000);
    expect(await reaches()).toEqual([false, false]);
  });
  it('clock-skew: its log is written by its own clock, and the others warn of it', async () => {
    cluster = await testCluster(three);
    const one = await follower();
    await cluster.fault(one.name, [{ kind: 'clock-skew', ms: 3_600_000 }]);
    const others = cluster.members.filter((other) => other !== one);
    await until('both others said so', () =>
      others.every(({ log }) =>
        log.some((line) => line.includes(`the clock difference against peer ${one.id} is too high [3`)),
      ),
    );
    one.signal('SIGTERM');
    await one.ended;
    const at = (line: string | undefined) => Date.parse(`${line?.slice(0, 23).replace(' ', 'T')}Z`);
    expect(at(one.log.at(-1)) - at(others[0]?.log.at(-1))).toBeGreaterThan(3_000_000);
  });
  it('slow-start: it runs before it takes part', covers('defect/U-43'), async () => {
    cluster = await testCluster(three);
    await cluster.stop('n1');
    await cluster.fault('n1', [{ kind: 'slow-start', ms: 700 }]);
    const one = await cluster.start('n1', '3.3.27');
    await cluster.healthy();
    const at = (text: string) =>
      Date.parse(
        `${one.log
          .find((line) => line.includes(text))
          ?.slice(0, 23)
          .replace(' ', 'T')}Z`,
      );
    // A lower bound holds on a machine of any speed.
    expect(at('restarting member') - at('Version: 3.3.27')).toBeGreaterThanOrEqual(690);
  });
});
