import { bool, color, help, int, list, orNull, req, str } from '../../core/field.ts';
import { op, type Resource } from '../../core/operation.ts';
import { archived, descriptions, label, name128 } from './fields.ts';
import { category, epicSlim, milestone } from './planning-records.ts';
import { storySlim } from './records.ts';

const id = { 'label-public-id': req(help(int(), 'The label')) } as const;
/** spec/tracker#labels. */
export const labels = {
  list: op({
    method: 'GET',
    path: '/labels',
    summary: 'List labels',
    cites: 'spec/tracker#labels',
    query: { slim: help(bool(), 'Omit the statistics') },
    ok: 200,
    returns: list(label),
    cli: {
      columns: ['id', 'name', 'color', 'archived', 'stats.num_stories_total'],
      examples: ['opsctl tracker labels list --slim true -o json'],
    },
  }),
  create: op({
    method: 'POST',
    path: '/labels',
    summary: 'Create a label',
    cites: 'spec/tracker#labels',
    body: {
      name: req(help(str(128, { min: 1 }), 'Name, unique in the workspace')),
      color: help(color(), 'Color as #rrggbb'),
      description: help(str(1024), 'Description'),
      external_id: help(str(128, { min: 1 }), 'Your identifier for the record'),
    },
    ok: 201,
    returns: label,
    cli: {
      columns: ['id', 'name', 'color'],
      examples: ["opsctl tracker labels create --name bug --color '#cc0000'"],
    },
  }),
  get: op({
    method: 'GET',
    path: '/labels/{label-public-id}',
    summary: 'Show a label',
    cites: 'spec/tracker#labels',
    params: id,
    ok: 200,
    returns: label,
  }),
  update: op({
    method: 'PUT',
    path: '/labels/{label-public-id}',
    summary: 'Change a label',
    cites: 'spec/tracker#labels',
    params: id,
    body: {
      archived: help(bool(), 'Archive (true) or restore (false)'),
      color: orNull(help(color(), 'Color as #rrggbb')),
      description: help(str(1024), 'Description'),
      name: help(str(128, { min: 1 }), 'Name, unique in the workspace'),
    },
    ok: 200,
    returns: label,
  }),
  delete: op({
    method: 'DELETE',
    path: '/labels/{label-public-id}',
    summary: 'Delete a label',
    cites: 'spec/tracker#labels',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete label {label}? This removes it from all stories and epics.' },
  }),
  epics: op({
    method: 'GET',
    path: '/labels/{label-public-id}/epics',
    summary: 'List the epics of a label',
    cites: 'spec/tracker#labels',
    params: id,
    ok: 200,
    returns: list(epicSlim),
    cli: { columns: ['id', 'name', 'state', 'stats.num_stories_done', 'stats.num_stories_total'] },
  }),
  stories: op({
    method: 'GET',
    path: '/labels/{label-public-id}/stories',
    summary: 'List the stories of a label',
    cites: 'spec/tracker#labels',
    params: id,
    query: descriptions,
    ok: 200,
    returns: list(storySlim),
    cli: { columns: ['id', 'name', 'story_type', 'workflow_state_id', 'estimate'] },
  }),
} as const satisfies Resource;

const categoriesId = { 'category-public-id': req(help(int(), 'The category')) } as const;
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
      color: help(color(), 'Color as #rrggbb'),
      external_id: help(str(128, { min: 1 }), 'Your identifier for the record'),
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
    params: categoriesId,
    ok: 200,
    returns: category,
  }),
  update: op({
    method: 'PUT',
    path: '/categories/{category-public-id}',
    summary: 'Change a category',
    cites: 'spec/tracker#categories',
    params: categoriesId,
    body: {
      archived: help(bool(), archived.summary),
      color: orNull(help(color(), 'Color as #rrggbb')),
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
    params: categoriesId,
    ok: 204,
    cli: { confirm: 'Delete category {category}? This removes it from all objectives.' },
  }),
  milestones: op({
    method: 'GET',
    path: '/categories/{category-public-id}/milestones',
    summary: 'List the milestones of a category',
    cites: 'spec/tracker#categories',
    params: categoriesId,
    ok: 200,
    returns: list(milestone),
    cli: { columns: objectiveColumns },
  }),
  objectives: op({
    method: 'GET',
    path: '/categories/{category-public-id}/objectives',
    summary: 'List the objectives of a category',
    cites: 'spec/tracker#categories',
    params: categoriesId,
    ok: 200,
    // spec/tracker: "[Milestone-shaped objects]".
    returns: list(milestone),
    cli: { columns: objectiveColumns },
  }),
} as const satisfies Resource;
