import type { Block, Page } from '../core/page.ts';
import { wrap } from '../core/text.ts';

/** The line width if the width of the reader's terminal is unknown. */
export const USUAL_WIDTH = 80;
/** Longer lines of prose are hard to read. */
const WIDEST = 120;
const NARROWEST = 40;
const LEFT = 34;
/** Below this width, text appears under its term instead of next to it. */
const LEAST_RIGHT = 30;

export const helpWidth = (columns: number): number => Math.max(NARROWEST, Math.min(WIDEST, columns));

/** Two columns, with the second one wrapped. On a narrow terminal the text appears under its term. */
const twoColumns = (rows: readonly (readonly [string, string])[], width: number): string[] => {
  const longest = Math.max(0, ...rows.map(([left]) => left.length));
  const left = Math.min(LEFT, longest, Math.max(8, width - LEAST_RIGHT - 4));
  if (width - left - 4 < LEAST_RIGHT && longest > left && rows.some(([, text]) => text !== ''))
    return rows.flatMap(([term, text]) => stackTerm(term, text, width));
  const indent = ' '.repeat(left + 4);
  return rows.map(([term, text]) => {
    if (text === '') return `  ${wrap(term, width - 2, rows.length === 1 ? '  ' : '      ')}`.trimEnd();
    if (text.split(/\s+/).some((word) => word.length > width - left - 4))
      return stackTerm(term, text, width).join('\n');
    const gap = term.length > left ? `\n${indent}` : ' '.repeat(left - term.length + 2);
    return `  ${term}${gap}${wrap(text, width - left - 4, indent)}`.trimEnd();
  });
};

const stackTerm = (term: string, text: string, width: number): string[] => [
  `  ${wrap(term, width - 2, '      ')}`,
  ...(text === '' ? [] : [`      ${wrap(text, width - 6, '      ')}`]),
];

/** Words of a shell line. A quoted string is one word. */
const shellWords = (line: string): string[] =>
  line.match(/(?:'[^']*'|"(?:\\.|[^"])*"|[^\s'"]|\\.)+/g) ?? [line];

/** A command line that can be pasted: broken with a backslash where it is longer than the page. */
const commandLine = (line: string, width: number): string[] => {
  if (line.length <= width || line.includes('\n')) return [line];
  const lines: string[] = [];
  let current = '';
  for (const word of shellWords(line)) {
    const next = current === '' ? word : `${current} ${word}`;
    if (next.length > width - 2 && current !== '') {
      lines.push(`${current} \\`);
      current = `  ${word}`;
    } else current = next;
  }
  return [...lines, current];
};

const noteLine = (note: string | undefined, width: number): string[] =>
  note === undefined ? [] : [`  # ${wrap(note, width - 4, '  # ')}`];

/** `slow: every answer waits`. */
const isTerm = (line: string): boolean => /^\S[^.]{0,40}: /.test(line);
/** A new list entry has less indentation than the continuation lines. Sentences are not indented. */
const proseLines = (text: string, width: number): string[] => {
  const lines = text.split('\n');
  return lines.length > 1 && lines.every(isTerm)
    ? lines.map((line) => wrap(line, width - 2, '  '))
    : lines.map((line) => wrap(line, width, ''));
};

const blockLines = (block: Block, width: number): string[] => {
  switch (block.kind) {
    case 'heading':
      return [block.text];
    case 'text':
      return [...proseLines(block.text, width), ''];
    case 'terms':
      return [...twoColumns(block.rows, width), ''];
    case 'shell':
      return [
        ...noteLine(block.note, width),
        ...block.lines.flatMap((line) => commandLine(line, width - 2)).map((line) => `  ${line}`),
        '',
      ];
  }
};

/** A page for a terminal of that width. Examples that follow each other stand together. */
export const pageText = ({ summary, blocks }: Page, width: number): string => {
  const lines = [wrap(summary, width, ''), ''];
  for (const [i, block] of blocks.entries()) {
    const own = blockLines(block, width);
    const isFollowed = block.kind === 'shell' && blocks[i + 1]?.kind === 'shell';
    for (const line of isFollowed ? own.slice(0, -1) : own) lines.push(line);
  }
  return `${lines.join('\n').trimEnd()}\n`;
};
