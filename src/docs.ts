import { rootPage } from './cli/help.ts';
import { groups } from './cli/manifest.ts';
import { commandTree, treeFiles } from './cli/tree.ts';
import { keys } from './config/keys.ts';
import { environmentRows } from './config/environment-text.ts';
import { exitCodes } from './core/exit.ts';
import { formatNames, formatRow } from './core/output-format.ts';
import { USUAL_WIDTH, pageText } from './output/page-text.ts';
import { bashScript } from './reference/completion/bash.ts';
import { fishScript } from './reference/completion/fish.ts';
import { powershellScript } from './reference/completion/powershell.ts';
import { zshScript } from './reference/completion/zsh.ts';

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

/** The command tree for TAB, in files by the words that lead to them. */
const treeTexts = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    [...treeFiles(await commandTree())].map(([name, tree]) => [
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
    'help.txt': pageText(rootPage(version), USUAL_WIDTH),
    'version.txt': `${version}\n`,
    ...(await treeTexts()),
  },
  committed: {
    'completions/opsctl.bash': bashScript(),
    'completions/_opsctl': zshScript(),
    'completions/opsctl.fish': fishScript(),
    'completions/opsctl.ps1': powershellScript(),
    'README.md': readme(existing.readme),
  } as Record<string, string>,
});
