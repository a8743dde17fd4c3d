import { shellWord } from '../core/shell.ts';
import { argumentName } from '../core/flag.ts';
import { bare, type Field, type Fields } from '../core/field.ts';
import type { Argument, Example, Flag } from '../core/flag.ts';
import { formatExamples } from '../core/format.ts';
import {
  type Block,
  heading,
  type Page,
  prose,
  shell,
  terms,
  rawResult,
  type Result,
} from '../core/result.ts';
import { AppError } from '../core/problem.ts';
import { nearest } from '../core/text.ts';
import { helpWidth, pageText } from '../output/page-text.ts';
import type { Host } from '../platform/host.ts';
import { type Command, type Group, findCommand, findGroup } from './command.ts';
import { flagTerms, isRequired, globalFlags } from './options.ts';

/** Words for values whose type alone would give a poor one, by the name of the argument or flag. */
const words: Readonly<Record<string, string>> = {
  name: 'Billing',
  alias: 'mine',
  'expires-within': '720h',
  text: 'Looks good',
  description: 'What it is for',
  title: 'Contract',
  'mention-name': 'billing',
  'end-date': '2026-01-16',
  member: 'n2',
  target: 'n2',
  'key-name': 'greeting',
  'lease-id': '694d5765fc71500b',
  'peer-urls': 'http://10.0.0.2:2380',
  file: 'before.json',
  fault: '1',
  revision: '1',
  account: 'ada@demo.example',
  accounts: 'ada@demo.example',
  email: 'ada@demo.example',
  issuer: 'https://accounts.example.com',
  audience: 'https://api.example.com',
  scope: 'email',
  scopes: 'openid',
};
/** Records of the demo data that people name. */
const named: Readonly<Record<string, string>> = {
  label: 'onboarding',
  'label-title': 'Contract',
};
const byFormat: Readonly<Record<string, string>> = {
  ...formatExamples,
  email: 'ada@demo.example',
  int64: '123',
};
/** An object with the fields that it needs. */
const bodyOf = (fields: Fields): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, field]) => field.required || field.needed)
      .map(([name, field], at) => [name, wordFor(name, field, at)]),
  );
/** A value of this field; `at` keeps two ids of one line apart. */
function wordFor(name: string, field: Field, at: number): string {
  const plain = bare(field);
  if (plain.type === 'array') return wordFor(name, plain.items, at);
  if (plain.type === 'boolean') return 'true';
  if (plain.type === 'integer' || plain.type === 'number')
    return String(Math.min(plain.max ?? 123 + at, 123 + at));
  if (plain.type === 'object') return JSON.stringify(bodyOf(plain.fields));
  if (plain.type === 'map') return '{}';
  const { enum: allowed, format } = plain as { readonly enum?: readonly string[]; readonly format?: string };
  return allowed?.[0] ?? byFormat[format ?? ''] ?? words[name] ?? name.toUpperCase();
}
/** If a row accepts a record by name or ID, the field of its path describes the format of an ID. */
const argumentWord = ({ operation }: Command, { name, field, complete }: Argument, at: number): string => {
  if (complete !== undefined && named[complete] !== undefined) return named[complete];
  const params = Object.entries(operation?.operation.params ?? {});
  const own = params.find(([param]) => argumentName(param) === name)?.[1];
  return wordFor(name, own ?? field, at);
};
/** What a change shows: a name or a text, else the first value of its body. */
const changeOf = ({ path, operation, flags = {} }: Command): [string, Flag][] => {
  const isChange = operation?.operation.method === 'PUT' || path.at(-1) === 'update';
  if (!isChange) return [];
  const usable = Object.entries(flags).filter(
    ([name, { field, hidden }]) =>
      !hidden && name !== 'body' && name !== 'unset' && !['object', 'map', 'any'].includes(bare(field).type),
  );
  const best = usable.find(([name]) => /^(name|text|title|description)$/.test(name)) ?? usable[0];
  return best === undefined ? [] : [best];
};
/** An example made from the fields of a command: its arguments, the flags it needs, and for a change one value. */
const deriveExample = (command: Command): Example => {
  const { path, args = [], flags = {}, summary } = command;
  const required = Object.entries(flags).filter(([, flag]) => isRequired(flag));
  const shown = required.length > 0 ? required : changeOf(command);
  const needed = args.filter(({ optional }) => !optional);
  const parts = [
    ...needed.map((arg, at) => shellWord(argumentWord(command, arg, at))),
    ...shown.map(
      ([name, { field }], at) => `--${name} ${shellWord(wordFor(name, field, needed.length + at))}`,
    ),
  ];
  return { line: ['opsctl', ...path, ...parts].join(' '), says: summary };
};
/** The examples that help, manual and reference show: those of the command, else one made from its fields. */
export const examplesOf = (command: Command): readonly Example[] => {
  const { examples = [] } = command;
  return examples.length > 0 ? examples : [deriveExample(command)];
};

/** The flags that every command takes, in one sentence. */
const globalSummary = (): Block[] => {
  const names = Object.entries(globalFlags)
    .filter(([, { hidden }]: [string, Flag]) => !hidden)
    .map(([name, { negated }]: [string, Flag]) => `--${negated ? 'no-' : ''}${name}`);
  return [heading('Global flags'), terms([[`${names.join(', ')} (see: opsctl help flags)`, '']])];
};
/** Up to three values are listed. A longer list stands as the name of the flag: a cut list would look complete. */
const usageValue = (name: string, value: string): string => (value.split('|').length > 3 ? name : value);
const usage = (command: Command): string => {
  const args = (command.args ?? []).map((arg) => {
    const name = arg.rest ? `${arg.name}...` : arg.name;
    return arg.optional ? `[${name}]` : `<${name}>`;
  });
  const required = Object.entries(command.flags ?? {}).flatMap(([name, flag]) =>
    isRequired(flag) ? [`--${name} <${usageValue(name, flag.value ?? 'value')}>`] : [],
  );
  return ['opsctl', ...command.path, ...args, ...required, '[flags]'].join(' ');
};
/** The page of one command: how it is used and examples before the long lists of flags. */
export const commandPage = (command: Command): Page => {
  const { about, deprecated, args = [], flags = {} } = command;
  const examples = examplesOf(command);
  const isFlagged = Object.values(flags).some(({ hidden }) => !hidden);
  return {
    title: `opsctl ${command.path.join(' ')}`,
    summary: command.summary,
    blocks: [
      heading('Usage'),
      terms([[usage(command), '']]),
      ...(about === undefined ? [] : [prose(about)]),
      ...(deprecated === undefined
        ? []
        : [prose(`Deprecated${deprecated === '' ? '' : `: use ${deprecated}`}.`)]),
      heading('Examples'),
      ...examples.map(({ line, says }) => shell(says, line)),
      ...(args.length === 0
        ? []
        : [heading('Arguments'), terms(args.map((arg): [string, string] => [arg.name, arg.summary]))]),
      ...(isFlagged ? [heading('Flags'), flagTerms(flags)] : []),
      ...globalSummary(),
    ],
  };
};
/** A word of a group: what the command of this name does, and the words of the commands below it. */
type GroupRow = { readonly summary?: string; readonly below: readonly string[] };
const rowText = ({ summary, below }: GroupRow): string => {
  if (summary === undefined) return below.join(', ');
  return below.length === 0 ? summary : `${summary} (also: ${below.join(', ')})`;
};
/** The lists of a group page. Words that no heading names stand below the last one. Pure. */
const partsOf = (rows: ReadonlyMap<string, GroupRow>, parts: Group['parts']): Block[] => {
  const termsOf = (words: readonly string[]): Block =>
    terms(words.map((word): [string, string] => [word, rowText(rows.get(word) ?? { below: [] })]));
  if (parts === undefined) return [heading('Commands'), termsOf([...rows.keys()])];
  const named = Object.entries(parts).map(([title, words]) => ({ title, words: words.split(' ') }));
  const known = new Set(named.flatMap(({ words }) => words));
  const rest = [...rows.keys()].filter((word) => !known.has(word));
  return [...named, ...(rest.length === 0 ? [] : [{ title: 'More commands', words: rest }])].flatMap(
    ({ title, words }) => [heading(title), termsOf(words.filter((word) => rows.has(word)))],
  );
};
/** The page of a group: `opsctl tracker --help`, `opsctl tracker labels --help`. */
export const groupPage = (
  groups: readonly Group[],
  words: readonly string[],
  commands: readonly Command[],
): Page => {
  const depth = words.length;
  const rows = new Map<string, GroupRow>();
  for (const command of commands) {
    if (command.hidden) continue;
    const word = command.path[depth] ?? '';
    const row = rows.get(word) ?? { below: [] };
    if (command.path.length === depth + 1) rows.set(word, { ...row, summary: command.summary });
    else rows.set(word, { ...row, below: [...row.below, command.path.slice(depth + 1).join(' ')] });
  }
  const group = groups.find(({ name }) => name === words[0]);
  const at = `opsctl ${words.join(' ')}`;
  return {
    title: at,
    summary: group && depth === 1 ? group.summary : at,
    blocks: [
      heading('Usage'),
      terms([[`${at} <command> [flags]`, '']]),
      ...partsOf(rows, depth === 1 ? group?.parts : undefined),
      prose(`Run \`${at} <command> --help\` for flags and examples.`),
    ],
  };
};
const sections: readonly Group['section'][] = ['Work', 'Cluster', 'Tools'];
/** `opsctl --help`. */
export const rootPage = (groups: readonly Group[], version: string): Page => ({
  title: 'opsctl',
  summary: `opsctl ${version}: sign in, manage work-tracking and label resources, upgrade key-value clusters safely`,
  blocks: [
    heading('Usage'),
    terms([['opsctl <command> [flags]', '']]),
    ...sections.flatMap((section) => [
      heading(section),
      terms(
        groups
          .filter((group) => group.section === section)
          .map((group): [string, string] => [group.name, group.summary]),
      ),
    ]),
    heading('Help topics'),
    terms(topics.map(({ name, summary }): [string, string] => [`help ${name}`, summary])),
    ...globalSummary(),
    prose('Start with `opsctl tour`. Without configuration, opsctl uses only the built-in mock services.'),
  ],
});

/** A page as wide as the terminal; `paged` allows a pager for text longer than a screen. */
export const pageResult = (page: Page, { terminal }: Host): Result => ({
  ...rawResult(pageText(page, helpWidth(terminal.stdout.columns))),
  paged: true,
});
export const commandHelp = (command: Command, host: Host): Result => pageResult(commandPage(command), host);
const MOST_COMMANDS = 5;
/** Commands for a word that is not the name of a group: those with the word in their path, then those with the word in their texts. */
const findCommandsAbout = async (groups: readonly Group[], word: string): Promise<string[]> => {
  const commands = (await Promise.all(groups.map(({ load }) => load())))
    .flat()
    .filter(({ hidden }) => hidden !== true);
  const typed = word.toLowerCase();
  const whole = new RegExp(`(?<![a-z])${typed.replace(/[^a-z0-9]/g, '\\W')}s?(?![a-z])`, 'i');
  const textsOf = ({ summary, about = '', examples = [], flags = {} }: Command): string =>
    [
      summary,
      about,
      ...examples.map(({ says }) => says),
      ...Object.values(flags).flatMap((flag) => (flag.hidden ? [] : [flag.summary, choicesOf(flag)])),
    ].join(' ');
  const named = commands.filter(({ path }) => path.includes(typed));
  const others = typed.length < 3 ? [] : commands.filter((command) => whole.test(textsOf(command)));
  return [...new Set([...named, ...others])]
    .slice(0, MOST_COMMANDS)
    .map(({ path }) => `opsctl help ${path.join(' ')}`);
};
const choicesOf = ({ field }: Flag): string =>
  'enum' in field && Array.isArray(field.enum) ? field.enum.join(' ') : '';
const nothingOfThatName = async (groups: readonly Group[], word: string): Promise<AppError> => {
  const close = nearest(word, [...topics.map(({ name }) => name), ...groups.map(({ name }) => name)]);
  const commands = close === undefined ? await findCommandsAbout(groups, word) : [];
  const next = commands.length > 0 ? commands : [`opsctl help ${close ?? ''}`.trim()];
  return new AppError(
    'usage',
    `opsctl help: no command or topic is named ${JSON.stringify(word)}${close === undefined ? '' : `; did you mean ${close}?`}`,
    {
      code: 'UNKNOWN_COMMAND',
      tryThis: [...next, `topics: ${topics.map(({ name }) => name).join(', ')}`],
    },
  );
};
/** A group that is a topic as well, as `mock`: its commands first, then the text. Pure. */
const withTopic = (page: Page, topic: Page): Page => ({
  ...page,
  summary: topic.summary,
  blocks: [...page.blocks, ...topic.blocks],
});
/** The page of a command or of a group. The build writes each one, for readers that are not terminals. */
export const pageOfCommand = async (groups: readonly Group[], words: readonly string[]): Promise<Page> => {
  const [first = ''] = words;
  const found = findCommand(await findGroup(groups, first).load(words), words);
  if (found.kind === 'command') return commandPage(found.command);
  const page = groupPage(groups, found.words, found.commands);
  const topic = words.length > 1 ? undefined : topics.find(({ name }) => name === first);
  return topic === undefined ? page : withTopic(page, await topic.load());
};
/** The page that `opsctl help <words>` shows: the root, a topic, a group or a command. */
export const helpPage = async (
  groups: readonly Group[],
  words: readonly string[],
  host: Host,
): Promise<Result> => {
  const [first] = words;
  if (first === undefined) return pageResult(rootPage(groups, OPSCTL_VERSION), host);
  const topic = topics.find(({ name }) => name === first);
  if (!groups.some(({ name }) => name === first)) {
    if (topic === undefined) throw await nothingOfThatName(groups, first);
    if (first === 'docs')
      return pageResult(await (await import('./topics/texts.ts')).readDocs(words.slice(1), host), host);
    return pageResult(await topic.load(), host);
  }
  return pageResult(await pageOfCommand(groups, words), host);
};

/** A help page that belongs to no single command. Its text is loaded on demand. */
export type Topic = {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Page>;
};

export const topics: readonly Topic[] = [
  {
    name: 'docs',
    summary: 'Tutorials, guides and reference pages; search by words',
    load: async () => (await import('./topics/texts.ts')).docsPage,
  },
  {
    name: 'flags',
    summary: 'Flags that every command takes',
    load: async () => (await import('./topics/texts.ts')).flagsPage,
  },
  {
    name: 'output',
    summary: 'Output formats, columns and filters',
    load: async () => (await import('./topics/texts.ts')).page,
  },
  {
    name: 'configuration',
    summary: 'Settings, profiles, files and their precedence',
    load: async () => (await import('./topics/texts.ts')).configurationPage,
  },
  {
    name: 'environment',
    summary: 'Environment variables',
    load: async () => (await import('../config/load.ts')).page(),
  },
  {
    name: 'exit-codes',
    summary: 'Exit codes and the recommended action',
    load: async () => (await import('./topics/texts.ts')).exitCodesPage,
  },
  {
    name: 'ci',
    summary: 'Use opsctl in CI pipelines',
    load: async () => (await import('./topics/texts.ts')).ciPage,
  },
  {
    name: 'mock',
    summary: 'The embedded mock services',
    load: async () => (await import('./topics/texts.ts')).mockPage,
  },
  {
    name: 'upgrade',
    summary: 'Runbook of a cluster upgrade',
    load: async () => (await import('./topics/texts.ts')).upgradePage,
  },
  {
    name: 'security',
    summary: 'Storage and redaction of secrets',
    load: async () => (await import('./topics/texts.ts')).securityPage,
  },
];
