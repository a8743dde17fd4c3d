import { describe, expect, it } from 'vitest';
import { memberDurations, neededMs } from '../../../../src/kv/upgrade/window/window.ts';
import type { JournalEntry } from '../../../../src/kv/engine/model.ts';

/** `begin n1.stop 20` is a journal line with its second. */
const lines = (...texts: string[]): JournalEntry[] =>
  texts.map((text) => {
    const [kind, step, second] = text.split(' ') as [string, string, string];
    return { kind, step, at: new Date(Number(second) * 1000).toISOString() } as JournalEntry;
  });
const durations = (...texts: string[]): number[] => memberDurations(lines(...texts));

describe('how long a member took', () => {
  it('the duration is from its first step to the end of its health check, for each member', () => {
    expect(
      durations(
        ...['begin n1.snapshot 10', 'end n1.snapshot 20', 'begin n1.stop 21', 'begin n2.snapshot 30'],
        ...['end n1.gate 50', 'end n2.gate 90'],
      ),
    ).toEqual([40_000, 60_000]);
  });
  it('the duration excludes its wait, a step without a member, and a health check with an unknown start', () => {
    expect(durations('begin n1.settle 1', 'begin n1.stop 10', 'end n1.gate 20')).toEqual([10_000]);
    expect(durations('begin confirm 1', 'end confirm 9', 'end n1.gate 9')).toEqual([]);
    expect(durations('begin n1.stop 1', 'begin n1.gate 5', 'end n1.stop 6')).toEqual([]);
    expect(durations('end n1.snapshot 1', 'end n1.gate 5')).toEqual([]);
  });
  it('the duration restarts after a rollback, and does not span an end or a resume', () => {
    expect(durations('begin n1.stop 1', 'end n1.gate 5', 'begin n1.stop 10', 'end n1.gate 12')).toEqual([
      4000, 2000,
    ]);
    expect(durations('begin n1.stop 1', 'closed x 2', 'end n1.gate 5')).toEqual([]);
    expect(durations('begin n1.stop 1', 'resumed x 2', 'end n1.gate 5')).toEqual([]);
    expect(durations('begin n1.stop 1', 'paused x 2', 'end n1.gate 5')).toEqual([4000]);
  });
  it('the duration of a name with dots belongs to the whole name', () => {
    expect(durations('begin a.b.stop 1', 'end a.b.gate 3')).toEqual([2000]);
  });
});

it('the next one needs as long as the longest and a quarter more, rounded up', () => {
  expect(neededMs([1, 9, 3], [500], 7)).toEqual({ ms: 12, isLearned: true });
  expect(neededMs([], [4], 7)).toEqual({ ms: 5, isLearned: true });
  expect(neededMs([], [], 7)).toEqual({ ms: 7, isLearned: false });
});
