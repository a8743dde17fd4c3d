import { readFileSync } from 'node:fs';

/** One row of a transcribed table: column name to cell text. */
export type SpecRow = Record<string, string>;

/** The rows of a table. No quoting: a tab ends a cell, `|` separates a list inside one. */
export const rowsFrom = (name: string, text: string): SpecRow[] => {
  const lines = text.replace(/\n$/, '').split('\n');
  const columns = (lines[0] ?? '').split('\t');
  return lines.slice(1).map((line, index) => {
    const cells = line.split('\t');
    if (cells.length !== columns.length) {
      throw new Error(`${name}.tsv:${index + 2}: ${cells.length} cells, the header has ${columns.length}`);
    }
    return Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? '']));
  });
};

/** Returns the rows of `<name>.tsv` next to this file. */
export const readSpec = (name: string): Record<string, string>[] =>
  rowsFrom(name, readFileSync(new URL(`./${name}.tsv`, import.meta.url), 'utf8'));
