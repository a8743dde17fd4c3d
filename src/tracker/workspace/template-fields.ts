import { type Fields, bare, list, obj, orNull, req, str } from '../../core/field.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { namesOfRecords } from './fields.ts';

const { table } = tracker;
const contents = bare(table['entity-templates'].update.body.story_contents);
const rows: Fields = contents.type === 'object' ? contents.fields : {};
const taskRow = (): Fields => {
  const tasks = rows.tasks === undefined ? undefined : bare(rows.tasks);
  const item = tasks?.type === 'array' ? bare(tasks.items) : undefined;
  return item?.type === 'object' ? item.fields : {};
};
const of = (...names: readonly string[]): Fields =>
  Object.fromEntries(names.map((name) => [name, rows[name] ?? str()]));
const name = str(undefined, { min: 1 });

/** What a template puts into a story: the values of the endpoint, and everything else by the names of the other lists. */
export const storyFields: Fields = {
  ...of('name', 'description', 'story_type', 'deadline', 'estimate', 'external_links'),
  state: name,
  epic: orNull(name),
  iteration: orNull(name),
  project: orNull(name),
  group: orNull(name),
  labels: namesOfRecords(table.labels.create, 'name'),
  linked_files: list(name),
  owner_ids: list(name),
  follower_ids: list(name),
  custom_fields: list(obj({ field: req(name), value: req(name) })),
  tasks: list(obj({ ...taskRow(), owner_ids: list(name) })),
};

/** Members of a template's contents that name one record of another list: the field of the endpoint, the list and its key. */
export const storyReferences = {
  epic: { body: 'epic_id', kind: 'epics', key: 'name' },
  iteration: { body: 'iteration_id', kind: 'iterations', key: 'name' },
  project: { body: 'project_id', kind: 'projects', key: 'name' },
  group: { body: 'group_id', kind: 'groups', key: 'mention_name' },
} as const;
