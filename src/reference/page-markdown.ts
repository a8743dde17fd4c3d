import type { Block, Page } from '../core/page.ts';

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
