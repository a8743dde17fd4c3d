import type { Result } from '../../core/result.ts';

/** Rows of every endpoint; the exit code says no when one of them is not good. */
export const judged = (
  rows: readonly { readonly [key: string]: unknown }[],
  isGood: (row: { readonly [key: string]: unknown }) => boolean,
  columns: readonly string[],
): Result => ({
  kind: 'rows',
  rows,
  view: { columns, name: 'endpoint' },
  exit: () => (rows.every(isGood) ? 'done' : 'no'),
});
