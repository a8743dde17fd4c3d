import { expect, test } from 'vitest';
import { exitCodes } from '../../src/core/exit.ts';
import { explanations } from '../tooling/explanations.mjs';
import { root, textOf } from './pages.ts';

const { errors } = explanations(root);
const rows = [...textOf('docs/reference/error-codes.md').matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)].map(
  ([, code = '', exit = '']) => ({ code, exit: Number(exit) }),
);

test('the reference lists many error codes', () => {
  expect(rows.length).toBeGreaterThan(40);
});

test.each(rows)('$code exists and exits with code $exit', ({ code, exit }) => {
  const explanation = errors[code];
  expect(explanation, 'remove the row, or write the new name of the code').toBeDefined();
  if (explanation !== undefined) expect(exitCodes[explanation.category].code).toBe(exit);
});
