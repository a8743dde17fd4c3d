/**
 * Reads the YAML that this program writes (`yaml-text.ts`, `lock-file.ts`): block style, plain or JSON scalars, blocks of
 * text. Such files are read by the thousand, and a general reader takes ten times as long for them. Whatever else stands
 * in a text (comments between the lines, anchors, flow style, a repeated key, a mistake) makes the answer undefined, and
 * the general reader decides.
 */
export type PlainYaml = { readonly value: unknown };

/** A letter first, and nothing to which YAML gives a meaning. */
const plainText = /^[\p{L}_][\p{L}\p{N}_ .,()/&+'-]*$/u;
/** Words that some version of YAML reads as something other than text. */
const reserved = /^(true|false|null|yes|no|on|off|y|n)$/i;
const words: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
]);
const number = /^(0|-?[1-9]\d{0,14})$/;
/** A key that every reader takes as text without quotes. */
export const isPlainKey = (key: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_-]*$/.test(key) && !reserved.test(key);
const plainMember = /^([A-Za-z_][A-Za-z0-9_-]*):(?: (\S.*))?$/;
const quotedMember = /^("(?:[^"\\]|\\.)*"):(?: (\S.*))?$/;
/** Control characters, marks of the byte order and ends of lines of other kinds, which YAML allows in some places only. */
const unusual = /[^\P{Cc}\n]|[\u2028\u2029\ufeff]/u;
/** Definitions are five levels deep; nothing written by hand is much deeper. */
const MAX_DEPTH = 20;

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

const listOfText = (text: string): unknown => {
  const list = fromJson(text);
  return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : unusualText();
};

const scalar = (text: string): unknown => {
  if (words.has(text)) return words.get(text);
  if (text.startsWith('"')) return fromJson(text);
  if (text.startsWith('[')) return listOfText(text);
  if (text === '{}') return {};
  if (number.test(text)) return Number(text);
  return plainText.test(text) && !reserved.test(text) && !text.endsWith(' ') ? text : unusualText();
};

/** The lines below `|` or `|-`, which stand at one indent. */
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

/** What stands behind a key or a dash; `indent` is that of what is inside. */
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
  const quoted = quotedMember.exec(line);
  if (quoted === null) return undefined;
  const key = String(fromJson(quoted[1] ?? ''));
  return key === '__proto__' ? unusualText() : { key, rest: quoted[2] };
};

/** A map at `indent`; its first line may have begun behind a dash. */
const map = (input: Lines, indent: number, first: string, depth: number): Record<string, unknown> => {
  const found: Record<string, unknown> = {};
  let line: string | undefined = first;
  while (line !== undefined) {
    const member = memberOf(line) ?? unusualText();
    if (Object.hasOwn(found, member.key)) unusualText();
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

/** The next line when it stands at this indent; undefined when it belongs to something further out. */
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

/** One of several: its own text, and how many lines of the whole stand before it. */
export type PlainDocument = PlainYaml & { readonly text: string; readonly before: number };

/** The documents of a text, divided as `labels export` does it; undefined when one of them is of another kind. Pure. */
export const plainDocuments = (text: string): PlainDocument[] | undefined => {
  const found: PlainDocument[] = [];
  let before = 0;
  for (const part of text.split(/^---\n/m)) {
    // The line of dashes may stand above the first one, too.
    const read = part === '' && before === 0 ? undefined : plainYaml(part);
    if (read !== undefined) found.push({ ...read, text: part, before });
    else if (part !== '' || before > 0) return undefined;
    before += part.split('\n').length;
  }
  return found.length === 0 ? undefined : found;
};
