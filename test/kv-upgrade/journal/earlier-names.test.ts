import { describe, expect, it } from 'vitest';
import {
  currentEvent,
  currentGuard,
  withCurrentFindings,
} from '../../../src/kv-upgrade/journal/earlier-names.ts';
import { parseJournal } from '../../../src/kv-upgrade/journal/journal.ts';
import { progressOf } from '../../../src/kv-upgrade/journal/progress.ts';

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
  it('so are events, plans and the name of a guard after --accept', () => {
    expect(currentEvent({ event: 'returned', member: 'n2' })).toEqual({ event: 'reverted', member: 'n2' });
    expect(currentEvent({ event: 'canary', ok: true })).toEqual({ event: 'canary', ok: true });
    expect(withCurrentFindings({ options: { accept: ['data-folders', 'disk-space'] } })).toEqual({
      options: { accept: ['data-directories', 'disk-space'] },
    });
    expect(currentGuard('data-folders')).toBe('data-directories');
    expect(currentGuard('disk-space')).toBe('disk-space');
  });
});
