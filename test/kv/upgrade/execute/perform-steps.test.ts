import { describe, expect, it } from 'vitest';
import { performSteps, stepTable } from '../../../../src/kv/upgrade/execute/steps.ts';
import { AppError } from '../../../../src/core/problem.ts';
import { MemberFailure, type Run } from '../../../../src/kv/upgrade/run.ts';
import { type Driver, MAY_BE_DOWN } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { JournalEntry, JournalStepId, PlanOptions, Step } from '../../../../src/kv/engine/model.ts';
import { type SmallCluster, inShort, smallCluster } from '../../../support/small-cluster.ts';
import { type FakeRun, runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';

type Given = {
  readonly options?: Partial<PlanOptions>;
  readonly driver?: (small: SmallCluster) => Partial<Driver>;
  readonly patch?: (run: FakeRun, small: SmallCluster) => Partial<Run>;
  readonly before?: readonly JournalEntry[];
};
/** Performs these steps of the plan, by id, on three small members. */
const performed = async (ids: readonly string[], { options, driver, patch, before = [] }: Given = {}) => {
  const small = smallCluster();
  const plan = await small.plan(options);
  const { host, cluster, access } = small;
  const base = runOn(host, { cluster, access, plan }, { ...small.driver, ...driver?.(small) });
  base.written.push(...before);
  const run = { ...base, ...patch?.(base, small) };
  const steps = ids.map(
    (id) =>
      plan.steps.find((step) => step.id === id) ??
      ({
        id,
        kind: id.split('.')[1],
        member: id.split('.')[0],
        title: id,
        why: '',
        commands: [],
      } as unknown as Step),
  );
  const error = await performSteps(run, steps).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const written = inShort(base.written.slice(before.length));
  return { small, run, error, written, told: base.told };
};
type Traits = Omit<(typeof stepTable)['stop'], 'run'>;
const row = (text: string): Traits => {
  const [mayAbort, isDownTime, isReplacing, onFailure] = text.split(' ');
  return {
    ...{ mayAbort: mayAbort === 'yes', isDownTime: isDownTime === 'yes', isReplacing: isReplacing === 'yes' },
    onFailure: onFailure as Traits['onFailure'],
  };
};
/**
 * Columns: may the run stop before the step, is the member down, do clients notice, and the effect of a
 * failure.
 */
const traits: Readonly<Record<keyof typeof stepTable, Traits>> = {
  'enable-downgrade': row('no no no stop'),
  hold: row('no no no stop'),
  snapshot: row('yes no no stop'),
  'move-leader': row('yes no yes stop'),
  stop: row('yes no yes stop'),
  'copy-data': row('no yes yes revert'),
  'check-data': row('no yes yes revert'),
  configure: row('no yes yes revert'),
  start: row('no yes yes revert'),
  gate: row('no yes yes as-thrown'),
  settle: row('no no no stop'),
  confirm: row('no no no stop'),
};
describe('the table of steps', () => {
  it.each(Object.keys(stepTable) as (keyof typeof stepTable)[])(
    'states what %s means for the run',
    (kind) => {
      expect(stepTable[kind]).toMatchObject(traits[kind]);
    },
  );
  it('lets a run end only while the member is up, and reverts only a member that is down', () => {
    for (const { mayAbort, isDownTime, onFailure } of Object.values(stepTable)) {
      expect(mayAbort && isDownTime).toBe(false);
      expect(onFailure === 'stop').toBe(!isDownTime);
    }
  });
});

const whole = ['n2.snapshot', 'n2.stop', 'n2.start', 'n2.gate'];
const numbers = (told: FakeRun['told']): unknown[] =>
  told.flatMap((event) => (event.event === 'step-started' ? [[event.step.id, event.number]] : []));

describe('the steps of a member', () => {
  it('steps are reported with their number in the plan, and their duration', async () => {
    const { told, error, run, small } = await performed(whole);
    expect(error).toBeUndefined();
    expect(numbers(told).slice(0, 3)).toEqual([
      ['n2.snapshot', 1],
      ['n2.stop', 2],
      ['n2.start', 3],
    ]);
    expect(told.filter(({ event }) => event === 'step-started')[0]).toMatchObject({
      count: run.plan.steps.length,
    });
    const done = told.flatMap((event) => (event.event === 'step-finished' ? [event] : []));
    expect(done.find(({ step }) => step.id === 'n2.gate')).toMatchObject({
      detail: expect.stringContaining('3.5.30'),
    });
    for (const { duration_ms } of done) expect(duration_ms).toBeGreaterThanOrEqual(0);
    expect(done[0]?.duration_ms).toBeGreaterThan(0);
    expect(done[0]?.duration_ms).toBeLessThan(small.host.elapsed());
    expect(run.state.replacing.size).toBe(0);
  });
  it('steps outside the plan belong to the following stop', async () => {
    const { told } = await performed(['n3.move-leader'], {
      patch: (run) => ({ plan: { ...run.plan, order: ['n3'] } }),
    });
    expect(numbers(told)).toEqual([['n3.move-leader', 6]]);
  });
  it('mark the member while it is changed, and not while its snapshot is taken', async () => {
    const marks: unknown[] = [];
    await performed(whole.slice(0, 3), {
      patch: (run) => ({
        emit: (event) => {
          if (event.event === 'step-started') marks.push([event.step.kind, run.state.replacing.get('n2')]);
          run.emit(event);
        },
      }),
    });
    expect(marks).toEqual([
      ['snapshot', undefined],
      ['stop', 'changing'],
      ['start', 'changing'],
    ]);
  });
  it('a member is no longer marked while the run waits after its health check', async () => {
    let marked: unknown = 'not reached';
    await performed([...whole.slice(1), 'n2.settle'], {
      options: { stable_seconds: 5 },
      patch: (run) => ({
        emit: (event) => {
          if (event.event === 'step-started' && event.step.kind === 'settle')
            marked = run.state.replacing.get('n2');
          run.emit(event);
        },
      }),
    });
    expect(marked).toBeUndefined();
  });
  it('between a stop and its start wait for the disk with the next line only', async () => {
    const forced: unknown[] = [];
    await performed([...whole.slice(1), 'n3.snapshot'], {
      patch: ({ journal }) => ({
        journal: {
          ...journal,
          tell: (entry, how) => {
            if (entry.kind === 'end') forced.push([entry.step, how]);
            journal.tell(entry, how);
          },
        },
      }),
    });
    const once = new Map(forced as [string, string][]);
    expect([once.get('n2.stop'), once.get('n2.start'), once.get('n2.gate')]).toEqual([
      'with-next',
      'with-next',
      'now',
    ]);
    expect(once.get('n3.snapshot')).toBe('now');
  });
});

describe('a step that fails', () => {
  it('a failing step is recorded and reported, and stops the steps', async () => {
    const { error, written, told, run } = await performed(whole, {
      driver: () => ({ stop: () => Promise.reject(new Error('no ssh')) }),
    });
    expect(error).toMatchObject({ message: 'no ssh' });
    expect(written.slice(-3)).toEqual(['note n2.stop', 'placed n2', 'failed n2.stop']);
    expect(told.at(-1)).toMatchObject({ event: 'step-failed', reason: 'no ssh' });
    expect(run.state.replacing.size).toBe(0);
  });
  it('a failure between a stop and a start is a failure of the member, which is named once', async () => {
    const copy = (error: Error) =>
      performed(['n2.stop', 'n2.copy-data'], {
        options: { copy_data: true },
        driver: () => ({ copyData: () => Promise.reject(error) }),
      });
    const { error } = await copy(new Error('n2: no room'));
    expect(error).toBeInstanceOf(MemberFailure);
    expect(error).toMatchObject({ member: 'n2', message: naming('n2', 'copy', 'directory') });
    const own = new MemberFailure('n2', 'n2 is odd');
    expect((await copy(own)).error).toBe(own);
    const away = new AppError('stopped', 'no route', { code: MAY_BE_DOWN });
    expect((await copy(away)).error).toBe(away);
  });
  it.each(['n2.copy-data', 'n2.check-data', 'n2.configure', 'n2.start'])(
    'a step that %s leads to a revert of the member, for any error',
    async (id) => {
      const broken = () => Promise.reject(new Error('odd'));
      const { error } = await performed([id], {
        driver: () => ({ copyData: broken, readFile: broken, start: broken, activate: broken }),
        patch: ({ host, cluster }) => ({
          host: { ...host, processes: { ...host.processes, run: broken } } as Run['host'],
          cluster: { ...cluster, utl_binary: '/bin/utl' },
        }),
      });
      expect(error).toBeInstanceOf(MemberFailure);
    },
  );
  it('a failure before the start of a step makes no change, and reports the write error', async () => {
    const full = new AppError('stopped', 'the disk is full', { code: 'JOURNAL_UNWRITABLE' });
    const write = (): never => {
      throw full;
    };
    const unwritable = ({ journal }: FakeRun): Partial<Run> => ({ journal: { ...journal, write } });
    const snapshot = await performed(['n2.snapshot'], { patch: unwritable });
    expect(snapshot.error).toMatchObject({
      ...{ category: 'stopped', message: 'n2: snapshot was not started: the disk is full' },
      detail: { code: 'JOURNAL_UNWRITABLE' },
    });
    expect([snapshot.small.done, snapshot.told]).toEqual([[], []]);
    const confirm = await performed(['confirm'], { patch: unwritable });
    expect(confirm.error).toMatchObject({ message: 'confirm was not started: the disk is full' });
    // The run still completes the steps of a member that is down.
    const start = await performed(['n2.start'], { patch: unwritable });
    expect([start.error, start.small.done.at(-1)]).toEqual([undefined, 'start n2 new']);
  });
});

describe('a run that is asked to stop', () => {
  const signal = AbortSignal.abort(new Error('Ctrl-C'));
  it.each(['n2.snapshot', 'n1.move-leader', 'n2.stop'])(
    'a run that is asked to stop does not start %s',
    async (id) => {
      const { error, written, small } = await performed([id], { patch: () => ({ signal }) });
      expect(error).toMatchObject({ detail: { code: 'STOPPED' } });
      expect([written, small.done]).toEqual([[], []]);
    },
  );
  it.each(['n2.copy-data', 'n2.check-data', 'n2.configure', 'n2.start'])(
    'a run that is asked to stop starts %s',
    async (id) => {
      const { written } = await performed([id], { patch: () => ({ signal }) });
      expect(written[0]).toBe(`begin ${id}`);
    },
  );
  it('starts a member that is down, and proves it', async () => {
    const { error, small } = await performed(['n2.start', 'n2.gate'], { patch: () => ({ signal }) });
    expect([error, small.done.slice(-1)]).toEqual([undefined, ['start n2 new']]);
  });
});

describe('a member that was stopped before', () => {
  const at = (ms: number): string => new Date(1_767_323_045_000 + ms).toISOString();
  const stop = (ms: number, step: JournalStepId = 'n2.stop'): JournalEntry => ({
    kind: 'begin',
    at: at(ms),
    step,
  });
  const wrong = { facts: async () => ({ new_binary_version: '3.6.1' }) };
  it('a stopped member is not started with an incorrect program; one whose stop is a step is checked at the stop', async () => {
    const start = await performed(['n2.start', 'n2.gate'], { driver: () => wrong });
    expect(start.error).toMatchObject({ detail: { code: 'WRONG_BINARY' } });
    expect([start.written, start.small.done]).toEqual([[], []]);
    const gate = await performed(['n2.gate'], {
      driver: (small) => {
        small.members('n2').which = 'new';
        return wrong;
      },
    });
    expect(gate.error).toBeUndefined();
    const stopping = await performed(['n2.stop', 'n2.start'], { driver: () => wrong });
    expect(stopping.written).toEqual(['begin n2.stop', 'failed n2.stop']);
  });
  it('a member counts as down since the start of its stop, even if the clock was set back, but not from before a rollback', async () => {
    const downMs = async (...before: JournalEntry[]) => {
      const { run, small } = await performed(['n2.start'], { before });
      const since = run.state.endDownTime('n2');
      return since === undefined ? undefined : small.host.elapsed() - since;
    };
    expect(await downMs(stop(-60_000))).toBeGreaterThanOrEqual(60_000);
    expect(await downMs(stop(-60_000))).toBeLessThan(61_000);
    expect(await downMs(stop(-90_000), stop(-60_000))).toBeLessThan(61_000);
    expect(await downMs(stop(9_000_000))).toBeLessThan(1000);
    expect(await downMs(stop(-60_000, 'n3.stop'))).toBeUndefined();
    const back: JournalEntry = { kind: 'reverted', at: at(-30_000), member: 'n2' };
    expect(await downMs(stop(-60_000), back)).toBeUndefined();
    expect(await downMs(back, stop(-20_000))).toBeGreaterThanOrEqual(20_000);
  });
});

describe('the end of a health check', () => {
  it('the end of a health check follows the hook of the operator and the snapshot of the next member', async () => {
    const { small, written, run } = await performed(whole.slice(1), {
      patch: ({ cluster }) => ({ cluster: { ...cluster, hooks: { after_member: ['after', '{name}'] } } }),
    });
    expect(written.slice(-4)).toEqual(['begin n3.snapshot', 'snapshot n3', 'end n3.snapshot', 'end n2.gate']);
    expect(small.host.ran.map(({ command, args }) => [command, ...args])).toEqual([['after', 'n2']]);
    expect(run.state.replacing.size).toBe(0);
  });
  it('a health check that fails aborts the snapshot, and waits for that', async () => {
    const { error, small, written } = await performed(whole.slice(1), {
      options: { stable_seconds: 60 },
      patch: (run, cluster) => ({
        emit: (event) => {
          if (event.event === 'step-started' && event.step.id === 'n3.snapshot') cluster.end('n2');
          run.emit(event);
        },
      }),
    });
    expect(error).toBeInstanceOf(MemberFailure);
    expect(small.done).not.toContain('stop n3');
    expect(written.at(-1)).toBe('failed n2.gate');
  });
});
