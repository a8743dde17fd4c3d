import { type Row, cellText, columnOf, keysOf } from './cells.ts';
import { columnTitles } from './column-title.ts';
import { type Fit, GAP, fitColumns, folded, kindOf } from './fit.ts';
import type { Formatter } from './formatter.ts';
import { oneLine } from './printable.ts';
import type { Theme } from './theme.ts';
import { type Measure, clip, measureFor } from './width.ts';

export type TableOptions = {
  readonly columns: readonly string[] | undefined;
  readonly hasHeader: boolean;
  /** Places across, or undefined where nothing is cut (a file, a pipe). */
  readonly width: number | undefined;
  readonly theme: Theme;
  /** A record with every field it has. */
  readonly allFields?: boolean;
};

type Kinds = readonly ReturnType<typeof kindOf>[];

const padded = (cells: readonly string[], widths: readonly number[], measure: Measure): string =>
  cells
    .map((cell, i) =>
      i === cells.length - 1 ? cell : cell + ' '.repeat(Math.max(0, (widths[i] ?? 0) - measure(cell)) + GAP),
    )
    .join('')
    .trimEnd();

/** One row: free text is cut with a mark, a name that is too long goes on in the line below. */
const rowLines = (
  cells: readonly string[],
  widths: readonly number[],
  kinds: Kinds,
  measure: Measure,
): string[] => {
  const parts = cells.map((cell, i) =>
    kinds[i] === 'name' || kinds[i] === 'key'
      ? folded(cell, Math.max(1, widths[i] ?? 1), measure)
      : [clip(cell, widths[i] ?? 0, measure)],
  );
  const height = Math.max(1, ...parts.map((part) => part.length));
  return Array.from({ length: height }, (_, line) =>
    padded(
      parts.map((part) => part[line] ?? ''),
      widths,
      measure,
    ),
  );
};

const headerLines = (titles: readonly string[], widths: readonly number[], measure: Measure): string[] => {
  const parts = titles.map((title, i) => folded(title, Math.max(1, widths[i] ?? 1), measure));
  const height = Math.max(1, ...parts.map((part) => part.length));
  return Array.from({ length: height }, (_, line) =>
    padded(
      parts.map((part) => part[part.length - height + line] ?? ''),
      widths,
      measure,
    ),
  );
};

/** Where no table fits: a line for each field, long values going on below, an empty line between rows. */
const blockText = (
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  { theme, width = 80 }: TableOptions,
  measure: Measure,
): string => {
  const wide = Math.max(0, ...titles.map(measure));
  return rows
    .map((cells) => {
      const lines = cells.flatMap((cell, i) =>
        cell === '' ? [] : fieldLines(titles[i] ?? '', cell, { wide, width, measure, theme }),
      );
      return lines.map((line) => `${line}\n`).join('');
    })
    .join('\n');
};

type Field = {
  readonly wide: number;
  readonly width: number | undefined;
  readonly measure: Measure;
  readonly theme: Theme;
};
const fieldLines = (name: string, value: string, { wide, width, measure, theme }: Field): string[] => {
  const room = width === undefined ? Number.POSITIVE_INFINITY : width - wide - GAP;
  // A long name may leave no room beside it, and an id that fits a line of its own is not broken.
  const size = measure(value);
  const isBelow = room < 12 || (size > room && size <= (width ?? 0) - GAP && !/\s/.test(value));
  const lines = folded(value, isBelow ? Math.max(1, (width ?? 80) - GAP) : room, measure);
  const label = theme.bold(name);
  if (isBelow) return [label, ...lines.map((line) => `${' '.repeat(GAP)}${line}`)];
  const indent = ' '.repeat(wide + GAP);
  return lines.map((line, i) =>
    (i === 0 ? `${label}${' '.repeat(wide - measure(name) + GAP)}${line}` : indent + line).trimEnd(),
  );
};

/** Widths come from the first rows; later ones widen a column when they must, so that nothing is lost off a terminal. */
export const tableRows = (options: TableOptions): Formatter => {
  let columns = options.columns;
  let kinds: Kinds | undefined;
  let content: number[] = [];
  let isFirst = true;
  return {
    async rows(burst: readonly Row[]) {
      const names = columns ?? keysOf(burst);
      columns = names;
      const titles = columnTitles(names.map(oneLine));
      const cells = burst.map((row) => names.map((name) => oneLine(cellText(columnOf(row, name)))));
      const measure = await measureFor([...titles, ...cells.flat()]);
      kinds ??= names.map((name, i) =>
        kindOf(
          name,
          cells.map((row) => row[i] ?? ''),
        ),
      );
      content = names.map((_, i) =>
        Math.max(content[i] ?? 0, 0, ...cells.map((row) => measure(row[i] ?? ''))),
      );
      const fit = fitted(titles, content, kinds, options, measure);
      const separator = isFirst ? '' : '\n';
      const hasHeader = isFirst && options.hasHeader;
      isFirst = false;
      if (fit.kind === 'block')
        return cells.length === 0 ? '' : separator + blockText(titles, cells, options, measure);
      const { widths } = fit;
      const header = hasHeader
        ? headerLines(titles, widths, measure).map((line) => options.theme.bold(line))
        : [];
      const lines = cells.flatMap((row) => rowLines(row, widths, kinds ?? [], measure));
      return [...header, ...lines].map((line) => `${line}\n`).join('');
    },
    close: () => '',
  };
};

const fitted = (
  titles: readonly string[],
  content: readonly number[],
  kinds: Kinds,
  { hasHeader, width }: TableOptions,
  measure: Measure,
): Fit =>
  fitColumns(
    titles.map((title, i) => ({
      content: content[i] ?? 0,
      title: hasHeader ? measure(title) : 0,
      heading: hasHeader ? Math.max(0, ...title.split(' ').map(measure)) : 0,
      kind: kinds[i] ?? 'value',
    })),
    width ?? Number.POSITIVE_INFINITY,
  );

/** A record with more fields than these is shown without those that nobody looks at. */
const MANY = 12;
/** JSON text of this many characters is no line that a person reads. */
const LONG = 200;
const isLongJson = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !(Array.isArray(value) && value.every((one) => typeof one !== 'object')) &&
  cellText(value).length >= LONG;

/** Fields worth a line: those of the view, and of the rest what has a value that a person reads. Pure. */
const lookedAt = (data: Row, first: readonly string[], rest: readonly string[]): string[] => {
  const has = (name: string): boolean => columnOf(data, name) !== undefined;
  if (first.length + rest.length <= MANY)
    return [...first, ...rest.filter((name) => !isLongJson(columnOf(data, name)))];
  const isRead = (name: string): boolean => {
    const value = columnOf(data, name);
    if (value === null || value === '' || value === false || /(^|_)(entity_type|global_id)$/.test(name))
      return false;
    const text = cellText(value);
    return text !== '' && text !== '[]' && text !== '{}' && !isLongJson(value);
  };
  return [...first.filter(has), ...rest.filter(isRead)];
};

/** One record: a line for each field, the columns asked for by the view first. */
export const recordText = async (
  data: Row,
  first: readonly string[],
  options: TableOptions,
): Promise<{ readonly text: string; readonly hidden: number }> => {
  const rest = keysOf([data]).filter((key) => !first.includes(key));
  const shown = options.allFields ? [...first, ...rest] : lookedAt(data, first, rest);
  const names = options.columns ?? shown;
  const rows = names.map((name) => [oneLine(name), oneLine(cellText(columnOf(data, name)))] as const);
  const measure = await measureFor(rows.flat());
  const wide = Math.max(0, ...rows.map(([name]) => measure(name)));
  const { width, theme } = options;
  const lines = rows.flatMap(([name, value]) => fieldLines(name, value, { wide, width, measure, theme }));
  return {
    text: lines.map((text) => `${text}\n`).join(''),
    hidden: options.columns === undefined ? first.length + rest.length - names.length : 0,
  };
};
