import { bool, color, datetime, help, int, list, obj, orNull, req, str, uuid } from '../../core/field.ts';

/** spec/tracker#limits-3. */
export const name128 = str(128, { min: 1 });
export const name256 = str(256, { min: 1 });
export const externalId = help(str(128), 'Your own id of it');
export const description = help(str(100_000), 'Description in Markdown');
export const when = (summary: string) => help(datetime(), summary);
export const createdAt = when('When it was made, if not now');
export const updatedAt = when('When it was last changed, if not now');
export const uuids = (summary: string) => help(list(uuid()), summary);
export const ints = (summary: string) => help(list(int()), summary);
export const archived = help(bool(), 'Archive (true) or bring back (false)');

/** spec/tracker#epics-5; an unknown name makes a label (spec/tracker#values: as label create). */
const labelInput = obj({
  name: req(name128),
  color: color(),
  description: str(1024),
  external_id: str(128),
});
export const labelInputs = help(list(labelInput), 'Labels by name');

/** spec/tracker#epics-5. */
export const categoryInputs = help(
  list(obj({ name: req(name128), color: color(), external_id: str(128) })),
  'Categories by name',
);

export const descriptions = { includes_description: help(bool(), 'Give the descriptions too') } as const;

const customFieldInput = obj({ field_id: req(uuid()), value_id: uuid(), value: str() });
export const customFieldInputs = help(list(customFieldInput), 'Values of custom fields');

const taskInput = obj({
  description: req(str(2048, { min: 1 })),
  complete: bool(),
  external_id: str(128),
  owner_ids: list(uuid()),
});
export const taskInputs = help(list(taskInput), 'Tasks');

/** spec/tracker#entity-templates-2. */
export const createStoryContents = {
  custom_fields: customFieldInputs,
  deadline: datetime(),
  description: str(100_000),
  epic_id: int(),
  estimate: int(),
  external_links: list(str()),
  file_ids: list(int()),
  follower_ids: list(uuid()),
  group_id: uuid(),
  iteration_id: int(),
  labels: labelInputs,
  linked_file_ids: list(int()),
  name: str(512),
  owner_ids: list(uuid()),
  project_id: int(),
  story_type: str(),
  tasks: taskInputs,
  workflow_state_id: int(),
} as const;

/**
 * spec/tracker#entity-templates-2. The document lists no null here, but a partial
 * update without it could never take one of these away again, and "nullable parameters accept null, which unsets".
 */
export const updateStoryContents = {
  ...createStoryContents,
  deadline: orNull(datetime()),
  epic_id: orNull(int()),
  estimate: orNull(int()),
  group_id: orNull(uuid()),
  iteration_id: orNull(int()),
  project_id: orNull(int()),
} as const;
