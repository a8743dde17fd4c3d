import { help, int, list, req } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { epicSlim } from './epic-records.ts';
import { objectiveColumns as columns, objectiveCreate, objectiveUpdate } from './objective-inputs.ts';
import { objective } from './planning-records.ts';

const id = { 'objective-public-id': req(help(int(), 'The objective')) } as const;

/** spec/tracker#objectives. */
export const objectives = {
  list: op({
    method: 'GET',
    path: '/objectives',
    summary: 'List objectives',
    cites: 'spec/tracker#objectives',
    ok: 200,
    returns: list(objective),
    cli: { columns },
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
      columns,
      examples: ['opsctl tracker objectives create --name "Faster sign-up" --state "in progress"'],
    },
  }),
  get: op({
    method: 'GET',
    path: '/objectives/{objective-public-id}',
    summary: 'Show an objective',
    cites: 'spec/tracker#objectives',
    params: id,
    ok: 200,
    returns: objective,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/objectives/{objective-public-id}',
    summary: 'Change an objective',
    cites: 'spec/tracker#objectives',
    params: id,
    body: objectiveUpdate,
    ok: 200,
    returns: objective,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/objectives/{objective-public-id}',
    summary: 'Delete an objective',
    cites: 'spec/tracker#objectives',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete objective {objective} and its key results? Its epics stay.' },
  }),
  epics: op({
    method: 'GET',
    path: '/objectives/{objective-public-id}/epics',
    summary: 'List the epics of an objective',
    cites: 'spec/tracker#objectives',
    params: id,
    ok: 200,
    returns: list(epicSlim),
    cli: { columns: ['id', 'name', 'state', 'stats.num_stories_done', 'stats.num_stories_total'] },
  }),
} as const satisfies Resource;
