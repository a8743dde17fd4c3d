/** A place in a text as an editor counts it. */
export type YamlPlace = { readonly line: number; readonly col: number };

const SHOWN = 80;
const cut = (text: string, from: number, end: number): string =>
  end > from + SHOWN ? `${text.slice(from, from + SHOWN)}…` : text.slice(from, end).trimEnd();

/** The line that ends before this one begins. */
const lineBefore = (text: string, start: number): string =>
  start === 0 ? '' : `${cut(text, text.lastIndexOf('\n', start - 2) + 1, start - 1)}\n`;

/** The line with a mark below the place, as it follows a message; of a long line what is near it. Pure. */
export const excerptAt = (text: string, at: number, { col }: YamlPlace): string => {
  const start = at - (col - 1);
  const from = col > SHOWN ? at - SHOWN / 2 : start;
  const end = text.indexOf('\n', at);
  const line = `${from > start ? '…' : ''}${cut(text, from, end < 0 ? text.length : end)}`;
  // Where a line begins, the mistake is mostly in the one before.
  const shown = `${text.slice(from, at).trim() === '' ? lineBefore(text, start) : ''}${line}`;
  const mark = ' '.repeat(at - from + (from > start ? 1 : 0));
  return shown.trim() === '' ? '' : `:\n\n${shown}\n${mark}^\n`;
};

/** A map's pairs by key, as `items` of the package. Each list is gone through once, however many of its keys are looked for. */
type Pairs = readonly { readonly key: unknown }[];
const indexes = new WeakMap<Pairs, ReadonlyMap<string, unknown>>();
const indexOf = (items: Pairs): ReadonlyMap<string, unknown> => {
  const found = new Map<string, unknown>();
  for (const pair of items) {
    const { key } = pair;
    if (typeof key !== 'object' || key === null || !('value' in key)) continue;
    const name = String(key.value);
    if (!found.has(name)) found.set(name, pair);
  }
  return found;
};

export const pairNamed = <P extends Pairs>(items: P, name: string): P[number] | undefined => {
  const index = indexes.get(items) ?? indexOf(items);
  indexes.set(items, index);
  return index.get(name) as P[number] | undefined;
};
