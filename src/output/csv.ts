import { jsonOfAnyDepth } from '../core/json.ts';
import { type Row, columnOf, keysOf } from './cells.ts';
import type { Formatter } from './formatter.ts';

/** RFC 4180: quotes around a field with a comma, a quote or a line end, quotes doubled. Spaces at an end would be trimmed by some readers. */
const csvField = (text: string): string =>
  /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** OWASP CSV injection: a text that begins like this is a formula to a spreadsheet; an apostrophe makes it text. Numbers stay. */
const harmless = (value: unknown): unknown =>
  typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;

/** Lists and records as JSON, so that nothing is lost. */
const csvText = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? jsonOfAnyDepth(value) : String(value);
};

/** The columns are those asked for, else all keys of the first rows. */
export const csvRows = (
  asked: readonly string[] | undefined,
  hasHeader: boolean,
  isSafe = false,
): Formatter => {
  const textOf = (value: unknown): string => csvText(isSafe ? harmless(value) : value);
  let columns = asked;
  const line = (fields: readonly string[]): string => {
    const text = fields.map(csvField).join(',');
    // One empty column would be an empty line, which readers skip.
    return `${text === '' && fields.length === 1 ? '""' : text}\n`;
  };
  return {
    rows(burst: readonly Row[]) {
      const isFirst = columns === undefined || columns === asked;
      const known = columns ?? keysOf(burst);
      const header = isFirst && hasHeader ? line(known) : '';
      columns = [...known];
      return header + burst.map((row) => line(known.map((column) => textOf(columnOf(row, column))))).join('');
    },
    close: () => (columns === asked && asked !== undefined && hasHeader ? line(asked) : ''),
  };
};
