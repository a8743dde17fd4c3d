import { limits } from './limits.ts';
import { tooDeepAt } from './yaml-depth.ts';
import { type YamlPlace, excerptAt } from './yaml-place.ts';

/** What may be a node of the tree that the package builds. */
const PART = /[\n,[\]{}]|[:?-](?=\s)|(?<=\s)[&*!]/g;
const hasMoreParts = (text: string): boolean => {
  const part = new RegExp(PART);
  let parts = 0;
  while (parts <= limits.yamlParts && part.test(text)) parts += 1;
  return parts > limits.yamlParts;
};

/** Why a text is too large for the package, as what follows its name; undefined for all others. Pure. */
export const tooLargeYaml = (text: string): string | undefined => {
  const size = Buffer.byteLength(text);
  if (size > limits.yamlBytes) return `has ${size} bytes; at most ${limits.yamlBytes} are read`;
  return text.length > limits.yamlParts && hasMoreParts(text)
    ? `has more than ${limits.yamlParts} lines, keys and items; no more are read`
    : undefined;
};

export type YamlFault = {
  message: string;
  readonly code?: string;
  readonly pos: readonly [number, number];
  linePos?: [YamlPlace] | [YamlPlace, YamlPlace];
};
type Code = 'RESOURCE_EXHAUSTION' | 'DUPLICATE_KEY';
type Parsed<E> = { errors: E[]; readonly contents: unknown };
type Parser<E, D> = {
  readonly YamlError: new (at: [number, number], code: Code, message: string) => E;
  readonly lines: { linePos(offset: number): YamlPlace };
  /** Gives a document of an empty text too. */
  readonly parse: (text: string) => D[];
};

/**
 * How the package is asked. By itself it compares each key with all keys before it, and cuts the whole line out for each
 * error: a quarter of a megabyte of `a, a` in braces took 40 s. `documentsFrom` does both, once.
 */
export const yamlOptions = { prettyErrors: false, uniqueKeys: false, merge: true } as const;

type Refusal = { readonly at: number; readonly why: string };
const refusalOf = (text: string): Refusal | undefined => {
  const why = tooLargeYaml(text);
  if (why !== undefined) return { at: 0, why: `it ${why}` };
  const at = tooDeepAt(text);
  return at === undefined ? undefined : { at, why: `it is nested more than ${limits.yamlDepth} deep` };
};

const refused = <E extends YamlFault, D extends Parsed<E>>(
  text: string,
  { at, why }: Refusal,
  { YamlError, parse }: Parser<E, D>,
): D[] => {
  const error = new YamlError([at, at + 1], 'RESOURCE_EXHAUSTION', why);
  const before = text.slice(0, at).split('\n');
  error.linePos = [{ line: before.length, col: (before.at(-1) ?? '').length + 1 }];
  const documents = parse('');
  documents[0]?.errors.push(error);
  return documents;
};

type Scalar = { readonly value: unknown; readonly range?: readonly number[] | null };
const isCollection = (node: unknown): node is { readonly items: readonly unknown[] } =>
  typeof node === 'object' && node !== null && 'items' in node;
const isScalar = (node: unknown): node is Scalar =>
  typeof node === 'object' && node !== null && 'value' in node && !('key' in node);

/** Where the keys stand that their map has already. */
const repeatedIn = (items: readonly unknown[]): number[] => {
  const seen = new Set<unknown>();
  return items.flatMap((item) => {
    const { key } = (item ?? {}) as { readonly key?: unknown };
    if (!isScalar(key)) return [];
    if (seen.has(key.value)) return [key.range?.[0] ?? 0];
    seen.add(key.value);
    return [];
  });
};

/** The same, of all maps of a document. */
const repeatedKeys = (root: unknown): number[] => {
  const found: number[] = [];
  const open = [root];
  while (open.length > 0) {
    const node = open.pop();
    if (!isCollection(node)) continue;
    for (const at of repeatedIn(node.items)) found.push(at);
    for (const item of node.items) {
      const { key, value } = (item ?? {}) as { readonly key?: unknown; readonly value?: unknown };
      open.push(item, key, value);
    }
  }
  return found;
};

/** The documents of a text. Each error has its place, the first of a document its line as well. */
export const documentsFrom = <E extends YamlFault, D extends Parsed<E>>(
  text: string,
  parser: Parser<E, D>,
): D[] => {
  const refusal = refusalOf(text);
  if (refusal !== undefined) return refused(text, refusal, parser);
  const { YamlError, lines, parse } = parser;
  const documents = parse(text);
  for (const { contents, errors } of documents) {
    for (const at of repeatedKeys(contents))
      errors.push(new YamlError([at, at + 1], 'DUPLICATE_KEY', 'Map keys must be unique'));
    for (const error of errors)
      if (error.code === 'MULTIPLE_DOCS')
        error.message = 'it contains several documents (---); this file has one';
    errors.sort((a, b) => a.pos[0] - b.pos[0]);
    for (const error of errors) error.linePos = [lines.linePos(error.pos[0])];
    const [first] = errors;
    const [place] = first?.linePos ?? [];
    if (first !== undefined && place !== undefined)
      first.message += ` at line ${place.line}, column ${place.col}${excerptAt(text, first.pos[0], place)}`;
  }
  return documents;
};

/** The same for a text that holds one document. */
export const documentFrom = <E extends YamlFault, D extends Parsed<E>>(
  text: string,
  { parse, ...rest }: Omit<Parser<E, D>, 'parse'> & { readonly parse: (text: string) => D },
): D => documentsFrom(text, { ...rest, parse: (given) => [parse(given)] })[0] as D;
