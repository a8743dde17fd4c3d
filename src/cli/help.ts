import { type Block, type Page, heading, prose, shell, terms } from '../core/page.ts';
import { flagTerms, isRequired } from './flag-terms.ts';
import type { Command, Flag } from './command.ts';
import { examplesOf } from './examples.ts';
import { globalFlags } from './globals.ts';
import { type Group, groups } from './manifest.ts';
import { topics } from './topics.ts';

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

/** The page of a group: `opsctl tracker --help`, `opsctl tracker labels --help`. */
export const groupPage = (words: readonly string[], commands: readonly Command[]): Page => {
  const depth = words.length;
  const rows = new Map<string, string[]>();
  for (const command of commands) {
    if (command.hidden) continue;
    const word = command.path[depth] ?? '';
    const isLeaf = command.path.length === depth + 1;
    rows.set(word, [
      ...(rows.get(word) ?? []),
      isLeaf ? command.summary : `${command.path.slice(depth + 1).join(' ')}`,
    ]);
  }
  const group = groups.find(({ name }) => name === words[0]);
  const at = `opsctl ${words.join(' ')}`;
  return {
    title: at,
    summary: group && depth === 1 ? group.summary : at,
    blocks: [
      heading('Usage'),
      terms([[`${at} <command> [flags]`, '']]),
      heading('Commands'),
      terms([...rows].map(([word, texts]) => [word, texts.join(', ')])),
      prose(`Run \`${at} <command> --help\` for flags and examples.`),
    ],
  };
};

const sections: readonly Group['section'][] = ['Work', 'Cluster', 'Tools'];
/** `opsctl --help`. */
export const rootPage = (version: string): Page => ({
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
    prose('Start with `opsctl tour`. With nothing configured nothing real is touched.'),
  ],
});
