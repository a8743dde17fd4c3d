import { type ShowAdvice, type WriteCommand, adviceText, showPlain } from '../core/next.ts';
import type { Flags, Values } from '../core/flag.ts';
import { shellLine } from '../core/shell.ts';
import type { Command } from './command.ts';
import { findGroup } from './find.ts';
import type { Group } from './program.ts';

type Known = { readonly path: readonly string[]; readonly flags: Flags };

/** The flags of a line that the next line needs too: `--cluster FILE`. */
const repeatedFlags = ({ flags = {} }: Command, values: Values): [string, string][] =>
  Object.entries(flags).flatMap(([name, { isRepeated }]): [string, string][] => {
    const value = values[name];
    return isRepeated === true && typeof value === 'string' ? [[name, value]] : [];
  });

/** Writes a command with these flags behind its words, if it accepts them and does not have them. Pure. */
export const writeWithFlags =
  (flags: readonly (readonly [string, string])[], commands: readonly Known[]): WriteCommand =>
  (command) => {
    const named = commands
      .filter(({ path }) => path.every((word, at) => command[at] === word))
      .toSorted((one, other) => other.path.length - one.path.length)[0];
    if (named === undefined) return ['opsctl', ...command].join(' ');
    const used = named.path.length;
    const added = flags.filter(
      ([name]) =>
        named.flags[name] !== undefined && !command.some((word) => word.split(' ')[0] === `--${name}`),
    );
    const words = added.map(([name, value]) => shellLine([`--${name}`, value]));
    return ['opsctl', ...command.slice(0, used), ...words, ...command.slice(used)].join(' ');
  };

/**
 * Returns a command to run next with the flags that select the current target, so that users can paste it.
 */
export const showAdviceFor = async (
  command: Command,
  values: Values,
  groups: readonly Group[],
): Promise<ShowAdvice> => {
  const repeated = repeatedFlags(command, values);
  if (repeated.length === 0) return showPlain;
  const commands = await findGroup(groups, command.path[0] ?? '').load();
  const write = writeWithFlags(
    repeated,
    commands.map(({ path, flags = {} }) => ({ path, flags })),
  );
  return (advice) => adviceText(advice, write);
};
