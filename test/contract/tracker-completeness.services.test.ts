import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { operations } from '../../src/core/operation.ts';
import { trackerHandlers } from '../../src/mock-server/tracker/handlers.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { readSpec } from '../spec/read.ts';
import { cases } from './tracker-cases.ts';
import { covers } from '../support/covers.ts';

const root = new URL('../../', import.meta.url);
const all = operations(tracker.table);
const rows = all.filter(({ operation }) => !operation.extension);
const nameOf = ({ operation }: (typeof all)[number]): string => `${operation.method} ${operation.path}`;

test(
  'every row has a handler, a contract case and a line of the transcription',
  covers('spec/program#mock-server-1'),
  () => {
    const spec = new Set(readSpec('tracker-endpoints').map((row) => `${row.method} ${row.path}`));
    const handlers: Readonly<Record<string, Readonly<Record<string, unknown>>>> = trackerHandlers;
    const missing = rows.flatMap((row) => [
      ...(typeof handlers[row.resource]?.[row.verb] === 'function'
        ? []
        : [`${nameOf(row)}: add the handler ${row.resource}.${row.verb} to src/mock-server/tracker/`]),
      ...(Object.hasOwn(cases, nameOf(row))
        ? []
        : [`${nameOf(row)}: add its case to test/contract/tracker-cases.ts`]),
      ...(spec.has(nameOf(row)) ? [] : [`${nameOf(row)}: add its line to test/spec/tracker-endpoints.tsv`]),
    ]);
    expect(missing).toEqual([]);
  },
);

test('every row has a description and a source; an irreversible operation is confirmed', () => {
  for (const row of all) {
    const { summary, cites, method, cli } = row.operation;
    expect(summary, nameOf(row)).toMatch(/^[A-Z].*[^.]$/);
    expect(cites, nameOf(row)).toMatch(/^spec\/tracker#/);
    if (method === 'DELETE') expect(cli?.confirm, nameOf(row)).toMatch(/\{[a-z-]+\}.*\?/);
  }
});

test('deprecated rows name their replacement', () => {
  const old = rows.filter(({ operation }) => operation.deprecated !== undefined);
  expect(old.map(({ resource, verb, operation }) => [resource, verb, operation.deprecated])).toEqual(
    ['list', 'create', 'get', 'update', 'delete', 'epics'].map((verb) => [
      'milestones',
      verb,
      `objectives ${verb}`,
    ]),
  );
});

/** Names of exported rules with the text before each. */
const rules = readdirSync(new URL('src/mock-server/tracker/rules/', root)).flatMap((file) => {
  const text = readFileSync(new URL(`src/mock-server/tracker/rules/${file}`, root), 'utf8');
  return [...text.matchAll(/((?:\/\*\*(?:[^*]|\*(?!\/))*\*\/\n)?)export const (\w+) = /g)].map((match) => ({
    file,
    comment: match[1] ?? '',
    name: match[2] ?? '',
  }));
});

test(
  'a rule is used by a handler, and one about the document cites it',
  covers('spec/program#mock-server-1'),
  () => {
    const sources = readdirSync(new URL('src/mock-server/tracker/', root), { recursive: true })
      .filter((file) => String(file).endsWith('.ts'))
      .map(
        (file) =>
          [String(file), readFileSync(new URL(`src/mock-server/tracker/${file}`, root), 'utf8')] as const,
      );
    expect(rules.length).toBeGreaterThan(25);
    for (const { file, name } of rules) {
      const used = sources.filter(
        ([path, text]) => path !== `rules/${file}` && new RegExp(`\\b${name}\\b`).test(text),
      );
      expect(used.length, `${name} of ${file} is used`).toBeGreaterThan(0);
    }
    const files = new Set(rules.map(({ file }) => file));
    for (const file of files) {
      const text = readFileSync(new URL(`src/mock-server/tracker/rules/${file}`, root), 'utf8');
      expect(text, `${file} cites the document`).toMatch(/spec\/(tracker|program)#/);
    }
  },
);
