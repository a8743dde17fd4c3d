/** Messages, comments and test titles use the constructions of plain technical English. */
import { readFileSync, readdirSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';
import { hitsIn } from './constructions.ts';

const root = new URL('../../', import.meta.url).pathname;
const filesOf = (directory: string): string[] =>
  readdirSync(root + directory, { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('/fixtures'),
    )
    .map((entry) => `${entry.parentPath}/${entry.name}`.replace(root, ''));

type Node = { readonly type: string } & Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';
const isSentence = (text: string): boolean => {
  const words = text.match(/[A-Za-z][a-z']+/g) ?? [];
  return words.length >= 4 && words.join('').length / text.length > 0.55;
};

/** The text of string literals with at least four words. */
const messagesIn = (source: string): string[] => {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) visit(one);
    if (!isNode(value) || /^Import|^TSImport/.test(value.type)) return;
    if (value.type === 'Literal' && typeof value.value === 'string') found.push(value.value);
    if (value.type === 'TemplateLiteral')
      found.push(
        (value.quasis as readonly { value: { raw: string } }[]).map(({ value: { raw } }) => raw).join('X'),
      );
    for (const part of Object.values(value)) visit(part);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return found.filter(isSentence).map((text) => text.replaceAll('\n', ' '));
};

/** Comments on lines of their own, one text for each block. */
const commentsIn = (source: string): string[] => {
  const blocks = source.match(/^[ \t]*\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+/gm) ?? [];
  return blocks
    .filter((text) => !/biome-ignore|@ts-/.test(text))
    .map((text) => text.replace(/^[ \t]*(?:\/\/|\/?\*+\/?)/gm, '').replace(/\*\/|\s+/g, ' '));
};

const titlesIn = (source: string): string[] =>
  [...source.matchAll(/\b(?:test|it|describe)(?:\.\w+)*\(\s*(['"`])((?:\\.|(?!\1)[\s\S])*)\1/g)].map(
    ([, , text]) => (text ?? '').replace(/\$\{[^}]*\}/g, 'X'),
  );

/** Hits per 1,000 words for each kind of text. The largest folder also has its own limit. */
const areas: readonly (readonly [
  area: string,
  files: readonly string[],
  textsIn: (source: string) => string[],
  limit: number,
])[] = [
  ['messages', filesOf('src'), messagesIn, 3],
  ['messages of src/kv', filesOf('src/kv'), messagesIn, 3],
  ['comments', filesOf('src'), commentsIn, 3],
  ['comments of src/kv', filesOf('src/kv'), commentsIn, 3],
  ['test titles', filesOf('test').filter((file) => file.endsWith('.test.ts')), titlesIn, 3],
];

test.each(areas)('the %s stay below the limit of odd constructions', (_, files, textsIn, limit) => {
  const found = files.map((file) => hitsIn(file, textsIn(readFileSync(root + file, 'utf8')).join('\n')));
  const words = found.reduce((sum, file) => sum + file.words, 0);
  const hits = found.flatMap((file) => file.hits);
  const list = hits.map(({ at, text, write }) => `${at}: "${text}" (write: ${write})`).join('\n');
  expect(words).toBeGreaterThan(1000);
  expect((hits.length / words) * 1000, list).toBeLessThanOrEqual(limit);
});

test('messages, comments and titles are found in a source', () => {
  const source = `// The run goes on.\nconst a = 'nobody was asked for the token';\ntest('a file that is no journal', () => {});\n`;
  expect(commentsIn(source).join('\n')).toContain('The run goes on.');
  expect(messagesIn(source)).toContain('nobody was asked for the token');
  expect(titlesIn(source)).toEqual(['a file that is no journal']);
  for (const texts of [commentsIn(source), messagesIn(source), titlesIn(source)])
    expect(hitsIn('a.ts', texts.join('\n')).hits).not.toEqual([]);
});
