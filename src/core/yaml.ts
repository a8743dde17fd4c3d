import { limits } from './limits.ts';
import { messageOf, type Problem, problem } from './problem.ts';
import { escapedNulRemedy, LONE_SURROGATE, nulFound } from './text.ts';
import { endOfQuotes } from './json-scan.ts';
import { goScalar } from './yaml-scalars.ts';

/**
 * Reads the YAML that this program writes (`yaml-text.ts`, `lock-file.ts`): block style, plain or JSON
 * scalars, blocks of text. A run may read thousands of such files, and a general reader is ten times slower.
 * For any other content (comments between lines, anchors, flow style, repeated keys, mistakes) it returns
 * undefined, and the caller uses the general reader.
 */
export type PlainYaml = { readonly value: unknown };
/** The first character is a letter, and no character has a meaning in YAML. */
const plainText = /^[\p{L}_][\p{L}\p{N}_ .,()/&+'-]*$/u;
/** Words that some versions of YAML do not read as text. */
const reserved = /^(true|false|null|yes|no|on|off|y|n)$/i;
const words: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
]);
const number = /^(0|-?[1-9]\d{0,14})$/;
/** A key that every reader accepts as text without quotes. */
export const isPlainKey = (key: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_-]*$/.test(key) && !reserved.test(key);
const plainMember = /^([A-Za-z_][A-Za-z0-9_-]*):(?: (\S.*))?$/;
const afterQuotedKey = /^:(?: (\S.*))?$/;
/** Control characters, marks of the byte order and ends of lines of other kinds, which YAML allows in some places only. */
const unusual = /[^\P{Cc}\n]|[\u2028\u2029\ufeff]/u;
/** Definitions have five levels. Hand-written files are not much deeper. */
const MAX_DEPTH = 20;
/** Keys whose text is one line. */
const ONE_LINE: ReadonlySet<string> = new Set(['title', 'name', 'key', 'was', 'id', 'email', 'external_id']);
/** Ends the attempt: the text is of another kind. */
class Unusual extends Error {}
const unusualText = (): never => {
  throw new Unusual();
};
type Lines = { readonly lines: readonly string[]; at: number };
const indentOf = (line: string): number => line.length - line.trimStart().length;
const fromJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return unusualText();
  }
};
/** The general reader reports a NUL character and half of a surrogate pair with their place. */
const onlyStorable = (text: unknown): unknown =>
  typeof text === 'string' && (text.includes('\0') || LONE_SURROGATE.test(text)) ? unusualText() : text;
const listOfText = (text: string): unknown => {
  const list = fromJson(text);
  return Array.isArray(list) && list.every((one) => typeof one === 'string' && onlyStorable(one) === one)
    ? list
    : unusualText();
};
const scalar = (text: string): unknown => {
  if (words.has(text)) return words.get(text);
  if (text.startsWith('"')) return onlyStorable(fromJson(text));
  if (text.startsWith('[')) return listOfText(text);
  if (text === '{}') return {};
  if (number.test(text)) return Number(text);
  return plainText.test(text) && !reserved.test(text) && !text.endsWith(' ') ? text : unusualText();
};
/** The lines below `|` or `|-`, with equal indentation. */
const block = (input: Lines, indent: number, isEnded: boolean): string => {
  const found: string[] = [];
  for (; input.at < input.lines.length; input.at += 1) {
    const line = input.lines[input.at] ?? '';
    if (line !== '' && indentOf(line) < indent) break;
    if (line !== '' && (indentOf(line) > indent || line.endsWith(' '))) return unusualText();
    found.push(line.slice(indent));
  }
  return found.length === 0 || found[0] === '' || found.at(-1) === ''
    ? unusualText()
    : found.join('\n') + (isEnded ? '\n' : '');
};
/** The content after a key or a dash; `indent` is the indentation of the content. */
const valueFrom = (input: Lines, rest: string, indent: number): unknown => {
  input.at += 1;
  return rest === '|' || rest === '|-' ? block(input, indent, rest === '|') : scalar(rest);
};
const memberOf = (line: string): { readonly key: string; readonly rest: string | undefined } | undefined => {
  const plain = plainMember.exec(line);
  if (plain !== null) {
    const key = plain[1] ?? '';
    return reserved.test(key) || key === '__proto__' ? unusualText() : { key, rest: plain[2] };
  }
  const end = line.startsWith('"') ? endOfQuotes(line, 0) : undefined;
  const after = end === undefined ? null : afterQuotedKey.exec(line.slice(end));
  if (after === null) return undefined;
  const key = String(onlyStorable(fromJson(line.slice(0, end))));
  return key === '__proto__' ? unusualText() : { key, rest: after[1] };
};
/** A map at `indent`. Its first line may follow a dash. */
const map = (input: Lines, indent: number, first: string, depth: number): Record<string, unknown> => {
  const found: Record<string, unknown> = {};
  let line: string | undefined = first;
  while (line !== undefined) {
    const member = memberOf(line) ?? unusualText();
    if (Object.hasOwn(found, member.key)) unusualText();
    // The general reader reports a name in a block with its place.
    if (member.rest === '|' && ONE_LINE.has(member.key)) unusualText();
    if (member.rest === undefined) {
      input.at += 1;
      found[member.key] = below(input, indent + 2, depth + 1);
    } else found[member.key] = valueFrom(input, member.rest, indent + 2);
    line = nextAt(input, indent);
  }
  return found;
};
const list = (input: Lines, indent: number, first: string, depth: number): unknown[] => {
  const found: unknown[] = [];
  let line: string | undefined = first;
  while (line !== undefined) {
    if (!line.startsWith('- ')) unusualText();
    const rest = line.slice(2);
    found.push(
      memberOf(rest) === undefined
        ? valueFrom(input, rest, indent + 2)
        : map(input, indent + 2, rest, depth + 1),
    );
    line = nextAt(input, indent);
  }
  return found;
};
/** Returns the next line if it has this indentation, or undefined if it belongs to an outer level. */
const nextAt = ({ lines, at }: Lines, indent: number): string | undefined => {
  const line = lines[at];
  if (line === undefined) return undefined;
  const found = line === '' ? unusualText() : indentOf(line);
  if (found > indent) unusualText();
  return found < indent ? undefined : line.slice(indent);
};
const below = (input: Lines, indent: number, depth: number): unknown => {
  const first = depth > MAX_DEPTH ? undefined : nextAt(input, indent);
  if (first === undefined) return unusualText();
  return first.startsWith('- ') ? list(input, indent, first, depth) : map(input, indent, first, depth);
};
/** The value of a text in the shape that this program writes; undefined for every other text. Pure. */
export const plainYaml = (text: string): PlainYaml | undefined => {
  if (!text.endsWith('\n') || unusual.test(text)) return undefined;
  const lines = text.slice(0, -1).split('\n');
  const start = lines.findIndex((line) => !line.startsWith('#'));
  if (start < 0) return undefined;
  const input: Lines = { lines, at: start };
  try {
    const value = below(input, 0, 0);
    return input.at === lines.length ? { value } : undefined;
  } catch (error) {
    if (error instanceof Unusual) return undefined;
    throw error;
  }
};
/** One document of several: its text, and the number of lines before it. */
export type PlainDocument = PlainYaml & { readonly text: string; readonly before: number };
/** The documents of a text, divided as `labels export` does it; undefined when one of them is of another kind. Pure. */
export const plainDocuments = (text: string): PlainDocument[] | undefined => {
  const found: PlainDocument[] = [];
  let before = 0;
  for (const part of text.split(/^---\n/m)) {
    // A line of dashes may also precede the first document.
    const read = part === '' && before === 0 ? undefined : plainYaml(part);
    if (read !== undefined) found.push({ ...read, text: part, before });
    else if (part !== '' || before > 0) return undefined;
    before += part.split('\n').length;
  }
  return found.length === 0 ? undefined : found;
};

/** Brackets, lines that start with a `?` key, and lines that start with more signs than a file may nest. */
const NESTING = new RegExp(
  `[[{]|[\\]}]|^(?:[ \\t]*[-?:][ \\t]){${limits.yamlDepth + 1}}|^(?:[ \\t]*[-?:][ \\t]){0,${limits.yamlDepth}}[ \\t]*\\?(?=\\s)`,
  'gm',
);
/**
 * Returns the position at which a YAML text is nested deeper than any hand-written file, or undefined. The
 * parser does not finish such a text in acceptable time (a kilobyte of `? ` is enough), so this check runs
 * first. Pure.
 */
export const tooDeepAt = (text: string): number | undefined => {
  let open = 0;
  // Columns of the keys that are open: one that stands further left, or in the same place, is in none of them.
  let keys: number[] = [];
  for (const { 0: found, index } of text.matchAll(NESTING)) {
    if (found === '[' || found === '{') open += 1;
    else if (found === ']' || found === '}') open = Math.max(0, open - 1);
    else {
      if ((found.match(/[-?:]/g)?.length ?? 0) > limits.yamlDepth) return index;
      const columns = [...found.matchAll(/\?/g)].map((mark) => mark.index);
      keys = [...keys.filter((column) => column < (columns[0] ?? 0)), ...columns];
    }
    if (open > limits.yamlDepth || keys.length > limits.yamlDepth) return index;
  }
  return undefined;
};

/** A place in a text as an editor counts it. */
type YamlPlace = { readonly line: number; readonly col: number };
/**
 * The message of the package without the part of the file that it quotes: a broken line may contain a secret,
 * such as a password that starts with `!` or `*`. The line and the column lead to the text. Pure.
 */
const withoutContent = (message: string): string =>
  message
    .replace(/: [\s\S]*$/, '')
    .replace(/^(Invalid escape sequence) [\s\S]*$/, '$1')
    .replace(/^"[\s\S]*" (?=is not a value of the type)/, 'a value ');
/** Indexes the pairs of a map (`items` of the package) by key. Each list is scanned only once. */
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
export const findPair = <P extends Pairs>(items: P, name: string): P[number] | undefined => {
  const index = indexes.get(items) ?? indexOf(items);
  indexes.set(items, index);
  return index.get(name) as P[number] | undefined;
};

/** What may be a node of the tree that the package builds. */
const PART = /[\n,[\]{}]|[:?-](?=\s)|(?<=\s)[&*!]/g;
const hasMoreParts = (text: string): boolean => {
  const part = new RegExp(PART);
  let parts = 0;
  while (parts <= limits.yamlParts && part.test(text)) parts += 1;
  return parts > limits.yamlParts;
};
/** Returns why a text is too large for the package, as a phrase to put after its name, or undefined. Pure. */
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
type Code =
  | 'RESOURCE_EXHAUSTION'
  | 'DUPLICATE_KEY'
  | 'TAG_RESOLVE_FAILED'
  | 'UNEXPECTED_TOKEN'
  | 'NON_STRING_KEY';
type Parsed<E> = { errors: E[]; readonly contents: unknown; readonly warnings?: readonly YamlFault[] };
type Parser<E, D> = {
  readonly YamlError: new (at: [number, number], code: Code, message: string) => E;
  readonly lines: { linePos(offset: number): YamlPlace };
  /** Gives a document of an empty text too. */
  readonly parse: (text: string) => D[];
  /** The file may contain NUL characters, for example in the body of a mock response. */
  readonly mayHaveNul?: boolean;
};
/**
 * Options of the package. By default it compares each key with all previous keys and copies the whole line
 * for each error: a quarter of a megabyte of `a, a` in braces took 40 s. `documentsFrom` does both checks
 * once.
 */
export const yamlOptions = { prettyErrors: false, uniqueKeys: false, merge: true } as const;
type Refusal = { readonly at: number; readonly why: string };
const refusalOf = (text: string): Refusal | undefined => {
  const why = tooLargeYaml(text);
  if (why !== undefined) return { at: 0, why: `it ${why}` };
  const at = tooDeepAt(text);
  return at === undefined ? undefined : { at, why: `it is nested more than ${limits.yamlDepth} deep` };
};
const makeYamlError = <E extends YamlFault, D extends Parsed<E>>(
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
/** Positions of keys that already occurred in the map. */
const repeatedIn = (items: readonly unknown[]): number[] => {
  const seen = new Set<unknown>();
  return items.flatMap((item) => {
    const { key } = (item ?? {}) as { readonly key?: unknown };
    if (!isScalar(key)) return [];
    // The package makes another symbol for each merge key.
    const name = typeof key.value === 'symbol' ? '<<' : key.value;
    if (seen.has(name)) return [key.range?.[0] ?? 0];
    seen.add(name);
    return [];
  });
};
/** The nodes of a document, and the pairs of its maps. */
function* nodesOf(root: unknown): Generator {
  const open = [root];
  while (open.length > 0) {
    const node = open.pop();
    yield node;
    if (!isCollection(node)) continue;
    for (const item of node.items) {
      const { key, value } = (item ?? {}) as { readonly key?: unknown; readonly value?: unknown };
      open.push(item, key, value);
    }
  }
}
/** The same, of all maps of a document. */
const repeatedKeys = (root: unknown): number[] => {
  const found: number[] = [];
  for (const node of nodesOf(root))
    if (isCollection(node)) for (const at of repeatedIn(node.items)) found.push(at);
  return found;
};
/** Escapes of a NUL character and of half of a surrogate pair; an escaped backslash before them looks the same. */
const HIDDEN_ESCAPE = /\\(?:0|x00|u0000|U00000000|u[dD][89a-fA-F]|U0000[dD][89a-fA-F])/;
/** Texts with an escaped character that no service stores and no other program shows. */
const hiddenTexts = (text: string, root: unknown): { readonly at: number; readonly why: string }[] => {
  if (!HIDDEN_ESCAPE.test(text)) return [];
  const found: { readonly at: number; readonly why: string }[] = [];
  for (const node of nodesOf(root)) {
    if (!isScalar(node) || typeof node.value !== 'string') continue;
    const at = node.range?.[0] ?? 0;
    if (node.value.includes('\0')) found.push({ at, why: `${nulFound}; ${escapedNulRemedy}` });
    if (LONE_SURROGATE.test(node.value))
      found.push({ at, why: 'half of a surrogate pair is part of the text; write the whole character' });
  }
  return found;
};
/** A value that YAML permits, and its key does not. */
type ValueFault = { readonly at: number; readonly key: string; readonly mark: '|' | '>' };
const valueFaults = new WeakMap<object, Problem>();
/** The problem of a field, if an error of a document is not an error of YAML. */
export const fieldProblem = (error: object): Problem | undefined => valueFaults.get(error);
/** The statement about a file with this error, up to the cause. */
export const faultPhrase = (error: object): string => (valueFaults.has(error) ? 'is invalid' : 'is not YAML');
const lineEndProblem = ({ key, mark }: ValueFault): Problem =>
  problem(
    key,
    'format',
    'must not end with a line end',
    `write the text in the line of its key, or ${mark}- instead of ${mark}`,
  );
/** Names that end with the line end of their block: it is invisible, and it would be another name. */
const blockNames = (text: string, root: unknown): ValueFault[] => {
  if (!/: *[|>]/.test(text)) return [];
  const found: ValueFault[] = [];
  for (const node of nodesOf(root)) {
    const { key, value } = (node ?? {}) as { readonly key?: unknown; readonly value?: unknown };
    if (!isScalar(key) || !isScalar(value) || !ONE_LINE.has(String(key.value))) continue;
    const type = String((value as { readonly type?: unknown }).type);
    if (type.startsWith('BLOCK_') && String(value.value).endsWith('\n'))
      found.push({
        at: value.range?.[0] ?? 0,
        key: String(key.value),
        mark: type === 'BLOCK_FOLDED' ? '>' : '|',
      });
  }
  return found;
};
/** The errors of these names, with their problems. */
const blockErrors = <E extends YamlFault>(
  text: string,
  root: unknown,
  YamlError: new (at: [number, number], code: Code, message: string) => E,
): E[] =>
  blockNames(text, root).map((fault) => {
    const found = lineEndProblem(fault);
    const why = `${found.path} ${found.message}; ${found.hint}`;
    const error = new YamlError([fault.at, fault.at + 1], 'UNEXPECTED_TOKEN', why);
    valueFaults.set(error, found);
    return error;
  });
/** A tag that the parser does not know changes the value in the program that wrote the file, and not here. */
const unknownTags = (warnings: readonly YamlFault[] = []): { readonly at: number; readonly why: string }[] =>
  warnings
    .filter(({ code }) => code === 'TAG_RESOLVE_FAILED')
    .map(({ pos: [at] }) => ({
      at,
      why: 'a tag is unknown; remove the tag and write the value that it stands for, or quote text that starts with !',
    }));
type Place = { readonly range?: readonly number[] | null };
/** Aliases without an anchor before them, which the package reports without a place, and aliases inside their own value. */
const wrongAliases = (text: string, root: unknown): Refusal[] => {
  if (!/(?:^|[\s[{,])\*[^\s]/.test(text)) return [];
  const anchors = new Map<unknown, { readonly at: number; readonly end: number }[]>();
  const aliases: { readonly source: unknown; readonly at: number }[] = [];
  for (const node of nodesOf(root)) {
    if (typeof node !== 'object' || node === null) continue;
    const { anchor, source, range } = node as Place & {
      readonly anchor?: unknown;
      readonly source?: unknown;
    };
    const [at = 0, end = 0] = range ?? [];
    if (anchor !== undefined) anchors.set(anchor, [...(anchors.get(anchor) ?? []), { at, end }]);
    if ('source' in node && !('value' in node) && typeof source === 'string') aliases.push({ source, at });
  }
  return aliases.flatMap(({ source, at }) => {
    const before = (anchors.get(source) ?? []).filter((anchor) => anchor.at < at);
    if (before.length === 0) return [{ at, why: 'an alias has no anchor before it' }];
    const latest = before.reduce((a, b) => (b.at > a.at ? b : a));
    return latest.end > at ? [{ at, why: 'an alias is part of the value that it stands for' }] : [];
  });
};
/** Keys that JSON cannot have. A placeholder without quotes, such as `{{ name }}`, is one, too. */
const collectionKeys = (root: unknown): Refusal[] => {
  const found: Refusal[] = [];
  for (const node of nodesOf(root))
    for (const item of isCollection(node) ? node.items : []) {
      const { key } = (item ?? {}) as { readonly key?: unknown };
      if (isCollection(key))
        found.push({
          at: (key as Place).range?.[0] ?? 0,
          why: 'a key is a list or a map; put text that starts with { or [ in quotes',
        });
    }
  return found;
};
/** Messages of the package that do not name a remedy. */
const plainMessages: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'it contains several documents (---); this file has one',
  BLOCK_AS_IMPLICIT_KEY:
    'a value is followed by another key; check the indentation, and put text with ": " in quotes',
  TAB_AS_INDENT: 'a tab indents the line; use spaces',
};
/** Adds the errors that the package does not report, and the place of each error. */
const completeErrors = <E extends YamlFault, D extends Parsed<E>>(
  text: string,
  { contents, errors, warnings }: D,
  { YamlError, lines, mayHaveNul = false }: Parser<E, D>,
): void => {
  for (const error of errors) error.message = withoutContent(error.message);
  for (const { at, why } of unknownTags(warnings))
    errors.push(new YamlError([at, at + 1], 'TAG_RESOLVE_FAILED', why));
  for (const at of repeatedKeys(contents))
    errors.push(
      new YamlError([at, at + 1], 'DUPLICATE_KEY', 'a key is given twice in one map; remove one of the two'),
    );
  for (const { at, why } of collectionKeys(contents))
    errors.push(new YamlError([at, at + 1], 'NON_STRING_KEY', why));
  const hidden = mayHaveNul ? [] : hiddenTexts(text, contents);
  for (const { at, why } of [...wrongAliases(text, contents), ...hidden])
    errors.push(new YamlError([at, at + 1], 'UNEXPECTED_TOKEN', why));
  for (const error of mayHaveNul ? [] : blockErrors(text, contents, YamlError)) errors.push(error);
  for (const error of errors) error.message = plainMessages[error.code ?? ''] ?? error.message;
  errors.sort((a, b) => a.pos[0] - b.pos[0]);
  for (const error of errors) error.linePos = [lines.linePos(error.pos[0])];
};
/** The documents of a text. Each error has its place, the first of a document its line as well. */
export const documentsFrom = <E extends YamlFault, D extends Parsed<E>>(
  text: string,
  parser: Parser<E, D>,
): D[] => {
  const refusal = refusalOf(text);
  if (refusal !== undefined) return makeYamlError(text, refusal, parser);
  const documents = parser.parse(text);
  for (const document of documents) {
    completeErrors(text, document, parser);
    const { errors } = document;
    const [first] = errors;
    const [place] = first?.linePos ?? [];
    if (first !== undefined && place !== undefined)
      first.message += ` at line ${place.line}, column ${place.col}`;
  }
  return documents;
};
/** Like `documentsFrom`, for a text with a single document. */
export const documentFrom = <E extends YamlFault, D extends Parsed<E>>(
  text: string,
  { parse, ...rest }: Omit<Parser<E, D>, 'parse'> & { readonly parse: (text: string) => D },
): D => documentsFrom(text, { ...rest, parse: (given) => [parse(given)] })[0] as D;

type PlainScalar = {
  value: unknown;
  readonly type?: string;
  readonly source?: string;
  readonly tag?: string;
};
/** The values of the maps, and the items of the lists, of a document. */
function* valuesOf(root: unknown): Generator {
  for (const node of nodesOf(root))
    for (const item of isCollection(node) ? node.items : [])
      yield typeof item === 'object' && item !== null && 'key' in item
        ? (item as { readonly value?: unknown }).value
        : item;
}
/** Gives each plain scalar of a document the value that programs in Go read. Keys stay texts. */
export const resolveGoScalars = (root: unknown): void => {
  for (const value of valuesOf(root)) {
    const node: PlainScalar | undefined = isScalar(value) ? value : undefined;
    if (node?.type === 'PLAIN' && node.tag === undefined && node.source !== undefined)
      node.value = goScalar(node.source, node.value);
  }
};
/** Returns whether a map of a document has a key that JSON cannot have: a list, a map or null. */
export const hasOddKey = (root: unknown): boolean => {
  for (const node of nodesOf(root))
    for (const item of isCollection(node) ? node.items : []) {
      if (typeof item !== 'object' || item === null || !('key' in item)) continue;
      if (isCollection(item.key) || (isScalar(item.key) && item.key.value === null)) return true;
    }
  return false;
};

type ParsedYaml = { toJS(options?: { maxAliasCount: number }): unknown };
/**
 * Returns the value of a YAML document, or the reason for the failure: an alias without an anchor, or too
 * many aliases.
 */
export const yamlValue = (
  document: ParsedYaml,
): { readonly value: unknown } | { readonly problem: string } => {
  try {
    // The count includes the anchor.
    return { value: document.toJS({ maxAliasCount: limits.yamlAliases + 1 }) };
  } catch (error) {
    return { problem: withoutContent(messageOf(error)) };
  }
};

/** Text that needs no quotes: it starts with a letter and contains no character with a meaning in YAML. */
const plain = /^[\p{L}_][\p{L}\p{N}_ .,()/&+'-]*$/u;
/** Lines that a block of text keeps as they are. */
const keptLine = /^(\S(.*\S)?)?$/;
const isBlock = (text: string): boolean =>
  /^\S/.test(text) &&
  text.includes('\n') &&
  !text.endsWith('\n\n') &&
  !/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(text.replaceAll('\n', '')) &&
  text.split('\n').every((line) => keptLine.test(line));
const blockText = (text: string, indent: string): string => {
  const isEnded = text.endsWith('\n');
  const lines = (isEnded ? text.slice(0, -1) : text).split('\n');
  return `${isEnded ? '|' : '|-'}\n${lines.map((line) => (line === '' ? '' : `${indent}${line}`)).join('\n')}`;
};
/** Characters that JSON allows and YAML does not: control characters, other line ends, byte order marks. */
const yamlTextUnusual = /[\x7f-\x9f\u2028\u2029\ufeff]/g;
const quoteText = (text: string): string =>
  JSON.stringify(text).replace(
    yamlTextUnusual,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
const scalarText = (value: unknown, indent: string): string => {
  if (typeof value !== 'string') return JSON.stringify(value);
  if (plain.test(value) && !reserved.test(value) && !value.endsWith(' ')) return value;
  return isBlock(value) ? blockText(value, indent) : quoteText(value);
};
const isEmpty = (value: object): boolean => Object.keys(value).length === 0;
const member = (key: string, value: unknown, indent: string): string => {
  // Readers reject a name in a block that ends with a line end. Quotes show the line end.
  if (typeof value === 'string' && ONE_LINE.has(key) && value.endsWith('\n'))
    return `${key}: ${quoteText(value)}\n`;
  if (typeof value !== 'object' || value === null) return `${key}: ${scalarText(value, `${indent}  `)}\n`;
  if (isEmpty(value)) return `${key}: ${JSON.stringify(value)}\n`;
  return `${key}:\n${yamlText(value, `${indent}  `)}`;
};
const item = (value: unknown, indent: string): string => {
  if (typeof value !== 'object' || value === null) return `${indent}- ${scalarText(value, `${indent}  `)}\n`;
  if (isEmpty(value)) return `${indent}- ${JSON.stringify(value)}\n`;
  return `${indent}- ${yamlText(value, `${indent}  `).slice(indent.length + 2)}`;
};
/**
 * Writes a plain value as YAML in block style with the given order of keys. A run may write thousands of
 * definitions, and a general writer needs several times the memory. Every text is read back unchanged.
 */
export const yamlText = (value: object, indent = ''): string =>
  Array.isArray(value)
    ? value.map((one: unknown) => item(one, indent)).join('')
    : Object.entries(value)
        .filter(([, one]) => one !== undefined)
        .map(([key, one]) => `${indent}${member(key, one, indent)}`)
        .join('');
/** The first line of a message without its place, which is reported separately. */
export const causeWithoutPlace = (message: string): string =>
  (message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '');
/** `fields[2].choices[0].name` → fields, 2, choices, 0, name. */
export const stepsOfPath = (path: string): (string | number)[] =>
  [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, name, index]) =>
    index === undefined ? (name ?? '') : Number(index),
  );
