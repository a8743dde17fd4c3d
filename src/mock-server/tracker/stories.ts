import type { stories } from '../../api-specs/tracker/stories.ts';
import type { Values } from '../../core/field.ts';
import { problem } from '../../core/problem.ts';
import { HttpError } from '../body.ts';
import type { Handlers } from '../table-service.ts';
import { forgetHistory, storyEvent } from './events.ts';
import { defaultWorkflowId } from './groups.ts';
import { labelIds, emptyProgress, progressInto } from './epic-view.ts';
import type { StoredStory } from './row.ts';
import { appliedValues, tasksExist, templatesExist } from './rules/stories.ts';
import { byPosition, parentIsAnotherStory, storyReferencesExist } from './rules/stories.ts';
import {
  findRecord,
  overrideChanges,
  pickGiven,
  instant,
  mentions,
  newId,
  now,
  ownerId,
  type Tracker,
  unique,
  uuidList,
} from './state.ts';
import {
  addComment,
  addTask,
  linkStories,
  unlinkStory,
  fullStory,
  storiesJson,
  subStories,
} from './story-parts.ts';

type Wanted = { readonly before_id?: number; readonly after_id?: number };
/** spec/tracker#epics-4: the neighbor is another story that exists. */
const neighbor = (state: Tracker, id: number, wanted: Wanted): StoredStory | undefined => {
  for (const field of ['before_id', 'after_id'] as const) {
    const other = wanted[field];
    if (other === undefined || (other !== id && state.stories.has(other))) continue;
    const message = other === id ? 'names the story itself' : `names ${other}, which does not exist`;
    throw new HttpError(422, `${field} ${message}.`, { problems: [problem(field, 'rule', message)] });
  }
  const other = wanted.before_id ?? wanted.after_id;
  return other === undefined ? undefined : findRecord(state.stories, other);
};
/** The positions next to a story, without the moved one; a pass over all stories, for a move is rare. */
const around = (state: Tracker, id: number, position: number): { below: number; above: number } => {
  const next = { below: 0, above: Number.POSITIVE_INFINITY };
  for (const story of state.stories.values()) {
    if (story.id === id) continue;
    if (story.position < position && story.position > next.below) next.below = story.position;
    if (story.position > position && story.position < next.above) next.above = story.position;
  }
  return next;
};
/**
 * Moves a story before or after another one by a position between the two. If there is no free position
 * between them, all positions are renumbered.
 */
const moveStory = (state: Tracker, id: number, wanted: Wanted, room: number): void => {
  const other = neighbor(state, id, wanted);
  if (other === undefined) return;
  const isBefore = wanted.before_id !== undefined;
  const { below, above } = around(state, id, other.position);
  const [low, high] = isBefore
    ? [below, other.position]
    : [other.position, Math.min(above, other.position + 2 * room)];
  const middle = Math.floor((low + high) / 2);
  const story = findRecord(state.stories, id);
  if (middle > low && middle < high) {
    state.stories.put(id, { ...story, position: middle });
    return;
  }
  const rest = byPosition(state.stories.values()).filter((one) => one.id !== id);
  rest.splice(rest.findIndex((one) => one.id === other.id) + (isBefore ? 0 : 1), 0, story);
  for (const [index, one] of rest.entries())
    state.stories.put(one.id, { ...one, position: (index + 1) * room });
};

/** The neighbor that `move_to` means: the first or the last of the stories that stay where they are. */
export const siblingAt = (
  state: Tracker,
  moved: readonly number[],
  to: 'first' | 'last' | undefined,
): Wanted => {
  if (to === undefined) return {};
  const rest = byPosition(state.stories.values()).filter(({ id }) => !moved.includes(id));
  const one = to === 'first' ? rest[0] : rest.at(-1);
  if (one === undefined) return {};
  return to === 'first' ? { before_id: one.id } : { after_id: one.id };
};

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
const storyMatches = (state: Tracker, story: StoredStory, query: Query): boolean =>
  tests.every((test) => test(state, story, query));
const externalIdOfStory = ({ external_id: key }: StoredStory): string | null => key ?? null;
/** Programs look a story up by its external ID before each write, so this search does not read all stories. */
const searchStories = (state: Tracker, query: Query): readonly StoredStory[] => {
  const key = query.external_id;
  if (key === undefined) return state.stories.filter((story) => storyMatches(state, story, query));
  const found = [...state.stories.index('external-id', externalIdOfStory).get(key)];
  return found.filter((story) => storyMatches(state, story, query)).sort((a, b) => a.id - b.id);
};

type CreateBody = Values<(typeof stories)['create']['body']>;
type StoryBody = Partial<CreateBody>;
type UpdateBody = Values<(typeof stories)['update']['body']>;
/** Positions leave room, so that a move changes one record. */
const ROOM = 65_536;
const none: never[] = Object.freeze([]) as unknown as never[];
const noStats = Object.freeze({ num_related_documents: 0 });
const workflowOfState = (state: Tracker, stateId: number): number => {
  for (const workflow of state.workflows.values())
    if (workflow.states.some(({ id }) => id === stateId)) return workflow.id;
  return defaultWorkflowId(state);
};
const defaultStateId = (state: Tracker): number =>
  state.workflows.get(defaultWorkflowId(state))?.default_state_id ?? 0;
/** Seconds that the work took, once it is completed; overrides count before the recorded times. */
const durations = (story: StoredStory): Pick<StoredStory, 'cycle_time' | 'lead_time'> => {
  const completed = story.completed ? (story.completed_at_override ?? story.completed_at) : null;
  const started = story.started_at_override ?? story.started_at;
  if (completed === null) return { cycle_time: null, lead_time: null };
  const since = (from: string): number =>
    Math.max(0, Math.round((Date.parse(completed) - Date.parse(from)) / 1000));
  return { lead_time: since(story.created_at), cycle_time: started === null ? null : since(started) };
};
const changesFrom = (state: Tracker, body: StoryBody): Partial<StoredStory> => ({
  ...pickGiven(
    body,
    'name',
    'epic_id',
    'estimate',
    'external_id',
    'parent_story_id',
    'project_id',
    'story_type',
  ),
  ...(body.description === undefined
    ? {}
    : { description: body.description, ...mentions(state, body.description) }),
  ...(body.custom_fields === undefined ? {} : { custom_fields: appliedValues(state, body.custom_fields) }),
  ...(body.deadline === undefined ? {} : { deadline: instant(body.deadline) }),
  ...overrideChanges(body),
  ...(body.external_links === undefined ? {} : { external_links: unique(body.external_links) }),
  ...(body.file_ids === undefined ? {} : { file_ids: unique(body.file_ids) }),
  ...(body.follower_ids === undefined ? {} : { follower_ids: uuidList(body.follower_ids) }),
  ...(body.group_id === undefined ? {} : { group_id: body.group_id?.toLowerCase() ?? null }),
  ...(body.labels === undefined ? {} : { label_ids: labelIds(state, body.labels) }),
  ...(body.linked_file_ids === undefined ? {} : { linked_file_ids: unique(body.linked_file_ids) }),
  ...(body.owner_ids === undefined ? {} : { owner_ids: uuidList(body.owner_ids) }),
  ...(body.requested_by_id === undefined ? {} : { requested_by_id: body.requested_by_id.toLowerCase() }),
});
/**
 * The defaults of a story. V8 keeps an object with this number of properties compact if one literal names
 * them all. An object from spread syntax becomes a hash table, with five times the memory and the time.
 */
const blank: StoredStory = {
  archived: false,
  blocked: false,
  blocker: false,
  started: false,
  started_at: null,
  completed: false,
  completed_at: null,
  completed_at_override: null,
  started_at_override: null,
  custom_fields: none,
  cycle_time: null,
  deadline: null,
  epic_id: null,
  estimate: null,
  external_id: null,
  external_links: none,
  follower_ids: none,
  group_id: null,
  label_ids: none,
  lead_time: null,
  moved_at: null,
  owner_ids: none,
  previous_iteration_ids: none,
  project_id: null,
  stats: noStats,
  story_links: none,
  story_template_id: null,
  comment_ids: none,
  file_ids: none,
  linked_file_ids: none,
  num_tasks_completed: 0,
  task_ids: none,
  id: 0,
  name: '',
  description: '',
  created_at: '',
  updated_at: '',
  entity_type: 'story',
  mention_ids: none,
  member_mention_ids: none,
  group_mention_ids: none,
  position: 0,
  requested_by_id: '',
  story_type: 'feature',
  iteration_id: null,
  workflow_id: 0,
  workflow_state_id: 0,
};
type SubTask = NonNullable<CreateBody['sub_tasks']>[number];
const subTaskProblem = (index: number, message: string): HttpError =>
  new HttpError(422, `sub_tasks[${index}] ${message}.`, {
    problems: [problem(`sub_tasks[${index}]`, 'rule', message)],
  });
/** spec/tracker#stories-7: a sub-story is an existing story, or a new one in the workflow of its state. */
const subStoryId = (state: Tracker, part: SubTask, index: number): number => {
  const { name, story_id: existing, owner_ids, workflow_state_id } = part;
  if ((name === undefined) === (existing === undefined))
    throw subTaskProblem(index, 'must have either story_id or name');
  if (name !== undefined) return createStory(state, { name, owner_ids, workflow_state_id }).id;
  if (existing === undefined || !state.stories.has(existing))
    throw subTaskProblem(index, `names story ${existing}, which does not exist`);
  return existing;
};
/** Makes stories the sub-stories of a story; the list of an update is complete. */
const setSubStories = (state: Tracker, parentId: number, ids: readonly number[]): void => {
  for (const part of subStories(state, parentId))
    if (!ids.includes(part.id)) state.stories.put(part.id, { ...part, parent_story_id: null });
  for (const id of ids) {
    parentIsAnotherStory(state, parentId, id);
    state.stories.put(id, { ...findRecord(state.stories, id), parent_story_id: parentId });
  }
};
/** The records that are created with a story. They do not change its times. */
const addParts = (state: Tracker, id: number, body: CreateBody): void => {
  for (const task of body.tasks ?? []) addTask(state, id, task);
  for (const comment of body.comments ?? []) addComment(state, id, comment);
  for (const link of body.story_links ?? [])
    linkStories(state, link.subject_id ?? id, link.object_id ?? id, link.verb);
  if (body.sub_tasks !== undefined)
    setSubStories(
      state,
      id,
      body.sub_tasks.map((part, index) => subStoryId(state, part, index)),
    );
};
/** The mock server has no branches, commits and pull requests, so no ID of one exists. */
const versionControlExists = (body: UpdateBody): void => {
  for (const field of ['branch_ids', 'commit_ids', 'pull_request_ids'] as const) {
    const [id] = body[field] ?? [];
    if (id === undefined) continue;
    const message = `names ${id}, which does not exist`;
    throw new HttpError(422, `${field} ${message}.`, { problems: [problem(field, 'rule', message)] });
  }
};
/** spec/tracker#stories: POST /stories. */
export const createStory = (state: Tracker, body: CreateBody): StoredStory => {
  storyReferencesExist(state, body);
  parentIsAnotherStory(state, body.parent_story_id);
  templatesExist(state, 'story_template_id', body.story_template_id);
  tasksExist(state, 'source_task_id', body.source_task_id);
  const at = now(state);
  const created = instant(body.created_at) ?? at;
  const stateId = body.workflow_state_id ?? defaultStateId(state);
  // Before the ids of labels that the body makes.
  const id = newId(state);
  const story: StoredStory = Object.assign({ ...blank }, changesFrom(state, body), {
    id,
    position: state.env.store.next('tracker.story-position') * ROOM,
    requested_by_id: body.requested_by_id?.toLowerCase() ?? ownerId(state),
    iteration_id: body.iteration_id ?? null,
    story_template_id: body.story_template_id?.toLowerCase() ?? null,
    workflow_id: workflowOfState(state, stateId),
    workflow_state_id: stateId,
    ...progressInto(emptyProgress, state.counters.typeOf(stateId), at),
    archived: body.archived ?? false,
    created_at: created,
    updated_at: instant(body.updated_at) ?? at,
  });
  state.stories.put(story.id, { ...story, ...durations(story) });
  addParts(state, story.id, body);
  moveStory(state, story.id, siblingAt(state, [story.id], body.move_to), ROOM);
  if (body.updated_at !== undefined)
    state.stories.put(id, { ...findRecord(state.stories, id), updated_at: story.updated_at });
  const template =
    story.story_template_id === null ? undefined : state.templates.get(story.story_template_id);
  if (template) state.templates.put(template.id, { ...template, last_used_at: at });
  return findRecord(state.stories, story.id);
};
const changeState = (
  state: Tracker,
  before: StoredStory,
  body: StoryBody,
  at: string,
): Partial<StoredStory> => {
  const stateId = body.workflow_state_id;
  const iterationId = body.iteration_id;
  const isNewIteration = iterationId !== undefined && iterationId !== before.iteration_id;
  return {
    ...(stateId === undefined || stateId === before.workflow_state_id
      ? {}
      : {
          workflow_state_id: stateId,
          workflow_id: workflowOfState(state, stateId),
          moved_at: at,
          ...progressInto(before, state.counters.typeOf(stateId), at),
        }),
    ...(isNewIteration ? { iteration_id: iterationId } : {}),
    ...(isNewIteration && before.iteration_id !== null
      ? { previous_iteration_ids: unique([...before.previous_iteration_ids, before.iteration_id]) }
      : {}),
  };
};
/** spec/tracker#stories: PUT /stories/{id}. */
export const updateStory = (state: Tracker, id: number, body: UpdateBody): StoredStory => {
  const before = findRecord(state.stories, id);
  storyReferencesExist(state, body);
  parentIsAnotherStory(state, body.parent_story_id, id);
  versionControlExists(body);
  const at = now(state);
  const story: StoredStory = {
    ...before,
    ...changesFrom(state, body),
    ...pickGiven(body, 'archived'),
    ...changeState(state, before, body, at),
    updated_at: at,
  };
  state.stories.put(story.id, { ...story, ...durations(story) });
  moveStory(state, story.id, { ...siblingAt(state, [id], body.move_to), ...body }, ROOM);
  if (body.sub_tasks !== undefined)
    setSubStories(
      state,
      id,
      body.sub_tasks.map((part, index) => subStoryId(state, part, index)),
    );
  const after = findRecord(state.stories, story.id);
  storyEvent(state, 'update', after, before);
  return after;
};
/** A story goes with its tasks, comments and links; files stay. */
export const deleteStory = (state: Tracker, id: number): void => {
  const story = findRecord(state.stories, id);
  unlinkStory(state, story);
  for (const id of story.task_ids) state.tasks.delete(id);
  for (const id of story.comment_ids) state.storyComments.delete(id);
  for (const part of subStories(state, story.id))
    state.stories.put(part.id, { ...part, parent_story_id: null });
  forgetHistory(state, story.id);
  state.stories.delete(story.id);
  storyEvent(state, 'delete', story);
};
export const storyHandlers: Handlers<{ stories: typeof stories }, Tracker>['stories'] = {
  create: ({ state, body }) => {
    const story = createStory(state, body);
    storyEvent(state, 'create', story);
    return fullStory(state, story);
  },
  search: ({ state, body }) =>
    storiesJson(
      state,
      `query ${JSON.stringify(body)}`,
      () => searchStories(state, body),
      body.includes_description ?? false,
    ),
  get: ({ state, params }) => fullStory(state, findRecord(state.stories, params['story-public-id'])),
  update: ({ state, params, body }) => fullStory(state, updateStory(state, params['story-public-id'], body)),
  delete: ({ state, params }) => {
    deleteStory(state, params['story-public-id']);
    return undefined;
  },
};
