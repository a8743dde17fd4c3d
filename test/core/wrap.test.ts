import { expect, it } from 'vitest';
import { columnsOf, wrap } from '../../src/core/format.ts';

it('breaks between words; a longer word stays whole', () => {
  expect(wrap('one two three', 7, '  ')).toBe('one two\n  three');
  expect(wrap('a /very/long/path b', 6, '')).toBe('a\n/very/long/path\nb');
  expect(wrap('one two', Number.POSITIVE_INFINITY, '')).toBe('one two');
});
it('a file has no edge, and a terminal that does not know its width has 80 places', () => {
  expect(columnsOf({ isTty: false, columns: 80 })).toBe(Number.POSITIVE_INFINITY);
  expect(columnsOf({ isTty: true, columns: 0 })).toBe(80);
  expect(columnsOf({ isTty: true, columns: 200 })).toBe(200);
  expect(columnsOf({ isTty: true, columns: 10 })).toBe(40);
});
