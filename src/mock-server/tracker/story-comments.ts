import type { storyComments } from '../../api-specs/tracker/story-parts.ts';
import { HttpError } from '../http-error.ts';
import type { Handlers } from '../table-service.ts';
import { storyCommentEvent } from './events.ts';
import { found, instant, mentions, newId, now, ownerId } from './records.ts';
import { membersExist } from './rules/references.ts';
import type { Tracker } from './state.ts';
import type { StoredStoryComment } from './row.ts';
import { storyCommentRecord } from './story-view.ts';

export const commentOf = (
  state: Tracker,
  params: { 'story-public-id': number; 'comment-public-id': number },
): StoredStoryComment => {
  const story = found(state.stories, params['story-public-id']);
  const comment = found(state.storyComments, params['comment-public-id']);
  if (comment.story_id !== story.id) throw new HttpError(404, 'Resource not found.');
  return comment;
};

export const storyCommentHandlers: Handlers<
  { 'story-comments': typeof storyComments },
  Tracker
>['story-comments'] = {
  list: ({ state, params }) =>
    found(state.stories, params['story-public-id']).comment_ids.flatMap((id) => {
      const comment = state.storyComments.get(id);
      return comment === undefined ? [] : [storyCommentRecord(state, comment)];
    }),
  create: ({ state, params, body }) => {
    const story = found(state.stories, params['story-public-id']);
    membersExist(state, 'author_id', body.author_id);
    if (typeof body.parent_id === 'number')
      commentOf(state, { ...params, 'comment-public-id': body.parent_id });
    const at = now(state);
    const comment: StoredStoryComment = {
      id: newId(state),
      story_id: story.id,
      text: body.text,
      author_id: body.author_id?.toLowerCase() ?? ownerId(state),
      deleted: false,
      entity_type: 'story-comment',
      external_id: body.external_id ?? null,
      position: story.comment_ids.length + 1,
      parent_id: body.parent_id ?? null,
      reactions: [],
      blocker: false,
      unblocks_parent: false,
      ...mentions(state, body.text),
      created_at: instant(body.created_at) ?? at,
      updated_at: instant(body.updated_at) ?? at,
    };
    state.storyComments.put(comment.id, comment);
    state.stories.put(story.id, {
      ...story,
      comment_ids: [...story.comment_ids, comment.id],
      updated_at: at,
    });
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
    const story = found(state.stories, comment.story_id);
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
