import { type Row, cellText, columnOf, keysOf } from './cells.ts';
import type { Formatter } from './formatter.ts';
import { oneLine } from './printable.ts';
import type { Theme } from './theme.ts';
import { type Measure, clip, measureFor } from './width.ts';

const GAP = 2;
/** A column is not squeezed below this. */
const LEAST_COLUMNS = 8;

export type TableOptions = {
  readonly columns: readonly string[] | undefined;
  readonly hasHeader: boolean;
  /** Places across, or undefined where nothing is cut (a file, a pipe). */
  readonly width: number | undefined;
  readonly theme: Theme;
};

/** Takes places from the widest column until the line fits, or no column can give more. Pure. */
const squeeze = (widths: readonly number[], available: number): number[] => {
  const result = [...widths];
  let over = result.reduce((sum, width) => sum + width, GAP * (result.length - 1)) - available;
  while (over > 0) {
    const widest = Math.max(...result);
    if (widest <= LEAST_COLUMNS) break;
    const next = Math.max(LEAST_COLUMNS, ...result.filter((width) => width < widest));
    const at = result.indexOf(widest);
    const share = Math.min(over, Math.max(1, widest - next));
    result[at] = widest - share;
    over -= share;
  }
  return result;
};

const line = (cells: readonly string[], widths: readonly number[], measure: Measure): string =>
  cells
    .map((cell, i) => {
      const width = widths[i] ?? 0;
      const text = clip(cell, width, measure);
      return i === cells.length - 1 ? text : text + ' '.repeat(width - measure(text) + GAP);
    })
    .join('')
    .trimEnd();

/** Widths come from the first rows; later ones widen a column when they must, so that nothing is lost off a terminal. */
export const tableRows = (options: TableOptions): Formatter => {
  let columns = options.columns;
  let widths: number[] = [];
  let isFirst = true;
  return {
    async rows(burst: readonly Row[]) {
      const names = columns ?? keysOf(burst);
      columns = names;
      const titles = names.map((name) => oneLine(name.toUpperCase().replaceAll('_', ' ')));
      const cells = burst.map((row) => names.map((name) => oneLine(cellText(columnOf(row, name)))));
      const all = isFirst && options.hasHeader ? [titles, ...cells] : cells;
      const measure = await measureFor(all.flat());
      const needed = names.map((_, i) =>
        Math.max(widths[i] ?? 0, ...all.map((row) => measure(row[i] ?? ''))),
      );
      widths = options.width === undefined ? needed : squeeze(needed, options.width);
      const header =
        isFirst && options.hasHeader ? `${options.theme.bold(line(titles, widths, measure))}\n` : '';
      isFirst = false;
      return header + cells.map((row) => `${line(row, widths, measure)}\n`).join('');
    },
    close: () => '',
  };
};

/** One record: a line for each field, the columns asked for by the view first. */
export const recordText = async (
  data: Row,
  first: readonly string[],
  options: TableOptions,
): Promise<string> => {
  const rest = keysOf([data]).filter((key) => !first.includes(key));
  const names = options.columns ?? [...first, ...rest];
  const rows = names.map((name) => [oneLine(name), oneLine(cellText(columnOf(data, name)))] as const);
  const measure = await measureFor(rows.flat());
  const wide = Math.max(0, ...rows.map(([name]) => measure(name)));
  const room =
    options.width === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(LEAST_COLUMNS, options.width - wide - GAP);
  return rows
    .map(([name, value]) =>
      `${options.theme.bold(name)}${' '.repeat(wide - measure(name) + GAP)}${clip(value, room, measure)}`.trimEnd(),
    )
    .map((text) => `${text}\n`)
    .join('');
};
