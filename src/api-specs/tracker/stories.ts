import { bool, datetime, help, int, list, oneOf, orNull, req, str, uuid } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import {
  archived,
  createdAt,
  customFieldInputs,
  description,
  ints,
  labelInputs,
  taskInputs,
  updatedAt,
  uuids,
  when,
} from './fields.ts';
import { story, storySlim, storyVerb } from './story-records.ts';

const id = { 'story-public-id': req(help(int(), 'The story')) } as const;
const columns = ['id', 'name', 'story_type', 'workflow_state_id', 'estimate'] as const;
const name = help(str(512, { min: 1 }), 'Name');
const storyType = help(oneOf('feature', 'bug', 'chore'), 'Kind of story');
const shared = {
  completed_at_override: orNull(when('Completion, instead of the recorded one')),
  custom_fields: customFieldInputs,
  deadline: orNull(when('Due date')),
  description,
  epic_id: orNull(help(int(), 'Epic')),
  estimate: orNull(help(int(), 'Points')),
  external_id: help(str(1024), 'Your own id of it'),
  external_links: help(list(str(2048), { max: 100 }), 'Links to other places'),
  file_ids: ints('Uploaded files'),
  follower_ids: uuids('Members who follow it'),
  group_id: orNull(help(uuid(), 'Group')),
  iteration_id: orNull(help(int(), 'Iteration')),
  labels: labelInputs,
  linked_file_ids: ints('Linked files'),
  owner_ids: uuids('Members who own it'),
  project_id: orNull(help(int(), 'Project')),
  requested_by_id: help(uuid(), 'Member who asked for it'),
  started_at_override: orNull(when('Start, instead of the recorded one')),
  story_type: storyType,
  workflow_state_id: help(int(), 'State of the workflow (default: the default state)'),
} as const;

const day = (summary: string) => help(datetime(), summary);
const query = {
  archived: help(bool(), 'Archived or not'),
  completed_at_end: day('Completed before'),
  completed_at_start: day('Completed after'),
  created_at_end: day('Made before'),
  created_at_start: day('Made after'),
  deadline_end: day('Due before'),
  deadline_start: day('Due after'),
  epic_id: orNull(help(int(), 'Of this epic')),
  epic_ids: ints('Of one of these epics'),
  estimate: help(int(), 'With this estimate'),
  external_id: help(str(1024), 'With this id of yours'),
  group_id: orNull(help(uuid(), 'Of this group')),
  group_ids: uuids('Of one of these groups'),
  includes_description: help(bool(), 'Give the descriptions too'),
  iteration_id: orNull(help(int(), 'Of this iteration')),
  iteration_ids: ints('Of one of these iterations'),
  label_ids: ints('With one of these labels'),
  label_name: help(str(128), 'With the label of this name'),
  owner_id: orNull(help(uuid(), 'Owned by this member')),
  owner_ids: uuids('Owned by one of these members'),
  project_id: orNull(help(int(), 'Of this project')),
  project_ids: list(orNull(int())),
  requested_by_id: help(uuid(), 'Asked for by this member'),
  story_type: storyType,
  updated_at_end: day('Changed before'),
  updated_at_start: day('Changed after'),
  workflow_state_id: help(int(), 'In this state'),
  workflow_state_types: help(
    list(oneOf('backlog', 'unstarted', 'started', 'done')),
    'In a state of one of these types',
  ),
} as const;

/** Not in the document: it gives stories as lists and search results only (spec/program#choices; spec/tracker#stories, spec/tracker#records). */
export const stories = {
  create: op({
    method: 'POST',
    path: '/stories',
    summary: 'Create a story',
    cites: 'spec/tracker#stories: POST /stories',
    body: {
      name: req(name),
      ...shared,
      created_at: createdAt,
      story_links: help(
        list({
          type: 'object',
          fields: { object_id: int(), subject_id: int(), verb: req(storyVerb) },
        } as const),
        'Links to other stories',
      ),
      story_template_id: orNull(help(uuid(), 'Template it is made from')),
      tasks: taskInputs,
      updated_at: updatedAt,
    },
    ok: 201,
    returns: story,
    extension: true,
    cli: {
      columns,
      examples: ['opsctl tracker stories create --name "Sign-in fails on Safari" --story-type bug'],
    },
  }),
  search: op({
    method: 'POST',
    path: '/stories/search',
    summary: 'Find stories by their fields',
    cites: 'spec/tracker#search: POST /stories/search',
    body: query,
    ok: 201,
    returns: list(storySlim),
    extension: true,
    cli: { columns },
  }),
  get: op({
    method: 'GET',
    path: '/stories/{story-public-id}',
    summary: 'Show a story',
    cites: 'spec/tracker#stories: GET /stories/{id}',
    params: id,
    ok: 200,
    returns: story,
    extension: true,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/stories/{story-public-id}',
    summary: 'Change a story',
    cites: 'spec/tracker#stories: PUT /stories/{id}',
    params: id,
    body: {
      name,
      ...shared,
      after_id: help(int(), 'Move it behind this story'),
      before_id: help(int(), 'Move it before this story'),
      archived: help(bool(), archived.summary),
    },
    ok: 200,
    returns: story,
    extension: true,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/stories/{story-public-id}',
    summary: 'Delete a story',
    cites: 'spec/tracker#stories: DELETE /stories/{id}',
    params: id,
    ok: 204,
    extension: true,
    cli: { confirm: 'Delete story {story} with its tasks and comments?' },
  }),
} as const satisfies Resource;
