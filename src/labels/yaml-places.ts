import { pairNamed } from '../core/yaml.ts';
import { type LineCounter, type YamlDocument, isMap, isNode, isSeq } from '../platform/yaml.ts';

export type Place = { readonly line: number; readonly column: number };

/** `fields[2].choices[0].name` → fields, 2, choices, 0, name. */
const stepsOf = (path: string): (string | number)[] =>
  [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, name, index]) =>
    index === undefined ? (name ?? '') : Number(index),
  );

type Found = { readonly node: unknown; readonly offset: number | undefined };

const below = ({ node, offset }: Found, step: string | number): Found | undefined => {
  if (typeof step === 'number') {
    const item = isSeq(node) ? node.items[step] : undefined;
    return isNode(item) ? { node: item, offset: item.range?.[0] ?? offset } : undefined;
  }
  const pair = isMap(node) ? pairNamed(node.items, step) : undefined;
  if (pair === undefined) return undefined;
  const at = isNode(pair.key) ? pair.key.range?.[0] : undefined;
  return { node: pair.value, offset: at ?? offset };
};

/**
 * Returns the position of a key; for a missing key, the position of the part that should contain it. Pure.
 */
export const placeIn = (document: YamlDocument, counter: LineCounter, path: string): Place => {
  let found: Found = {
    node: document.contents,
    offset: isNode(document.contents) ? document.contents.range?.[0] : undefined,
  };
  for (const step of stepsOf(path)) {
    const next = below(found, step);
    if (next === undefined) break;
    found = next;
  }
  const { line, col } = counter.linePos(found.offset ?? 0);
  return { line: Math.max(1, line), column: Math.max(1, col) };
};
