import { jsonOfAnyDepth } from '../core/json.ts';
import { type Row, project } from './cells.ts';
import type { Formatter } from './formatter.ts';

const indented = (row: unknown): string => jsonOfAnyDepth(row, 2).replaceAll('\n', '\n  ');

/** A valid array as soon as it is closed; each row stands there before the next is known. */
export const jsonRows = (columns?: readonly string[]): Formatter => {
  let count = 0;
  return {
    rows: (burst) =>
      burst
        .map((row) => `${count++ === 0 ? '[' : ','}\n  ${indented(project(row, columns) ?? null)}`)
        .join(''),
    close: () => (count === 0 ? '[]\n' : '\n]\n'),
  };
};

export const jsonText = (data: unknown): string => `${jsonOfAnyDepth(data ?? null, 2)}\n`;

export const ndjsonRows = (columns?: readonly string[]): Formatter => ({
  rows: (burst: readonly Row[]) =>
    burst.map((row) => `${jsonOfAnyDepth(project(row, columns) ?? null)}\n`).join(''),
  close: () => '',
});
