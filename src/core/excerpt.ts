const LONGEST_EXCERPT = 120;
/** The first words of a body that should not be there, on one line. */
export const excerptOf = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > LONGEST_EXCERPT ? `${line.slice(0, LONGEST_EXCERPT)}…` : line;
};
