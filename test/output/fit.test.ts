/** Tables fit 40 to 200 columns; opsctl never truncates an id or a name. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { placesOf, wordLines } from '../../src/core/format.ts';
import { columnTitles, recordText, tableRows } from '../../src/output/table.ts';

const plain = (text: string): string => text;
const theme = { bold: plain, dim: plain, red: plain, yellow: plain, green: plain };
const uuid = '11111111-0000-4000-8000-000000000001';
const words = fc
  .array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 0, maxLength: 30 })
  .map((all) => all.join(' '));
const row = fc.record({
  id: fc.constantFrom(uuid, 4711, 1),
  name: words,
  description: words,
  state: fc.constantFrom('open', 'closed'),
  'stats.num_stories_total': fc.nat(),
});

test('no line is longer than the terminal, and no id is cut or broken', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 40, max: 200 }),
      async (rows, width) => {
        const text = await tableRows({ columns: undefined, hasHeader: true, width, theme }).rows(rows);
        for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(width);
        for (const { id } of rows) expect(text).toContain(String(id));
        const letters = text.replaceAll(/\s+/g, '');
        for (const { name } of rows) for (const word of name.split(' ')) expect(letters).toContain(word);
      },
    ),
    { numRuns: 200 },
  );
});

test('the longest free text pays first', async () => {
  const rows = [
    {
      id: 105,
      name: 'onboarding',
      description: 'everything that a new colleague needs in the first week here',
      open: 3,
    },
  ];
  const text = await tableRows({ columns: undefined, hasHeader: true, width: 60, theme }).rows(rows);
  expect(text).toBe(
    'ID   NAME        DESCRIPTION                            OPEN\n105  onboarding  everything that a new colleague…       3\n',
  );
});

test('a table and a record show a time to the second', async () => {
  const at = '2026-11-27T01:53:42.714Z';
  const rows = [{ at, zone: '2026-11-27T01:53:42.7+01:00', note: `started at ${at}`, quick: '01:53:42.714' }];
  const options = { columns: undefined, hasHeader: false, width: 120, theme };
  expect((await tableRows(options).rows(rows)).trim().split(/ {2,}/)).toEqual([
    '2026-11-27T01:53:42Z',
    '2026-11-27T01:53:42+01:00',
    `started at ${at}`,
    '01:53:42.714',
  ]);
  expect((await recordText({ at }, [], options)).text).not.toContain('.714');
});

test('headings are words, with parents only for duplicates', () => {
  expect(columnTitles(['id', 'stats.num_stories_total', 'profile.mention_name', 'createdAt'])).toEqual([
    'ID',
    'STORIES',
    'MENTION NAME',
    'CREATED',
  ]);
  expect(columnTitles(['owner.name', 'team.name', 'labels.0'])).toEqual([
    'OWNER NAME',
    'TEAM NAME',
    'LABELS 0',
  ]);
});
test('the heading of a time is one word, unless another column has that word', () => {
  expect(columnTitles(['id', 'updated_at', 'createdAt'])).toEqual(['ID', 'UPDATED', 'CREATED']);
  expect(columnTitles(['id', 'entity_type'])).toEqual(['ID', 'TYPE']);
  expect(columnTitles(['is_undone', 'issue'])).toEqual(['UNDONE', 'ISSUE']);
  expect(columnTitles(['done', 'is_done'])).toEqual(['DONE', 'IS DONE']);
  expect(columnTitles(['stats.is_done', 'stats.num_stories_done'])).toEqual(['IS DONE', 'STORIES DONE']);
  expect(columnTitles(['stats.num_stories_done', 'stats.num_stories_total'])).toEqual(['DONE', 'STORIES']);
  expect(columnTitles(['started', 'started_at', 'at'])).toEqual(['STARTED', 'STARTED AT', 'AT']);
});

test('a record shows the important fields; --all-fields shows all fields', async () => {
  const record = {
    entity_type: 'story',
    id: 1,
    name: 'x',
    description: '',
    ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`empty_${i}`, null])),
    owner_ids: [uuid],
  };
  const options = { columns: undefined, hasHeader: true, width: 40, theme };
  const { text, hidden } = await recordText(record, ['id', 'name'], options);
  expect(text).toBe(`id         1\nname       x\nowner_ids\n  ${uuid}\n`);
  expect(hidden).toBe(14);
  const stats = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`number_${i}`, 0]));
  const short = await recordText({ id: 1, name: 'x', stats }, ['id', 'name'], options);
  expect([short.text, short.hidden]).toEqual(['id    1\nname  x\n', 1]);
  const all = await recordText(record, ['id', 'name'], { ...options, allFields: true });
  expect(all.text.split('\n').length).toBeGreaterThan(17);
});

test('a narrow table drops its last columns before it becomes records', async () => {
  const row = {
    id: 112,
    name: 'onboarding of customers',
    state: 'published',
    owner: 'ana',
    updated_at: '2026-03-31T12:00:00Z',
  };
  const columns = Object.keys(row);
  const table = tableRows({ columns, hasHeader: true, width: 40, theme, canDropColumns: true });
  const text = await table.rows([row]);
  expect(text.split('\n')[0]).toMatch(/^ID +NAME +STATE/);
  expect(text).not.toContain('UPDATED');
  expect(table.droppedColumns?.()).toBeGreaterThan(0);
  const asked = tableRows({ columns, hasHeader: true, width: 30, theme });
  expect(await asked.rows([row])).toContain('2026-03-31T12:00:00Z');
});

test('a file name stays on one line if the last columns can be left out', async () => {
  const row = {
    name: 'reh-20261127T082847Z-r1.db',
    taken_at: '2026-11-27T08:28:47Z',
    size_bytes: 57_376,
    hash: '2cfa2eba',
  };
  const options = { columns: Object.keys(row), hasHeader: true, width: 60, theme };
  const [heading, line] = (await tableRows({ ...options, canDropColumns: true }).rows([row])).split('\n');
  expect(heading).toMatch(/^NAME +TAKEN +SIZE$/);
  expect(line).toContain(row.name);
  // Every column was requested, so the name is folded.
  const all = await tableRows(options).rows([row]);
  expect([all.includes(row.hash), all.includes(row.name)]).toEqual([true, false]);
});

test('a time is never cut: the name next to it wraps instead', async () => {
  const row = {
    id: 111,
    name: 'Measure the time to the first order',
    state: 'In Progress',
    updated_at: '48 minutes ago',
  };
  const table = tableRows({
    columns: Object.keys(row),
    hasHeader: true,
    width: 56,
    theme,
    canDropColumns: true,
  });
  const text = await table.rows([row]);
  expect(text).toContain('48 minutes ago');
  expect(text).not.toContain('…');
});

test('later rows keep the layout of the first rows on a terminal', async () => {
  const table = tableRows({ columns: ['title', 'state', 'count'], hasHeader: true, width: 80, theme });
  const first = await table.rows([{ title: 'Contract', state: 'open', count: 4 }]);
  const later = await table.rows([{ title: 'Sensitivity of data', state: 'under review', count: 1 }]);
  const at = first.split('\n')[1]?.indexOf('4');
  expect(later.split('\n')[0]?.indexOf('1')).toBe(at);
  for (const word of ['Sensiti', 'under', 'data']) expect(later.replaceAll(/\s+/g, '')).toContain(word);
});

test('free text is cut between words', async () => {
  const text = await tableRows({ columns: ['id', 'note'], hasHeader: true, width: 30, theme }).rows([
    { id: 1, note: 'set labels.url in the configuration file' },
  ]);
  expect(text.split('\n')[1]).toBe('1   set labels.url in the…');
});

test('a remedy is never cut', async () => {
  const remedy = 'run opsctl config set tracker.url https://tracker.example.com/api/v3 and repeat';
  const row = { check: 'tracker address', state: 'warn', found: 'no address is set for the tracker', remedy };
  const text = await tableRows({ columns: Object.keys(row), hasHeader: true, width: 80, theme }).rows([row]);
  for (const word of ['tracker.url', 'repeat']) expect(text.replaceAll(/\s+/g, '')).toContain(word);
  expect(text.split('\n').every((line) => line.length <= 80)).toBe(true);
});

test('the last column of a fixed layout uses the rest of the line for later rows', async () => {
  const table = tableRows({ columns: ['id', 'changes'], hasHeader: true, width: 60, theme });
  await table.rows([{ id: 1, changes: '' }]);
  const text = 'name: onboarding → onboarding of customers';
  expect(await table.rows([{ id: 1, changes: text }])).toBe(`1   ${text}\n`);
});

test.each<[width: number | undefined, rows: number, words: number]>([
  [undefined, 500, 300],
  [100, 500, 300],
  [100, 4, 40_000],
  [undefined, 150_000, 1],
])('a table of width %s accepts %s rows with %s words each in one batch', async (width, count, size) => {
  const name = 'a '.repeat(size - 1);
  const rows = Array.from({ length: count }, (_, i) => ({ name: `${name}word${i}` }));
  const text = await tableRows({ columns: ['name'], hasHeader: true, width, theme }).rows(rows);
  expect(text.includes(`word${count - 1}`)).toBe(true);
});

test('a heading keeps one line where free text is cut in any case', async () => {
  const rows = [{ changed_at: 'now', actor_name: 'Ana', note: 'a word '.repeat(40).trim() }];
  const text = await tableRows({
    columns: Object.keys(rows[0] ?? {}),
    hasHeader: true,
    width: 60,
    theme,
  }).rows(rows);
  expect(text.split('\n')[0]).toBe('CHANGED  ACTOR NAME  NOTE');
});

test.each([40, 60, 80])('a record breaks no word that fits on its own line of %s places', async (width) => {
  const word = '2026-11-27T18:39:21.664+01:00,';
  const record = { state_directory: 'short', clock_of_server: `time: ${word} offset ms: 0, frozen: false` };
  const { text } = await recordText(record, [], { columns: undefined, hasHeader: true, width, theme });
  expect(text.split(/\s+/)).toContain(word);
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(width);
});

test('a record whose fields are mostly empty shows those with a value', async () => {
  const options = { columns: undefined, hasHeader: true, width: 80, theme };
  const record = { mode: 'ask', user: null, seconds: null, scopes: [] };
  expect(await recordText(record, [], options)).toEqual({ text: 'mode  ask\n', hidden: 3 });
  const half = await recordText({ mode: 'ask', user: null }, [], options);
  expect(half.text.split('\n')).toContain('user');
});

test('lines end between ideographs, and never before a closing sign', () => {
  const lines = wordLines('登録フォームの検証。エラーを、画面に表示する und mehr', 20);
  expect(lines.join('').replaceAll(' ', '')).toBe('登録フォームの検証。エラーを、画面に表示するundmehr');
  for (const line of lines) {
    expect(placesOf(line)).toBeLessThanOrEqual(20);
    expect(line).not.toMatch(/^[、。]/);
  }
});
