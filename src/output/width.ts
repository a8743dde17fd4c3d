// biome-ignore lint/suspicious/noControlCharactersInRegex: everything outside ASCII needs the tables of string-width
const ASCII = /^[\u0000-\u007f]*$/;

export type Measure = (text: string) => number;

/** Columns that texts take on a terminal. string-width (40 ms) is loaded only when one of them is not ASCII. */
export const measureFor = async (texts: Iterable<string>): Promise<Measure> => {
  for (const text of texts) {
    if (ASCII.test(text)) continue;
    const { default: stringWidth } = await import('string-width');
    return (one) => (ASCII.test(one) ? one.length : stringWidth(one));
  }
  return (text) => text.length;
};

/** Cuts to `columns` places, with a mark where something is missing. */
export const clip = (text: string, columns: number, measure: Measure): string => {
  if (measure(text) <= columns) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    const width = measure(character);
    if (used + width > columns - 1) break;
    kept += character;
    used += width;
  }
  return `${kept}…`;
};
