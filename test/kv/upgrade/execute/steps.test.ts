import { describe, expect, it } from 'vitest';
import { stepTable } from '../../../../src/kv/upgrade/execute/steps.ts';
import { waitForStableMembers } from '../../../../src/kv/upgrade/execute/before-member.ts';
import { giveUp } from '../../../../src/kv/upgrade/execute/ending.ts';
import {
  electionGraceMs,
  gateMs,
  watchProgress,
} from '../../../../src/kv/upgrade/execute/connection-checks.ts';
import {
  waitForWriteGap,
  openNewGate,
  openOldGate,
  runHook,
  safeToStop,
} from '../../../../src/kv/upgrade/execute/member.ts';
import { revertMember } from '../../../../src/kv/upgrade/execute/rollback.ts';
import { type MemberWatch, watchMembers } from '../../../../src/kv/upgrade/observe/member-watch.ts';
import { isFinal } from '../../../../src/kv/engine/journal.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { Finished, Host } from '../../../../src/platform/host.ts';
import type { JournalEntry, MemberSpec, PlanKind, Step } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { clusterFile, observed, planned, planOptions, seen } from '../../../support/observations.ts';
import { STATE, conducted, journalOf, smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming, errorWith } from '../../../support/facts.ts';
import { pause } from '../../../support/slow-host.ts';

/** A run on three small members for one step. */
const runOf = async (kind: PlanKind = 'upgrade', patch: Partial<Run> = {}) => {
  const small = smallCluster(kind);
  const { host, cluster, access, driver } = small;
  const run = runOn(host, { cluster, access, plan: await small.plan(), ...patch }, driver);
  return { small, run };
};
const stepOf = (kind: Step['kind'], patch = {}): Step =>
  ({ id: `n2.${kind}`, kind, member: 'n2', title: '', why: 'the rule', commands: [], ...patch }) as Step;

describe('a wait', () => {
  it('a wait takes the time of its step, and reports the rest', async () => {
    const { small, run } = await runOf();
    const began = small.host.now();
    expect(await stepTable.settle.run(run, stepOf('settle', { wait_seconds: 12 }), {})).toEqual({
      waited_seconds: 12,
    });
    expect(small.host.now() - began).toBe(12_000);
    expect(run.told).toMatchObject(
      [12_000, 7000, 2000].map((remaining_ms) => ({ event: 'waiting', remaining_ms })),
    );
    expect(await stepTable.settle.run(run, stepOf('settle'), {})).toEqual({ waited_seconds: 0 });
  });
  it('a wait ends immediately when the run stops, or a member has exited', async () => {
    const stop = new AbortController();
    const stopped = await runOf('upgrade', { signal: stop.signal });
    const emit = () => stop.abort(new Error('Ctrl-C'));
    await expect(
      stepTable.settle.run({ ...stopped.run, emit }, stepOf('settle', { wait_seconds: 12 }), {}),
    ).rejects.toMatchObject({ category: 'stopped', detail: { code: 'INTERRUPTED' } });
    const ended = new AbortController();
    const members: MemberWatch = { ...stopped.run.members, signal: () => ended.signal };
    const other = await runOf('upgrade', { members });
    const gone = new Error('n1 has ended');
    await expect(
      stepTable.settle.run(
        { ...other.run, emit: () => ended.abort(gone) },
        stepOf('settle', { wait_seconds: 12 }),
        {},
      ),
    ).rejects.toBe(gone);
  });
});

it('a copy of the data is named after the version and the run', async () => {
  const { small, run } = await runOf();
  expect(await stepTable['copy-data'].run(run, stepOf('copy-data'), {})).toEqual({
    ...{ copy: '/data/n2.before-3.5-run', copied: '3 files, 2 KiB' },
  });
  expect(small.done).toEqual(['copy n2 /data/n2.before-3.5-run']);
});

describe('a configuration', () => {
  it('a missing configuration, or a missing successor of it, fails the member', async () => {
    const { small, run } = await runOf('restart');
    const members = run.cluster.members.map((spec) => ({
      ...spec,
      config_file: '/c.yml',
      new_config_file: '/n.yml',
    }));
    const cluster = { ...run.cluster, members };
    const configure = () => stepTable.configure.run({ ...run, cluster }, stepOf('configure'), {});
    await expect(configure()).rejects.toThrow(errorWith('MemberFailure', 'n2', 'configuration', 'exists'));
    await small.host.files.replace('/c.yml', 'name: n2\n');
    await expect(configure()).rejects.toThrow(
      errorWith('MemberFailure', 'n2', 'new', '/n.yml', 'configuration', 'exists'),
    );
    await small.host.files.replace('/n.yml', 'name: n2\nquota: 1\n');
    expect(await configure()).toEqual({ changes: [naming('/n.yml', 'replaced')] });
  });
  it('the configuration of a restart without a new text stays unchanged', async () => {
    const { small, run } = await runOf('restart');
    const members = run.cluster.members.map((spec) => ({ ...spec, config_file: '/c.yml' }));
    await small.host.files.replace('/c.yml', 'name: n2\n');
    await stepTable.configure.run({ ...run, cluster: { ...run.cluster, members } }, stepOf('configure'), {});
    expect(small.host.files.readNow('/c.yml')).toContain('name: n2\n');
  });
  it('the configuration of an upgrade is migrated to the new version, whatever a restart would write', async () => {
    const { small, run } = await runOf();
    const members = run.cluster.members.map((spec) => ({
      ...{ ...spec, config_file: '/c.yml', new_config_file: '/n.yml' },
    }));
    await small.host.files.replace('/n.yml', 'name: of a restart\n');
    await small.host.files.replace('/c.yml', 'name: n2\n');
    const plan = { ...run.plan, to: '3.4' as const };
    const done = await stepTable.configure.run(
      { ...run, plan, cluster: { ...run.cluster, members } },
      stepOf('configure'),
      {},
    );
    expect(done?.['changes']).toHaveLength(1);
    expect(small.host.files.readNow('/c.yml')).toContain('enable-grpc-gateway: true');
  });
});

describe('the last check before a stop', () => {
  it('refuses while an alarm is raised', async () => {
    const { small, run } = await runOf();
    small.state.alarms.push({ memberID: '1003', alarm: 'CORRUPT' });
    await expect(safeToStop(run, 'n2')).rejects.toMatchObject({
      ...{ category: 'stopped', message: expect.stringContaining(': n2 was not stopped') },
    });
  });
  it('the last check allows time for an election; a member without a process gets none of it', async () => {
    const { small, run } = await runOf();
    small.members('n3').isHealthy = false;
    const began = small.host.elapsed();
    const looking = safeToStop(run, 'n2');
    await small.host.sleep(1000);
    small.members('n3').isHealthy = true;
    expect((await looking).name).toBe('n2');
    small.members('n3').isHealthy = false;
    small.state.answerMs = 50;
    const again = small.host.elapsed();
    await expect(safeToStop(run, 'n2')).rejects.toMatchObject({ detail: { code: 'QUORUM' } });
    expect(small.host.elapsed() - again).toBeGreaterThan(electionGraceMs);
    small.end('n3');
    small.state.answerMs = 1;
    const gone = small.host.elapsed();
    await expect(safeToStop(run, 'n2')).rejects.toMatchObject({ detail: { code: 'QUORUM' } });
    expect(small.host.elapsed() - gone).toBeLessThan(1000);
    expect(gone).toBeGreaterThan(began);
  });
  it('the last check lets a leader wait for possible successors, but not forever', async () => {
    const { small, run } = await runOf();
    for (const name of ['n2', 'n3']) small.members(name).entriesBehind = 100_000;
    small.state.answerMs = 100;
    const began = small.host.elapsed();
    expect((await safeToStop(run, 'n1')).is_leader).toBe(true);
    expect(small.host.elapsed() - began).toBeGreaterThan(10_000);
    expect(run.told).toMatchObject([
      { event: 'note', text: expect.stringContaining('n2, n3 did not catch up') },
    ]);
    for (const name of ['n2', 'n3']) small.members(name).entriesBehind = 0;
    small.state.answerMs = 1;
    const quick = small.host.elapsed();
    await safeToStop(run, 'n1');
    expect(small.host.elapsed() - quick).toBeLessThan(1000);
  });
});

describe('the upgraded members before the point of no return', () => {
  const together = async (
    goodSince: (now: number) => number | undefined,
    seconds = 10,
    upgraded = ['n2', 'n3'],
  ) => {
    const { small, run } = await runOf();
    for (const name of upgraded) small.members(name).which = 'new';
    const watched: string[] = [];
    const members: MemberWatch = {
      ...run.members,
      add: (name) => watched.push(name),
      isWatched: () => false,
      goodSince: () => goodSince(small.host.elapsed()),
    };
    const options = { ...run.plan.options, stable_before_last_seconds: seconds };
    const waiting = { ...run, members, plan: { ...run.plan, options } };
    const began = small.host.elapsed();
    const stability = await waitForStableMembers(
      waiting,
      stepOf('stop', { member: 'n1' }),
      await small.observation(),
    );
    return { stability, took: small.host.elapsed() - began, watched, told: run.told };
  };
  it('new members are watched until they have all been stable for the required time', async () => {
    const { stability, took, watched, told } = await together(() => 0, 10);
    expect([stability, watched]).toEqual(['good', ['n2', 'n3']]);
    expect(took).toBeLessThan(10_500);
    expect(told[0]).toMatchObject({
      event: 'waiting',
      reason: 'n2, n3 must be healthy at the same time before n1 is stopped',
    });
    const left = told.map((event) => (event.event === 'waiting' ? event.remaining_ms : undefined));
    expect(left.slice(0, 3)).toEqual([10_000, 9000, 8000].map((ms) => expect.closeTo(ms, -2.5)));
    expect((await together(() => 0, 10, [])).stability).toBe('good');
  });
  it('members that are unhealthy for seconds are checked again; flapping members never become stable', async () => {
    const sick = await together(() => undefined);
    expect(sick.stability).toBe('look-again');
    expect(sick.took).toBeGreaterThan(electionGraceMs);
    expect(sick.took).toBeLessThan(electionGraceMs + 2000);
    const flapping = await together((now) => now - 1000);
    expect(flapping.stability).toBe('never');
    expect(flapping.took).toBeGreaterThan(130_000);
  });
});

describe('the time of a gate', () => {
  it('grows with the data, and with data of the old interface', () => {
    const withSize = (db_size_bytes: number, v2_bytes = 0) =>
      planned(
        observed(
          ['n1', 'n2', 'n3'].map((name) =>
            seen(name, { db_size_bytes, host: { ...seen(name).host, v2_bytes } }),
          ),
        ),
        clusterFile(),
        planOptions({ accept: ['v2-backup'] }),
      );
    const cluster = clusterFile();
    expect(gateMs({ cluster, plan: withSize(0) }, 'n2')).toBe(60_000);
    expect(gateMs({ cluster, plan: withSize(1024 ** 3) }, 'n2')).toBe(120_000);
    expect(
      gateMs({ cluster: clusterFile(3, { timeouts: { gate_seconds: 5 } }), plan: withSize(0) }, 'n2'),
    ).toBe(5000);
    expect(gateMs({ cluster, plan: withSize(0, 50_000_000) }, 'n2')).toBe(60_000);
    expect(gateMs({ cluster, plan: withSize(0, 50_000_001) }, 'n2')).toBe(300_000);
  });
  it('the timeout of a health check is longer while the process of a local member moves data', async () => {
    const host = fakeHost();
    const driver = {
      kind: 'local',
      process: async () => ({ state: 'running', pid: 7 }),
    } as unknown as Run['driver'];
    const io = (read: number, write: number) =>
      host.files.replace('/proc/7/io', `rchar: 1\nread_bytes: ${read}\nwrite_bytes: ${write}\n`);
    const watch = watchProgress({ host, driver, cluster: clusterFile() }, 'n2');
    const look = async (ms = 2000): Promise<boolean> => {
      host.advance(ms);
      await watch.look();
      return watch.isMoving();
    };
    await io(0, 0);
    expect(await look()).toBe(false);
    await io(1024 ** 2, 0);
    expect(await look()).toBe(true);
    // The watch does not read between two samples.
    await io(1024 ** 2, 1024 ** 2);
    expect(await look(1999)).toBe(true);
    expect(await look(1)).toBe(true);
    await io(1024 ** 2, 2 * 1024 ** 2 - 1);
    expect(await look()).toBe(false);
    await host.files.replace('/proc/7/io', 'read_bytes: 9\n');
    expect(await look()).toBe(false);
    await io(0, 0);
    await look();
    await io(1024 ** 2, 0);
    expect(await look()).toBe(true);
    host.advance(3_600_000);
    expect(watch.isMoving()).toBe(false);
    const far = { ...driver, kind: 'systemd' } as Run['driver'];
    const blind = watchProgress({ host, driver: far, cluster: clusterFile() }, 'n2');
    host.advance(5000);
    await blind.look();
    expect(blind.isMoving()).toBe(false);
  });
});

describe('a hook', () => {
  const hooked = async (
    done: Partial<Finished>,
    hooks: object = { before_member: ['h', '{name}', '{to}'] },
  ) => {
    const host = fakeHost({ run: () => done });
    const cluster = clusterFile(3, { hooks });
    await runHook(runOn(host, { cluster }), 'before_member', 'n2');
    return host.ran.map(({ command, args }) => [command, ...args]);
  };
  it('a hook runs with the values of the member, and only if it is configured', async () => {
    expect(await hooked({})).toEqual([['h', 'n2', '3.4']]);
    expect(await hooked({}, {})).toEqual([]);
    expect(await hooked({}, { after_member: ['h'] })).toEqual([]);
  });
  it('a failing hook reports the reason', async () => {
    await expect(hooked({ code: 3, stderr: 'a\nlast\n' })).rejects.toThrow(
      'n2: hook before_member failed: last',
    );
    await expect(hooked({ code: 3 })).rejects.toThrow('n2: hook before_member failed (exit code 3)');
    await expect(hooked({ code: 1, startError: 'ENOENT', stderr: 'x' })).rejects.toThrow('failed: ENOENT');
  });
});

it('a failed hook after a member aborts the snapshot of the next member and waits for its end', async () => {
  const { small, run } = await runOf();
  small.members('n2').which = 'new';
  run.written.push(
    ...['n2.snapshot', 'n2.stop', 'n2.start', 'n2.gate'].map(
      (step) => ({ kind: 'begin', at: '2026-01-01T00:00:00.000Z', step }) as JournalEntry,
    ),
  );
  const requested = new AbortController();
  const request: Host['network']['request'] = (sent) => {
    if (!sent.url.endsWith('/maintenance/snapshot')) return run.host.network.request(sent);
    requested.abort();
    return new Promise((_, reject) =>
      sent.signal?.addEventListener('abort', () => {
        // The data that arrived before is still being written.
        void pause(10).then(() => reject(sent.signal?.reason));
      }),
    );
  };
  const fails: Host['processes']['run'] = async () => {
    if (!requested.signal.aborted)
      await new Promise((resolve) => requested.signal.addEventListener('abort', resolve));
    return { code: 3, stdout: '', stderr: '' } as Finished;
  };
  const host = {
    ...run.host,
    network: { ...run.host.network, request },
    processes: { ...run.host.processes, run: fails },
  };
  const cluster = { ...run.cluster, hooks: { after_member: ['h'] } };
  const verified = stepTable.gate.run({ ...run, host, cluster }, stepOf('gate'), {});
  await expect(verified).rejects.toMatchObject({ detail: { code: 'HOOK_FAILED' } });
  expect(run.written.at(-1)).toMatchObject({ kind: 'failed', step: 'n3.snapshot' });
});

describe('an abandoned run of the store', () => {
  const given = async (kind: PlanKind, patch = {}) => {
    const small = smallCluster(kind);
    const plan = await small.plan({ hold_after: 1 });
    const dead = conducted(small, plan, { confirmCrossing: async () => false });
    await dead;
    small.done.length = 0;
    const directory = `${STATE}/test/${plan.id}`;
    const found = { run: plan.id, directory, entries: journalOf(small, plan) };
    const up = async () => {
      const { members } = await small.observation();
      const { host, cluster, access, driver } = small;
      return giveUp({ host, cluster, access, driver, found, plan, members, ...patch });
    };
    return { small, plan, up };
  };
  it('an abandoned run leaves the members unchanged, and no keys of its own', async () => {
    const { small, plan, up } = await given('upgrade');
    small.keys.set(`opsctl/probe/${plan.id}/n2`, { value: '1', lease: '', mod: 1, create: 1 });
    expect(await up()).toEqual({
      ...{ run: plan.id, outcome: 'aborted', upgraded: ['n2'], downgrade: null },
      message: `run ${plan.id} aborted; on 3.5: n2`,
    });
    expect(small.done).toEqual(['discard n2']);
    expect([...small.keys.keys()]).toEqual([]);
    const entries: JournalEntry[] = journalOf(small, plan);
    expect(entries.at(-1)).toMatchObject({ kind: 'closed', outcome: 'aborted' });
    expect(isFinal(entries)).toBe(true);
  });
  it('an abandoned run has reports of its end, whether its process wrote reports before or was killed', async () => {
    const names = ['report.json', 'report.md', 'report.html'] as const;
    for (const isKilled of [false, true]) {
      const { small, plan, up } = await given('upgrade');
      const { files } = small.host;
      const paths = names.map((name) => `${STATE}/test/${plan.id}/${name}`);
      expect(files.readNow(paths[1] as string)).toContain('held');
      if (isKilled) for (const path of paths) await files.remove(path);
      await up();
      const [json, ...pages] = paths.map((path) => files.readNow(path) ?? '');
      expect(JSON.parse(json as string)).toMatchObject({ outcome: 'aborted' });
      expect(JSON.parse(json as string).next ?? []).toEqual([]);
      for (const page of pages) expect(page).toContain('aborted');
    }
  });
  it('an abandoned downgrade is canceled when every member runs the newer version, and otherwise reported', async () => {
    const mixed = await given('downgrade');
    const report = await mixed.up();
    expect(report.downgrade).toBe('enabled');
    expect(report.message).toContain(
      'run 20260102T030405Z-1 aborted; on 3.5: n2; the downgrade to 3.5 remains enabled in the cluster, and no new run can continue it: opsctl kv upgrade returns to 3.6 and cancels it',
    );
    expect(mixed.small.done).not.toContain('downgrade CANCEL');
    const whole = await given('downgrade');
    whole.small.members('n2').which = 'old';
    const cancelled = await whole.up();
    expect(cancelled.downgrade).toBe('cancelled');
    expect(cancelled.message).toContain(
      'on 3.5: no member; the downgrade to 3.5 was canceled, and the cluster is 3.6',
    );
    expect(whole.small.done).toContain('downgrade CANCEL');
    const kinds = journalOf(whole.small, whole.plan).map((entry) =>
      'step' in entry ? entry.step : entry.kind,
    );
    expect(kinds.slice(-3)).toEqual(['cancel-downgrade', 'cancel-downgrade', 'closed']);
  });
});

describe('a return to the old version', () => {
  it('a revert made before a crash is only checked; the revert of a restart is repeated, because it is unknown', async () => {
    const upgrade = await runOf();
    await revertMember(upgrade.run, 'n2', 'why');
    expect(upgrade.small.done).toEqual([]);
    expect(upgrade.run.written.map(({ kind }) => kind)).toEqual(['reverted']);
    const restart = await runOf('restart');
    await revertMember(restart.run, 'n2', 'why');
    expect(restart.small.done).toEqual(['stop n2', 'activate n2 old', 'start n2 old']);
    expect(restart.run.written.map(({ kind }) => kind)).toEqual(['reverting', 'log-marked', 'reverted']);
    expect(restart.run.state.replacing.has('n2')).toBe(false);
  });
  it('a revert kills a member that does not exit, and leaves a member that the majority needs', async () => {
    const stuck = await runOf();
    Object.assign(stuck.small.members('n2'), { which: 'new', ignoresStop: true });
    await revertMember(stuck.run, 'n2', 'why');
    expect(stuck.small.done).toEqual(['stop n2', 'kill n2', 'activate n2 old', 'start n2 old']);
    const needed = await runOf();
    needed.small.members('n2').which = 'new';
    needed.small.end('n3');
    await expect(revertMember(needed.run, 'n2', 'why')).rejects.toMatchObject({
      message: expect.stringContaining('why. It continues to run: without n2 only 1 of 3'),
      detail: { code: 'QUORUM' },
    });
    expect(needed.small.done).toEqual([]);
  });
});

it('a restart wants the very patch that was planned, before and after', async () => {
  const { run } = await runOf('restart');
  const patched = run.plan.observation.members.map((one) => ({
    ...one,
    host: { ...one.host, new_binary_version: '3.5.31' },
  }));
  const plan = { ...run.plan, observation: { ...run.plan.observation, members: patched } };
  expect(openNewGate({ ...run, plan }, 'n2').exact).toBe('3.5.31');
  expect(openOldGate({ ...run, plan }, 'n2')).toMatchObject({ exact: '3.5.30', isOld: true });
  const blind = patched.map(({ host: _, ...one }) => one);
  expect(
    openNewGate({ ...run, plan: { ...plan, observation: { ...plan.observation, members: blind } } }, 'n2')
      .exact,
  ).toBe('3.5.30');
  const upgrade = await runOf();
  expect(openNewGate(upgrade.run, 'n2')).not.toHaveProperty('exact');
  expect(openOldGate(upgrade.run, 'n2')).not.toHaveProperty('exact');
});

it('watched members are checked four times a second, their health once', async () => {
  const small = smallCluster();
  const { host, cluster, access } = small;
  let looks = 0;
  const driver = {
    ...small.driver,
    kind: 'local' as const,
    process: async () => {
      looks += 1;
      return { state: 'running' as const };
    },
  };
  const watch = watchMembers({ host, cluster, access, driver });
  watch.add('n2');
  const asked = () => host.requests.filter(({ url }) => url.endsWith('/health')).length;
  await host.sleep(4100);
  expect(looks).toBe(16);
  expect(asked()).toBe(4);
  small.members('n2').isHealthy = false;
  await host.sleep(1100);
  expect(watch.goodSince(['n2'])).toBeUndefined();
  await watch.finish();
});

it('an exited member raises the alarm once, and is healthy again after a start', async () => {
  const small = smallCluster();
  const { host, cluster, access } = small;
  const watch = watchMembers({ host, cluster, access, driver: { ...small.driver, kind: 'local' } });
  watch.add('n2');
  const first = watch.signal();
  small.end('n2');
  await host.sleep(1000);
  expect(first.aborted).toBe(true);
  // A listener of the signal checks the members and waits for the next signal.
  const next = watch.signal();
  await host.sleep(1000);
  expect([next.aborted, watch.goodSince(['n2'])]).toEqual([false, undefined]);
  small.members('n2').isUp = true;
  await host.sleep(3000);
  expect(watch.goodSince(['n2'])).toBeGreaterThan(0);
  await watch.finish();
});

describe('the moment of a hand-over', () => {
  /** The index of the member at each request. The last one repeats. */
  const waited = async (...indexes: number[]) => {
    const host = fakeHost();
    let asked = 0;
    const status = async () => {
      host.advance(10);
      asked += 1;
      return { raft_index: indexes[Math.min(asked, indexes.length) - 1] };
    };
    const access = { store: () => ({ status }) } as unknown as Run['access'];
    const began = host.elapsed();
    await waitForWriteGap({ host, access }, clusterFile().members[0] as MemberSpec);
    return { asked, ms: host.elapsed() - began };
  };
  it('the leader is transferred just after a write', async () => {
    expect(await waited(7, 7, 7, 8, 9)).toEqual({ asked: 4, ms: 42 });
  });
  it('the leader is transferred at any moment without writes', async () => {
    expect(await waited(7)).toEqual({ asked: 10, ms: 109 });
  });
});
