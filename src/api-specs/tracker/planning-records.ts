import {
  bool,
  color,
  date,
  datetime,
  int,
  list,
  maybe,
  obj,
  oneOf,
  orNull,
  record,
  str,
  uuid,
} from '../../core/field.ts';
import { label } from './records.ts';

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

/** spec/tracker#records Health. An epic without a health record answers with `No Health`, all else of it null (spec/tracker#records: `id` is). */
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
