import { resolve } from 'node:path';
import type { Argument, Flag } from '../../core/flag.ts';
import { cutText, usageError, type Problem, invalidArguments, problem } from '../../core/problem.ts';
import { type Command, watchFlags } from '../command.ts';
import { effectsOf, isReadOnlyCommand, showsFirst } from '../read-only.ts';
import { valueSchema } from '../list-commands.ts';
import { isInside } from '../../core/file-name.ts';
import { type Field, bare } from '../../core/field.ts';
import type { Host } from '../../platform/host.ts';

/** Clients reject long lists of tools, and models choose badly from them. */
export const MAX_USUAL_TOOLS = 40;
const everyday: readonly string[] = [
  'tracker_search',
  'tracker_stories_find',
  'tracker_stories_get',
  'tracker_epics_list',
  'tracker_epics_get',
  'tracker_epics_stories',
  'tracker_iterations_list',
  'tracker_iterations_stories',
  'tracker_labels_list',
  'tracker_labels_get',
  'tracker_projects_list',
  'tracker_members_list',
  'tracker_members_me',
  'tracker_workflows_list',
  'labels_list',
  'labels_get',
  'labels_permissions_list',
  'kv_check',
  'kv_status',
  'kv_health',
  'kv_member_list',
  'config_list',
  'auth_status',
  'doctor',
  'explain',
];
const reading: readonly string[] = [
  'tracker_objectives_list',
  'tracker_groups_list',
  'tracker_labels_stories',
  'tracker_story-comments_list',
  'tracker_documents_list',
  'tracker_documents_get',
  'tracker_diff',
  'labels_lint',
  'labels_diff',
  'labels_locks_list',
  'kv_plan',
  'kv_history',
  'kv_endpoint_status',
  'kv_get',
  'reference',
];
const changing: readonly string[] = [
  'tracker_stories_create',
  'tracker_stories_update',
  'tracker_story-comments_create',
  'tracker_story-tasks_create',
  'tracker_epics_create',
  'tracker_epics_update',
  'tracker_labels_create',
  'tracker_labels_update',
  'tracker_files_upload',
  'tracker_apply',
  'labels_create',
  'labels_apply',
  'kv_plan',
  'kv_upgrade',
  'kv_defrag',
];
/** The tools of a server without --group, the most useful ones of each service. */
export const usualTools = (mayWrite: boolean): readonly string[] => [
  ...everyday,
  ...(mayWrite ? changing : reading),
];

/** A flag or an argument under the name that a call uses. */
type Parameter = { readonly name: string; readonly part: Flag | Argument };
export type Tool = {
  readonly name: string;
  readonly command: Command;
  readonly isReading: boolean;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown };
  /** What a call may contain. */
  readonly offered: readonly Parameter[];
  /** Values that the person who started the server chose: no call replaces them. */
  readonly fixed: Readonly<Record<string, string>>;
};
/** What the person who started the server allows and fixes. */
export type Allowed = {
  readonly mayWrite: boolean;
  /** Groups, or beginnings of tool names; empty: the usual tools. */
  readonly groups: readonly string[];
  /** True when tools that only read may read files below directories of the start-up. */
  readonly mayReadFiles: boolean;
  /** Flag values for every command that has the flag: the cluster file. */
  readonly forAll: Readonly<Record<string, string>>;
  /** Values for single tools: `kv_snapshot_verify` → `ctl` → value. */
  readonly forTools: Readonly<Record<string, Readonly<Record<string, string>>>>;
};
/** Commands that print a secret, wait for a person, never end, or change what this program itself is set up for. */
const never =
  /^(login|logout|mcp|tour|commands|completion|config (set|unset|use|edit|remove|rename)|auth (token|header|exec|login|logout|switch|events|\S+-credential)|mock (serve|run|record|replay|env|proxy)|tracker webhooks listen|kv (top|watch|canary|lock|elect)|labels watch)( |$)/;
/** Any request with any method: only its GET is known to look. */
const isAnyRequest = ({ path }: Command): boolean => path[0] === 'api';
/** True for a command without changes if none of its flags has an effect. */
export const mayRead = (command: Command): boolean => {
  if ((command.effects ?? []).length > 0) return false;
  return command.operation === undefined
    ? isReadOnlyCommand(command.path.join(' ')) && !isAnyRequest(command)
    : command.operation.operation.method === 'GET';
};
/** A command without known support for --dry-run never runs with it, because it might make changes. */
const canShow = ({ path, operation, noDryRun }: Command): boolean =>
  noDryRun === undefined && (operation !== undefined || showsFirst(path.join(' ')));
const toolName = ({ path }: Command): string => path.join('_').slice(0, 64);
const parametersOf = ({ args = [], flags = {} }: Command): Parameter[] => [
  ...args.map((part) => ({ name: part.name, part })),
  // A call returns one result, and a watch has no end.
  ...Object.entries(flags)
    .filter(([name]) => flags.watch === undefined || !Object.hasOwn(watchFlags, name))
    .map(([name, part]) => ({ name, part })),
];
/**
 * A tool that only reads offers no flag with an effect. The dry run of a change is shown before it is approved, so
 * a change offers files that are read and written, but no program and no address or secret.
 */
const isOffered = ({ part }: Parameter, isReading: boolean, mayReadFiles: boolean): boolean => {
  if ('hidden' in part && part.hidden === true) return false;
  const effects = effectsOf(part);
  if (isReading)
    return effects !== undefined && effects.every((effect) => mayReadFiles && effect === 'reads');
  return effects === undefined || !effects.some((effect) => effect === 'runs' || effect === 'sends');
};
const isRequired = ({ operation }: Command, { part }: Parameter): boolean => {
  if ('name' in part) return part.optional !== true;
  return (part.required ?? false) || (part.field.required === true && operation === undefined);
};
const describedSchema = ({ part: { field, summary } }: Parameter) => ({
  ...valueSchema(field),
  ...(summary === '' ? {} : { description: summary }),
});
const additional = (isReading: boolean) =>
  isReading
    ? { jq: { type: 'string', description: 'Filter the JSON result with a jq program' } }
    : { approval: { type: 'string', description: 'The token that the dry run of this very call returned' } };
const schemaOf = (
  command: Command,
  offered: readonly Parameter[],
  isReading: boolean,
): Tool['inputSchema'] => ({
  type: 'object',
  properties: {
    ...Object.fromEntries(offered.map((one) => [one.name, describedSchema(one)])),
    ...additional(isReading),
  },
  required: offered.filter((one) => isRequired(command, one)).map(({ name }) => name),
  additionalProperties: false,
});
const approvalText =
  'Makes changes. The first call shows the changes and returns an approval token; the same call with that token applies them.';
const descriptionOf = (command: Command, isReading: boolean): string =>
  [command.summary, command.about ?? '', isReading ? 'Changes nothing.' : approvalText]
    .filter((text) => text !== '')
    .join('. ')
    .replaceAll('..', '.');
/** Undefined for a command that needs a value which no call may contain and the start-up does not fix. */
const toolOf = (command: Command, allowed: Allowed): Tool | undefined => {
  const name = toolName(command);
  const isReading = mayRead(command);
  const all = parametersOf(command);
  const own = Object.hasOwn(allowed.forTools, name) ? allowed.forTools[name] : {};
  const shared = Object.entries(allowed.forAll).filter(([flag]) => command.flags?.[flag] !== undefined);
  const fixed: Record<string, string> = { ...Object.fromEntries(shared), ...own };
  const open = all.filter((one) => !Object.hasOwn(fixed, one.name));
  const offered = open.filter((one) => isOffered(one, isReading, allowed.mayReadFiles));
  if (open.some((one) => isRequired(command, one) && !offered.includes(one))) return undefined;
  return {
    ...{ name, command, isReading, offered, fixed },
    description: descriptionOf(command, isReading),
    inputSchema: schemaOf(command, offered, isReading),
  };
};
const isIn = (group: string, command: Command): boolean => {
  const [name, begin] = [toolName(command), group.replaceAll(' ', '_')];
  return begin === 'all' || name === begin || name.startsWith(`${begin}_`);
};
const refuseUnknownGroups = (commands: readonly Command[], groups: readonly string[]): void => {
  const unknown = groups.find((group) => !commands.some((command) => isIn(group, command)));
  if (unknown === undefined) return;
  const names = [...new Set(commands.map(({ path }) => path[0] ?? ''))];
  throw usageError(
    `unknown --group: ${JSON.stringify(unknown)}`,
    [],
    [`use all, one of ${names.join(', ')}, or a prefix of tool names such as tracker_stories`],
  );
};
const refuseUnknownValues = (commands: readonly Command[], forTools: Allowed['forTools']): void => {
  for (const [name, values] of Object.entries(forTools)) {
    const command = commands.find((one) => toolName(one) === name);
    if (command === undefined) throw usageError(`unknown tool in --set: ${JSON.stringify(name)}`);
    const names = parametersOf(command).map((one) => one.name);
    const unknown = Object.keys(values).find((one) => !names.includes(one));
    if (unknown !== undefined)
      throw usageError(`${name} has no argument ${JSON.stringify(unknown)}; it has ${names.join(', ')}`);
  }
};
/** The commands that an agent may use: those that only look, and with `mayWrite` those that can show first what they would do. */
export const toolsOf = (commands: readonly Command[], allowed: Allowed): Tool[] => {
  const usable = commands.filter(
    (command) => command.hidden !== true && !never.test(command.path.join(' ')) && !isAnyRequest(command),
  );
  refuseUnknownGroups(usable, allowed.groups);
  refuseUnknownValues(usable, allowed.forTools);
  const usual = new Set(usualTools(allowed.mayWrite));
  return usable
    .filter((command) =>
      allowed.groups.length === 0
        ? usual.has(toolName(command)) || Object.hasOwn(allowed.forTools, toolName(command))
        : allowed.groups.some((group) => isIn(group, command)),
    )
    .filter((command) => mayRead(command) || (allowed.mayWrite && canShow(command)))
    .flatMap((command) => toolOf(command, allowed) ?? []);
};

export type ToolArguments = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a value of this kind is called, and whether this is one. The command itself checks the rest. */
const kindOf = (field: Field): readonly [string, (value: unknown) => boolean] => {
  const inner = bare(field);
  switch (inner.type) {
    case 'string':
    case 'file':
      return ['a string', (value) => typeof value === 'string'];
    case 'integer':
      return ['a whole number', Number.isSafeInteger];
    case 'number':
      return ['a number', Number.isFinite];
    case 'boolean':
      return ['true or false', (value) => typeof value === 'boolean'];
    case 'array': {
      const [, isItem] = kindOf(inner.items);
      return ['a list', (value) => Array.isArray(value) && value.every(isItem)];
    }
    case 'any':
      return ['a JSON value', () => true];
    default:
      return ['an object', isObject];
  }
};

const text: Field = { type: 'string' };
/** The body of a request may also come as the object itself. */
const mayBeObject = ({ command }: Tool, name: string): boolean =>
  name === 'body' && command.operation !== undefined;

/** Free text for the service may start with any character. */
const isFreeText = (tool: Tool, { part }: Parameter): boolean =>
  !tool.isReading && !('name' in part) && tool.command.operation !== undefined && part.effects?.length === 0;

const textProblem = (tool: Tool, one: Parameter, value: string): Problem | undefined => {
  const doesRead = effectsOf(one.part)?.includes('reads') === true;
  if (value.includes('\0')) return problem(one.name, 'format', 'must not contain a zero byte');
  if (one.name === 'body' && /^[@-]/.test(value))
    return problem(one.name, 'rule', 'is the JSON itself, not a file or standard input');
  if (value.startsWith('-') && !isFreeText(tool, one))
    return problem(
      one.name,
      'rule',
      'must not start with a dash',
      doesRead ? 'write ./ before the name of a file' : 'write a space before it, or name: before a name',
    );
  if (doesRead && value.startsWith('@'))
    return problem(one.name, 'rule', 'must not start with @', 'write ./ before the name of a file');
  return undefined;
};

const valueProblems = (tool: Tool, one: Parameter, value: unknown): Problem[] => {
  if (value === null && one.part.field.nullable === true) return [];
  const [kind, isKind] = kindOf(one.part.field);
  if (!isKind(value) && !(mayBeObject(tool, one.name) && isObject(value)))
    return [
      problem(one.name, 'type', `must be ${kind}; got ${cutText(JSON.stringify(value) ?? 'undefined', 60)}`),
    ];
  return [value].flat().flatMap((item) => {
    if (typeof item !== 'string') return [];
    return textProblem(tool, one, item) ?? [];
  });
};

const startUpFlag = (tool: Tool, name: string, sharedFlags: readonly string[]): string => {
  if (sharedFlags.includes(name)) return `opsctl mcp --${name} VALUE`;
  const declared = tool.command.flags?.[name] ?? tool.command.args?.find((one) => one.name === name);
  if (declared === undefined) return '';
  return `opsctl mcp --set ${tool.name}.${name}=VALUE`;
};

/**
 * An argument that a call must not contain: an unknown one, or one that can only be set when the server
 * starts.
 */
const refusedName = (tool: Tool, name: string, sharedFlags: readonly string[]): Problem => {
  const start = startUpFlag(tool, name, sharedFlags);
  const known = tool.offered.map((one) => one.name).join(', ');
  return problem(
    name,
    'unknown',
    'is not an argument of this tool',
    start === ''
      ? `it has ${known === '' ? 'no arguments' : known}`
      : `the person who starts the server may fix it: ${start}`,
  );
};

/** Throws unless the call contains only offered arguments with values of the right kind. Pure. */
export const checkArguments = (tool: Tool, given: ToolArguments, sharedFlags: readonly string[]): void => {
  const additional: Parameter = {
    name: tool.isReading ? 'jq' : 'approval',
    part: { field: text, summary: '', effects: [] },
  };
  const known = new Map([...tool.offered, additional].map((one) => [one.name, one]));
  const problems = Object.keys(given).flatMap((name) => {
    const one = known.get(name);
    return one === undefined ? [refusedName(tool, name, sharedFlags)] : valueProblems(tool, one, given[name]);
  });
  const required = (tool.inputSchema.required as readonly string[]).filter(
    (name) => !Object.hasOwn(given, name),
  );
  problems.push(...required.map((name) => problem(name, 'required', 'is required')));
  if (problems.length > 0) throw invalidArguments(problems);
};

const textOf = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value);

const positional = ({ command, fixed }: Tool, given: ToolArguments): string[] => {
  const values = (command.args ?? []).map(({ name }) => [name, fixed[name] ?? given[name]] as const);
  const last = values.findLastIndex(([, value]) => value !== undefined);
  const gap = values.slice(0, Math.max(0, last)).find(([, value]) => value === undefined);
  if (gap !== undefined)
    throw invalidArguments([problem(gap[0], 'required', `is required with ${values[last]?.[0]}`)]);
  return values.flatMap(([, value]) => (value === undefined ? [] : [value].flat().map(textOf)));
};

/** A checked call as words of a command line: flags with their values in one word, arguments behind `--`. Pure. */
export const argvOf = (tool: Tool, given: ToolArguments): string[] => {
  const isArgument = (name: string) => (tool.command.args ?? []).some((one) => one.name === name);
  const words = Object.entries({ ...given, ...tool.fixed }).flatMap(([name, value]) =>
    isArgument(name) || value === undefined ? [] : [`--${name}=${textOf(value)}`],
  );
  const places = positional(tool, given);
  return [...tool.command.path, ...words, ...(places.length === 0 ? [] : ['--', ...places])];
};

/** The call with the real paths of its files, each of which is below one of the directories. */
export const withRealPaths = async (
  { files, cwd }: Host,
  directories: readonly string[],
  tool: Tool,
  given: ToolArguments,
): Promise<ToolArguments> => {
  const real = async (name: string, path: unknown): Promise<unknown> => {
    const found = await files.realPath(resolve(cwd, String(path)));
    if (found !== undefined && directories.some((directory) => isInside(directory, found))) return found;
    throw invalidArguments([
      problem(name, 'rule', `names ${String(path)}, which is not in ${directories.join(' or ')}`),
    ]);
  };
  const entries = Object.entries(given).map(async ([name, value]) => {
    const one = tool.offered.find((parameter) => parameter.name === name);
    if (name === 'body' || one === undefined || effectsOf(one.part)?.includes('reads') !== true)
      return [name, value];
    return [
      name,
      Array.isArray(value)
        ? await Promise.all(value.map((item) => real(name, item)))
        : await real(name, value),
    ];
  });
  return Object.fromEntries(await Promise.all(entries));
};
