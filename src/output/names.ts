import { AppError } from '../core/problem.ts';
import { isRecord } from '../core/shape.ts';
import { type Row, columnOf } from './cells.ts';
import type { Formatter } from './formatter.ts';
import { oneLine } from './printable.ts';

const nameOf = (row: Row, field: string): string => {
  const value = columnOf(row, field);
  if (value !== undefined && value !== null && typeof value !== 'object') return oneLine(String(value));
  const known = isRecord(row) ? Object.keys(row).slice(0, 8).join(', ') : 'none';
  throw new AppError(
    'usage',
    `-o name prints the field \`${field}\`, which this answer does not have; it has: ${known}`,
    {
      code: 'NO_NAME',
      tryThis: ["-o json --jq '…'", '-o csv --no-header --columns …'],
    },
  );
};

/** One identifier a line, for `xargs` and loops. */
export const nameRows = (field: string): Formatter => ({
  rows: (burst) => burst.map((row) => `${nameOf(row, field)}\n`).join(''),
  close: () => '',
});
