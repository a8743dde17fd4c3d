import type { storyTasks, workflows } from '../../api-specs/tracker/story-parts.ts';
import { HttpError } from '../http-error.ts';
import type { Handlers } from '../table-service.ts';
import { taskEvent } from './events.ts';
import { found, given, instant, mentions, newId, now, uuidList } from './records.ts';
import { byPosition, neighbourExists } from './rules/moves.ts';
import { membersExist } from './rules/references.ts';
import type { Tracker } from './state.ts';
import type { StoredTask, StoredWorkflow } from './row.ts';

type TaskInput = {
  readonly description: string;
  readonly complete?: boolean;
  readonly external_id?: string;
  readonly owner_ids?: readonly string[];
  readonly created_at?: string;
  readonly updated_at?: string;
};

const tasksOf = (state: Tracker, storyId: number): StoredTask[] =>
  byPosition(found(state.stories, storyId).task_ids.flatMap((id) => state.tasks.get(id) ?? []));

/** The story keeps the ids of its tasks and how many are done. */
const noteOnStory = (state: Tracker, storyId: number, ids: number[]): void => {
  const done = ids.filter((id) => state.tasks.get(id)?.complete).length;
  state.stories.put(storyId, {
    ...found(state.stories, storyId),
    task_ids: ids,
    num_tasks_completed: done,
    updated_at: now(state),
  });
};

export const addTask = (state: Tracker, storyId: number, input: TaskInput): StoredTask => {
  const story = found(state.stories, storyId);
  membersExist(state, 'owner_ids', input.owner_ids);
  const at = now(state);
  const task: StoredTask = {
    id: newId(state),
    story_id: storyId,
    description: input.description,
    complete: input.complete ?? false,
    completed_at: input.complete ? at : null,
    position: story.task_ids.length + 1,
    owner_ids: uuidList(input.owner_ids),
    ...mentions(state, input.description),
    external_id: input.external_id ?? null,
    entity_type: 'story-task',
    created_at: instant(input.created_at) ?? at,
    updated_at: instant(input.updated_at) ?? at,
  };
  state.tasks.put(task.id, task);
  noteOnStory(state, storyId, [...story.task_ids, task.id]);
  return task;
};

const taskOf = (
  state: Tracker,
  params: { 'story-public-id': number; 'task-public-id': number },
): StoredTask => {
  const story = found(state.stories, params['story-public-id']);
  const task = found(state.tasks, params['task-public-id']);
  if (task.story_id !== story.id) throw new HttpError(404, 'Resource not found.');
  return task;
};

const place = (state: Tracker, task: StoredTask, wanted: { before_id?: number; after_id?: number }): void => {
  if (wanted.before_id === undefined && wanted.after_id === undefined) return;
  const all = tasksOf(state, task.story_id);
  neighbourExists(all, task.id, 'before_id', wanted.before_id);
  neighbourExists(all, task.id, 'after_id', wanted.after_id);
  const rest = all.filter(({ id }) => id !== task.id);
  const at =
    wanted.before_id === undefined
      ? rest.findIndex(({ id }) => id === wanted.after_id) + 1
      : rest.findIndex(({ id }) => id === wanted.before_id);
  rest.splice(at, 0, task);
  for (const [index, one] of rest.entries()) state.tasks.put(one.id, { ...one, position: index + 1 });
};

export const storyTaskHandlers: Handlers<{ 'story-tasks': typeof storyTasks }, Tracker>['story-tasks'] = {
  create: ({ state, params, body }) => {
    const task = addTask(state, params['story-public-id'], body);
    taskEvent(state, 'create', task);
    return task;
  },
  get: ({ state, params }) => taskOf(state, params),
  update: ({ state, params, body }) => {
    const before = taskOf(state, params);
    membersExist(state, 'owner_ids', body.owner_ids);
    const at = now(state);
    const task: StoredTask = {
      ...before,
      ...(body.description === undefined
        ? {}
        : { description: body.description, ...mentions(state, body.description) }),
      ...given(body, 'complete'),
      ...(body.complete === undefined
        ? {}
        : { completed_at: body.complete ? (before.completed_at ?? at) : null }),
      ...(body.owner_ids === undefined ? {} : { owner_ids: uuidList(body.owner_ids) }),
      updated_at: at,
    };
    state.tasks.put(task.id, task);
    place(state, task, body);
    noteOnStory(state, task.story_id, found(state.stories, task.story_id).task_ids);
    taskEvent(state, 'update', task, before);
    return found(state.tasks, task.id);
  },
  delete: ({ state, params }) => {
    const task = taskOf(state, params);
    state.tasks.delete(task.id);
    noteOnStory(
      state,
      task.story_id,
      found(state.stories, task.story_id).task_ids.filter((id) => id !== task.id),
    );
    taskEvent(state, 'delete', task);
    return undefined;
  },
};

const workflowRecord = (state: Tracker, workflow: StoredWorkflow): StoredWorkflow => ({
  ...workflow,
  project_ids: state.projects.filter((project) => project.workflow_id === workflow.id).map(({ id }) => id),
  states: workflow.states.map((each) => ({
    ...each,
    num_stories: state.counters.of('state', each.id).total,
    num_story_templates: state.templates.filter(
      (template) => template.story_contents.workflow_state_id === each.id,
    ).length,
  })),
});
export const workflowHandlers: Handlers<{ workflows: typeof workflows }, Tracker>['workflows'] = {
  list: ({ state }) => [...state.workflows.values()].map((workflow) => workflowRecord(state, workflow)),
  get: ({ state, params }) => workflowRecord(state, found(state.workflows, params['workflow-public-id'])),
};
