import { bool, help, int, oneOf, orNull, req } from '../../core/field.ts';
import { archived, categoryInputs, description, name256, when } from './fields.ts';

const startedAt = when('Start, instead of the recorded one');
const completedAt = when('Completion, instead of the recorded one');
const name = help(name256, 'Name');
const shared = {
  categories: categoryInputs,
  description,
  state: help(oneOf('done', 'in progress', 'to do'), 'State'),
} as const;

/** spec/tracker: "Milestone endpoints are deprecated in favor of the identical objective endpoints". One body for both. */
export const objectiveCreate = {
  name: req(name),
  ...shared,
  completed_at_override: completedAt,
  started_at_override: startedAt,
} as const;
export const objectiveUpdate = {
  name,
  ...shared,
  after_id: help(int(), 'Move it behind this one'),
  before_id: help(int(), 'Move it before this one'),
  archived: help(bool(), archived.summary),
  completed_at_override: orNull(completedAt),
  started_at_override: orNull(startedAt),
} as const;
export const objectiveColumns = ['id', 'name', 'state', 'position', 'archived'] as const;
