import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../body.ts';
import type { StoredCustomField } from '../row.ts';
import type { Tracker } from '../state.ts';

type Id = number | string;
type Known = { has(id: Id): boolean };
/** spec/tracker#errors-1 "unprocessable": a body that fits the schema but names a record that does not exist. */
const exists = (
  known: Known,
  kind: string,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => {
  if (ids === null || ids === undefined) return;
  for (const id of typeof ids === 'object' ? ids : [ids]) {
    if (known.has(typeof id === 'string' ? id.toLowerCase() : id)) continue;
    throw new HttpError(422, `There is no ${kind} ${id}.`, {
      problems: [problem(field, 'rule', `names ${kind} ${id}, which does not exist`)],
    });
  }
};
export const membersExist = (
  { members }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(members, 'member', field, ids);
export const groupsExist = (
  { groups }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(groups, 'group', field, ids);
export const objectivesExist = (
  { objectives }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(objectives, 'objective', field, ids);
export const epicsExist = (
  { epics }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(epics, 'epic', field, ids);
export const iterationsExist = (
  { iterations }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(iterations, 'iteration', field, ids);
export const projectsExist = (
  { projects }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(projects, 'project', field, ids);
export const storiesExist = (
  { stories }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(stories, 'story', field, ids);
export const tasksExist = ({ tasks }: Tracker, field: string, ids: Id | null | undefined): void =>
  exists(tasks, 'task', field, ids);
export const filesExist = (
  { files }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(files, 'file', field, ids);
export const linkedFilesExist = (
  { linkedFiles }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(linkedFiles, 'linked file', field, ids);
export const workflowsExist = (
  { workflows }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(workflows, 'workflow', field, ids);
export const templatesExist = (
  { templates }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(templates, 'entity template', field, ids);
/** spec/tracker#states: "create or update with epic_state_id: id from the epic workflow". */
export const epicStateExists = (state: Tracker, id: number | undefined): void => {
  const ids = new Set<Id>(
    [...state.epicWorkflow.values()].flatMap((workflow) => workflow.epic_states.map((each) => each.id)),
  );
  exists(ids, 'state of the epic workflow', 'epic_state_id', id);
};
/** spec/tracker#records: a story is in a state of a workflow. */
export const workflowStateExists = (state: Tracker, id: number | undefined): void => {
  const ids = new Set<Id>(
    [...state.workflows.values()].flatMap((workflow) => workflow.states.map((each) => each.id)),
  );
  exists(ids, 'workflow state', 'workflow_state_id', id);
};

const conflict = (message: string): never => {
  throw new HttpError(409, message, { body: { error: 'data-conflict-error', message } });
};
type GivenValues = readonly { readonly id?: string; readonly value?: string }[];
/**
 * spec/tracker#custom-fields: "409 DataConflictError" (spec/tracker#errors-4: a compare-and-set failed). A value id that the field
 * does not have was deleted since the caller read the field.
 */
export const valuesAreStillThere = (field: StoredCustomField, values: GivenValues): void => {
  const known = new Set(field.values.map(({ id }) => id));
  for (const { id } of values) {
    if (id !== undefined && !known.has(id.toLowerCase()))
      conflict(`Value ${id} of custom field ${field.id} was deleted in the meantime; read the field again.`);
  }
};
/**
 * spec/tracker#custom-fields-3: the same race, reported by a caller that names the state it read: `If-Match`
 * with the entity tag of its read.
 */
export const fieldIsUnchanged = (field: StoredCustomField, ifMatch: string | undefined): void => {
  if (ifMatch === undefined || ifMatch === '*' || ifMatch === entityTag(field)) return;
  conflict(`Custom field ${field.id} was changed in the meantime; read it again.`);
};
export const entityTag = (field: StoredCustomField): string => {
  // FNV-1a over the record: two changes within one second have the same updated_at.
  let hash = 0x811c9dc5;
  for (const char of JSON.stringify(field)) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return `"${(hash >>> 0).toString(16)}"`;
};
/** spec/tracker#custom-fields-2: an item is an existing value by id, or a new one by its value; none twice. */
export const valuesAreDistinct = (values: GivenValues): void => {
  const seen = new Set<string>();
  for (const [at, { id, value }] of values.entries()) {
    if (id === undefined && value === undefined) {
      throw new HttpError(400, 'The request included invalid or missing parameters.', {
        problems: [problem(`values[${at}]`, 'required', 'needs id or value')],
      });
    }
    const key = id?.toLowerCase() ?? `new ${value}`;
    if (seen.has(key))
      throw new HttpError(422, `values[${at}] occurs in the list twice.`, {
        problems: [problem(`values[${at}]`, 'rule', 'occurs in the list twice')],
      });
    seen.add(key);
  }
};
type Applied = { readonly field_id: string; readonly value_id?: string; readonly value?: string };
/** spec/tracker#states: "only enabled fields can be applied to stories". Gives the values with their texts. */
export const appliedValues = (
  { customFields }: Tracker,
  applied: readonly Applied[],
): { field_id: string; value: string; value_id: string }[] =>
  applied.map((one, at) => {
    const refuse = (message: string): never => {
      throw new HttpError(422, `custom_fields[${at}] ${message}.`, {
        problems: [problem(`custom_fields[${at}]`, 'rule', message)],
      });
    };
    const field = customFields.get(one.field_id.toLowerCase());
    if (field === undefined) return refuse(`names custom field ${one.field_id}, which does not exist`);
    if (!field.enabled) return refuse(`names custom field ${JSON.stringify(field.name)}, which is disabled`);
    const wanted = one.value_id?.toLowerCase();
    const value = field.values.find((each) =>
      wanted === undefined ? each.value === one.value : each.id === wanted,
    );
    if (value === undefined)
      return refuse(`names a value that custom field ${JSON.stringify(field.name)} does not have`);
    if (!value.enabled) return refuse(`names value ${JSON.stringify(value.value)}, which is disabled`);
    return { field_id: field.id, value: value.value, value_id: value.id };
  });
