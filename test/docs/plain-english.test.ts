/** The documentation uses the constructions of plain technical English. */
import { expect, test } from 'vitest';
import { hitsIn } from './constructions.ts';
import { pages, proseOf } from './pages.ts';

/** At most this many hits per 1,000 words, for each group of pages. */
const LIMIT = 3;

const groups: readonly (readonly [string, (page: string) => boolean])[] = [
  ['the changelog', (page) => page === 'CHANGELOG.md'],
  ['the specifications', (page) => page.startsWith('docs/spec/')],
  ['the decision records', (page) => page.startsWith('docs/decisions/')],
  ['all other pages', (page) => !/^CHANGELOG|^docs\/(?:spec|decisions)\//.test(page)],
];

test.each(groups)('%s: at most 3 odd constructions per 1,000 words', (_, isInGroup) => {
  const found = pages.filter(isInGroup).map((page) => hitsIn(page, proseOf(page)));
  const words = found.reduce((sum, page) => sum + page.words, 0);
  const hits = found.flatMap((page) => page.hits);
  const list = hits.map(({ at, text, write }) => `${at}: "${text}" (write: ${write})`).join('\n');
  expect((hits.length / words) * 1000, list).toBeLessThanOrEqual(LIMIT);
});

test.each([
  'A damaged line is said with its number',
  'opsctl kv resume goes on',
  'Tokens lie in an encrypted file',
  'a file that is no journal',
  'Where there was none, it is made again',
  'Nobody sits at a browser here',
  'a damaged file is 3 (was 1)',
])('"%s" is a hit', (sentence) => {
  expect(hitsIn('page', sentence).hits).not.toEqual([]);
});

test('plain sentences and code are not hits', () => {
  const text = 'opsctl exits with code 3 and reports the number of the line. Run `opsctl kv goes on` again.';
  expect(hitsIn('page', text).hits).toEqual([]);
});
