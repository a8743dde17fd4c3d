import type { reactions } from '../../api-specs/tracker/more-stories.ts';
import { HttpError } from '../http-error.ts';
import type { Handlers } from '../table-service.ts';
import { ownerId } from './records.ts';
import type { Tracker } from './state.ts';
import type { StoredStoryComment } from './row.ts';
import { commentOf } from './story-comments.ts';

type Reactions = StoredStoryComment['reactions'];

/** spec/tracker#stories-6: a member stands once under each emoji; an emoji without members is gone. */
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
