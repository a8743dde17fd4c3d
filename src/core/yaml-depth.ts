import { limits } from './limits.ts';

/** Brackets, and lines that begin with keys that are marked with `?`. */
const NESTING = /[[{]|[\]}]|^(?:[ \t]*[-?:][ \t])*[ \t]*\?(?=\s)/gm;

/**
 * Where a YAML text gets deeper than any that was written by hand; undefined for all others. The parser needs time without
 * end for such a text (a kilobyte of `? ` is enough), so this looks before it. Pure.
 */
export const tooDeepAt = (text: string): number | undefined => {
  let open = 0;
  // Columns of the keys that are open: one that stands further left, or in the same place, is in none of them.
  let keys: number[] = [];
  for (const { 0: found, index } of text.matchAll(NESTING)) {
    if (found === '[' || found === '{') open += 1;
    else if (found === ']' || found === '}') open = Math.max(0, open - 1);
    else {
      const columns = [...found.matchAll(/\?/g)].map((mark) => mark.index);
      keys = [...keys.filter((column) => column < (columns[0] ?? 0)), ...columns];
    }
    if (open > limits.yamlDepth || keys.length > limits.yamlDepth) return index;
  }
  return undefined;
};

type Placed = { linePos?: [{ line: number; col: number }] | [{ line: number; col: number }, object] };
type ErrorClass<E> = new (at: [number, number], code: 'RESOURCE_EXHAUSTION', message: string) => E;
/** The depth of a text as an error of its parser, with its place; undefined when it may be parsed. */
export const depthError = <E extends Placed>(text: string, YamlError: ErrorClass<E>): E | undefined => {
  const at = tooDeepAt(text);
  if (at === undefined) return undefined;
  const lines = text.slice(0, at).split('\n');
  const error = new YamlError(
    [at, at + 1],
    'RESOURCE_EXHAUSTION',
    `it is nested more than ${limits.yamlDepth} deep`,
  );
  error.linePos = [{ line: lines.length, col: (lines.at(-1) ?? '').length + 1 }];
  return error;
};

/** A document of that parser. One that is too deep is not parsed: it is empty, and its error says so. */
export const documentFrom = <D extends { errors: E[] }, E extends Placed>(
  text: string,
  YamlError: ErrorClass<E>,
  parse: (text: string) => D,
): D => {
  const error = depthError(text, YamlError);
  const document = parse(error === undefined ? text : '');
  if (error !== undefined) document.errors.push(error);
  return document;
};
