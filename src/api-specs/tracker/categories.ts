import { bool, color, help, int, list, orNull, req, str } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { archived, name128 } from './fields.ts';
import { category, milestone } from './planning-records.ts';

const id = { 'category-public-id': req(help(int(), 'The category')) } as const;
const columns = ['id', 'name', 'color', 'archived'] as const;
const objectiveColumns = ['id', 'name', 'state', 'archived'] as const;

/** spec/tracker#categories. */
export const categories = {
  list: op({
    method: 'GET',
    path: '/categories',
    summary: 'List categories',
    cites: 'spec/tracker#categories',
    ok: 200,
    returns: list(category),
    cli: { columns },
  }),
  create: op({
    method: 'POST',
    path: '/categories',
    summary: 'Create a category',
    cites: 'spec/tracker#categories',
    body: {
      name: req(help(name128, 'Name, unique in the workspace')),
      color: help(color(), 'Colour as #rrggbb'),
      external_id: help(str(128, { min: 1 }), 'Your own id of it'),
    },
    ok: 201,
    returns: category,
    cli: { columns, examples: ["opsctl tracker categories create --name Growth --color '#2266cc'"] },
  }),
  get: op({
    method: 'GET',
    path: '/categories/{category-public-id}',
    summary: 'Show a category',
    cites: 'spec/tracker#categories',
    params: id,
    ok: 200,
    returns: category,
  }),
  update: op({
    method: 'PUT',
    path: '/categories/{category-public-id}',
    summary: 'Change a category',
    cites: 'spec/tracker#categories',
    params: id,
    body: {
      archived: help(bool(), archived.summary),
      color: orNull(help(color(), 'Colour as #rrggbb')),
      name: help(name128, 'Name, unique in the workspace'),
    },
    ok: 200,
    returns: category,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/categories/{category-public-id}',
    summary: 'Delete a category',
    cites: 'spec/tracker#categories',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete category {category}? It is taken off every objective.' },
  }),
  milestones: op({
    method: 'GET',
    path: '/categories/{category-public-id}/milestones',
    summary: 'List the milestones of a category',
    cites: 'spec/tracker#categories',
    params: id,
    ok: 200,
    returns: list(milestone),
    cli: { columns: objectiveColumns },
  }),
  objectives: op({
    method: 'GET',
    path: '/categories/{category-public-id}/objectives',
    summary: 'List the objectives of a category',
    cites: 'spec/tracker#categories',
    params: id,
    ok: 200,
    // spec/tracker: "[Milestone-shaped objects]".
    returns: list(milestone),
    cli: { columns: objectiveColumns },
  }),
} as const satisfies Resource;
