import { createHash } from 'node:crypto';
import type { Value } from '../../core/field.ts';
import type { historyEvent } from '../../api-specs/tracker/more-stories.ts';
import { appUrl } from './records.ts';
import type { Tracker } from './state.ts';
import type { StoredHistory, StoredStory } from './row.ts';

type Event = Value<typeof historyEvent>;

/** Events of one story that are kept; the creation comes on top of them. */
const KEPT = 200;
const storyOf = ({ story_id: id }: StoredHistory): number => id;
const eventsOf = ({ storyHistory }: Tracker, id: number): StoredHistory[] => [
  ...storyHistory.index('story', storyOf).get(id),
];

export const noteInHistory = (state: Tracker, storyId: number, event: Event): void => {
  const before = eventsOf(state, storyId);
  for (const { id } of before.slice(0, Math.max(0, before.length - KEPT + 1))) state.storyHistory.delete(id);
  state.storyHistory.put(event.id, { ...event, story_id: storyId });
};

export const forgetHistory = (state: Tracker, storyId: number): void => {
  for (const { id } of eventsOf(state, storyId)) state.storyHistory.delete(id);
};

/** An id that is the same at each reading: the creation of a story is not kept a second time. */
const creationId = (storyId: number): string => {
  const hex = createHash('sha256').update(`creation of story ${storyId}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** The name that the story was made with: what the first change of it says, else the name it has. */
const firstName = (story: StoredStory, events: readonly StoredHistory[]): string => {
  for (const { actions } of events)
    for (const action of actions as { entity_type?: string; changes?: { name?: { old?: unknown } } }[])
      if (action.entity_type === 'story' && typeof action.changes?.name?.old === 'string')
        return action.changes.name.old;
  return story.name;
};

/** spec/tracker#stories-4: oldest first, the creation before all others. */
export const historyOf = (state: Tracker, story: StoredStory): Event[] => {
  const events = eventsOf(state, story.id);
  const creator = state.members.get(story.requested_by_id);
  const creation: Event = {
    id: creationId(story.id),
    changed_at: story.created_at,
    version: 'v1',
    primary_id: story.id,
    member_id: story.requested_by_id,
    ...(creator ? { actor_name: creator.profile.name } : {}),
    actions: [
      {
        id: story.id,
        entity_type: 'story',
        action: 'create',
        name: firstName(story, events),
        story_type: story.story_type,
        app_url: appUrl(state, 'story', story.id),
      },
    ],
    references: [],
  };
  return [creation, ...events.map(({ story_id: _story, ...event }) => event)];
};
