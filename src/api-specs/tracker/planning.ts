import { date, help, int, list, req } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { description, descriptions, labelInputs, name256, uuids } from './fields.ts';
import { iteration, iterationSlim } from './planning-records.ts';
import { storySlim } from './story-records.ts';

const id = { 'iteration-public-id': req(help(int(), 'The iteration')) } as const;
const columns = ['id', 'name', 'status', 'start_date', 'end_date'] as const;
const name = help(name256, 'Name');
const startDate = help(date(), 'First day');
const endDate = help(date(), 'Last day');
const shared = {
  description,
  follower_ids: uuids('Members who follow it'),
  group_ids: uuids('Groups'),
  labels: labelInputs,
} as const;

export const iterations = {
  list: op({
    method: 'GET',
    path: '/iterations',
    summary: 'List iterations',
    cites: 'spec/tracker#iterations',
    ok: 200,
    returns: list(iterationSlim),
    cli: { columns },
  }),
  create: op({
    method: 'POST',
    path: '/iterations',
    summary: 'Create an iteration',
    cites: 'spec/tracker#iterations',
    body: { name: req(name), start_date: req(startDate), end_date: req(endDate), ...shared },
    ok: 201,
    returns: iteration,
    cli: {
      columns,
      examples: [
        'opsctl tracker iterations create --name "Sprint 7" --start-date 2026-03-02 --end-date 2026-03-15',
      ],
    },
  }),
  disable: op({
    method: 'PUT',
    path: '/iterations/disable',
    summary: 'Switch iterations off for the workspace',
    cites: 'spec/tracker#iterations',
    ok: 204,
  }),
  enable: op({
    method: 'PUT',
    path: '/iterations/enable',
    summary: 'Switch iterations on for the workspace',
    cites: 'spec/tracker#iterations',
    ok: 204,
  }),
  get: op({
    method: 'GET',
    path: '/iterations/{iteration-public-id}',
    summary: 'Show an iteration',
    cites: 'spec/tracker#iterations',
    params: id,
    ok: 200,
    returns: iteration,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/iterations/{iteration-public-id}',
    summary: 'Change an iteration',
    cites: 'spec/tracker#iterations: "same fields as create, all optional"',
    params: id,
    body: { name, start_date: startDate, end_date: endDate, ...shared },
    ok: 200,
    returns: iteration,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/iterations/{iteration-public-id}',
    summary: 'Delete an iteration',
    cites: 'spec/tracker#iterations',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete iteration {iteration}? Its stories stay, without an iteration.' },
  }),
  stories: op({
    method: 'GET',
    path: '/iterations/{iteration-public-id}/stories',
    summary: 'List the stories of an iteration',
    cites: 'spec/tracker#iterations',
    params: id,
    query: descriptions,
    ok: 200,
    returns: list(storySlim),
    cli: { columns: ['id', 'name', 'story_type', 'workflow_state_id', 'estimate'] },
  }),
} as const satisfies Resource;
