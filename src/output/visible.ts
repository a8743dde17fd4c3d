// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Text from a service can hold escape sequences: a terminal must show them, not obey them. Newline and tab stay. */
export const visible = (text: string): string =>
  text.replace(CONTROL, (c) => (c === '\r' ? '\\r' : c.charCodeAt(0) > 0xff ? `\\u${c.charCodeAt(0).toString(16)}` : `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`));
