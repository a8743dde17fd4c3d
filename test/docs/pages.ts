import { readFileSync, readdirSync } from 'node:fs';

export const root = new URL('../../', import.meta.url).pathname;

/** The Markdown pages of the documentation, by path. */
export const pages: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'src/ARCHITECTURE.md',
  'src/DECISIONS.md',
  ...readdirSync(`${root}docs`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => `${entry.parentPath}/${entry.name}`.replace(root, ''))
    .sort(),
];

export const textOf = (page: string): string => readFileSync(`${root}${page}`, 'utf8');

/** The text of a page without fenced blocks; lines keep their numbers. */
export const proseOf = (page: string): string =>
  textOf(page).replace(/^ *```[\s\S]*?^ *```$/gm, (block) => block.replace(/[^\n]/g, ''));

export type Block = { readonly page: string; readonly language: string; readonly text: string };

/** The fenced blocks of a page, without their indentation. */
export const blocksOf = (page: string): Block[] =>
  [...textOf(page).matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = '', language = '', text = '']) => ({
      page,
      language,
      text: text.replace(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );

/** The commands of a shell block: all lines of `sh`, and the lines of `console` that start with a prompt. */
export const commandsOf = ({ language, text }: Block): string[] => {
  const joined = text.replace(/\\\n\s*/g, '');
  if (language === 'sh') return joined.split('\n').filter((line) => line.trim() !== '');
  if (language !== 'console') return [];
  return [...joined.matchAll(/^\$ (.+)$/gm)].map(([, command = '']) => command);
};
