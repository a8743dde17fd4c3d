import { bool, date, help, int, list, oneOf, orNull, req, str, uuid } from '../../core/field.ts';
import { op, type Resource } from '../../core/operation.ts';
import {
  archived,
  categoryInputs,
  description,
  descriptions,
  labelInputs,
  name256,
  uuids,
  when,
} from './fields.ts';
import {
  epicSlim,
  iteration,
  iterationSlim,
  keyResult,
  keyResultValue,
  milestone,
  objective,
} from './planning-records.ts';
import { storySlim } from './records.ts';

const id = { 'iteration-public-id': req(help(int(), 'The iteration')) } as const;
const iterationsColumns = ['id', 'name', 'status', 'start_date', 'end_date'] as const;
const name = help(name256, 'Name');
const startDate = help(date(), 'Start date');
const endDate = help(date(), 'End date');
const shared = {
  description,
  follower_ids: uuids('Followers'),
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
    cli: { columns: iterationsColumns },
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
      columns: iterationsColumns,
      examples: [
        'opsctl tracker iterations create --name "Sprint 7" --start-date 2026-03-02 --end-date 2026-03-15',
      ],
    },
  }),
  disable: op({
    method: 'PUT',
    path: '/iterations/disable',
    summary: 'Disable iterations for the workspace',
    cites: 'spec/tracker#iterations',
    ok: 204,
  }),
  enable: op({
    method: 'PUT',
    path: '/iterations/enable',
    summary: 'Enable iterations for the workspace',
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
    cli: { columns: iterationsColumns },
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
    cli: { columns: iterationsColumns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/iterations/{iteration-public-id}',
    summary: 'Delete an iteration',
    cites: 'spec/tracker#iterations',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete iteration {iteration}? Its stories are kept without an iteration.' },
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

const startedAt = when('Start time that overrides the recorded time');
const completedAt = when('Completion time that overrides the recorded time');
const objectiveInputsShared = {
  categories: categoryInputs,
  description,
  state: help(oneOf('done', 'in progress', 'to do'), 'State'),
} as const;
/** spec/tracker: "Milestone endpoints are deprecated in favor of the identical objective endpoints". One body for both. */
export const objectiveCreate = {
  name: req(name),
  ...objectiveInputsShared,
  completed_at_override: completedAt,
  started_at_override: startedAt,
} as const;
export const objectiveUpdate = {
  name,
  ...objectiveInputsShared,
  after_id: help(int(), 'Move the record after this objective'),
  before_id: help(int(), 'Move the record before this objective'),
  archived: help(bool(), archived.summary),
  completed_at_override: orNull(completedAt),
  started_at_override: orNull(startedAt),
} as const;
export const objectiveColumns = ['id', 'name', 'state', 'position', 'archived'] as const;

const milestonesId = { 'milestone-public-id': req(help(int(), 'The milestone')) } as const;
/** spec/tracker#objectives. */
export const milestones = {
  list: op({
    method: 'GET',
    path: '/milestones',
    summary: 'List milestones',
    cites: 'spec/tracker#objectives',
    ok: 200,
    returns: list(milestone),
    deprecated: 'objectives list',
    cli: { columns: objectiveColumns },
  }),
  create: op({
    method: 'POST',
    path: '/milestones',
    summary: 'Create a milestone',
    cites: 'spec/tracker#objectives',
    body: objectiveCreate,
    ok: 201,
    returns: milestone,
    errors: ['UnusableEntitlementError'],
    deprecated: 'objectives create',
    cli: {
      columns: objectiveColumns,
      examples: ['opsctl tracker milestones create --name "Faster sign-up" --state "in progress"'],
    },
  }),
  get: op({
    method: 'GET',
    path: '/milestones/{milestone-public-id}',
    summary: 'Show a milestone',
    cites: 'spec/tracker#objectives',
    params: milestonesId,
    ok: 200,
    returns: milestone,
    deprecated: 'objectives get',
    cli: { columns: objectiveColumns },
  }),
  update: op({
    method: 'PUT',
    path: '/milestones/{milestone-public-id}',
    summary: 'Change a milestone',
    cites: 'spec/tracker#objectives',
    params: milestonesId,
    body: objectiveUpdate,
    ok: 200,
    returns: milestone,
    deprecated: 'objectives update',
    cli: { columns: objectiveColumns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/milestones/{milestone-public-id}',
    summary: 'Delete a milestone',
    cites: 'spec/tracker#objectives',
    params: milestonesId,
    ok: 204,
    deprecated: 'objectives delete',
    cli: { confirm: 'Delete milestone {milestone} and its key results? Its epics are kept.' },
  }),
  epics: op({
    method: 'GET',
    path: '/milestones/{milestone-public-id}/epics',
    summary: 'List the epics of a milestone',
    cites: 'spec/tracker#objectives',
    params: milestonesId,
    ok: 200,
    returns: list(epicSlim),
    deprecated: 'objectives epics',
    cli: { columns: ['id', 'name', 'state', 'stats.num_stories_done', 'stats.num_stories_total'] },
  }),
} as const satisfies Resource;

const keyResultsId = { 'key-result-public-id': req(help(uuid(), 'The key result')) } as const;
const keyResultsColumns = ['id', 'name', 'type', 'progress'] as const;
export const keyResults = {
  get: op({
    method: 'GET',
    path: '/key-results/{key-result-public-id}',
    summary: 'Show a key result',
    cites: 'spec/tracker#key-results',
    params: keyResultsId,
    ok: 200,
    returns: keyResult,
    cli: { columns: keyResultsColumns },
  }),
  update: op({
    method: 'PUT',
    path: '/key-results/{key-result-public-id}',
    summary: 'Change a key result',
    cites: 'spec/tracker#key-results',
    params: keyResultsId,
    body: {
      initial_observed_value: help(keyResultValue, 'Initial value'),
      observed_value: help(keyResultValue, 'Current value'),
      target_value: help(keyResultValue, 'Target value'),
      name: help(str(1024, { min: 1 }), 'Name'),
    },
    ok: 200,
    returns: keyResult,
    cli: { columns: keyResultsColumns },
  }),
} as const satisfies Resource;

const objectivesId = { 'objective-public-id': req(help(int(), 'The objective')) } as const;
/** spec/tracker#objectives. */
export const objectives = {
  list: op({
    method: 'GET',
    path: '/objectives',
    summary: 'List objectives',
    cites: 'spec/tracker#objectives',
    ok: 200,
    returns: list(objective),
    cli: { columns: objectiveColumns },
  }),
  create: op({
    method: 'POST',
    path: '/objectives',
    summary: 'Create an objective',
    cites: 'spec/tracker#objectives',
    body: objectiveCreate,
    ok: 201,
    returns: objective,
    errors: ['UnusableEntitlementError'],
    cli: {
      columns: objectiveColumns,
      examples: ['opsctl tracker objectives create --name "Faster sign-up" --state "in progress"'],
    },
  }),
  get: op({
    method: 'GET',
    path: '/objectives/{objective-public-id}',
    summary: 'Show an objective',
    cites: 'spec/tracker#objectives',
    params: objectivesId,
    ok: 200,
    returns: objective,
    cli: { columns: objectiveColumns },
  }),
  update: op({
    method: 'PUT',
    path: '/objectives/{objective-public-id}',
    summary: 'Change an objective',
    cites: 'spec/tracker#objectives',
    params: objectivesId,
    body: objectiveUpdate,
    ok: 200,
    returns: objective,
    cli: { columns: objectiveColumns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/objectives/{objective-public-id}',
    summary: 'Delete an objective',
    cites: 'spec/tracker#objectives',
    params: objectivesId,
    ok: 204,
    cli: { confirm: 'Delete objective {objective} and its key results? Its epics are kept.' },
  }),
  epics: op({
    method: 'GET',
    path: '/objectives/{objective-public-id}/epics',
    summary: 'List the epics of an objective',
    cites: 'spec/tracker#objectives',
    params: objectivesId,
    ok: 200,
    returns: list(epicSlim),
    cli: { columns: ['id', 'name', 'state', 'stats.num_stories_done', 'stats.num_stories_total'] },
  }),
} as const satisfies Resource;
