import { bool, color, help, int, list, req, str } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import {
  archived,
  createdAt,
  description,
  descriptions,
  externalId,
  name128,
  updatedAt,
  uuids,
  when,
} from './fields.ts';
import { project } from './planning-records.ts';
import { storySlim } from './story-records.ts';

const id = { 'project-public-id': req(help(int(), 'The project')) } as const;
const columns = ['id', 'name', 'abbreviation', 'stats.num_stories', 'archived'] as const;
const name = help(name128, 'Name');
const teamId = help(int(), 'Team');
const shared = {
  color: help(color(), 'Colour as #rrggbb'),
  description,
  follower_ids: uuids('Members who follow it'),
} as const;

export const projects = {
  list: op({
    method: 'GET',
    path: '/projects',
    summary: 'List projects',
    cites: 'spec/tracker#projects',
    ok: 200,
    returns: list(project),
    cli: { columns },
  }),
  create: op({
    method: 'POST',
    path: '/projects',
    summary: 'Create a project',
    cites: 'spec/tracker#projects',
    body: {
      name: req(name),
      team_id: req(teamId),
      ...shared,
      // spec/tracker: "Project abbreviation should be at most 3 characters", yet 63 are taken.
      abbreviation: help(str(63), 'Abbreviation, best at most 3 characters'),
      created_at: createdAt,
      external_id: externalId,
      iteration_length: help(int(), 'Length of an iteration in weeks'),
      start_time: when('Start'),
      updated_at: updatedAt,
    },
    ok: 201,
    returns: project,
    cli: { columns, examples: ['opsctl tracker projects create --name Web --team-id 7 --abbreviation web'] },
  }),
  get: op({
    method: 'GET',
    path: '/projects/{project-public-id}',
    summary: 'Show a project',
    cites: 'spec/tracker#projects',
    params: id,
    ok: 200,
    returns: project,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/projects/{project-public-id}',
    summary: 'Change a project',
    cites: 'spec/tracker#projects',
    params: id,
    body: {
      name,
      team_id: teamId,
      ...shared,
      abbreviation: help(str(), 'Abbreviation, best at most 3 characters'),
      archived: help(bool(), archived.summary),
      days_to_thermometer: help(int(), 'Days that the thermometer covers'),
      show_thermometer: help(bool(), 'Whether the thermometer is shown'),
    },
    ok: 200,
    returns: project,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/projects/{project-public-id}',
    summary: 'Delete a project that has no stories',
    cites: 'spec/tracker#projects: "allowed only when no stories remain"',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete project {project}?' },
  }),
  stories: op({
    method: 'GET',
    path: '/projects/{project-public-id}/stories',
    summary: 'List the stories of a project',
    cites: 'spec/tracker#projects',
    params: id,
    query: descriptions,
    ok: 200,
    returns: list(storySlim),
    cli: { columns: ['id', 'name', 'story_type', 'workflow_state_id', 'estimate'] },
  }),
} as const satisfies Resource;
