import { describe, expect, it } from 'vitest';
import {
  parseJournal,
  currentEntry,
  currentEvent,
  currentGuard,
  withCurrentFindings,
} from '../../../src/kv/engine/journal.ts';
import { progressOf } from '../../../src/kv/engine/progress.ts';

const at = '2026-01-01T00:00:00.000Z';
const lines = (...rows: object[]): string =>
  rows.map((row) => `${JSON.stringify({ at, ...row })}\n`).join('');

describe('files of the version before', () => {
  it('a journal with a revert under way and a confirmed crossing is read with the names of today', () => {
    const { entries } = parseJournal(
      lines(
        { kind: 'opened', plan: { findings: [{ guard: 'data-folders', level: 'stop', message: 'x' }] } },
        { kind: 'no-way-back', confirmed_by: 'ada' },
        { kind: 'returning', member: 'n2', reason: 'crashed' },
      ),
    );
    expect(entries.map(({ kind }) => kind)).toEqual(['opened', 'crossing-confirmed', 'reverting']);
    expect(entries[0]).toMatchObject({ plan: { findings: [{ guard: 'data-directories', level: 'fail' }] } });
    expect(progressOf(entries)).toMatchObject({ reverting: { member: 'n2', reason: 'crashed' } });
    const { entries: ended } = parseJournal(
      lines({ kind: 'returning', member: 'n2', reason: 'crashed' }, { kind: 'returned', member: 'n2' }),
    );
    expect(progressOf(ended).reverting).toBeUndefined();
  });
  it('names of earlier versions are converted in events, plans and guards of --accept', () => {
    expect(currentEvent({ event: 'returned', member: 'n2' })).toEqual({ event: 'reverted', member: 'n2' });
    expect(currentEvent({ event: 'canary', ok: true })).toEqual({ event: 'canary', ok: true });
    expect(withCurrentFindings({ options: { accept: ['data-folders', 'disk-space'] } })).toEqual({
      options: { accept: ['data-directories', 'disk-space'] },
    });
    expect(currentGuard('data-folders')).toBe('data-directories');
    expect(currentGuard('disk-space')).toBe('disk-space');
  });
  it.each([null, 'text', 7, [], [{ kind: 'returned' }]])(
    'a value that is not a row is unchanged: %j',
    (value) => {
      expect(currentEvent(value)).toBe(value);
      expect(currentEntry(value)).toBe(value);
      expect(withCurrentFindings(value)).toBe(value);
    },
  );
  it('current names and unknown fields are unchanged', () => {
    expect(currentEntry({ kind: 'end', step: 'x' })).toEqual({ kind: 'end', step: 'x' });
    expect(currentEntry({ kind: 7 })).toEqual({ kind: 7 });
    expect(currentEvent({ event: 'note', plan: { findings: [{ level: 'stop', guard: 'g' }] } })).toEqual({
      ...{ event: 'note', plan: { findings: [{ level: 'fail', guard: 'g' }] } },
    });
    expect(withCurrentFindings({ findings: 'x', options: { accept: 'y' } })).toEqual({
      ...{ findings: 'x', options: { accept: 'y' } },
    });
    expect(withCurrentFindings({ findings: ['x', { level: 'warn' }] })).toMatchObject({
      findings: ['x', { level: 'warn' }],
    });
    expect(withCurrentFindings({ options: [], findings: [] })).toEqual({ options: [], findings: [] });
    expect(withCurrentFindings({ options: { accept: ['data-folders'], hold_last: true } })).toEqual({
      options: { accept: ['data-directories'], hold_last: true },
    });
  });
});
