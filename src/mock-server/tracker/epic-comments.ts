import type { Values } from '../../core/field.ts';
import type { epicComments } from '../../api-specs/tracker/epic-comments.ts';
import { HttpError } from '../http-error.ts';
import type { Handlers } from '../table-service.ts';
import { commentTree, commentTrees, parentOfComment } from './epic-view.ts';
import { epicCommentEvent } from './events.ts';
import { found, instant, mentions, newId, now, ownerId } from './records.ts';
import { membersExist } from './rules/references.ts';
import type { Tracker } from './state.ts';
import type { StoredEpicComment } from './row.ts';

type Params = { readonly 'epic-public-id': number; readonly 'comment-public-id': number };

/** spec/tracker#errors-1: the epic and the comment exist, and the comment belongs to the epic. */
const commentOf = (state: Tracker, params: Params): StoredEpicComment => {
  const epic = found(state.epics, params['epic-public-id']);
  const comment = found(state.comments, params['comment-public-id']);
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
const remove = (state: Tracker, comment: StoredEpicComment): void => {
  const gone = [comment];
  for (const one of gone)
    gone.push(...state.comments.index('parent', parentOfComment).get(`${one.epic_id} ${one.id}`));
  for (const { id } of gone) state.comments.delete(id);
};

export const epicCommentHandlers: Handlers<
  { 'epic-comments': typeof epicComments },
  Tracker
>['epic-comments'] = {
  list: ({ state, params }) => commentTrees(state, found(state.epics, params['epic-public-id']).id),
  create: ({ state, params, body }) =>
    create(state, found(state.epics, params['epic-public-id']).id, null, body),
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
    remove(state, comment);
    epicCommentEvent(state, 'delete', comment);
    return undefined;
  },
};
