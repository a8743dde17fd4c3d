import { readdirSync, readFileSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';
import { readSpec } from './read.ts';

const root = new URL('../../', import.meta.url).pathname;
const statements = new Map<string, string>(
  ['sign-in', 'tracker', 'labels', 'store', 'program'].flatMap((name) =>
    [
      ...readFileSync(`${root}docs/spec/${name}.md`, 'utf8').matchAll(
        /<a id="([\w-]+)"><\/a>\*\*\S+\*\* (.+)/g,
      ),
    ].map(([, id, text]) => [`${name}#${id}`, text as string] as const),
  ),
);
const sentences = readSpec('sentences');
/** The rows of the tables of the documents. `all`: the test reads the table and checks each of its rows. */
const rows = readSpec('rows');

test('every sentence of the three documents has a statement in docs/spec', () => {
  const without = sentences.filter(({ statement = '' }) => !statements.has(statement));
  expect(without.map(({ document, sentence }) => `${document}: ${sentence}`)).toEqual([]);
  expect(new Set(sentences.map(({ document }) => document))).toEqual(
    new Set(['sign-in', 'tracker', 'labels and store']),
  );
});
test('every row of every transcribed table has a statement in docs/spec', () => {
  const tables = readdirSync(new URL('.', import.meta.url))
    .filter((file) => file.endsWith('.tsv') && file !== 'sentences.tsv' && file !== 'rows.tsv')
    .map((file) => file.slice(0, -'.tsv'.length));
  const expected = tables.flatMap((table) =>
    rows.some((row) => row.table === table && row.row === 'all')
      ? [`${table} all`]
      : readSpec(table).map((_, index) => `${table} ${index + 1}`),
  );
  expect(rows.map(({ table, row }) => `${table} ${row}`).sort()).toEqual(expected.sort());
  expect(rows.filter(({ statement = '' }) => !statements.has(statement))).toEqual([]);
});

type Node = Readonly<Record<string, unknown>> & { readonly type: string };
const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';
/** `test.each(rows)` as `test each`: the name of the function and of its modifiers. */
const wordsOf = (callee: unknown): string[] => {
  if (!isNode(callee)) return [];
  if (callee.type === 'Identifier') return [String(callee.name)];
  if (callee.type === 'CallExpression') return wordsOf(callee.callee);
  if (callee.type !== 'MemberExpression') return [];
  return [...wordsOf(callee.object), ...wordsOf(callee.property)];
};
const textOf = (source: string, node: unknown): string | undefined => {
  if (!isNode(node)) return undefined;
  if (node.type === 'TemplateLiteral') return source.slice(Number(node.start) + 1, Number(node.end) - 1);
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;
};
/** The titles of the tests that run. `npm test` also requires that each named test ran and passed (`test/tooling/covered.mjs`). */
const titlesOf = (source: string): string[] => {
  const found: string[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const one of node) visit(one);
    if (!isNode(node)) return;
    if (node.type === 'CallExpression') {
      const [name = '', ...modifiers] = wordsOf(node.callee);
      const [first, ...others] = node.arguments as unknown[];
      const title = textOf(source, first);
      const runs = !modifiers.some((word) => /^(skip|todo|fails)$/.test(word));
      if (/^(test|it)$/.test(name) && title !== undefined && others.length > 0 && runs) found.push(title);
    }
    for (const part of Object.values(node)) if (typeof part === 'object' && part !== null) visit(part);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return found;
};

const sources = new Map<string, string>();
const sourceOf = (file: string): string => {
  const known = sources.get(file) ?? readFileSync(`${root}${file}`, 'utf8');
  sources.set(file, known);
  return known;
};
/** `test/a.test.ts > part of a title`: the reason why the text does not name a test that runs; undefined if it does. */
const whyNoTest = (cell: string): string | undefined => {
  const [file = '', title = ''] = cell.split(' > ');
  if (!/^test\/.*\.test\.ts$/.test(file) || title === '') return 'not of the form FILE > TITLE';
  return titlesOf(sourceOf(file)).some((one) => one.includes(title))
    ? undefined
    : 'the file has no such test';
};

test('every sentence and every row names a test that exists and is not skipped', () => {
  const cells = [...sentences, ...rows].map((row) => row.test ?? '');
  const problems = [...new Set(cells)].flatMap((cell) => {
    const why = whyNoTest(cell);
    return why === undefined ? [] : [`${cell}: ${why}`];
  });
  expect(problems, 'after a test was renamed, change test/spec/sentences.tsv and rows.tsv').toEqual([]);
});
test('a test for all rows of a table reads the table', () => {
  const without = rows.filter(
    ({ table, row, test: cell = '' }) =>
      row === 'all' && !sourceOf(cell.split(' > ')[0] ?? '').includes(`'${table}'`),
  );
  expect(without).toEqual([]);
});
test('titles of skipped and of planned tests are not titles of tests that run', () => {
  const source = [
    "test('a', () => {});",
    "it.each([1])('b %i', () => {});",
    "test.skip('c', () => {});",
    "it.todo('d');",
    "test.runIf(x)('e', () => {});",
    "describe('f', () => { test('g', { timeout: 1 }, () => {}); });",
    'test(`h`, () => {});',
  ].join('\n');
  expect(titlesOf(source)).toEqual(['a', 'b %i', 'e', 'g', 'h']);
});

const cited = new Set(
  ['src', 'test'].flatMap((directory) =>
    readdirSync(`${root}${directory}`, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .flatMap((entry) => [
        ...readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8').matchAll(
          /\bspec\/([\w-]+#[a-z][a-z-]*)/g,
        ),
      ])
      .map(([, place]) => place as string),
  ),
);
/** Without its number: code cites a statement or its section. */
const sectionOf = (statement: string): string => statement.replace(/-\d+$/, '');
/** Statements about other programs, and scope: no code of this product can implement them. */
const describesOthers: ReadonlySet<string> = new Set([
  'sign-in#service',
  'tracker#service',
  'sign-in#data-api',
]);
test('code or a test cites the section of each of these statements', () => {
  const sections = new Set(sentences.map(({ statement = '' }) => sectionOf(statement)));
  const uncited = [...sections].filter((section) => {
    const isCited = [...cited].some((place) => place === section || place.startsWith(`${section}-`));
    return !isCited && !describesOthers.has(section) && !/#(measured|choices)/.test(section);
  });
  expect(uncited).toEqual([]);
});
