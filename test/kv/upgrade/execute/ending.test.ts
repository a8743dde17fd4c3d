import { describe, expect, it } from 'vitest';
import {
  endedAfterCrossing,
  heldWith,
  refusedBy,
  revertFailed,
  revertedAfter,
  stoppedBy,
  stoppedWith,
} from '../../../../src/kv/upgrade/execute/ending.ts';
import { AppError } from '../../../../src/core/problem.ts';
import type { JournalEntry, Plan } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { planned } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';

const run = runOn(fakeHost());
const restart = runOn(fakeHost(), { plan: { ...planned(), kind: 'restart' } as Plan });

describe('the end of a run', () => {
  it('a stopped run has its error and its message; the outcome may differ', () => {
    const error = new AppError('stopped', 'why', { code: 'X' });
    expect(stoppedWith(error)).toEqual({ outcome: 'stopped', message: 'why', category: 'stopped', error });
    expect(stoppedWith(error, 'failed').outcome).toBe('failed');
  });
  it('a held run has no error, and names an unplanned reason', () => {
    expect(heldWith('why')).toEqual({ outcome: 'held', category: 'stopped', message: 'why' });
    expect(heldWith('why', 'window')).toMatchObject({ heldFor: 'window' });
  });
  it('a rejected run passes on every finding', () => {
    const finding = { guard: 'g', level: 'fail', message: 'm' } as const;
    expect(refusedBy([finding, finding])).toMatchObject({
      ...{ outcome: 'stopped', message: 'm (and 1 more)' },
      error: { detail: { data: [finding, finding], tryThis: [naming('opsctl kv check')] } },
    });
    expect(refusedBy([finding]).message).toBe('m');
  });
});

describe('an error that ends a run', () => {
  const of = (error: unknown, member?: string) => {
    const { message, error: said, outcome } = stoppedBy(error, member);
    return {
      message,
      outcome,
      category: said?.category,
      code: said?.detail.code,
      tryThis: said?.detail.tryThis,
    };
  };
  it.each(['stopped', 'unsafe', 'interrupted'] as const)(
    'an error of category %s is reported unchanged',
    (category) => {
      expect(of(new AppError(category, 'why', { code: 'X' }), 'n2')).toEqual({
        ...{
          message: 'why',
          outcome: 'stopped',
          category: 'stopped',
          code: 'X',
          tryThis: ['opsctl kv resume'],
        },
      });
    },
  );
  it('an error of another category names the active member, if there is one', () => {
    const lost = new AppError('network', 'lost');
    expect(of(lost, 'n2')).toMatchObject({ message: 'n2: lost', code: 'STOPPED' });
    expect(of(lost)).toMatchObject({ message: 'lost' });
    expect(stoppedBy(lost, 'n2').error?.detail.cause).toBe(lost);
  });
});

describe('a reverted member', () => {
  const ended = (...names: string[]): JournalEntry[] =>
    names.map((name) => ({ kind: 'end', at: '', step: `${name}.gate` }));
  it('a revert leaves the others unchanged, and lists the next commands', () => {
    const { error, ...rest } = revertedAfter(run, 'n2', 'n2 did not start');
    expect(rest).toEqual({
      ...{ outcome: 'rolled-back', category: 'rolled-back' },
      message: naming('n2 did not start', '3.3', 'member', 'changed'),
    });
    expect(error).toMatchObject({
      ...{ category: 'rolled-back', message: rest.message },
      detail: {
        code: 'MEMBER_REVERTED',
        tryThis: [
          naming('n2', 'opsctl kv resume', 'cause', 'failure', 'version'),
          naming('opsctl kv rollback', '3.3', 'member'),
        ],
      },
    });
  });
  it('a revert of a restart restores the previous configuration', () => {
    const entries = ended('n3');
    const { message } = revertedAfter({ ...restart, journal: { ...restart.journal, entries } }, 'n2', 'why');
    expect(message).toEqual(naming('why', 'n2', 'n3', 'configuration', 'stays'));
  });
  it('a failed revert reports both reasons', () => {
    const cause = new Error('no disk');
    expect(revertFailed(run, 'n2', 'why', cause)).toMatchObject({
      ...{ outcome: 'failed', message: 'why; its automatic rollback to 3.3 also failed: no disk' },
      error: {
        detail: {
          ...{ code: 'REVERT_FAILED', cause },
          tryThis: ['opsctl kv status', naming('n2', 'log'), 'opsctl kv resume'],
        },
      },
    });
  });
  it('a revert is impossible after the point of no return', () => {
    expect(endedAfterCrossing(run, 'n2', '')).toMatchObject({
      ...{ outcome: 'failed', category: 'stopped' },
      message:
        'n2 passed its health check on 3.4, but its process has exited since. The cluster is 3.4: n2 can no longer run 3.3',
      error: {
        detail: {
          code: 'MEMBER_ENDED',
          tryThis: [expect.toRead('resume'), expect.toRead('restore')],
        },
      },
    });
  });
});
