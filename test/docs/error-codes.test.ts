import { expect, test } from 'vitest';
import { exitCodes } from '../../src/core/exit.ts';
import { errorExplanations } from '../../src/reference/explanations/errors.ts';
import { textOf } from './pages.ts';

const rows = [...textOf('docs/reference/error-codes.md').matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)].map(
  ([, code = '', exit = '']) => ({ code, exit: Number(exit) }),
);

test('the reference lists many error codes', () => {
  expect(rows.length).toBeGreaterThan(40);
});

test.each(rows)('$code exists and exits with code $exit', ({ code, exit }) => {
  const row = errorExplanations[code];
  expect(row, 'remove the row, or write the new name of the code').toBeDefined();
  if (row !== undefined) expect(exitCodes[row.category].code).toBe(exit);
});
