import { type Action, type Plain, type Verb, asNew, changesBetween, referencesOf } from './event-changes.ts';
import { deliverToAll } from './deliveries.ts';
import { appUrl, newUuid, ownerId, timestamp } from './records.ts';
import type { Tracker } from './state.ts';
import type { StoredEpic, StoredEpicComment, StoredStory, StoredStoryComment, StoredTask } from './row.ts';
import { noteInHistory } from './story-history.ts';

/** spec/tracker#webhooks-3: what webhooks get and what the history of a story lists. */
export const eventOf = (
  state: Tracker,
  primaryId: number,
  action: Action,
  references: readonly unknown[],
) => {
  const owner = state.members.get(ownerId(state));
  return {
    id: newUuid(state),
    changed_at: timestamp(state.env.now()),
    version: 'v1',
    primary_id: primaryId,
    member_id: ownerId(state),
    ...(owner ? { actor_name: owner.profile.name } : {}),
    actions: [action],
    references: [...references],
  };
};

/** An update without a change is not told. The creation of a story is not noted: its history begins with it anyway. */
const tell = (
  state: Tracker,
  primaryId: number,
  action: Action,
  before: Plain | undefined,
  after: Plain,
  storyId?: number,
): void => {
  const hasListeners = state.webhooks.size > 0;
  const isNoted = storyId !== undefined && action.entity_type + action.action !== 'storycreate';
  if (!hasListeners && !isNoted) return;
  const isUpdate = action.action === 'update';
  const changes = isUpdate ? changesBetween(before ?? {}, after) : asNew(after);
  if (isUpdate && Object.keys(changes).length === 0) return;
  const told = isUpdate ? { ...action, changes } : action;
  const event = eventOf(state, primaryId, told, referencesOf(state, changes));
  if (isNoted) noteInHistory(state, storyId, event);
  if (hasListeners) deliverToAll(state, event, `${action.entity_type}.${action.action}`);
};

/** spec/tracker#webhooks: "fired when stories or epics are created, updated or deleted, incl. comments and tasks". */
export const epicEvent = (state: Tracker, action: Verb, epic: StoredEpic, before?: StoredEpic): void => {
  tell(
    state,
    epic.id,
    { id: epic.id, entity_type: 'epic', action, name: epic.name, app_url: appUrl(state, 'epic', epic.id) },
    before,
    epic,
  );
};
export const storyEvent = (state: Tracker, action: Verb, story: StoredStory, before?: StoredStory): void => {
  const url = appUrl(state, 'story', story.id);
  tell(
    state,
    story.id,
    {
      id: story.id,
      entity_type: 'story',
      action,
      name: story.name,
      story_type: story.story_type,
      app_url: url,
    },
    before,
    story,
    story.id,
  );
};
export const epicCommentEvent = (
  state: Tracker,
  action: Verb,
  comment: StoredEpicComment,
  before?: StoredEpicComment,
): void => {
  const url = `${appUrl(state, 'epic', comment.epic_id)}#activity-${comment.id}`;
  tell(
    state,
    comment.epic_id,
    { id: comment.id, entity_type: 'epic-comment', action, text: comment.text, app_url: url },
    before,
    comment,
  );
};
export const storyCommentEvent = (
  state: Tracker,
  action: Verb,
  comment: StoredStoryComment,
  before?: StoredStoryComment,
): void => {
  const url = `${appUrl(state, 'story', comment.story_id)}#activity-${comment.id}`;
  tell(
    state,
    comment.story_id,
    { id: comment.id, entity_type: 'story-comment', action, text: comment.text, app_url: url },
    before,
    comment,
    comment.story_id,
  );
};
export const taskEvent = (state: Tracker, action: Verb, one: StoredTask, before?: StoredTask): void => {
  const url = appUrl(state, 'story', one.story_id);
  tell(
    state,
    one.story_id,
    { id: one.id, entity_type: 'story-task', action, description: one.description, app_url: url },
    before,
    one,
    one.story_id,
  );
};
