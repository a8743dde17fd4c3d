import { describe, expect, it } from 'vitest';
import {
  openRun,
  recorder,
  refuseUnfinished,
  type SessionInput,
  throwNotStarted,
} from '../../../../src/kv/upgrade/execute/session.ts';
import { AppError } from '../../../../src/core/problem.ts';
import type { Lock } from '../../../../src/kv/engine/locks.ts';
import type { PlanOptions, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { type SmallCluster, STATE, journalOf, smallCluster } from '../../../support/small-cluster.ts';
import { naming } from '../../../support/facts.ts';

const free: Lock = { release: async () => {}, hold: async () => {} };
const RUN = '20260102T030405Z-1';
/** A process that opens the run. `small` is the cluster after the previous process. */
const opened = async (
  patch: Partial<SessionInput> = {},
  small: SmallCluster = smallCluster(),
  options: Partial<PlanOptions> = {},
  lock: Lock = free,
) => {
  const { host, cluster, access, driver } = small;
  const plan = patch.plan ?? (await small.plan(options));
  const events: UpgradeEvent[] = [];
  const [over, lost] = [new AbortController(), new AbortController()];
  const input: SessionInput = {
    ...{ host, cluster, access, driver, plan, clusterFile: '/cluster.yaml', state: STATE, run: RUN },
    ...{ action: 'upgrade', sink: (event) => void events.push(event), signal: over.signal },
    ...{ confirmCrossing: async () => false, hasCanary: false, canKill: false },
    ...patch,
  };
  const open = await openRun(input, recorder(host, input.sink), lost, lock);
  await open.shared.flush();
  return { small, plan, input, events, over, lost, ...open };
};
const PROGRESS = 'opsctl/upgrade-progress';
const shared = ({ keys }: SmallCluster): unknown[] => JSON.parse(keys.get(PROGRESS)?.value ?? '{}').entries;

describe('a run that is opened', () => {
  it('the first line of a run has its plan, the operator and the cluster file, and is shared immediately', async () => {
    const { small, plan, run, events } = await opened();
    const [first, ...rest] = journalOf(small, plan);
    expect(first).toMatchObject({
      ...{ kind: 'opened', run: RUN, action: 'upgrade', cluster_file: '/cluster.yaml' },
      ...{ owner: { host: 'testhost', pid: 4242 }, plan: { digest: plan.digest } },
    });
    expect(rest).toEqual([]);
    expect(shared(small)).toMatchObject([{ kind: 'opened' }]);
    expect(events).toMatchObject([{ event: 'run-started', run: RUN, journal: run.journal.path }]);
    expect(run).toMatchObject({ id: RUN, directory: `${STATE}/test/${RUN}`, isResume: false });
    expect(run.state.claimGuards()).toBe(false);
  });
  it('the first line of a rollback identifies it as a rollback', async () => {
    const { small, plan, run } = await opened({ action: 'rollback' });
    expect(journalOf(small, plan)[0]).toMatchObject({ kind: 'opened', action: 'rollback' });
    expect([run.isResume, run.state.claimGuards()]).toEqual([false, false]);
  });
  it('every written or reported line is shared', async () => {
    const { small, plan, run, shared: sharing } = await opened();
    run.journal.write({ kind: 'begin', step: 'n2.stop' });
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(shared(small)).toHaveLength(2);
    run.journal.tell({ kind: 'end', step: 'n2.stop' });
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(shared(small)).toHaveLength(3);
    expect(journalOf(small, plan)).toHaveLength(3);
    await sharing.flush();
  });
});

describe('a resumed run', () => {
  const again = async (action: SessionInput['action'], options: Partial<PlanOptions> = {}) => {
    const first = await opened({}, smallCluster(), options);
    first.run.journal.tell({ kind: 'end', step: 'n2.snapshot', detail: { took_ms: 7 } });
    first.run.journal.tell({ kind: 'begin', step: 'n2.stop' });
    first.run.journal.close();
    return opened({ action, plan: first.plan }, first.small);
  };
  it('a resumed run has a line with the operator and the new hold', async () => {
    const { small, plan, run } = await again('resume', { hold_last: true, hold_after: 2 });
    expect(journalOf(small, plan).at(-1)).toMatchObject({
      ...{ kind: 'resumed', action: 'upgrade', owner: { host: 'testhost' } },
      holds: { hold_last: true, hold_after: 2 },
    });
    expect([run.isResume, run.state.claimGuards(), run.state.claimGuards()]).toEqual([true, true, false]);
    const back = await again('rollback');
    const last = journalOf(back.small, back.plan).at(-1);
    expect(last).toMatchObject({ kind: 'resumed', action: 'rollback' });
    expect(last).not.toHaveProperty('holds');
    const anew = await again('upgrade');
    expect(journalOf(anew.small, anew.plan).at(-1)).toMatchObject({ kind: 'resumed', action: 'upgrade' });
  });
  it('a resumed run shows the completed work, and the current members', async () => {
    const { events } = await again('resume');
    expect(events.map(({ event }) => event)).toEqual(['run-started', 'step-finished', 'observed']);
    expect(events[1]).toMatchObject({
      ...{ step: { id: 'n2.snapshot' }, duration_ms: 0, was_done_before: true },
      detail: naming('7', 'process', 'exited'),
    });
    expect((await again('upgrade')).events.map(({ event }) => event)).toEqual(['run-started']);
  });
});

describe('a run that is asked to stop', () => {
  it('a run that is asked to stop reports the next action once', async () => {
    for (const who of ['over', 'lost'] as const) {
      const made = await opened();
      expect(made.run.signal.aborted).toBe(false);
      made[who].abort(new Error('stop'));
      made.over.abort(new Error('again'));
      expect(made.run.signal.aborted).toBe(true);
      expect(made.events.slice(1)).toMatchObject([
        {
          event: 'note',
          level: 'warn',
          text: expect.stringMatching(/^stopping: opsctl first finishes the member that is/),
        },
      ]);
    }
  });
  it('a run that lost its lock reports that another run has it', async () => {
    const error = new AppError('unsafe', 'locked by eve', { code: 'LOCKED' });
    const taken = await opened({}, undefined, {}, { ...free, hold: () => Promise.reject(error) });
    await expect(taken.run.holdLock()).rejects.toMatchObject({
      ...{ message: naming('locked by eve', 'lock', 'lost', 'renew') },
      detail: { code: 'LOCK_LOST' },
    });
    const odd = new Error('odd');
    const other = await opened({}, undefined, {}, { ...free, hold: () => Promise.reject(odd) });
    await expect(other.run.holdLock()).rejects.toBe(odd);
  });
});

describe('a run that another one left', () => {
  it('a run that another command left is named by later commands of other runs', async () => {
    const { input } = await opened();
    await expect(refuseUnfinished({ ...input, run: 'other' })).rejects.toMatchObject({
      ...{ category: 'unsafe', detail: { code: 'UNFINISHED_RUN' } },
      message: expect.stringContaining(RUN),
    });
    expect(await refuseUnfinished(input)).toBeUndefined();
    expect(await refuseUnfinished({ ...input, run: 'other', action: 'resume' })).toBeUndefined();
    expect(await refuseUnfinished({ ...input, run: 'other', state: '/elsewhere' })).toBeUndefined();
  });
  it('a run that held while this run was planned is not passed', async () => {
    const { input, run } = await opened();
    run.journal.write({ kind: 'closed', outcome: 'held', message: 'held before n1' });
    await expect(refuseUnfinished({ ...input, run: 'other' })).rejects.toMatchObject({
      ...{ category: 'unsafe', detail: { code: 'HELD_RUN' } },
    });
  });
});

describe('an error before the first step', () => {
  const said = (error: unknown): unknown => {
    try {
      return throwNotStarted(error);
    } catch (thrown) {
      return thrown;
    }
  };
  it('an error of the disk before the first step reports that no changes were made', () => {
    const full = Object.assign(new Error('ENOSPC: write'), { code: 'ENOSPC' });
    expect(said(full)).toMatchObject({
      ...{ category: 'unsafe', message: naming('changes', 'made', 'ENOSPC: write') },
      detail: { code: 'DISK', tryThis: [expect.stringContaining('OPSCTL_HOME')] },
    });
    const journal = new AppError('stopped', 'cannot be written', { code: 'JOURNAL_UNWRITABLE' });
    expect(said(journal)).toMatchObject({ category: 'unsafe', detail: { code: 'DISK' } });
  });
  it('any other error before the first step is rethrown', () => {
    for (const error of [new Error('odd'), new AppError('unsafe', 'x', { code: 'LOCKED' })])
      expect(said(error)).toBe(error);
  });
});
