import { rowsResult } from '../core/result.ts';
import { defineCommand, type Command } from './command.ts';

/** A command as data for other tools: `opsctl commands -o json`. */
export const describe = (command: Command) => ({
  command: command.path.join(' '),
  summary: command.summary,
  args: (command.args ?? []).map((arg) => ({
    name: arg.name,
    summary: arg.summary,
    optional: arg.optional ?? false,
    rest: arg.rest ?? false,
  })),
  flags: Object.entries(command.flags ?? {})
    .filter(([, flag]) => !flag.hidden)
    .map(([name, flag]) => ({
      name,
      summary: flag.summary,
      required: flag.required ?? flag.field.required ?? false,
      repeat: flag.repeat ?? false,
    })),
  ...(command.operation
    ? {
        request: `${command.operation.operation.method} ${command.operation.service.basePath}${command.operation.operation.path}`,
      }
    : {}),
  ...(command.deprecated === undefined ? {} : { deprecated: true }),
});

type Loading = { readonly load: () => Promise<readonly Command[]> };

const listOver = (groups: readonly Loading[]): Command =>
  defineCommand({
    path: ['commands'],
    summary: 'List all commands as data',
    run: async () => {
      const all = (await Promise.all(groups.map((group) => group.load()))).flat();
      return rowsResult(all.filter((command) => !command.hidden).map(describe), {
        columns: ['command', 'summary'],
        name: 'command',
      });
    },
  });

/** The commands of all groups as one command. */
export const commandsOver = (groups: readonly Loading[]): readonly Command[] => [listOver(groups)];
