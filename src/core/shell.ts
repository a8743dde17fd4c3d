/** One word for a POSIX shell: as it is, or in single quotes. `#` begins a comment, so it is never left bare. */
const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** A command line that can be pasted. */
export const shellLine = (words: readonly string[]): string => words.map(shellWord).join(' ');
