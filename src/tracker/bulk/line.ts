import type { Problem } from '../../core/problem.ts';

/** One line of the input: either a record of keys or what is wrong with it. `line` counts from 1; `bytes` were read up to it. */
export type Line = {
  readonly line: number;
  readonly bytes: number;
  readonly text: string;
  readonly row?: Readonly<Record<string, unknown>>;
  readonly problem?: Problem;
};
export type Format = 'ndjson' | 'csv';

/** The delimiters of spreadsheets, in words. */
export const delimiters = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' } as const;
export type Delimiter = keyof typeof delimiters;

/** Takes one text line after the other; a record may need several. */
export type Reader = { take(text: string, bytes: number): Line | undefined; end(): Line | undefined };

export type ReadOptions = {
  /** The file as the user named it, for errors (default: standard input). */
  readonly name?: string;
  /** Found in the header when it is not given. */
  readonly delimiter?: Delimiter | undefined;
  readonly onDelimiter?: (delimiter: Delimiter) => void;
  /** Columns of CSV that may repeat: their cells become one list. All other columns have one name each. */
  readonly isList?: (column: string) => boolean;
};
