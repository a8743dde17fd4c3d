/** Breaks a text between words so that no line has more than `width` characters; further lines begin with `indent`. A longer word stays whole. */
export const wrap = (text: string, width: number, indent: string): string => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + word.length + 1 > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join(`\n${indent}`);
};

/** Places to write on: those of a terminal; a file has no edge. */
export const columnsOf = (stream: { readonly isTty: boolean; readonly columns: number }): number =>
  stream.isTty ? Math.max(40, stream.columns || 80) : Number.POSITIVE_INFINITY;
