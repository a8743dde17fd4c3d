import { help, int, list, req, str, uuid } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { threadedComment } from './epic-records.ts';
import { createdAt, externalId, updatedAt } from './fields.ts';

const epicId = { 'epic-public-id': req(help(int(), 'The epic')) } as const;
const id = { ...epicId, 'comment-public-id': req(help(int(), 'The comment')) } as const;
const columns = ['id', 'author_id', 'text', 'created_at'] as const;
const text = req(help(str(100_000, { min: 1 }), 'Text in Markdown'));
const body = {
  text,
  author_id: help(uuid(), 'Author (default: the owner of the token)'),
  created_at: createdAt,
  external_id: externalId,
  updated_at: updatedAt,
} as const;

export const epicComments = {
  list: op({
    method: 'GET',
    path: '/epics/{epic-public-id}/comments',
    summary: 'List the comments of an epic',
    cites: 'spec/tracker#epic-comments',
    params: epicId,
    ok: 200,
    returns: list(threadedComment),
    cli: { columns },
  }),
  create: op({
    method: 'POST',
    path: '/epics/{epic-public-id}/comments',
    summary: 'Comment on an epic',
    cites: 'spec/tracker#epic-comments',
    params: epicId,
    body,
    ok: 201,
    returns: threadedComment,
    cli: { columns, examples: ['opsctl tracker epic-comments create 12 --text "Started today"'] },
  }),
  get: op({
    method: 'GET',
    path: '/epics/{epic-public-id}/comments/{comment-public-id}',
    summary: 'Show a comment and its replies',
    cites: 'spec/tracker#epic-comments',
    params: id,
    ok: 200,
    returns: threadedComment,
    cli: { columns },
  }),
  reply: op({
    method: 'POST',
    path: '/epics/{epic-public-id}/comments/{comment-public-id}',
    summary: 'Reply to a comment',
    cites: 'spec/tracker#epic-comments: "creates a nested reply"',
    params: id,
    body,
    ok: 201,
    returns: threadedComment,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/epics/{epic-public-id}/comments/{comment-public-id}',
    summary: 'Change the text of a comment',
    cites: 'spec/tracker#epic-comments',
    params: id,
    body: { text },
    ok: 200,
    returns: threadedComment,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/epics/{epic-public-id}/comments/{comment-public-id}',
    summary: 'Delete a comment',
    cites: 'spec/tracker#epic-comments',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete comment {comment} of epic {epic}?' },
  }),
} as const satisfies Resource;
