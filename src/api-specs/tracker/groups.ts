import { bool, color, help, int, list, oneOf, orNull, req, str, uuid } from '../../core/field.ts';
import { op, type Resource } from '../../core/operation.ts';
import {
  archived,
  createdAt,
  description,
  descriptions,
  externalId,
  ints,
  name128,
  updatedAt,
  uuids,
  when,
} from './fields.ts';
import { project } from './planning-records.ts';
import { storySlim, group } from './records.ts';

const id = { 'group-public-id': req(help(uuid(), 'The group')) } as const;
const columns = ['id', 'name', 'mention_name', 'num_stories', 'archived'] as const;
/** spec/tracker#groups-3. */
const colorKey = oneOf(
  'black',
  'blue',
  'brass',
  'fuchsia',
  'gray',
  'green',
  'midnight-blue',
  'orange',
  'pink',
  'purple',
  'red',
  'sky-blue',
  'slate',
  'turquoise',
  'yellow',
  'yellow-green',
);
const name = help(str(63, { min: 1 }), 'Name');
const mentionName = help(str(63, { min: 1 }), 'Mention name of the group, after @');
const shared = {
  color_key: help(colorKey, 'Name of the color'),
  description: help(str(4096), 'Description'),
  member_ids: uuids('Members'),
  workflow_ids: ints('Workflows'),
} as const;
export const groups = {
  list: op({
    method: 'GET',
    path: '/groups',
    summary: 'List groups',
    cites: 'spec/tracker#groups',
    ok: 200,
    returns: list(group),
    cli: { columns },
  }),
  create: op({
    method: 'POST',
    path: '/groups',
    summary: 'Create a group',
    cites: 'spec/tracker#groups',
    body: {
      name: req(name),
      mention_name: req(mentionName),
      ...shared,
      color: help(color(), 'Color as #rrggbb'),
      display_icon_id: help(uuid(), 'Icon'),
    },
    ok: 201,
    returns: group,
    errors: ['UnusableEntitlementError'],
    cli: {
      columns,
      examples: ['opsctl tracker groups create --name Platform --mention-name platform --color-key blue'],
    },
  }),
  get: op({
    method: 'GET',
    path: '/groups/{group-public-id}',
    summary: 'Show a group',
    cites: 'spec/tracker#groups',
    params: id,
    ok: 200,
    returns: group,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/groups/{group-public-id}',
    summary: 'Change a group',
    cites: 'spec/tracker#groups',
    params: id,
    body: {
      name,
      mention_name: mentionName,
      ...shared,
      archived: orNull(help(bool(), archived.summary)),
      color: orNull(help(color(), 'Color as #rrggbb')),
      default_workflow_id: orNull(help(int(), 'Workflow of new stories')),
      display_icon_id: orNull(help(uuid(), 'Icon')),
    },
    ok: 200,
    returns: group,
    errors: ['UnusableEntitlementError'],
    cli: { columns },
  }),
  stories: op({
    method: 'GET',
    path: '/groups/{group-public-id}/stories',
    summary: 'List the stories of a group',
    cites: 'spec/tracker#groups',
    params: id,
    query: {
      limit: help(int({ min: 0, max: 1000, default: 1000 }), 'Maximum number of stories'),
      offset: help(int({ min: 0, default: 0 }), 'Number of stories to skip'),
    },
    ok: 200,
    returns: list(storySlim),
    cli: { columns: ['id', 'name', 'story_type', 'workflow_state_id', 'estimate'] },
  }),
} as const satisfies Resource;

const projectsId = { 'project-public-id': req(help(int(), 'The project')) } as const;
const projectsColumns = ['id', 'name', 'abbreviation', 'stats.num_stories', 'archived'] as const;
const projectsName = help(name128, 'Name');
const teamId = help(int(), 'Team');
const projectsShared = {
  color: help(color(), 'Color as #rrggbb'),
  description,
  follower_ids: uuids('Followers'),
} as const;
export const projects = {
  list: op({
    method: 'GET',
    path: '/projects',
    summary: 'List projects',
    cites: 'spec/tracker#projects',
    ok: 200,
    returns: list(project),
    cli: { columns: projectsColumns },
  }),
  create: op({
    method: 'POST',
    path: '/projects',
    summary: 'Create a project',
    cites: 'spec/tracker#projects',
    body: {
      name: req(projectsName),
      team_id: req(teamId),
      ...projectsShared,
      // spec/tracker: "Project abbreviation should be at most 3 characters", yet the service accepts 63.
      abbreviation: help(str(63), 'Abbreviation, preferably at most 3 characters'),
      created_at: createdAt,
      external_id: externalId,
      iteration_length: help(int(), 'Length of an iteration in weeks'),
      start_time: when('Start'),
      updated_at: updatedAt,
    },
    ok: 201,
    returns: project,
    cli: {
      columns: projectsColumns,
      examples: ['opsctl tracker projects create --name Web --team-id 7 --abbreviation web'],
    },
  }),
  get: op({
    method: 'GET',
    path: '/projects/{project-public-id}',
    summary: 'Show a project',
    cites: 'spec/tracker#projects',
    params: projectsId,
    ok: 200,
    returns: project,
    cli: { columns: projectsColumns },
  }),
  update: op({
    method: 'PUT',
    path: '/projects/{project-public-id}',
    summary: 'Change a project',
    cites: 'spec/tracker#projects',
    params: projectsId,
    body: {
      name: projectsName,
      team_id: teamId,
      ...projectsShared,
      abbreviation: help(str(), 'Abbreviation, preferably at most 3 characters'),
      archived: help(bool(), archived.summary),
      days_to_thermometer: help(int(), 'Number of days that the thermometer covers'),
      show_thermometer: help(bool(), 'Whether the thermometer is shown'),
    },
    ok: 200,
    returns: project,
    cli: { columns: projectsColumns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/projects/{project-public-id}',
    summary: 'Delete a project that has no stories',
    cites: 'spec/tracker#projects: "allowed only when no stories remain"',
    params: projectsId,
    ok: 204,
    cli: { confirm: 'Delete project {project}?' },
  }),
  stories: op({
    method: 'GET',
    path: '/projects/{project-public-id}/stories',
    summary: 'List the stories of a project',
    cites: 'spec/tracker#projects',
    params: projectsId,
    query: descriptions,
    ok: 200,
    returns: list(storySlim),
    cli: { columns: ['id', 'name', 'story_type', 'workflow_state_id', 'estimate'] },
  }),
} as const satisfies Resource;
