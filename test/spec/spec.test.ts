import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readSpec, rowsFrom, type SpecRow } from './read.ts';

// Checks the transcription itself; other tests compare it with the operation tables.

const names = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file.endsWith('.tsv'))
  .map((file) => file.slice(0, -'.tsv'.length))
  .sort();

const rowCounts: Record<string, number> = {
  'kv-errors': 6,
  'kv-interfaces': 7,
  'kv-items': 9,
  'kv-limits': 7,
  'kv-transitions': 4,
  'labels-endpoints': 26,
  'labels-lifecycle': 25,
  'labels-query': 33,
  'labels-resources': 6,
  'labels-schemas': 301,
  'labels-transitions': 5,
  'oauth-checklist': 213,
  'oauth-clients': 5,
  'oauth-errors': 17,
  'oauth-events': 3,
  'oauth-limits': 6,
  'oauth-params': 21,
  'oauth-pkce': 3,
  'oauth-redirects': 2,
  'oauth-scopes': 7,
  'oauth-token-fields': 7,
  'oauth-transitions': 14,
  rows: 110,
  sentences: 141,
  'tracker-endpoints': 99,
  'tracker-errors': 8,
  'tracker-inputs': 212,
  'tracker-limits': 6,
  'tracker-nested-inputs': 78,
  'tracker-records': 560,
  'tracker-text-limits': 21,
  'tracker-transitions': 11,
};

const count = (rows: SpecRow[], key: (row: SpecRow) => string): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const row of rows) counts[key(row)] = (counts[key(row)] ?? 0) + 1;
  return counts;
};
const cell = (row: SpecRow, column: string): string => row[column] ?? '';
const endpointOf = (row: SpecRow): string => `${cell(row, 'method')} ${cell(row, 'path')}`;
const list = (text: string): string[] => (text === '' ? [] : text.split('|'));
const repeated = (keys: string[]): string[] => keys.filter((key, at) => keys.indexOf(key) !== at);

test('every table is present and none is unaccounted for', () => {
  expect(names).toEqual(Object.keys(rowCounts).sort());
});

for (const name of names) {
  test(`${name}: whole rows, clean cells, no row twice`, () => {
    const rows = readSpec(name);
    const where = `test/spec/${name}.tsv; when a row was added on purpose, change rowCounts in test/spec/spec.test.ts`;
    expect(rows, where).toHaveLength(rowCounts[name] ?? -1);
    expect(repeated(rows.map((row) => Object.values(row).join('\t')))).toEqual([]);
    for (const row of rows) {
      for (const value of Object.values(row)) {
        expect(value).toBe(value.trim());
        expect(list(value)).not.toContain('');
      }
    }
    const text = readFileSync(new URL(`./${name}.tsv`, import.meta.url), 'utf8');
    expect(text.endsWith('\n')).toBe(true);
    expect(text).not.toMatch(/\r|\n\n|\ufeff|\ufffd/);
  });
}

test('a row with an incorrect number of cells throws, and so does a name without a table', () => {
  expect(rowsFrom('t', 'a\tb\n1\t\n')).toEqual([{ a: '1', b: '' }]);
  expect(() => rowsFrom('t', 'a\tb\n1\t2\n3\n')).toThrow('t.tsv:3: 1 cells, the header has 2');
  expect(() => rowsFrom('t', 'a\tb\n1\t2\t3\n')).toThrow('t.tsv:2: 3 cells, the header has 2');
  expect(() => readSpec('absent')).toThrow('ENOENT');
});

test('tracker: endpoints by method and status', () => {
  const rows = readSpec('tracker-endpoints');
  expect(repeated(rows.map(endpointOf))).toEqual([]);
  expect(count(rows, (row) => cell(row, 'method'))).toEqual({ GET: 50, PUT: 19, POST: 17, DELETE: 13 });
  expect(count(rows, (row) => cell(row, 'status'))).toEqual({ 200: 65, 201: 15, 204: 19 });
  expect(rows.filter((row) => cell(row, 'deprecated') === 'yes').map(endpointOf)).toEqual([
    'GET /milestones',
    'POST /milestones',
    'GET /milestones/{milestone-public-id}',
    'PUT /milestones/{milestone-public-id}',
    'DELETE /milestones/{milestone-public-id}',
    'GET /milestones/{milestone-public-id}/epics',
  ]);
  // spec/tracker: the reply of GET /integrations/webhook/{id} is not shown; a 204 has none
  expect(
    rows.filter((row) => cell(row, 'success') === '' && cell(row, 'status') !== '204').map(endpointOf),
  ).toEqual(['GET /integrations/webhook/{integration-public-id}']);
});

test('tracker: every success record is described', () => {
  const records = new Set(readSpec('tracker-records').map((row) => cell(row, 'record')));
  for (const row of readSpec('tracker-endpoints')) {
    const record = cell(row, 'success').replace(/^\[(.*)\]$/, '$1');
    if (record !== '') expect(records, endpointOf(row)).toContain(record);
  }
});

test('tracker: 199 body fields over 31 endpoints, 13 query parameters over 10', () => {
  const rows = readSpec('tracker-inputs');
  const query = rows.filter((row) => cell(row, 'where') === 'query');
  const body = rows.filter((row) => cell(row, 'where') !== 'query');
  expect([body.length, new Set(body.map(endpointOf)).size]).toEqual([199, 31]);
  expect([query.length, new Set(query.map(endpointOf)).size]).toEqual([13, 10]);
  expect(repeated(rows.map((row) => `${endpointOf(row)} ${cell(row, 'field')}`))).toEqual([]);
  const endpoints = new Set(readSpec('tracker-endpoints').map(endpointOf));
  for (const row of rows) expect(endpoints).toContain(endpointOf(row));
});

test('tracker: input cells match the header of their column', () => {
  const types = new Set(
    'str int bool uuid datetime date color file enum object [int] [uuid] [object] KeyResultValue CreateStoryContents UpdateStoryContents'.split(
      ' ',
    ),
  );
  for (const row of readSpec('tracker-inputs')) {
    const at = `${endpointOf(row)} ${cell(row, 'field')}`;
    expect(types, at).toContain(cell(row, 'type'));
    expect(['query', 'body', 'multipart'], at).toContain(cell(row, 'where'));
    expect(cell(row, 'max'), at).toMatch(/^\d*$/);
    expect(cell(row, 'min'), at).toMatch(/^\d*$/);
    expect(list(cell(row, 'enum')).length > 0, at).toBe(cell(row, 'type') === 'enum');
    for (const column of ['required', 'nullable', 'deprecated'])
      expect(['', 'yes'], at).toContain(cell(row, column));
    if (cell(row, 'limit-source') !== '') {
      expect(cell(row, 'limit-source'), at).toBe('text-limits');
      expect(cell(row, 'type'), at).toBe('str');
      expect(cell(row, 'max'), at).not.toBe('');
    }
  }
});

test('tracker: milestone endpoints take and give what the objective endpoints do', () => {
  const asObjective = (row: SpecRow): string =>
    Object.values(row).join('\t').replaceAll('milestone', 'objective').replaceAll('Milestone', 'Objective');
  const under = (name: string, start: string): SpecRow[] =>
    readSpec(name).filter((row) => cell(row, 'path').startsWith(start));
  expect(under('tracker-inputs', '/milestones').map(asObjective)).toEqual(
    under('tracker-inputs', '/objectives').map(asObjective),
  );
  expect(
    under('tracker-endpoints', '/milestones').map((row) => asObjective({ ...row, deprecated: '' })),
  ).toEqual(under('tracker-endpoints', '/objectives').map(asObjective));
});

test('tracker: EpicSlim and IterationSlim are the full records without the documented keys', () => {
  const fields = (record: string): string[] =>
    readSpec('tracker-records')
      .filter((row) => cell(row, 'record') === record)
      .map((row) => cell(row, 'field'));
  expect(fields('EpicSlim')).toEqual(
    fields('Epic').filter((field) => field !== 'comments' && field !== 'health'),
  );
  expect(fields('IterationSlim')).toEqual(fields('Iteration').filter((field) => field !== 'description'));
});

test('tracker: nested record fields have their parent row', () => {
  const rows = readSpec('tracker-records');
  const known = new Set(rows.map((row) => `${cell(row, 'record')} ${cell(row, 'field')}`));
  for (const row of rows) {
    const parent = cell(row, 'field').split('.').slice(0, -1).join('.').replace(/\[\]$/, '');
    if (parent !== '') expect(known).toContain(`${cell(row, 'record')} ${parent}`);
  }
});

test('labels: 26 methods on 20 paths', () => {
  const rows = readSpec('labels-endpoints');
  expect(count(rows, (row) => cell(row, 'method'))).toEqual({ POST: 13, GET: 8, DELETE: 3, PATCH: 2 });
  expect(repeated(rows.map(endpointOf))).toEqual([]);
  expect(repeated(rows.map((row) => cell(row, 'id')))).toEqual([]);
  expect(new Set(rows.map((row) => cell(row, 'path'))).size).toBe(20);
  const listed = rows.flatMap((row) => list(cell(row, 'query')).map((name) => `${cell(row, 'id')} ${name}`));
  expect(listed).toEqual(
    readSpec('labels-query').map((row) => `${cell(row, 'id')} ${cell(row, 'parameter')}`),
  );
});

test('labels: 88 schemas with 292 fields, every reference described', () => {
  const rows = readSpec('labels-schemas');
  const schemas = new Set(rows.map((row) => cell(row, 'schema')));
  expect(schemas.size).toBe(88);
  expect(rows.filter((row) => cell(row, 'field') !== '')).toHaveLength(292);
  for (const row of rows) {
    const type = cell(row, 'type').replace(/\[\]$/, '');
    if (/^[A-Z]/.test(type)) expect(schemas).toContain(type);
  }
  for (const row of readSpec('labels-endpoints')) {
    for (const schema of [cell(row, 'body'), cell(row, 'response')])
      if (schema !== '') expect(schemas).toContain(schema);
  }
});

test('oauth: checklist numbers run without a gap', () => {
  const lines: Record<string, number[]> = {};
  for (const row of readSpec('oauth-checklist')) {
    const [section = '', line = ''] = cell(row, 'number').split('.');
    lines[section] = [...(lines[section] ?? []), Number(line)];
    for (const mark of list(cell(row, 'mark'))) expect(['S', 'R', 'G', 'D']).toContain(mark);
  }
  const sizes = Object.entries(lines).map(([section, numbers]) => {
    expect(numbers, `section ${section}`).toEqual(numbers.map((_, at) => at + 1));
    return [Number(section), numbers.length];
  });
  expect(sizes).toEqual([
    [0, 9],
    [1, 26],
    [2, 42],
    [3, 17],
    [4, 8],
    [5, 29],
    [6, 18],
    [7, 13],
    [8, 13],
    [9, 4],
    [10, 14],
    [11, 8],
    [12, 12],
  ]);
});
