import { heldRows } from '../../core/limits.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { Context } from '../../api/context.ts';
import { type Command, defineCommand, extend, intervalFlag } from '../../cli/command.ts';
import { columnsOf, commandFrom } from '../../cli/derived/command.ts';
import { assertServerStays, intervalMsOf } from '../../cli/watch-list.ts';
import { bool, duration, int, list, req, str } from '../../core/field.ts';
import type { Argument, Flags, Values } from '../../core/flag.ts';
import { countText, parseDuration } from '../../core/format.ts';
import { next } from '../../core/next.ts';
import { parseLookupRow } from '../../api/response.ts';
import { hiddenTextProblems, readMoments } from '../../core/check.ts';
import { AppError, invalidArguments, messageOf, problem, reword } from '../../core/problem.ts';
import { nothing, recordResult, type Result } from '../../core/result.ts';
import { yamlText } from '../../output/formats.ts';
import { trackerNames } from '../../tracker/names/name-resolution.ts';
import { nameChanges, trackerView } from '../../tracker/screens.ts';
import {
  assertNoConflict,
  type Change,
  copyOfStory,
  diffText,
  editableFields,
  findState,
  listChanges,
  readStates,
  readStory,
  type Story,
  updateStory,
} from '../../tracker/stories.ts';
import { editText, keptText, mustBeAtTerminal, openPage } from './extensions.ts';
import { searchCommand } from './records.ts';

const storyArgument = {
  name: 'story',
  effects: [],
  field: req(int({ min: 1 })),
  summary: 'ID of the story',
  complete: 'story',
} as const satisfies Argument;
const operation = { service: tracker, operation: tracker.table.stories.get } as const;
const storyView = (context: Context) =>
  trackerView(context, tracker.table.stories.get, columnsOf(tracker.table.stories.get));
const showStory = (context: Context, story: unknown, message: string): Result =>
  recordResult(story, { ...storyView(context), message });

const search = commandFrom({
  service: tracker,
  resource: 'stories',
  verb: 'search',
  operation: tracker.table.stories.search,
  naming: trackerNames,
});
const queryArgument = {
  name: 'query',
  optional: true,
  effects: [],
  field: str(),
  summary: 'Search query, such as owner:ana is:started',
} as const satisfies Argument;
const storiesView = (context: Context) =>
  trackerView(context, tracker.table.stories.search, columnsOf(tracker.table.stories.search));
const listCommand: Command = extend(search, {
  path: ['tracker', 'stories', 'list'],
  summary: 'List stories by query or by field',
  about:
    'With a query, the command is `tracker search --type story`. With flags, it is `tracker stories search`. Use one or the other.',
  args: [queryArgument],
  examples: [
    {
      line: 'opsctl tracker stories list --owner @ana --workflow-state "In Progress"',
      says: 'List by field',
    },
    { line: "opsctl tracker stories list 'owner:ana is:started'", says: 'List by query' },
  ],
  run: async (context, values) => {
    const { query, ...filters } = values;
    if (query === undefined) return search.run(context, filters);
    const [flag] = Object.keys(filters).filter((name) => name !== 'limit');
    if (flag !== undefined)
      throw invalidArguments([problem(`--${flag}`, 'exclusive', 'cannot be combined with a query')]);
    const found = await searchCommand.run(context, { query, type: ['story'], all: true });
    // The view of a search has a column for the type, which is the same in every row here.
    return found.kind === 'rows' ? { ...found, view: storiesView(context) } : found;
  },
});
const readMe = async (context: Context): Promise<{ readonly id: string }> =>
  (await context.lookups.call(tracker, tracker.table.members.me, {})) as {
    readonly id: string;
  };
const mineCommand = defineCommand({
  path: ['tracker', 'stories', 'mine'],
  summary: 'List the unfinished stories that you own',
  flags: { all: { effects: [], field: bool(), summary: 'Include finished stories' } },
  examples: [{ line: 'opsctl tracker stories mine', says: 'Check the remaining work' }],
  operation: { service: tracker, operation: tracker.table.stories.search },
  run: async (context, { all }): Promise<Result> => {
    const { id } = await readMe(context);
    const open = { workflow_state_types: ['backlog', 'unstarted', 'started'] };
    const body = { owner_ids: [id], ...(all === true ? {} : open) };
    const rows = (await context.call(tracker, tracker.table.stories.search, { body })) as unknown[];
    const ifEmpty = next(['tracker', 'stories', 'list']);
    return { kind: 'rows', rows, view: { ...storiesView(context), ifEmpty } };
  },
});

const move = async (context: Context, id: number, word: string, path: string): Promise<Result> => {
  const story = await readStory(context, id);
  const states = await readStates(context, story);
  const state = findState(states, word, path);
  if (state.id === story.workflow_state_id)
    return showStory(context, story, `story ${id} is in ${state.name} already; no changes were made`);
  const from = states.find((one) => one.id === story.workflow_state_id)?.name ?? story.workflow_state_id;
  const changed = await updateStory(context, id, { workflow_state_id: state.id });
  return showStory(context, changed, `story ${id} moved from ${from} to ${state.name}`);
};
const moveCommand = defineCommand({
  path: ['tracker', 'stories', 'move'],
  summary: 'Move a story to a workflow state',
  about:
    'The state is a name of the workflow of the story, an ID, or a common word such as todo, doing or done, which means the first state of that type.',
  args: [
    storyArgument,
    {
      name: 'state',
      effects: [],
      field: req(str(undefined, { min: 1 })),
      summary: 'Name of the state',
      complete: 'workflow-state',
    },
  ],
  examples: [{ line: 'opsctl tracker stories move 107 "In Progress"', says: 'Start work on a story' }],
  operation: { service: tracker, operation: tracker.table.stories.update },
  run: (context, { story, state }) => move(context, story, state, '<state>'),
});
const moveTo = (verb: string, word: string, summary: string): Command =>
  defineCommand({
    path: ['tracker', 'stories', verb],
    summary,
    args: [storyArgument],
    examples: [{ line: `opsctl tracker stories ${verb} 107`, says: summary }],
    operation: { service: tracker, operation: tracker.table.stories.update },
    run: (context, { story }) => move(context, story, word, '<story>'),
  });

const openCommand = defineCommand({
  path: ['tracker', 'stories', 'open'],
  summary: 'Open a story in the browser',
  args: [storyArgument],
  effects: ['runs'],
  examples: [{ line: 'opsctl tracker stories open 107', says: 'Read the story on its page' }],
  operation,
  run: async (context, { story }) => {
    const found = await readStory(context, story);
    if (!context.isInteractive)
      await assertServerStays(context, 'tracker', 'no browser is available to show the page');
    await openPage(context, found.app_url);
    return nothing();
  },
});

const cloneCommand = defineCommand({
  path: ['tracker', 'stories', 'clone'],
  summary: 'Create a copy of a story with its tasks',
  about:
    'The copy has the fields, labels, owners and tasks of the story. Comments, files and history stay with the original.',
  args: [storyArgument],
  flags: { name: { effects: [], field: str(512, { min: 1 }), summary: 'Name of the copy', value: 'text' } },
  examples: [
    { line: 'opsctl tracker stories clone 107 --name "Sign-in form"', says: 'Start from a similar story' },
  ],
  operation: { service: tracker, operation: tracker.table.stories.create },
  run: async (context, { story, name }) => {
    const body = copyOfStory(await readStory(context, story), name);
    const made = (await context.call(tracker, tracker.table.stories.create, { body })) as Story;
    return showStory(context, made, `story ${story} copied to story ${made.id}`);
  },
});

const HEAD =
  '# Save and close the editor to see the changes. Do not delete fields: a missing field stays unchanged.\n';
const readEdited = async (text: string): Promise<Record<string, unknown>> => {
  const { parse } = await import('../../platform/yaml.ts');
  try {
    const value = parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch (error) {
    throw new AppError('usage', `the edited text is not YAML: ${messageOf(error)}; no changes were made`);
  }
  throw new AppError('usage', 'the edited text is not a YAML mapping; no changes were made');
};
const assertEditable = (edited: Record<string, unknown>): void => {
  const problems = Object.keys(edited)
    .filter((field) => !(editableFields as readonly string[]).includes(field))
    .map((field) => problem(field, 'unknown', 'cannot be edited', `one of: ${editableFields.join(', ')}`));
  if (problems.length > 0) throw invalidArguments(problems);
};
/** Shows the changes, confirms, and sends them unless another user has changed the same fields. */
const applyEdit = async (
  context: Context,
  before: Story,
  edited: Record<string, unknown>,
): Promise<Result> => {
  assertEditable(edited);
  const read = readMoments(tracker.table.stories.update.body, edited);
  const changes: readonly Change[] = listChanges(before, { ...before, ...read }, editableFields);
  if (changes.length === 0) return nothing('the text was not edited; no changes were made');
  const body = Object.fromEntries(changes.map(({ field, to }) => [field, to]));
  const hidden = hiddenTextProblems(body, '');
  if (hidden.length > 0) throw invalidArguments(hidden);
  if (!context.isQuiet) context.log.info(diffText(await nameChanges(context, changes)), true);
  if (context.isInteractive) await context.confirm(`Apply these changes to story ${before.id}?`);
  const now = await readStory(context, before.id);
  assertNoConflict(changes, listChanges(before, now, editableFields));
  const changed = await updateStory(context, before.id, body);
  return showStory(
    context,
    changed,
    `story ${before.id} changed: ${changes.map(({ field }) => field).join(', ')}`,
  );
};
const editCommand = defineCommand({
  path: ['tracker', 'stories', 'edit'],
  summary: 'Edit a story as YAML in your editor',
  about:
    'Opens $VISUAL or $EDITOR, shows the changes, asks for confirmation, and sends only the fields that you changed. If another user has changed one of these fields in the meantime, no changes are made and opsctl keeps your text.',
  args: [storyArgument],
  effects: ['runs'],
  examples: [{ line: 'opsctl tracker stories edit 107', says: 'Change several fields together' }],
  operation: { service: tracker, operation: tracker.table.stories.update },
  run: async (context, { story }) => {
    mustBeAtTerminal(context);
    const before = await readStory(context, story);
    const shown = Object.fromEntries(editableFields.map((field) => [field, before[field] ?? null]));
    const saved = await editText(context, HEAD + (await yamlText(shown)));
    try {
      const result = await applyEdit(context, before, await readEdited(saved.text));
      await saved.drop();
      return result;
    } catch (error) {
      throw await keptText(context, error, saved, (path) => `it is in ${path}`);
    }
  },
});

const pollFlags = { interval: intervalFlag } as const satisfies Flags;
const watchedFields = [
  ...editableFields,
  'workflow_state_id',
  'group_id',
  'archived',
  'blocked',
  'labels',
  'tasks',
  'comments',
];
/** One row per changed field, until the run is stopped. */
async function* watchStory(context: Context, id: number, intervalMs: number): AsyncGenerator<unknown> {
  await assertServerStays(context, 'tracker', 'no other command can change the story');
  let before = await readStory(context, id);
  for (;;) {
    await context.host.sleep(intervalMs, context.signal);
    const now = await readStory(context, id);
    if (now.updated_at !== before.updated_at)
      for (const { field, from, to } of listChanges(before, now, watchedFields))
        yield { at: now.updated_at, field, from, to };
    before = now;
  }
}
const watchCommand = defineCommand({
  path: ['tracker', 'stories', 'watch'],
  summary: 'Print each change of a story until Ctrl-C',
  args: [storyArgument],
  flags: pollFlags,
  examples: [{ line: 'opsctl tracker stories watch 107 -o ndjson', says: 'Follow a story in a script' }],
  run: async (context, { story, interval }): Promise<Result> => ({
    kind: 'rows',
    rows: watchStory(context, story, intervalMsOf(interval)),
    view: { columns: ['at', 'field', 'from', 'to'], name: 'field' },
  }),
});
type Waiting = { readonly word: string; readonly intervalMs: number; readonly endMs: number };
type States = Awaited<ReturnType<typeof readStates>>;
type Waited = { readonly story: Story; readonly states: States; readonly wanted: States[number] };
/** Reads the workflow only once, and again if the story moved to another workflow. */
const readWaited = async (context: Context, id: number, word: string, before?: Waited): Promise<Waited> => {
  const story = await readStory(context, id).catch((error: unknown) => {
    const isGone = before !== undefined && error instanceof AppError && error.category === 'not-found';
    throw isGone
      ? reword(error, error.detail, `story ${id} was deleted during the wait: ${error.message}`)
      : error;
  });
  if (before?.story.workflow_id === story.workflow_id) return { ...before, story };
  const states = await readStates(context, story);
  return { story, states, wanted: findState(states, word, '--for') };
};
const isReached = ({ story, wanted }: Waited): boolean => story.workflow_state_id === wanted.id;
const stateOf = ({ story, states }: Waited): string =>
  states.find(({ id }) => id === story.workflow_state_id)?.name ?? '';
/**
 * Reads only the stories that are not in the state yet. All stories share one limit. A deleted story ends the wait
 * with an error, because it can no longer reach the state.
 */
const waitForStories = async (
  context: Context,
  ids: readonly number[],
  { word, intervalMs, endMs }: Waiting,
): Promise<Waited[]> => {
  const found = new Map<number, Waited>();
  for (const id of ids) found.set(id, await readWaited(context, id, word));
  const listOpen = () => ids.filter((id) => !isReached(found.get(id) as Waited));
  if (listOpen().length > 0 && endMs === Number.POSITIVE_INFINITY)
    await assertServerStays(context, 'tracker', 'no other command can move the story');
  let shown = '';
  for (let open = listOpen(); open.length > 0; open = listOpen()) {
    const nowMs = context.host.elapsed();
    if (nowMs >= endMs) break;
    const states = open.map((id) => `story ${id} is in ${stateOf(found.get(id) as Waited)}`).join(', ');
    if (states !== shown) context.log.info(`waiting for ${word}: ${states}`);
    shown = states;
    await context.host.sleep(Math.min(intervalMs, endMs - nowMs), context.signal);
    for (const id of open) found.set(id, await readWaited(context, id, word, found.get(id)));
  }
  return [...found.values()];
};
const reportWait = (context: Context, found: readonly Waited[]): Result => {
  const open = found.filter((one) => !isReached(one));
  const exit = open.length === 0 ? undefined : 'no';
  const [only] = found;
  if (found.length === 1 && only !== undefined) {
    const { name } = only.wanted;
    const place = isReached(only) ? `in ${name}` : `in ${stateOf(only)}, not in ${name}`;
    return recordResult(
      only.story,
      { ...storyView(context), message: `story ${only.story.id} is ${place}` },
      exit,
    );
  }
  const rows = found.map((one) => ({
    id: one.story.id,
    name: one.story.name,
    state: stateOf(one),
    wanted: one.wanted.name,
    reached: isReached(one),
  }));
  const late = open.map((one) => `${one.story.id} (${stateOf(one)})`).join(', ');
  const wanted = [...new Set(found.map((one) => one.wanted.name))].join(' or ');
  const message =
    open.length === 0
      ? `all ${found.length} stories are in ${wanted}`
      : `${open.length} of ${found.length} stories are not in ${wanted}: ${late}`;
  return {
    kind: 'rows',
    rows,
    view: { columns: ['id', 'name', 'state', 'wanted', 'reached'], message },
    exit: () => exit ?? 'done',
  };
};
const waitCommand = defineCommand({
  path: ['tracker', 'stories', 'wait'],
  summary: 'Wait until stories are in a workflow state',
  about:
    'Exits with code 0 when every story is in the state, and with code 20 if one of them is not within the given time. All stories share this time. If a story is deleted, the wait ends immediately with an error that names the story. The result of one story is the story; the result of several stories is a row for each.',
  args: [
    {
      name: 'stories',
      effects: [],
      field: req(list(int({ min: 1 }))),
      rest: true,
      summary: 'IDs of the stories',
      complete: 'story',
    },
  ],
  flags: {
    ...pollFlags,
    for: {
      effects: [],
      field: req(str(undefined, { min: 1 })),
      summary: 'Name of the state',
      value: 'state',
      complete: 'workflow-state',
    },
    within: { field: duration(), summary: 'Longest time to wait (default: without end)', value: 'duration' },
  },
  examples: [
    {
      line: 'opsctl tracker stories wait 107 --for Completed --within 10m',
      says: 'Continue a script when a story is done',
    },
    {
      line: 'opsctl tracker stories wait 107 110 --for Completed --within 10m -o table',
      says: 'Wait for several stories',
    },
  ],
  run: async (context, { stories, for: word, interval, within }) =>
    reportWait(
      context,
      await waitForStories(context, [...new Set(stories)], {
        word,
        intervalMs: intervalMsOf(interval),
        endMs:
          within === undefined
            ? Number.POSITIVE_INFINITY
            : context.host.elapsed() + parseDuration(within, '--within'),
      }),
    ),
});

type Iteration = {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly start_date: string;
  readonly end_date: string;
};
const readIterations = async (context: Context): Promise<Iteration[]> => {
  const found: Iteration[] = [];
  const held = heldRows('GET /iterations');
  const { list } = tracker.table.iterations;
  const rows = await context.lookups.rows(tracker, list, {});
  for await (const batch of rows) {
    held.refuseMore(batch.length);
    found.push(...(batch.map((text) => parseLookupRow(list, text)) as Iteration[]));
  }
  return found;
};
const iterationView = (context: Context) =>
  trackerView(context, tracker.table.iterations.list, columnsOf(tracker.table.iterations.list));
const currentCommand = defineCommand({
  path: ['tracker', 'iterations', 'current'],
  summary: 'List the iterations that have started and not ended',
  examples: [{ line: 'opsctl tracker iterations current', says: 'See the current sprint' }],
  operation: { service: tracker, operation: tracker.table.iterations.list },
  run: async (context): Promise<Result> => {
    const rows = (await readIterations(context)).filter(({ status }) => status === 'started');
    return { kind: 'rows', rows, view: iterationView(context) };
  },
});
const findIteration = async (
  context: Context,
  given: string,
  path: string,
  all: readonly Iteration[],
): Promise<Iteration> => {
  const id = await trackerNames.resolve(context, 'iteration', given, path);
  const found = all.find((one) => one.id === id);
  if (found === undefined)
    throw invalidArguments([problem(path, 'rule', `iteration not found: ${JSON.stringify(given)}`)]);
  return found;
};
const findCurrent = (all: readonly Iteration[]): Iteration => {
  const found = all.filter(({ status }) => status === 'started');
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const names = found.map(({ name }) => JSON.stringify(name)).join(', ');
  throw invalidArguments([
    problem(
      '--from',
      'required',
      found.length === 0
        ? 'is required: no iteration is in progress'
        : `is required: these iterations are in progress: ${names}`,
    ),
  ]);
};
/** The iteration that starts next. A prompt could only offer earlier iterations, so it would not help. */
const findNext = (all: readonly Iteration[], from: Iteration): Iteration => {
  const [next] = all
    .filter(({ start_date: start, id }) => id !== from.id && start > from.start_date)
    .sort((a, b) => a.start_date.localeCompare(b.start_date));
  if (next !== undefined) return next;
  throw invalidArguments(
    [problem('--to', 'rule', `no iteration starts after ${JSON.stringify(from.name)}`)],
    ['opsctl tracker iterations create', 'opsctl tracker iterations list'],
  );
};
type IterationStory = Story & { readonly completed: boolean };
const readOpenStories = async (context: Context, { id }: Iteration): Promise<readonly IterationStory[]> => {
  const stories = (await context.lookups.call(tracker, tracker.table.iterations.stories, {
    params: { 'iteration-public-id': id },
  })) as IterationStory[];
  return stories.filter(({ completed, archived }) => !completed && archived !== true);
};
/** Stories that another user finished or moved while the question was open stay where they are. */
const refuseOtherStories = async (
  context: Context,
  from: Iteration,
  shown: readonly IterationStory[],
): Promise<void> => {
  const now = new Set((await readOpenStories(context, from)).map(({ id }) => id));
  const gone = shown.filter(({ id }) => !now.has(id)).map(({ id }) => `#${id}`);
  if (gone.length === 0) return;
  const said = `${gone.join(', ')} changed before you confirmed the move; no changes were made`;
  throw new AppError('refused', said, { code: 'CONFLICT', tryThis: ['run the same command again'] });
};
const rollover = async (context: Context, values: Values): Promise<Result> => {
  const all = await readIterations(context);
  const from =
    typeof values.from === 'string'
      ? await findIteration(context, values.from, '--from', all)
      : findCurrent(all);
  const to =
    typeof values.to === 'string'
      ? await findIteration(context, values.to, '--to', all)
      : findNext(all, from);
  if (to.id === from.id)
    throw invalidArguments([
      problem('--to', 'rule', `must differ from --from, got ${JSON.stringify(to.name)} for both`),
    ]);
  const open = await readOpenStories(context, from);
  const plan = { from: from.name, to: to.name, stories: open.map(({ id, name }) => ({ id, name })) };
  if (open.length === 0)
    return recordResult(plan, { message: `all stories of ${from.name} are done; no changes were made` });
  if (!context.isDryRun) {
    context.log.info(open.map(({ id, name }) => `  #${id} ${name}`).join('\n'), true);
    await context.confirm(
      `Move ${countText(open.length, 'story', 'stories')} from ${from.name} to ${to.name}?`,
    );
    if (!context.isConfirmed) await refuseOtherStories(context, from, open);
  }
  const body = { story_ids: open.map(({ id }) => id), iteration_id: to.id };
  await context.call(tracker, tracker.table.stories.bulkUpdate, { body });
  return recordResult(plan, {
    message: `${countText(open.length, 'story', 'stories')} moved from ${from.name} to ${to.name}`,
  });
};
const rolloverCommand = defineCommand({
  path: ['tracker', 'iterations', 'rollover'],
  summary: 'Move unfinished stories to the next iteration',
  about: 'Shows the stories, asks, and moves all of them in one request: either every story moves or none.',
  flags: {
    from: {
      effects: [],
      field: str(),
      summary: 'Iteration to empty (default: the current one)',
      value: 'name|id',
      complete: 'iteration',
    },
    to: {
      effects: [],
      field: str(),
      summary: 'Iteration to fill (default: the next one by its start)',
      value: 'name|id',
      complete: 'iteration',
    },
  },
  examples: [
    { line: 'opsctl tracker iterations rollover --to "Sprint 2" --yes', says: 'End a sprint in a script' },
  ],
  operation: { service: tracker, operation: tracker.table.stories.bulkUpdate },
  run: rollover,
});

export const everydayCommands: readonly Command[] = [
  listCommand,
  mineCommand,
  moveCommand,
  moveTo('start', 'started', 'Move a story to the first started state'),
  moveTo('done', 'done', 'Move a story to the first finished state'),
  editCommand,
  openCommand,
  watchCommand,
  waitCommand,
  cloneCommand,
  currentCommand,
  rolloverCommand,
];
