import { countText } from '../../../core/format.ts';
import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../body.ts';
import type { Collection } from '../../store.ts';
import type { Feature, Tracker } from '../state.ts';
import type { StoredCustomField } from '../row.ts';

const isOn = ({ features }: Tracker, name: Feature): boolean => features.get(name) ?? true;
/** spec/tracker#documents: "403 DisabledFeatureError"; spec/tracker#errors-4 for the body. */
export const documentsAreOn = (state: Tracker): void => {
  if (isOn(state, 'documents')) return;
  const message = 'Documents are switched off in this workspace.';
  throw new HttpError(403, message, { body: { feature_tag: 'documents', message } });
};
/** spec/tracker#states-6. The document does not list 403 here, so the response is the common 422. */
export const templatesAreOn = (state: Tracker): void => {
  if (!isOn(state, 'entity-templates')) {
    throw new HttpError(
      422,
      'Story templates are switched off in this workspace; PUT /entity-templates/enable switches them on.',
      {
        body: { tag: 'entity_templates_disabled' },
      },
    );
  }
};
/** spec/tracker#states-6. The document does not list 403 here, so the response is the common 422. */
export const iterationsAreOn = (state: Tracker): void => {
  if (!isOn(state, 'iterations')) {
    throw new HttpError(
      422,
      'Iterations are switched off in this workspace; PUT /iterations/enable switches them on.',
      {
        body: { tag: 'iterations_disabled' },
      },
    );
  }
};
const requireFeature = (state: Tracker, feature: Feature, tag: string, message: string): void => {
  if (isOn(state, feature)) return;
  throw new HttpError(403, message, {
    body: { reason_tag: 'entitlement-violation', entitlement_tag: tag, message },
  });
};
/** spec/tracker#groups: "403 UnusableEntitlementError"; spec/tracker#errors-4 for the body. */
export const groupsAreEntitled = (state: Tracker): void =>
  requireFeature(
    state,
    'group-entitlement',
    'teams',
    'The plan of this workspace does not include more groups.',
  );
/** spec/tracker#objectives: "403 UnusableEntitlementError". */
export const objectivesAreEntitled = (state: Tracker): void =>
  requireFeature(
    state,
    'objective-entitlement',
    'objectives',
    'The plan of this workspace does not include more objectives.',
  );

type StoryInput = {
  readonly epic_id?: number | null;
  readonly file_ids?: readonly number[];
  readonly follower_ids?: readonly string[];
  readonly group_id?: string | null;
  readonly iteration_id?: number | null;
  readonly linked_file_ids?: readonly number[];
  readonly owner_ids?: readonly string[];
  readonly project_id?: number | null;
  readonly requested_by_id?: string;
  readonly workflow_state_id?: number;
  readonly tasks?: readonly { readonly owner_ids?: readonly string[] }[];
};
/** spec/tracker#errors-1 "unprocessable": every record that a story (or the contents of a story template) names exists. */
export const storyReferencesExist = (state: Tracker, input: StoryInput, at = ''): void => {
  epicsExist(state, `${at}epic_id`, input.epic_id);
  filesExist(state, `${at}file_ids`, input.file_ids);
  membersExist(state, `${at}follower_ids`, input.follower_ids);
  groupsExist(state, `${at}group_id`, input.group_id);
  iterationsExist(state, `${at}iteration_id`, input.iteration_id);
  linkedFilesExist(state, `${at}linked_file_ids`, input.linked_file_ids);
  membersExist(state, `${at}owner_ids`, input.owner_ids);
  projectsExist(state, `${at}project_id`, input.project_id);
  membersExist(state, `${at}requested_by_id`, input.requested_by_id);
  workflowStateExists(state, input.workflow_state_id);
  for (const [index, task] of (input.tasks ?? []).entries())
    membersExist(state, `${at}tasks[${index}].owner_ids`, task.owner_ids);
  // spec/tracker#states-6: if iterations are disabled, no story can be added to an iteration.
  if (typeof input.iteration_id === 'number') iterationsAreOn(state);
};
/** spec/tracker#stories story links, spec/tracker#errors-1: a link joins two different stories that exist. */
export const linkJoinsTwoStories = (state: Tracker, subjectId: number, objectId: number): void => {
  storiesExist(state, 'subject_id', subjectId);
  storiesExist(state, 'object_id', objectId);
  if (subjectId !== objectId) return;
  throw new HttpError(422, 'A story cannot be linked to itself.', {
    problems: [problem('object_id', 'rule', 'is the subject itself')],
  });
};
/**
 * spec/tracker#stories-4: the parent of a story must be another existing story, and never one of its own
 * sub-tasks.
 */
export const parentIsAnotherStory = (
  state: Tracker,
  parent: number | null | undefined,
  self?: number,
): void => {
  if (parent === null || parent === undefined) return;
  storiesExist(state, 'parent_story_id', parent);
  const seen = new Set<number>();
  for (let at: number | null | undefined = parent; typeof at === 'number' && !seen.has(at); ) {
    if (at === self)
      throw new HttpError(422, 'A story cannot be a part of itself.', {
        problems: [problem('parent_story_id', 'rule', 'is the story itself or one of its sub-tasks')],
      });
    seen.add(at);
    at = state.stories.get(at)?.parent_story_id;
  }
};

type Positioned = { readonly id: number | string; readonly position: number };
type Move = { readonly before_id?: number | string; readonly after_id?: number | string };
/** spec/tracker#epics-4: the neighbor exists and is another record of the same kind. */
export const siblingExists = <T extends Positioned>(
  all: readonly T[],
  self: T['id'],
  field: 'before_id' | 'after_id',
  id: T['id'] | undefined,
): void => {
  if (id === undefined) return;
  if (id === self)
    throw new HttpError(422, `${field} names the record itself.`, {
      problems: [problem(field, 'rule', 'names the record itself')],
    });
  if (all.some((one) => one.id === id)) return;
  throw new HttpError(422, `${field} names ${id}, which does not exist.`, {
    problems: [problem(field, 'rule', `names ${id}, which does not exist`)],
  });
};
export const byPosition = <T extends Positioned>(records: Iterable<T>): T[] =>
  [...records].sort((a, b) => a.position - b.position);
/**
 * spec/tracker#epics-4: moves a record before or after another and renumbers the positions. Only records
 * whose position changed are written.
 */
export const move = <T extends Positioned>(collection: Collection<T>, id: T['id'], wanted: Move): void => {
  if (wanted.before_id === undefined && wanted.after_id === undefined) return;
  const [before, after] = [wanted.before_id, wanted.after_id].map((one) =>
    typeof one === 'string' ? one.toLowerCase() : one,
  );
  const all = byPosition(collection.values());
  siblingExists(all, id, 'before_id', before);
  siblingExists(all, id, 'after_id', after);
  const rest = all.filter((one) => one.id !== id);
  const moved = all.find((one) => one.id === id);
  if (moved === undefined) return;
  const at =
    before === undefined
      ? rest.findIndex((one) => one.id === after) + 1
      : rest.findIndex((one) => one.id === before);
  rest.splice(at, 0, moved);
  for (const [index, one] of rest.entries())
    if (one.position !== index + 1) collection.put(one.id, { ...one, position: index + 1 });
};

/** spec/tracker#iterations: start_date and end_date are days, and the end must not precede the start. */
export const iterationEndsAfterItStarts = (start: string, end: string): void => {
  if (end >= start) return;
  throw new HttpError(422, `The iteration ends (${end}) before it starts (${start}).`, {
    problems: [problem('end_date', 'rule', `is before start_date ${start}`)],
  });
};

type GivenValue = { readonly boolean_value?: boolean; readonly numeric_value?: string };
/** spec/tracker#records KeyResultValue {boolean_value bool, numeric_value str}; which one counts follows from the type. */
export const valueFitsKeyResultType = (type: string, field: string, value: GivenValue | undefined): void => {
  if (value === undefined) return;
  const refuse = (message: string): never => {
    throw new HttpError(422, `${field} ${message}.`, { problems: [problem(field, 'rule', message)] });
  };
  if (type === 'boolean') {
    if (value.boolean_value === undefined)
      refuse('needs boolean_value, for the key result is of type boolean');
  } else if (value.numeric_value === undefined || !/^-?\d+(\.\d+)?$/.test(value.numeric_value)) {
    refuse(`needs numeric_value with a number as text, for the key result is of type ${type}`);
  }
};

const nameIsUnused = <T extends { id: number; name: string }>(
  kind: string,
  collection: Collection<T>,
  name: string | undefined,
  self?: number,
): void => {
  if (name === undefined) return;
  for (const taken of collection.index('name', (record) => record.name).get(name)) {
    if (taken.id === self) continue;
    throw new HttpError(422, `A ${kind} named ${JSON.stringify(name)} already exists (id ${taken.id}).`, {
      problems: [problem('name', 'rule', `is already used by ${kind} ${taken.id}`)],
    });
  }
};
/** spec/tracker#errors-1: "duplicate category or label name on update"; spec/program#choices: on create too. */
export const labelNameIsUnused = ({ labels }: Tracker, name: string | undefined, self?: number): void =>
  nameIsUnused('label', labels, name, self);
/** spec/tracker#categories: "name already used gives 422"; spec/program#choices: on create too. */
export const categoryNameIsUnused = (
  { categories }: Tracker,
  name: string | undefined,
  self?: number,
): void => nameIsUnused('category', categories, name, self);

/** spec/tracker#states: project DELETE only when "all associated stories moved or deleted", "otherwise 422". */
export const projectHasNoStories = ({ counters }: Tracker, id: number): void => {
  const { total } = counters.of('project', id);
  if (total === 0) return;
  throw new HttpError(
    422,
    `Project ${id} still has ${countText(total, 'story', 'stories')}; move or delete them first.`,
  );
};

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
const epicsExist = ({ epics }: Tracker, field: string, ids: Id | readonly Id[] | null | undefined): void =>
  exists(epics, 'epic', field, ids);
const iterationsExist = (
  { iterations }: Tracker,
  field: string,
  ids: Id | readonly Id[] | null | undefined,
): void => exists(iterations, 'iteration', field, ids);
const projectsExist = (
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
const filesExist = ({ files }: Tracker, field: string, ids: Id | readonly Id[] | null | undefined): void =>
  exists(files, 'file', field, ids);
const linkedFilesExist = (
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
const workflowStateExists = (state: Tracker, id: number | undefined): void => {
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
