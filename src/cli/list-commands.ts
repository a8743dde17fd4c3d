import { type Field, bare } from '../core/field.ts';
import { exitCodes } from '../core/exit.ts';
import { rowsResult } from '../core/result.ts';
import { schemaOf } from '../core/schema.ts';
import { defineCommand, type Argument, type Command, type Flag } from './command.ts';
import { examplesOf } from './examples.ts';
import { globalFlags } from './globals.ts';

const dialect = { version: '3.1', refPrefix: '#/$defs/' } as const;
/** The values of a field as JSON Schema. Named objects of the services are written as what they are: an object. */
export const valueSchema = (field: Field): Record<string, unknown> => {
  const schema = schemaOf(field, new Map(), dialect);
  const text = JSON.stringify(schema);
  return text.includes('"$ref"') ? { type: bare(field).type === 'array' ? 'array' : 'object' } : schema;
};

const describeArgument = (arg: Argument) => ({
  name: arg.name,
  summary: arg.summary,
  optional: arg.optional ?? false,
  rest: arg.rest ?? false,
  schema: valueSchema(arg.field),
});
const describeFlag = ([name, flag]: [string, Flag]) => ({
  name,
  summary: flag.summary,
  short: flag.short ?? null,
  value: flag.value ?? null,
  required: flag.required ?? flag.field.required ?? false,
  repeat: flag.repeat ?? false,
  negated: flag.negated ?? false,
  default: flag.field.default ?? null,
  suggest: flag.suggest ?? [],
  schema: valueSchema(flag.field),
});
const flagsOf = (flags: Readonly<Record<string, Flag>>) =>
  Object.entries(flags)
    .filter(([, flag]) => !flag.hidden)
    .map(describeFlag);

/** A command as data for other tools: everything that help, completion and the MCP server know. */
export const describe = (command: Command) => ({
  command: command.path.join(' '),
  summary: command.summary,
  about: command.about ?? null,
  args: (command.args ?? []).map(describeArgument),
  flags: flagsOf(command.flags ?? {}),
  examples: examplesOf(command).map(({ line, says }) => ({ line, about: says })),
  exit_codes: Object.values(exitCodes).map(({ code, meaning }) => ({ code, meaning })),
  dry_run: command.noDryRun === undefined,
  ...(command.operation
    ? {
        request: `${command.operation.operation.method} ${command.operation.service.basePath}${command.operation.operation.path}`,
        endpoint: {
          service: command.operation.service.name,
          method: command.operation.operation.method,
          path: `${command.operation.service.basePath}${command.operation.operation.path}`,
          success: command.operation.operation.ok,
        },
      }
    : {}),
  ...(command.deprecated === undefined ? {} : { deprecated: true }),
});

type Groups = readonly { readonly load: () => Promise<readonly Command[]> }[];

const listOf = (groups: Groups): Command =>
  defineCommand({
    path: ['commands'],
    summary: 'List all commands as data',
    about:
      'The complete registry: arguments and flags with their types as JSON Schema, enums, defaults, examples, exit codes and the endpoint behind each command. `--global` lists the flags that every command takes.',
    flags: {
      global: { effects: [], field: { type: 'boolean' }, summary: 'The flags that every command takes' },
    },
    examples: [
      { line: "opsctl commands --jq '.[].command'", says: 'All commands' },
      { line: 'opsctl commands --global -o json', says: 'The global flags' },
    ],
    run: async (_context, { global: isGlobal }) => {
      if (isGlobal)
        return rowsResult(flagsOf(globalFlags), {
          columns: ['name', 'short', 'value', 'summary'],
          name: 'name',
        });
      const all = (await Promise.all(groups.map((group) => group.load()))).flat();
      return rowsResult(all.filter((command) => !command.hidden).map(describe), {
        columns: ['command', 'summary'],
        name: 'command',
      });
    },
  });

/** The command that lists the commands of these groups, its own among them. */
export const commandsOver = (groups: Groups): readonly Command[] => [listOf(groups)];
