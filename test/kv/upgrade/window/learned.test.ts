import { describe, expect, it } from 'vitest';
import { neededMs } from '../../../../src/kv/upgrade/window/window.ts';
import { memberDurations } from '../../../../src/kv/upgrade/present/journal-events.ts';
import type { JournalEntry, JournalStepId } from '../../../../src/kv/engine/model.ts';
import { partlyMade } from '../../../support/context.ts';
import { planned } from '../../../support/observations.ts';

const plan = planned();
/** `begin n1.stop 20` is a journal line with its second, after the first line of a run. */
const durations = (...texts: string[]): readonly number[] =>
  memberDurations([
    { kind: 'opened', at: new Date(0).toISOString(), run: 'r', action: 'upgrade', plan } as JournalEntry,
    ...texts.map((text) => {
      const [kind, step, second] = text.split(' ') as [JournalEntry['kind'], JournalStepId, string];
      const at = new Date(Number(second) * 1000).toISOString();
      return partlyMade<JournalEntry>({ kind, step, at, member: step, action: 'upgrade' });
    }),
  ]);

describe('how long a member took', () => {
  it('the duration is from its first step to the end of its health check, for each member', () => {
    expect(
      durations(
        ...['begin n3.snapshot 10', 'end n3.snapshot 20', 'begin n3.stop 21', 'begin n2.snapshot 30'],
        ...['end n3.gate 50', 'end n2.gate 90'],
      ),
    ).toEqual([40_000, 60_000]);
  });
  it('the duration excludes its wait, a step without a member, and a health check with an unknown start', () => {
    expect(durations('begin n1.settle 1', 'begin n1.stop 10', 'end n1.gate 20')).toEqual([10_000]);
    expect(durations('begin confirm 1', 'end confirm 9', 'end n1.gate 9')).toEqual([]);
    expect(durations('begin n1.stop 1', 'begin n1.gate 5', 'end n1.stop 6')).toEqual([]);
    expect(durations('end n1.snapshot 1', 'end n1.gate 5')).toEqual([]);
  });
  it('the duration restarts with a revert, and does not span a resume', () => {
    expect(
      durations('begin n1.stop 1', 'reverting n1 3', 'reverted n1 5', 'begin n1.stop 10', 'end n1.gate 12'),
    ).toEqual([2000]);
    expect(durations('begin n1.stop 1', 'resumed x 2', 'end n1.gate 5')).toEqual([]);
    expect(durations('begin n1.stop 1', 'paused x 2', 'end n1.gate 5')).toEqual([4000]);
  });
  it('the duration of each member stays after a resume, and the rest does not count', () => {
    expect(
      durations(
        ...['begin n3.stop 1', 'end n3.gate 5', 'resumed x 900', 'begin n2.stop 901', 'end n2.gate 904'],
      ),
    ).toEqual([4000, 3000]);
  });
  it('a journal without its first line has no durations', () => {
    expect(memberDurations([])).toEqual([]);
  });
});

it('the next one needs as long as the longest and a quarter more, rounded up', () => {
  expect(neededMs([1, 9, 3], [500], 7)).toEqual({ ms: 12, isLearned: true });
  expect(neededMs([], [4], 7)).toEqual({ ms: 5, isLearned: true });
  expect(neededMs([], [], 7)).toEqual({ ms: 7, isLearned: false });
});
