import type { Values } from '../../core/field.ts';
import type { moreStories } from '../../api-specs/tracker/more-stories.ts';
import type { Handlers } from '../table-service.ts';
import { labelsOf } from './label-stats.ts';
import { found, unique, uuidList } from './records.ts';
import { byPosition } from './rules/moves.ts';
import type { Tracker } from './state.ts';
import type { StoredStory } from './row.ts';
import { createStory, deleteStory, updateStory } from './stories.ts';
import { storyEvent } from './events.ts';
import { storySlim } from './story-view.ts';

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

/** What the change means for one story: what is added and taken away depends on what it has. */
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

/** The neighbour that `move_to` means: the first or the last of the stories that stay where they are. */
const neighbour = (state: Tracker, moved: readonly number[], to: Change['move_to']): Body => {
  if (to === undefined) return {};
  const rest = byPosition(state.stories.values()).filter(({ id }) => !moved.includes(id));
  const one = to === 'first' ? rest[0] : rest.at(-1);
  if (one === undefined) return {};
  return to === 'first' ? { before_id: one.id } : { after_id: one.id };
};

/** spec/tracker#stories-5: within one transaction, so that a story that is refused undoes the others. */
export const bulkHandlers: Handlers<{ stories: Rows }, Tracker>['stories'] = {
  bulkCreate: ({ state, body }) => {
    const made = body.stories.map((one) => createStory(state, one));
    for (const story of made) storyEvent(state, 'create', story);
    return made.map(({ id }) => storySlim(state, found(state.stories, id), false));
  },
  bulkUpdate: ({ state, body }) => {
    const ids = unique(body.story_ids);
    const move = neighbour(state, ids, body.move_to);
    // Behind one and the same neighbour the last that moves stands first.
    const isBehind = 'after_id' in move || body.after_id !== undefined;
    for (const id of isBehind ? [...ids].reverse() : ids) {
      const story = found(state.stories, id);
      updateStory(state, id, { ...bodyFor(state, story, body), ...move });
    }
    return ids.map((id) => storySlim(state, found(state.stories, id), false));
  },
  bulkDelete: ({ state, body }) => {
    for (const id of unique(body.story_ids)) deleteStory(state, id);
    return undefined;
  },
};
