import { heldRows } from '../../core/held-rows.ts';
import { jsonRow } from '../../core/json.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { Context } from '../../cli/command.ts';
import type { TemplateLookup } from './template-contents.ts';
import { type Current, type Lookup, type Row, workspaceKinds } from './kinds.ts';

const epicStatesOf = async (context: Context): Promise<readonly Row[]> => {
  const { get } = tracker.table['epic-workflow'];
  const workflow = (await context.call(tracker, get, {}, { evenInDryRun: true })) as unknown as Row;
  return (workflow.epic_states as Row[] | undefined) ?? [];
};

/** The rows of one list of the service, batch by batch while they arrive. */
export async function* readRows(context: Context, kind: string): AsyncGenerator<Row[]> {
  const { list: operation, query } = workspaceKinds[kind] ?? {};
  if (operation === undefined) return;
  const input = query ? { query } : {};
  for await (const batch of await context.rows(tracker, operation, input, { evenInDryRun: true }))
    yield batch.map(jsonRow) as Row[];
}

/** The same rows where they are held: there is an end to them. */
export async function* heldBatches(context: Context, kind: string): AsyncGenerator<Row[]> {
  const held = heldRows(`GET ${workspaceKinds[kind]?.list.path}`);
  for await (const rows of readRows(context, kind)) {
    held.refuseMore(rows.length);
    yield rows;
  }
}

const allRows = async (context: Context, kind: string): Promise<Row[]> => {
  const found: Row[] = [];
  for await (const rows of heldBatches(context, kind)) for (const row of rows) found.push(row);
  return found;
};

/** spec/tracker: IterationSlim lacks the description, so each iteration is read whole. */
export const wholeRow = async (context: Context, kind: string, row: Row): Promise<Row> =>
  kind === 'iterations'
    ? ((await context.call(
        tracker,
        tracker.table.iterations.get,
        { params: { 'iteration-public-id': row.id } },
        { evenInDryRun: true },
      )) as Row)
    : row;

const workflowStatesOf = async (context: Context): Promise<Row[]> => {
  const { list: operation } = tracker.table.workflows;
  const workflows = (await context.call(tracker, operation, {}, { evenInDryRun: true })) as Row[];
  return workflows.flatMap(({ states }) => (states as Row[] | undefined) ?? []);
};

/** The lists that templates point into; those that were read already are not read again. */
export const readTemplateLookup = async (
  context: Context,
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
export const readLookup = async (context: Context, kinds: readonly string[]): Promise<Lookup> => {
  const needs = (kind: string) => kinds.includes(kind);
  const named = async (kind: string): Promise<Row[]> => {
    const found: Row[] = [];
    for await (const rows of heldBatches(context, kind))
      for (const { id, name, mention_name } of rows) found.push({ id, name, mention_name });
    return found;
  };
  return {
    groups: needs('iterations') || needs('epics') ? await named('groups') : [],
    objectives: needs('epics') ? await named('objectives') : [],
    epics: [],
    epicStates: needs('epics') ? await epicStatesOf(context) : [],
    ...(needs('entity_templates') ? { templates: await readTemplateLookup(context, {}, named) } : {}),
  };
};

/** Everything that a plan compares with, each list read once. */
export const readCurrent = async (
  context: Context,
  kinds: readonly string[],
): Promise<{ current: Current; lookup: Lookup }> => {
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
