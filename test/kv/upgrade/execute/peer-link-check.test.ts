/**
 * A member is healthy only if every connection to it and from it works. An unknown connection is not a pass.
 */
import { describe, expect, it } from 'vitest';
import { sh } from '../../../../src/core/shell.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { openGate, passGate } from '../../../../src/kv/upgrade/execute/health-check.ts';
import { peerLinksWork } from '../../../../src/kv/upgrade/execute/connection-checks.ts';
import { startMember } from '../../../../src/kv/upgrade/execute/member.ts';
import { linksIn, linksInLog, peerErrors } from '../../../../src/kv/upgrade/observe/see-member.ts';
import { MemberFailure } from '../../../../src/kv/upgrade/run.ts';
import type { Service, Shell } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { scriptDriver } from '../../../../src/kv/upgrade/supervisors/script-driver.ts';
import { partlyMade } from '../../../support/context.ts';
import { conducted, smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';

const gateOn = async (log: readonly string[] = []) => {
  const small = smallCluster();
  const { host, cluster, access, driver } = small;
  const run = runOn(
    host,
    { cluster, access, plan: await small.plan() },
    { ...driver, logTail: async (member) => [...(await driver.logTail(member, 400)), ...log] },
  );
  return { small, run, gate: openGate(run, 'n2', run.plan.from) };
};
/** The same members without connection metrics. */
const withoutMetrics = async (log?: readonly string[]) => {
  const { gate, ...rest } = await gateOn(log);
  const blind = <T extends { store: object }>(one: T): T => {
    const store = { ...one.store, connection: { get: async () => ({ status: 404, text: '' }) } };
    return { ...one, store };
  };
  return { ...rest, gate: { ...blind(gate), others: gate.others.map(blind) } };
};

describe('the connections of a member', () => {
  it('work in both directions', async () => {
    const { gate } = await gateOn();
    expect(await peerLinksWork(gate)).toEqual({
      ok: true,
      detail: naming('n1', 'n3', 'directions'),
    });
  });
  it.each([
    ['from it', 'n2', ['n1', 'n3'], 'n2 to n1, n2 to n3'],
    ['to it', 'n3', ['n2'], 'n3 to n2'],
  ])('broken connections of a member are a finding: %s', async (_, from, reachesNot, shown) => {
    const { small, gate, run } = await gateOn();
    Object.assign(small.members(from), { reachesNot });
    expect(await peerLinksWork(gate)).toEqual({
      ok: false,
      detail: naming(shown, 'connection', 'between', 'members'),
    });
    await expect(passGate(gate, 0)).rejects.toBeInstanceOf(MemberFailure);
    expect(run.told).toContainEqual(expect.objectContaining({ check: 'peer-links', ok: false }));
  });
  it('connections to an unresponsive member, or between others, do not belong to the member', async () => {
    const { small, gate } = await gateOn();
    Object.assign(small.members('n1'), { reachesNot: ['n3'] });
    small.end('n3');
    expect(await peerLinksWork(gate)).toEqual({ ok: true, detail: naming('n1', 'directions') });
  });
  it('connections to a partitioned member do not count; without any leader every connection counts', async () => {
    const line =
      '2026 W | rafthttp: health check for peer 3eb could not connect: x509: certificate has expired';
    const { small, gate } = await gateOn([line, line, line]);
    Object.assign(small.members('n3'), { reachesNot: ['n1', 'n2'], knowsNoLeader: true });
    Object.assign(small.members('n2'), { reachesNot: ['n3'] });
    expect(await peerLinksWork(gate)).toEqual({ ok: true, detail: naming('n1', 'directions') });
    Object.assign(small.members('n2'), { knowsNoLeader: true });
    const alone = await peerLinksWork(gate);
    expect(alone.ok).toBe(false);
    expect(alone.detail).toContain('n2 to n3, n3 to n2');
  });
  it('connections to a member without a leader count if this member leads', async () => {
    const { small, gate } = await gateOn();
    small.state.leader = 'n2';
    Object.assign(small.members('n3'), { reachesNot: ['n2'], knowsNoLeader: true });
    expect((await peerLinksWork(gate)).ok).toBe(false);
  });
  const opened = (id: string, change = 'established a', side = 'reader') =>
    `2026 I | rafthttp: ${change} TCP streaming connection with peer ${id} (stream Message ${side})`;
  const openedIn35 = (id: string) =>
    JSON.stringify({
      msg: 'established TCP streaming connection with remote peer',
      'stream-reader-type': 'stream MsgApp v2',
      'remote-peer-id': id,
    });
  const openedInConsole = (id: string, side = 'reader') =>
    `2026-01-01T00:00:00.000Z\tinfo\trafthttp/stream.go:412\testablished TCP streaming connection with remote peer\t{"stream-${side}-type": "stream Message", "local-member-id": "1", "remote-peer-id": "${id}"}`;
  /** The members have connections, their logs contain only these lines, and the run started n2. */
  const withLog = async (...log: string[]) => {
    const { small, run, gate } = await gateOn();
    small.state.log = log;
    run.state.markLog('n2', []);
    gate.marks = new Map(['n1', 'n2', 'n3'].map((name) => [name, []]));
    return { small, run, gate };
  };
  it.each([
    ['its own line', ['3e9', '3ea', '3eb'].map((id) => opened(id))],
    ['the line of 3.5', ['3e9', '3ea', '3eb'].map((id) => openedIn35(id))],
    ['the line of log-format: console', ['3e9', '3ea', '3eb'].map((id) => openedInConsole(id))],
  ])('connections that each member opened itself work at once: %s', async (_, log) => {
    expect(await peerLinksWork((await withLog(...log)).gate)).toMatchObject({ ok: true });
  });
  it.each([
    ['are older than the start', ['3e9', '3ea', '3eb'].map((id) => opened(id)).slice(-1)],
    ['may be older, because the log was unreadable at the start', undefined],
  ])('lines of other members do not prove connections to the new process if they %s', async (_, end) => {
    const all = ['3e9', '3ea', '3eb'].map((id) => opened(id));
    const { small, run, gate } = await withLog(...all);
    gate.marks = new Map([...['n1', 'n3'].map((name) => [name, end] as const), ['n2', []]]);
    const early = await peerLinksWork(gate);
    expect(early).toMatchObject({ isPending: true, detail: naming('n1 to n2', 'n3 to n2') });
    expect(early.detail).not.toContain('n2 to');
    await run.host.sleep(6100);
    expect(await peerLinksWork(gate)).toMatchObject({ ok: true });
    // The other members notice after their read timeout that the previous process has exited.
    small.state.log = [...all, opened('3ea', 'lost the'), opened('3ea', 'established a', 'writer')];
    expect(await peerLinksWork(gate)).toMatchObject({ ok: false, detail: naming('n1 to n2') });
  });
  it('lines before the start prove no connection if the shell of a host failed at the start', async () => {
    const { run } = await gateOn();
    let code = 1;
    const stdout = ['3e9', '3ea', '3eb'].map((id) => opened(id)).join('\n');
    const finished = { signal: null, stderr: '', timedOut: false };
    const shell = partlyMade<Shell>({
      run: async () => ({ ...finished, code, stdout: code === 0 ? stdout : '' }),
    });
    const limits: (number | undefined)[] = [];
    const service = partlyMade<Service>({ logTail: () => sh`tail` });
    const { logTail } = scriptDriver(run.host, run.cluster, () => shell, service);
    Object.assign(run.driver, {
      logTail: (member: MemberSpec, lines: number, timeoutMs?: number) => {
        limits.push(timeoutMs);
        return logTail(member, lines, timeoutMs);
      },
    });
    const gate = await startMember(run, 'n2', 'new');
    // The member is stopped while the logs of the other members are read.
    expect(limits).toEqual([undefined, 2000, 2000]);
    code = 0;
    expect(await peerLinksWork(gate)).toMatchObject({
      isPending: true,
      detail: naming('n1 to n2', 'n3 to n2'),
    });
  });
  it('errors before the start are not errors of the started member if its log was unreadable then', async () => {
    const line =
      '2026 W | rafthttp: health check for peer 3e9 could not connect: x509: certificate has expired';
    const { gate, run } = await gateOn([line, line, line]);
    expect(await peerLinksWork(gate)).toMatchObject({ ok: false });
    run.state.markLog('n2', undefined);
    await peerLinksWork(gate);
    await run.host.sleep(6100);
    expect(await peerLinksWork(gate)).toMatchObject({ ok: true });
  });
  it('lines of the member do not prove its connections if an earlier process started it without a mark', async () => {
    const { gate } = await withOldLog(...['3e9', '3ea', '3eb'].map((id) => opened(id)));
    expect(await peerLinksWork({ ...gate, isStarted: true })).toMatchObject({ isPending: true });
  });
  const writers = ['3e9', '3ea', '3eb'].map((id) => opened(id, 'established a', 'writer'));
  const lost = ['3e9', '3ea', '3eb'].flatMap((id) => [opened(id), opened(id, 'lost the')]);
  it.each([
    ['work without a line', [], true],
    ['work after the loss of all streams, because a log may not contain the next line', lost, true],
    ['are broken if only the other member opened streams since its start', writers, false],
    [
      'are broken if only the other member opened streams since its start, with log-format: console',
      ['3e9', '3ea', '3eb'].map((id) => openedInConsole(id, 'writer')),
      false,
    ],
    ['are broken if its own stream was lost', [...lost, ...writers], false],
  ])('connections that count as active wait six seconds, and %s', async (_, log, ok) => {
    const { gate, run } = await withLog(...log);
    expect(await peerLinksWork(gate)).toMatchObject({
      ok: null,
      isPending: true,
      detail: naming('n2 to n1', 'n1 to n2', 'n2 to n3', 'n3 to n2', 'opened'),
    });
    await run.host.sleep(5900);
    expect(await peerLinksWork(gate)).toMatchObject({ isPending: true });
    await run.host.sleep(200);
    expect(await peerLinksWork(gate)).toMatchObject({ ok });
  });
  /** As `withLog`, but the run started no member. */
  const withOldLog = async (...log: string[]) => {
    const { small, ...rest } = await gateOn();
    small.state.log = log;
    return rest;
  };
  it('connections between members that this run did not start are decided without a wait', async () => {
    for (const log of [[], writers, lost]) {
      const { gate, run } = await withOldLog(...log);
      const began = run.host.elapsed();
      await passGate(gate, 0);
      expect(run.host.elapsed() - began).toBeLessThan(1000);
      expect(run.told).toContainEqual(
        expect.objectContaining({
          ...{ check: 'peer-links', ok: true },
          detail: naming('active', 'n1', 'n3', 'directions', 'logs', 'do not show', 'n2 to n1'),
        }),
      );
    }
    const broken = await withOldLog(...lost, ...writers);
    expect(await peerLinksWork(broken.gate)).toMatchObject({ ok: false, detail: naming('n2 to n1') });
  });
  it('connections to a member that an operation started are watched for six seconds', async () => {
    const { gate } = await withOldLog();
    expect(await peerLinksWork({ ...gate, isStarted: true })).toMatchObject({ isPending: true });
  });
  it('a log without the start of a member does not show that it opened no stream', async () => {
    const { small, run, gate } = await withLog();
    // 400 lines are the whole tail, so the line of its own stream may be older.
    small.state.log = [...Array.from({ length: 397 }, (_, at) => `line ${at}`), ...writers];
    run.state.markLog('n2', ['the end of the log before the start']);
    expect(await peerLinksWork(gate)).toMatchObject({ isPending: true });
    await run.host.sleep(6100);
    expect(await peerLinksWork(gate)).toMatchObject({ ok: true });
    // The tail contains the end of the log before the start.
    run.state.markLog('n2', ['line 7']);
    expect(await peerLinksWork(gate)).toMatchObject({ ok: false, detail: naming('n2 to n1, n2 to n3') });
  });
  it('a blocked direction that counts as active at first fails the health check', async () => {
    const { gate, run } = await withLog();
    const began = run.host.elapsed();
    const links = gate.store.connection;
    const isNoticed = (): boolean => run.host.elapsed() - began > 5000;
    const get: typeof links.get = async (path) => {
      const page = await links.get(path);
      return path === '/metrics' && isNoticed()
        ? { ...page, text: page.text.replaceAll(/\} 1$/gm, '} 0') }
        : page;
    };
    const blocked = { ...gate, store: { ...gate.store, connection: { ...links, get } } };
    await expect(passGate(blocked, 0)).rejects.toMatchObject({
      message: naming('n2 to n1', 'n2 to n3', 'no connection'),
    });
  });
  it('connections are read from the logs if a version does not count them', async () => {
    const lines = (...ids: string[]) =>
      ids.flatMap((id) => [`2026 I | rafthttp: peer ${id} became active`, opened(id)]);
    expect(await peerLinksWork((await withoutMetrics(lines('3e9', '3ea', '3eb'))).gate)).toMatchObject({
      ok: true,
    });
    const lost = [...lines('3e9', '3ea', '3eb'), '2026 I | rafthttp: peer 3e9 became inactive'];
    expect((await peerLinksWork((await withoutMetrics(lost)).gate)).ok).toBe(false);
  });
  it('connections without evidence are unknown, never a pass, and the run reports it', async () => {
    const { gate, run } = await withoutMetrics();
    expect(await peerLinksWork(gate)).toMatchObject({
      ok: null,
      detail: naming('n2 to n1', 'n1 to n2', 'n2 to n3', 'n3 to n2', 'logs', 'leader', 'transfer'),
    });
    await passGate(gate, 0);
    expect(run.told).toContainEqual({
      event: 'note',
      level: 'warn',
      text: expect.stringMatching(/^n2: peer-links: unknown: /),
    });
  });
  it('connections are unknown if only the leadership shows them, because followers may have opened all of them', async () => {
    const active = ['3e9', '3ea', '3eb'].flatMap((id) => [
      `2026 I | rafthttp: peer ${id} became active`,
      opened(id),
    ]);
    const { small, gate, run } = await withoutMetrics(active);
    const { driver } = run;
    // Only the log of n2 is missing. n2 leads, and the other members follow it.
    Object.assign(run, {
      driver: {
        ...driver,
        logTail: async (member: { name: string }) => (member.name === 'n2' ? [] : active),
      },
    });
    small.state.leader = 'n2';
    expect(await peerLinksWork(gate)).toMatchObject({
      ok: null,
      detail: naming('n2 to n1, n2 to n3', 'transfer'),
    });
  });
  it('connections that a log shows some seconds late are not reported as unknown', async () => {
    const lines: string[] = [];
    const { gate, run } = await withoutMetrics(lines);
    const active = ['3e9', '3ea', '3eb'].map((id) => `2026 I | rafthttp: peer ${id} became active`);
    const began = run.host.elapsed();
    const { sleep } = run.host;
    Object.assign(run.host, {
      sleep: async (ms: number, signal?: AbortSignal) => {
        await sleep(ms, signal);
        if (run.host.elapsed() - began > 2000 && lines.length === 0) lines.push(...active);
      },
    });
    await passGate(gate, 60_000);
    expect(run.told).toContainEqual(expect.objectContaining({ check: 'peer-links', ok: true }));
    expect(run.told.filter(({ event }) => event === 'note')).toEqual([]);
  });
  /** The metrics of a version before 3.4, with the round trips of this member to its peers. */
  const withTrips = async (sum: number | undefined, isActive = false) => {
    const { small, run, gate } = await gateOn();
    small.state.log = [];
    const text = ['3e9', '3ea', '3eb']
      .flatMap((id) => [
        ...(sum === undefined
          ? []
          : ['sum', 'count'].map(
              (what) =>
                `etcd_network_peer_round_trip_time_seconds_${what}{To="${id}"} ${what === 'sum' ? sum : 2}`,
            )),
        ...(isActive ? [`etcd_network_active_peers{Local="a",Remote="${id}"} 1`] : []),
      ])
      .join('\n');
    const asked = <T extends { store: object }>(one: T): T => ({
      ...one,
      store: { ...one.store, connection: { get: async () => ({ status: 200, text }) } },
    });
    return { run, gate: { ...asked(gate), others: gate.others.map(asked) } };
  };
  it.each([
    ['that reached no peer itself, fails', 0, true, 'n2 to n1, n2 to n3'],
    ['that reached no peer and reports no active connections, fails', 0, false, 'n2 to n1, n2 to n3'],
  ])('a started member %s, without any line in its log', async (_, sum, isActive, shown) => {
    const { run, gate } = await withTrips(sum, isActive);
    run.state.markLog('n2', []);
    expect(await peerLinksWork(gate)).toMatchObject({ ok: false, detail: naming(shown) });
  });
  /** The metrics of 3.3 without a line in any log: `opened` is the number of peers to which each member opened streams. */
  const withBeats = async (opened: Readonly<Record<string, number>>) => {
    const { small, run, gate } = await gateOn();
    small.state.log = [];
    const asked = <T extends { store: object }>(one: T, name: string): T => {
      const get = async () => {
        const beats = Math.floor((run.host.elapsed() * 3) / 5000) * 2 * (opened[name] ?? 0);
        return { status: 200, text: `etcd_network_peer_received_bytes_total{From="0"} ${beats * 28}` };
      };
      return { ...one, store: { ...one.store, connection: { get } } };
    };
    const others = gate.others.map((one) => asked(one, one.name));
    return { run, small, gate: { ...asked(gate, 'n2'), others } };
  };
  it.each([
    ['passes if every member opened all connections', { n1: 2, n2: 2, n3: 2 }, true, ['directions']],
    ['fails if another member opened only one of two', { n1: 2, n2: 2, n3: 1 }, false, ['n3 to n2']],
    ['fails if the member opened none', { n1: 2, n2: 0, n3: 2 }, false, ['n2 to n1', 'n2 to n3']],
  ])('without lines about connections, the check counts heartbeats and %s', async (_, opened, ok, shown) => {
    const { run, gate } = await withBeats(opened);
    const windows = ok ? 1 : 3;
    for (let window = 0; window < windows; window += 1) {
      // Fewer heartbeats than expected may be late, so they are a failure only after the last window.
      expect(await peerLinksWork(gate)).toMatchObject({ isPending: true });
      await run.host.sleep(5051);
    }
    expect(await peerLinksWork(gate)).toMatchObject({ ok, detail: naming(shown.join(', ')) });
  });
  it('heartbeats prove nothing while a member does not respond', async () => {
    const { run, small, gate } = await withBeats({ n1: 1, n2: 1, n3: 1 });
    small.end('n3');
    await run.host.sleep(5050);
    expect(await peerLinksWork(gate)).toMatchObject({ ok: null, isUnknown: true });
  });
  it('a member that reached no peer fails, even if an earlier step of the run started it', async () => {
    const { run, gate } = await withTrips(0, true);
    run.state.markLog('n1', []);
    expect(await peerLinksWork(gate)).toMatchObject({ ok: false, detail: naming('n1 to n2') });
  });
  it('round trips of the started member pass; those of members started earlier may be older than it', async () => {
    const { run, gate } = await withTrips(0.0002, true);
    for (const name of ['n1', 'n2', 'n3']) run.state.markLog(name, []);
    const early = await peerLinksWork(gate);
    expect(early).toMatchObject({ isPending: true, detail: naming('n1 to n2', 'n3 to n2') });
    expect(early.detail).not.toContain('n2 to');
    await run.host.sleep(6100);
    const late = await peerLinksWork(gate);
    expect(late).toMatchObject({ ok: true, detail: naming('n1 to n2', 'n3 to n2') });
    expect(late.detail).not.toContain('n2 to');
  });
  it.each([
    ['to it', 'n1', '3ea', 'n1 to n2'],
    ['from it', 'n2', '3e9', 'n2 to n1'],
  ])(
    'round trips before the loss of a stream do not pass a blocked direction: %s',
    async (_, from, to, shown) => {
      const { run, gate } = await withTrips(0.0002, true);
      for (const name of ['n1', 'n2', 'n3']) run.state.markLog(name, []);
      const blocked = [opened(to), opened(to, 'lost the'), opened(to, 'established a', 'writer')];
      const open = ['3e9', '3ea', '3eb'].map((id) => opened(id));
      Object.assign(run.driver, {
        logTail: async ({ name }: { name: string }) => (name === from ? blocked : open),
      });
      expect(await peerLinksWork(gate)).toMatchObject({ isPending: true, detail: naming(shown) });
      await run.host.sleep(6100);
      expect(await peerLinksWork(gate)).toMatchObject({ ok: false, detail: naming(shown) });
    },
  );
  it('round trips of a member that has not been started prove nothing', async () => {
    const { run, gate } = await withTrips(0);
    const began = run.host.elapsed();
    // No line and no metric can follow, so the check does not wait for one.
    expect(await peerLinksWork(gate)).toMatchObject({ ok: null, isHopeless: true });
    await passGate(gate, 60_000);
    expect(run.host.elapsed() - began).toBeLessThan(1000);
  });
  it('a started member without any evidence is watched for some seconds', async () => {
    const { run, gate } = await withTrips(undefined);
    const began = run.host.elapsed();
    await passGate({ ...gate, isStarted: true }, 60_000);
    expect(run.host.elapsed() - began).toBeGreaterThan(4000);
  });
  it('connections with repeated errors are a finding', async () => {
    const line =
      '2026 W | rafthttp: health check for peer 3e9 could not connect: x509: certificate relies on legacy Common Name field';
    expect((await peerLinksWork((await gateOn([line])).gate)).ok).toBe(true);
    const { ok, detail } = await peerLinksWork((await gateOn([line, line, line])).gate);
    expect(ok).toBe(false);
    expect(detail).toContain('3 errors in its log, the last: 2026 W | rafthttp');
  });
});

describe('a member that the leader cannot reach', () => {
  it('gets its old version back if the leader does not notice the exit of its previous process', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    const [first = '', leader = ''] = [plan.order.at(0), plan.order.at(-1)];
    const hexIdOf = (name: string) => BigInt(small.members(name).id).toString(16);
    const { logTail, start } = small.driver;
    const leaderSpec = small.cluster.members.find(({ name }) => name === leader);
    const before = leaderSpec === undefined ? [] : await logTail(leaderSpec, 400);
    let startedAt = Number.POSITIVE_INFINITY;
    Object.assign(small.driver, {
      start: async (...given: Parameters<typeof start>) => {
        if (given[0].name === first) startedAt = Math.min(startedAt, small.host.elapsed());
        return start(...given);
      },
      logTail: async (...given: Parameters<typeof logTail>) => {
        if (given[0].name !== leader || startedAt === Number.POSITIVE_INFINITY) return logTail(...given);
        const stream = (change: string, side: string) =>
          `I | rafthttp: ${change} TCP streaming connection with peer ${hexIdOf(first)} (stream Message ${side})`;
        const noticed = [stream('lost the', 'reader'), stream('established a', 'writer')];
        return small.host.elapsed() - startedAt < 5000 ? before : [...before, ...noticed];
      },
    });
    const { ending } = await conducted(small, plan);
    expect(ending.error?.message).toContain(`${leader} to ${first}`);
    expect(small.done.filter((one) => one.startsWith('stop '))).toEqual([`stop ${first}`, `stop ${first}`]);
  });
});

describe('a direction that is blocked after the health check', () => {
  /** The leader loses its connections to the first member when the journal contains the end of this step. */
  const blockedAfter = async (step: 'gate' | 'snapshot', accept: readonly string[] = []) => {
    const small = smallCluster();
    const plan = await small.plan({ accept });
    const [first = '', second = '', leader = ''] = plan.order;
    const at = step === 'gate' ? `${first}.gate` : `${second}.snapshot`;
    const { ending } = await conducted(small, plan, {
      sink: (event) => {
        if (event.event === 'step-finished' && event.step.id === at)
          Object.assign(small.members(leader), { reachesNot: [first] });
      },
    });
    const stops = small.done.filter((one) => one.startsWith('stop '));
    return { ending, stops, first, second, leader };
  };
  it.each(['gate', 'snapshot'] as const)('stops no other member, and the run names it: %s', async (step) => {
    const { ending, stops, first, leader } = await blockedAfter(step);
    expect(ending).toMatchObject({
      outcome: 'stopped',
      message: naming(`${leader} has no connection to ${first}`),
    });
    expect(stops).toEqual([`stop ${first}`]);
  });
  it('does not end the run if the operator accepted missing connections', async () => {
    const { stops, first, second } = await blockedAfter('gate', ['peer-links']);
    expect(stops.slice(0, 2)).toEqual([`stop ${first}`, `stop ${second}`]);
  });
});

describe('a member that reaches no peer', () => {
  it('gets its old version back, and no other member is stopped', async () => {
    const small = smallCluster();
    const start = small.driver.start;
    Object.assign(small.driver, {
      start: async (...given: Parameters<typeof start>) => {
        const [{ name }, which] = given;
        Object.assign(small.members(name), { reachesNot: which === 'new' ? ['n1', 'n3'] : undefined });
        return start(...given);
      },
    });
    const { ending } = await conducted(small, await small.plan());
    expect(ending).toMatchObject({
      message: naming('peer-links', 'n2', 'n1', 'n3', 'connection', 'between', 'changed'),
    });
    expect(small.done.filter((one) => one.startsWith('stop'))).toEqual(['stop n2', 'stop n2']);
    expect(['n1', 'n2', 'n3'].map((name) => small.members(name).which)).toEqual(['old', 'old', 'old']);
  });
});

describe('the output of a member', () => {
  it('metrics of both products, with any order of labels', () => {
    const page =
      '# HELP x\netcd_network_active_peers{Local="a",Remote="1b"} 0\netcd_network_active_peers{Remote="2c",Local="a"} 1\n';
    expect([...(linksIn(page) ?? [])]).toEqual([
      ['1b', false],
      ['2c', true],
    ]);
    expect(linksIn('etcd_server_has_leader 1\n')).toBeUndefined();
    expect([...(linksIn('kv_network_active_peers{Local="a",Remote="042a"} 1\n') ?? [])]).toEqual([
      ['42a', true],
    ]);
    expect([...linksInLog(['peer 042a became active'])]).toEqual([['42a', true]]);
  });
  it('log lines of three forms; the last one counts', () => {
    const lines = [
      '2026-11-25 I | rafthttp: peer 1b became active',
      '{"level":"info","msg":"peer became active","peer-id":"2c"}',
      '2026-11-25 I | rafthttp: peer 1b became inactive (message send to peer failed)',
      '2026-11-25T00:00:00.000Z\tinfo\trafthttp/peer_status.go:53\tpeer became active\t{"peer-id": "3d"}',
      '2026-11-25T00:00:00.000Z\tinfo\trafthttp/peer_status.go:66\tpeer became active\t{"peer-id": "4e"}',
      '2026-11-25T00:00:00.000Z\twarn\trafthttp/peer_status.go:66\tpeer became inactive (message send to peer failed)\t{"peer-id": "4e", "error": "x"}',
    ];
    expect([...linksInLog(lines)]).toEqual([
      ['1b', false],
      ['2c', true],
      ['3d', true],
      ['4e', false],
    ]);
  });
  it('errors of clients are not errors of peers', () => {
    expect(
      peerErrors([
        '2026 I | embed: rejected connection from "127.0.0.1:3" (error "remote error: tls: bad certificate", ServerName "")',
        '{"level":"warn","caller":"embed/config_logging.go:169","msg":"rejected connection","remote-addr":"127.0.0.1:3","error":"tls: bad certificate"}',
        '2026 I | embed: peerTLS: cert = a, trusted-ca = b, client-cert-auth = true',
      ]),
    ).toEqual([]);
  });
});
