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
import { type Resource, op } from '../../core/operation.ts';
import { archived, customFieldInputs, labelInputs, uuids, when } from './fields.ts';
import { stories } from './stories.ts';
import { storySlim } from './story-records.ts';

const id = { 'story-public-id': req(help(int(), 'The story')) } as const;
const columns = ['id', 'name', 'story_type', 'workflow_state_id', 'estimate'] as const;
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
    summary: 'List what happened to a story',
    cites: 'spec/tracker#stories-4',
    params: id,
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
    params: id,
    ok: 200,
    returns: list(storySlim),
    extension: true,
    cli: { columns },
  }),
  bulkCreate: op({
    method: 'POST',
    path: '/stories/bulk',
    summary: 'Create several stories, all or none',
    cites: 'spec/tracker#stories-5',
    body: {
      stories: req(help(list(obj(create.body), { min: 1, max: MOST }), 'Stories, each as in a create')),
    },
    ok: 201,
    returns: list(storySlim),
    extension: true,
    cli: {
      columns,
      examples: ['opsctl tracker stories bulk-create --stories \'[{"name":"One"},{"name":"Two"}]\''],
    },
  }),
  bulkUpdate: op({
    method: 'PUT',
    path: '/stories/bulk',
    summary: 'Change several stories in the same way, all or none',
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
      follower_ids_add: uuids('Members who follow them from now on'),
      follower_ids_remove: uuids('Members who follow them no more'),
      group_id,
      iteration_id,
      labels_add: labelInputs,
      labels_remove: help(labelInputs, 'Labels by name that are taken off'),
      move_to: help(oneOf('first', 'last'), 'Move them to the top or to the bottom'),
      owner_ids_add: uuids('Members who own them from now on'),
      owner_ids_remove: uuids('Members who own them no more'),
      project_id,
      requested_by_id,
      story_type,
      workflow_state_id,
    },
    ok: 200,
    returns: list(storySlim),
    extension: true,
    cli: { columns, examples: ['opsctl tracker stories bulk-update --story-ids 107,108 --estimate 3'] },
  }),
  bulkDelete: op({
    method: 'DELETE',
    path: '/stories/bulk',
    summary: 'Delete several stories, all or none',
    cites: 'spec/tracker#stories-5',
    body: { story_ids: storyIds },
    ok: 204,
    extension: true,
    cli: { confirm: 'Delete the stories {story-ids} with their tasks and comments?' },
  }),
} as const satisfies Resource;

const commentId = { ...id, 'comment-public-id': req(help(int(), 'The comment')) } as const;
const emoji = req(help(str(63, { min: 1 }), 'Short name of the emoji, as :+1:'));
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
    summary: 'Take a reaction back',
    cites: 'spec/tracker#stories-6',
    params: commentId,
    body: { emoji },
    ok: 204,
    extension: true,
    cli: { confirm: 'Take {emoji} off comment {comment}?' },
  }),
} as const satisfies Resource;
