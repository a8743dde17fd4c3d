/**
 * A value in each form that people write, through each way into the tracker: a flag, a body, CSV, a mapped column, NDJSON, sync,
 * a workspace file in YAML and JSON, and the editor. One rule decides before a request, whatever the way.
 */
import { describe, expect, test } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { type Ran, trackerInMemory } from '../support/in-memory.ts';
import { slice } from '../support/slice.ts';

type Row = Readonly<Record<string, unknown>>;
const records: Readonly<Record<string, Row>> = {
  labels: { name: 'x', external_id: 'K-1' },
  stories: { name: 'x', external_id: 'K-1', workflow_state_id: 11 },
  iterations: { name: 'x', start_date: '2026-01-01', end_date: '2026-01-14' },
  'linked-files': { name: 'x', type: 'url', url: 'https://example.com/' },
};
/** Lists of a workspace file. */
const listed: Readonly<Record<string, string>> = {
  labels: 'labels',
  iterations: 'iterations',
  'linked-files': 'linked_files',
};
const edited = new Set(['deadline', 'story_type', 'estimate']);
const cellOf = (value: unknown): string => `"${String(value).replaceAll('"', '""')}"`;
const csvOf = (body: Row, nameOf = (name: string): string => name): string =>
  `${Object.keys(body).map(nameOf).join(',')}\n${Object.values(body).map(cellOf).join(',')}\n`;
const yamlOf = (body: Row): string =>
  Object.entries(body)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    .join('\n    ');
/** An editor that replaces one field. */
const editing =
  (field: string, value: unknown) =>
  (host: Host): Host => ({
    ...host,
    env: { ...host.env, EDITOR: 'ed' },
    processes: {
      ...host.processes,
      run: async (_, args) => {
        const path = args.map(String).at(-1) ?? '';
        const text = (await host.files.read(path)) ?? '';
        const line = new RegExp(`^${field}:.*$`, 'm');
        await host.files.replace(path, text.replace(line, `${field}: ${JSON.stringify(value)}`), 0o600);
        return { code: 0, signal: null, stdout: '', stderr: '', timedOut: false };
      },
    },
  });
const flagsOf = (body: Row): string[] =>
  Object.entries(body).flatMap(([key, value]) => [`--${key.replaceAll('_', '-')}`, String(value)]);
const waysOf = (resource: string, field: string, body: Row): Readonly<Record<string, readonly string[]>> => {
  const create = [resource, 'create', '-o', 'json'];
  const bulk = ['--resource', resource, '--op', 'create', '-o', 'ndjson'];
  const sync = ['--resource', resource, '-o', 'ndjson'];
  return {
    flag: [...create, ...flagsOf(body)],
    body: [...create, '--body', JSON.stringify(body)],
    'body of a file': [...create, '--body', '@body.json'],
    csv: ['bulk', '-f', 'rows.csv', ...bulk],
    'mapped column': ['bulk', '-f', 'mapped.csv', ...bulk, '--map', `Odd=${field}`],
    ndjson: ['bulk', '-f', 'rows.ndjson', ...bulk],
    ...('external_id' in body
      ? { sync: ['sync', '-f', 'rows.ndjson', ...sync], 'sync of csv': ['sync', '-f', 'rows.csv', ...sync] }
      : {}),
    ...(listed[resource] === undefined
      ? {}
      : { yaml: ['apply', '-f', 'w.yaml', '--yes'], json: ['apply', '-f', 'w.json', '--yes'] }),
    ...(resource === 'stories' && edited.has(field)
      ? { editor: ['stories', 'edit', 'ID', '-o', 'json'] }
      : {}),
  };
};
const sendThrough = async (resource: string, field: string, value: unknown) => {
  const body = { ...records[resource], [field]: value };
  const files = {
    'body.json': JSON.stringify(body),
    'rows.csv': csvOf(body),
    'mapped.csv': csvOf(body, (name) => (name === field ? 'Odd' : name)),
    'rows.ndjson': JSON.stringify(body),
    'w.yaml': `${listed[resource]}:\n  - ${yamlOf(body)}\n`,
    'w.json': JSON.stringify({ [listed[resource] ?? '']: [body] }),
  };
  const results: Record<string, Ran> = {};
  for (const [way, argv] of Object.entries(waysOf(resource, field, body))) {
    const at = trackerInMemory(files);
    const id =
      way === 'editor' ? at.send('POST', '/stories', { name: 'x', workflow_state_id: 11 }).id : undefined;
    results[way] = await at.run(
      argv.map((word) => (word === 'ID' ? String(id) : word)),
      id === undefined ? {} : { change: editing(field, value) },
    );
  }
  return results;
};
const sentIn = ({ writes }: Ran, field: string): unknown =>
  writes.filter(({ path }) => !path.endsWith('/search')).map(({ body }) => body[field]);

const refused: readonly (readonly [resource: string, field: string, values: readonly string[]])[] = [
  ['labels', 'color', ['red', '#FFF', '#ff00001', 'ff0000', ' #ff0000', '#ff0000 ', '＃ff0000']],
  [
    'stories',
    'deadline',
    ['2026-02-30', '03/04/2026', 'tomorrow', '1e5', '20261201', '2026-12-01T25:00:00Z'],
  ],
  ['stories', 'story_type', ['Bug', 'bugs', ' bug', 'bug\u00a0']],
  ['stories', 'estimate', ['one', '01', '1e0', '0x1', '１', 'TRUE', '1,5']],
  [
    'iterations',
    'start_date',
    ['2026-02-30', '03/04/2026', '2026-1-1', '2026-01-02T00:00:00Z', ' 2026-01-02'],
  ],
  ['linked-files', 'url', ['example.com', 'ftp://example.com/', ' https://example.com/', 'https://a b']],
];
const refusals = refused.flatMap(([resource, field, values]) =>
  values.map((value) => ({ resource, field, value })),
);
describe('a value that the service does not have', () => {
  test.each(slice(refusals, 12))('$resource $field "$value" is refused before a request', async (one) => {
    const { resource, field, value } = one;
    const results = await sendThrough(resource, field, value);
    for (const [way, ran] of Object.entries(results)) {
      expect([way, ran.code, sentIn(ran, field)]).toEqual([way, ran.code === 3 ? 3 : 2, []]);
      expect([way, `${ran.out}${ran.err}`.includes(JSON.stringify(value).slice(1, -1))]).toEqual([way, true]);
    }
  });
});

describe('a time', () => {
  test.each([
    ['2026-12-01', '2026-12-01T00:00:00Z'],
    ['2026-12-01T10:00', '2026-12-01T10:00Z'],
    ['2026-12-01 10:00:00', '2026-12-01T10:00:00Z'],
    ['2026-12-01T10:00:00+01:00', '2026-12-01T10:00:00+01:00'],
  ])('%s has one meaning in each way', async (value, meaning) => {
    for (const [way, ran] of Object.entries(await sendThrough('stories', 'deadline', value)))
      expect([way, ran.code, sentIn(ran, 'deadline')]).toEqual([way, 0, [meaning]]);
  });
  test('inside a body is read as well', async () => {
    const body = { name: 't', story_contents: { deadline: '2026-12-01' } };
    const ran = await trackerInMemory().run([
      ...['entity-templates', 'create', '--body', JSON.stringify(body), '-o', 'json'],
    ]);
    expect([ran.code, ran.writes.map((one) => one.body.story_contents.deadline)]).toEqual([
      0,
      ['2026-12-01T00:00:00Z'],
    ]);
  });
});

test.each([
  { field: 'name', value: 'a\u0007' },
  { field: 'name', value: 'A\u001b[31mred' },
])('the editor refuses a $field with a hidden character', async ({ field, value }) => {
  const at = trackerInMemory();
  const { id } = at.send('POST', '/stories', { name: 'x', workflow_state_id: 11 });
  const ran = await at.run(['stories', 'edit', String(id), '-o', 'json'], { change: editing(field, value) });
  expect([ran.code, ran.writes]).toEqual([2, []]);
  expect(`${ran.out}${ran.err}`).toContain('remove the character');
});

describe('a flag with a list of texts', () => {
  const links = async (...texts: readonly string[]) => {
    const words = texts.flatMap((text) => ['--external-links', text]);
    const ran = await trackerInMemory().run([
      ...['stories', 'create', '--name', 'x', '--workflow-state-id', '11', '-o', 'json', ...words],
    ]);
    return ran.code === 0 ? sentIn(ran, 'external_links') : ran.code;
  };
  test('uses each text as it is, and reads brackets as a JSON list', async () => {
    expect(await links(' a ', '[b] c')).toEqual([[' a ', '[b] c']]);
    expect(await links('["[a]", "b"]')).toEqual([['[a]', 'b']]);
  });
  test.each(['[a]', '["a",]', '[“a”]', "['a']"])(
    'refuses %s, which may be a list or a text',
    async (text) => {
      expect(await links(text)).toBe(2);
    },
  );
});
