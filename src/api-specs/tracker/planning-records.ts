import {
  bool,
  color,
  date,
  datetime,
  int,
  list,
  maybe,
  obj,
  type ObjectField,
  old,
  oneOf,
  orNull,
  record,
  ref,
  type RefField,
  str,
  uuid,
  type Value,
} from '../../core/field.ts';
import { label, labelSlim } from './fields.ts';

/** spec/tracker#records Category. */
export const category = record('Category', {
  id: int(),
  name: str(128),
  color: orNull(color()),
  external_id: orNull(str(128)),
  archived: bool(),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});
const objectiveFields = {
  id: int(),
  name: str(256),
  description: str(100_000),
  app_url: str(),
  archived: bool(),
  categories: list(category),
  completed: bool(),
  completed_at: orNull(datetime()),
  completed_at_override: orNull(datetime()),
  started: bool(),
  started_at: orNull(datetime()),
  started_at_override: orNull(datetime()),
  state: str(),
  position: int(),
  key_result_ids: list(uuid()),
  stats: record('ObjectiveStats', {
    average_cycle_time: int(),
    average_lead_time: int(),
    num_related_documents: int(),
  }),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
} as const;
/** spec/tracker#records: "Milestone and Objective (same shape)". */
export const objective = record('Objective', objectiveFields);
export const milestone = record('Milestone', objectiveFields);
/** spec/tracker#records KeyResultValue. */
export const keyResultValue = obj(
  { boolean_value: bool(), numeric_value: str() },
  { name: 'KeyResultValue' },
);
const observed = record('KeyResultObservedValue', {
  boolean_value: maybe(bool()),
  numeric_value: maybe(str()),
});
export const keyResult = record('KeyResult', {
  id: uuid(),
  name: str(1024),
  objective_id: int(),
  progress: int(),
  type: oneOf('boolean', 'numeric', 'percent'),
  initial_observed_value: observed,
  current_observed_value: observed,
  current_target_value: observed,
});
/**
 * spec/tracker#records Health. An epic without a health record returns `No Health` with all other keys null
 * (spec/tracker#records: `id` is).
 */
export const healthStatus = oneOf('At Risk', 'No Health', 'Off Track', 'On Track');
export const health = record('Health', {
  id: orNull(uuid()),
  author_id: orNull(uuid()),
  epic_id: orNull(int()),
  objective_id: orNull(int()),
  status: healthStatus,
  text: orNull(str()),
  entity_type: str(),
  created_at: orNull(datetime()),
  updated_at: orNull(datetime()),
});
const iterationSlimFields = {
  id: int(),
  name: str(256),
  app_url: str(),
  start_date: date(),
  end_date: date(),
  status: str(),
  follower_ids: list(uuid()),
  group_ids: list(uuid()),
  group_mention_ids: list(uuid()),
  label_ids: list(int()),
  labels: list(label),
  member_mention_ids: list(uuid()),
  mention_ids: list(uuid()),
  stats: record('IterationStats', {
    average_cycle_time: int(),
    average_lead_time: int(),
    num_points: int(),
    num_points_backlog: int(),
    num_points_done: int(),
    num_points_started: int(),
    num_points_unstarted: int(),
    num_related_documents: int(),
    num_stories_backlog: int(),
    num_stories_done: int(),
    num_stories_started: int(),
    num_stories_unestimated: int(),
    num_stories_unstarted: int(),
  }),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
} as const;
/** spec/tracker#records: "IterationSlim lacks description". */
export const iterationSlim = record('IterationSlim', iterationSlimFields);
export const iteration = record('Iteration', { ...iterationSlimFields, description: str(100_000) });
/** spec/tracker#records Project. */
export const project = record('Project', {
  id: int(),
  name: str(128),
  abbreviation: orNull(str()),
  description: orNull(str(100_000)),
  app_url: str(),
  archived: bool(),
  color: orNull(color()),
  external_id: orNull(str(128)),
  follower_ids: list(uuid()),
  iteration_length: int(),
  days_to_thermometer: int(),
  show_thermometer: bool(),
  start_time: datetime(),
  stats: record('ProjectStats', { num_points: int(), num_related_documents: int(), num_stories: int() }),
  team_id: int(),
  workflow_id: int(),
  entity_type: str(),
  created_at: orNull(datetime()),
  updated_at: orNull(datetime()),
});

/** spec/tracker#records ThreadedComment, with replies to any depth. */
const commentFields = {
  id: int(),
  app_url: str(),
  author_id: uuid(),
  created_at: datetime(),
  updated_at: datetime(),
  deleted: bool(),
  entity_type: str(),
  external_id: orNull(str(128)),
  text: str(100_000),
  group_mention_ids: list(uuid()),
  member_mention_ids: list(uuid()),
  mention_ids: list(uuid()),
} as const;
const commentRecord = record('ThreadedComment', commentFields);
export type ThreadedComment = Value<typeof commentRecord> & { comments: ThreadedComment[] };
export const threadedComment: RefField<ThreadedComment> = ref<ThreadedComment>(
  'ThreadedComment',
  () => withReplies,
);
const withReplies: ObjectField = record('ThreadedComment', {
  ...commentFields,
  comments: list(threadedComment),
});
/** spec/tracker#records Epic.stats. */
const epicStats = record('EpicStats', {
  last_story_update: orNull(datetime()),
  num_points: int(),
  num_points_backlog: int(),
  num_points_done: int(),
  num_points_started: int(),
  num_points_unstarted: int(),
  num_related_documents: int(),
  num_stories_backlog: int(),
  num_stories_done: int(),
  num_stories_started: int(),
  num_stories_total: int(),
  num_stories_unestimated: int(),
  num_stories_unstarted: int(),
});
/**
 * All fields except the description, which a list contains only on request (spec/tracker#epics:
 * includes_description).
 */
const fields = {
  app_url: str(),
  archived: bool(),
  associated_groups: list(
    obj(
      { associated_stories_count: int(), group_id: uuid() },
      { complete: true, name: 'EpicAssociatedGroup' },
    ),
  ),
  completed: bool(),
  completed_at: orNull(datetime()),
  completed_at_override: orNull(datetime()),
  created_at: orNull(datetime()),
  deadline: orNull(datetime()),
  entity_type: str(),
  epic_state_id: int(),
  external_id: orNull(str(128)),
  follower_ids: list(uuid()),
  group_id: old(orNull(uuid()), 'group_ids'),
  group_ids: list(uuid()),
  group_mention_ids: list(uuid()),
  id: int(),
  label_ids: list(int()),
  labels: list(labelSlim),
  member_mention_ids: list(uuid()),
  mention_ids: list(uuid()),
  milestone_id: old(orNull(int()), 'objective_ids'),
  name: str(256),
  objective_ids: list(int()),
  owner_ids: list(uuid()),
  planned_start_date: orNull(datetime()),
  position: int(),
  planningtool_id: orNull(uuid()),
  planningtool_name: orNull(str()),
  planningtool_plugin_id: orNull(uuid()),
  planningtool_url: orNull(str()),
  project_ids: list(int()),
  requested_by_id: uuid(),
  started: bool(),
  started_at: orNull(datetime()),
  started_at_override: orNull(datetime()),
  state: str(),
  stats: epicStats,
  stories_without_projects: int(),
  updated_at: orNull(datetime()),
} as const;
/** spec/tracker#records: "the Epic fields without comments and health". */
export const epicSlim = record('EpicSlim', { ...fields, description: maybe(str(100_000)) });
export const epic = record('Epic', {
  ...fields,
  description: str(100_000),
  comments: list(threadedComment),
  health,
});
/** spec/tracker#search: the slim detail of a search drops comments and description. */
export const epicSearchResult = record('EpicSearchResult', {
  ...fields,
  description: maybe(str(100_000)),
  comments: maybe(list(threadedComment)),
  health: maybe(health),
});
export const epicPage = record('EpicPaginatedResults', {
  data: list(epicSlim),
  next: orNull(int()),
  total: int(),
});
/** spec/tracker#records EpicWorkflow. */
export const epicState = record('EpicState', {
  id: int(),
  name: str(),
  description: str(),
  color: orNull(str()),
  type: str(),
  position: int(),
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});
export const epicWorkflow = record('EpicWorkflow', {
  id: int(),
  created_at: datetime(),
  updated_at: datetime(),
  entity_type: str(),
  default_epic_state_id: int(),
  epic_states: list(epicState),
});
