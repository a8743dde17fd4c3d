/** `-o name` prints what other commands accept: the unique name of a record, or its ID. */
import { expect, test } from 'vitest';
import { uniqueNameOf } from '../../src/cli/derived/command.ts';
import { operations, type Table } from '../../src/core/operation.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { trackerInMemory } from '../support/in-memory.ts';

const table: Table = tracker.table;
const rows = operations(table);
const named = rows.filter(({ operation }) => uniqueNameOf(operation) !== undefined);

test('each resource with unique names prints them in lists and for single records', () => {
  const kinds = new Map<string, Set<string | undefined>>();
  for (const { resource, operation } of rows) {
    const isOwn = ['list', 'get', 'create', 'update'].some((verb) => table[resource]?.[verb] === operation);
    if (!isOwn || operation.returns === undefined) continue;
    kinds.set(resource, (kinds.get(resource) ?? new Set()).add(uniqueNameOf(operation)));
  }
  expect([...kinds].filter(([, fields]) => fields.size > 1)).toEqual([]);
  expect(new Set(named.map(({ resource }) => resource))).toContain('labels');
});

test.each(['two words', '2026', '-x', '@home', 'name:120', 'bug', 'name: a'])(
  'a label called %j is printed so that the next command finds it',
  async (name) => {
    const at = trackerInMemory();
    const created = (await at.run(['labels', 'create', '--name', name, '-o', 'name'])).out.trimEnd();
    const listed = (await at.run(['labels', 'list', '-o', 'name'])).out.trimEnd().split('\n');
    expect(listed).toContain(created);
    for (const command of [['get'], ['update', '--color', '#112233']]) {
      const [verb = '', ...flags] = command;
      const ran = await at.run(['labels', verb, created, ...flags, '-o', 'name']);
      expect(ran.out).toBe(`${created}\n`);
    }
    expect((await at.run(['labels', 'get', created, '-o', 'json'])).json()).toMatchObject({ name });
  },
);

const readable = rows.filter(
  ({ resource, operation }) =>
    table[resource]?.list === operation &&
    table[resource]?.get !== undefined &&
    operation.params === undefined,
);
test.each(readable.map(({ resource }) => resource))(
  '%s get accepts each line of list -o name',
  async (resource) => {
    const at = trackerInMemory();
    const { out } = await at.run([resource, 'list', '-o', 'name']);
    for (const line of out.split('\n').filter((text) => text !== ''))
      expect((await at.run([resource, 'get', line, '-o', 'name'])).out).toBe(`${line}\n`);
  },
);
