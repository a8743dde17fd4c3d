import {
  any,
  bool,
  datetime,
  help,
  int,
  list,
  maybe,
  obj,
  oneOf,
  orNull,
  record,
  req,
  str,
  uuid,
} from '../../core/field.ts';
import { op, type Resource, type Table } from '../../core/operation.ts';
import { archived, customFieldInputs, labelInputs, uuids, when } from './fields.ts';
import { searchByKind } from './search.ts';
import { stories } from './stories.ts';
import { storySlim } from './records.ts';

const id = { 'doc-public-id': req(help(uuid(), 'The document')) } as const;
const columns = ['id', 'title', 'updated_at', 'app_url'] as const;
const errors = ['DisabledFeatureError'] as const;
const format = oneOf('markdown', 'html');
/** spec/tracker#documents-3. */
const doc = record('Doc', {
  id: uuid(),
  title: orNull(str(256)),
  content_markdown: orNull(str()),
  content_html: maybe(orNull(str())),
  app_url: str(),
  archived: bool(),
  created_at: datetime(),
  updated_at: datetime(),
});
export const moreDocuments = {
  get: op({
    method: 'GET',
    path: '/documents/{doc-public-id}',
    summary: 'Show a document with its text',
    cites: 'spec/tracker#documents-3',
    params: id,
    query: { content_format: help(format, 'Format of the text; html also returns it as HTML') },
    ok: 200,
    returns: doc,
    errors,
    extension: true,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/documents/{doc-public-id}',
    summary: 'Change a document',
    cites: 'spec/tracker#documents-3',
    params: id,
    body: {
      title: help(str(256, { min: 1 }), 'Title'),
      content: help(str(), 'Text'),
      content_format: help(format, 'Format of the text (default markdown)'),
    },
    ok: 200,
    returns: doc,
    errors,
    extension: true,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/documents/{doc-public-id}',
    summary: 'Delete a document',
    cites: 'spec/tracker#documents-3',
    params: id,
    ok: 204,
    errors,
    extension: true,
    cli: { confirm: 'Delete document {doc}?' },
  }),
} as const satisfies Resource;

const moreStoriesId = { 'story-public-id': req(help(int(), 'The story')) } as const;
const moreStoriesColumns = ['id', 'name', 'story_type', 'workflow_state_id', 'estimate'] as const;
/** Stories of one request. */
const MOST = 250;
const storyIds = req(help(list(int(), { min: 1, max: MOST }), 'The stories'));
/** spec/tracker#webhooks-3: an event as a webhook gets it, oldest first. */
export const historyEvent = record('History', {
  id: uuid(),
  changed_at: datetime(),
  version: str(),
  primary_id: maybe(int()),
  member_id: maybe(uuid()),
  actor_name: maybe(str()),
  actions: list(any()),
  references: maybe(list(any())),
});
const { create, update } = stories;
const {
  after_id,
  before_id,
  deadline,
  epic_id,
  estimate,
  external_links,
  group_id,
  iteration_id,
  project_id,
  requested_by_id,
  story_type,
  workflow_state_id,
} = update.body;
/** spec/tracker#stories-4 and spec/tracker#stories-5. */
export const moreStories = {
  history: op({
    method: 'GET',
    path: '/stories/{story-public-id}/history',
    summary: 'List the history of a story',
    cites: 'spec/tracker#stories-4',
    params: moreStoriesId,
    ok: 200,
    returns: list(historyEvent),
    extension: true,
    cli: { columns: ['changed_at', 'actor_name', 'actions'] },
  }),
  subTasks: op({
    method: 'GET',
    path: '/stories/{story-public-id}/sub-tasks',
    summary: 'List the sub-stories of a story',
    cites: 'spec/tracker#stories-4',
    params: moreStoriesId,
    ok: 200,
    returns: list(storySlim),
    extension: true,
    cli: { columns: moreStoriesColumns },
  }),
  bulkCreate: op({
    method: 'POST',
    path: '/stories/bulk',
    summary: 'Create several stories atomically',
    cites: 'spec/tracker#stories-5',
    body: {
      stories: req(
        help(list(obj(create.body), { min: 1, max: MOST }), 'Stories, with the same fields as in create'),
      ),
    },
    ok: 201,
    returns: list(storySlim),
    extension: true,
    cli: {
      columns: moreStoriesColumns,
      examples: ['opsctl tracker stories bulk-create --stories \'[{"name":"One"},{"name":"Two"}]\''],
    },
  }),
  bulkUpdate: op({
    method: 'PUT',
    path: '/stories/bulk',
    summary: 'Apply one change to several stories, atomically',
    cites: 'spec/tracker#stories-5',
    body: {
      story_ids: storyIds,
      after_id,
      archived: help(bool(), archived.summary),
      before_id,
      custom_fields_add: customFieldInputs,
      custom_fields_remove: customFieldInputs,
      deadline: orNull(when(deadline.summary)),
      epic_id,
      estimate,
      external_links,
      follower_ids_add: uuids('Followers to add'),
      follower_ids_remove: uuids('Followers to remove'),
      group_id,
      iteration_id,
      labels_add: labelInputs,
      labels_remove: help(labelInputs, 'Names of labels to remove'),
      move_to: help(oneOf('first', 'last'), 'Move the stories to the top or to the bottom'),
      owner_ids_add: uuids('Owners to add'),
      owner_ids_remove: uuids('Owners to remove'),
      project_id,
      requested_by_id,
      story_type,
      workflow_state_id,
    },
    ok: 200,
    returns: list(storySlim),
    extension: true,
    cli: {
      columns: moreStoriesColumns,
      examples: ['opsctl tracker stories bulk-update --story-ids 107,108 --estimate 3'],
    },
  }),
  bulkDelete: op({
    method: 'DELETE',
    path: '/stories/bulk',
    summary: 'Delete several stories atomically',
    cites: 'spec/tracker#stories-5',
    body: { story_ids: storyIds },
    ok: 204,
    extension: true,
    cli: { confirm: 'Delete the stories {story-ids} with their tasks and comments?' },
  }),
} as const satisfies Resource;
const commentId = { ...moreStoriesId, 'comment-public-id': req(help(int(), 'The comment')) } as const;
const emoji = req(help(str(63, { min: 1 }), 'Short name of the emoji, such as :+1:'));
const reaction = record('StoryReaction', { emoji: str(), permission_ids: list(uuid()) });
/** spec/tracker#stories-6. */
export const reactions = {
  react: op({
    method: 'POST',
    path: '/stories/{story-public-id}/comments/{comment-public-id}/reactions',
    summary: 'React to a comment of a story',
    cites: 'spec/tracker#stories-6',
    params: commentId,
    body: { emoji },
    ok: 201,
    returns: list(reaction),
    extension: true,
    cli: {
      columns: ['emoji', 'permission_ids'],
      examples: ['opsctl tracker story-comments react 107 210 --emoji :+1:'],
    },
  }),
  unreact: op({
    method: 'DELETE',
    path: '/stories/{story-public-id}/comments/{comment-public-id}/reactions',
    summary: 'Remove a reaction',
    cites: 'spec/tracker#stories-6',
    params: commentId,
    body: { emoji },
    ok: 204,
    extension: true,
    cli: { confirm: 'Remove {emoji} from comment {comment}?' },
  }),
} as const satisfies Resource;

/**
 * Routes that the vendor's own tools call and the document does not have, by the resource that they belong to. Each row is
 * marked as an extension; commands, OpenAPI, completion and reference derive from it as from every other.
 */
export const trackerExtension = {
  documents: { ...moreDocuments, ...searchByKind.documents },
  epics: searchByKind.epics,
  iterations: searchByKind.iterations,
  milestones: searchByKind.milestones,
  objectives: searchByKind.objectives,
  stories: { ...moreStories, ...searchByKind.stories },
  'story-comments': reactions,
} as const satisfies Table;
