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
