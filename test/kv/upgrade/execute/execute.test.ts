import { describe, expect, it } from 'vitest';
import { execute } from '../../../../src/kv/upgrade/execute/loop.ts';
import type { Confirmation } from '../../../../src/kv/upgrade/execute/before-member.ts';
import { AppError } from '../../../../src/core/problem.ts';
import { type Run, RunState } from '../../../../src/kv/upgrade/run.ts';
import type { Driver } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { JournalEntry, JournalStepId, PlanKind, PlanOptions } from '../../../../src/kv/engine/model.ts';
import { type SmallCluster, inShort, smallCluster } from '../../../support/small-cluster.ts';
import { type FakeRun, runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';

const at = '2026-01-01T00:00:00.000Z';
const all = ['n2', 'n3', 'n1'];
const through = (...names: string[]): JournalEntry[] =>
  names.flatMap((name) => [
    { kind: 'begin', at, step: `${name}.stop` },
    { kind: 'begin', at, step: `${name}.start` },
    { kind: 'end', at, step: `${name}.gate` },
  ]);
const over: JournalEntry = { kind: 'end', at, step: 'confirm' };
const reverting: JournalEntry = { kind: 'reverting', at, member: 'n2', reason: 'it panicked' };
const yes: JournalEntry = { kind: 'crossing-confirmed', at, confirmed_by: 'ada' };
type Given = {
  readonly kind?: PlanKind;
  readonly options?: Partial<PlanOptions>;
  readonly switched?: readonly string[];
  readonly entries?: readonly JournalEntry[];
  readonly prepare?: (small: SmallCluster) => void;
  readonly patch?: (run: FakeRun, small: SmallCluster) => Partial<Run>;
  readonly driver?: (small: SmallCluster) => Partial<Driver>;
  readonly confirmed?: Confirmation;
};
/**
 * A run on three small members, some of which run the new version. Its journal contains the earlier steps.
 */
const executed = async (given: Given) => {
  const { kind, options, switched = [], entries = [], prepare, patch, driver, confirmed } = given;
  const small = smallCluster(kind);
  const plan = await small.plan(options);
  for (const name of switched) small.members(name).which = 'new';
  prepare?.(small);
  const { host, cluster, access } = small;
  const base = runOn(host, { cluster, access, plan }, { ...small.driver, ...driver?.(small) });
  base.written.push(...entries);
  const added: string[] = [];
  const members = { ...base.members, add: (name: string) => void added.push(name), isWatched: () => false };
  const run = { ...base, members, ...patch?.(base, small) };
  small.done.length = 0;
  const began = host.elapsed();
  const ending = await execute(run, confirmed ?? (async () => false));
  return {
    ...{ small, run, ending, added, ms: host.elapsed() - began, told: base.told },
    written: inShort(base.written.slice(entries.length)),
  };
};
const texts = (told: FakeRun['told']): string[] =>
  told.flatMap((event) => (event.event === 'note' ? [event.text] : []));

describe('a run without work', () => {
  it('a run without work is done after the first check, and watches the members upgraded before', async () => {
    const { ending, ms, added } = await executed({
      ...{ switched: all, entries: [...through(...all), over] },
      prepare: ({ state }) => Object.assign(state, { hasMoved: true, answerMs: 0 }),
    });
    expect([ending, ms, added]).toEqual([{ outcome: 'done', message: 'cluster test runs 3.5' }, 0, all]);
  });
  it('a run that is asked to stop makes no check', async () => {
    const { ending, ms } = await executed({ patch: () => ({ signal: AbortSignal.abort() }) });
    expect([ending.outcome, ending.error?.detail.code, ms]).toEqual(['stopped', 'STOPPED', 0]);
  });
  it('a run reports the effects of a restart', async () => {
    const { ending } = await executed({ kind: 'restart', entries: through(...all) });
    expect(ending.message).toEqual(naming('member of test', 'restarted'));
  });
});

describe('a member that ended past the point of no return', () => {
  const fallen: Given = {
    ...{ switched: all, entries: [...through(...all), over] },
    prepare: (small) => {
      small.state.hasMoved = true;
      small.end('n3');
      small.state.log = ['panic: no memory'];
    },
  };
  it('a member that exited after the point of no return is started again once by a resume, with its downtime', async () => {
    const removed: string[] = [];
    const { ending, told, run, small } = await executed({
      ...fallen,
      patch: ({ members }) => ({
        isResume: true,
        members: { ...members, remove: (name) => void removed.push(name) },
      }),
    });
    expect(ending.outcome).toBe('done');
    expect([removed, run.state.claimRestart('n3'), small.done]).toEqual([
      ...[['n3'], false, ['activate n3 new', 'start n3 new']],
    ]);
    expect(told[0]).toMatchObject({ level: 'warn', text: 'n3 is down: starting it with 3.5 again' });
    expect(told[1]).toEqual({ event: 'member-down', member: 'n3', was_leader: false });
    expect(told.find(({ event }) => event === 'member-up')).toMatchObject({ member: 'n3' });
  });
  it.each([
    ['by nobody who did not resume', () => ({})],
    [
      'not twice',
      () => {
        const state = new RunState();
        state.claimRestart('n3');
        return { isResume: true, state };
      },
    ],
  ])('a member that exited after the point of no return is started %s', async (_, patch) => {
    const { ending, small, ms } = await executed({ ...fallen, patch });
    expect(ending).toMatchObject({
      ...{ outcome: 'failed', error: { detail: { code: 'MEMBER_ENDED' } } },
      message: expect.stringContaining(
        'its process has exited since (the end of its log: panic: no memory). The',
      ),
    });
    expect(small.done).toEqual([]);
    // A service manager may have restarted the member within a second.
    expect(ms).toBeGreaterThanOrEqual(1000);
    expect(ms).toBeLessThan(1500);
  });
});

describe('a return to the old version', () => {
  it('an impossible rollback is dropped: the member is checked, or started with its new version', async () => {
    const dropped = (isUp: boolean) =>
      executed({
        ...{ switched: all, entries: [...through(...all), reverting] },
        prepare: (small) => {
          small.state.hasMoved = true;
          small.members('n2').isUp = isUp;
        },
      });
    const up = await dropped(true);
    expect(texts(up.told)[0]).toEqual(
      naming('3.5', 'n2', '3.4', 'it panicked', 'cluster', 'rollback', 'necessary'),
    );
    expect(up.ending.outcome).toBe('done');
    expect([up.written.includes('revert-dropped n2'), up.small.done]).toEqual([true, []]);
    const down = await dropped(false);
    expect(texts(down.told)[0]).toEqual(
      naming('3.5', 'n2', '3.4', 'it panicked', 'rollback', 'impossible', 'starting'),
    );
    expect(down.small.done).toEqual(['activate n2 new', 'start n2 new']);
  });
  it('a rollback that was reported continues with the upgrade; one that a crash interrupted ends the run', async () => {
    const closed: JournalEntry = { kind: 'closed', at, outcome: 'failed', message: '' };
    const of = (...entries: JournalEntry[]) =>
      executed({ switched: ['n2'], entries: [...through('n2'), ...entries], options: { hold_after: 1 } });
    const crashed = await of(reverting);
    expect(crashed.ending.outcome).toBe('rolled-back');
    expect(crashed.written).toEqual(['reverting n2', 'log-marked n2', 'reverted n2']);
    const told = await of(reverting, closed);
    expect(told.ending.outcome).toBe('held');
    expect(texts(told.told)).toContain('n2 runs 3.4 again, as intended; the upgrade continues');
    const again = await of(reverting, closed, reverting);
    expect(again.ending.outcome).toBe('rolled-back');
    const failing = await executed({
      ...{ switched: ['n2'], entries: [...through('n2'), reverting, closed] },
      driver: () => ({ start: () => Promise.reject(new Error('no disk')) }),
    });
    expect(failing.ending.outcome).toBe('failed');
  });
});

describe('a hold', () => {
  it('a hold reports the number of members, and their names', async () => {
    const { ending } = await executed({
      ...{ switched: ['n2', 'n3'], entries: through('n2', 'n3'), options: { hold_after: 2 } },
    });
    expect(ending).toEqual({
      ...{ outcome: 'held', category: 'stopped' },
      message: naming('held', 'n1', '3.4', 'opsctl kv resume', 'last', 'member'),
    });
    const one = await executed({ switched: ['n2'], entries: through('n2'), options: { hold_after: 1 } });
    expect(one.ending.message).toEqual(naming('held', '1', '3', 'n2', '3.5', 'members', 'member'));
  });
});

describe('the question before the last member', () => {
  const last: Given = { switched: ['n2', 'n3'], entries: through('n2', 'n3') };
  it('the journal contains a confirmation, with the operator', async () => {
    const by = async (env: Record<string, string>) => {
      const { run } = await executed({
        ...last,
        confirmed: async () => true,
        patch: (_, { host }) => ({ host: { ...host, env } }),
        // The steps after the confirmation are irrelevant here.
        driver: () => ({ stage: () => Promise.reject(new Error('enough')) }),
      });
      return run.journal.entries.find(({ kind }) => kind === 'crossing-confirmed');
    };
    expect(await by({ USER: 'ada' })).toMatchObject({ confirmed_by: 'ada' });
    expect(await by({})).toMatchObject({ confirmed_by: '1000' });
  });
  it('a question that the operator aborts is declined; one that a stopping member aborts is repeated', async () => {
    const broken = await executed({ ...last, confirmed: () => Promise.reject(new Error('Ctrl-C')) });
    expect(broken.ending.message).toEqual(naming('held', 'n1', '3.4', 'last', 'member', 'confirmed'));
    let asked = 0;
    let ended = new AbortController();
    const again = await executed({
      ...last,
      confirmed: async () => {
        asked += 1;
        if (asked === 1) ended.abort(new Error('n2 has ended'));
        return asked === 1;
      },
      patch: ({ members }) => ({
        members: {
          ...members,
          signal: () => {
            if (ended.signal.aborted) ended = new AbortController();
            return ended.signal;
          },
        },
      }),
    });
    expect([again.ending.outcome, asked, again.written]).toEqual(['held', 2, []]);
  });
  it.each([
    ['asked', last.entries],
    ['confirmed before', [...(last.entries ?? []), yes]],
  ])('the question is not passed while the members are unstable: %s', async (_, entries = []) => {
    const { ending, small } = await executed({
      ...{ ...last, entries, options: { stable_before_last_seconds: 1 } },
      patch: ({ members }, { host }) => ({
        // Two minutes pass after a few dozen observations.
        host: { ...host, sleep: (ms, signal) => host.sleep(ms * 30, signal) },
        members: {
          ...members,
          goodSince: () => host.elapsed() - 10,
          restartsOf: (name) => (name === 'n3' ? 4 : 0),
        },
      }),
    });
    expect(ending).toMatchObject({
      ...{ outcome: 'stopped', error: { detail: { code: 'NOT_STABLE' } } },
      message: naming('1', 'n1', '3.4', 'stopped', 'n3', '4', 'last', 'service', 'manager'),
    });
    expect(small.done).toEqual([]);
  });
});

describe('objections to the next step', () => {
  it('an unwritable journal stops new steps, and a rollback still runs', async () => {
    const failure = () => new AppError('stopped', 'the disk is full', { code: 'JOURNAL_UNWRITABLE' });
    const patch = ({ journal }: FakeRun): Partial<Run> => ({ journal: { ...journal, failure } });
    const { ending, small } = await executed({ patch });
    expect([ending.message, small.done]).toEqual(['the disk is full', []]);
    const asked = await executed({ switched: ['n2', 'n3'], entries: through('n2', 'n3'), patch });
    expect(asked.ending.message).toBe('the disk is full');
    const back = await executed({ switched: ['n2'], entries: [...through('n2'), reverting], patch });
    expect(back.ending.outcome).toBe('rolled-back');
  });
  it('an objection is reported after a second, once, and has ten seconds', async () => {
    const { ending, told, ms } = await executed({
      prepare: (small) => {
        small.members('n3').isHealthy = false;
        small.state.answerMs = 30;
      },
    });
    expect(ending.error?.detail.code).toBe('GUARD');
    expect(texts(told)).toEqual([
      expect.stringMatching(
        /^n3 is not healthy: .*; waiting up to [789]\.\d s, because an election may be the cause$/,
      ),
    ]);
    expect([ms >= 10_000, ms < 12_000]).toEqual([true, true]);
    const stop = new AbortController();
    const stopped = await executed({
      prepare: (small) => {
        small.members('n3').isHealthy = false;
      },
      patch: (run) => ({
        signal: stop.signal,
        emit: (event) => {
          stop.abort();
          run.emit(event);
        },
      }),
    });
    expect(stopped.ms).toBeLessThan(2000);
  });
  it('an objection that needs an operator gets no time', async () => {
    const { ending, ms } = await executed({
      prepare: (small) => small.state.alarms.push({ memberID: '1003', alarm: 'NOSPACE' }),
    });
    expect([ending.error?.detail.code, ms < 200]).toEqual(['GUARD', true]);
  });
  it('a guard that a resume repeats runs once, and only before new steps', async () => {
    let looks = 0;
    const resumed = (given: Given) =>
      executed({
        ...given,
        patch: () => ({ state: new RunState({ areGuardsPending: true }) }),
        driver: (small) => ({
          facts: async (...asked) => {
            looks += 1;
            return small.driver.facts(...asked);
          },
        }),
      });
    await resumed({ switched: ['n2'], entries: through('n2'), options: { hold_after: 1 } });
    expect(looks).toBe(0);
    const { run } = await resumed({ switched: ['n2', 'n3'], entries: through('n2', 'n3') });
    expect([looks, run.state.claimGuards()]).toEqual([3, false]);
  });
});

describe('steps that fail', () => {
  /** `isEnded`: another member exits at that moment. */
  const failing = async (error: Error, isEnded = false, entries: JournalEntry[] = []) => {
    let tries = 0;
    let ended = new AbortController();
    const signal = (): AbortSignal => {
      if (ended.signal.aborted) ended = new AbortController();
      return ended.signal;
    };
    const made = await executed({
      ...{ entries, options: { hold_after: 1 } },
      patch: ({ members }) => ({ members: { ...members, signal } }),
      driver: () => ({
        stage: async () => {
          tries += 1;
          if (tries > 2) throw new Error('enough');
          if (isEnded) ended.abort(new Error('n3 has ended'));
          throw error;
        },
      }),
    });
    return { ...made, tries };
  };
  const code = (name: string) => new AppError('stopped', `no ${name}`, { code: name });
  it('end the run, with the member', async () => {
    const { ending, tries } = await failing(new Error('no ssh'));
    expect([ending.message, tries]).toEqual(['n2: no ssh', 1]);
    expect((await failing(code('CANCELED'))).tries).toBe(1);
    expect((await failing(code('OTHER'), true)).tries).toBe(1);
  });
  it('because another member has ended are tried again after a look', async () => {
    expect((await failing(code('CANCELED'), true)).tries).toBe(3);
    expect((await failing(code('MEMBER_ENDED'), true)).tries).toBe(3);
  });
  it('a step that fails for lack of a majority is retried once per process', async () => {
    expect((await failing(code('QUORUM'))).tries).toBe(2);
    const failed = (step: JournalStepId): JournalEntry => ({ kind: 'failed', at, step, reason: '' });
    expect((await failing(code('QUORUM'), false, [failed('n2.stop')])).tries).toBe(1);
    expect((await failing(code('QUORUM'), false, [failed('n3.stop')])).tries).toBe(2);
    const resumed = { kind: 'resumed', at, owner: { host: 'h', pid: 1 }, action: 'upgrade' } as const;
    expect((await failing(code('QUORUM'), false, [failed('n2.stop'), resumed])).tries).toBe(2);
  });
});
