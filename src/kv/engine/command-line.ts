import type { CommandLine } from './model.ts';

/** Words of a line as a shell would split it: blanks, quotes, backslashes; nothing is expanded. Undefined for an open quote. */
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

/** The words of a command; a line that starts with a flag gets the binary before it. Undefined when there is none. */
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

/** `{name}`-like words of hooks filled in; a name that is not known stays as it is. */
export const fillWords = (
  line: CommandLine,
  values: Readonly<Record<string, string | undefined>>,
): string[] =>
  (argvOf(line, undefined) ?? []).map((word) =>
    word.replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole),
  );

/** A line that a shell would split into exactly these words: for people to read and copy, and for ssh. */
export const shellLine = (words: readonly string[]): string =>
  words
    .map((word) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
