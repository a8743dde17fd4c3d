import type { entityTemplates, customFields } from '../../api-specs/tracker/workspace.ts';
import type { updateStoryContents } from '../../api-specs/tracker/fields.ts';
import type { entityTemplate } from '../../api-specs/tracker/records.ts';
import type { Value, Values } from '../../core/field.ts';
import type { Handlers } from '../table-service.ts';
import { fileRecord, linkedFileRecord } from './files.ts';
import { labelIds, labelsOf, slimLabel } from './epic-view.ts';
import type { StoredCustomField, StoredStory, StoredTemplate } from './row.ts';
import {
  appliedValues,
  entityTag,
  fieldIsUnchanged,
  membersExist,
  valuesAreDistinct,
  valuesAreStillThere,
} from './rules/stories.ts';
import { byPosition, move, storyReferencesExist, templatesAreOn } from './rules/stories.ts';
import { findRecord, pickGiven, instant, newUuid, now, ownerId, type Tracker, uuidList } from './state.ts';

type Contents = StoredTemplate['story_contents'];
type ContentsInput = Values<typeof updateStoryContents>;
const PLAIN = [
  'description',
  'epic_id',
  'estimate',
  'external_links',
  'group_id',
  'iteration_id',
  'name',
  'project_id',
  'story_type',
  'workflow_state_id',
] as const;
type TaskInput = {
  readonly description: string;
  readonly complete?: boolean;
  readonly external_id?: string;
  readonly owner_ids?: readonly string[];
};
const tasksFrom = (tasks: readonly TaskInput[]): Contents['tasks'] =>
  tasks.map((task, at) => ({
    complete: task.complete ?? false,
    description: task.description,
    external_id: task.external_id ?? null,
    owner_ids: uuidList(task.owner_ids),
    position: at + 1,
  }));
/** spec/tracker#entity-templates-2: values replace, null removes. */
const contentsFrom = (state: Tracker, before: Contents, input: ContentsInput): Contents => {
  storyReferencesExist(state, input, 'story_contents.');
  const next: Record<string, unknown> = { ...before, entity_type: 'story-contents' };
  for (const key of PLAIN) if (input[key] !== undefined) next[key] = input[key];
  if (input.deadline !== undefined) next.deadline = instant(input.deadline);
  if (input.custom_fields !== undefined) next.custom_fields = appliedValues(state, input.custom_fields);
  if (input.follower_ids !== undefined) next.follower_ids = uuidList(input.follower_ids);
  if (input.owner_ids !== undefined) next.owner_ids = uuidList(input.owner_ids);
  if (input.labels !== undefined) next.label_ids = labelIds(state, input.labels);
  if (input.tasks !== undefined) next.tasks = tasksFrom(input.tasks);
  if (input.file_ids !== undefined)
    next.files = input.file_ids.map((id) => fileRecord(state, findRecord(state.files, id)));
  if (input.linked_file_ids !== undefined)
    next.linked_files = input.linked_file_ids.map((id) =>
      linkedFileRecord(state, findRecord(state.linkedFiles, id)),
    );
  for (const key of Object.keys(next)) if (next[key] === null) delete next[key];
  return next as Contents;
};
/** Labels and files as they are now: renamed, deleted, or at the address that this server has today. */
const templateRecord = (state: Tracker, template: StoredTemplate): Value<typeof entityTemplate> => {
  const { label_ids: labelIdsThen, files, linked_files: linkedFiles } = template.story_contents;
  const labels = labelIdsThen && labelsOf(state, labelIdsThen);
  const contents = {
    ...template.story_contents,
    ...(labels && {
      label_ids: labels.map(({ id }) => id),
      labels: labels.map((label) => slimLabel(state, label)),
    }),
    ...(files && {
      files: files.flatMap(({ id }) =>
        state.files.has(id) ? [fileRecord(state, findRecord(state.files, id))] : [],
      ),
    }),
    ...(linkedFiles && {
      linked_files: linkedFiles.flatMap(({ id }) =>
        state.linkedFiles.has(id) ? [linkedFileRecord(state, findRecord(state.linkedFiles, id))] : [],
      ),
    }),
  };
  return { ...template, story_contents: contents };
};
export const entityTemplateHandlers: Handlers<
  { 'entity-templates': typeof entityTemplates },
  Tracker
>['entity-templates'] = {
  list: ({ state }) => [...state.templates.values()].map((template) => templateRecord(state, template)),
  create: ({ state, body }) => {
    templatesAreOn(state);
    membersExist(state, 'author_id', body.author_id);
    const at = now(state);
    const template: StoredTemplate = {
      id: newUuid(state),
      name: body.name,
      author_id: body.author_id?.toLowerCase() ?? ownerId(state),
      entity_type: 'entity-template',
      created_at: at,
      updated_at: at,
      last_used_at: at,
      story_contents: contentsFrom(state, {}, body.story_contents),
    };
    state.templates.put(template.id, template);
    return templateRecord(state, template);
  },
  disable: ({ state }) => {
    state.features.put('entity-templates', false);
    return undefined;
  },
  enable: ({ state }) => {
    state.features.put('entity-templates', true);
    return undefined;
  },
  get: ({ state, params }) =>
    templateRecord(state, findRecord(state.templates, params['entity-template-public-id'])),
  update: ({ state, params, body }) => {
    const template = findRecord(state.templates, params['entity-template-public-id']);
    templatesAreOn(state);
    const contents =
      body.story_contents === undefined
        ? template.story_contents
        : contentsFrom(state, template.story_contents, body.story_contents);
    const changed = {
      ...template,
      name: body.name ?? template.name,
      story_contents: contents,
      updated_at: now(state),
    };
    state.templates.put(template.id, changed);
    return templateRecord(state, changed);
  },
  delete: ({ state, params }) => {
    const { id } = findRecord(state.templates, params['entity-template-public-id']);
    templatesAreOn(state);
    state.templates.delete(id);
    return undefined;
  },
};

type ValueInput = {
  readonly id?: string;
  readonly value?: string;
  readonly color_key?: string | null;
  readonly enabled?: boolean;
};
const fieldsOfStory = (story: StoredStory): readonly string[] =>
  story.custom_fields.map((one) => one.field_id);
/**
 * spec/tracker#custom-fields-2: the order of the list is the sort order, missing values are deleted, and an
 * entry without an ID is a new value.
 */
const nextValues = (
  state: Tracker,
  field: StoredCustomField,
  inputs: readonly ValueInput[],
): StoredCustomField['values'] => {
  valuesAreStillThere(field, inputs);
  valuesAreDistinct(inputs);
  return inputs.map((input, at) => {
    const before = field.values.find(({ id }) => id === input.id?.toLowerCase());
    return {
      id: before?.id ?? newUuid(state),
      value: input.value ?? before?.value ?? '',
      color_key: input.color_key === undefined ? (before?.color_key ?? null) : input.color_key,
      position: at,
      enabled: input.enabled ?? before?.enabled ?? true,
      entity_type: 'custom-field-enum-value',
    };
  });
};
/** A value that is gone or has another text is so on every story that has it. */
const carryToStories = (state: Tracker, fieldId: string, values: StoredCustomField['values']): void => {
  const texts = new Map(values.map(({ id, value }) => [id, value]));
  for (const story of [...state.stories.index('custom-field', fieldsOfStory).get(fieldId)]) {
    const after = story.custom_fields.flatMap((one) => {
      if (one.field_id !== fieldId) return [one];
      const value = texts.get(one.value_id);
      return value === undefined ? [] : [value === one.value ? one : { ...one, value }];
    });
    const isSame =
      after.length === story.custom_fields.length && after.every((one, i) => one === story.custom_fields[i]);
    if (!isSame) state.stories.put(story.id, { ...story, custom_fields: after });
  }
};
export const customFieldHandlers: Handlers<
  { 'custom-fields': typeof customFields },
  Tracker
>['custom-fields'] = {
  list: ({ state }) => byPosition(state.customFields.values()),
  get: ({ state, params, headers }) => {
    const field = findRecord(state.customFields, params['custom-field-public-id']);
    headers.etag = entityTag(field);
    return field;
  },
  update: ({ state, params, body, request, headers }) => {
    const field = findRecord(state.customFields, params['custom-field-public-id']);
    fieldIsUnchanged(field, request.headers['if-match']);
    const values = body.values === undefined ? field.values : nextValues(state, field, body.values);
    const changed = {
      ...field,
      ...pickGiven(body, 'description', 'enabled', 'icon_set_identifier', 'name'),
      values,
      updated_at: now(state),
    };
    state.customFields.put(field.id, changed);
    if (body.values !== undefined) carryToStories(state, field.id, values);
    move(state.customFields, field.id, body);
    const after = findRecord(state.customFields, field.id);
    headers.etag = entityTag(after);
    return after;
  },
  delete: ({ state, params }) => {
    const field = findRecord(state.customFields, params['custom-field-public-id']);
    carryToStories(state, field.id, []);
    state.customFields.delete(field.id);
    return undefined;
  },
};
