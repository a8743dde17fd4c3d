import type { moreStories, trackerExtension } from '../../api-specs/tracker/extension.ts';
import type { searchByKind } from '../../api-specs/tracker/search.ts';
import type { Values } from '../../core/field.ts';
import type { Call, Handlers } from '../table-service.ts';
import { objectiveRecord } from './epic-view.ts';
import { historyOf, storyEvent } from './events.ts';
import { moreDocumentHandlers, slimDocument } from './files.ts';
import { iterationSlimRecord } from './objectives.ts';
import { labelsOf } from './label-stats.ts';
import type { StoredStory } from './row.ts';
import { documentsAreOn } from './rules/stories.ts';
import { termsFrom } from './search-match.ts';
import { type SearchQuery, epicResult, groupsOf, pageOf, storyResult } from './search.ts';
import { findRecord, type Tracker, unique, uuidList } from './state.ts';
import { createStory, deleteStory, siblingAt, updateStory } from './stories.ts';
import { reactionHandlers, storySlim, subStories } from './story-parts.ts';

type Rows = Pick<typeof moreStories, 'bulkCreate' | 'bulkUpdate' | 'bulkDelete'>;
type Change = Values<(typeof moreStories)['bulkUpdate']['body']>;
type Body = Parameters<typeof updateStory>[2];
const without = <T>(before: readonly T[], gone: readonly T[]): T[] =>
  before.filter((one) => !gone.includes(one));
const membersAfter = (
  before: readonly string[],
  add: readonly string[] | undefined,
  remove: readonly string[] | undefined,
): string[] => without(unique([...before, ...uuidList(add)]), uuidList(remove));
const labelsAfter = (state: Tracker, story: StoredStory, change: Change): Body['labels'] => {
  const gone = new Set((change.labels_remove ?? []).map(({ name }) => name));
  const names = labelsOf(state, story.label_ids).map(({ name }) => ({ name }));
  return [...names, ...(change.labels_add ?? [])].filter(({ name }) => !gone.has(name));
};
const isSameValue = (
  a: { readonly field_id: string },
  b: { readonly field_id: string; readonly value_id?: string },
): boolean => a.field_id === b.field_id.toLowerCase();
const valuesAfter = (story: StoredStory, change: Change): Body['custom_fields'] => {
  const replaced = [...(change.custom_fields_add ?? []), ...(change.custom_fields_remove ?? [])];
  const kept = story.custom_fields.filter((one) => !replaced.some((other) => isSameValue(one, other)));
  return [...kept, ...(change.custom_fields_add ?? [])];
};
/** The effect of the change on one story: added and removed items depend on its current values. */
const bodyFor = (state: Tracker, story: StoredStory, change: Change): Body => {
  const {
    story_ids: _ids,
    move_to: _move,
    follower_ids_add: followersIn,
    follower_ids_remove: followersOut,
    owner_ids_add: ownersIn,
    owner_ids_remove: ownersOut,
    labels_add: labelsIn,
    labels_remove: labelsOut,
    custom_fields_add: valuesIn,
    custom_fields_remove: valuesOut,
    ...same
  } = change;
  return {
    ...same,
    ...(followersIn || followersOut
      ? { follower_ids: membersAfter(story.follower_ids, followersIn, followersOut) }
      : {}),
    ...(ownersIn || ownersOut ? { owner_ids: membersAfter(story.owner_ids, ownersIn, ownersOut) } : {}),
    ...(labelsIn || labelsOut ? { labels: labelsAfter(state, story, change) } : {}),
    ...(valuesIn || valuesOut ? { custom_fields: valuesAfter(story, change) } : {}),
  };
};
/** spec/tracker#stories-5: within one transaction, so that a story that is refused undoes the others. */
const bulkHandlers: Handlers<{ stories: Rows }, Tracker>['stories'] = {
  bulkCreate: ({ state, body }) => {
    const made = body.stories.map((one) => createStory(state, one));
    for (const story of made) storyEvent(state, 'create', story);
    return made.map(({ id }) => storySlim(state, findRecord(state.stories, id), false));
  },
  bulkUpdate: ({ state, body }) => {
    const ids = unique(body.story_ids);
    const move = siblingAt(state, ids, body.move_to);
    // If several records move behind the same neighbor, the last one comes first.
    const isBehind = 'after_id' in move || body.after_id !== undefined;
    for (const id of isBehind ? [...ids].reverse() : ids) {
      const story = findRecord(state.stories, id);
      updateStory(state, id, { ...bodyFor(state, story, body), ...move });
    }
    return ids.map((id) => storySlim(state, findRecord(state.stories, id), false));
  },
  bulkDelete: ({ state, body }) => {
    for (const id of unique(body.story_ids)) deleteStory(state, id);
    return undefined;
  },
};

const isSlim = ({ query }: SearchQuery): boolean => query.detail === 'slim';
const objectives = (path: string) => (call: SearchQuery) => {
  const { milestones } = groupsOf(call);
  return pageOf(
    call,
    termsFrom(call.query.query),
    milestones,
    (one) => objectiveRecord(call.state, one),
    path,
  );
};
/** spec/tracker#search-5: the groups of the search over all kinds, one at a time. */
const findHandlers = {
  stories: (call: SearchQuery) =>
    pageOf(
      call,
      termsFrom(call.query.query),
      groupsOf(call).stories,
      (one) => storyResult(call.state, one, isSlim(call)),
      '/search/stories',
    ),
  epics: (call: SearchQuery) =>
    pageOf(
      call,
      termsFrom(call.query.query),
      groupsOf(call).epics,
      (one) => epicResult(call.state, one, isSlim(call)),
      '/search/epics',
    ),
  iterations: (call: SearchQuery) =>
    pageOf(
      call,
      termsFrom(call.query.query),
      groupsOf(call).iterations,
      (one) => iterationSlimRecord(call.state, one),
      '/search/iterations',
    ),
  objectives: objectives('/search/objectives'),
  milestones: objectives('/search/milestones'),
};
/** Documents have no whole-number ids to page by: `next` is how many were given before. */
const documentsByTitle = ({ state, query }: Call<Tracker, (typeof searchByKind)['documents']['find']>) => {
  documentsAreOn(state);
  const words = query.title.toLowerCase().split(/\s+/).filter(Boolean);
  const all = state.documents.filter(
    ({ title }) =>
      query.archived !== true && words.every((word) => (title ?? '').toLowerCase().includes(word)),
  );
  const from = Number(/^\d{1,6}$/.exec(query.next ?? '')?.[0] ?? 0);
  const size = query.page_size ?? 25;
  const to = from + size;
  const pairs = new URLSearchParams({ title: query.title, page_size: String(size), next: String(to) });
  return {
    data: all.slice(from, to).map(({ id, title }) => slimDocument(state, id, title)),
    next: to < all.length ? `/api/v3/search/documents?${pairs}` : null,
    total: all.length,
  };
};

/** Handlers of the routes that the document does not have. */
export const extensionHandlers: Handlers<typeof trackerExtension, Tracker> = {
  documents: { ...moreDocumentHandlers, find: documentsByTitle },
  epics: { find: findHandlers.epics },
  iterations: { find: findHandlers.iterations },
  milestones: { find: findHandlers.milestones },
  objectives: { find: findHandlers.objectives },
  stories: {
    ...bulkHandlers,
    find: findHandlers.stories,
    history: ({ state, params }) => historyOf(state, findRecord(state.stories, params['story-public-id'])),
    subTasks: ({ state, params }) =>
      subStories(state, findRecord(state.stories, params['story-public-id']).id).map((one) =>
        storySlim(state, one, false),
      ),
  },
  'story-comments': reactionHandlers,
};
