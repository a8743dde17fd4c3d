const escaped = (c: string): string => {
  const code = c.charCodeAt(0);
  return `\\u${code.toString(16).padStart(4, '0')}`;
};

// C0 without tab and line end, DEL and C1, and the marks that turn the reading direction around.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const UNSAFE_IN_LINE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Data on its way to a terminal: what would move the cursor, change colours or hide text is shown as `\u001b` instead. */
export const printable = (text: string): string => text.replace(UNSAFE, escaped);

/** The same for what must stay on one line: a line end becomes `\n`. */
export const oneLine = (text: string): string =>
  text.replace(UNSAFE_IN_LINE, (c) =>
    c === '\n' ? '\\n' : c === '\t' ? '\\t' : c === '\r' ? '\\r' : escaped(c),
  );
