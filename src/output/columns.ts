import { nearest } from '../core/nearest.ts';
import { type Problem, invalidArguments, problem } from '../core/problem.ts';
import type { Result } from '../core/result.ts';
import { type Row, columnOf, keysOf } from './cells.ts';
import { oneLine } from './printable.ts';
import type { OutputOptions } from './types.ts';

/** Columns that none of these rows has. Pure. */
const unknownColumns = (columns: readonly string[], rows: readonly Row[]): Problem[] => {
  const known = keysOf(rows);
  return columns
    .filter((column) => rows.every((row) => columnOf(row, column) === undefined))
    .map((column) => {
      const close = nearest(column, known);
      return problem(
        '--columns',
        'unknown',
        `names \`${oneLine(column)}\`, which the answer does not have`,
        close === undefined ? `it has ${known.slice(0, 12).join(', ')}` : `did you mean ${close}?`,
      );
    });
};

/** A result that reports a change has happened: then a wrong column is only worth a warning. */
const hasChanged = (result: Result): boolean =>
  result.kind === 'rows' ? result.exit !== undefined : 'view' in result && result.view?.message !== undefined;

/** A mistyped column would be an empty one. Rows of a table in src/api-specs are checked before anything is sent; these by what came. */
export const columnsAreKnown = async (
  { columns, areColumnsKnown }: OutputOptions,
  rows: readonly Row[],
  result: Result,
  warn: (text: string) => Promise<void>,
): Promise<void> => {
  const problems = rows.length === 0 ? [] : unknownColumns(columns ?? [], rows);
  if (problems.length === 0) return;
  if (!hasChanged(result) && !areColumnsKnown) throw invalidArguments(problems);
  for (const { path, message, hint } of problems) await warn(`warning: ${path} ${message} (${hint})`);
};
