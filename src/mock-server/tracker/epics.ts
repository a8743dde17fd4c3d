import type { epicComments, epics, health } from '../../api-specs/tracker/epics.ts';
import type { Values } from '../../core/field.ts';
import { HttpError } from '../body.ts';
import type { Call, Handlers } from '../table-service.ts';
import { byEpic, type StoredEpic, type StoredEpicComment, type StoredHealth } from './row.ts';
import {
  commentTree,
  commentTrees,
  currentHealth,
  epicSlim,
  fullEpic,
  healthHistory,
  parentOfComment,
  defaultEpicState,
  epicStateType,
  labelIds,
  emptyProgress,
  progressInto,
  expectedEpicState,
} from './epic-view.ts';
import { epicCommentEvent, epicEvent } from './events.ts';
import {
  epicStateExists,
  groupsExist,
  membersExist,
  objectivesExist,
  storiesExist,
} from './rules/stories.ts';
import { byPosition, move } from './rules/stories.ts';
import {
  findRecord,
  overrideChanges,
  pickGiven,
  instant,
  mentions,
  newId,
  newUuid,
  now,
  ownerId,
  type Tracker,
  unique,
  uuidList,
} from './state.ts';
import { storiesJson } from './story-parts.ts';

type EpicBody = Omit<
  Values<(typeof epics)['create']['body']>,
  'name' | 'completed_at_override' | 'started_at_override'
>;
const referencesExist = (state: Tracker, body: EpicBody): void => {
  epicStateExists(state, body.epic_state_id);
  membersExist(state, 'follower_ids', body.follower_ids);
  membersExist(state, 'owner_ids', body.owner_ids);
  membersExist(state, 'requested_by_id', body.requested_by_id);
  groupsExist(state, 'group_id', body.group_id);
  groupsExist(state, 'group_ids', body.group_ids);
  objectivesExist(state, 'milestone_id', body.milestone_id);
  objectivesExist(state, 'objective_ids', body.objective_ids);
};
/** spec/tracker#records-2: the deprecated single id and the list are one thing; the list counts when both are given. */
const groupIdsFrom = (body: EpicBody): string[] | undefined => {
  if (body.group_ids !== undefined) return uuidList(body.group_ids);
  if (body.group_id === undefined) return undefined;
  return body.group_id === null ? [] : uuidList([body.group_id]);
};
const objectiveIdsFrom = (body: EpicBody): number[] | undefined => {
  if (body.objective_ids !== undefined) return unique(body.objective_ids);
  if (body.milestone_id === undefined) return undefined;
  return body.milestone_id === null ? [] : [body.milestone_id];
};
/** What create and update have in common; absent stays out. */
const changesFrom = (state: Tracker, body: EpicBody) => {
  const groupIds = groupIdsFrom(body);
  const objectiveIds = objectiveIdsFrom(body);
  return {
    ...pickGiven(body, 'external_id'),
    ...(body.description === undefined
      ? {}
      : { description: body.description, ...mentions(state, body.description) }),
    ...(body.requested_by_id === undefined ? {} : { requested_by_id: body.requested_by_id.toLowerCase() }),
    ...(body.follower_ids === undefined ? {} : { follower_ids: uuidList(body.follower_ids) }),
    ...(body.owner_ids === undefined ? {} : { owner_ids: uuidList(body.owner_ids) }),
    ...(groupIds === undefined ? {} : { group_ids: groupIds }),
    ...(objectiveIds === undefined ? {} : { objective_ids: objectiveIds }),
    ...(body.labels === undefined ? {} : { label_ids: labelIds(state, body.labels) }),
    ...(body.deadline === undefined ? {} : { deadline: instant(body.deadline) }),
    ...(body.planned_start_date === undefined
      ? {}
      : { planned_start_date: instant(body.planned_start_date) }),
  };
};
const blank = (state: Tracker, id: number, name: string, at: string): StoredEpic => ({
  id,
  name,
  description: '',
  archived: false,
  ...emptyProgress,
  completed_at_override: null,
  started_at_override: null,
  created_at: at,
  updated_at: at,
  deadline: null,
  planned_start_date: null,
  entity_type: 'epic',
  epic_state_id: defaultEpicState(state),
  external_id: null,
  follower_ids: [],
  group_ids: [],
  ...mentions(state, ''),
  label_ids: [],
  objective_ids: [],
  owner_ids: [],
  planningtool_id: null,
  planningtool_name: null,
  planningtool_plugin_id: null,
  planningtool_url: null,
  position: state.env.store.next('tracker.epic-position'),
  requested_by_id: ownerId(state),
});
/** spec/tracker#epics: created_at and updated_at default to creation time. */
export const createEpic = (state: Tracker, body: Values<(typeof epics)['create']['body']>): StoredEpic => {
  referencesExist(state, body);
  storiesExist(state, 'converted_from_story_id', body.converted_from_story_id);
  const at = now(state);
  const start = blank(state, newId(state), body.name, at);
  const stateId = expectedEpicState(state, body) ?? start.epic_state_id;
  const epic: StoredEpic = {
    ...start,
    ...changesFrom(state, body),
    epic_state_id: stateId,
    ...progressInto(start, epicStateType(state, stateId), at),
    completed_at_override: instant(body.completed_at_override) ?? null,
    started_at_override: instant(body.started_at_override) ?? null,
    created_at: instant(body.created_at) ?? at,
    updated_at: instant(body.updated_at) ?? at,
  };
  state.epics.put(epic.id, epic);
  return epic;
};
const update = ({ state, params, body }: Call<Tracker, (typeof epics)['update']>) => {
  const before = findRecord(state.epics, params['epic-public-id']);
  referencesExist(state, body);
  const at = now(state);
  const stateId = expectedEpicState(state, body) ?? before.epic_state_id;
  const epic: StoredEpic = {
    ...before,
    ...changesFrom(state, body),
    ...pickGiven(body, 'archived', 'name'),
    ...(stateId === before.epic_state_id
      ? {}
      : { epic_state_id: stateId, ...progressInto(before, epicStateType(state, stateId), at) }),
    ...overrideChanges(body),
    updated_at: at,
  };
  state.epics.put(epic.id, epic);
  move(state.epics, epic.id, body);
  const after = findRecord(state.epics, epic.id);
  epicEvent(state, 'update', after, before);
  return fullEpic(state, after);
};
const remove = ({ state, params }: Call<Tracker, (typeof epics)['delete']>): undefined => {
  const epic = findRecord(state.epics, params['epic-public-id']);
  for (const story of [...state.stories.index('epic', byEpic).get(epic.id)])
    state.stories.put(story.id, { ...story, epic_id: null });
  for (const comment of state.comments.filter((each) => each.epic_id === epic.id))
    state.comments.delete(comment.id);
  for (const record of healthHistory(state, epic.id)) state.health.delete(record.id);
  state.epics.delete(epic.id);
  epicEvent(state, 'delete', epic);
  return undefined;
};
export const epicHandlers: Handlers<{ epics: typeof epics }, Tracker>['epics'] = {
  list: ({ state, query }) =>
    state.cache.list(`epics ${query.includes_description ?? false}`, () =>
      byPosition(state.epics.values()).map((epic) =>
        JSON.stringify(epicSlim(state, epic, query.includes_description ?? false)),
      ),
    ),
  create: ({ state, body }) => {
    const epic = createEpic(state, body);
    epicEvent(state, 'create', epic);
    return fullEpic(state, epic);
  },
  // spec/tracker#epics: page from 1, page_size 1 to 250, default 10; `next` is the number of the next page.
  page: ({ state, query }) => {
    const { page = 1, page_size: size = 10 } = query;
    const all = byPosition(state.epics.values());
    const data = all
      .slice((page - 1) * size, page * size)
      .map((epic) => epicSlim(state, epic, query.includes_description ?? false));
    return { data, next: page * size < all.length ? page + 1 : null, total: all.length };
  },
  get: ({ state, params }) => fullEpic(state, findRecord(state.epics, params['epic-public-id'])),
  update,
  delete: remove,
  stories: ({ state, params, query }) => {
    const { id } = findRecord(state.epics, params['epic-public-id']);
    return storiesJson(
      state,
      `epic ${id}`,
      () => state.stories.index('epic', byEpic).get(id),
      query.includes_description ?? false,
    );
  },
  'unlink-planningtool': ({ state, params }) => {
    const epic = findRecord(state.epics, params['epic-public-id']);
    const unlinked = {
      planningtool_id: null,
      planningtool_name: null,
      planningtool_plugin_id: null,
      planningtool_url: null,
    };
    state.epics.put(epic.id, { ...epic, ...unlinked, updated_at: now(state) });
    return undefined;
  },
};

export const healthHandlers: Handlers<{ health: typeof health }, Tracker>['health'] = {
  get: ({ state, params }) => currentHealth(state, findRecord(state.epics, params['epic-public-id']).id),
  // spec/tracker#states: POST health makes a new record, which becomes the current one.
  create: ({ state, params, body }) => {
    const epic = findRecord(state.epics, params['epic-public-id']);
    const at = now(state);
    const record: StoredHealth = {
      id: newUuid(state),
      author_id: ownerId(state),
      epic_id: epic.id,
      objective_id: epic.objective_ids[0] ?? null,
      status: body.status,
      text: body.text ?? '',
      entity_type: 'health',
      created_at: at,
      updated_at: at,
    };
    state.health.put(record.id, record);
    return record;
  },
  history: ({ state, params }) => healthHistory(state, findRecord(state.epics, params['epic-public-id']).id),
  update: ({ state, params, body }) => {
    const record = findRecord(state.health, params['health-public-id']);
    const changed = { ...record, ...pickGiven(body, 'status', 'text'), updated_at: now(state) };
    state.health.put(record.id, changed);
    return changed;
  },
};

type Params = { readonly 'epic-public-id': number; readonly 'comment-public-id': number };
/** spec/tracker#errors-1: the epic and the comment exist, and the comment belongs to the epic. */
const commentOf = (state: Tracker, params: Params): StoredEpicComment => {
  const epic = findRecord(state.epics, params['epic-public-id']);
  const comment = findRecord(state.comments, params['comment-public-id']);
  if (comment.epic_id !== epic.id) throw new HttpError(404, 'Resource not found.');
  return comment;
};
/** spec/tracker: author_id defaults to the owner of the token; a reply hangs below its comment, to any depth. */
const create = (
  state: Tracker,
  epicId: number,
  parentId: number | null,
  body: Values<(typeof epicComments)['create']['body']>,
) => {
  membersExist(state, 'author_id', body.author_id);
  const at = now(state);
  const comment: StoredEpicComment = {
    id: newId(state),
    epic_id: epicId,
    parent_id: parentId,
    author_id: body.author_id?.toLowerCase() ?? ownerId(state),
    created_at: instant(body.created_at) ?? at,
    updated_at: instant(body.updated_at) ?? at,
    deleted: false,
    entity_type: 'epic-comment',
    external_id: body.external_id ?? null,
    text: body.text,
    ...mentions(state, body.text),
  };
  state.comments.put(comment.id, comment);
  epicCommentEvent(state, 'create', comment);
  return commentTree(state, comment);
};
/** A comment goes with all replies below it. */
const removeEpicComments = (state: Tracker, comment: StoredEpicComment): void => {
  const gone = [comment];
  for (const one of gone)
    gone.push(...state.comments.index('parent', parentOfComment).get(`${one.epic_id} ${one.id}`));
  for (const { id } of gone) state.comments.delete(id);
};
export const epicCommentHandlers: Handlers<
  { 'epic-comments': typeof epicComments },
  Tracker
>['epic-comments'] = {
  list: ({ state, params }) => commentTrees(state, findRecord(state.epics, params['epic-public-id']).id),
  create: ({ state, params, body }) =>
    create(state, findRecord(state.epics, params['epic-public-id']).id, null, body),
  get: ({ state, params }) => commentTree(state, commentOf(state, params)),
  reply: ({ state, params, body }) => {
    const parent = commentOf(state, params);
    return create(state, parent.epic_id, parent.id, body);
  },
  update: ({ state, params, body }) => {
    const before = commentOf(state, params);
    const comment = { ...before, text: body.text, ...mentions(state, body.text), updated_at: now(state) };
    state.comments.put(comment.id, comment);
    epicCommentEvent(state, 'update', comment, before);
    return commentTree(state, comment);
  },
  delete: ({ state, params }) => {
    const comment = commentOf(state, params);
    removeEpicComments(state, comment);
    epicCommentEvent(state, 'delete', comment);
    return undefined;
  },
};
