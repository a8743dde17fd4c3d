import type { Argument, Flag } from '../../core/flag.ts';
import { usageError } from '../../core/problem.ts';
import { type Command, watchFlags } from '../command.ts';
import { effectsOf, isReadOnlyCommand, showsFirst } from '../read-only.ts';
import { valueSchema } from '../list-commands.ts';

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
export type Parameter = { readonly name: string; readonly part: Flag | Argument };
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
