import { secondOf, wordsIn } from '../core/format.ts';
import { oneLine } from '../core/text.ts';
import { jsonOfAnyDepth, restoreNumbers } from '../core/json.ts';
import { type Theme, cellText, columnOf, type Formatter, keysOf, type Row } from './types.ts';

/** `stats.num_stories_total` → `STORIES TOTAL`, later `STORIES`; `is_undone` → `UNDONE`, `profile.mention_name` → `MENTION NAME`, `createdAt` → `CREATED AT`, later `CREATED`. */
const words = (part: string): string =>
  part
    .replace(/^num_/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]+/g, ' ')
    .trim()
    .toUpperCase();
/**
 * Column headings: the last part of a path, with the previous parts only if two columns would have the same
 * heading. Pure.
 */
export const columnTitles = (columns: readonly string[]): string[] => {
  const paths = columns.map((column) => column.split('.'));
  // A number is a position in a list and has no meaning without its list.
  const depths: number[] = paths.map((path) => (/^\d+$/.test(path.at(-1) ?? '') ? 2 : 1));
  const titleOf = (i: number): string =>
    (paths[i] ?? [])
      .slice(-(depths[i] ?? 1))
      .map(words)
      .join(' ') ||
    columns[i]?.toUpperCase() ||
    '';
  const canGrow = (i: number): boolean => (depths[i] ?? 1) < (paths[i]?.length ?? 0);
  const findDoubled = (): number[] =>
    columns.flatMap((_, i) =>
      canGrow(i) && columns.some((_, j) => j !== i && titleOf(j) === titleOf(i)) ? [i] : [],
    );
  for (let same = findDoubled(); same.length > 0; same = findDoubled())
    for (const i of same) depths[i] = (depths[i] ?? 1) + 1;
  return withoutAt(columns.map((_, i) => titleOf(i)));
};
/** `UPDATED AT` → `UPDATED`, `ENTITY TYPE` → `TYPE`, `IS UNDONE` → `UNDONE`, `SIZE BYTES` → `SIZE`: one word needs no second line. Pure. */
const shorten = (title: string): string =>
  title.replace(
    /(?<=\w) AT$|^ENTITY (?=TYPE$)|^IS (?=\w)|(?<=^STORIES) TOTAL$|(?<=^SIZE) BYTES$|^STORIES (?=DONE$)/,
    '',
  );
/** A title stays long if another column has the short one, or would get it too. */
const withoutAt = (titles: readonly string[]): string[] => {
  const short = titles.map(shorten);
  return titles.map((title, i) => {
    const word = short[i] ?? title;
    const isTaken = titles.includes(word) || short.filter((one) => one === word).length > 1;
    return isTaken ? title : word;
  });
};

const GAP = 2;
/** Free text is not squeezed below this. */
const LEAST_TEXT = 12;
/** A name that is too long for the line wraps within a column of at least this width. */
const LEAST_NAME = 16;
type Column = {
  /** Places that its widest cell takes. */
  readonly content: number;
  /** The longest word of its heading: below it the heading would be broken. */
  readonly heading: number;
  /** Places of the whole heading. */
  readonly title: number;
  /** A name is not folded below this: its longest word, if columns can be left out instead. */
  readonly word: number;
  readonly kind: 'key' | 'name' | 'text' | 'value';
};
/** How wide each column is; `block` when no table fits and each row is a list of lines. */
type Fit = { readonly kind: 'table'; readonly widths: readonly number[] } | { readonly kind: 'block' };
const KEY = /(^|[._])(id|ids|key|uuid|name|title|version|digest|url)$|(Id|Ids|Key|Name)$/;
/** Values that users copy or act on are never truncated. They continue on the next line. */
const NAME = /(^|[._])(name|title|remedy|hint|command|message)$/;
/** Times such as `48 minutes ago` have one length: a cut would remove their meaning. */
const TIME = /(^|[._])(at|date)$/;
/**
 * The kind of a column, from its name and its cells. Users copy IDs and names, so they are never truncated.
 */
const kindOf = (column: string, cells: readonly string[]): Column['kind'] => {
  if (NAME.test(column)) return 'name';
  if (KEY.test(column)) return 'key';
  if (TIME.test(column)) return 'value';
  return cells.some((cell) => cell.length > LEAST_TEXT && /\s/.test(cell)) ? 'text' : 'value';
};
const total = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, GAP * Math.max(0, widths.length - 1));
/** Takes places from the widest of these columns until the line fits or each is at its least. */
const squeeze = (widths: number[], least: readonly (number | undefined)[], available: number): void => {
  let over = total(widths) - available;
  while (over > 0) {
    let widest = -1;
    for (const [i, width] of widths.entries()) {
      const floor = least[i];
      if (floor !== undefined && width > floor && (widest < 0 || width > (widths[widest] ?? 0))) widest = i;
    }
    if (widest < 0) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
    over -= 1;
  }
};
/**
 * Widths for a line of `available` columns: headings shrink first, then free text, then long names by
 * wrapping. Text that is cut in any case gives its places to headings on one line. Pure.
 */
const fitColumns = (columns: readonly Column[], available: number): Fit => {
  const natural = columns.map(({ content, title }) => Math.max(content, title));
  const squeezes: Readonly<Record<'headings' | 'texts' | 'names', (column: Column) => number | undefined>> = {
    headings: ({ content, heading }) => Math.max(content, heading),
    texts: ({ kind, heading }) => (kind === 'text' ? Math.max(LEAST_TEXT, heading) : undefined),
    names: ({ kind, heading, word }) => (kind === 'name' ? Math.max(LEAST_NAME, heading, word) : undefined),
  };
  const orders = [['headings'], ['texts'], ['headings', 'texts', 'names']] as const;
  for (const order of orders) {
    const widths = [...natural];
    for (const one of order) squeeze(widths, columns.map(squeezes[one]), available);
    if (total(widths) <= available) return { kind: 'table', widths };
  }
  return { kind: 'block' };
};
/** The last column has the rest of the line, for later rows with longer cells. It is not padded. Pure. */
const extendLast = (fit: Fit, available: number): Fit => {
  if (fit.kind === 'block') return fit;
  const { widths } = fit;
  return {
    kind: 'table',
    widths: [...widths.slice(0, -1), (widths.at(-1) ?? 0) + Math.max(0, available - total(widths))],
  };
};
/** The text in lines of at most `width` places, broken between words where there are some. Pure. */
const foldText = (text: string, width: number, measure: Measure): string[] => {
  if (measure(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  const push = (): void => {
    if (line !== '') lines.push(line);
    line = '';
  };
  for (const word of text.split(' ')) {
    const next = line === '' ? word : `${line} ${word}`;
    if (measure(next) <= width) {
      line = next;
      continue;
    }
    push();
    for (const character of word) {
      if (measure(line + character) > width) push();
      line += character;
    }
  }
  push();
  return lines.length === 0 ? [''] : lines;
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: everything outside ASCII needs the tables of string-width
const ASCII = /^[\u0000-\u007f]*$/;
type Measure = (text: string) => number;
/** Columns that texts take on a terminal. string-width (40 ms) is loaded only when one of them is not ASCII. */
const measureFor = async (texts: Iterable<string>): Promise<Measure> => {
  for (const text of texts) {
    if (ASCII.test(text)) continue;
    const { default: stringWidth } = await import('string-width');
    return (one) => (ASCII.test(one) ? one.length : stringWidth(one));
  }
  return (text) => text.length;
};
/** The widest of these texts, or `least`. A batch has more words than one call accepts as arguments. */
const widestOf = (texts: readonly string[], measure: Measure, least = 0): number =>
  texts.reduce((widest, text) => Math.max(widest, measure(text)), least);
/** A cut moves back to the end of the last word if it has to move by at most this many places. */
const LONGEST_CUT_WORD = 16;
/** Cuts to `columns` places between two words, with a mark where something is missing. */
const clip = (text: string, columns: number, measure: Measure): string => {
  if (measure(text) <= columns) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    const width = measure(character);
    if (used + width > columns - 1) break;
    kept += character;
    used += width;
  }
  const end = kept.lastIndexOf(' ');
  const isInWord = !/\s/.test(text[kept.length] ?? ' ');
  const whole = isInWord && end > 0 && kept.length - end <= LONGEST_CUT_WORD ? kept.slice(0, end) : kept;
  return `${whole.trimEnd()}…`;
};

export type TableOptions = {
  readonly columns: readonly string[] | undefined;
  readonly hasHeader: boolean;
  /** Width in characters, or undefined if lines are not truncated (a file, a pipe). */
  readonly width: number | undefined;
  readonly theme: Theme;
  /** A record with every field it has. */
  readonly allFields?: boolean;
  /** The last columns are the least important. They may be left out if the line is too long. */
  readonly canDropColumns?: boolean;
};
type Kinds = readonly ReturnType<typeof kindOf>[];
/** A cell as it is printed, so that its width is the width of its text. JSON and CSV keep the fraction of a second. */
const shownCell = (value: unknown): string => secondOf(oneLine(restoreNumbers(cellText(value))));
const padCells = (cells: readonly string[], widths: readonly number[], measure: Measure): string =>
  cells
    .map((cell, i) =>
      i === cells.length - 1 ? cell : cell + ' '.repeat(Math.max(0, (widths[i] ?? 0) - measure(cell)) + GAP),
    )
    .join('')
    .trimEnd();
/** One row: free text is cut between words with a mark; a name, and any cell wider than a fixed layout, continues in the line below. */
const rowLines = (
  cells: readonly string[],
  widths: readonly number[],
  kinds: Kinds,
  measure: Measure,
  isFixed = false,
): string[] => {
  const parts = cells.map((cell, i) =>
    kinds[i] === 'name' || kinds[i] === 'key' || (isFixed && kinds[i] === 'value')
      ? foldText(cell, Math.max(1, widths[i] ?? 1), measure)
      : [clip(cell, widths[i] ?? 0, measure)],
  );
  const height = Math.max(1, ...parts.map((part) => part.length));
  return Array.from({ length: height }, (_, line) =>
    padCells(
      parts.map((part) => part[line] ?? ''),
      widths,
      measure,
    ),
  );
};
const headerLines = (titles: readonly string[], widths: readonly number[], measure: Measure): string[] => {
  const parts = titles.map((title, i) => foldText(title, Math.max(1, widths[i] ?? 1), measure));
  const height = Math.max(1, ...parts.map((part) => part.length));
  return Array.from({ length: height }, (_, line) =>
    padCells(
      parts.map((part) => part[part.length - height + line] ?? ''),
      widths,
      measure,
    ),
  );
};
/**
 * The layout if no table fits: one line per field, continuation lines for long values, an empty line between
 * rows.
 */
const blockText = (
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  { theme, width = 80 }: TableOptions,
  measure: Measure,
): string => {
  const wide = widestOf(titles, measure);
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
  // A long name may leave no space next to it, and a word that fits on a separate line is not broken.
  const longest = widestOf(value.split(' '), measure);
  const isBelow = room < 12 || (longest > room && longest <= (width ?? 0) - GAP);
  const lines = foldText(value, isBelow ? Math.max(1, (width ?? 80) - GAP) : room, measure);
  const label = theme.bold(name);
  if (isBelow) return [label, ...lines.map((line) => `${' '.repeat(GAP)}${line}`)];
  const indent = ' '.repeat(wide + GAP);
  return lines.map((line, i) =>
    (i === 0 ? `${label}${' '.repeat(wide - measure(name) + GAP)}${line}` : indent + line).trimEnd(),
  );
};
/** A table with fewer columns has less information than a list of fields. */
const FEWEST_COLUMNS = 2;
/** So many columns may be left out to keep the words of names, such as a file name, on one line. */
const MOST_DROPPED_FOR_WORDS = 3;
/** Places that the widest cell of each column takes, and its longest word. */
type Sizes = { readonly content: readonly number[]; readonly longestWords: readonly number[] };
type Layout = { readonly names: readonly string[]; readonly kinds: Kinds; readonly fit: Fit };
/** The layout of these columns, without the last columns that do not fit on the line. */
const layOut = (
  names: readonly string[],
  kinds: Kinds,
  { content, longestWords }: Sizes,
  options: TableOptions,
  measure: Measure,
): Layout => {
  const fewest = options.canDropColumns ? Math.min(FEWEST_COLUMNS, names.length) : names.length;
  const fitWith = (words: readonly number[], least: number): Layout | undefined => {
    for (let count = names.length; count >= least; count -= 1) {
      const kept = names.slice(0, count);
      const titles = columnTitles(kept.map(oneLine));
      const fit = fitTable(titles, { content, longestWords: words }, kinds, options, measure);
      if (fit.kind === 'table')
        return {
          names: kept,
          kinds,
          fit: options.width === undefined ? fit : extendLast(fit, options.width),
        };
    }
    return undefined;
  };
  return (
    fitWith(longestWords, Math.max(fewest, names.length - MOST_DROPPED_FOR_WORDS)) ??
    fitWith([], fewest) ?? { names, kinds, fit: { kind: 'block' } }
  );
};
/**
 * On a terminal, the first rows determine the columns, their widths and the layout, and later rows keep them:
 * a longer cell continues on the next line. In other output, a wider row is written completely, and the
 * following rows use its width.
 */
export const tableRows = (options: TableOptions): Formatter => {
  let columns = options.columns;
  let layout: Layout | undefined;
  let kinds: Kinds | undefined;
  let [content, longestWords]: [number[], number[]] = [[], []];
  const isFrozen = (): boolean => layout !== undefined && options.width !== undefined;
  const take = (
    names: readonly string[],
    cells: readonly (readonly string[])[],
    measure: Measure,
  ): Layout => {
    const cellsOf = (i: number): string[] => cells.map((row) => row[i] ?? '');
    const known = names.map((name, i) => kinds?.[i] ?? kindOf(name, cellsOf(i)));
    kinds = known;
    content = names.map((_, i) => widestOf(cellsOf(i), measure, content[i]));
    const wordsOf = (i: number): string[] => cellsOf(i).flatMap(wordsIn);
    longestWords = names.map((_, i) =>
      known[i] === 'name' ? widestOf(wordsOf(i), measure, longestWords[i]) : 0,
    );
    return layOut(names, known, { content, longestWords }, options, measure);
  };
  return {
    async rows(burst: readonly Row[]) {
      const names = columns ?? keysOf(burst);
      columns = names;
      const cells = burst.map((row) => names.map((name) => shownCell(columnOf(row, name))));
      const measure = await measureFor([...columnTitles(names.map(oneLine)), ...cells.flat()]);
      const [isFirst, isFixed] = [layout === undefined, isFrozen()];
      layout = isFixed && layout !== undefined ? layout : take(names, cells, measure);
      return layoutText(layout, cells, { options, measure, isFirst, isFixed });
    },
    close: () => '',
    droppedColumns: () => (columns?.length ?? 0) - (layout?.names.length ?? columns?.length ?? 0),
  };
};
type Drawing = {
  readonly options: TableOptions;
  readonly measure: Measure;
  readonly isFirst: boolean;
  readonly isFixed: boolean;
};
const layoutText = (
  { names, kinds, fit }: Layout,
  cells: readonly (readonly string[])[],
  { options, measure, isFirst, isFixed }: Drawing,
): string => {
  const titles = columnTitles(names.map(oneLine));
  if (fit.kind === 'block')
    return cells.length === 0 ? '' : (isFirst ? '' : '\n') + blockText(titles, cells, options, measure);
  const { widths } = fit;
  const hasHeader = isFirst && options.hasHeader;
  const header = hasHeader
    ? headerLines(titles, widths, measure).map((line) => options.theme.bold(line))
    : [];
  const lines = cells.flatMap((row) =>
    rowLines(row.slice(0, widths.length), widths, kinds, measure, isFixed),
  );
  return [...header, ...lines].map((line) => `${line}\n`).join('');
};
const fitTable = (
  titles: readonly string[],
  { content, longestWords }: Sizes,
  kinds: Kinds,
  { hasHeader, width }: TableOptions,
  measure: Measure,
): Fit =>
  fitColumns(
    titles.map((title, i) => ({
      content: content[i] ?? 0,
      title: hasHeader ? measure(title) : 0,
      heading: hasHeader ? widestOf(title.split(' '), measure) : 0,
      kind: kinds[i] ?? 'value',
      word: longestWords[i] ?? 0,
    })),
    width ?? Number.POSITIVE_INFINITY,
  );
/** A record with more fields is shown without its least relevant fields. */
const MANY = 12;
/** JSON text beyond this length is not readable on one line. */
const LONG = 200;
const isLongJson = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !(Array.isArray(value) && value.every((one) => typeof one !== 'object')) &&
  cellText(value).length >= LONG;
/**
 * Fields worth a line: those of the view, and of the rest what has a value that a person reads. A small record shows its
 * empty fields too, unless most of its lines would be empty. Pure.
 */
const lookedAt = (data: Row, first: readonly string[], rest: readonly string[]): string[] => {
  const has = (name: string): boolean => columnOf(data, name) !== undefined;
  if (first.length + rest.length <= MANY) {
    const all = [...first, ...rest.filter((name) => !isLongJson(columnOf(data, name)))];
    const filled = all.filter((name) => cellText(columnOf(data, name)) !== '');
    return filled.length > 0 && filled.length * 2 < all.length ? filled : all;
  }
  const isRead = (name: string): boolean => {
    const value = columnOf(data, name);
    if (value === null || value === '' || value === false || /(^|_)(entity_type|global_id)$/.test(name))
      return false;
    const text = cellText(value);
    return text !== '' && text !== '[]' && text !== '{}' && !isLongJson(value);
  };
  return [...first.filter(has), ...rest.filter(isRead)];
};
/** Below this depth a value is written as JSON. */
const DEEPEST_PATH = 16;
/** Every value below a field, with its dotted path: `states.0.name`. */
const leafLines = (path: string, value: unknown, depth = 0): (readonly [string, string])[] => {
  const isFlat = Array.isArray(value) && value.every((one) => typeof one !== 'object');
  if (typeof value !== 'object' || value === null || isFlat) return [[oneLine(path), shownCell(value)]];
  if (depth === DEEPEST_PATH) return [[oneLine(path), oneLine(restoreNumbers(jsonOfAnyDepth(value)))]];
  return Object.entries(value).flatMap(([key, one]) => leafLines(`${path}.${key}`, one, depth + 1));
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
  const rows = names.flatMap((name) =>
    options.allFields && options.columns === undefined
      ? leafLines(name, columnOf(data, name))
      : [[oneLine(name), shownCell(columnOf(data, name))] as const],
  );
  const measure = await measureFor(rows.flat());
  const wide = widestOf(
    rows.map(([name]) => name),
    measure,
  );
  const { width, theme } = options;
  const lines = rows.flatMap(([name, value]) => fieldLines(name, value, { wide, width, measure, theme }));
  return {
    text: lines.map((text) => `${text}\n`).join(''),
    hidden: options.columns === undefined ? first.length + rest.length - names.length : 0,
  };
};
