import { bool, datetime, help, int, list, old, oneOf, orNull, req, str, uuid } from '../../core/field.ts';
import { op, type Resource } from '../../core/operation.ts';
import {
  archived,
  createdAt,
  description,
  descriptions,
  externalId,
  ints,
  labelInputs,
  name256,
  updatedAt,
  uuids,
  when,
} from './fields.ts';
import {
  epic,
  epicPage,
  epicSlim,
  health as healthRecord,
  healthStatus,
  threadedComment,
} from './planning-records.ts';
import { storySlim } from './records.ts';

const id = { 'epic-public-id': req(help(int(), 'The epic')) } as const;
const columns = ['id', 'name', 'state', 'stats.num_stories_done', 'stats.num_stories_total'] as const;
const storyColumns = ['id', 'name', 'story_type', 'workflow_state_id', 'estimate'] as const;
const shared = {
  description,
  epic_state_id: help(int(), 'State of the epic workflow'),
  external_id: externalId,
  follower_ids: uuids('Followers'),
  group_ids: uuids('Groups'),
  labels: labelInputs,
  objective_ids: ints('Objectives'),
  owner_ids: uuids('Owners'),
  requested_by_id: help(uuid(), 'Requester'),
  state: old(
    help(oneOf('done', 'in progress', 'to do'), 'State; ignored if epic_state_id is set'),
    'epic_state_id',
  ),
  deadline: orNull(when('Due date')),
  planned_start_date: orNull(when('Planned start')),
} as const;
const groupId = help(uuid(), 'Group');
const milestoneId = help(int(), 'Milestone');
const startedAt = when('Start time that overrides the recorded time');
const completedAt = when('Completion time that overrides the recorded time');
export const epics = {
  list: op({
    method: 'GET',
    path: '/epics',
    summary: 'List epics',
    cites: 'spec/tracker#epics',
    query: descriptions,
    ok: 200,
    returns: list(epicSlim),
    cli: { columns },
  }),
  create: op({
    method: 'POST',
    path: '/epics',
    summary: 'Create an epic',
    cites: 'spec/tracker#epics',
    body: {
      name: req(help(name256, 'Name')),
      ...shared,
      completed_at_override: completedAt,
      started_at_override: startedAt,
      converted_from_story_id: orNull(help(int(), 'Story to convert into the epic')),
      created_at: createdAt,
      updated_at: updatedAt,
      group_id: old(orNull(groupId), 'group_ids'),
      milestone_id: old(orNull(milestoneId), 'objective_ids'),
    },
    ok: 201,
    returns: epic,
    cli: {
      columns,
      examples: ['opsctl tracker epics create --name "Billing revamp" --deadline 2026-12-31T00:00:00Z'],
    },
  }),
  page: op({
    method: 'GET',
    path: '/epics/paginated',
    summary: 'List epics page by page',
    cites: 'spec/tracker#epics',
    query: {
      ...descriptions,
      page: help(int({ min: 1, default: 1 }), 'Page number, starting at 1'),
      page_size: help(int({ min: 1, max: 250, default: 10 }), 'Epics per page'),
    },
    ok: 200,
    returns: epicPage,
    cli: { columns: ['total', 'next'] },
  }),
  get: op({
    method: 'GET',
    path: '/epics/{epic-public-id}',
    summary: 'Show an epic',
    cites: 'spec/tracker#epics',
    params: id,
    ok: 200,
    returns: epic,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/epics/{epic-public-id}',
    summary: 'Change an epic',
    cites: 'spec/tracker#epics',
    params: id,
    body: {
      name: help(name256, 'Name'),
      ...shared,
      after_id: help(int(), 'Move the record after this epic'),
      before_id: help(int(), 'Move the record before this epic'),
      archived: help(bool(), archived.summary),
      completed_at_override: orNull(help(datetime(), completedAt.summary)),
      started_at_override: orNull(help(datetime(), startedAt.summary)),
      // The update list does not repeat their `or null`; a client that unsets the deprecated single id must not be refused.
      group_id: old(orNull(groupId), 'group_ids'),
      milestone_id: old(orNull(milestoneId), 'objective_ids'),
    },
    ok: 200,
    returns: epic,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/epics/{epic-public-id}',
    summary: 'Delete an epic',
    cites: 'spec/tracker#epics',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete epic {epic}? Its stories are kept without an epic.' },
  }),
  stories: op({
    method: 'GET',
    path: '/epics/{epic-public-id}/stories',
    summary: 'List the stories of an epic',
    cites: 'spec/tracker#epics',
    params: id,
    query: descriptions,
    ok: 200,
    returns: list(storySlim),
    cli: { columns: storyColumns },
  }),
  'unlink-planningtool': op({
    method: 'POST',
    path: '/epics/{epic-public-id}/unlink-planningtool',
    summary: 'Unlink an epic from the external planning tool',
    cites: 'spec/tracker#epics',
    params: id,
    ok: 204,
    cli: { confirm: 'Unlink epic {epic} from the planning tool?' },
  }),
} as const satisfies Resource;

const epicId = { 'epic-public-id': req(help(int(), 'The epic')) } as const;
const epicCommentsId = { ...epicId, 'comment-public-id': req(help(int(), 'The comment')) } as const;
const epicCommentsColumns = ['id', 'author_id', 'text', 'created_at'] as const;
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
    cli: { columns: epicCommentsColumns },
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
    cli: {
      columns: epicCommentsColumns,
      examples: ['opsctl tracker epic-comments create 12 --text "Started today"'],
    },
  }),
  get: op({
    method: 'GET',
    path: '/epics/{epic-public-id}/comments/{comment-public-id}',
    summary: 'Show a comment and its replies',
    cites: 'spec/tracker#epic-comments',
    params: epicCommentsId,
    ok: 200,
    returns: threadedComment,
    cli: { columns: epicCommentsColumns },
  }),
  reply: op({
    method: 'POST',
    path: '/epics/{epic-public-id}/comments/{comment-public-id}',
    summary: 'Reply to a comment',
    cites: 'spec/tracker#epic-comments: "creates a nested reply"',
    params: epicCommentsId,
    body,
    ok: 201,
    returns: threadedComment,
    cli: { columns: epicCommentsColumns },
  }),
  update: op({
    method: 'PUT',
    path: '/epics/{epic-public-id}/comments/{comment-public-id}',
    summary: 'Change the text of a comment',
    cites: 'spec/tracker#epic-comments',
    params: epicCommentsId,
    body: { text },
    ok: 200,
    returns: threadedComment,
    cli: { columns: epicCommentsColumns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/epics/{epic-public-id}/comments/{comment-public-id}',
    summary: 'Delete a comment',
    cites: 'spec/tracker#epic-comments',
    params: epicCommentsId,
    ok: 204,
    cli: { confirm: 'Delete comment {comment} of epic {epic}?' },
  }),
} as const satisfies Resource;

const healthColumns = ['id', 'status', 'text', 'author_id', 'updated_at'] as const;
const status = help(healthStatus, 'Health of the epic');
const healthText = help(str(), 'Why');
export const health = {
  get: op({
    method: 'GET',
    path: '/epics/{epic-public-id}/health',
    summary: 'Show the current health of an epic',
    cites: 'spec/tracker#health',
    params: epicId,
    ok: 200,
    returns: healthRecord,
    cli: { columns: healthColumns },
  }),
  create: op({
    method: 'POST',
    path: '/epics/{epic-public-id}/health',
    summary: 'Record the health of an epic',
    cites: 'spec/tracker#health',
    params: epicId,
    body: { status: req(status), text: healthText },
    ok: 201,
    returns: healthRecord,
    cli: {
      columns: healthColumns,
      examples: ["opsctl tracker health create 12 --status 'At Risk' --text 'Waiting for review'"],
    },
  }),
  history: op({
    method: 'GET',
    path: '/epics/{epic-public-id}/health-history',
    summary: 'List the health records of an epic, most recent first',
    cites: 'spec/tracker#health',
    params: epicId,
    ok: 200,
    returns: list(healthRecord),
    cli: { columns: healthColumns },
  }),
  update: op({
    method: 'PUT',
    path: '/health/{health-public-id}',
    summary: 'Change a health record',
    cites: 'spec/tracker#health',
    params: { 'health-public-id': req(help(uuid(), 'The health record')) },
    body: { status, text: healthText },
    ok: 200,
    returns: healthRecord,
    cli: { columns: healthColumns },
  }),
} as const satisfies Resource;
