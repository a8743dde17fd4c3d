/**
 * Quotes one word for a POSIX shell if necessary. `#` starts a comment, so a word with `#` is always quoted. zsh replaces
 * `=ls` by the path of the program.
 */
export const shellWord = (text: string): string =>
  !text.startsWith('=') && /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** A command line that can be pasted. */
export const shellLine = (words: readonly string[]): string => words.map(shellWord).join(' ');

/** A script for a POSIX shell. Only the tag `sh` makes scripts, so every value in a script is quoted. */
class ShellScript {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  toString(): string {
    return this.#text;
  }
}
export type { ShellScript };
/**
 * Returns the text for a shell. Every shell gets its script from this function, so that none runs a text that the tag `sh`
 * did not make. The type rejects a string, and the check rejects a cast.
 */
export const scriptText = (script: ShellScript): string => {
  if (script instanceof ShellScript) return script.toString();
  throw new TypeError('a shell runs only a script of the tag sh');
};

/** Strings are data: a shell never evaluates them. A list becomes one word for each item. */
export type ShellValue = string | number | undefined | ShellScript | readonly string[];

/** The quoting at one place of a script, innermost last: `(` is closed by `)`, `{` of `${` by `}`. */
type Quoting = '"' | "'" | '(' | '{' | '`' | '#';
/** In single quotes and in a comment, no character has a special meaning. */
const isLiteral = (at: Quoting | undefined): boolean => at === "'" || at === '#';
const opens: Readonly<Record<string, Quoting>> = {
  ...{ '"': '"', "'": "'", '`': '`', '(': '(', '$(': '(', '${': '{', '#': '#' },
};
const closes: Readonly<Record<Quoting, string>> = {
  ...{ '"': '"', "'": "'", '`': '`', '(': ')', '{': '}', '#': '\n' },
};
const isOpened = (token: string, at: Quoting | undefined): boolean => {
  if (isLiteral(at) || opens[token] === undefined) return false;
  if (token === "'" || token === '(') return at !== '"' && at !== '{';
  return token !== '#' || at === undefined || at === '(';
};

const tokens = /\\[\s\S]|<<|\$\(|\$\{|(?<=^|[\s;&|(])(?:#|case(?=\s))|["'`(){}\n]/g;
const readToken = (stack: Quoting[], token: string): void => {
  const at = stack.at(-1);
  if (at !== undefined && closes[at] === token) stack.pop();
  else if (isOpened(token, at)) stack.push(opens[token] as Quoting);
  // The patterns of `case` have closing parentheses without opening ones, and a here-document has no quoting.
  else if ((token === 'case' && at === '(') || (token === '<<' && (at === undefined || at === '(')))
    throw new TypeError(`the tag sh cannot follow the quoting of ${token} here: write a function`);
};
const readQuoting = (stack: Quoting[], text: string): void => {
  tokens.lastIndex = 0;
  for (let found = tokens.exec(text); found !== null; found = tokens.exec(text)) {
    if (!found[0].startsWith('\\')) readToken(stack, found[0]);
    else if (isLiteral(stack.at(-1))) tokens.lastIndex = found.index + 1;
  }
};

const quote = (text: string): string => {
  if (text.includes('\0')) throw new TypeError('a value of a shell script contains a zero byte');
  return `'${text.replaceAll("'", `'\\''`)}'`;
};
/** Commands for which a word with a dash in front is data. All others may read it as a flag. */
const dataCommands = new Set(['printf', 'echo', '[', 'test', 'case', 'for']);
const commandEnds = /[\n;|&(){]|(?:^|\s)(?:then|do|else|!)\s/;
/** Quoted texts of a script, which contain no command. */
const quoted = /'[^']*'|"[^"$`\\]*"/g;
const startsWord = (before: string, at: Quoting | undefined): boolean =>
  at === '"' ? /(?:^|\s)"$/.test(before) : /(?:^|[\s(])$/.test(before);
/**
 * A value that starts a word must not start with a dash, as in the tag `call`: quotes do not keep a program from reading
 * it as a flag. After `--` it may. A list of words contains flags on purpose, and a number can be negative. `before` has
 * a letter for each value.
 */
const refuseFlag = (value: ShellValue, before: string, at: Quoting | undefined): void => {
  if (typeof value !== 'string' || !value.startsWith('-') || !startsWord(before, at)) return;
  const command = before.replaceAll(quoted, 'q').split(commandEnds).at(-1) ?? '';
  const words = command.trim().split(/\s+/);
  const program = words.find((word) => word !== '' && !/^\w+=/.test(word));
  if (words.includes('--') || dataCommands.has(program ?? '')) return;
  throw new TypeError(`the value ${JSON.stringify(value)} would be a flag in a shell script`);
};
const valueText = (value: ShellValue, at: Quoting | undefined): string => {
  if (typeof value === 'number') return String(value);
  if (at === '"' && (typeof value === 'string' || value === undefined))
    return (value ?? '').replaceAll(/[\\$`"]/g, '\\$&');
  if (at !== undefined && at !== '(')
    throw new TypeError('a value of a shell script is inside quotes, a comment or an expansion');
  if (value instanceof ShellScript) return String(value);
  if (typeof value === 'string' || value === undefined) return quote(value ?? '');
  return value.map((word) => shellWord(word)).join(' ');
};

/**
 * Returns a shell script in which every value is data. Between words a string becomes one word in single quotes. Inside double quotes the
 * tag escapes it. The tag throws in other places. It inserts other scripts and numbers unchanged.
 */
export const sh = (parts: TemplateStringsArray, ...values: readonly ShellValue[]): ShellScript => {
  const stack: Quoting[] = [];
  let [text, before] = ['', ''];
  for (const [i, part] of parts.entries()) {
    readQuoting(stack, part);
    text += part;
    before += part;
    if (i === values.length) break;
    refuseFlag(values[i], before, stack.at(-1));
    text += valueText(values[i], stack.at(-1));
    before += 'v';
  }
  if (stack.length > 0) throw new TypeError(`a shell script ends inside ${stack.at(-1)}`);
  return new ShellScript(text);
};

/** Returns the scripts as one script, each on its own line. */
export const shellLines = (scripts: readonly ShellScript[]): ShellScript =>
  new ShellScript(scripts.map(String).join('\n'));

/**
 * A command line as a list of arguments, or as a string that opsctl splits like a shell (no variables, no
 * globs).
 */
export type CommandLine = string | readonly string[];

/**
 * Splits a line into arguments as a shell does, with spaces, quotes and backslashes but without expansion.
 * Returns undefined for an unclosed quote.
 */
export const wordsOf = (line: string): string[] | undefined => {
  const words: string[] = [];
  const pattern = /\s*((?:[^\s"'\\]|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+)/y;
  let at = 0;
  for (pattern.lastIndex = 0; at < line.trimEnd().length; at = pattern.lastIndex) {
    const found = pattern.exec(line);
    if (found === null) return undefined;
    words.push(unquote(found[1] as string));
  }
  return words;
};

const unquote = (word: string): string =>
  word.replace(
    /"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|\\([\s\S])/g,
    (_, double?: string, single?: string, escaped?: string) =>
      double === undefined ? (single ?? escaped ?? '') : double.replace(/\\(["\\$`])/g, '$1'),
  );

/**
 * Returns the arguments of a command. Prepends the binary to a line that starts with a flag. Returns
 * undefined if the command has no program.
 */
export const argvOf = (
  line: CommandLine | undefined,
  binary: string | undefined,
): [string, ...string[]] | undefined => {
  const words = typeof line === 'string' ? (wordsOf(line) ?? []) : [...(line ?? [])];
  const all =
    words.length === 0 || (words[0] as string).startsWith('-')
      ? [...(binary === undefined ? [] : [binary]), ...words]
      : words;
  return all.length === 0 || (all[0] as string).startsWith('-') ? undefined : (all as [string, ...string[]]);
};

/** Replaces `{name}` placeholders in the arguments of a hook. An unknown name stays unchanged. */
export const fillWords = (
  line: CommandLine,
  values: Readonly<Record<string, string | undefined>>,
): string[] =>
  (argvOf(line, undefined) ?? []).map((word) =>
    word.replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole),
  );
