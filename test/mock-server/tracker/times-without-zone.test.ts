/** The importer of the vendor sends times without a zone (useshortcut/api-cookbook PR 56). spec/tracker#values-2 */
import { expect, test } from 'vitest';
import { trackerInMemory } from '../../support/in-memory.ts';

test.each([
  ['2026-11-01T00:00:00', '2026-11-01T00:00:00Z'],
  ['2026-11-01T07:30', '2026-11-01T07:30:00Z'],
  ['2026-11-01T07:30:00.25', '2026-11-01T07:30:00.25Z'],
  ['2026-11-01T01:00:00+01:00', '2026-11-01T00:00:00Z'],
])('the mock server reads the deadline %s as %s', (given, stored) => {
  const at = trackerInMemory();
  expect(at.send('POST', '/epics', { name: 'x', deadline: given }).deadline).toBe(stored);
});

test.each(['2026-02-30T00:00:00', '2026-11-01', '2026-11-01T25:00:00', '20261101T000000'])(
  'the mock server rejects the deadline %s',
  (given) => {
    const at = trackerInMemory();
    expect(() => at.send('POST', '/epics', { name: 'x', deadline: given })).toThrow();
  },
);

test('times in searches and in nested values have no zone either', () => {
  const at = trackerInMemory();
  const [{ id: workflow_state_id }] = at.send('GET', '/workflows').flatMap(({ states }: any) => states);
  at.send('POST', '/stories', { name: 's', workflow_state_id, created_at: '2026-01-02T03:04:05' });
  expect(at.send('POST', '/stories/search', { created_at_end: '2026-01-03T00:00:00' })).toHaveLength(1);
  expect(at.send('POST', '/stories/search', { created_at_start: '2026-01-03T00:00:00' })).toHaveLength(0);
});
