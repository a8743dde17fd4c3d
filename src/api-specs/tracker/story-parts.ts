import { bool, help, int, list, orNull, req, str, uuid } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { createdAt, externalId, updatedAt, uuids } from './fields.ts';
import { storyComment, storyLink, storyVerb, task, workflow } from './story-records.ts';

const storyId = { 'story-public-id': req(help(int(), 'The story')) } as const;
const taskId = { ...storyId, 'task-public-id': req(help(int(), 'The task')) } as const;
const commentId = { ...storyId, 'comment-public-id': req(help(int(), 'The comment')) } as const;
const linkId = { 'story-link-public-id': req(help(int(), 'The story link')) } as const;
const taskColumns = ['id', 'description', 'complete', 'position'] as const;
const commentColumns = ['id', 'author_id', 'text', 'created_at'] as const;
const linkColumns = ['id', 'subject_id', 'verb', 'object_id'] as const;
const taskText = help(str(2048, { min: 1 }), 'What is to be done');
const commentText = help(str(100_000), 'Text in Markdown');
const extension = true;

export const storyTasks = {
  create: op({
    method: 'POST',
    path: '/stories/{story-public-id}/tasks',
    summary: 'Add a task to a story',
    cites: 'spec/tracker#stories: tasks',
    params: storyId,
    body: {
      description: req(taskText),
      complete: help(bool(), 'Done'),
      created_at: createdAt,
      external_id: externalId,
      owner_ids: uuids('Members who own it'),
      updated_at: updatedAt,
    },
    ok: 201,
    returns: task,
    extension,
    cli: { columns: taskColumns },
  }),
  get: op({
    method: 'GET',
    path: '/stories/{story-public-id}/tasks/{task-public-id}',
    summary: 'Show a task',
    cites: 'spec/tracker#stories: tasks',
    params: taskId,
    ok: 200,
    returns: task,
    extension,
    cli: { columns: taskColumns },
  }),
  update: op({
    method: 'PUT',
    path: '/stories/{story-public-id}/tasks/{task-public-id}',
    summary: 'Change a task',
    cites: 'spec/tracker#stories: tasks',
    params: taskId,
    body: {
      description: taskText,
      complete: help(bool(), 'Done'),
      owner_ids: uuids('Members who own it'),
      after_id: help(int(), 'Move it behind this task'),
      before_id: help(int(), 'Move it before this task'),
    },
    ok: 200,
    returns: task,
    extension,
    cli: { columns: taskColumns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/stories/{story-public-id}/tasks/{task-public-id}',
    summary: 'Delete a task',
    cites: 'spec/tracker#stories: tasks',
    params: taskId,
    ok: 204,
    extension,
    cli: { confirm: 'Delete task {task} of story {story}?' },
  }),
} as const satisfies Resource;

export const storyComments = {
  list: op({
    method: 'GET',
    path: '/stories/{story-public-id}/comments',
    summary: 'List the comments of a story',
    cites: 'spec/tracker#stories: story comments',
    params: storyId,
    ok: 200,
    returns: list(storyComment),
    extension,
    cli: { columns: commentColumns },
  }),
  create: op({
    method: 'POST',
    path: '/stories/{story-public-id}/comments',
    summary: 'Comment on a story',
    cites: 'spec/tracker#stories: story comments',
    params: storyId,
    body: {
      text: req(commentText),
      author_id: help(uuid(), 'Author (default: the owner of the token)'),
      created_at: createdAt,
      external_id: externalId,
      parent_id: orNull(help(int(), 'Comment that this one replies to')),
      updated_at: updatedAt,
    },
    ok: 201,
    returns: storyComment,
    extension,
    cli: { columns: commentColumns },
  }),
  get: op({
    method: 'GET',
    path: '/stories/{story-public-id}/comments/{comment-public-id}',
    summary: 'Show a comment of a story',
    cites: 'spec/tracker#stories: story comments',
    params: commentId,
    ok: 200,
    returns: storyComment,
    extension,
    cli: { columns: commentColumns },
  }),
  update: op({
    method: 'PUT',
    path: '/stories/{story-public-id}/comments/{comment-public-id}',
    summary: 'Change a comment of a story',
    cites: 'spec/tracker#stories: story comments',
    params: commentId,
    body: { text: req(commentText) },
    ok: 200,
    returns: storyComment,
    extension,
    cli: { columns: commentColumns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/stories/{story-public-id}/comments/{comment-public-id}',
    summary: 'Delete a comment of a story',
    cites: 'spec/tracker#stories: story comments',
    params: commentId,
    ok: 204,
    extension,
    cli: { confirm: 'Delete comment {comment} of story {story}?' },
  }),
} as const satisfies Resource;

export const storyLinks = {
  create: op({
    method: 'POST',
    path: '/story-links',
    summary: 'Link two stories: subject, verb, object',
    cites: 'spec/tracker#stories: story links',
    body: {
      subject_id: req(help(int(), 'Subject')),
      object_id: req(help(int(), 'Object')),
      verb: req(help(storyVerb, 'Verb')),
    },
    ok: 201,
    returns: storyLink,
    extension,
    cli: { columns: linkColumns },
  }),
  get: op({
    method: 'GET',
    path: '/story-links/{story-link-public-id}',
    summary: 'Show a story link',
    cites: 'spec/tracker#stories: story links',
    params: linkId,
    ok: 200,
    returns: storyLink,
    extension,
    cli: { columns: linkColumns },
  }),
  update: op({
    method: 'PUT',
    path: '/story-links/{story-link-public-id}',
    summary: 'Change a story link',
    cites: 'spec/tracker#stories: story links',
    params: linkId,
    body: {
      subject_id: help(int(), 'Subject'),
      object_id: help(int(), 'Object'),
      verb: help(storyVerb, 'Verb'),
    },
    ok: 200,
    returns: storyLink,
    extension,
    cli: { columns: linkColumns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/story-links/{story-link-public-id}',
    summary: 'Delete a story link',
    cites: 'spec/tracker#stories: story links',
    params: linkId,
    ok: 204,
    extension,
    cli: { confirm: 'Delete story link {story-link}?' },
  }),
} as const satisfies Resource;

export const workflows = {
  list: op({
    method: 'GET',
    path: '/workflows',
    summary: 'List workflows and their states',
    cites: 'spec/tracker#stories: workflows',
    ok: 200,
    returns: list(workflow),
    extension,
    cli: { columns: ['id', 'name', 'default_state_id'] },
  }),
  get: op({
    method: 'GET',
    path: '/workflows/{workflow-public-id}',
    summary: 'Show a workflow and its states',
    cites: 'spec/tracker#stories: workflows',
    params: { 'workflow-public-id': req(help(int(), 'The workflow')) },
    ok: 200,
    returns: workflow,
    extension,
    cli: { columns: ['id', 'name', 'default_state_id'] },
  }),
} as const satisfies Resource;
