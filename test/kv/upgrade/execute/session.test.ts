import { describe, expect, it } from 'vitest';
import type { AppError } from '../../../../src/core/problem.ts';
import { rollBack } from '../../../../src/kv/upgrade/execute/rollback.ts';
import type { Plan, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import type { Window } from '../../../../src/kv/upgrade/window/window.ts';
import {
  type SmallCluster,
  STATE,
  conducted,
  inShort,
  smallCluster,
} from '../../../support/small-cluster.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

const notes = (events: readonly UpgradeEvent[]): string[] =>
  events.flatMap((event) => (event.event === 'note' ? [event.text] : []));
const gone = (name: string): string[] => [`stage ${name}`, `stop ${name}`];
const upgraded = (name: string): string[] => [...gone(name), `activate ${name} new`, `start ${name} new`];
const reverted = (name: string): string[] => [`stop ${name}`, `activate ${name} old`, `start ${name} old`];
const codeOf = (error: AppError | undefined): string | undefined => error?.detail.code;
/** Returns the version of each member in order. */
const versions = ({ members }: SmallCluster): string[] =>
  ['n1', 'n2', 'n3'].map((name) => (members(name).isUp ? members(name).which : 'down'));
/**
 * From this step on every response takes seconds, so the wait for the new version times out after a few
 * responses.
 */
const slowConfirm =
  ({ state }: SmallCluster) =>
  (event: UpgradeEvent): void => {
    if (event.event === 'step-started' && event.step.kind === 'confirm') state.answerMs = 2000;
  };
const resumed = (small: SmallCluster, plan: Plan, patch: Parameters<typeof conducted>[2] = {}) => {
  small.done.length = 0;
  return conducted(small, plan, { action: 'resume', ...patch });
};

describe('an upgrade', () => {
  it('a clock that is set back during the run changes no duration of a step or a member', async () => {
    const reportWith = async (backMs: number) => {
      const small = smallCluster();
      let offset = 0;
      const host = { ...small.host, now: () => small.host.now() - offset };
      const sink = (event: UpgradeEvent): void => {
        if (event.event === 'step-started' && event.step.id === 'n3.stop') offset = backMs;
      };
      return (await conducted(small, await small.plan(), { host, sink })).report;
    };
    const timesOf = ({ steps, members }: Awaited<ReturnType<typeof reportWith>>) => [
      steps.map(({ id, duration_ms }) => [id, duration_ms]),
      members.map(({ name, down_ms }) => [name, down_ms]),
    ];
    const [usual, seen] = [await reportWith(0), await reportWith(3_600_000)];
    expect(seen.outcome).toBe('done');
    expect(timesOf(seen)).toEqual(timesOf(usual));
    expect(seen.duration_ms).toBeGreaterThan(0);
    expect(seen.duration_ms).toBeLessThanOrEqual(usual.duration_ms);
  });
  it('an upgrade replaces one member after another, the leader last, and leaves no keys in the store', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    const began = small.host.elapsed();
    const { ending, events, journal, report } = await conducted(small, plan);
    const tookMs = small.host.elapsed() - began;
    expect(report.duration_ms).toBeGreaterThan(0);
    expect(report.duration_ms).toBeLessThanOrEqual(tookMs);
    expect(ending).toEqual({ outcome: 'done', message: 'cluster test runs 3.5' });
    expect(small.done).toEqual([
      'snapshot n2',
      ...upgraded('n2'),
      'snapshot n3',
      ...upgraded('n3'),
      'snapshot n1',
      'leader n2',
      ...upgraded('n1'),
      ...['n2', 'n3', 'n1'].map((name) => `discard ${name}`),
    ]);
    expect([...small.keys.keys()]).toEqual([]);
    expect(inShort(journal)).toEqual([
      'opened',
      ...['begin n2.snapshot', 'snapshot n2', 'end n2.snapshot'],
      ...[
        'begin n2.stop',
        'note n2.stop',
        'placed n2',
        'end n2.stop',
        'begin n2.start',
        'log-marked n2',
        'end n2.start',
        'begin n2.gate',
      ],
      ...['begin n3.snapshot', 'snapshot n3', 'end n3.snapshot', 'end n2.gate'],
      ...[
        'begin n3.stop',
        'note n3.stop',
        'placed n3',
        'end n3.stop',
        'begin n3.start',
        'log-marked n3',
        'end n3.start',
        'begin n3.gate',
      ],
      ...['begin n1.snapshot', 'snapshot n1', 'end n1.snapshot', 'end n3.gate'],
      ...['crossing-confirmed', 'begin n1.move-leader', 'end n1.move-leader'],
      ...[
        'begin n1.stop',
        'note n1.stop',
        'placed n1',
        'end n1.stop',
        'begin n1.start',
        'log-marked n1',
        'end n1.start',
        'begin n1.gate',
      ],
      ...['end n1.gate', 'crossed', 'begin confirm', 'end confirm', 'closed done'],
    ]);
    const numbers = events.flatMap((event) => (event.event === 'step-started' ? [event.number] : []));
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    const ids = (kind: 'step-started' | 'step-finished') =>
      events.flatMap((event) => (event.event === kind ? [event.step.id] : [])).sort();
    expect(ids('step-finished')).toEqual(ids('step-started'));
    // Clients can use the member again when it is healthy. A process with the right version is not
    // sufficient.
    const before = events.flatMap((_, at) => (events[at + 1]?.event === 'member-up' ? [events[at]] : []));
    expect(before).toMatchObject(
      ['n2', 'n3', 'n1'].map((member) => ({ event: 'gate-check', member, check: 'health', ok: true })),
    );
    const stayed = events.filter((event) => event.event === 'gate-check' && event.check === 'stable');
    expect(stayed).toMatchObject(['n2', 'n3', 'n1'].map((member) => ({ member, ok: true })));
    expect(report).toMatchObject({
      outcome: 'done',
      cluster_version_before: '3.4.0',
      cluster_version_after: '3.5.0',
      snapshots: [{ member: 'n2' }, { member: 'n3' }, { member: 'n1' }],
    });
    expect(report.members.map(({ was_leader }) => was_leader)).toEqual([true, false, false]);
    expect(small.host.files.readNow(`${STATE}/test/${report.run}/report.json`)).toContain('"done"');
    expect(events.at(-1)).toMatchObject({ event: 'run-finished', outcome: 'done' });
    expect(await small.host.files.list(`${STATE}/test`)).not.toContain('lock');
  });

  it('writes as a client would while members are replaced, when it is asked to', async () => {
    const small = smallCluster();
    const { report } = await conducted(small, await small.plan(), { hasCanary: true });
    expect(report.canary?.writes).toBeGreaterThan(0);
    expect([...small.keys.keys()]).toEqual([]);
  });

  /** After the health check, another member is unhealthy for `forMs`. */
  const otherIsSick = (small: SmallCluster, forMs: number) => {
    let isDone = false;
    return ({ event, ...told }: UpgradeEvent): void => {
      if (isDone || event !== 'step-finished' || !('step' in told) || told.step.id !== 'n2.gate') return;
      isDone = true;
      small.members('n3').isHealthy = false;
      void small.host.sleep(forMs).then(() => {
        small.members('n3').isHealthy = true;
      });
    };
  };
  it('an upgrade waits for an election between two members, reports it, and stops when it takes too long', async () => {
    const small = smallCluster();
    const passing = await conducted(small, await small.plan(), { sink: otherIsSick(small, 8000) });
    expect(passing.ending.outcome).toBe('done');
    const waited = notes(passing.events).filter((text) => text.includes('waiting up to'));
    expect(waited).toEqual([
      expect.stringMatching(/^n3 is not healthy: .*; waiting up to [89]\.\d s, because an election/),
    ]);
    const other = smallCluster();
    const plan = await other.plan();
    const stopped = await conducted(other, plan, { sink: otherIsSick(other, 60_000) });
    expect(stopped.ending).toMatchObject({
      outcome: 'stopped',
      message: expect.stringContaining('n3 is not healthy'),
    });
    expect(versions(other)).toEqual(['old', 'new', 'old']);
  });

  it('an upgrade holds before the last member without a confirmation of the point of no return, and continues from there', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    const held = await conducted(small, plan, { confirmCrossing: async () => false });
    expect(held.ending).toMatchObject({ outcome: 'held', category: 'stopped' });
    expect(held.ending.message).toEqual(naming('held', 'before', 'n1', '3.4', 'last', 'member', 'confirmed'));
    expect(versions(small)).toEqual(['old', 'new', 'new']);
    expect(held.report.next).toEqual(['opsctl kv resume', 'opsctl kv rollback']);
    // Another machine reads the progress there when it continues the run.
    expect([...small.keys.keys()]).toEqual(['opsctl/upgrade-progress']);
    const { ending, events } = await resumed(small, plan);
    expect(ending.outcome).toBe('done');
    expect(small.done.slice(0, 2)).toEqual(['leader n2', 'stage n1']);
    const before = events.flatMap((event) =>
      event.event === 'step-finished' && event.was_done_before ? [event.step.id] : [],
    );
    expect(before).toEqual([
      ...['n2.snapshot', 'n2.stop', 'n2.start', 'n2.gate'],
      ...['n3.snapshot', 'n3.stop', 'n3.start', 'n3.gate', 'n1.snapshot'],
    ]);
  });

  it('shows who decides what he decides on', async () => {
    const small = smallCluster();
    const seen: unknown[] = [];
    await conducted(small, await small.plan(), {
      confirmCrossing: async ({ member, upgraded: names, observation }) => {
        seen.push(member, names, observation.members.length);
        return false;
      },
    });
    expect(seen).toEqual(['n1', ['n2', 'n3'], 3]);
  });

  it.each([
    [{ hold_last: true }, naming('held', 'before', 'n1', '3.4', 'last', 'member'), ['old', 'new', 'new']],
    [
      { hold_after: 1 },
      naming('held', 'after', '1', '3', 'n2', '3.5', 'members', 'member'),
      ['old', 'new', 'old'],
    ],
  ] as const)('an upgrade holds at the planned point: %j', async (options, message, expected) => {
    const small = smallCluster();
    const { ending, journal } = await conducted(small, await small.plan(options));
    expect(ending.message).toEqual(message);
    expect(versions(small)).toEqual(expected);
    expect(journal.at(-1)).not.toHaveProperty('held_for');
  });

  it('gives a member that does not become healthy its old version back, and stops there', async () => {
    const small = smallCluster();
    small.members('n3').sick = 'new';
    const plan = await small.plan();
    const { ending, journal, events, report } = await conducted(small, plan);
    expect(ending).toMatchObject({ outcome: 'rolled-back', category: 'rolled-back' });
    expect(ending.message).toEqual(
      naming('n3', 'health', '3.4', 'n2', '3.5', 'healthy', 'returned', 'stays'),
    );
    expect(codeOf(ending.error)).toBe('MEMBER_REVERTED');
    expect(versions(small)).toEqual(['old', 'new', 'old']);
    expect(inShort(journal).slice(-6)).toEqual([
      ...[
        'begin n3.gate',
        'failed n3.gate',
        'reverting n3',
        'log-marked n3',
        'reverted n3',
        'closed rolled-back',
      ],
    ]);
    expect(small.done.slice(-4)).toEqual([...reverted('n3'), 'discard n3']);
    expect(events.map(({ event }) => event)).toContain('reverted');
    expect(report.members.find(({ name }) => name === 'n3')?.version_after).toBe('3.4.45');
    small.members('n3').sick = undefined;
    const second = await resumed(small, plan);
    expect(second.ending.outcome).toBe('done');
    expect(small.done.filter((what) => what.startsWith('stop'))).toEqual(['stop n3', 'stop n1']);
  });

  it('an upgrade reverts a member whose new version does not start; if the old one fails too, it reports both', async () => {
    const small = smallCluster();
    small.members('n2').startError = 'new';
    const { ending } = await conducted(small, await small.plan());
    expect(ending.message).toEqual(naming('n2', 'new does not start', '3.4', 'member', 'changed'));
    const worse = smallCluster();
    const broken = {
      ...worse,
      driver: { ...worse.driver, start: () => Promise.reject(new Error('no disk')) },
    };
    const plan = await worse.plan();
    const failed = await conducted(broken, plan);
    expect(failed.ending.outcome).toBe('failed');
    expect(codeOf(failed.ending.error)).toBe('REVERT_FAILED');
    expect(failed.ending.message).toEqual(naming('n2', 'no disk', 'rollback', '3.4', 'automatic', 'failed'));
    // The reason no longer exists. The revert completes, and the run continues.
    const { ending: last, events } = await resumed(worse, plan);
    expect(last.outcome).toBe('done');
    expect(notes(events)[0]).toEqual(naming('n2', '3.4', 'upgrade', 'intended', 'continues'));
  });

  it('refuses to stop the next member while an alarm is raised or a member is down', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    small.state.alarms.push({ memberID: '1003', alarm: 'NOSPACE' });
    const { ending } = await conducted(small, plan);
    expect(codeOf(ending.error)).toBe('GUARD');
    expect(versions(small)).toEqual(['old', 'old', 'old']);
    small.state.alarms.length = 0;
    small.end('n3');
    const away = await resumed(small, plan);
    expect(away.ending.message).toContain('n3 does not respond, and this run did not stop it');
    expect(small.done.filter((what) => what.startsWith('stop'))).toEqual([]);
  });

  it.each([
    ['once: looks again', 1, 'done', undefined],
    ['again and again: stops', 2, 'stopped', 'QUORUM'],
  ] as const)(
    'when a majority is missing just before a stop, %s',
    covers('spec/store#procedure-6'),
    async (_, times, outcome, code) => {
      const small = smallCluster();
      let missing = 0;
      const { ending, journal } = await conducted(small, await small.plan(), {
        sink: (event) => {
          if (!('step' in event) || event.step.id !== 'n2.stop') return;
          if (event.event === 'step-started') missing += 1;
          small.members('n3').isHealthy = event.event === 'step-failed' || missing > times;
        },
      });
      expect([ending.outcome, codeOf(ending.error)]).toEqual([outcome, code]);
      const tries = inShort(journal).filter((line) => line === 'begin n2.stop');
      expect(tries).toHaveLength(2);
    },
  );

  it('stops a member that ignores it only when it may kill', async () => {
    const small = smallCluster();
    small.members('n2').ignoresStop = true;
    const plan = await small.plan();
    const { ending } = await conducted(small, plan);
    expect(codeOf(ending.error)).toBe('STOP_IGNORED');
    expect(versions(small)).toEqual(['old', 'old', 'old']);
    const second = await resumed(small, plan, { canKill: true });
    expect(second.ending.outcome).toBe('done');
    expect(small.done).toContain('kill n2');
  });

  it('an upgrade that is asked to stop completes the current member and reports its position', async () => {
    const small = smallCluster();
    const controller = new AbortController();
    const plan = await small.plan();
    const { ending, events } = await conducted(small, plan, {
      signal: controller.signal,
      sink: (event) => {
        if (event.event === 'member-down') controller.abort(new Error('Ctrl-C'));
      },
    });
    expect(ending.message).toEqual(
      naming('stopped', 'after', 'step', 'n2', '3.5', '3.4', 'requested', 'rest'),
    );
    expect(notes(events)).toEqual([expect.stringContaining('stopping: opsctl first finishes the member')]);
    expect(versions(small)).toEqual(['old', 'new', 'old']);
    expect((await resumed(small, plan)).ending.outcome).toBe('done');
  });

  it('gives a member back that ends after its health check, while the old version can still start', async () => {
    const small = smallCluster();
    const plan = await small.plan({ hold_after: 2 });
    await conducted(small, plan);
    small.end('n2');
    const { ending, journal } = await resumed(small, plan);
    expect(ending.message).toContain('n2 passed its health check on 3.5, but its process has exited since');
    expect(ending.outcome).toBe('rolled-back');
    expect(inShort(journal)).toContain('reverted n2');
    expect(versions(small)).toEqual(['old', 'old', 'new']);
  });

  it('starts a member that ends after the point of no return again, once, when it is resumed', async () => {
    const small = smallCluster();
    small.state.hasNoMonitor = true;
    const plan = await small.plan();
    const first = await conducted(small, plan, { sink: slowConfirm(small) });
    expect(codeOf(first.ending.error)).toBe('NOT_CONFIRMED');
    Object.assign(small.state, { hasNoMonitor: false, hasMoved: true, answerMs: 1 });
    small.end('n2');
    const second = await resumed(small, plan);
    expect(second.ending.outcome).toBe('done');
    expect(notes(second.events)).toContain('n2 is down: starting it with 3.5 again');
    expect(small.done.filter((what) => what.startsWith('st'))).toEqual(['start n2 new']);
  });

  it('an unresumed upgrade does not start the member', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    small.state.hasNoMonitor = true;
    await conducted(small, plan, { sink: slowConfirm(small) });
    Object.assign(small.state, { hasNoMonitor: false, hasMoved: true, answerMs: 1 });
    small.end('n2');
    const { ending } = await conducted(small, plan, { action: 'upgrade' });
    expect(codeOf(ending.error)).toBe('MEMBER_ENDED');
    expect(ending.outcome).toBe('failed');
  });

  it('an upgrade continues without a transfer that the store rejects', async () => {
    const small = smallCluster();
    small.state.refusesTransfer = true;
    const { ending, events, journal } = await conducted(small, await small.plan());
    expect(ending.outcome).toBe('done');
    expect(notes(events)[0]).toEqual(naming('n1', 'leader', 'transfer', 'leadership'));
    expect(journal).toContainEqual(
      expect.objectContaining({ kind: 'end', step: 'n1.move-leader', detail: { moved: false } }),
    );
  });

  it('stops and does not blame the member when another one holds other data', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    small.state.hash.set('n3', '8');
    const { ending } = await conducted(small, plan);
    expect(codeOf(ending.error)).toBe('DATA_DIFFERS');
    expect(ending.message).toMatch(
      /n3 .* revision \d+: n2 \(3\.5\.30\) 00000007, n1 \(3\.4\.45\) 00000007, n3 \(3\.4\.45\) 00000008/,
    );
    expect(versions(small)).toEqual(['old', 'new', 'old']);
  });
});

describe('a resume', () => {
  /** A run that holds after n2. */
  const held = async () => {
    const small = smallCluster();
    const plan = await small.plan({ hold_after: 1 });
    await conducted(small, plan);
    const { hold_after: _, ...options } = plan.options;
    return { small, plan: { ...plan, options } };
  };
  it('asks every guard again, and gives what only time may fix some', async () => {
    /** n3 is unhealthy for `most` observations. */
    const sickFor = async (most: number) => {
      const { small, plan } = await held();
      let looks = 0;
      const driver = {
        ...small.driver,
        facts: async (...[spec, want]: Parameters<typeof small.driver.facts>) => {
          if (spec.name === 'n3') looks += 1;
          small.members('n3').isHealthy = looks > most;
          return small.driver.facts(spec, want);
        },
      };
      const { ending } = await resumed({ ...small, driver }, plan);
      return { ending, looks, done: small.done };
    };
    const healed = await sickFor(3);
    expect(healed.ending.outcome).toBe('done');
    expect(healed.looks).toBeLessThan(7);
    const { ending, looks, done } = await sickFor(1000);
    expect(codeOf(ending.error)).toBe('GUARD');
    expect(ending.message).toContain('n3 is not healthy');
    expect(looks).toBeGreaterThan(10);
    expect(done).toEqual([]);
  });
  it('wants the new program where it is still to be started, and not where it runs', async () => {
    let looks = 0;
    const without = async (name: string) => {
      const { small, plan } = await held();
      const driver = {
        ...small.driver,
        facts: async (...[spec, want]: Parameters<typeof small.driver.facts>) => {
          looks += 1;
          const { new_binary_version, ...facts } = await small.driver.facts(spec, want);
          return spec.name === name ? facts : { ...facts, new_binary_version };
        },
      };
      return (await resumed({ ...small, driver }, plan)).ending;
    };
    expect((await without('n2')).outcome).toBe('done');
    looks = 0;
    const refused = await without('n3');
    // Waiting does not provide the missing version, so one observation of each member is sufficient.
    expect(looks).toBe(3);
    expect([refused.outcome, codeOf(refused.error)]).toEqual(['stopped', 'GUARD']);
  });
});

describe('before the first step', () => {
  it('another operator keeps it away', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    const owner = { user: 'eve', host: 'elsewhere', pid: 7 };
    small.keys.set('opsctl/upgrade-lock', {
      value: JSON.stringify({ run: 'r', owner, since: '2026-01-01T00:00:00Z' }),
      ...{ lease: '9', mod: 3, create: 3 },
    });
    await expect(conducted(small, plan)).rejects.toMatchObject({
      category: 'unsafe',
      message: expect.stringContaining('locked by another operator: eve on elsewhere'),
    });
    expect(small.done).toEqual([]);
    expect(await small.host.files.list(`${STATE}/test`)).not.toContain('lock');
  });

  it('without a quorum no new run starts; a resume continues with the lock of this machine', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    for (const name of ['n1', 'n2', 'n3']) small.end(name);
    await expect(conducted(small, plan)).rejects.toMatchObject({ detail: { code: 'NO_LOCK' } });
    const { ending, events } = await resumed(small, plan);
    expect(notes(events)[0]).toEqual(naming('lock', 'connection', 'refused', 'locked'));
    expect(ending.outcome).toBe('stopped');
  });

  it('an unfinished run is resumed first', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    await conducted(small, plan, { loop: () => Promise.reject(new Error('killed')) }).catch(() => {});
    await expect(conducted(small, { ...plan, id: '20260102T040405Z-2' })).rejects.toMatchObject({
      category: 'unsafe',
      message: expect.stringContaining(plan.id),
    });
  });

  it('an unwritable journal is a rejection: no changes were made', async () => {
    const small = smallCluster();
    const files = {
      ...small.host.files,
      append: () => {
        throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
      },
    };
    await expect(
      conducted({ ...small, host: { ...small.host, files } }, await small.plan()),
    ).rejects.toMatchObject({ category: 'unsafe', detail: { code: 'DISK' } });
    expect(small.done).toEqual([]);
  });
});

describe('a report', () => {
  it('an unwritable report is reported, and hides no completed work', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    const { replace } = small.host.files;
    small.host.files.replace = async (path, ...rest) => {
      if (path.includes('report')) throw Object.assign(new Error('ENOSPC: write'), { code: 'ENOSPC' });
      return replace(path, ...rest);
    };
    const { ending, events } = await conducted(small, plan);
    expect(ending.outcome).toBe('done');
    expect(notes(events)).toContainEqual(naming('report', 'write', 'state', 'full'));
  });
});

describe('a rollback', () => {
  it('brings every member back, the leader last, and ends the run', async () => {
    const small = smallCluster();
    const plan = await small.plan({ hold_last: true });
    await conducted(small, plan);
    small.done.length = 0;
    small.state.leader = 'n2';
    const { ending, report } = await conducted(small, plan, { action: 'rollback', loop: rollBack });
    expect(ending).toMatchObject({
      outcome: 'rolled-back',
      message: naming('3.4', '2', 'member', 'rolled'),
    });
    expect(small.done).toEqual([...reverted('n3'), ...reverted('n2'), 'discard n2', 'discard n3']);
    expect(versions(small)).toEqual(['old', 'old', 'old']);
    expect([...small.keys.keys()]).toEqual([]);
    expect(report.next).toEqual(['opsctl kv upgrade']);
  });

  it('a rollback starts with stopped members', async () => {
    const small = smallCluster();
    const plan = await small.plan({ hold_last: true });
    await conducted(small, plan);
    small.end('n3');
    small.done.length = 0;
    const { ending } = await conducted(small, plan, { action: 'rollback', loop: rollBack });
    expect(small.done.filter((what) => what.startsWith('start'))).toEqual(['start n3 old', 'start n2 old']);
    expect(ending.outcome).toBe('rolled-back');
  });

  it('a rollback stops no member while another one is down, and prints the next command', async () => {
    const small = smallCluster();
    const plan = await small.plan({ hold_last: true });
    await conducted(small, plan);
    small.done.length = 0;
    const driver = { ...small.driver, start: () => Promise.reject(new Error('no disk')) };
    const { ending } = await conducted({ ...small, driver }, plan, { action: 'rollback', loop: rollBack });
    expect(ending).toMatchObject({ outcome: 'stopped', category: 'stopped' });
    expect(ending.message).toContain('n2 could not be started: no disk');
    expect(small.done).toEqual(['stop n2', 'activate n2 old']);
  });

  it('a rollback is impossible after the version of the cluster has changed', async () => {
    const small = smallCluster();
    const plan = await small.plan({ hold_last: true });
    await conducted(small, plan);
    small.state.hasMoved = true;
    const { ending } = await conducted(small, plan, { action: 'rollback', loop: rollBack });
    expect(ending.message).toEqual(naming('operator', '3.5', 'n2', '3.4', 'requested', 'cluster'));
    expect(versions(small)).toEqual(['old', 'new', 'new']);
  });

  it('ends between two members when it is asked to', async () => {
    const small = smallCluster();
    const plan = await small.plan({ hold_last: true });
    await conducted(small, plan);
    const controller = new AbortController();
    const { ending } = await conducted(small, plan, {
      ...{ action: 'rollback', loop: rollBack, signal: controller.signal },
      sink: ({ event }) => event === 'reverted' && controller.abort(new Error('Ctrl-C')),
    });
    expect(codeOf(ending.error)).toBe('ROLLBACK_STOPPED');
    expect(versions(small)).toEqual(['old', 'old', 'new']);
  });
});

describe('a downgrade', () => {
  it('a downgrade is enabled in the store first, then members follow one after another', async () => {
    const small = smallCluster('downgrade');
    const { ending, journal } = await conducted(small, await small.plan());
    expect(ending).toEqual({ outcome: 'done', message: 'cluster test runs 3.5' });
    expect(small.done.slice(0, 3)).toEqual(['downgrade VALIDATE', 'downgrade ENABLE', 'snapshot n2']);
    expect(inShort(journal).slice(1, 3)).toEqual(['begin enable-downgrade', 'end enable-downgrade']);
    expect(inShort(journal)).not.toContain('crossing-confirmed');
  });

  it('a downgrade that is rolled back is canceled in the store when every member runs the newer version', async () => {
    const small = smallCluster('downgrade');
    const plan = await small.plan({ hold_after: 1 });
    await conducted(small, plan);
    small.done.length = 0;
    const { ending, journal } = await conducted(small, plan, { action: 'rollback', loop: rollBack });
    expect(ending.outcome).toBe('rolled-back');
    expect(small.done).toEqual([...reverted('n2'), 'downgrade CANCEL', 'discard n2']);
    expect(inShort(journal).slice(-3)).toEqual([
      ...['begin cancel-downgrade', 'end cancel-downgrade', 'closed rolled-back'],
    ]);
  });
});

describe('a restart', () => {
  it('puts the new configuration in its place and keeps the minor', async () => {
    const patch = { config_file: '/etc/n.conf', new_config_file: '/place/new.conf' };
    const base = smallCluster('restart').cluster;
    const small = smallCluster('restart', { members: base.members.map((spec) => ({ ...spec, ...patch })) });
    await small.host.files.replace('/etc/n.conf', 'name: old\n', 0o600);
    await small.host.files.replace('/place/new.conf', 'name: new\n', 0o600);
    const { ending, journal } = await conducted(small, await small.plan());
    expect(ending).toEqual({ outcome: 'done', message: naming('member of test', 'restarted') });
    expect(small.host.files.readNow('/etc/n.conf')).toBe('name: new\n');
    expect(journal).toContainEqual(
      expect.objectContaining({
        ...{ kind: 'end', step: 'n2.configure' },
        detail: { changes: [naming('/place/new.conf', 'replaced')] },
      }),
    );
    expect(inShort(journal)).not.toContain('begin confirm');
  });
});

describe('state after the stop of a member', () => {
  it('a member that holds other data than two others gets its old version back', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    small.state.hash.set('n2', '8');
    const { ending } = await conducted(small, plan);
    expect(ending.message).toEqual(naming('n2', 'hash', 'different', 'automatic'));
    expect(versions(small)).toEqual(['old', 'old', 'old']);
  });

  it('an alarm that is raised then ends the run, and the member keeps its version', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    const { ending } = await conducted(small, plan, {
      sink: (event) => {
        if (event.event === 'member-down') small.state.alarms.push({ memberID: '1003', alarm: 'NOSPACE' });
      },
    });
    expect(codeOf(ending.error)).toBe('ALARM');
    expect(versions(small)).toEqual(['old', 'new', 'old']);
    // A resume verifies the member without another stop.
    small.state.alarms.length = 0;
    const second = await resumed(small, plan);
    expect(second.ending.outcome).toBe('done');
    expect(small.done).not.toContain('stop n2');
  });

  it('a run that crashes after a stop starts that member first when it is resumed', async () => {
    const small = smallCluster();
    const plan = await small.plan();
    let die = (_: Error): void => {};
    const start = () => new Promise<never>((_, reject) => (die = reject));
    const dead = conducted({ ...small, driver: { ...small.driver, start } }, plan);
    await expect
      .poll(
        async () => {
          await small.host.turn();
          return !small.done.includes('activate n2 new');
        },
        { interval: 1 },
      )
      .toBe(false);
    // Removes both locks: the lock file would match the current process, and the lease of the key has
    // expired.
    small.keys.delete('opsctl/upgrade-lock');
    for (const path of Object.keys(small.host.files.all()))
      if (/\/lock/.test(path)) await small.host.files.remove(path);
    small.host.advance(5000);
    const { ending, events } = await resumed(small, plan);
    expect(ending.outcome).toBe('done');
    expect(small.done.slice(0, 2)).toEqual(['activate n2 new', 'start n2 new']);
    const up = events.find((event) => event.event === 'member-up');
    expect(up).toMatchObject({ member: 'n2' });
    expect(up?.event === 'member-up' && up.down_ms >= 5000).toBe(true);
    die(new Error('dead'));
    await dead;
  });

  it('hooks of the operator run around each member; a failing hook stops the run', async () => {
    const hooks = { before_member: ['before', '{name}', '{to}'], after_member: ['after', '{name}'] };
    const small = smallCluster('upgrade', { hooks });
    const plan = await small.plan();
    const { ending } = await conducted(small, plan);
    expect(ending.outcome).toBe('done');
    const ran = small.host.ran.map(({ command, args }) => [command, ...args].join(' '));
    expect(ran).toEqual([
      ...['before n2 3.5', 'after n2', 'before n3 3.5', 'after n3', 'before n1 3.5', 'after n1'],
    ]);
  });
});

describe('a window', () => {
  const windowOf = (patch: Partial<Window>): Window => ({
    ...{ probes: [], pauseAtMostMs: 60_000, earlierMs: [] },
    ...patch,
  });

  it('a window that is too short for a member holds the run before it', async () => {
    const small = smallCluster();
    const until = { atMs: small.host.now() + 1000, text: '23:00' } as Window['until'];
    const { ending, journal } = await conducted(small, await small.plan(), {
      window: windowOf({ until }),
    });
    expect(ending).toMatchObject({ outcome: 'held', heldFor: 'window' });
    expect(ending.message).toEqual(naming('n2', 'window', 'until', 'held', 'timeouts'));
    expect(journal.at(-1)).toMatchObject({ kind: 'closed', held_for: 'window' });
    expect(small.done).toEqual([]);
  });

  it('an operator may be asked before each member, once for each', async () => {
    const small = smallCluster();
    const asked: string[] = [];
    const confirmEach = async (member: string): Promise<boolean> => {
      asked.push(member);
      return member !== 'n3';
    };
    const plan = await small.plan();
    const { ending } = await conducted(small, plan, { window: windowOf({ confirmEach }) });
    expect(asked).toEqual(['n2', 'n3']);
    expect(ending).toMatchObject({
      heldFor: 'operator',
      message: expect.toRead('it was not confirmed'),
    });
    const back = await conducted(small, plan, {
      ...{ action: 'rollback', loop: rollBack },
      window: windowOf({ confirmEach: async () => false }),
    });
    expect(back.ending.heldFor).toBe('operator');
    expect(versions(small)).toEqual(['old', 'new', 'old']);
  });

  it('the run waits while users are affected, and continues afterwards', async () => {
    const small = smallCluster();
    small.host.advance(100_000);
    let looks = 0;
    const probe = { kind: 'command', command: 'probe' } as const;
    const host = {
      ...small.host,
      processes: {
        ...small.host.processes,
        run: async () => {
          looks += 1;
          const code = looks < 3 ? 0 : 1;
          return { code, signal: null, stdout: '', stderr: 'slow', timedOut: false };
        },
      },
    };
    const { journal } = await conducted({ ...small, host }, await small.plan(), {
      window: windowOf({ probes: [probe] }),
    });
    expect(inShort(journal).slice(1, 3)).toEqual(['paused n2', 'continued n2']);
    const { waited_ms } = journal[2] as Extract<(typeof journal)[number], { kind: 'continued' }>;
    expect([waited_ms >= 30_000, waited_ms < 31_000]).toEqual([true, true]);
  });
});
