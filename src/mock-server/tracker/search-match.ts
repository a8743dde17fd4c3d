import { hasComments, epicStateType, nameOfType } from './epic-view.ts';
import { iterationStatus } from './objectives.ts';
import type { StoredEpic, StoredIteration, StoredObjective, StoredStory } from './row.ts';
import type { Tracker } from './state.ts';

/** One condition of a search: `!owner:ana` is `{ operator: 'owner', value: 'ana', not: true }`; a bare word has operator ''. */
export type Term = { readonly operator: string; readonly value: string; readonly not: boolean };
/** spec/tracker#search: "AND by default, `!` inverts; quoted strings". */
const TOKEN = /(!|-)?(?:([a-z][a-z-]*):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))/gi;
const OPERATORS = new Set([
  'id',
  'epic',
  'label',
  'project',
  'state',
  'owner',
  'requester',
  'type',
  'estimate',
  'team',
  'group',
  'iteration',
  'objective',
  'milestone',
  'created',
  'updated',
  'completed',
  'moved',
  'due',
  'is',
  'has',
  'title',
  'name',
  'description',
  'text',
  'skill-set',
  'product-area',
  'priority',
  'severity',
]);
/**
 * A word with a colon that is not an operator (`http://x`) is a plain word. A word such as `-5` keeps its
 * dash.
 */
const termOf = ([whole, bang, operator, quoted, word]: RegExpMatchArray): Term => {
  const value = quoted === undefined ? (word ?? '') : quoted.replace(/\\(.)/g, '$1');
  const known = operator?.toLowerCase();
  if (known !== undefined && OPERATORS.has(known)) return { operator: known, value, not: bang !== undefined };
  const text = operator === undefined ? value : `${operator}:${value}`;
  return { operator: '', value: bang === '-' && quoted === undefined ? whole : text, not: bang === '!' };
};
/** Words and operators of a query, in order. */
export const termsFrom = (query: string): Term[] => [...query.matchAll(TOKEN)].map(termOf);
const DAY_MS = 86_400_000;
const dayStart = (text: string, now: number): number | undefined => {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  if (text === 'today') return today;
  if (text === 'yesterday') return today - DAY_MS;
  if (text === 'tomorrow') return today + DAY_MS;
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : undefined;
};
/** `2023-01-01`, `today`, `2023-01-01..2023-02-01`, `*..2023-01-01`; both ends included. Undefined for anything else. */
export const daysFrom = (
  text: string,
  now: number,
): { readonly from: number; readonly to: number } | undefined => {
  const [first = '', last = first] = text.toLowerCase().split('..');
  const from = first === '*' ? Number.NEGATIVE_INFINITY : dayStart(first, now);
  const to = last === '*' ? Number.POSITIVE_INFINITY : dayStart(last, now);
  if (from === undefined || to === undefined || (first === '*' && last === '*' && !text.includes('..')))
    return undefined;
  return { from, to: to + DAY_MS - 1 };
};

type Kind = 'story' | 'epic' | 'iteration' | 'milestone';
/** The searchable values, in one form for each kind of record. Values that a kind does not have are empty. */
type Subject = {
  readonly id: number;
  readonly kind: Kind;
  readonly name: string;
  readonly description: string;
  readonly archived: boolean;
  readonly names: Readonly<Record<string, () => readonly string[]>>;
  readonly times: Readonly<Record<string, string | null>>;
  readonly is: Readonly<Record<string, () => boolean>>;
  readonly has: Readonly<Record<string, () => boolean>>;
};
const nothing = (): readonly string[] => [];
/** A record is selected by its ID or its name. */
const idAndName = (record: { id: number | string; name: string } | undefined): string[] =>
  record === undefined ? [] : [String(record.id), record.name];
const people = (state: Tracker, ids: readonly string[]) => (): string[] =>
  ids.flatMap((id) => {
    const member = state.members.get(id);
    return member === undefined ? [id] : [id, member.profile.mention_name, member.profile.name];
  });
const matchName =
  <T extends { id: number | string; name: string }>(
    collection: { get(id: T['id']): T | undefined },
    ids: readonly T['id'][],
  ) =>
  (): string[] =>
    ids.flatMap((id) => idAndName(collection.get(id)));
const groupNames = (state: Tracker, ids: readonly string[]) => (): string[] =>
  ids.flatMap((id) => {
    const group = state.groups.get(id);
    return group === undefined ? [] : [id, group.name, group.mention_name];
  });
const stateNames = (state: Tracker, stateId: number) => (): string[] => {
  for (const { states } of state.workflows.values())
    for (const one of states) if (one.id === stateId) return [String(one.id), one.name];
  return [];
};
const epicStateNames = (state: Tracker, stateId: number) => (): string[] => {
  for (const { epic_states: states } of state.epicWorkflow.values())
    for (const one of states) if (one.id === stateId) return [String(one.id), one.name];
  return [];
};
const isOverdue = (state: Tracker, deadline: string | null, completed: boolean) => (): boolean =>
  deadline !== null && !completed && Date.parse(deadline) < state.env.now();
const customValues = (story: StoredStory, state: Tracker, name: string) => (): string[] =>
  story.custom_fields.flatMap((one) =>
    (state.customFields.get(one.field_id)?.canonical_name ?? '').replaceAll('_', '-') === name
      ? [one.value]
      : [],
  );
const namesOfStory = (state: Tracker, story: StoredStory): Subject['names'] => {
  const objectives = story.epic_id === null ? [] : (state.epics.get(story.epic_id)?.objective_ids ?? []);
  return {
    epic: story.epic_id === null ? nothing : matchName(state.epics, [story.epic_id]),
    label: matchName(state.labels, story.label_ids),
    project: story.project_id === null ? nothing : matchName(state.projects, [story.project_id]),
    iteration: story.iteration_id === null ? nothing : matchName(state.iterations, [story.iteration_id]),
    objective: matchName(state.objectives, objectives),
    state: stateNames(state, story.workflow_state_id),
    owner: people(state, story.owner_ids),
    requester: people(state, [story.requested_by_id]),
    team: groupNames(state, story.group_id === null ? [] : [story.group_id]),
    type: () => [story.story_type],
    estimate: () => (story.estimate === null ? [] : [String(story.estimate)]),
    ...Object.fromEntries(
      ['skill-set', 'product-area', 'priority', 'severity'].map((name) => [
        name,
        customValues(story, state, name),
      ]),
    ),
  };
};
export const storySubject = (state: Tracker, story: StoredStory): Subject => {
  const type = state.counters.typeOf(story.workflow_state_id);
  return {
    id: story.id,
    kind: 'story',
    name: story.name,
    description: story.description,
    archived: story.archived,
    names: namesOfStory(state, story),
    times: {
      created: story.created_at,
      updated: story.updated_at,
      completed: story.completed_at_override ?? story.completed_at,
      moved: story.moved_at,
      due: story.deadline,
    },
    is: {
      unstarted: () => type === 'unstarted' || type === 'backlog',
      backlog: () => type === 'backlog',
      started: () => type === 'started',
      done: () => type === 'done',
      blocked: () => story.blocked,
      blocker: () => story.blocker,
      overdue: isOverdue(state, story.deadline, story.completed),
      unestimated: () => story.estimate === null,
    },
    has: {
      attachment: () => story.file_ids.length + story.linked_file_ids.length > 0,
      comment: () => story.comment_ids.length > 0,
      deadline: () => story.deadline !== null,
      epic: () => story.epic_id !== null,
      'external-link': () => story.external_links.length > 0,
      label: () => story.label_ids.length > 0,
      owner: () => story.owner_ids.length > 0,
      task: () => story.task_ids.length > 0,
    },
  };
};
export const epicSubject = (state: Tracker, epic: StoredEpic): Subject => {
  const type = epicStateType(state, epic.epic_state_id);
  return {
    id: epic.id,
    kind: 'epic',
    name: epic.name,
    description: epic.description,
    archived: epic.archived,
    names: {
      epic: () => idAndName(epic),
      label: matchName(state.labels, epic.label_ids),
      objective: matchName(state.objectives, epic.objective_ids),
      project: matchName(state.projects, [...state.counters.of('epic', epic.id).projects.keys()]),
      state: () => [...epicStateNames(state, epic.epic_state_id)(), nameOfType(type)],
      owner: people(state, epic.owner_ids),
      requester: people(state, [epic.requested_by_id]),
      team: groupNames(state, epic.group_ids),
    },
    times: {
      created: epic.created_at,
      updated: epic.updated_at,
      completed: epic.completed_at_override ?? epic.completed_at,
      due: epic.deadline,
    },
    is: {
      unstarted: () => type === 'unstarted',
      started: () => type === 'started',
      done: () => type === 'done',
      overdue: isOverdue(state, epic.deadline, epic.completed),
    },
    has: {
      comment: () => hasComments(state, epic.id),
      deadline: () => epic.deadline !== null,
      label: () => epic.label_ids.length > 0,
      owner: () => epic.owner_ids.length > 0,
    },
  };
};
export const iterationSubject = (state: Tracker, one: StoredIteration): Subject => {
  const status = iterationStatus(state, one);
  return {
    id: one.id,
    kind: 'iteration',
    name: one.name,
    description: one.description,
    archived: false,
    names: {
      iteration: () => idAndName(one),
      label: matchName(state.labels, one.label_ids),
      team: groupNames(state, one.group_ids),
      state: () => [status],
    },
    times: { created: one.created_at, updated: one.updated_at, due: `${one.end_date}T00:00:00Z` },
    is: {
      unstarted: () => status === 'unstarted',
      started: () => status === 'started',
      done: () => status === 'done',
    },
    has: { label: () => one.label_ids.length > 0 },
  };
};
export const milestoneSubject = (_state: Tracker, one: StoredObjective): Subject => ({
  id: one.id,
  kind: 'milestone',
  name: one.name,
  description: one.description,
  archived: one.archived,
  names: { objective: () => idAndName(one), state: () => [one.state] },
  times: {
    created: one.created_at,
    updated: one.updated_at,
    completed: one.completed_at_override ?? one.completed_at,
  },
  is: {
    unstarted: () => !one.started,
    started: () => one.started && !one.completed,
    done: () => one.completed,
  },
  has: {},
});
const contains = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());
const alias: Readonly<Record<string, string>> = { group: 'team', milestone: 'objective' };
const kindOf: Readonly<Record<string, Kind>> = {
  story: 'story',
  epic: 'epic',
  iteration: 'iteration',
  milestone: 'milestone',
  objective: 'milestone',
};
const holds = (subject: Subject, { operator, value }: Term, now: number): boolean => {
  switch (operator) {
    case '':
    case 'text':
      return (
        contains(subject.name, value) || contains(subject.description, value) || String(subject.id) === value
      );
    case 'title':
    case 'name':
      return contains(subject.name, value);
    case 'description':
      return contains(subject.description, value);
    case 'id':
      return String(subject.id) === value;
    case 'is': {
      const what = value.toLowerCase();
      if (what === 'archived') return subject.archived;
      return what in kindOf ? kindOf[what] === subject.kind : (subject.is[what]?.() ?? false);
    }
    case 'has':
      return subject.has[value.toLowerCase()]?.() ?? false;
    default:
      return holdsField(subject, alias[operator] ?? operator, value, now);
  }
};
const holdsField = (subject: Subject, field: string, value: string, now: number): boolean => {
  const names = subject.names[field];
  if (names !== undefined) {
    const wanted = value.toLowerCase().replace(/^@/, '');
    return names().some((name) => name.toLowerCase() === wanted);
  }
  const time = subject.times[field];
  const days = daysFrom(value, now);
  if (time === undefined || time === null || days === undefined) return false;
  const at = Date.parse(time);
  return at >= days.from && at <= days.to;
};
/** spec/tracker#search: all terms must hold. */
export const matches = (subject: Subject, terms: readonly Term[], now: number): boolean =>
  terms.every((term) => holds(subject, term, now) !== term.not);
