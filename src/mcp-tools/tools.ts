import type { Command, Flag } from '../cli/command.ts';
import { valueSchema } from '../cli/list-commands.ts';
import { onlyLooks, showsFirst } from '../cli/read-only.ts';
import { bare } from '../core/field.ts';
import { invalidArguments, problem } from '../core/problem.ts';

export type Tool = {
  readonly name: string;
  readonly command: Command;
  readonly isReading: boolean;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown };
};

/** Commands that print a secret, wait for a person, never end, or change what this program itself is set up for. */
const never =
  /^(login|logout|mcp|tour|commands|completion|config (set|unset|use|edit|remove|rename)|auth (token|header|exec|login|logout|switch|events|\S+-credential)|mock (serve|run|record|replay|env|proxy)|tracker webhooks listen|kv (top|watch|canary|lock|elect)|labels watch)( |$)/;
/** Flags that open something on the machine, show a secret, or read standard input. */
const hidden: ReadonlySet<string> = new Set(['edit', 'web', 'reveal', 'stdin', 'follow', 'watch']);
/** Any request with any method: only its GET is known to look. */
const isAnyRequest = ({ path }: Command): boolean => path[0] === 'api';

const isReading = (command: Command): boolean =>
  command.operation === undefined
    ? onlyLooks(command.path.join(' ')) && !isAnyRequest(command)
    : command.operation.operation.method === 'GET';

/** A command that is not known to keep --dry-run is never asked for one: it might act. */
const canShow = ({ path, operation, noDryRun }: Command): boolean =>
  noDryRun === undefined && (operation !== undefined || showsFirst(path.join(' ')));

const nameOf = ({ path }: Command): string => path.join('_').slice(0, 64);

const shown = (flags: Command['flags'] = {}): [string, Flag][] =>
  Object.entries(flags).filter(([name, flag]) => !flag.hidden && !hidden.has(name));

const describedSchema = (field: Flag['field'], summary: string) => ({
  ...valueSchema(field),
  ...(summary === '' ? {} : { description: summary }),
});

const schemaOf = ({ args = [], flags, operation }: Command, reads: boolean): Tool['inputSchema'] => {
  const own = shown(flags);
  const properties = {
    ...Object.fromEntries(args.map((one) => [one.name, describedSchema(one.field, one.summary)])),
    ...Object.fromEntries(own.map(([name, flag]) => [name, describedSchema(flag.field, flag.summary)])),
    ...(reads ? { jq: { type: 'string', description: 'Filter the JSON answer with a jq program' } } : {}),
    ...(reads
      ? {}
      : {
          approval: {
            type: 'string',
            description: 'The token that the dry run of this very call answered with',
          },
        }),
  };
  const required = [
    ...args.filter(({ optional }) => optional !== true).map(({ name }) => name),
    ...own.flatMap(([name, flag]) =>
      (flag.required ?? false) || (flag.field.required === true && operation === undefined) ? [name] : [],
    ),
  ];
  return { type: 'object', properties, required, additionalProperties: false };
};

const approvalText =
  'Changes something. The first call shows what would be done and answers with an approval token; the same call with that token does it.';

const toolOf = (command: Command): Tool => {
  const reads = isReading(command);
  const parts = [command.summary, command.about ?? '', reads ? 'Changes nothing.' : approvalText];
  return {
    name: nameOf(command),
    command,
    isReading: reads,
    description: parts
      .filter((text) => text !== '')
      .join('. ')
      .replaceAll('..', '.'),
    inputSchema: schemaOf(command, reads),
  };
};

/** The commands that an agent may use: those that only look, and with `mayWrite` those that can show first what they would do. */
export const toolsOf = (
  commands: readonly Command[],
  mayWrite: boolean,
  groups: readonly string[] = [],
): Tool[] =>
  commands
    .filter(({ path, hidden: isHidden }) => isHidden !== true && !never.test(path.join(' ')))
    .filter(({ path }) => groups.length === 0 || groups.includes(path[0] ?? ''))
    .filter((command) => !isAnyRequest(command))
    .map(toolOf)
    .filter(({ isReading: reads, command }) => reads || (mayWrite && canShow(command)));

const textOf = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value);

/** `--body @file` would hand files of this machine over to a service. */
const refuseFiles = (name: string, text: string): string => {
  if (name === 'body' && /^[@-]/.test(text))
    throw invalidArguments([problem(name, 'rule', 'is the JSON itself, not a file or standard input')]);
  return text;
};

/** A call as words of a command line: flags with their values in one word, arguments behind `--`. Pure. */
export const argvOf = ({ command }: Tool, given: Readonly<Record<string, unknown>>): string[] => {
  const flags = Object.fromEntries(shown(command.flags));
  const args = command.args ?? [];
  const unknown = Object.keys(given).filter(
    (name) => flags[name] === undefined && name !== 'jq' && !args.some((one) => one.name === name),
  );
  if (unknown.length > 0)
    throw invalidArguments(
      unknown.map((name) => problem(name, 'unknown', 'is not an argument of this tool')),
    );
  const words = Object.entries(given).flatMap(([name, value]) => {
    const flag = flags[name];
    if ((flag === undefined && name !== 'jq') || value === undefined) return [];
    // A list of plain values is one flag for each; everything that is nested is JSON.
    const isMany = Array.isArray(value) && value.every((one) => typeof one !== 'object') && value.length > 0;
    const texts = isMany && flag !== undefined && bare(flag.field).type === 'array' ? value : [value];
    return texts.map((one) => `--${name}=${refuseFiles(name, textOf(one))}`);
  });
  const places = args.flatMap(({ name }) => {
    const value = given[name];
    return value === undefined ? [] : [value].flat().map(textOf);
  });
  return [...command.path, ...words, ...(places.length === 0 ? [] : ['--', ...places])];
};
