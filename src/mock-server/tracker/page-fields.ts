import { type Html, html } from '../html.ts';
import { pathOf } from './page-records.ts';
import type { Tracker } from './state.ts';

type Row = Readonly<Record<string, unknown>>;

/** Fields that name another record, and the page it has. */
const referred: Readonly<Record<string, string>> = {
  epic_id: 'epic',
  group_id: 'team',
  group_mention_ids: 'team',
  group_ids: 'team',
  iteration_id: 'iteration',
  label_ids: 'label',
  mention_ids: 'team',
  milestone_id: 'objective',
  object_id: 'story',
  objective_ids: 'objective',
  parent_story_id: 'story',
  previous_iteration_ids: 'iteration',
  project_id: 'project',
  project_ids: 'project',
  sub_task_story_ids: 'story',
  story_ids: 'story',
  subject_id: 'story',
};
/** Said by the heading, or by the records beside them. */
const HIDDEN: ReadonlySet<string> = new Set(['app_url', 'entity_type', 'name', 'title', 'value_id']);

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
const heading = (field: string): string => field.replace(/_ids?$/, '').replaceAll('_', ' ');

/** The name of a member, of a state of a workflow, or a link to the page of a record; else the id itself. */
const named = (state: Tracker, field: string, id: unknown): Html => {
  const page = referred[field] === undefined ? undefined : pathOf(state, referred[field], id);
  if (page !== undefined) return html`<a href="/app/${page.path}">${page.name}</a>`;
  const custom = field === 'field_id' ? state.customFields.get(String(id)) : undefined;
  if (custom !== undefined) return html`${custom.name}`;
  const member = typeof id === 'string' ? state.members.get(id) : undefined;
  if (member !== undefined)
    return html`${member.profile.name} <small>@${member.profile.mention_name}</small>`;
  const states = [...state.workflows.values()].flatMap((workflow) => workflow.states);
  const epicStates = [...state.epicWorkflow.values()].flatMap((workflow) => workflow.epic_states);
  const found =
    field === 'workflow_state_id'
      ? states.find((one) => one.id === id)
      : field === 'epic_state_id'
        ? epicStates.find((one) => one.id === id)
        : undefined;
  return found === undefined ? html`${String(id)}` : html`${found.name}`;
};

const COLOR = /^#[0-9a-f]{6}$/i;
/** A colour is also drawn. SVG takes it as an attribute: an inline style would need a hole in the page's policy. */
const text = (value: string): Html =>
  COLOR.test(value)
    ? html`<svg class="dot" viewBox="0 0 2 2" aria-hidden="true"><circle cx="1" cy="1" r="1" fill="${value}"/></svg>${value}`
    : html`<pre>${value}</pre>`;

const shown = (state: Tracker, field: string, value: unknown): Html => {
  if (Array.isArray(value))
    return html`<ul>${value.map((one) => html`<li>${shown(state, field, one)}</li>`)}</ul>`;
  if (typeof value === 'object' && value !== null) {
    const { name } = value as Row;
    return html`${typeof name === 'string' ? html`<b>${name}</b>` : ''}<dl>${rows(state, value as Row)}</dl>`;
  }
  if (/_ids?$/.test(field)) return named(state, field, value);
  return typeof value === 'string' ? text(value) : html`${String(value)}`;
};

/** The description is what people come for; labels are links already where their ids are given. */
const inOrder = ({ description, ...rest }: Row): [string, unknown][] =>
  Object.entries({ description, ...rest }).filter(
    ([field, value]) => !HIDDEN.has(field) && !isEmpty(value) && !(field === 'labels' && 'label_ids' in rest),
  );

const rows = (state: Tracker, record: Row): Html[] =>
  inOrder(record).map(
    ([field, value]) => html`<dt>${heading(field)}</dt><dd>${shown(state, field, value)}</dd>`,
  );

/** All fields that have a value, in the order of the endpoint; every text of the workspace is escaped. */
export const fieldsShown = (state: Tracker, record: Row): Html =>
  html`<dl class="record">${rows(state, record)}</dl>`;
