import { readdirSync, readFileSync } from 'node:fs';
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
const sources = ['src', 'test'].flatMap((directory) =>
  readdirSync(`${root}${directory}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8')),
);
const cited = new Set(
  sources.flatMap((text) =>
    [...text.matchAll(/\bspec\/([\w-]+#[a-z][a-z-]*)/g)].map(([, place]) => place as string),
  ),
);
/** Without its number: code cites a statement or its section. */
const sectionOf = (statement: string): string => statement.replace(/-\d+$/, '');
const sentences = readSpec('sentences');

// The rows of the tables of the documents are in the other tables of this folder.
test('every sentence of the three documents has a statement in docs/spec', () => {
  const without = sentences.filter(({ statement = '' }) => !statements.has(statement));
  expect(without.map(({ document, sentence }) => `${document}: ${sentence}`)).toEqual([]);
  expect(new Set(sentences.map(({ document }) => document))).toEqual(
    new Set(['sign-in', 'tracker', 'labels and store']),
  );
});

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
