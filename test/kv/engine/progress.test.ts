import { describe, expect, it } from 'vitest';
import { hasFreshSnapshot, progressOf } from '../../../src/kv/engine/progress.ts';
import type { JournalEntry, JournalStepId } from '../../../src/kv/engine/model.ts';

const at = '2026-01-01T00:00:00.000Z';
const takenMs = Date.parse(at);
const begun = (...steps: JournalStepId[]): JournalEntry[] =>
  steps.map((step) => ({ kind: 'begin', at, step }));
const ended = (...steps: JournalStepId[]): JournalEntry[] => steps.map((step) => ({ kind: 'end', at, step }));
const reverting: JournalEntry = { kind: 'reverting', at, member: 'n2', reason: 'why' };
const confirmed: JournalEntry = { kind: 'crossing-confirmed', at, confirmed_by: 'ada' };
/** Returns the progress with lists instead of sets. */
const read = (...entries: JournalEntry[]) => {
  const { begun: b, ended: e, snapshots, ...rest } = progressOf(entries);
  return { begun: [...b], ended: [...e], snapshots: [...snapshots], ...rest };
};
const nothing = { begun: [], ended: [], snapshots: [], isCrossingConfirmed: false, hasCrossed: false };

describe('progress according to the journal', () => {
  it('progress is empty without lines, or for lines without an effect', () => {
    expect(read()).toEqual(nothing);
    expect(read({ kind: 'paused', at, member: 'n2', reason: 'why' })).toEqual(nothing);
  });
  it('progress contains started and finished steps, and the times of snapshots', () => {
    expect(read(...begun('n2.snapshot', 'n2.stop'), ...ended('n2.snapshot', 'enable-downgrade'))).toEqual({
      ...nothing,
      ...{ begun: ['n2.snapshot', 'n2.stop'], ended: ['n2.snapshot', 'enable-downgrade'] },
      snapshots: [['n2', takenMs]],
    });
  });
  it('progress contains the member of a rollback until it is reverted', () => {
    expect(read(reverting)).toEqual({ ...nothing, reverting: { member: 'n2', reason: 'why' } });
    expect(read(reverting, { kind: 'reverted', at, member: 'n2' })).toEqual(nothing);
  });
  it('a reverted member leaves the steps of a member whose name starts with its name', () => {
    const steps = ['n2.stop', 'n2.x.stop', 'n2.x.gate'] as const;
    expect(read(...ended(...steps), { kind: 'reverted', at, member: 'n2' }).ended).toEqual(steps.slice(1));
  });
  it('a reverted member loses its progress and the confirmation, and the other members keep theirs', () => {
    const before = [
      ...begun('n2.stop', 'n20.stop', 'n3.stop'),
      ...ended('n2.snapshot', 'n2.gate', 'n20.gate'),
    ];
    const snapshots = ended('n3.snapshot');
    expect(read(...before, ...snapshots, confirmed, { kind: 'reverted', at, member: 'n2' })).toEqual({
      ...nothing,
      ...{ begun: ['n20.stop', 'n3.stop'], ended: ['n20.gate', 'n3.snapshot'] },
      snapshots: [['n3', takenMs]],
    });
  });
  it('a member whose rollback was dropped repeats its health check and keeps the rest', () => {
    const steps: JournalStepId[] = ['n2.start', 'n2.gate', 'n2.settle', 'n3.gate', 'n3.settle'];
    const dropped: JournalEntry = { kind: 'revert-dropped', at, member: 'n2', reason: 'why' };
    expect(read(...begun(...steps), ...ended(...steps), confirmed, reverting, dropped)).toEqual({
      ...{ ...nothing, isCrossingConfirmed: true },
      ...{ begun: ['n2.start', 'n3.gate', 'n3.settle'], ended: ['n2.start', 'n3.gate', 'n3.settle'] },
    });
  });
  it('a confirmation is valid for the observed state, the point of no return permanently', () => {
    expect(read(confirmed).isCrossingConfirmed).toBe(true);
    const crossed: JournalEntry = { kind: 'crossed', at, cluster_version: '3.5.0' };
    const closed: JournalEntry = { kind: 'closed', at, outcome: 'stopped', message: '' };
    expect(read(confirmed, crossed, closed)).toEqual({ ...nothing, hasCrossed: true });
  });
});

it.each([
  ['that was never taken', [], takenMs, false],
  ['of this moment', ended('n2.snapshot'), takenMs, true],
  ['that is a minute old', ended('n2.snapshot'), takenMs + 60_000, true],
  ['that is older', ended('n2.snapshot'), takenMs + 60_001, false],
  ['of the future, by a clock that was set back', ended('n2.snapshot'), takenMs - 1, false],
  ['of another member', ended('n3.snapshot'), takenMs, false],
] as const)('a snapshot %s protects a stop: %#', (_, entries, now, isFresh) => {
  expect(hasFreshSnapshot(progressOf(entries), 'n2', now)).toBe(isFresh);
});
