import { type Aliases, aliasFile, readAliases, splitLine, writeAliases } from '../cli/aliases.ts';
import { type Command, defineCommand } from '../cli/command.ts';
import { findCommand, findGroup } from '../cli/find.ts';
import type { Group } from '../cli/program.ts';
import { str } from '../core/field.ts';
import { AppError, invalidArguments, problem } from '../core/problem.ts';
import { nothing, recordResult, rowsResult } from '../core/result.ts';

const nameArgument = {
  name: 'alias',
  effects: [],
  field: str(64, { pattern: '^[a-z][a-z0-9-]*$' }),
  summary: 'Name of the alias: letters, digits and dashes',
} as const;
const missing = (name: string, aliases: Aliases): AppError => {
  const names = Object.keys(aliases);
  return new AppError(
    'not-found',
    `alias not found: ${JSON.stringify(name)}${names.length > 0 ? `; one of: ${names.join(', ')}` : ''}`,
    { code: 'NO_ALIAS', tryThis: ['opsctl alias list'] },
  );
};

const list = defineCommand({
  path: ['alias', 'list'],
  summary: 'List all aliases',
  examples: [{ line: 'opsctl alias list', says: 'Print each alias with its command line' }],
  run: async ({ host }) =>
    rowsResult(
      Object.entries(await readAliases(host)).map(([name, line]) => ({ name, line })),
      { columns: ['name', 'line'], name: 'name' },
    ),
});
const unset = defineCommand({
  path: ['alias', 'unset'],
  noDryRun: 'opsctl alias list shows all aliases',
  summary: 'Remove an alias',
  args: [nameArgument],
  run: async ({ host }, { alias: name }) => {
    const { [name]: line, ...others } = await readAliases(host);
    if (line === undefined) throw missing(name, others);
    await writeAliases(host, others);
    return nothing(`Removed alias ${name}`);
  },
});
const setOver = (groups: readonly Group[]): Command =>
  defineCommand({
    path: ['alias', 'set'],
    noDryRun: 'opsctl alias list shows all aliases',
    summary: 'Store a command line under a short name',
    about:
      'The alias becomes the first word after opsctl. $1 to $9 in the line are replaced with the arguments of the call; other arguments follow at the end. An alias cannot replace a command, and its line must start with a command that exists.',
    args: [
      nameArgument,
      {
        name: 'line',
        effects: [],
        field: str(4096, { min: 1 }),
        summary: 'Command line without opsctl, in quotes',
      },
    ],
    examples: [
      {
        line: "opsctl alias set mine 'tracker stories list --owner @me'",
        says: 'Afterwards opsctl mine lists your stories',
      },
      {
        line: "opsctl alias set done 'tracker stories move $1 Completed'",
        says: 'Use an argument of the call',
      },
    ],
    run: async ({ host }, { alias: name, line }) => {
      if (name === 'help' || groups.some((group) => group.name === name))
        throw invalidArguments([problem('<alias>', 'rule', `must not be a command; ${name} is one`)]);
      const words = splitLine(line.replace(/^opsctl\s+/, ''));
      findCommand(await findGroup(groups, words[0] ?? '').load(words), words);
      await writeAliases(host, { ...(await readAliases(host)), [name]: line.replace(/^opsctl\s+/, '') });
      return recordResult({ name, line, file: aliasFile(host) }, { message: `Stored alias ${name}` });
    },
  });
/** The commands of aliases. Setting one checks that its line starts with one of these groups. */
export const commandsOver = (groups: readonly Group[]): readonly Command[] => [setOver(groups), list, unset];
