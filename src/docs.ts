import type { Command, Group } from './cli/command.ts';
import { commandPage, groupPage, pageOfCommand, rootPage, topics } from './cli/help.ts';
import { groups } from './commands/program.ts';
import { explainable } from './cli/explain.ts';
import { commandTree, treeFiles } from './cli/list-commands.ts';
import { errorsMarkdown } from './reference/explanations/errors.ts';
import { guardExplanations } from './reference/explanations/guards.ts';
import { keys } from './config/settings.ts';
import { environmentRows } from './config/load.ts';
import { exitCodes } from './core/problem.ts';
import { formatNames, formatRow } from './core/format.ts';
import { USUAL_WIDTH, pageText } from './output/page-text.ts';
import { bashScript, fishScript, powershellScript, zshScript } from './reference/completion.ts';
import { type ManPage, manPage, pagesMarkdown } from './reference/entry.ts';
import type { Page } from './core/result.ts';

/** Replaces the text between `<!-- name -->` and `<!-- /name -->`. */
const between = (page: string, name: string, text: string): string =>
  page.replace(
    new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(<!-- /${name} -->)`),
    (_, start: string, end: string) => `${start}${text}${end}`,
  );

const exitTable = (): string =>
  [
    '| code | meaning |',
    '|---|---|',
    ...Object.values(exitCodes).map(({ code, meaning }) => `| ${code} | ${meaning} |`),
    '',
  ].join('\n');
const groupTable = (): string =>
  [
    '| command | what it does |',
    '|---|---|',
    ...groups.map(({ name, summary }) => `| \`opsctl ${name}\` | ${summary} |`),
    '',
  ].join('\n');

const formatTable = (): string =>
  [
    '| `-o` | what it prints |',
    '|---|---|',
    ...formatNames.map((name) => `| \`${name}\` | ${formatRow(name).summary} |`),
    '',
  ].join('\n');

const environmentTable = (): string =>
  [
    '| variable | what it sets |',
    '|---|---|',
    ...environmentRows().map(([name, says]) => `| \`${name}\` | ${says.replaceAll('|', '\\|')} |`),
    '',
  ].join('\n');
const blocks: Readonly<Record<string, () => string>> = {
  'exit-codes': exitTable,
  commands: groupTable,
  formats: formatTable,
  environment: environmentTable,
};
const readme = (page: string): string =>
  Object.entries(blocks).reduce((text, [name, table]) => between(text, name, table()), page);

type Book = { readonly name: string; readonly summary: string; readonly pages: readonly Page[] };

const rootSummary = 'sign in, manage work-tracking and label resources, upgrade key-value clusters';
const rootBook = async (version: string): Promise<Book> => {
  const own = await Promise.all(topics.map((topic) => topic.load()));
  return { name: 'opsctl', summary: rootSummary, pages: [rootPage(groups, version), ...own] };
};

type GroupCommands = { readonly group: Group; readonly commands: readonly Command[] };
const listPages = (): Promise<GroupCommands[]> =>
  Promise.all(
    groups.map(async (group) => ({
      group,
      commands: (await group.load()).filter(({ hidden }) => !hidden),
    })),
  );

const pageName = (words: readonly string[]): string => ['opsctl', ...words].join('-');
/** A page for each command, and one for each group of commands (`opsctl tracker`, `opsctl tracker labels`). */
const groupManPages = ({ group, commands }: GroupCommands): ManPage[] => {
  const own = new Map(commands.map((command) => [pageName(command.path), command]));
  const prefixes = commands.flatMap(({ path }) => path.slice(0, -1).map((_, at) => path.slice(0, at + 1)));
  const groupNames = new Map(prefixes.map((words) => [pageName(words), words]));
  const parentOf = (words: readonly string[]): string[] => [pageName(words.slice(0, -1))];
  return [
    ...[...own].map(([name, command]) => ({
      name,
      summary: command.summary,
      pages: [commandPage(command)],
      seeAlso: parentOf(command.path),
    })),
    ...[...groupNames]
      .filter(([name]) => !own.has(name))
      .map(([name, words]) => {
        const below = commands.filter(({ path }) => words.every((word, at) => path[at] === word));
        const page = groupPage(groups, words, below);
        const children = new Set(below.map(({ path }) => pageName(path.slice(0, words.length + 1))));
        const summary = words.length === 1 ? group.summary : `Commands below \`opsctl ${words.join(' ')}\``;
        return { name, summary, pages: [page], seeAlso: [...parentOf(words), ...children] };
      }),
  ];
};

/** Manual pages, one per command, and the Markdown reference, one file per group, by their paths in `dist`. */
const referenceFiles = async (version: string, date: string): Promise<Record<string, string>> => {
  const root = await rootBook(version);
  const all = await listPages();
  const books: Book[] = [
    root,
    ...all.map(({ group: { name, summary }, commands }) => ({
      name: `opsctl-${name}`,
      summary,
      pages: commands.map(commandPage),
    })),
  ];
  const manPages = [
    { ...root, seeAlso: groups.map(({ name }) => `opsctl-${name}`) },
    ...all.flatMap(groupManPages),
  ];
  return Object.fromEntries([
    ...manPages.map((page) => [`man/${page.name}.1`, manPage(page, { version, date })] as const),
    ...books.map(({ name, pages }) => [`reference/${name}.md`, pagesMarkdown(name, pages)] as const),
  ]);
};

const guardMeanings = Object.fromEntries(
  Object.entries(guardExplanations).map(([id, { meaning }]) => [id, meaning]),
);
/** The command tree for TAB, in files by the words that lead to them. */
const treeTexts = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    [...treeFiles(await commandTree(groups, guardMeanings))].map(([name, tree]) => [
      `tree/${name}.json`,
      JSON.stringify(
        name === 'root'
          ? { ...(tree as object), settings: keys.map(({ key, summary }) => `${key}\t${summary}`) }
          : tree,
      ),
    ]),
  );

/** The help of each command and group as the program prints it without a terminal, by the words that lead to it. */
const helpTexts = async (): Promise<Record<string, string>> => {
  const all = (await listPages()).flatMap(({ commands }) => commands);
  const lines = all.flatMap(({ path }) => path.map((_, at) => path.slice(0, at + 1).join('.')));
  const texts = [...new Set(lines)].map(
    async (line): Promise<[string, string]> => [
      `help/opsctl.${line}.txt`,
      pageText(await pageOfCommand(groups, line.split('.')), USUAL_WIDTH),
    ],
  );
  return Object.fromEntries(await Promise.all(texts));
};

/**
 * All generated files: `dist` files next to the bundle, and `committed` files by their path in the project. A
 * test compares the committed files with the generated text.
 */
export const writeDocs = async (
  version: string,
  existing: { readonly readme: string; readonly date?: string },
) => ({
  dist: {
    'help.txt': pageText(rootPage(groups, version), USUAL_WIDTH),
    'version.txt': `${version}\n`,
    ...(await helpTexts()),
    ...(await treeTexts()),
    'tree/explainable.json': JSON.stringify(explainable().map(({ name, summary }) => `${name}\t${summary}`)),
    ...(await referenceFiles(version, existing.date ?? '')),
  },
  committed: {
    'completions/opsctl.bash': bashScript(),
    'completions/_opsctl': zshScript(),
    'completions/opsctl.fish': fishScript(),
    'completions/opsctl.ps1': powershellScript(),
    'docs/reference/errors.md': errorsMarkdown(),
    'README.md': readme(existing.readme),
  } as Record<string, string>,
});
