import { countText } from '../../core/format.ts';
import { dirname, join } from 'node:path';
import { childPath, pathPart } from '../../core/file-name.ts';
import { keys } from '../../config/settings.ts';
import { AppError, cutText, exitCodes } from '../../core/problem.ts';
import { type Block, heading, type Page, prose, shell, terms } from '../../core/result.ts';
import type { Host } from '../../platform/host.ts';
import { flagTerms, globalFlags } from '../options.ts';

export const page: Page = {
  title: 'opsctl help output',
  summary: 'Output formats, columns and filters',
  blocks: [
    prose(
      'Standard output contains only the result. Messages, progress, warnings and errors go to standard error. Without -o, the result is a table on a terminal, and JSON in a pipe or a file.',
    ),
    heading('Formats'),
    terms([
      ['-o table', 'Columns that fit the terminal. IDs and names are never truncated; long text is.'],
      ['-o json', 'One JSON value: an array of rows, or an object.'],
      ['-o ndjson', 'One JSON object per line, written as the rows arrive.'],
      ['-o yaml', 'The same data as YAML.'],
      ['-o csv', 'RFC 4180, with a header line unless --no-header is set.'],
      ['-o name', 'The name or ID of each row that other commands accept, one per line.'],
    ]),
    heading('Selecting and filtering'),
    terms([
      ['--columns a,b.c', 'Only these fields; dots select nested fields. An unknown column is an error.'],
      ['--all-fields', 'Every field of a record on a terminal.'],
      ['--jq PROGRAM', 'Apply a jq program to the JSON result; strings are printed without quotes.'],
      ['--template TEXT', 'Apply a Mustache template to the JSON result; a list is rendered row by row.'],
      ['--no-header', 'A table or CSV without its header line.'],
    ]),
    heading('Examples'),
    shell('Print the names of all labels, for a loop', 'opsctl tracker labels list -o name'),
    shell('Print two fields of each row', "opsctl tracker labels list --jq '.[] | [.id, .name] | @tsv'"),
    shell('A spreadsheet', 'opsctl tracker labels list -o csv --columns id,name,color > labels.csv'),
    shell('Print custom text', "opsctl tracker labels list --template '{{name}} ({{id}})'"),
    heading('Errors'),
    prose(
      'With -o json and -o ndjson, an error is one JSON object, the last line on standard error, with `code`, `message`, `hint`, `problems`, `docs`, `retryable` and `request_id`. `opsctl explain CODE` explains the code.',
    ),
    heading('Pager'),
    prose(
      'On a terminal, opsctl shows a long result in $OPSCTL_PAGER, $PAGER or `less`. The result of a check has its verdict at the end and is never paged. `less` exits immediately if the result fits on one screen, and shows a long list while it arrives. `--no-pager`, an empty OPSCTL_PAGER or `cat` disables the pager. The pager is disabled in CI.',
    ),
    heading('Color and symbols'),
    prose(
      '--color overrides NO_COLOR, which overrides FORCE_COLOR and CLICOLOR_FORCE. If the locale is not UTF-8 (LANG=C), opsctl draws lines and symbols in ASCII.',
    ),
  ],
};

export const ciPage: Page = {
  title: 'opsctl help ci',
  summary: 'Use opsctl in CI pipelines',
  blocks: [
    prose(
      'When CI is set, opsctl does not prompt, redraw lines or start a pager. Check the exit code: 0 is success, 20 means that a check failed or a difference was found, and every other code is an error. `opsctl help exit-codes` lists the codes.',
    ),
    prose(
      'On GitHub Actions, findings with a file and a line appear as annotations on that line, and the job summary contains a table of them. On GitLab, findings appear in a section of the log; `--report codequality=FILE` writes the artifact that a merge request shows. `--report` supports junit, sarif, codequality and markdown for kv check, labels lint, labels diff, tracker diff and tracker bulk. `action.yml` and `Containerfile` are in the repository root.',
    ),
    heading('Examples'),
    shell(
      'Test a script against temporary services',
      'opsctl mock run -- opsctl tracker labels list -o name',
    ),
    shell('Save the workspace as a file for review', 'opsctl tracker export > workspace.yaml'),
    shell('Fail the job if the tracker differs from the file', 'opsctl tracker diff -f workspace.yaml'),
    shell(
      'Write the result as test results and for code scanning',
      'opsctl tracker diff -f workspace.yaml --report junit=tracker.xml,sarif=tracker.sarif',
    ),
    shell('Create missing records and update the others', 'opsctl tracker apply -f workspace.yaml --yes'),
  ],
};

export const configurationPage: Page = {
  title: 'opsctl help configuration',
  summary: 'Settings, profiles, files and their precedence',
  blocks: [
    prose(
      'A flag overrides an environment variable, which overrides the profile, which overrides the default. `opsctl config list --show-origin` shows the origin of each value.',
    ),
    heading('Profiles'),
    prose(
      'A profile is a named set of settings. Profiles do not share sign-ins, caches or local state. The built-in profile `mock` always refers to the embedded services. It is active until you configure a real service. After a sign-in at a real server, opsctl stores the account in a profile that is named after the server.',
    ),
    shell(
      'Create a profile for a real tracker',
      'opsctl config set tracker.url https://tracker.example.com --profile work',
    ),
    shell(
      'Store its token, read from standard input',
      'printf %s "$TOKEN" | opsctl config set tracker.token --stdin --profile work',
    ),
    shell('Make it the active profile', 'opsctl config use work'),
    shell('Use it for one command', 'opsctl tracker labels list --profile work'),
    heading('Settings'),
    terms(
      keys.map(({ key, env, summary, fallback }): [string, string] => [
        key,
        `${summary}${env === undefined ? '' : `; ${env}`}${fallback === undefined ? '' : ` (default ${fallback})`}`,
      ]),
    ),
    heading('Files'),
    terms([
      ['config.json', 'All profiles: $XDG_CONFIG_HOME/opsctl or ~/.config/opsctl'],
      ['state', 'Sign-ins, mock state and journals of runs: ~/.local/state/opsctl'],
      ['cache', 'Cached names for completion: ~/.cache/opsctl'],
      ['OPSCTL_HOME', 'One directory that replaces all three'],
    ]),
  ],
};

export const exitCodesPage: Page = {
  title: 'opsctl help exit-codes',
  summary: 'Exit codes and the recommended action',
  blocks: [
    terms(
      Object.values(exitCodes).map(({ code, meaning, advice }): [string, string] => [
        String(code).padStart(3),
        advice === undefined ? meaning : `${meaning}. ${advice}`,
      ]),
    ),
    prose('`opsctl explain 11` explains one code. The meaning of a code never changes.'),
  ],
};

export const flagsPage: Page = {
  title: 'opsctl help flags',
  summary: 'Flags that every command accepts, in any position',
  blocks: [
    heading('Flags'),
    flagTerms(globalFlags),
    prose(
      'If a command has a flag with the same name, the flag of the command takes precedence. For example, `labels create --color #2a7de1` sets the color of a label, and `--color never` still disables color in the output.',
    ),
    prose('A Boolean flag accepts a value: `--dry-run=false`. `--` ends the flags.'),
  ],
};

export const mockPage: Page = {
  title: 'opsctl help mock',
  summary: 'The embedded mock services',
  blocks: [
    prose(
      'The mock server implements the limits, states, errors and rate limits of the tracker, the label service and the authorization server. Commands use it and report it if no real service is configured. With a token or a profile but no URL, opsctl does not use the mock server.',
    ),
    heading('Examples'),
    shell('Run a script against a temporary server', 'opsctl mock run -- opsctl tracker labels list'),
    shell('Start a server in the background', 'opsctl mock start'),
    shell('Restore the example data', 'opsctl mock reset --yes'),
    shell('Start a simulated cluster for kv commands', 'opsctl mock kv start --dir ./rehearsal'),
    shell('Stop the simulated cluster', 'opsctl mock kv stop --dir ./rehearsal'),
    heading('In tests'),
    prose(
      "`mock run` sets OPSCTL_TRACKER_URL, OPSCTL_TRACKER_TOKEN, OPSCTL_LABELS_URL, OPSCTL_AUTH_URL and OPSCTL_MOCK_URL for its command and exits with the command's exit code. `mock faults add` injects delays and failures, `mock clock advance` advances the clock, and `mock requests` lists the received requests.",
    ),
  ],
};

export const securityPage: Page = {
  title: 'opsctl help security',
  summary: 'Storage and redaction of secrets',
  blocks: [
    heading('Storage'),
    prose(
      'Tokens of a sign-in are stored in one encrypted file that only you can read (mode 0600). Its key is in the system keychain, or in a file in the same directory if no keychain is available. `opsctl auth status` shows the location.',
    ),
    prose(
      'Tokens that you set (`config set tracker.token --stdin`) are stored in config.json, which only you can read. Secrets are never passed as command-line arguments, which other users of the machine can see.',
    ),
    prose(
      'The cache directory contains compiled code of the program (`code`). opsctl uses it only if you own it and no other user can write to it. NODE_COMPILE_CACHE selects another directory, and NODE_DISABLE_COMPILE_CACHE=1 disables the cache.',
    ),
    heading('Redaction'),
    prose(
      'opsctl replaces every secret that it has loaded with *** in results, messages, --debug traces, HAR files and journals. It recognizes the plain, URL-encoded and base64 forms. Only commands that print secrets on request, such as `auth token` and `config get --reveal`, are exempt.',
    ),
    heading('Network'),
    prose(
      'opsctl sends no telemetry. It checks for updates only with `version --check`, or once a day if you set `update_notice` to `on`. It rejects plain HTTP except on this machine. It never sends a mock token to a real service, or a real token to the mock server.',
    ),
    shell('Revoke the tokens and remove the sign-in', 'opsctl logout'),
    shell('Write a redacted trace for a bug report', 'opsctl tracker labels list --har trace.har'),
  ],
};

export const upgradePage: Page = {
  title: 'opsctl help upgrade',
  summary: 'Runbook of a cluster upgrade',
  blocks: [
    heading('Before'),
    prose('Set the cluster file once, or pass --cluster FILE to each command.'),
    shell('Start a simulated cluster to practice with this page', 'opsctl mock kv start --dir ./rehearsal'),
    shell(undefined, 'export OPSCTL_KV_CLUSTER=./rehearsal/cluster.yaml'),
    shell('Check whether the cluster is ready, without changes', 'opsctl kv check'),
    shell('Show the steps of the upgrade', 'opsctl kv plan --out plan.json'),
    shell('Rehearse the plan on a private copy the day before', 'opsctl kv rehearse'),
    shell('Show unsupported and recommended patch versions with reasons', 'opsctl kv versions'),
    prose(
      'From 3.5 to 3.6: every member requires at least 3.5.26 (3.5.32 is recommended) and no v2 data. Keep the old names of settings until every member runs 3.6; then run opsctl kv config migrate FILE --to 3.6.',
    ),
    prose('`opsctl explain GUARD` explains why a check warns or fails, and how to fix it.'),
    heading('During'),
    shell('Apply exactly the reviewed plan', 'opsctl kv upgrade --plan plan.json --yes'),
    shell(
      'Apply it, but hold before the last member, while a rollback is still possible',
      'opsctl kv upgrade --hold-last',
    ),
    shell('Show the progress from another terminal', 'opsctl kv status'),
    prose(
      'Ctrl-C finishes the current member and stops. opsctl saves a verified snapshot before each member, and rolls a member back if its new binary fails. The leader is upgraded last.',
    ),
    heading('When the run stops'),
    shell('Exit code 8: fix the cause, then resume', 'opsctl kv resume'),
    shell('Exit code 8: return to the old version', 'opsctl kv rollback'),
    shell('All members run 3.6 or 3.7: return to the previous version', 'opsctl kv downgrade'),
    shell(
      'All members are upgraded, but the new version does not work: rebuild the old version',
      'opsctl kv restore',
    ),
    prose(
      'A downgrade supports only 3.7 to 3.6 and 3.6 to 3.5. Every member must respond, you cannot add a member of the newer version until the downgrade is finished, and settings that only this version supports must be removed. Until the last member runs the older version, opsctl kv rollback returns to the newer version.',
    ),
    prose(
      'Exit code 10: a check refused the run and no changes were made. Exit code 12: the run was rolled back.',
    ),
    heading('After'),
    shell('Verify that all members run the new version', 'opsctl kv status'),
    shell('Update the cluster file to the new version', 'opsctl kv advance'),
    shell('Apply another configuration or patch later, member by member', 'opsctl kv restart'),
    shell('Write an HTML report for the change record', 'opsctl kv report --out upgrade.html'),
    shell('Remove the simulated cluster', 'opsctl mock kv stop --dir ./rehearsal'),
  ],
};

export const docsPage: Page = {
  title: 'opsctl help docs',
  summary: 'Tutorials, guides, reference and explanations of this version, without a network',
  blocks: [
    heading('Usage'),
    shell('Read a page', 'opsctl help docs first-upgrade'),
    shell('List the pages that contain all of these words', 'opsctl help docs restore snapshot'),
  ],
};
/** A page of the documentation: its name is the last part of its path. */
type DocPage = { readonly name: string; readonly title: string; readonly path: string };
/** A list of pages on the start page of the documentation. */
type Shelf = { readonly title: string; readonly pages: readonly DocPage[] };

const nameOf = (path: string): string =>
  path
    .replace(/(?:\/README)?\.md$/, '')
    .split('/')
    .at(-1) ?? path;
/** The pages that the start page links, below their headings. Pure. */
const shelvesOf = (start: string): Shelf[] =>
  start
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      title: section.slice(0, section.indexOf('\n')).trim(),
      pages: [...section.matchAll(/\[([^\]\n]{1,200})\]\(([a-z][^)#:\s]{1,200}\.md)\)/g)].map(
        ([, title = '', path = '']) => ({ name: nameOf(path), title, path }),
      ),
    }))
    .filter(({ pages }) => pages.length > 0);

/** Removes the marks of a link and of emphasis; code keeps its marks. Pure. */
const plainText = (line: string): string =>
  line
    .replace(/\[([^\]\n]{1,200})\]\([^)\s]{1,300}\)/g, '$1')
    .replace(/<a id="[^"\n]{1,200}"><\/a>/g, '')
    .replaceAll('**', '');
const cellsOf = (line: string): string[] =>
  line
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => plainText(cell.trim()).replaceAll('\\|', '|'));
/** A table as terms: the first cell, and the other cells below their headings. Pure. */
const tableTerms = (lines: readonly string[]): Block => {
  const [head = [], , ...rows] = lines.map(cellsOf);
  return terms(
    rows.map(([first = '', ...rest]): [string, string] => [
      first,
      rest.length === 1
        ? (rest[0] ?? '')
        : rest.map((cell, at) => `${head[at + 1] ?? ''}: ${cell}`).join('; '),
    ]),
  );
};
/** Removes the indentation that all lines have. Pure. */
const unindent = (lines: readonly string[]): string[] => {
  const least = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return lines.map((line) => line.slice(least));
};
/** The block of lines that belong together: a fenced block, a table, a heading or a paragraph. Pure. */
const blockOf = (text: string): Block => {
  const lines = text.split('\n');
  if (/^ *```/.test(text)) {
    const inner = unindent(lines.slice(1, -1));
    return /^ *```sh/.test(text)
      ? shell(undefined, ...inner)
      : { kind: 'shell', lines: inner, isVerbatim: true };
  }
  if (/^#{1,6} /.test(text)) return heading(plainText(text.replace(/^#+ /, '')));
  if (lines.length > 1 && lines.every((line) => line.startsWith('|'))) return tableTerms(lines);
  return prose(lines.map(plainText).join('\n'));
};
/** The parts of a page: a fenced block, a heading, or lines without an empty line between them. Pure. */
const splitParts = (text: string): string[] => {
  const parts: string[][] = [[]];
  let isFenced = false;
  for (const line of text.split('\n')) {
    const isFence = /^ *```/.test(line);
    const isHeading = !isFenced && /^#{1,6} /.test(line);
    if ((isFence && !isFenced) || isHeading) parts.push([]);
    if (isFenced || line.trim() !== '') parts.at(-1)?.push(line);
    if (isFence) isFenced = !isFenced;
    if (!isFenced && (isFence || isHeading || line.trim() === '')) parts.push([]);
  }
  return parts.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
};
/** Converts a page in Markdown into the blocks of a help page. Pure. */
export const readMarkdown = (name: string, text: string): Page => {
  const blocks = splitParts(text.replace(/<!--[^>]{0,300}-->\n?/g, '')).map(blockOf);
  const [first] = blocks;
  return {
    title: `opsctl help docs ${name}`,
    summary: first?.kind === 'heading' ? first.text : name,
    blocks: first?.kind === 'heading' ? blocks.slice(1) : blocks,
  };
};

const MOST_FOUND = 12;
type Found = DocPage & { readonly count: number; readonly line: string };
const LONGEST_FOUND = 140;
/** The first sentence of a line that contains one of the words: a paragraph of a page can be one long line. Pure. */
const sentenceWith = (typed: readonly string[], line: string): string => {
  const sentences = plainText(line.replace(/^[>*\s-]+/, '')).split(/(?<=[.!?]) /);
  const found = sentences.find((one) => typed.some((word) => one.toLowerCase().includes(word)));
  return cutText(found ?? '', LONGEST_FOUND);
};
/** How often the words appear in a page, and the first line with one of them; undefined if a word is missing. Pure. */
const matchPage = (page: DocPage, text: string, words: readonly string[]): Found | undefined => {
  const typed = words.map((word) => word.toLowerCase());
  const low = `${page.title}\n${text}`.toLowerCase();
  if (!typed.every((word) => low.includes(word))) return undefined;
  const inTitle = typed.filter((word) => page.title.toLowerCase().includes(word)).length;
  const count = typed.reduce((sum, word) => sum + low.split(word).length - 1, 0);
  const line = text
    .split('\n')
    .find((one) => !/^[#|]/.test(one) && typed.some((word) => one.toLowerCase().includes(word)));
  return { ...page, count: count + inTitle * 1000, line: sentenceWith(typed, line ?? '') };
};
const notInstalled = (): AppError =>
  new AppError('config', 'this installation of opsctl contains no pages of the documentation', {
    code: 'NO_DOCUMENTATION',
    tryThis: ['opsctl help', 'install a package of opsctl, which contains the directory docs'],
  });
const listPage = (shelves: readonly Shelf[]): Page => ({
  ...docsPage,
  blocks: [
    ...docsPage.blocks,
    ...shelves.flatMap(({ title, pages }) => [
      heading(title),
      terms(pages.map((page): [string, string] => [page.name, page.title])),
    ]),
  ],
});
const foundPage = (words: readonly string[], found: readonly Found[]): Page => {
  const wanted = JSON.stringify(words.join(' '));
  if (found.length === 0)
    throw new AppError('usage', `opsctl help docs: no page contains ${wanted}`, {
      code: 'UNKNOWN_COMMAND',
      tryThis: ['opsctl help docs', 'opsctl help'],
    });
  const best = found.toSorted((a, b) => b.count - a.count).slice(0, MOST_FOUND);
  const rows = best.map(({ name, title, line }): [string, string] => [
    name,
    line === '' ? title : `${title}. ${line}`,
  ]);
  return {
    title: 'opsctl help docs',
    summary: `${best.length} of ${countText(found.length, 'page')} with ${wanted}, best first`,
    blocks: [terms(rows), prose('Run `opsctl help docs PAGE` to read a page.')],
  };
};
/** What `opsctl help docs [words]` shows: the list of pages, one page, or the pages that contain the words. */
export const readDocs = async (
  words: readonly string[],
  { files, self }: Pick<Host, 'files' | 'self'>,
): Promise<Page> => {
  const root = join(dirname(dirname(self[1] ?? '')), 'docs');
  const read = async (path: string): Promise<string> => {
    const text = await files.read(path.split('/').reduce((at, part) => childPath(at, pathPart(part)), root));
    if (text === undefined) throw notInstalled();
    return text;
  };
  const shelves = shelvesOf(await read('README.md'));
  if (words.length === 0) return listPage(shelves);
  const pages = shelves.flatMap(({ pages: own }) => own);
  const wanted = words.join(' ').replace(/\.md$/, '');
  const page = pages.find(({ name, path }) => name === wanted || path === `${wanted}.md`);
  if (page !== undefined) return readMarkdown(page.name, await read(page.path));
  const found = await Promise.all(pages.map(async (one) => matchPage(one, await read(one.path), words)));
  return foundPage(
    words,
    found.filter((one) => one !== undefined),
  );
};
