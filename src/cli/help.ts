import { wrap } from '../core/wrap.ts';
import type { Command, Flag, Flags } from './command.ts';
import { globalFlags } from './globals.ts';
import { type Group, groups } from './manifest.ts';

/** Two columns, the second wrapped below itself. */
const table = (rows: readonly (readonly [string, string])[]): string[] => {
  const width = Math.min(34, Math.max(0, ...rows.map(([left]) => left.length)));
  return rows.map(([left, right]) => {
    const gap = left.length > width ? `\n${' '.repeat(width + 4)}` : ' '.repeat(width - left.length + 2);
    return `  ${left}${right === '' ? '' : gap}${wrap(right, 96 - width, ' '.repeat(width + 4))}`.trimEnd();
  });
};

const flagLine = ([name, flag]: [string, Flag]): [string, string] => {
  const short = flag.short ? `-${flag.short}, ` : '    ';
  const word = flag.negated ? `--no-${name}` : `--${name}`;
  return [
    `${short}${word}${flag.value && flag.field.type !== 'boolean' ? ` <${flag.value}>` : ''}`,
    `${flag.summary}${flag.required || flag.field.required ? ' (required)' : ''}`,
  ];
};
const flagTable = (flags: Flags): string[] =>
  table(
    Object.entries(flags)
      .filter(([, flag]) => !flag.hidden)
      .map(flagLine),
  );

const usage = (command: Command): string => {
  const args = (command.args ?? []).map((arg) => {
    const name = arg.rest ? `${arg.name}...` : arg.name;
    return arg.optional ? `[${name}]` : `<${name}>`;
  });
  return ['opsctl', ...command.path, ...args, '[flags]'].join(' ');
};

/** The page of one command: examples before the long lists of flags. */
export const commandHelp = (command: Command): string => {
  const lines = [command.summary, ''];
  const paragraphs = command.about?.split('\n') ?? [];
  // Lines of a list are told apart from the lines that they go on in.
  if (paragraphs.length > 0)
    lines.push(...paragraphs.map((line) => wrap(line, 98, paragraphs.length > 1 ? '  ' : '')), '');
  if (command.deprecated !== undefined)
    lines.push(`Deprecated${command.deprecated === '' ? '' : `: use ${command.deprecated}`}.`, '');
  lines.push('Usage', `  ${usage(command)}`, '');
  if (command.examples?.length)
    lines.push('Examples', ...command.examples.flatMap(({ line, says }) => [`  # ${says}`, `  ${line}`]), '');
  if (command.args?.length)
    lines.push('Arguments', ...table(command.args.map((arg) => [arg.name, arg.summary])), '');
  const own = command.flags ?? {};
  if (Object.keys(own).length > 0) lines.push('Flags', ...flagTable(own), '');
  const others = Object.fromEntries(Object.entries(globalFlags).filter(([name]) => !own[name]));
  lines.push('Flags of every command', ...flagTable(others));
  return `${lines.join('\n')}\n`;
};

/** The page of a group: `opsctl tracker --help`, `opsctl tracker labels --help`. */
export const groupHelp = (words: readonly string[], commands: readonly Command[]): string => {
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
  const list = [...rows].map(([word, texts]): [string, string] => [word, texts.join(', ')]);
  const lines = [
    group && depth === 1 ? group.summary : `opsctl ${words.join(' ')}`,
    '',
    'Usage',
    `  opsctl ${words.join(' ')} <command> [flags]`,
    '',
    'Commands',
    ...table(list),
    '',
  ];
  lines.push(`Run \`opsctl ${words.join(' ')} <command> --help\` for flags and examples.`);
  return `${lines.join('\n')}\n`;
};

const sections: readonly Group['section'][] = ['Work', 'Cluster', 'Tools'];
/** `opsctl --help`; written to a file at build time, so that it costs no start of the program. */
export const rootHelp = (version: string): string => {
  const lines = [
    `opsctl ${version}: sign in, manage work-tracking and label resources, upgrade key-value clusters safely`,
    '',
    'Usage',
    '  opsctl <command> [flags]',
    '',
  ];
  for (const section of sections) {
    lines.push(
      section,
      ...table(groups.filter((g) => g.section === section).map((g): [string, string] => [g.name, g.summary])),
      '',
    );
  }
  lines.push('Flags of every command', ...flagTable(globalFlags), '');
  lines.push(
    'Start with `opsctl tour`. `opsctl help exit-codes` and `opsctl help environment` list what scripts rely on.',
  );
  return `${lines.join('\n')}\n`;
};
