import { expect, test } from 'vitest';
import { tracker } from '../../../src/api-specs/tracker/index.ts';
import { type Change, changeFrom } from '../../../src/tracker/bulk/change.ts';
import { isMadeBy, makeObserver } from '../../../src/tracker/bulk/previous.ts';
import { contextWith } from '../../support/context.ts';

const startedAt = Date.parse('2026-01-01T00:00:10Z');
const created = { created_at: '2026-01-01T00:00:11Z' };
const create = (resource: string, body: Record<string, unknown>): Change => {
  const change = changeFrom(tracker.table, body, 'ndjson', { resource, op: 'create' });
  if (!('operation' in change)) throw new Error(JSON.stringify(change));
  return change;
};
/** A service that has these records, and the requests it received. */
const service = (answer: unknown) => {
  const asked: unknown[] = [];
  const call = async (_: unknown, { path }: { path: string }, input: unknown): Promise<unknown> => {
    asked.push([path, input]);
    return answer;
  };
  return { asked, context: contextWith({ call }) };
};

test('every record matches only one row, and journaled records match none of them', async () => {
  const rows = [1, 2, 3].map((id) => ({ id, name: 'bug', ...created }));
  const { asked, context } = service(rows);
  const observe = makeObserver(context, startedAt, ['2']);
  expect(await observe(create('labels', { name: 'other' }))).toBeUndefined();
  expect(await observe(create('labels', { name: 'bug' }))).toBe(1);
  expect(await observe(create('labels', { name: 'bug' }))).toBe(3);
  expect(await observe(create('labels', { name: 'bug' }))).toBeUndefined();
  expect(asked).toEqual([['/labels', {}]]);
});

test.each<[string, string, unknown, boolean]>([
  ['a number and its text are one ID', '2', 2, true],
  ['a text of digits and its number are one ID', '2', '2', true],
  ['numbers beyond the exact range stay different', '9007199254740993', '9007199254740992', false],
  ['a zero at the start makes another ID', '02', 2, false],
  ['another form of a number is another ID', '1e3', 1000, false],
  [
    'a UUID is its text',
    'a1b2c3d4-0000-4000-8000-000000000001',
    'a1b2c3d4-0000-4000-8000-000000000001',
    true,
  ],
])('IDs of a journal: %s', async (_, journaled, id, isTaken) => {
  const { context } = service([{ id, name: 'bug', ...created }]);
  const change = create('labels', { name: 'bug' });
  expect(await makeObserver(context, startedAt, [journaled])(change)).toBe(isTaken ? undefined : id);
  const observe = makeObserver(context, startedAt, []);
  observe.take(journaled);
  expect(await observe(change)).toBe(isTaken ? undefined : id);
  expect(await makeObserver(context, startedAt, [])(change)).toBe(id);
});

test('stories are searched from the second before the run, because there is no list of them', async () => {
  const { asked, context } = service([{ id: 7, name: 'Pay', ...created }]);
  const observe = makeObserver(context, startedAt, []);
  expect(await observe(create('stories', { name: 'Pay' }))).toBe(7);
  expect(asked).toEqual([['/stories/search', { body: { created_at_start: '2026-01-01T00:00:09Z' } }]]);
});

test('a response that is not a list has no records', async () => {
  const { context } = service({ message: 'no' });
  expect(await makeObserver(context, startedAt, [])(create('labels', { name: 'bug' }))).toBeUndefined();
});

test.each<[string, Record<string, unknown>, Record<string, unknown>, boolean]>([
  [
    'a moment in another form is the same',
    { at: '2026-01-01T00:00:00Z' },
    { at: '2026-01-01T00:00:00.000Z' },
    true,
  ],
  ['another moment is another record', { at: '2026-01-01T00:00:00Z' }, { at: '2026-01-01T00:00:01Z' }, false],
  ['words are no moments', { name: 'a' }, { name: 'b' }, false],
  ['a number is no text', { estimate: 3 }, { estimate: '3' }, false],
  ['what was not set may be anything', { color: null }, { color: '#112233' }, true],
  [
    'items of a list come back in another form and order',
    { labels: [{ name: 'x' }, { name: 'Y' }], owner_ids: ['a', 'b'] },
    {
      labels: [
        { id: 2, name: 'y' },
        { id: 1, name: 'x' },
      ],
      owner_ids: ['b', 'a'],
    },
    true,
  ],
  ['a record without the given label is another one', { labels: [{ name: 'x' }] }, { labels: [] }, false],
  [
    'a record with one more label is another one',
    { labels: [{ name: 'x' }] },
    { labels: [{ name: 'x' }, { name: 'y' }] },
    false,
  ],
  ['the service adds followers', { follower_ids: ['a'] }, { follower_ids: ['a', 'b'] }, true],
  ['a field that the answer lacks tells nothing', { secret: 'x' }, {}, true],
  [
    'a moment of creation that was given may be old',
    { created_at: '2020-01-01T00:00:00Z' },
    { created_at: '2020-01-01T00:00:00Z' },
    true,
  ],
])('%s', (_, body, found, isSame) => {
  expect(isMadeBy(body, { ...created, ...found }, startedAt)).toBe(isSame);
});

test('made in the second before the start is recent enough: clocks have whole seconds', () => {
  const at = (created_at: string): boolean => isMadeBy({}, { created_at }, startedAt);
  expect(at('2026-01-01T00:00:09Z')).toBe(true);
  expect(at('2026-01-01T00:00:08Z')).toBe(false);
  expect(isMadeBy({}, {}, startedAt)).toBe(true);
});
