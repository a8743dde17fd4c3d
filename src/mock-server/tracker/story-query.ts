import type { Values } from '../../core/field.ts';
import type { stories } from '../../api-specs/tracker/stories.ts';
import type { Tracker } from './state.ts';
import type { StoredStory } from './row.ts';

type Query = Values<(typeof stories)['search']['body']>;
type Test = (state: Tracker, story: StoredStory, query: Query) => boolean;

const same = <T>(wanted: T | undefined, value: T): boolean => wanted === undefined || wanted === value;
const among = <T>(wanted: readonly T[] | undefined, value: T): boolean =>
  wanted === undefined || wanted.includes(value);
const shares = <T>(wanted: readonly T[] | undefined, values: readonly T[]): boolean =>
  wanted === undefined || wanted.some((one) => values.includes(one));
const lower = <T extends string | null | undefined>(id: T): T =>
  typeof id === 'string' ? (id.toLowerCase() as T) : id;
const within = (value: string | null, start: string | undefined, end: string | undefined): boolean => {
  if (start === undefined && end === undefined) return true;
  if (value === null) return false;
  const at = Date.parse(value);
  return (start === undefined || at >= Date.parse(start)) && (end === undefined || at <= Date.parse(end));
};

/** spec/tracker#search: the fields of POST /stories/search; all that are given must hold. */
const tests: readonly Test[] = [
  (_, story, q) => same(q.archived, story.archived),
  (_, story, q) => same(q.story_type, story.story_type as NonNullable<Query['story_type']>),
  (_, story, q) => same(q.workflow_state_id, story.workflow_state_id),
  (_, story, q) => same(q.estimate, story.estimate ?? undefined) || q.estimate === undefined,
  (_, story, q) => same(q.external_id, story.external_id ?? undefined) || q.external_id === undefined,
  (_, story, q) => same(q.epic_id, story.epic_id) && among(q.epic_ids, story.epic_id as number),
  (_, story, q) =>
    same(q.iteration_id, story.iteration_id) && among(q.iteration_ids, story.iteration_id as number),
  (_, story, q) => same(q.project_id, story.project_id) && among(q.project_ids, story.project_id),
  (_, story, q) =>
    same(lower(q.group_id), story.group_id) && among(q.group_ids?.map(lower), story.group_id as string),
  (_, story, q) => same(lower(q.requested_by_id), story.requested_by_id),
  (_, story, q) =>
    q.owner_id === null
      ? story.owner_ids.length === 0
      : shares(q.owner_id === undefined ? undefined : [lower(q.owner_id)], story.owner_ids),
  (_, story, q) => shares(q.owner_ids?.map(lower), story.owner_ids),
  (_, story, q) => shares(q.label_ids, story.label_ids),
  (state, story, q) =>
    q.label_name === undefined || story.label_ids.some((id) => state.labels.get(id)?.name === q.label_name),
  (state, story, q) => among(q.workflow_state_types, state.counters.typeOf(story.workflow_state_id)),
  (_, story, q) => within(story.created_at, q.created_at_start, q.created_at_end),
  (_, story, q) => within(story.updated_at, q.updated_at_start, q.updated_at_end),
  (_, story, q) =>
    within(story.completed_at_override ?? story.completed_at, q.completed_at_start, q.completed_at_end),
  (_, story, q) => within(story.deadline, q.deadline_start, q.deadline_end),
];
export const storyMatches = (state: Tracker, story: StoredStory, query: Query): boolean =>
  tests.every((test) => test(state, story, query));
