import { describe, expect, it } from 'vitest';
import {
  healthIsTrue,
  openGate,
  passGate,
  processRuns,
  stages,
  stayStable,
} from '../../../../src/kv/upgrade/execute/health-check.ts';
import type { Gate } from '../../../../src/kv/upgrade/execute/connection-checks.ts';
import {
  endedAfterCrossing,
  refusedBy,
  revertedAfter,
  stoppedBy,
} from '../../../../src/kv/upgrade/execute/ending.ts';
import {
  logExcerpt,
  markLog,
  refusedDowngrade,
  refuseWrongBinary,
  stopMember,
} from '../../../../src/kv/upgrade/execute/member.ts';
import { nextSteps } from '../../../../src/kv/upgrade/execute/session.ts';
import { historyRow } from '../../../../src/kv/operations/record.ts';
import { AppError } from '../../../../src/core/problem.ts';
import { endedProcess, type Run, RunState } from '../../../../src/kv/upgrade/run.ts';
import type { Driver } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { GateCheck, JournalEntry, PlanKind, Step } from '../../../../src/kv/engine/model.ts';
import { away, observed, planned, seen } from '../../../support/observations.ts';
import { smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { errorWith, naming } from '../../../support/facts.ts';

const gateOn = async (kind: PlanKind = 'upgrade', driver: Partial<Driver> = {}, patch: Partial<Run> = {}) => {
  const small = smallCluster(kind);
  const plan = await small.plan();
  const { host, cluster, access } = small;
  const run = runOn(host, { cluster, access, plan, ...patch }, { ...small.driver, ...driver });
  return { small, run, gate: openGate(run, 'n2', plan.from) };
};
const checks = stages.flat();
const check = (name: GateCheck) => {
  const found = checks.find(([one]) => one === name)?.[1];
  if (found === undefined) throw new Error(name);
  return found;
};

describe('the checks of a member', () => {
  it('the checks run in this order: objections first, expensive checks last', () => {
    expect(checks.map(([name]) => name)).toEqual([
      ...[
        'process',
        'version',
        'identity',
        'leader',
        'health',
        'access',
        'ready',
        'read',
        'write',
        'read-back',
        'lag',
      ],
      ...['alarms', 'peers', 'membership', 'hash', 'peer-links'],
    ]);
  });
  it('another program is no matter of time', async () => {
    const { gate } = await gateOn();
    const version = (patch: Partial<Gate>) => check('version')({ ...gate, ...patch });
    expect(await version({})).toEqual({ ok: true, detail: 'runs 3.4.45' });
    expect(await version({ minor: '3.5' })).toMatchObject({ ok: false, isFinal: true });
    expect(await version({ exact: '3.4.45' })).toMatchObject({ ok: true });
    expect(await version({ exact: '3.4.44' })).toMatchObject({ ok: false, isFinal: true });
  });
  it('another data directory shows in the ids', async () => {
    const { small, gate, run } = await gateOn();
    expect(await check('identity')(gate)).toMatchObject({ ok: true });
    Object.assign(small.members('n2'), { id: '1009' });
    expect(await check('identity')(gate)).toMatchObject({
      ok: false,
      isFinal: true,
      detail: expect.stringContaining('was 3ea'),
    });
    Object.assign(small.members('n2'), { id: '1002' });
    const members = run.plan.observation.members.map((one) => ({ ...one, cluster_id: '78' }));
    const other = { ...run, plan: { ...run.plan, observation: { ...run.plan.observation, members } } };
    expect(await check('identity')({ ...gate, run: other })).toMatchObject({
      ok: false,
      detail: expect.stringContaining('was in 4e'),
    });
    const none = members.map(({ cluster_id: _, member_id: __, ...one }) => one);
    const unknown = {
      ...run,
      plan: { ...run.plan, observation: { ...run.plan.observation, members: none } },
    };
    expect(await check('identity')({ ...gate, run: unknown })).toMatchObject({ ok: true });
  });
  it('the term of a single member shows another data directory', async () => {
    const termAfter = async (raft_term: number) => {
      const { run, gate } = await gateOn();
      run.journal.write({ kind: 'begin', step: 'n2.stop', note: { raft_term } });
      return check('identity')(gate);
    };
    const { gate } = await gateOn();
    const { raft_term } = await gate.store.status();
    expect(await termAfter(raft_term - 1)).toMatchObject({ ok: true });
    expect(await termAfter(raft_term)).toMatchObject({ ok: false, isFinal: true });
  });
  it('a member may lag by a thousand entries', async () => {
    const { small, gate } = await gateOn();
    const lag = (entriesBehind: number) => {
      small.members('n2').entriesBehind = entriesBehind;
      return check('lag')(gate);
    };
    expect(await lag(0)).toEqual({ ok: true, detail: 'caught up' });
    expect(await lag(1)).toEqual({ ok: true, detail: '1 entries behind while writes continue' });
    expect((await lag(1000)).ok).toBe(true);
    expect(await lag(1001)).toEqual({ ok: false, detail: '1001 entries behind' });
    for (const name of ['n1', 'n3']) small.end(name);
    expect((await lag(1001)).ok).toBe(true);
  });
  it('a majority follows its leader', async () => {
    const { small, gate } = await gateOn();
    expect(await check('peers')(gate)).toEqual({ ok: true, detail: '3 of 3 members follow the same leader' });
    small.end('n3');
    expect(await check('peers')(gate)).toEqual({
      ok: true,
      detail: '2 of 3 members follow the same leader (not n3)',
    });
    small.end('n1');
    expect((await check('peers')(gate)).ok).toBe(false);
  });
  it('a learner is no part of the majority', async () => {
    const { small, gate } = await gateOn();
    const own = await gate.store.status();
    const status = async () => ({ ...own, is_learner: true, leader_id: '0' });
    const others = [...gate.others, { name: 'n4', store: { ...gate.store, status } }];
    small.end('n3');
    expect(await check('peers')({ ...gate, others })).toEqual({
      ok: true,
      detail: '2 of 3 voting members follow the same leader (not n3)',
    });
  });
  it('a test write is read back through another member, or through itself in a single-member cluster', async () => {
    const { small, gate } = await gateOn();
    expect((await check('read-back')(gate)).ok).toBe(false);
    await check('write')(gate);
    expect(await check('read-back')(gate)).toEqual({ ok: true, detail: naming('read', 'n1', 'n3') });
    small.end('n3');
    expect(await check('read-back')(gate)).toEqual({ ok: true, detail: naming('read', 'n1') });
    expect(await check('read-back')({ ...gate, others: [] })).toEqual({
      ok: true,
      detail: naming('read', 'n2'),
    });
    expect(await check('read')(gate)).toMatchObject({ ok: true });
  });
  describe('the revision of the test write', () => {
    type Other = Gate['others'][number];
    /** Members whose revisions differ by this number, from a number of reads on. */
    const shifted = (one: Other, by: number, reads = Number.POSITIVE_INFINITY): Other => {
      let left = reads;
      const range: Other['store']['range'] = async (...given) => {
        const found = await one.store.range(...given);
        left -= 1;
        const mod = left >= 0 ? by : 0;
        return { ...found, kvs: found.kvs.map((kv) => ({ ...kv, mod_revision: kv.mod_revision + mod })) };
      };
      return { ...one, store: { ...one.store, range } };
    };
    const compare = async (n1: number, n3: number, reads?: number) => {
      const { gate } = await gateOn();
      await check('write')(gate);
      const [first, second] = gate.others as [Other, Other];
      const others = [shifted(first, n1, reads), shifted(second, n3, reads)];
      const differing: Gate = { ...gate, others };
      return { again: () => check('read-back')(differing), gate: differing };
    };
    it('a member with other revisions than the majority fails at the third difference', async () => {
      const { again } = await compare(5, 5);
      const detail = naming('n2', 'n1', 'n3', 'revisions', 'write');
      expect([await again(), await again()]).toEqual([
        { ok: false, detail },
        { ok: false, detail },
      ]);
      expect(await again()).toEqual({
        ...{ ok: false, isFinal: true, detail: naming('n2', 'n1', 'n3', 'revisions', 'replace-member') },
      });
    });
    it('another member with other revisions stops the run and names that member', async () => {
      const { again } = await compare(0, -1);
      expect([(await again()).ok, (await again()).ok]).toEqual([false, false]);
      await expect(again()).rejects.toMatchObject({
        ...{ category: 'stopped', message: naming('n3', 'revisions'), detail: { code: 'DATA_DIFFERS' } },
      });
    });
    it('a write that is applied between two reads does not count as a difference', async () => {
      const { again, gate } = await compare(5, 5, 2);
      expect([(await again()).ok, (await again()).ok, (await again()).ok]).toEqual([false, false, true]);
      expect(gate.differences).toBe(0);
    });
    it('a member that does not return its own write has not passed', async () => {
      const { gate } = await gateOn();
      await check('write')(gate);
      const range: Other['store']['range'] = () => Promise.reject(new Error('no leader'));
      expect(await check('read-back')({ ...gate, store: { ...gate.store, range } })).toEqual({
        ...{ ok: false, detail: naming('n2', 'write') },
      });
    });
  });
  it("health and readiness are the member's own reports", async () => {
    const { small, gate } = await gateOn();
    expect(await healthIsTrue(gate)).toMatchObject({ ok: true });
    small.members('n2').isHealthy = false;
    expect(await healthIsTrue(gate)).toEqual({ ok: false, detail: '/health returned sick' });
    const ready = (status: number) =>
      check('ready')({
        ...gate,
        store: {
          ...gate.store,
          connection: { ...gate.store.connection, get: async () => ({ status, text: ' why ' }) },
        } as never,
      });
    expect([(await ready(200)).ok, (await ready(404)).ok, (await ready(503)).ok]).toEqual([
      true,
      null,
      false,
    ]);
    expect((await ready(503)).detail).toBe('/readyz returned 503: why');
  });
  it('a large database is not hashed; half a GiB is', async () => {
    const { small, gate } = await gateOn();
    const hash = (db_size_bytes: number) =>
      check('hash')({ ...gate, store: { ...gate.store, status: async () => ({ db_size_bytes }) } as never });
    expect((await hash(512 * 1024 ** 2)).detail).toEqual(naming('hash', 'n2', 'n1', 'n3', 'revision'));
    expect((await hash(512 * 1024 ** 2 + 1)).detail).toEqual(naming('skipped', 'hashing'));
    // The check requests hashes only from versions that support them and compares those.
    const asked: string[] = [];
    const ofVersion = (servers: Record<string, string>) =>
      gate.others.map(({ name, store }) => ({
        name,
        store: {
          ...store,
          versions: async () => {
            asked.push(name);
            return { ...(await store.versions()), server: servers[name] };
          },
        } as never,
      }));
    const old = { ...gate, others: ofVersion({ n1: '3.2.32', n3: '3.2.32' }) };
    expect((await check('hash')(old)).detail).toEqual(naming('version', 'hash', 'skipped', 'member'));
    expect(asked).toEqual(['n1', 'n3']);
    const mixed = { ...gate, others: ofVersion({ n1: '3.2.32', n3: '3.3.25' }) };
    expect((await check('hash')(mixed)).detail).toEqual(naming('hash', 'n2', 'n3', 'revision'));
    for (const name of ['n1', 'n3']) small.end(name);
    expect(await hash(1)).toMatchObject({ ok: null, isUnknown: true });
    const row = async () => ({ can: { hashKv: false } });
    expect((await check('hash')({ ...gate, store: { ...gate.store, row } as never })).detail).toEqual(
      naming('version', 'hash', 'skipped'),
    );
  });
  it('its list of members equals that of the others; without another member, the previous list', async () => {
    const { small, gate, run } = await gateOn();
    expect((await check('membership')(gate)).detail).toEqual(naming('3', 'n1', 'lists', 'members'));
    small.end('n1');
    expect((await check('membership')(gate)).detail).toEqual(naming('3', 'n3', 'lists', 'members'));
    small.end('n3');
    expect((await check('membership')(gate)).ok).toBeNull();
    expect((await check('membership')({ ...gate, others: [] })).detail).toEqual(
      naming('3', 'lists', 'members'),
    );
    const nothing = { ...run, plan: { ...run.plan, observation: { ...run.plan.observation, listed: [] } } };
    expect((await check('membership')({ ...gate, others: [], run: nothing })).ok).toBeNull();
  });
});

describe('the process of a member', () => {
  const states = (...seenStates: string[]) => {
    let looks = 0;
    const process = async () => {
      looks += 1;
      return {
        state: seenStates[Math.min(looks, seenStates.length) - 1],
        awaits: 'a kubelet',
        reason: 'why',
      } as never;
    };
    return { process, looks: () => looks };
  };
  it('the process is checked four times a second, and observations in between count', async () => {
    const { process, looks } = states('starting', 'running');
    const { gate, small } = await gateOn('upgrade', { process });
    expect(await processRuns(gate)).toEqual({
      ok: false,
      detail: naming('a kubelet', 'starting'),
      isStarting: true,
    });
    small.host.advance(249);
    expect(await processRuns(gate)).toMatchObject({ isStarting: true });
    expect(looks()).toBe(1);
    small.host.advance(1);
    expect(await processRuns(gate)).toEqual({ ok: true, detail: naming('process', 'runs') });
  });
  it('a missing process is final; a process that this run started may appear a moment later', async () => {
    const gone = await gateOn('upgrade', { process: states('gone').process });
    expect(await processRuns(gone.gate)).toEqual({
      ok: false,
      isFinal: true,
      detail: naming('process', 'why', 'exist'),
      process: { hasEnded: true },
    });
    const late = await gateOn('upgrade', { process: states('gone', 'gone', 'running').process });
    late.gate.exited = new Promise(() => {});
    expect((await processRuns(late.gate)).ok).toBe(true);
    const never = await gateOn('upgrade', { process: states('gone').process });
    never.gate.exited = new Promise(() => {});
    const began = never.small.host.elapsed();
    expect((await processRuns(never.gate)).isFinal).toBe(true);
    expect(never.small.host.elapsed() - began).toBe(1500);
    const ended = await gateOn();
    ended.gate.exit = { code: 3, signal: null };
    expect((await processRuns(ended.gate)).detail).toEqual(naming('process', '3', 'exited'));
    ended.gate.exit = { code: null, signal: 'SIGKILL' };
    expect((await processRuns(ended.gate)).detail).toEqual(naming('process', 'SIGKILL', 'exited'));
  });
});

describe('the gate', () => {
  it('waits for what time may fix, within its time, and leaves no key', async () => {
    const { small, gate, run } = await gateOn();
    small.members('n2').isHealthy = false;
    const passing = passGate(gate, 10_000);
    await small.host.sleep(5000);
    small.members('n2').isHealthy = true;
    await passing;
    expect([...small.keys.keys()]).toEqual([]);
    expect(
      run.told.map((event) => (event.event === 'gate-check' ? [event.check, event.ok] : [])),
    ).toHaveLength(16);
    small.members('n2').isHealthy = false;
    const began = small.host.elapsed();
    await expect(passGate(gate, 3000)).rejects.toThrow(
      errorWith('MemberFailure', 'n2', 'health', '/health returned sick', 'healthy'),
    );
    expect(small.host.elapsed() - began).toBeGreaterThan(3000);
    expect(small.host.elapsed() - began).toBeLessThan(4000);
  });
  it('leaves out what cannot pass', async () => {
    const { gate, run } = await gateOn();
    await passGate({ ...gate, skips: new Set<GateCheck>(['write', 'read-back']) }, 1000);
    const made = run.told.flatMap((event) => (event.event === 'gate-check' ? [event.check] : []));
    expect(made).not.toContain('write');
    expect(made).toHaveLength(14);
  });
  it('the health check counts its stable time from the first success, and restarts after a failure', async () => {
    const { small, gate } = await gateOn();
    const began = small.host.elapsed();
    const slow = {
      ...gate,
      store: {
        ...gate.store,
        put: async (key: string, value: string | Uint8Array) => {
          small.host.advance(700);
          return gate.store.put(key, value);
        },
      },
    };
    await passGate(slow, 3000);
    await stayStable(slow, 1000);
    expect(small.host.elapsed() - began).toBeGreaterThanOrEqual(1000);
    expect(small.host.elapsed() - began).toBeLessThan(1300);
    let tries = 0;
    const second = {
      ...gate,
      store: {
        ...gate.store,
        put: async (key: string, value: string | Uint8Array) => {
          tries += 1;
          if (tries === 2) small.host.advance(700);
          if (tries < 3) throw new Error('no leader');
          return gate.store.put(key, value);
        },
      },
    };
    const again = small.host.elapsed();
    await passGate(second, 3000);
    await stayStable(second, 1000);
    expect(small.host.elapsed() - again).toBeGreaterThanOrEqual(1700);
  });
  it('wants the member to stay good: a moment of sickness is an election, more is a failure', async () => {
    const { small, gate, run } = await gateOn();
    const began = small.host.elapsed();
    await stayStable(gate, 2000);
    const took = small.host.elapsed() - began;
    expect(took >= 2000 && took < 2300).toBe(true);
    expect(run.told.at(-1)).toMatchObject({ check: 'stable', ok: true, detail: naming('good', '2 s') });
    const staying = stayStable(gate, 2000);
    small.members('n2').isHealthy = false;
    await small.host.sleep(8000);
    small.members('n2').isHealthy = true;
    await staying;
    small.members('n2').isHealthy = false;
    await expect(stayStable(gate, 2000)).rejects.toThrow(
      errorWith('MemberFailure', 'n2', '/health returned sick', 'healthy', 'unhealthy'),
    );
    expect(run.told.at(-1)).toMatchObject({ check: 'stable', ok: false });
    small.members('n2').isHealthy = true;
    small.end('n2');
    const gone = small.host.elapsed();
    await expect(stayStable(gate, 2000)).rejects.toThrow(
      errorWith('MemberFailure', 'process', 'unhealthy', 'exist'),
    );
    expect(small.host.elapsed() - gone).toBeLessThan(1000);
  });
});

describe('a stop', () => {
  const step = { id: 'n2.stop', kind: 'stop', member: 'n2', title: '', why: '', commands: [] } as Step;
  it('a stop removes the member from the watch, and reports that it is down, with the duration', async () => {
    const removed: string[] = [];
    const { small, run } = await gateOn('upgrade', {
      stop: async ({ name }) => {
        small.host.advance(40);
        small.end(name);
        return true;
      },
    });
    const members = { ...run.members, remove: (name: string) => removed.push(name) };
    expect(await stopMember({ ...run, members }, step)).toEqual({ took_ms: 40 });
    expect(removed).toEqual(['n2']);
    expect(run.told).toMatchObject([{ event: 'member-down', member: 'n2', was_leader: false }]);
    expect(run.state.endDownTime('n2')).toBeDefined();
  });
  it('a stop is rejected for another binary, a full disk or a lost lock, and staged files are removed', async () => {
    const facts = (patch: object) => async () => ({ new_binary_version: '3.5.30', ...patch });
    const wrong = await gateOn('upgrade', { facts: facts({ new_binary_version: '3.6.0' }) });
    await expect(stopMember(wrong.run, step)).rejects.toThrow(
      errorWith('WRONG_BINARY', 'n2', '3.6.0', 'upgrade', '3.5', 'binary', 'target'),
    );
    await expect(refuseWrongBinary(wrong.run, 'n2')).rejects.toMatchObject({
      detail: { code: 'WRONG_BINARY' },
    });
    const unknown = await gateOn('upgrade', {
      facts: facts({ new_binary_version: undefined, new_binary_error: 'ENOENT' }),
    });
    await expect(refuseWrongBinary(unknown.run, 'n2')).rejects.toThrow(
      errorWith('WRONG_BINARY', 'version', 'ENOENT', 'report', 'target'),
    );
    const full = await gateOn('upgrade', { facts: facts({ free_bytes: 1, db_file_bytes: 1 }) });
    await expect(stopMember(full.run, step)).rejects.toMatchObject({ detail: { code: 'DISK' } });
    expect(full.small.done).toEqual([]);
    const lost = await gateOn('upgrade', {}, { holdLock: () => Promise.reject(new Error('lost')) });
    await expect(stopMember(lost.run, step)).rejects.toThrow('lost');
    expect(lost.small.done).toEqual(['stage n2', 'discard n2']);
  });
  it('the stop of a restart runs no program that the cluster file does not name', async () => {
    const { run, small } = await gateOn('restart', { facts: async () => ({}) });
    const members = small.cluster.members.map(({ name, client_url }) => ({ name, client_url }));
    await refuseWrongBinary({ ...run, cluster: { ...run.cluster, members } }, 'n2');
    await expect(refuseWrongBinary(run, 'n2')).rejects.toMatchObject({ detail: { code: 'WRONG_BINARY' } });
  });
});

describe('log excerpts of a failed start', () => {
  it('the excerpt is the last error since the start, without lines of the previous version', async () => {
    const { small, run } = await gateOn();
    small.state.log = ['old error: panic', 'last line before'];
    await markLog(run, 'n2');
    expect(run.state.logMark('n2')).toEqual(['last line before']);
    expect(await logExcerpt(run, 'n2', endedProcess())).toBe(' (it wrote no line to its log)');
    small.state.log = [...small.state.log, 'starting', 'x'.repeat(400)];
    expect(await logExcerpt(run, 'n2', endedProcess())).toEqual(
      naming('end', 'process', 'x'.repeat(300), 'log', 'killed'),
    );
    small.state.log = [];
    expect(await logExcerpt({ ...run, state: new RunState() }, 'n2', endedProcess())).toBe('');
    await markLog(run, 'n2');
    expect(await logExcerpt(run, 'n2', endedProcess())).toBe('');
  });
  it('the excerpt may show that the cluster is newer', async () => {
    const { small, run } = await gateOn();
    small.state.log = ['invalid downgrade'];
    await markLog(run, 'n2');
    expect(await refusedDowngrade(run, 'n2')).toBe(false);
    small.state.log = ['invalid downgrade', 'cluster cannot be downgraded'];
    expect(await refusedDowngrade(run, 'n2')).toBe(true);
  });
});

describe('the words of an ending', () => {
  const run = runOn(smallCluster().host) as unknown as Run;
  it('a stop names the member once and always the resume', () => {
    const messageOf = (error: unknown, member?: string) => {
      const { message, error: said } = stoppedBy(error, member);
      return [message, said?.detail.code, said?.detail.tryThis];
    };
    expect(messageOf(new Error('broken'), 'n2')).toEqual(['n2: broken', 'STOPPED', ['opsctl kv resume']]);
    expect(messageOf('odd')).toEqual(['odd', 'STOPPED', ['opsctl kv resume']]);
    const known = new AppError('unsafe', 'n2: x', { code: 'X', tryThis: ['a', 'opsctl kv resume --y'] });
    expect(messageOf(known, 'n2')).toEqual(['n2: x', 'X', ['a', 'opsctl kv resume --y']]);
    const other = new AppError('network', 'lost', { code: 'Y', tryThis: ['b'] });
    expect(messageOf(other, 'n2')).toEqual(['n2: lost', 'Y', ['b', 'opsctl kv resume']]);
  });
  it('a refusal has its first reason and how many more', () => {
    const finding = { guard: 'g', level: 'fail', message: 'm', hint: 'h' } as const;
    expect(refusedBy([finding]).error).toMatchObject({
      message: 'm',
      detail: { code: 'GUARD', tryThis: ['h', naming('opsctl kv check')] },
    });
    expect(refusedBy([finding, finding, finding]).message).toBe('m (and 2 more)');
    expect(refusedBy([]).message).toEqual(naming('refused', 'guard'));
  });
  it('the message about a reverted member names the version of the others', () => {
    const entries = (...names: string[]): JournalEntry[] =>
      names.map((name) => ({ kind: 'end', at: '', step: `${name}.gate` }));
    const messageOf = (...names: string[]) =>
      revertedAfter({ ...run, journal: { ...run.journal, entries: entries(...names) } }, 'n1', 'why').message;
    expect(messageOf()).toEqual(naming('why', 'n1', '3.3', 'member', 'changed'));
    expect(messageOf('n2', 'n1')).toBe('why. n1 runs 3.3 again; n2 stays on 3.4');
    expect(messageOf('n2', 'n3')).toBe('why. n1 runs 3.3 again; n2, n3 stay on 3.4');
    expect(endedAfterCrossing(run, 'n2', ' (log)').message).toEqual(
      naming('n2', 'health', '3.4', 'process', '3.3', 'exited', 'log', 'cluster'),
    );
  });
  it('the suggested commands depend on the progress of the cluster', () => {
    const plan = { from: '3.3', to: '3.4' } as const;
    const next = (
      outcome: Parameters<typeof nextSteps>[0]['outcome'],
      isRollback = false,
      version?: string,
      kind?: PlanKind,
    ) =>
      nextSteps({
        ...{ outcome, isRollback, plan: kind === undefined ? plan : { ...plan, kind } },
        after:
          version === undefined
            ? undefined
            : observed([seen('n1', { cluster_version: version }), away('n2')]),
      });
    for (const over of ['aborted', 'refused'] as const) expect(next(over)).toEqual([]);
    expect(next('done')).toMatchObject([{ command: ['kv', 'advance'] }]);
    expect(next('done', false, '3.4.0', 'restart')).toEqual([]);
    expect(next('rolled-back', true)).toEqual(['opsctl kv upgrade']);
    expect(next('rolled-back')).toEqual(['opsctl kv resume', 'opsctl kv rollback']);
    expect(next('stopped', true)).toEqual(['opsctl kv resume', 'opsctl kv rollback']);
    expect(next('failed', false, '3.4.0')).toEqual(['opsctl kv resume', 'opsctl kv restore']);
    expect(next('failed', false, '3.3.0')).toEqual(['opsctl kv resume', 'opsctl kv rollback']);
    expect(next('failed', false, '3.4.0', 'downgrade')).toEqual(['opsctl kv resume', 'opsctl kv rollback']);
  });
});

describe('a run in the history', () => {
  const plan = planned();
  const owner = { user: 'eve', host: 'h', pid: 1 };
  const stamp = (seconds: number): string => new Date(seconds * 1000).toISOString();
  const opened: JournalEntry = {
    kind: 'opened',
    at: stamp(0),
    run: 'r',
    action: 'upgrade',
    plan,
    owner,
    cluster_file: '/c',
  };
  const rowOf = (...entries: JournalEntry[]) =>
    historyRow({ run: 'r', directory: '/d', entries: [opened, ...entries] });
  it('the duration in the history excludes the time between the parts of a run', () => {
    const row = rowOf(
      { kind: 'end', at: stamp(10), step: 'n2.gate' },
      { kind: 'end', at: stamp(11), step: 'n3.gate' },
      { kind: 'reverted', at: stamp(12), member: 'n3' },
      { kind: 'continued', at: stamp(13), member: 'n1', waited_ms: 500 },
      { kind: 'continued', at: stamp(13), member: 'n1', waited_ms: 250 },
      { kind: 'closed', at: stamp(14), outcome: 'held', message: 'm' },
      { kind: 'resumed', at: stamp(100), owner: { host: 'k', pid: 2 }, action: 'upgrade' },
      { kind: 'crossing-confirmed', at: stamp(101), confirmed_by: 'bob' },
      { kind: 'closed', at: stamp(103), outcome: 'done', message: 'end' },
    );
    expect(row).toMatchObject({
      ...{ action: 'upgrade', outcome: 'done', duration_ms: 17_000, user: 'eve', by: ['eve@h', 'unknown@k'] },
      ...{ crossing_confirmed_by: 'bob', members_upgraded: ['n2'], members_reverted: ['n3'], paused_ms: 750 },
      ...{ resumes: 1, message: 'end', ended_at: stamp(103), journal: '/d/journal.jsonl' },
    });
  });
  it('an unfinished run has no end, and a rolled-back run is a rollback', () => {
    expect(rowOf()).toMatchObject({
      ...{
        outcome: 'unfinished',
        ended_at: null,
        message: null,
        crossing_confirmed_by: null,
        duration_ms: 0,
      },
    });
    const back = rowOf({ kind: 'resumed', at: stamp(1), owner, action: 'rollback' });
    expect([back?.action, back?.by]).toEqual(['rollback', ['eve@h']]);
    expect(historyRow({ run: 'r', directory: '/d', entries: [] })).toBeUndefined();
    const { user: _, ...nobody } = owner;
    expect(
      historyRow({ run: 'r', directory: '/d', entries: [{ ...opened, owner: nobody } as JournalEntry] })
        ?.user,
    ).toBeNull();
  });
});
