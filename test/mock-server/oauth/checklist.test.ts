import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readSpec } from '../../spec/read.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Titles of tests carry the number of the line that they hold: `[OAS-2.6]`. */
const TAG = /\[OAS-(\d+\.\d+)\]/g;
const TITLE = /\b(?:test|describe)(?:\.each)?\(/;

const tagsIn = (text: string): string[] => [...text.matchAll(TAG)].map(([, number]) => number ?? '');
const suites = ['contract', 'mock-server/oauth', 'browser'].flatMap((directory) =>
  readdirSync(`${root}${directory}`)
    .filter(
      (name) =>
        name.endsWith('.test.ts') &&
        (directory !== 'contract' || name.startsWith('auth')) &&
        name !== 'checklist.test.ts',
    )
    .map((name) => ({
      name: `${directory}/${name}`,
      text: readFileSync(`${root}${directory}/${name}`, 'utf8'),
    })),
);
const held = new Set(suites.flatMap(({ text }) => tagsIn(text)));
const rows = readSpec('oauth-checklist');
const marks = (row: Record<string, string>): string[] => (row.mark ?? '').split('|');
/** S and R lines, lines whose open value was decided, and the decisions of section 0 and 9. A line that is only G is what the real service does beyond the document. */
const isOwed = (row: Record<string, string>): boolean =>
  marks(row).some((mark) => mark === 'S' || mark === 'R' || mark === 'D') || row.mark === '';

test('every line S, R or decided D of the checklist has a test that names it', () => {
  const owed = rows.filter(isOwed);
  const missing = owed
    .filter(({ number }) => !held.has(number ?? ''))
    .map(({ number, text }) => `${number} ${text}`);
  const extra = rows.filter((row) => !isOwed(row) && held.has(row.number ?? '')).length;
  const count = (mark: string) => owed.filter((row) => marks(row).includes(mark)).length;
  process.stdout.write(
    `checklist of the authorization server: ${owed.length - missing.length} of ${owed.length} lines have a test ` +
      `(${count('S')} of the document, ${count('R')} of RFCs, ${count('D')} decided), and ${extra} of ${rows.length - owed.length} lines beyond them\n`,
  );
  expect(missing).toEqual([]);
});

test('tests name only lines of the checklist, and every tag is in a title or a table of titles', () => {
  const known = new Set(rows.map(({ number }) => number));
  expect([...held].filter((number) => !known.has(number))).toEqual([]);
  for (const { name, text } of suites) if (tagsIn(text).length > 0) expect(text, name).toMatch(TITLE);
});
