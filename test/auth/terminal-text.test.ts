import { expect, test } from 'vitest';
import { safeText } from '../../src/auth/auth-context.ts';

test.each([
  ['plain ü', 'plain ü'],
  ['\u001b[31mred', '\\u{1b}[31mred'],
  ['a\r\nb', 'a\\u{d}\\u{a}b'],
  ['\u202Eabc', '\\u{202e}abc'],
  ['\u0007', '\\u{7}'],
  ['\u009b2J', '\\u{9b}2J'],
  ['\u2028', '\\u{2028}'],
  ['\u200b', '\\u{200b}'],
])('%j is shown as %s', (text, shown) => {
  expect(safeText(text)).toBe(shown);
});

test('long text is cut', () => {
  expect(safeText('x'.repeat(100), 10)).toBe(`${'x'.repeat(10)}…`);
});
