import type { LooseInput, Operation } from '../../core/operation.ts';
import { AppError } from '../../core/problem.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { Context } from '../../cli/command.ts';
import { trackerNaming } from '../names/tracker-naming.ts';
import { type Row, workspaceKinds } from './kinds.ts';
import type { Action } from './plan.ts';
import { readTemplateLookup } from './read.ts';
import { contentsBody } from './template-contents.ts';

/** Lists of the service that names are looked up in; each is read once in an apply, after everything it holds was made. */
export type Lists = Map<Operation, readonly Row[]>;

const listOf = async (context: Context, lists: Lists, operation: Operation): Promise<readonly Row[]> => {
  const known = lists.get(operation) ?? ((await context.call(tracker, operation, {})) as Row[]);
  lists.set(operation, known);
  return known;
};
const idsByName = async (
  context: Context,
  lists: Lists,
  operation: Operation,
  keys: readonly string[],
  names: readonly string[],
): Promise<unknown[]> => {
  const rows = await listOf(context, lists, operation);
  return names.map((name) => rows.find((row) => keys.some((key) => row[key] === name))?.id ?? name);
};

/** Names of the file as the bodies of the service want them. Groups may have been made a moment ago. */
const bodyValue = async (
  context: Context,
  lists: Lists,
  action: Action,
  field: string,
  to: unknown,
): Promise<[string, unknown]> => {
  const { groups, objectives } = tracker.table;
  if (field === 'labels' || field === 'categories')
    return [field, (to as string[]).map((name) => ({ name }))];
  if (field === 'groups')
    return [
      'group_ids',
      await idsByName(context, lists, groups.list, ['mention_name', 'name'], to as string[]),
    ];
  if (field === 'objectives')
    return ['objective_ids', await idsByName(context, lists, objectives.list, ['name'], to as string[])];
  if (field === 'state' && action.kind === 'epics')
    return ['epic_state_id', await trackerNaming.resolve(context, 'epic-state', `name:${to}`, 'state')];
  if (field === 'story') {
    const lookup = await readTemplateLookup(context, {}, async (kind) => {
      const operation = workspaceKinds[kind]?.list;
      return operation === undefined ? [] : listOf(context, lists, operation);
    });
    return ['story_contents', contentsBody((to ?? {}) as Row, lookup, action.action === 'create')];
  }
  if (field === 'values') return [field, await valuesOf(context, action, to as Row[])];
  return [field, to];
};

/** spec/tracker#custom-fields-2: a value that keeps its id is kept, one without id is made, one left out is deleted. */
const valuesOf = async (context: Context, action: Action, wanted: readonly Row[]): Promise<Row[]> => {
  const now = (await context.call(tracker, tracker.table['custom-fields'].get, {
    params: { 'custom-field-public-id': action.id },
  })) as {
    values: Row[];
  };
  return wanted.map((row) => {
    const id = now.values.find(({ value }) => value === row.value)?.id;
    const { color_key, ...rest } = row;
    return {
      ...rest,
      ...(color_key === undefined || color_key === null ? {} : { color_key }),
      ...(id === undefined ? {} : { id }),
    };
  });
};

const bodyOf = async (
  context: Context,
  lists: Lists,
  action: Action,
  operation: Operation,
): Promise<Record<string, unknown>> => {
  const body: Record<string, unknown> = {};
  for (const [field, { to }] of Object.entries(action.changes)) {
    const [name, value] = await bodyValue(context, lists, action, field, to);
    // A create has no null: what is not there yet cannot be unset.
    if (operation.body?.[name] && !(action.action === 'create' && value === null)) body[name] = value;
  }
  return body;
};

const param = (operation: Operation, id: unknown): LooseInput => ({
  params: { [Object.keys(operation.params ?? {})[0] ?? '']: id },
});

/** A record that must end archived is made first and archived then: no create takes `archived`. */
const create = async (
  context: Context,
  lists: Lists,
  action: Action,
  kind: (typeof workspaceKinds)[string],
): Promise<void> => {
  if (kind.create === undefined) return;
  const made = (await context.call(tracker, kind.create, {
    body: await bodyOf(context, lists, action, kind.create),
  })) as Row;
  if (action.changes.archived?.to === true)
    await context.call(tracker, kind.update, { ...param(kind.update, made.id), body: { archived: true } });
};

/** Carries out one action. */
export const act = async (context: Context, lists: Lists, action: Action): Promise<void> => {
  const kind = workspaceKinds[action.kind];
  if (kind === undefined) throw new AppError('unknown', `no kind ${action.kind}`);
  if (action.action === 'create') await create(context, lists, action, kind);
  else if (action.action === 'delete' && kind.remove)
    await context.call(tracker, kind.remove, param(kind.remove, action.id));
  else
    await context.call(tracker, kind.update, {
      ...param(kind.update, action.id),
      body: await bodyOf(context, lists, action, kind.update),
    });
};
