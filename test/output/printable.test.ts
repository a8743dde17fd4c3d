import { expect, test } from 'vitest';
import { oneLine, printable } from '../../src/output/types.ts';
import { covers } from '../support/covers.ts';

test.each([
  ['plain text, grüße, 日本, 👍', 'plain text, grüße, 日本, 👍'],
  ['a\tb\nc', 'a\tb\nc'],
  ['\u001b[31mred', '\\u001b[31mred'],
  ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
  ['over\rwritten', 'over\\u000dwritten'],
  ['\u009b31m', '\\u009b31m'],
  ['del\u007f', 'del\\u007f'],
  ['turned \u202e around', 'turned \\u202e around'],
  ['\u0000', '\\u0000'],
])('%j is shown as %j', covers('defect/R-20'), (text, expected) => {
  expect(printable(text)).toBe(expected);
});

test('text for a single line contains no line end', () => {
  expect(oneLine('a\nb\tc\rd\u2028e\u001b[0m')).toBe('a\\nb\\tc\\rd\\u2028e\\u001b[0m');
});
