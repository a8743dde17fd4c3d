import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { chapters } from '../../src/tour/chapters.ts';
import { shellLine } from '../../src/core/shell.ts';

/** The words that bash makes of a line. */
const wordsIn = (line: string): string[] =>
  execFileSync('bash', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1);

test('what is shown to be typed is read by a shell as what it was', () => {
  const odd = [
    '',
    '#',
    '#2a7de1',
    'a b',
    "it's",
    '"x"',
    '$HOME',
    '`id`',
    '*',
    '~',
    'a\\b',
    'x;y',
    '!',
    'a=b',
    'é',
  ];
  expect(wordsIn(shellLine(odd))).toEqual(odd);
});

test('every line of the tour', () => {
  const lines = chapters.flatMap(({ stops }) => stops.map(({ args }) => args));
  expect(wordsIn(shellLine(lines.flat()))).toEqual(lines.flat());
});
