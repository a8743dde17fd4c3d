import type { reactions } from '../../api-specs/tracker/extension.ts';
import type { storyComments, storyLinks, storyTasks } from '../../api-specs/tracker/stories.ts';
import { HttpError } from '../body.ts';
import type { Handlers, Json } from '../table-service.ts';
import { storyCommentEvent, taskEvent } from './events.ts';
import type { StoredStory, StoredStoryComment, StoredStoryLink, StoredTask, StoredLabel } from './row.ts';
import { membersExist, byPosition, linkJoinsTwoStories, siblingExists } from './rules/stories.ts';
import {
  findRecord,
  pickGiven,
  instant,
  mentions,
  newId,
  now,
  ownerId,
  type Tracker,
  uuidList,
  appUrl,
} from './state.ts';
import type { Value } from '../../core/field.ts';
import type { story, storySlim as storySlimRecord } from '../../api-specs/tracker/records.ts';
import { labelsOf, slimLabel, slimLabelText } from './epic-view.ts';
import { fileRecord, linkedFileRecord } from './files.ts';

export const labelsOfStory = (one: StoredStory): readonly number[] => one.label_ids;
export const groupOfStory = (one: StoredStory): string | null => one.group_id;
export const projectOfStory = (one: StoredStory): number | null => one.project_id;
export const iterationOfStory = (one: StoredStory): number | null => one.iteration_id;

/** spec/tracker#records StorySlim; the description only on request. */
export const storySlim = (
  state: Tracker,
  one: StoredStory,
  withDescription: boolean,
): Value<typeof storySlimRecord> => {
  const { description, parent_story_id: _parent, ...rest } = one;
  return {
    app_url: appUrl(state, 'story', one.id),
    ...rest,
    ...(withDescription ? { description } : {}),
    labels: labelsOf(state, one.label_ids).map((label) => slimLabel(state, label)),
  };
};

const slimStart = (state: Tracker, one: StoredStory, labels: readonly StoredLabel[]): string => {
  const { description: _left, parent_story_id: _parent, ...rest } = one;
  const text = JSON.stringify({ app_url: appUrl(state, 'story', one.id), ...rest });
  return `${text.slice(0, -1)},"labels":[${labels.map((label) => slimLabelText(state, label)).join(',')}]`;
};

/** The text of a slim story; what it shows of other records is its labels. */
const slimText = (state: Tracker, one: StoredStory, withDescription: boolean, isKept = true): string => {
  const labels = labelsOf(state, one.label_ids);
  const make = (): string => slimStart(state, one, labels);
  const start = isKept ? state.cache.text('story', one, labels, make) : make();
  return withDescription ? `${start},"description":${JSON.stringify(one.description)}}` : `${start}}`;
};

/** Lists of more stories than this are kept as bytes. */
const MANY = 1000;

/**
 * A list of slim stories as JSON text. `name` is the cache key of this list; `pick` returns its stories in
 * order.
 */
export const storiesJson = (
  state: Tracker,
  name: string,
  pick: () => Iterable<StoredStory>,
  withDescription: boolean,
): Json => {
  const known = `stories ${name} ${withDescription}`;
  const found = state.cache.findList(known);
  if (found !== undefined) return found;
  const stories = [...pick()];
  if (stories.length <= MANY)
    return state.cache.list(known, () => stories.map((one) => slimText(state, one, withDescription)));
  return state.cache.longList(
    known,
    stories.map((record) => ({ record, seen: labelsOf(state, record.label_ids) })),
    (at) => slimText(state, stories[at] as StoredStory, withDescription, false),
  );
};

const storyCommentRecord = (state: Tracker, comment: StoredStoryComment) => ({
  ...comment,
  app_url: `${appUrl(state, 'story', comment.story_id)}#activity-${comment.id}`,
});

const present = <T>(collection: { get(id: number): T | undefined }, ids: readonly number[]): T[] =>
  ids.flatMap((id) => {
    const record = collection.get(id);
    return record === undefined ? [] : [record];
  });

/** What a full story has instead of the ids of its parts. */
export const storyParts = (state: Tracker, one: StoredStory) => ({
  branches: [],
  comments: present(state.storyComments, one.comment_ids).map((comment) =>
    storyCommentRecord(state, comment),
  ),
  commits: [],
  files: present(state.files, one.file_ids).map((file) => fileRecord(state, file)),
  linked_files: present(state.linkedFiles, one.linked_file_ids).map((file) => linkedFileRecord(state, file)),
  pull_requests: [],
  tasks: present(state.tasks, one.task_ids).sort((a, b) => a.position - b.position),
});

const parentOf = (one: StoredStory): number | null => one.parent_story_id ?? null;
/** spec/tracker#stories-4: the stories that name this one as the story they are a part of. */
export const subStories = (state: Tracker, id: number): readonly StoredStory[] => [
  ...state.stories.index('parent', parentOf).get(id),
];

/** spec/tracker#records: "StorySlim + the records; minus comment_ids, file_ids, linked_file_ids, task_ids, num_tasks_completed". */
export const fullStory = (state: Tracker, one: StoredStory): Value<typeof story> => {
  const {
    comment_ids: _c,
    file_ids: _f,
    linked_file_ids: _l,
    task_ids: _t,
    num_tasks_completed: _n,
    ...rest
  } = storySlim(state, one, true);
  const parts = subStories(state, one.id);
  return {
    ...rest,
    ...storyParts(state, one),
    ...(one.parent_story_id === undefined ? {} : { parent_story_id: one.parent_story_id }),
    ...(parts.length === 0 ? {} : { sub_task_story_ids: parts.map(({ id }) => id) }),
  };
};

type TaskInput = {
  readonly description: string;
  readonly complete?: boolean;
  readonly external_id?: string;
  readonly owner_ids?: readonly string[];
  readonly created_at?: string;
  readonly updated_at?: string;
};
const tasksOf = (state: Tracker, storyId: number): StoredTask[] =>
  byPosition(findRecord(state.stories, storyId).task_ids.flatMap((id) => state.tasks.get(id) ?? []));
/** The story keeps the ids of its tasks and how many are done. */
const noteOnStory = (state: Tracker, storyId: number, ids: number[]): void => {
  const done = ids.filter((id) => state.tasks.get(id)?.complete).length;
  state.stories.put(storyId, {
    ...findRecord(state.stories, storyId),
    task_ids: ids,
    num_tasks_completed: done,
    updated_at: now(state),
  });
};
export const addTask = (state: Tracker, storyId: number, input: TaskInput): StoredTask => {
  const story = findRecord(state.stories, storyId);
  membersExist(state, 'owner_ids', input.owner_ids);
  const at = now(state);
  const task: StoredTask = {
    id: newId(state),
    story_id: storyId,
    description: input.description,
    complete: input.complete ?? false,
    completed_at: input.complete ? at : null,
    position: story.task_ids.length + 1,
    owner_ids: uuidList(input.owner_ids),
    ...mentions(state, input.description),
    external_id: input.external_id ?? null,
    entity_type: 'story-task',
    created_at: instant(input.created_at) ?? at,
    updated_at: instant(input.updated_at) ?? at,
  };
  state.tasks.put(task.id, task);
  noteOnStory(state, storyId, [...story.task_ids, task.id]);
  return task;
};
const taskOf = (
  state: Tracker,
  params: { 'story-public-id': number; 'task-public-id': number },
): StoredTask => {
  const story = findRecord(state.stories, params['story-public-id']);
  const task = findRecord(state.tasks, params['task-public-id']);
  if (task.story_id !== story.id) throw new HttpError(404, 'Resource not found.');
  return task;
};
const place = (state: Tracker, task: StoredTask, wanted: { before_id?: number; after_id?: number }): void => {
  if (wanted.before_id === undefined && wanted.after_id === undefined) return;
  const all = tasksOf(state, task.story_id);
  siblingExists(all, task.id, 'before_id', wanted.before_id);
  siblingExists(all, task.id, 'after_id', wanted.after_id);
  const rest = all.filter(({ id }) => id !== task.id);
  const at =
    wanted.before_id === undefined
      ? rest.findIndex(({ id }) => id === wanted.after_id) + 1
      : rest.findIndex(({ id }) => id === wanted.before_id);
  rest.splice(at, 0, task);
  for (const [index, one] of rest.entries()) state.tasks.put(one.id, { ...one, position: index + 1 });
};
export const storyTaskHandlers: Handlers<{ 'story-tasks': typeof storyTasks }, Tracker>['story-tasks'] = {
  create: ({ state, params, body }) => {
    const task = addTask(state, params['story-public-id'], body);
    taskEvent(state, 'create', task);
    return task;
  },
  get: ({ state, params }) => taskOf(state, params),
  update: ({ state, params, body }) => {
    const before = taskOf(state, params);
    membersExist(state, 'owner_ids', body.owner_ids);
    const at = now(state);
    const task: StoredTask = {
      ...before,
      ...(body.description === undefined
        ? {}
        : { description: body.description, ...mentions(state, body.description) }),
      ...pickGiven(body, 'complete'),
      ...(body.complete === undefined
        ? {}
        : { completed_at: body.complete ? (before.completed_at ?? at) : null }),
      ...(body.owner_ids === undefined ? {} : { owner_ids: uuidList(body.owner_ids) }),
      updated_at: at,
    };
    state.tasks.put(task.id, task);
    place(state, task, body);
    noteOnStory(state, task.story_id, findRecord(state.stories, task.story_id).task_ids);
    taskEvent(state, 'update', task, before);
    return findRecord(state.tasks, task.id);
  },
  delete: ({ state, params }) => {
    const task = taskOf(state, params);
    state.tasks.delete(task.id);
    noteOnStory(
      state,
      task.story_id,
      findRecord(state.stories, task.story_id).task_ids.filter((id) => id !== task.id),
    );
    taskEvent(state, 'delete', task);
    return undefined;
  },
};

const commentOf = (
  state: Tracker,
  params: { 'story-public-id': number; 'comment-public-id': number },
): StoredStoryComment => {
  const story = findRecord(state.stories, params['story-public-id']);
  const comment = findRecord(state.storyComments, params['comment-public-id']);
  if (comment.story_id !== story.id) throw new HttpError(404, 'Resource not found.');
  return comment;
};
type CommentInput = {
  readonly text: string;
  readonly author_id?: string;
  readonly created_at?: string;
  readonly external_id?: string;
  readonly parent_id?: number | null;
  readonly updated_at?: string;
};
export const addComment = (state: Tracker, storyId: number, input: CommentInput): StoredStoryComment => {
  const story = findRecord(state.stories, storyId);
  membersExist(state, 'author_id', input.author_id);
  if (typeof input.parent_id === 'number')
    commentOf(state, { 'story-public-id': storyId, 'comment-public-id': input.parent_id });
  const at = now(state);
  const comment: StoredStoryComment = {
    id: newId(state),
    story_id: story.id,
    text: input.text,
    author_id: input.author_id?.toLowerCase() ?? ownerId(state),
    deleted: false,
    entity_type: 'story-comment',
    external_id: input.external_id ?? null,
    position: story.comment_ids.length + 1,
    parent_id: input.parent_id ?? null,
    reactions: [],
    blocker: false,
    unblocks_parent: false,
    ...mentions(state, input.text),
    created_at: instant(input.created_at) ?? at,
    updated_at: instant(input.updated_at) ?? at,
  };
  state.storyComments.put(comment.id, comment);
  const comment_ids = [...story.comment_ids, comment.id];
  state.stories.put(story.id, { ...story, comment_ids, updated_at: at });
  return comment;
};
export const storyCommentHandlers: Handlers<
  { 'story-comments': typeof storyComments },
  Tracker
>['story-comments'] = {
  list: ({ state, params }) =>
    findRecord(state.stories, params['story-public-id']).comment_ids.flatMap((id) => {
      const comment = state.storyComments.get(id);
      return comment === undefined ? [] : [storyCommentRecord(state, comment)];
    }),
  create: ({ state, params, body }) => {
    const comment = addComment(state, params['story-public-id'], body);
    storyCommentEvent(state, 'create', comment);
    return storyCommentRecord(state, comment);
  },
  get: ({ state, params }) => storyCommentRecord(state, commentOf(state, params)),
  update: ({ state, params, body }) => {
    const before = commentOf(state, params);
    const comment = { ...before, text: body.text, ...mentions(state, body.text), updated_at: now(state) };
    state.storyComments.put(comment.id, comment);
    storyCommentEvent(state, 'update', comment, before);
    return storyCommentRecord(state, comment);
  },
  delete: ({ state, params }) => {
    const comment = commentOf(state, params);
    const story = findRecord(state.stories, comment.story_id);
    state.storyComments.delete(comment.id);
    state.stories.put(story.id, {
      ...story,
      comment_ids: story.comment_ids.filter((id) => id !== comment.id),
      updated_at: now(state),
    });
    storyCommentEvent(state, 'delete', comment);
    return undefined;
  },
};

type Verb = StoredStoryLink['verb'];
const storiesOfLink = (link: StoredStoryLink): readonly number[] => [link.subject_id, link.object_id];
/** Both stories show their links; a story is blocked or a blocker by its `blocks` links to stories that are not completed. */
const noteOn = (state: Tracker, storyId: number): void => {
  const story = state.stories.get(storyId);
  if (story === undefined) return;
  const links = [...state.storyLinks.index('story', storiesOfLink).get(storyId)];
  const isOpen = (id: number): boolean => state.stories.get(id)?.completed === false;
  state.stories.put(storyId, {
    ...story,
    story_links: links.map((link) => ({ ...link, type: link.subject_id === storyId ? 'subject' : 'object' })),
    blocker: links.some(
      (link) => link.verb === 'blocks' && link.subject_id === storyId && isOpen(link.object_id),
    ),
    blocked: links.some(
      (link) => link.verb === 'blocks' && link.object_id === storyId && isOpen(link.subject_id),
    ),
    updated_at: now(state),
  });
};
const noteOnBoth = (state: Tracker, link: StoredStoryLink): void => {
  noteOn(state, link.subject_id);
  noteOn(state, link.object_id);
};
export const linkStories = (
  state: Tracker,
  subjectId: number,
  objectId: number,
  verb: Verb,
): StoredStoryLink => {
  linkJoinsTwoStories(state, subjectId, objectId);
  const at = now(state);
  const link: StoredStoryLink = {
    id: newId(state),
    subject_id: subjectId,
    object_id: objectId,
    verb,
    entity_type: 'story-link',
    created_at: at,
    updated_at: at,
  };
  state.storyLinks.put(link.id, link);
  noteOnBoth(state, link);
  return link;
};
const drop = (state: Tracker, link: StoredStoryLink): void => {
  state.storyLinks.delete(link.id);
  noteOnBoth(state, link);
};
export const unlinkStory = (state: Tracker, story: StoredStory): void => {
  for (const { id } of story.story_links) drop(state, findRecord(state.storyLinks, id));
};
const linkRecord = (state: Tracker, link: StoredStoryLink) => ({
  ...link,
  subject_workflow_state_id: findRecord(state.stories, link.subject_id).workflow_state_id,
});
export const storyLinkHandlers: Handlers<{ 'story-links': typeof storyLinks }, Tracker>['story-links'] = {
  create: ({ state, body }) =>
    linkRecord(state, linkStories(state, body.subject_id, body.object_id, body.verb)),
  get: ({ state, params }) => linkRecord(state, findRecord(state.storyLinks, params['story-link-public-id'])),
  update: ({ state, params, body }) => {
    const before = findRecord(state.storyLinks, params['story-link-public-id']);
    const link: StoredStoryLink = {
      ...before,
      ...pickGiven(body, 'subject_id', 'object_id', 'verb'),
      updated_at: now(state),
    };
    linkJoinsTwoStories(state, link.subject_id, link.object_id);
    state.storyLinks.put(link.id, link);
    noteOnBoth(state, before);
    noteOnBoth(state, link);
    return linkRecord(state, link);
  },
  delete: ({ state, params }) => {
    drop(state, findRecord(state.storyLinks, params['story-link-public-id']));
    return undefined;
  },
};

type Reactions = StoredStoryComment['reactions'];
/** spec/tracker#stories-6: a member occurs once under each emoji; an emoji without members is removed. */
const withMember = (before: Reactions, emoji: string, member: string): Reactions => {
  const known = before.find((one) => one.emoji === emoji);
  if (known === undefined) return [...before, { emoji, permission_ids: [member] }];
  const ids = [...new Set([...known.permission_ids, member])];
  return before.map((one) => (one === known ? { emoji, permission_ids: ids } : one));
};
const withoutMember = (before: Reactions, emoji: string, member: string): Reactions =>
  before
    .map((one) =>
      one.emoji === emoji
        ? { ...one, permission_ids: one.permission_ids.filter((id) => id !== member) }
        : one,
    )
    .filter(({ permission_ids: ids }) => ids.length > 0);
export const reactionHandlers: Handlers<{ 'story-comments': typeof reactions }, Tracker>['story-comments'] = {
  react: ({ state, params, body }) => {
    const comment = commentOf(state, params);
    const after = withMember(comment.reactions, body.emoji, ownerId(state));
    state.storyComments.put(comment.id, { ...comment, reactions: after });
    return after;
  },
  unreact: ({ state, params, body }) => {
    const comment = commentOf(state, params);
    const after = withoutMember(comment.reactions, body.emoji, ownerId(state));
    if (JSON.stringify(after) === JSON.stringify(comment.reactions))
      throw new HttpError(404, 'Resource not found.');
    state.storyComments.put(comment.id, { ...comment, reactions: after });
    return undefined;
  },
};
