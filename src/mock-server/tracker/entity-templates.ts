import type { Value, Values } from '../../core/field.ts';
import type { entityTemplates } from '../../api-specs/tracker/entity-templates.ts';
import type { updateStoryContents } from '../../api-specs/tracker/fields.ts';
import type { entityTemplate } from '../../api-specs/tracker/workspace-records.ts';
import type { Handlers } from '../table-service.ts';
import { fileRecord, linkedFileRecord } from './file-view.ts';
import { labelIds } from './label-inputs.ts';
import { labelsOf, slimLabel } from './label-stats.ts';
import { found, instant, newUuid, now, ownerId, uuidList } from './records.ts';
import { templatesAreOn } from './rules/features.ts';
import { membersExist } from './rules/references.ts';
import { storyReferencesExist } from './rules/stories.ts';
import { appliedValues } from './rules/custom-fields.ts';
import type { Tracker } from './state.ts';
import type { StoredTemplate } from './row.ts';

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

/** spec/tracker#entity-templates-2: what is given replaces, null takes away. */
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
    next.files = input.file_ids.map((id) => fileRecord(state, found(state.files, id)));
  if (input.linked_file_ids !== undefined)
    next.linked_files = input.linked_file_ids.map((id) =>
      linkedFileRecord(state, found(state.linkedFiles, id)),
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
        state.files.has(id) ? [fileRecord(state, found(state.files, id))] : [],
      ),
    }),
    ...(linkedFiles && {
      linked_files: linkedFiles.flatMap(({ id }) =>
        state.linkedFiles.has(id) ? [linkedFileRecord(state, found(state.linkedFiles, id))] : [],
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
    templateRecord(state, found(state.templates, params['entity-template-public-id'])),
  update: ({ state, params, body }) => {
    const template = found(state.templates, params['entity-template-public-id']);
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
    state.templates.delete(found(state.templates, params['entity-template-public-id']).id);
    return undefined;
  },
};
