import { commandPage, rootPage } from './cli/help.ts';
import { groups } from './commands/program.ts';
import { explainable } from './cli/explain.ts';
import { commandTree, treeFiles } from './cli/list-commands.ts';
import { errorsMarkdown } from './reference/explanations/errors.ts';
import { keys } from './config/keys.ts';
import { environmentRows } from './config/load.ts';
import { exitCodes } from './core/exit.ts';
import { formatNames, formatRow } from './core/format.ts';
import { USUAL_WIDTH, pageText } from './output/page-text.ts';
import { bashScript, fishScript, powershellScript, zshScript } from './reference/completion.ts';
import { manPage, pagesMarkdown } from './reference/page.ts';
import type { Page } from './core/page.ts';
import { topics } from './cli/topics.ts';

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

/** One book for the program with its topics, and one for each group of commands. */
const books = async (version: string): Promise<Book[]> => {
  const own = await Promise.all(topics.map((topic) => topic.load()));
  const groupBooks = await Promise.all(
    groups.map(async ({ name, summary, load }) => ({
      name: `opsctl-${name}`,
      summary,
      pages: (await load()).filter(({ hidden }) => !hidden).map(commandPage),
    })),
  );
  const summary = 'sign in, manage work-tracking and label resources, upgrade key-value clusters';
  return [{ name: 'opsctl', summary, pages: [rootPage(groups, version), ...own] }, ...groupBooks];
};

/** Manual pages and the Markdown reference, by their paths in `dist`. */
const referenceFiles = async (version: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await books(version)).flatMap(({ name, summary, pages }) => [
      [`man/${name}.1`, manPage(name, version, summary, pages)],
      [`reference/${name}.md`, pagesMarkdown(name, pages)],
    ]),
  );

/** The command tree for TAB, in files by the words that lead to them. */
const treeTexts = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    [...treeFiles(await commandTree(groups))].map(([name, tree]) => [
      `tree/${name}.json`,
      JSON.stringify(name === 'root' ? { ...(tree as object), settings: keys.map(({ key }) => key) } : tree),
    ]),
  );

/**
 * Everything that is derived from the tables and written by the build: `dist` files beside the bundle, and `committed` files
 * by their path in the project, which a test compares with what is there.
 */
export const writeDocs = async (version: string, existing: { readonly readme: string }) => ({
  dist: {
    'help.txt': pageText(rootPage(groups, version), USUAL_WIDTH),
    'version.txt': `${version}\n`,
    ...(await treeTexts()),
    'tree/explainable.json': JSON.stringify(explainable().map(({ name }) => name)),
    ...(await referenceFiles(version)),
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
