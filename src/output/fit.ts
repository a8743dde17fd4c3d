import type { Measure } from './width.ts';

export const GAP = 2;
/** Free text is not squeezed below this. */
const LEAST_TEXT = 12;
/** A name that is too long for the line goes on below itself, in a column of at least this. */
const LEAST_NAME = 16;

export type Column = {
  /** Places that its widest cell takes. */
  readonly content: number;
  /** The longest word of its heading: below it the heading would be broken. */
  readonly heading: number;
  /** Places of the whole heading. */
  readonly title: number;
  readonly kind: 'key' | 'name' | 'text' | 'value';
};
/** How wide each column is; `block` when no table fits and each row is a list of lines. */
export type Fit = { readonly kind: 'table'; readonly widths: readonly number[] } | { readonly kind: 'block' };

const KEY = /(^|[._])(id|ids|key|uuid|name|title|version|digest|url)$|(Id|Ids|Key|Name)$/;
const NAME = /(^|[._])(name|title)$/;

/** What a column holds, from its name and its cells: ids and names are what people copy, so that they are never cut. */
export const kindOf = (column: string, cells: readonly string[]): Column['kind'] => {
  if (NAME.test(column)) return 'name';
  if (KEY.test(column)) return 'key';
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

/** Widths for a line of `available` places: headings give first, then free text, then long names by going on below. Pure. */
export const fitColumns = (columns: readonly Column[], available: number): Fit => {
  const natural = columns.map(({ content, title }) => Math.max(content, title));
  if (total(natural) <= available) return { kind: 'table', widths: natural };
  const widths = [...natural];
  squeeze(
    widths,
    columns.map(({ content, heading }) => Math.max(content, heading)),
    available,
  );
  squeeze(
    widths,
    columns.map(({ kind, heading }) => (kind === 'text' ? Math.max(LEAST_TEXT, heading) : undefined)),
    available,
  );
  squeeze(
    widths,
    columns.map(({ kind, heading }) => (kind === 'name' ? Math.max(LEAST_NAME, heading) : undefined)),
    available,
  );
  return total(widths) <= available ? { kind: 'table', widths } : { kind: 'block' };
};

/** The text in lines of at most `width` places, broken between words where there are some. Pure. */
export const folded = (text: string, width: number, measure: Measure): string[] => {
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
