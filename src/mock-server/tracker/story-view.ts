import type { Value } from '../../core/field.ts';
import type { story, storySlim as storySlimRecord } from '../../api-specs/tracker/story-records.ts';
import type { Json } from '../table-service.ts';
import { labelsOf, slimLabel, slimLabelText } from './label-stats.ts';
import { fileRecord, linkedFileRecord } from './files.ts';
import { appUrl, type Tracker } from './state.ts';
import type { StoredLabel, StoredStory, StoredStoryComment } from './row.ts';

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
  const found = state.cache.found(known);
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

export const storyCommentRecord = (state: Tracker, comment: StoredStoryComment) => ({
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
