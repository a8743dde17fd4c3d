import {
  bool,
  color,
  datetime,
  help,
  int,
  list,
  maybe,
  obj,
  oneOf,
  orNull,
  record,
  req,
  str,
  uuid,
} from '../../core/field.ts';

/** spec/tracker#limits-3. */
export const name128 = str(128, { min: 1 });
export const name256 = str(256, { min: 1 });
export const externalId = help(str(128), 'Your identifier for the record');
export const description = help(str(100_000), 'Description in Markdown');
export const when = (summary: string) => help(datetime(), summary);
export const createdAt = when('Creation time that overrides the current time');
export const updatedAt = when('Modification time that overrides the current time');
export const uuids = (summary: string) => help(list(uuid()), summary);
export const ints = (summary: string) => help(list(int()), summary);
export const archived = help(bool(), 'Archive (true) or restore (false)');
/** spec/tracker#epics-5; an unknown name makes a label (spec/tracker#values: as label create). */
const labelInput = obj({
  name: req(name128),
  color: color(),
  description: str(1024),
  external_id: str(128),
});
export const labelInputs = help(list(labelInput), 'Names of labels');
/** spec/tracker#epics-5. */
export const categoryInputs = help(
  list(obj({ name: req(name128), color: color(), external_id: str(128) })),
  'Names of categories',
);
export const descriptions = { includes_description: help(bool(), 'Include the descriptions') } as const;
const customFieldInput = obj({ field_id: req(uuid()), value_id: uuid(), value: str() });
export const customFieldInputs = help(list(customFieldInput), 'Values of custom fields');
const taskInput = obj({
  description: req(str(2048, { min: 1 })),
  complete: bool(),
  external_id: str(128),
  owner_ids: list(uuid()),
});
const taskInputs = help(list(taskInput), 'Tasks');
const datedTaskInput = obj({ ...taskInput.fields, created_at: datetime(), updated_at: datetime() });
/** spec/tracker#stories-7: tasks and comments that are created with a story can have earlier times. */
export const datedTaskInputs = help(list(datedTaskInput), 'Tasks');
const commentInput = obj({
  text: req(str(100_000)),
  author_id: uuid(),
  created_at: datetime(),
  external_id: str(1024),
  parent_id: orNull(int()),
  updated_at: datetime(),
});
/** spec/tracker#stories-7. */
export const commentInputs = help(list(commentInput), 'Comments');
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
 * spec/tracker#entity-templates-2. The document lists no null here, but without it a partial update could
 * never remove one of these values, and "nullable parameters accept null, which unsets".
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

/** spec/tracker#records Label without `stats`, as embedded in stories and epics and returned for `slim=true` (spec/tracker#records). */
const labelSlimFields = {
  id: int(),
  name: str(128),
  description: orNull(str(1024)),
  color: orNull(color()),
  app_url: str(),
  archived: bool(),
  external_id: orNull(str(128)),
  entity_type: str(),
  created_at: orNull(datetime()),
  updated_at: orNull(datetime()),
} as const;
/** spec/tracker#records Label.stats, all int. */
const labelStats = record('LabelStats', {
  num_epics: int(),
  num_epics_completed: int(),
  num_epics_in_progress: int(),
  num_epics_total: int(),
  num_epics_unstarted: int(),
  num_points_backlog: int(),
  num_points_completed: int(),
  num_points_in_progress: int(),
  num_points_total: int(),
  num_points_unstarted: int(),
  num_related_documents: int(),
  num_stories_backlog: int(),
  num_stories_completed: int(),
  num_stories_in_progress: int(),
  num_stories_total: int(),
  num_stories_unestimated: int(),
  num_stories_unstarted: int(),
});
export const labelSlim = record('LabelSlim', labelSlimFields);
export const label = record('Label', { ...labelSlimFields, stats: maybe(labelStats) }, 'name');

const mentions = {
  group_mention_ids: list(uuid()),
  member_mention_ids: list(uuid()),
  mention_ids: list(uuid()),
} as const;
/** spec/tracker#records UploadedFile. */
export const uploadedFile = record('UploadedFile', {
  id: int(),
  name: str(1024),
  filename: str(),
  description: orNull(str(4096)),
  content_type: str(),
  external_id: orNull(str(128)),
  size: int(),
  story_ids: list(int()),
  thumbnail_url: orNull(str()),
  url: orNull(str()),
  uploader_id: uuid(),
  ...mentions,
  entity_type: str(),
  created_at: datetime(),
  updated_at: orNull(datetime()),
});
/** spec/tracker#linked-files of a linked file: the four storage providers, or any other place. */
export const linkedFileType = oneOf('storage_a', 'storage_b', 'storage_c', 'storage_d', 'url');
/** spec/tracker#records LinkedFile. */
export const linkedFile = record('LinkedFile', {
  id: int(),
  name: str(),
  description: orNull(str(512)),
  content_type: orNull(str(128)),
  size: orNull(int()),
  story_ids: list(int()),
  thumbnail_url: orNull(str(2048)),
  url: str(2048),
  type: linkedFileType,
  uploader_id: uuid(),
  ...mentions,
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});
