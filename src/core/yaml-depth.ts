import { limits } from './limits.ts';

/** Brackets, and lines that begin with keys that are marked with `?`. */
const NESTING = /[[{]|[\]}]|^(?:[ \t]*[-?:][ \t])*[ \t]*\?(?=\s)/gm;

/**
 * Where a YAML text gets deeper than any that was written by hand; undefined for all others. The parser needs time without
 * end for such a text (a kilobyte of `? ` is enough), so this looks before it. Pure.
 */
export const tooDeepAt = (text: string): number | undefined => {
  let [open, keys] = [0, 0];
  for (const { 0: found, index } of text.matchAll(NESTING)) {
    if (found === '[' || found === '{') open += 1;
    else if (found === ']' || found === '}') open = Math.max(0, open - 1);
    else keys += found.split('?').length - 1;
    if (open > limits.yamlDepth || keys > limits.yamlDepth) return index;
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
