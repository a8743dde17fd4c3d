/** Text of strangers for the terminal: control characters, direction marks and line ends shown as codes, at most `max` characters. */
export const safeText = (text: string, max = 80): string => {
  const shown = text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
  const marks = [...shown];
  return marks.length <= max ? shown : `${marks.slice(0, max).join('')}…`;
};
