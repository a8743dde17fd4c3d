import type { Block, Page } from '../core/page.ts';

/** man(7): a line that begins with a dot or a quote is a request, a backslash an escape, and a dash a hyphen. */
const escapeRoff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/`([^`]*)`/g, '\\fB$1\\fR')
    .replaceAll(/^([.'])/gm, '\\&$1')
    // A long address may be broken behind its slashes.
    .replaceAll(/\S{40,}/g, (word) => word.replaceAll('/', '/\\:'));
const blockLines = (block: Block): string[] => {
  switch (block.kind) {
    case 'heading':
      return ['.PP', `\\fB${escapeRoff(block.text)}\\fR`];
    case 'text':
      return [
        '.PP',
        ...block.text.split('\n').flatMap((line, i) => (i === 0 ? [] : ['.br']).concat(escapeRoff(line))),
      ];
    case 'terms':
      return block.rows.flatMap(([term, text]) =>
        text === ''
          ? ['.PP', '.RS 4', escapeRoff(term.trim()), '.RE']
          : ['.TP', `\\fB${escapeRoff(term.trim())}\\fR`, escapeRoff(text)],
      );
    case 'shell':
      return [
        ...(block.note === undefined ? [] : ['.PP', `${escapeRoff(block.note)}:`]),
        '.PP',
        '.RS 4',
        '.nf',
        ...block.lines.map(escapeRoff),
        '.fi',
        '.RE',
      ];
  }
};
/** One manual page: what it is, then a section for each page. */
export const manPage = (name: string, version: string, summary: string, pages: readonly Page[]): string => {
  const lines = [
    `.TH "${name.toUpperCase().replaceAll('"', '')}" "1" "" "opsctl ${version}" "opsctl"`,
    // Left-aligned and unhyphenated: a flag or an address that is broken cannot be copied.
    '.ad l',
    '.nh',
    '.SH NAME',
    `${escapeRoff(name)} \\- ${escapeRoff(summary)}`,
    ...pages.flatMap((page) => [
      `.SH "${escapeRoff(page.title.toUpperCase()).replaceAll('"', '')}"`,
      escapeRoff(page.summary),
      ...page.blocks.flatMap(blockLines),
    ]),
  ];
  return `${lines.join('\n')}\n`;
};

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const blockText = (block: Block): string => {
  switch (block.kind) {
    case 'heading':
      return `### ${block.text}\n`;
    case 'text':
      return `${block.text}\n`;
    case 'terms':
      return block.rows.every(([, text]) => text === '')
        ? `\`\`\`text\n${block.rows.map(([term]) => term.trim()).join('\n')}\n\`\`\`\n`
        : `| | |\n|---|---|\n${block.rows.map(([term, text]) => `| \`${cell(term.trim())}\` | ${cell(text)} |`).join('\n')}\n`;
    case 'shell':
      return `${block.note === undefined ? '' : `${block.note}:\n\n`}\`\`\`sh\n${block.lines.join('\n')}\n\`\`\`\n`;
  }
};
/** Pages as one Markdown document. */
export const pagesMarkdown = (title: string, pages: readonly Page[]): string =>
  `# ${title}\n\n${pages
    .map((page) => `## ${page.title}\n\n${page.summary}\n\n${page.blocks.map(blockText).join('\n')}`)
    .join('\n')}`;
