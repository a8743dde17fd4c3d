import { brokenPage } from '../core/limits.ts';
import { tracker } from '../api-specs/tracker/index.ts';
import type { EngineContext } from '../api/context.ts';
import { misfit } from '../core/shape.ts';
import { AppError, invalidArguments, problem } from '../core/problem.ts';
import { nearest } from '../core/text.ts';

export type Story = Readonly<Record<string, unknown>> & {
  readonly id: number;
  readonly name: string;
  readonly workflow_id: number;
  readonly workflow_state_id: number;
  readonly updated_at: string;
};
type State = {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  /** All names of the state; without it, its own name only. */
  readonly names?: readonly string[];
};
type Workflow = { readonly id: number; readonly name: string; readonly states: readonly State[] };

/** Reads a story, even in a dry run, because a plan needs the current state. */
export const readStory = async (context: EngineContext, id: number): Promise<Story> =>
  (await context.lookups.call(tracker, tracker.table.stories.get, {
    params: { 'story-public-id': id },
  })) as Story;
export const updateStory = async (
  context: EngineContext,
  id: number,
  body: Readonly<Record<string, unknown>>,
): Promise<Story> =>
  (await context.call(tracker, tracker.table.stories.update, {
    params: { 'story-public-id': id },
    body,
  })) as Story;

/**
 * Returns the names that mean a state, wherever a user names one: its own name, and WORKFLOW/STATE, because states of
 * several workflows often have the same name.
 */
export const namesOfState = (workflow: unknown, state: unknown): string[] =>
  [state, `${workflow}/${state}`].filter((name): name is string => typeof name === 'string' && name !== '');
/** Returns the first name of each state that no other state has, or its ID, as the text of a file. */
export const stateTexts = (workflows: readonly Workflow[]): ReadonlyMap<unknown, string> => {
  const all = workflows.flatMap(({ name, states }) =>
    states.map((state) => ({ id: state.id, names: namesOfState(name, state.name) })),
  );
  const counts = new Map<string, number>();
  for (const name of all.flatMap(({ names }) => names)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    all.map(({ id, names }) => [id, names.find((name) => counts.get(name) === 1) ?? String(id)]),
  );
};
/** Returns the workflows with their states. A workflow without states has an empty list. */
export const readWorkflows = async (context: EngineContext): Promise<readonly Workflow[]> => {
  const found = await context.lookups.call(tracker, tracker.table.workflows.list, {});
  const workflows = (found as readonly Workflow[]).map((one) => ({ ...one, states: one.states ?? [] }));
  const wrong = misfit(workflows, [{ name: 'text', states: [{ name: 'text' }] }]);
  if (wrong !== undefined) throw brokenPage('GET /workflows', wrong);
  return workflows;
};
/** Returns the states of the story's own workflow, in their order. */
export const readStates = async (
  context: EngineContext,
  { workflow_id: id }: Story,
): Promise<readonly State[]> => {
  const own = (await readWorkflows(context)).find((workflow) => workflow.id === id);
  return (own?.states ?? []).map((state) => ({ ...state, names: namesOfState(own?.name, state.name) }));
};

/** Common words for the types of states, independent of the names of the states in the workspace. */
const typeWords: Readonly<Record<string, string>> = {
  backlog: 'backlog',
  todo: 'unstarted',
  ready: 'unstarted',
  unstarted: 'unstarted',
  start: 'started',
  started: 'started',
  doing: 'started',
  'in progress': 'started',
  progress: 'started',
  done: 'done',
  finished: 'done',
  closed: 'done',
  complete: 'done',
  completed: 'done',
};
const fold = (text: string): string => text.trim().toLowerCase().replaceAll(/[_-]+/g, ' ');
/**
 * Finds the state for a word: its ID, its name, or otherwise the first state of the type that the word names. Of
 * several states with this name, none is chosen.
 */
export const findState = (states: readonly State[], word: string, path: string): State => {
  const [byId] = states.filter(({ id }) => String(id) === word);
  const find = (isNamed: (name: string) => boolean): State[] =>
    states.filter(({ name, names = [name] }) => names.some(isNamed));
  const exact = find((name) => name === word);
  const named = exact.length > 0 ? exact : find((name) => fold(name) === fold(word));
  if (byId === undefined && named.length > 1) {
    const ids = named.map(({ id, name }) => `${id} (${name})`).join(', ');
    throw invalidArguments([
      problem(
        path,
        'rule',
        `${JSON.stringify(word)} is the name of ${named.length} states: ${ids}`,
        'give the id',
      ),
    ]);
  }
  const found = byId ?? named[0] ?? states.find(({ type }) => type === typeWords[fold(word)]);
  if (found !== undefined) return found;
  const names = states.map(({ name }) => name);
  const close = nearest(word, names);
  throw invalidArguments([
    problem(
      path,
      'enum',
      `workflow state not found: ${JSON.stringify(word)}; available: ${names.join(', ')}`,
      close && `did you mean ${close}?`,
    ),
  ]);
};

/** Fields of a story that a copy has as well. */
const copiedFields = [
  'description',
  'story_type',
  'estimate',
  'epic_id',
  'iteration_id',
  'group_id',
  'project_id',
  'owner_ids',
  'deadline',
  'external_links',
] as const;
/** Returns the body that creates a copy of a story, with open tasks and without comments and history. Pure. */
export const copyOfStory = (story: Story, name: string | undefined): Record<string, unknown> => {
  const body: Record<string, unknown> = {
    name: name ?? `${story.name} (copy)`,
    workflow_state_id: story.workflow_state_id,
  };
  // Either a project or a workflow state places a story; a project belongs to the old way.
  for (const field of copiedFields) {
    const value = story[field];
    const isEmpty =
      value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
    if (!isEmpty && field !== 'project_id') body[field] = value;
  }
  const labels = (story.labels as { name: string }[] | undefined) ?? [];
  if (labels.length > 0) body.labels = labels.map((label) => ({ name: label.name }));
  const tasks = (story.tasks as { description: string }[] | undefined) ?? [];
  if (tasks.length > 0) body.tasks = tasks.map(({ description }) => ({ description }));
  return body;
};

/** Fields that a person edits as one text. */
export const editableFields = [
  'name',
  'story_type',
  'estimate',
  'deadline',
  'epic_id',
  'iteration_id',
  'owner_ids',
  'description',
] as const;
export type Change = { readonly field: string; readonly from: unknown; readonly to: unknown };
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
/** Returns the fields in which two versions differ. Pure. */
export const listChanges = (
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  fields: readonly string[],
): Change[] =>
  fields
    .filter((field) => !isSame(before[field], after[field]))
    .map((field) => ({ field, from: before[field] ?? null, to: after[field] ?? null }));
const lines = (sign: string, value: unknown): string[] =>
  (typeof value === 'string' ? value : JSON.stringify(value)).split('\n').map((line) => `  ${sign} ${line}`);
/** The changes as a diff for a person: the old lines with `-`, the new lines with `+`. */
export const diffText = (changes: readonly Change[]): string =>
  changes
    .flatMap(({ field, from, to }) => [
      `${field}:`,
      ...(from === null || from === '' ? [] : lines('-', from)),
      ...(to === null || to === '' ? [] : lines('+', to)),
    ])
    .join('\n');
/** Refuses to overwrite a field that another user has changed since the edit started. */
export const assertNoConflict = (mine: readonly Change[], theirs: readonly Change[]): void => {
  const both = mine.filter(({ field }) => theirs.some((other) => other.field === field));
  if (both.length === 0) return;
  throw new AppError(
    'refused',
    `the story has changed in the meantime: ${both.map(({ field }) => field).join(', ')}; no changes were made`,
    { code: 'CONFLICT', tryThis: ['check the story, then repeat the edit'] },
  );
};
