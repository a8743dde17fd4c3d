import type { CommandLine } from './model.ts';

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

/** Returns a command line that a shell splits into exactly these arguments, for display and for ssh. */
export const shellLine = (words: readonly string[]): string =>
  words
    .map((word) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
