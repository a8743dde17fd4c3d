import type { LooseInput, Operation } from '../core/operation.ts';
import { AppError } from '../core/problem.ts';
import { tracker } from '../api-specs/tracker/index.ts';
import type { Context } from '../cli/command.ts';
import { type Row, workspaceKinds } from './kinds.ts';
import type { Action } from './plan.ts';

/** Names of the file as the bodies of the service want them. Groups may have been made a moment ago. */
const bodyValue = async (
  context: Context,
  action: Action,
  field: string,
  to: unknown,
): Promise<[string, unknown]> => {
  if (field === 'labels' || field === 'categories')
    return [field, (to as string[]).map((name) => ({ name }))];
  if (field === 'groups') {
    const groups = (await context.call(tracker, tracker.table.groups.list, {})) as Row[];
    const ids = (to as string[]).map(
      (name) => groups.find((group) => group.mention_name === name || group.name === name)?.id ?? name,
    );
    return ['group_ids', ids];
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
  action: Action,
  operation: Operation,
): Promise<Record<string, unknown>> => {
  const body: Record<string, unknown> = {};
  for (const [field, { to }] of Object.entries(action.changes)) {
    const [name, value] = await bodyValue(context, action, field, to);
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
  action: Action,
  kind: (typeof workspaceKinds)[string],
): Promise<void> => {
  if (kind.create === undefined) return;
  const made = (await context.call(tracker, kind.create, {
    body: await bodyOf(context, action, kind.create),
  })) as Row;
  if (action.changes.archived?.to === true)
    await context.call(tracker, kind.update, { ...param(kind.update, made.id), body: { archived: true } });
};

/** Carries out one action. */
export const act = async (context: Context, action: Action): Promise<void> => {
  const kind = workspaceKinds[action.kind];
  if (kind === undefined) throw new AppError('unknown', `no kind ${action.kind}`);
  if (action.action === 'create') await create(context, action, kind);
  else if (action.action === 'delete' && kind.remove)
    await context.call(tracker, kind.remove, param(kind.remove, action.id));
  else
    await context.call(tracker, kind.update, {
      ...param(kind.update, action.id),
      body: await bodyOf(context, action, kind.update),
    });
};
