import { help, int, list, req } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { epicSlim } from './epic-records.ts';
import { objectiveColumns as columns, objectiveCreate, objectiveUpdate } from './objective-inputs.ts';
import { milestone } from './planning-records.ts';

const id = { 'milestone-public-id': req(help(int(), 'The milestone')) } as const;

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
    cli: { columns },
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
      columns,
      examples: ['opsctl tracker milestones create --name "Faster sign-up" --state "in progress"'],
    },
  }),
  get: op({
    method: 'GET',
    path: '/milestones/{milestone-public-id}',
    summary: 'Show a milestone',
    cites: 'spec/tracker#objectives',
    params: id,
    ok: 200,
    returns: milestone,
    deprecated: 'objectives get',
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/milestones/{milestone-public-id}',
    summary: 'Change a milestone',
    cites: 'spec/tracker#objectives',
    params: id,
    body: objectiveUpdate,
    ok: 200,
    returns: milestone,
    deprecated: 'objectives update',
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/milestones/{milestone-public-id}',
    summary: 'Delete a milestone',
    cites: 'spec/tracker#objectives',
    params: id,
    ok: 204,
    deprecated: 'objectives delete',
    cli: { confirm: 'Delete milestone {milestone} and its key results? Its epics stay.' },
  }),
  epics: op({
    method: 'GET',
    path: '/milestones/{milestone-public-id}/epics',
    summary: 'List the epics of a milestone',
    cites: 'spec/tracker#objectives',
    params: id,
    ok: 200,
    returns: list(epicSlim),
    deprecated: 'objectives epics',
    cli: { columns: ['id', 'name', 'state', 'stats.num_stories_done', 'stats.num_stories_total'] },
  }),
} as const satisfies Resource;
