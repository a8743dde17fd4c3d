import { endOfQuotes } from '../../../core/json-scan.ts';
import type { Origin } from './configuration.ts';

/** A problem of the file itself, independent of a version. */
type Note = { readonly key: string; readonly message: string; readonly hint: string };
/** A logical line of an environment file: an assignment, or another text. Its value may continue on further lines. */
type Entry = {
  readonly line: number;
  /** The text before `=`. Undefined if the line has no `=`. */
  readonly key: string | undefined;
  /** The text after `=`, with its quotes, escapes and line ends. */
  readonly raw: string;
  /** The value as systemd reads it. */
  readonly value: string;
  /** A quote is still open at the end of the file. */
  readonly isOpen: boolean;
  /** The comment in front of the line ends with a backslash, and systemd before version 254 adds the line to it. */
  readonly isContinuedComment: boolean;
};
const match = (pattern: RegExp, text: string, at: number): string => {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
};
const unescapeQuoted = (text: string): string =>
  text.replace(/\\([\s\S])/g, (whole, one: string) =>
    one === '\n' ? '' : ['"', '\\', '$', '`'].includes(one) ? one : whole,
  );
/** Removes the escapes of an unquoted value, and the blanks at its end that are not escaped. */
const unescapePlain = (text: string): string =>
  (text.match(/\\[\s\S]?|[^\\]+/g) ?? [])
    .map((part, i, { length }) => {
      if (!part.startsWith('\\')) return i === length - 1 ? part.trimEnd() : part;
      return part[1] === undefined || part[1] === '\n' || part[1] === '\r' ? '' : part[1];
    })
    .join('');
const endOfSingleQuotes = (text: string, start: number): number | undefined => {
  const end = text.indexOf("'", start + 1);
  return end === -1 ? undefined : end + 1;
};
/** The end of the line. A backslash continues the line, except in files that compose and podman read. */
const endOfPlain = (text: string, start: number, isContinued: boolean): number => {
  if (!isContinued) return start + match(/[^\r\n]*/y, text, start).length;
  let at = start;
  while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at += text[at] === '\\' ? 2 : 1;
  return Math.min(at, text.length);
};
/** Returns whether an odd number of backslashes ends the line, so the last one is not escaped. */
const endsWithBackslash = (line: string): boolean => {
  const text = line.replace(/\r?\n?$/, '');
  let at = text.length;
  while (text[at - 1] === '\\') at -= 1;
  return (text.length - at) % 2 === 1;
};
/**
 * Reads a value as systemd does: quoted parts at its start are joined, and everything after them belongs to the value, even a
 * comment. A backslash continues an unquoted value on the next line, and quotes may contain line ends.
 */
const readValue = (
  text: string,
  from: number,
  isContinued: boolean,
): { end: number; value: string; isOpen: boolean } => {
  let [at, value] = [from, ''];
  for (;;) {
    at += match(/[ \t]*/y, text, at).length;
    const quote = text[at];
    if (quote !== '"' && quote !== "'") break;
    const end = quote === '"' ? endOfQuotes(text, at) : endOfSingleQuotes(text, at);
    const inner = text.slice(at + 1, end === undefined ? undefined : end - 1);
    value += quote === '"' ? unescapeQuoted(inner) : inner;
    if (end === undefined) return { end: text.length, value, isOpen: true };
    at = end;
  }
  const end = endOfPlain(text, at, isContinued);
  return { end, value: value + unescapePlain(text.slice(at, end)), isOpen: false };
};
/**
 * Returns the logical lines of an environment file, split as systemd splits them (compared with its parser). `isContinued`: a
 * backslash at the end of an unquoted value continues it.
 */
const listEntries = (text: string, isContinued = true): Entry[] => {
  const found: Entry[] = [];
  let [at, line, isContinuedComment] = [0, 1, false];
  const moveTo = (end: number): void => {
    line += text.slice(at, end).split('\n').length - 1;
    at = end;
  };
  while (at < text.length) {
    const blank = match(/[ \t\r\n]*/y, text, at);
    moveTo(at + blank.length);
    if (blank.includes('\n')) isContinuedComment = false;
    if (at >= text.length) break;
    const comment = match(/[#;][^\n]*\n?/y, text, at);
    if (comment !== '') {
      isContinuedComment = endsWithBackslash(comment);
      moveTo(at + comment.length);
      continue;
    }
    const [key, start] = [match(/[^\r\n][^=\r\n]*/y, text, at), line];
    moveTo(at + key.length);
    const shared = { line: start, isContinuedComment };
    isContinuedComment = false;
    if (text[at] !== '=') {
      found.push({ ...shared, key: undefined, raw: '', value: '', isOpen: false });
      continue;
    }
    const { end, value, isOpen } = readValue(text, at + 1, isContinued);
    found.push({ ...shared, key, raw: text.slice(at + 1, end), value, isOpen });
    moveTo(end);
  }
  return found;
};

/** The text in quotes at the start of a value, with its quotes. */
const quotedStart = (value: string): string | undefined => {
  if (!value.startsWith('"')) return /^'[^']*'/.exec(value)?.[0];
  const end = endOfQuotes(value, 0);
  return end === undefined ? undefined : value.slice(0, end);
};
/** The value as a shell reads it, and whether a comment follows. */
const shellValue = (raw: string): { readonly value: string; readonly hasComment: boolean } => {
  const quoted = quotedStart(raw.trimStart());
  if (quoted !== undefined) {
    const inner = quoted.slice(1, -1);
    return {
      value: quoted.startsWith('"') ? unescapeQuoted(inner) : inner,
      hasComment: /^\s+#/.test(raw.trimStart().slice(quoted.length)),
    };
  }
  const joined = raw.replace(/\\\n/g, '');
  const plain = /^(.*?)\s+#.*$/s.exec(joined)?.[1];
  return { value: (plain ?? joined).trim(), hasComment: plain !== undefined };
};
const nameOf = ({ key }: Entry): { readonly name: string; readonly isExported: boolean } | undefined => {
  const found = /^(export\s+)?([A-Za-z_]\w*)[ \t]*$/.exec(key ?? '');
  return found === null ? undefined : { name: found[2] as string, isExported: found[1] !== undefined };
};
type Variables = {
  readonly env: Record<string, string>;
  readonly origins: Map<string, Origin>;
  /** Variables with a comment after the value, which a shell leaves out and systemd does not. */
  readonly comments: string[];
  /** A quote that no line closes contains the rest of the file. */
  readonly isOpen: boolean;
  /** Variables with the word `export` in front of them. */
  readonly exported: ReadonlySet<string>;
};
/** Returns the assignments of an environment file. `container`: the file is read by compose or podman. */
export const readEnvironment = (
  text: string,
  path: string,
  by: 'shell' | 'systemd' | 'container' = 'shell',
): Variables => {
  const env: Record<string, string> = {};
  const origins = new Map<string, Origin>();
  const comments: string[] = [];
  const exported = new Set<string>();
  const entries = listEntries(text, by !== 'container');
  for (const entry of entries) {
    const found = nameOf(entry);
    if (found === undefined || (by === 'systemd' && found.isExported)) continue;
    if (found.isExported) exported.add(found.name);
    const { value, hasComment } = shellValue(entry.raw);
    if (hasComment) comments.push(found.name);
    env[found.name] = by === 'systemd' ? entry.value : value;
    origins.set(found.name, { path, line: entry.line });
  }
  return { env, origins, comments, exported, isOpen: entries.some(({ isOpen }) => isOpen) };
};

export const isEnvironment = (text: string): boolean => {
  const entries = listEntries(text);
  return entries.length > 0 && entries.every((entry) => nameOf(entry) !== undefined);
};
/** Returns the unquoted values of several words: behind an assignment, a shell runs the words as a command. */
export const plainValues = (text: string): string[] =>
  listEntries(text).flatMap(({ raw, value }) =>
    /\s/.test(raw.trim()) && quotedStart(raw.trimStart()) === undefined ? [value] : [],
  );
/** The first line names the program that runs the file. Other programs write their own comments with `#!`. */
export const isScript = (text: string): boolean => /^#![ \t]*\//.test(text);
export const setsServer = (text: string): boolean =>
  !isScript(text) && /^\s*(export\s+)?ETCD_[A-Z0-9_]+=/m.test(text);
const noteOf = (entry: Entry): Note | undefined => {
  const [found, { line, key }] = [nameOf(entry), entry];
  const place = { key: found?.name ?? '' };
  if (found === undefined)
    return {
      ...place,
      message: `line ${line} is not an assignment: systemd ignores it, and a shell runs it as a command`,
      hint: 'remove it, or put # before it',
    };
  if (found.isExported && found.name.startsWith('ETCD_'))
    return {
      ...place,
      message: 'has the word export before it: systemd ignores the line, and a shell reads it',
      hint: 'remove the word export if systemd reads the file',
    };
  if (/[ \t]$/.test(key ?? ''))
    return {
      ...place,
      message: 'has a space before the equals sign: systemd reads the line, and a shell runs it as a command',
      hint: 'remove the space',
    };
  if (entry.isOpen)
    return {
      ...place,
      message: `has a quote in line ${line} that no line closes: systemd reads the rest of the file as its value, and a shell reports an error`,
      hint: 'close the quote',
    };
  return entry.isContinuedComment
    ? {
        ...place,
        message: `follows a comment that ends with a backslash: systemd before version 254 reads line ${line} as part of the comment`,
        hint: 'remove the backslash at the end of the comment',
      }
    : undefined;
};
/** Problems of an environment file, which its readers treat in different ways. Of lines without an assignment only the first. */
export const environmentNotes = (text: string, comments: readonly string[]): Note[] => {
  const notes = listEntries(text).flatMap((entry) => noteOf(entry) ?? []);
  const stray = notes.find(({ key }) => key === '');
  return [
    ...comments.map((key) => ({
      key,
      message: 'has a comment after its value: systemd treats the comment as a part of the value',
      hint: 'put the comment on its own line',
    })),
    ...notes.filter((note) => note.key !== '' || note === stray),
  ];
};

/** Returns the index of the brace that closes a `${`; a value inside may contain further ones. Undefined if none closes it. */
const closingBrace = (text: string, from: number): number | undefined => {
  let depth = 1;
  for (let i = from; i < text.length; i += 1) {
    if (text.startsWith('${', i)) depth += 1;
    else if (text[i] === '}') depth -= 1;
    if (depth === 0) return i;
  }
  return undefined;
};
/** No setting of a server is longer, and the limit also bounds the depth of nested braces. */
const LONGEST_VALUE = 8192;
type Inserted = { readonly env: Readonly<Record<string, string>>; readonly unread: Set<string> };
/** Returns the value of `NAME`, `NAME:-VALUE`, `NAME?TEXT` or `NAME+VALUE` between braces. `whole`: the text if it is unknown. */
const expandVariable = (inner: string, whole: string, { env, unread }: Inserted): string => {
  const [, name = '', how = '', other = ''] = /^([A-Za-z_]\w*)(?:(:?[-?+])([\s\S]*))?$/.exec(inner) ?? [];
  const given = env[name];
  const isSet = given !== undefined && (given !== '' || !how.startsWith(':'));
  if (how.endsWith('+')) return isSet ? insertText(other, { env, unread }) : '';
  if (isSet) return given;
  if (how.endsWith('-')) return insertText(other, { env, unread });
  unread.add(`variable ${name === '' ? whole : name}`);
  return whole;
};
export const insertText = (text: string, inserted: Inserted): string => {
  if (!text.includes('$')) return text;
  if (text.length > LONGEST_VALUE) {
    inserted.unread.add(`value of ${text.length} characters`);
    return text;
  }
  let [result, at] = ['', 0];
  for (let dollar = text.indexOf('$'); dollar >= 0; dollar = text.indexOf('$', at)) {
    result += text.slice(at, dollar);
    const name = /^[A-Za-z_]\w*/.exec(text.slice(dollar + 1))?.[0];
    const end = text[dollar + 1] === '{' ? closingBrace(text, dollar + 2) : undefined;
    if (text[dollar + 1] === '$') [result, at] = [`${result}$`, dollar + 2];
    else if (end !== undefined) {
      result += expandVariable(text.slice(dollar + 2, end), text.slice(dollar, end + 1), inserted);
      at = end + 1;
    } else if (name !== undefined) {
      result += expandVariable(name, `$${name}`, inserted);
      at = dollar + 1 + name.length;
    } else [result, at] = [`${result}$`, dollar + 1];
  }
  return result + text.slice(at);
};

/** Inserts variables as the kubelet does: it leaves a name without a value as it is, and `$$` means `$`. */
export const insertInPod = (text: string, env: Readonly<Record<string, string>>): string =>
  text.replace(/\$\$|\$\(([A-Za-z_][\w.-]*)\)/g, (whole, key: string | undefined) =>
    key === undefined ? '$' : (env[key] ?? whole),
  );

/** A word of a shell text without its quotes. Expansions such as `$NAME` and `$(COMMAND)` stay in the text. */
export type ShellWord = {
  readonly text: string;
  /** The whole word is one variable without quotes: a shell splits its value. */
  readonly isSplit: boolean;
  /** It contains a `$` that the shell does not expand, and none that it expands. */
  readonly isLiteral: boolean;
};
export type ShellCommand = { readonly words: readonly ShellWord[] };
export type ShellText = {
  readonly commands: readonly ShellCommand[];
  /** A part of the text that was not read. */
  readonly problem?: string;
};
const keywords = new Set([
  'if',
  'then',
  'elif',
  'else',
  'fi',
  'while',
  'until',
  'do',
  'done',
  '!',
  '{',
  '}',
  'esac',
]);
export const isShellKeyword = (word: string): boolean => keywords.has(word);

type Word = { text: string; isQuoted: boolean; hasLiteral: boolean; hasExpansion: boolean };
type Lexer = {
  readonly source: string;
  readonly commands: ShellCommand[];
  at: number;
  words: ShellWord[];
  word: Word | undefined;
  isInQuotes: boolean;
  /** The next word is the target of a redirection. */
  isTarget: boolean;
  problem: string | undefined;
};
const wordOf = (lexer: Lexer): Word => {
  lexer.word ??= { text: '', isQuoted: false, hasLiteral: false, hasExpansion: false };
  return lexer.word;
};
const addText = (lexer: Lexer, text: string, isQuoted = false): void => {
  const word = wordOf(lexer);
  word.text += text;
  if (isQuoted) word.isQuoted = true;
  if (isQuoted && text.includes('$')) word.hasLiteral = true;
};
const endWord = (lexer: Lexer): void => {
  const { word, isTarget } = lexer;
  if (word === undefined) return;
  const { text, isQuoted, hasLiteral, hasExpansion } = word;
  if (!isTarget)
    lexer.words.push({
      text,
      isSplit: !isQuoted && /^\$(\w+|\{\w+\})$/.test(text),
      isLiteral: hasLiteral && !hasExpansion,
    });
  [lexer.word, lexer.isTarget] = [undefined, false];
};
const endCommand = (lexer: Lexer): void => {
  endWord(lexer);
  if (lexer.words.length > 0) lexer.commands.push({ words: lexer.words });
  [lexer.words, lexer.isTarget] = [[], false];
};
const stop = (lexer: Lexer, why: string): void => {
  lexer.problem = why;
  lexer.at = lexer.source.length;
};
/** Finds the end of an expansion. Brackets inside single quotes and behind a backslash do not count. */
const endOfExpansion = (source: string, from: number): number | undefined => {
  const pattern = source[from + 1] === '(' ? /\\[\s\S]|'[^']*'|[()]/g : /\\[\s\S]|[{}]/g;
  let depth = 0;
  pattern.lastIndex = from + 1;
  for (let found = pattern.exec(source); found !== null; found = pattern.exec(source)) {
    if (/^[({]$/.test(found[0])) depth += 1;
    if (/^[)}]$/.test(found[0])) depth -= 1;
    if (depth === 0) return pattern.lastIndex;
  }
  return undefined;
};
type Act = (lexer: Lexer, found: RegExpExecArray) => void;
const readExpansion: Act = (lexer, { index }) => {
  const end = endOfExpansion(lexer.source, index);
  if (end === undefined) {
    stop(lexer, 'an expansion that is not closed');
    return;
  }
  addText(lexer, lexer.source.slice(index, end));
  wordOf(lexer).hasExpansion = true;
  lexer.at = end;
};
const addVariable: Act = (lexer, [text]) => {
  addText(lexer, text);
  wordOf(lexer).hasExpansion = true;
};
const addOutput: Act = (lexer, [, command = '']) => {
  addText(lexer, `$(${command})`);
  wordOf(lexer).hasExpansion = true;
};
const addQuoted: Act = (lexer, [, text = '']) => addText(lexer, text, true);
const addPlain: Act = (lexer, [text]) => addText(lexer, text);
const ignore: Act = () => undefined;
const isUnclosed: Act = (lexer) => stop(lexer, 'a quote that is not closed');
const expansions: readonly (readonly [pattern: RegExp, act: Act])[] = [
  [/\$[({]/y, readExpansion],
  [/`([^`]*)`/y, addOutput],
  [/\$(?:\w+|[@*#?$!-])?/y, addVariable],
];
const inQuotes: readonly (readonly [pattern: RegExp, act: Act])[] = [
  [/\\\r?\n/y, ignore],
  [/\\([\\"$`])/y, addQuoted],
  ...expansions,
  [
    /"/y,
    (lexer) => {
      lexer.isInQuotes = false;
    },
  ],
  [/[^\\"$`]+|[\s\S]/y, addPlain],
];
const outside: readonly (readonly [pattern: RegExp, act: Act])[] = [
  [/\\\r?\n/y, ignore],
  [/\\([\s\S])/y, addQuoted],
  [/'([^']*)'/y, addQuoted],
  [/'/y, isUnclosed],
  [
    /"/y,
    (lexer) => {
      addText(lexer, '');
      wordOf(lexer).isQuoted = true;
      lexer.isInQuotes = true;
    },
  ],
  ...expansions,
  [
    /<<-?(?!<)|[<>]\(/y,
    (lexer) => stop(lexer, 'a here-document or a process substitution, and the text behind it'),
  ],
  // The number of a file in front of a redirection is not an argument.
  [
    /(?<=^|[\s;&|(])\d*(?:&>>?|<<<|>>|[<>]&|>\||<>|[<>])|&>>?|<<<|>>|[<>]&|>\||<>|[<>]/y,
    (lexer) => {
      endWord(lexer);
      lexer.isTarget = true;
    },
  ],
  [/[;&|()\n]/y, (lexer) => endCommand(lexer)],
  [/\s+/y, (lexer) => endWord(lexer)],
  [/(?<=^|[\s;&|()])#[^\n]*/y, ignore],
  [/\d+(?![<>\d])|[^\s\\'"$`;&|()<>\d]+|[\s\S]/y, addPlain],
];
const readToken = (lexer: Lexer): void => {
  for (const [pattern, act] of lexer.isInQuotes ? inQuotes : outside) {
    pattern.lastIndex = lexer.at;
    const found = pattern.exec(lexer.source);
    if (found === null || found[0] === '') continue;
    lexer.at = pattern.lastIndex;
    act(lexer, found);
    return;
  }
};
/** Splits the text of a shell into its commands. Operators and redirections separate words. Pure. */
export const lexShell = (source: string): ShellText => {
  const lexer: Lexer = {
    ...{ source, commands: [], at: 0, words: [], word: undefined },
    ...{ isInQuotes: false, isTarget: false, problem: undefined },
  };
  while (lexer.at < source.length) readToken(lexer);
  if (lexer.isInQuotes) lexer.problem = 'a quote that is not closed';
  endCommand(lexer);
  return { commands: lexer.commands, ...(lexer.problem === undefined ? {} : { problem: lexer.problem }) };
};
