import { countText } from '../../core/format.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { EngineContext } from '../../api/context.ts';
import { parseLookupRow } from '../../api/response.ts';
import type { LooseInput, Operation } from '../../core/operation.ts';
import { heldRows, isOutdated, type Reading } from '../../core/limits.ts';
import { AppError, problem, usageError } from '../../core/problem.ts';
import { yamlText } from '../../core/yaml.ts';
import { trackerNames } from '../names/name-resolution.ts';
import { readWorkflows, stateTexts } from '../stories.ts';
import {
  contentsBody,
  idOf,
  type Current,
  type RecordLookup,
  type Row,
  type TemplateLookup,
  workspaceKinds,
} from './kinds.ts';
import type { Action, Plan } from './plan.ts';

const epicStatesOf = async (context: EngineContext): Promise<readonly Row[]> => {
  const { get } = tracker.table['epic-workflow'];
  const workflow = (await context.lookups.call(tracker, get, {})) as unknown as Row;
  return (workflow.epic_states as Row[] | undefined) ?? [];
};
/** The rows of one list of the service, batch by batch while they arrive. */
async function* readRows(context: EngineContext, kind: string): AsyncGenerator<Row[]> {
  const { list: operation, query } = workspaceKinds[kind] ?? {};
  if (operation === undefined) return;
  const input = query ? { query } : {};
  for await (const batch of await context.lookups.rows(tracker, operation, input))
    yield batch.map((text) => parseLookupRow(operation, text));
}
/** The same rows where they are held: there is an end to them. */
async function* heldBatches(context: EngineContext, kind: string): AsyncGenerator<Row[]> {
  const held = heldRows(`GET ${workspaceKinds[kind]?.list.path}`);
  for await (const rows of readRows(context, kind)) {
    held.refuseMore(rows.length);
    yield rows;
  }
}
const allRows = async (context: EngineContext, kind: string): Promise<Row[]> => {
  const found: Row[] = [];
  for await (const rows of heldBatches(context, kind)) for (const row of rows) found.push(row);
  return found;
};
/** spec/tracker: IterationSlim lacks the description, so each iteration is read whole. */
const wholeRow = async (context: EngineContext, kind: string, row: Row): Promise<Row> =>
  kind === 'iterations'
    ? ((await context.lookups.call(tracker, tracker.table.iterations.get, {
        params: { 'iteration-public-id': row.id },
      })) as Row)
    : row;
/** The states by the text that the file has for them. */
const workflowStatesOf = async (context: EngineContext): Promise<Row[]> =>
  [...stateTexts(await readWorkflows(context))].map(([id, name]) => ({ id, name }));
/** The lists to which templates refer. Lists that were already read are not read again. */
const readTemplateLookup = async (
  context: EngineContext,
  known: Current,
  read: (kind: string) => Promise<readonly Row[]>,
): Promise<TemplateLookup> => {
  const rows = async (kind: string) => known[kind] ?? (await read(kind));
  return {
    epics: await rows('epics'),
    iterations: await rows('iterations'),
    projects: await rows('projects'),
    groups: await rows('groups'),
    custom_fields: await rows('custom_fields'),
    linked_files: await rows('linked_files'),
    workflowStates: await workflowStatesOf(context),
  };
};
/** What the entries of these lists need to be shown: of other lists only ids and names are held. */
export const readLookup = async (context: EngineContext, kinds: readonly string[]): Promise<RecordLookup> => {
  const needs = (kind: string) => kinds.includes(kind);
  const readKind = async (kind: string): Promise<Row[]> => {
    const found: Row[] = [];
    for await (const rows of heldBatches(context, kind))
      for (const { id, name, mention_name } of rows) found.push({ id, name, mention_name });
    return found;
  };
  return {
    groups: needs('iterations') || needs('epics') ? await readKind('groups') : [],
    objectives: needs('epics') ? await readKind('objectives') : [],
    epics: [],
    epicStates: needs('epics') ? await epicStatesOf(context) : [],
    ...(needs('entity_templates') ? { templates: await readTemplateLookup(context, {}, readKind) } : {}),
  };
};
/** Everything that a plan compares with, each list read once. */
export const readCurrent = async (
  context: EngineContext,
  kinds: readonly string[],
): Promise<{ current: Current; lookup: RecordLookup }> => {
  const read = (kind: string) => allRows(context, kind);
  const current: Record<string, readonly Row[]> = {};
  for (const kind of kinds) current[kind] = await read(kind);
  const needs = (kind: string) => kinds.includes(kind);
  const groups =
    current.groups ?? (['iterations', 'epics', 'entity_templates'].some(needs) ? await read('groups') : []);
  const objectives =
    current.objectives ?? (needs('categories') || needs('epics') ? await read('objectives') : []);
  const epics = current.epics ?? (needs('objectives') ? await read('epics') : []);
  const epicStates = needs('epics') ? await epicStatesOf(context) : [];
  const templates = needs('entity_templates')
    ? await readTemplateLookup(context, { ...current, groups }, read)
    : undefined;
  if (current.iterations) {
    const whole: Row[] = [];
    for (const row of current.iterations) whole.push(await wholeRow(context, 'iterations', row));
    current.iterations = whole;
  }
  return { current, lookup: { groups, objectives, epics, epicStates, ...(templates ? { templates } : {}) } };
};

/** Unset values are omitted, so that an apply does not change them. */
const exportRow = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).filter(([, value]) => value !== null && value !== undefined && value !== ''),
  );
/** The entries of one list, batch by batch while they arrive. */
async function* entriesOf(context: EngineContext, name: string, lookup: RecordLookup): AsyncGenerator<Row[]> {
  const kind = workspaceKinds[name];
  if (kind === undefined) return;
  for await (const rows of readRows(context, name)) {
    const entries: Row[] = [];
    for (const row of rows) entries.push(exportRow(kind.show(await wholeRow(context, name, row), lookup)));
    yield entries;
  }
}
/** The file as YAML text, list by list; only the names that others refer to are held. */
export async function* exportText(context: EngineContext, kinds: readonly string[]): AsyncGenerator<string> {
  const lookup = await readLookup(context, kinds);
  yield 'version: 1\n';
  for (const name of kinds) {
    let isEmpty = true;
    for await (const entries of entriesOf(context, name, lookup)) {
      if (entries.length === 0) continue;
      const text = yamlText({ [name]: entries });
      // The name of the list stands above the first entry only.
      yield isEmpty ? text : text.slice(text.indexOf('\n') + 1);
      isEmpty = false;
    }
    if (isEmpty) yield `${name}: []\n`;
  }
}
/** The same as data. */
export const exportData = async (context: EngineContext, kinds: readonly string[]): Promise<Row> => {
  const lookup = await readLookup(context, kinds);
  const data: Record<string, unknown> = { version: 1 };
  for (const name of kinds) {
    const rows: Row[] = [];
    const held = heldRows(`GET ${workspaceKinds[name]?.list.path}`);
    for await (const entries of entriesOf(context, name, lookup)) {
      held.refuseMore(entries.length);
      for (const entry of entries) rows.push(entry);
    }
    data[name] = rows;
  }
  return data;
};

/** Lists of the service that names are looked up in; each is read once in an apply, after everything it holds was made. */
type Lists = Map<Operation, readonly Row[]>;
const listOf = async (
  context: EngineContext,
  lists: Lists,
  operation: Operation,
): Promise<readonly Row[]> => {
  const known = lists.get(operation) ?? ((await context.call(tracker, operation, {})) as Row[]);
  lists.set(operation, known);
  return known;
};
const idsByName = async (
  context: EngineContext,
  lists: Lists,
  operation: Operation,
  keys: readonly string[],
  names: readonly string[],
): Promise<unknown[]> => {
  const rows = await listOf(context, lists, operation);
  return names.map((name) => {
    const key = keys.find((one) => rows.some((row) => row[one] === name));
    return key === undefined ? name : idOf(rows, name, key);
  });
};
/** Names of the file as the bodies of the service want them. Groups may have been made a moment ago. */
const bodyValue = async (
  context: EngineContext,
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
    return ['epic_state_id', await trackerNames.resolve(context, 'epic-state', `name:${to}`, 'state')];
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
const outdatedPlan = (what: string): AppError => new AppError('unsafe', what, { code: 'PLAN_OUTDATED' });
/** Stories keep the ID of a value: of two values with one text, none is chosen. */
const refuseSameValues = (text: string, same: readonly Row[]): void => {
  if (same.length < 2) return;
  const cause = `${JSON.stringify(text)} is the text of ${same.length} values: ${same.map(({ id }) => id).join(', ')}`;
  throw usageError('the values of a custom field are ambiguous', [
    problem('values', 'rule', cause, 'rename all but one of them'),
  ]);
};
/** The service deletes a value that the body omits, from all stories: only values of the plan may be deleted. */
const refuseLaterValues = (action: Action, now: readonly Row[], wanted: readonly Row[]): void => {
  const planned = [...((action.changes.values?.from ?? []) as Row[]), ...wanted].map(({ value }) => value);
  const later = now.filter(({ value }) => !planned.includes(value)).map(({ value }) => String(value));
  if (later.length > 0)
    throw outdatedPlan(
      `${later.join(', ')} ${later.length === 1 ? 'was' : 'were'} added after the plan was made`,
    );
};
/**
 * spec/tracker#custom-fields-2: a value with an ID is kept, one without an ID is created, and a missing one
 * is deleted.
 */
const valuesOf = async (context: EngineContext, action: Action, wanted: readonly Row[]): Promise<Row[]> => {
  const now = (await context.call(tracker, tracker.table['custom-fields'].get, {
    params: { 'custom-field-public-id': action.id },
  })) as {
    values: Row[];
  };
  refuseLaterValues(action, now.values, wanted);
  return wanted.map((row) => {
    const same = now.values.filter(({ value }) => value === row.value);
    refuseSameValues(String(row.value), same);
    const id = same[0]?.id;
    const { color_key, ...rest } = row;
    return {
      ...rest,
      ...(color_key === undefined || color_key === null ? {} : { color_key }),
      ...(id === undefined ? {} : { id }),
    };
  });
};
const bodyOf = async (
  context: EngineContext,
  lists: Lists,
  action: Action,
  operation: Operation,
): Promise<Record<string, unknown>> => {
  const body: Record<string, unknown> = {};
  for (const [field, { to }] of Object.entries(action.changes)) {
    const [name, value] = await bodyValue(context, lists, action, field, to);
    // A create has no null, because a missing value cannot be unset.
    if (operation.body?.[name] && !(action.action === 'create' && value === null)) body[name] = value;
  }
  return body;
};
const param = (operation: Operation, id: unknown): LooseInput => ({
  params: { [Object.keys(operation.params ?? {})[0] ?? '']: id },
});
/** A record that must end archived is made first and archived then: no create takes `archived`. */
const create = async (
  context: EngineContext,
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
/** Executes one action. */
const act = async (context: EngineContext, lists: Lists, action: Action): Promise<void> => {
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

const isRemoval = ({ action }: Action): boolean => action === 'delete' || action === 'archive';
/** A plan, and the records that it was compared with. */
export type LaterPlan = { readonly plan: Plan; readonly current: Current };
/** Judges removals by the state of the workspace directly before them. */
class Removals {
  readonly #context: EngineContext;
  readonly #planAgain: () => Promise<LaterPlan>;
  #reading: (Reading & LaterPlan) | undefined;
  constructor(context: EngineContext, planAgain: () => Promise<LaterPlan>) {
    this.#context = context;
    this.#planAgain = planAgain;
  }
  async #latest(): Promise<LaterPlan> {
    const { host } = this.#context;
    const madeAt = host.now();
    if (this.#reading === undefined || isOutdated(this.#reading, madeAt)) {
      const latest = await this.#planAgain();
      this.#reading = { ...latest, madeAt, tookMs: host.now() - madeAt };
    }
    return this.#reading;
  }
  /** Refuses to remove a record that changed or is in use since the plan was made. Returns false if it is already gone. */
  async isStillPlanned({ kind, id, action }: Action): Promise<boolean> {
    const { plan, current } = await this.#latest();
    if (plan.actions.some((one) => isRemoval(one) && one.kind === kind && one.id === id)) return true;
    const row = current[kind]?.find((one) => one.id === id);
    if (row === undefined || (action === 'archive' && row.archived === true)) return false;
    const path = `${kind}: ${row.name}`;
    const use = plan.refused.find((one) => one.path === path && one.message.startsWith('is used by '));
    throw outdatedPlan(`it ${use?.message ?? 'changed'}; the plan was made before that`);
  }
}
/** Executes the action, or returns false if it is not needed any more. */
const actIfPlanned = async (
  context: EngineContext,
  lists: Lists,
  removals: Removals,
  action: Action,
): Promise<boolean> => {
  if (isRemoval(action) && !(await removals.isStillPlanned(action))) return false;
  await act(context, lists, action);
  return true;
};
const stopError = (done: number, all: number): AppError =>
  new AppError('stopped', `stopped after ${done} of ${countText(all, 'change')}`, {
    tryThis: ['run the same apply again: completed changes are skipped'],
  });
/**
 * Applies the changes of a plan one after another. An error reports the changes made before the failure. `planAgain`
 * plans the same input from the current state: other users work during a long apply.
 */
export const applyPlan = async (
  context: EngineContext,
  plan: Plan,
  planAgain: () => Promise<LaterPlan>,
): Promise<Action[]> => {
  const done: Action[] = [];
  const lists: Lists = new Map();
  const removals = new Removals(context, planAgain);
  for (const action of plan.actions) {
    if (context.signal.aborted) throw stopError(done.length, plan.actions.length);
    try {
      if (!(await actIfPlanned(context, lists, removals, action))) continue;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const category = done.length > 0 ? 'partial' : error.category;
      throw new AppError(
        category,
        `${action.action} ${action.kind} ${action.name}: ${error.message} (${done.length} of ${plan.actions.length} changes were made)`,
        {
          ...error.detail,
          tryThis: [
            ...(error.detail.tryThis ?? []),
            'fix the cause and run the same apply again: completed changes are skipped',
          ],
        },
      );
    }
    done.push(action);
    context.log.info(`${action.action}d ${action.kind}: ${action.name}`);
  }
  return done;
};
