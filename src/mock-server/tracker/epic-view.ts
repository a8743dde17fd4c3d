import type {
  epic as epicRecord,
  epicSlim as epicSlimRecord,
  health as healthRecord,
  objective,
  ThreadedComment,
} from '../../api-specs/tracker/planning-records.ts';
import type { Value } from '../../core/field.ts';
import type {
  StoredEpic,
  StoredEpicComment,
  StoredHealth,
  StoredKeyResult,
  StoredObjective,
  StateType,
  StoryCounts,
  StoredLabel,
} from './row.ts';
import { appUrl, type Tracker, newId, now, unique } from './state.ts';

const epicOfHealth = (health: StoredHealth): number => health.epic_id;
export const objectivesOfEpic = (epic: StoredEpic): readonly number[] => epic.objective_ids;
/** spec/tracker#records Epic.stats, from the counters over its stories. */
const stats = (state: Tracker, id: number): Value<typeof epicSlimRecord>['stats'] => {
  const counts = state.counters.of('epic', id);
  return {
    last_story_update: state.counters.lastUpdate(id),
    ...storyCounts(counts),
    num_stories_total: counts.total,
    num_stories_unestimated: counts.unestimated,
    num_stories_unstarted: counts.stories.unstarted,
  };
};
/** spec/tracker#records EpicSlim; spec/tracker#records-2: the deprecated single ids are the first of the lists. */
export const epicSlim = (
  state: Tracker,
  epic: StoredEpic,
  withDescription: boolean,
): Value<typeof epicSlimRecord> => {
  const { projects, groups, withoutProject } = state.counters.of('epic', epic.id);
  const { description, ...rest } = epic;
  return {
    app_url: appUrl(state, 'epic', epic.id),
    ...rest,
    ...(withDescription ? { description } : {}),
    associated_groups: [...groups].map(([id, count]) => ({ associated_stories_count: count, group_id: id })),
    group_id: epic.group_ids[0] ?? null,
    labels: labelsOf(state, epic.label_ids).map((label) => slimLabel(state, label)),
    milestone_id: epic.objective_ids[0] ?? null,
    project_ids: [...projects.keys()].sort((a, b) => a - b),
    state: epicStateName(state, epic.epic_state_id),
    stats: stats(state, epic.id),
    stories_without_projects: withoutProject,
  };
};
/** spec/tracker#records-5. */
export const healthHistory = (state: Tracker, epicId: number): StoredHealth[] =>
  [...state.health.index('epic', epicOfHealth).get(epicId)].reverse();
/** spec/tracker#health: the current one; `No Health` if there is none (spec/tracker#records). */
export const currentHealth = (state: Tracker, epicId: number): Value<typeof healthRecord> =>
  healthHistory(state, epicId)[0] ?? {
    id: null,
    author_id: null,
    epic_id: epicId,
    objective_id: null,
    status: 'No Health',
    text: null,
    entity_type: 'health',
    created_at: null,
    updated_at: null,
  };
export const parentOfComment = (comment: StoredEpicComment): string =>
  `${comment.epic_id} ${comment.parent_id ?? ''}`;
const repliesTo = (state: Tracker, epicId: number, parentId: number | null): Iterable<StoredEpicComment> =>
  state.comments.index('parent', parentOfComment).get(`${epicId} ${parentId ?? ''}`);
/** A comment with its replies, and theirs, to any depth. */
export const commentTree = (state: Tracker, comment: StoredEpicComment): ThreadedComment => {
  const viewComment = (
    { epic_id: epicId, parent_id: _parent, ...rest }: StoredEpicComment,
    comments: ThreadedComment[],
  ): ThreadedComment => ({
    ...rest,
    app_url: `${appUrl(state, 'epic', epicId)}#activity-${rest.id}`,
    comments,
  });
  const root: ThreadedComment[] = [];
  // A list of pending comments instead of recursion, because a thread may be deeper than the stack.
  const open = [{ comment, into: root }];
  for (const { comment: one, into } of open) {
    const replies: ThreadedComment[] = [];
    into.push(viewComment(one, replies));
    for (const reply of repliesTo(state, one.epic_id, one.id)) open.push({ comment: reply, into: replies });
  }
  return root[0] as ThreadedComment;
};
/** The top-level comments of an epic, as trees. */
export const commentTrees = (state: Tracker, epicId: number): ThreadedComment[] =>
  [...repliesTo(state, epicId, null)].map((comment) => commentTree(state, comment));
export const hasComments = (state: Tracker, epicId: number): boolean =>
  state.comments.index('parent', parentOfComment).count(`${epicId} `) > 0;
/** spec/tracker#records Epic (full). */
export const fullEpic = (state: Tracker, epic: StoredEpic): Value<typeof epicRecord> => {
  return {
    ...epicSlim(state, epic, true),
    description: epic.description,
    comments: commentTrees(state, epic.id),
    health: currentHealth(state, epic.id),
  };
};

export const objectiveOfKeyResult = (keyResult: StoredKeyResult): number => keyResult.objective_id;
/** Whole seconds on average; 0 without any. */
export const average = (sum: number, count: number): number => (count === 0 ? 0 : Math.round(sum / count));
const objectiveStats = (state: Tracker, id: number): Value<typeof objective>['stats'] => {
  const sums = { cycle: 0, cycles: 0, lead: 0, leads: 0 };
  for (const epic of state.epics.index('objective', objectivesOfEpic).get(id)) {
    const counts = state.counters.of('epic', epic.id);
    sums.cycle += counts.cycleSeconds;
    sums.cycles += counts.cycles;
    sums.lead += counts.leadSeconds;
    sums.leads += counts.leads;
  }
  return {
    average_cycle_time: average(sums.cycle, sums.cycles),
    average_lead_time: average(sums.lead, sums.leads),
    num_related_documents: 0,
  };
};
/** spec/tracker#records Milestone and Objective, one store for both (spec/tracker#records-2). */
export const objectiveRecord = (state: Tracker, one: StoredObjective): Value<typeof objective> => {
  const { category_ids: ids, ...rest } = one;
  return {
    ...rest,
    app_url: appUrl(state, 'objective', one.id),
    categories: ids.flatMap((id) => state.categories.get(id) ?? []),
    key_result_ids: [...state.keyResults.index('objective', objectiveOfKeyResult).get(one.id)].map(
      ({ id }) => id,
    ),
    stats: objectiveStats(state, one.id),
  };
};

type EpicStateName = 'to do' | 'in progress' | 'done';
const workflowOf = ({ epicWorkflow }: Tracker) => {
  for (const workflow of epicWorkflow.values()) return workflow;
  throw new Error('the workspace has no epic workflow');
};
export const defaultEpicState = (state: Tracker): number => workflowOf(state).default_epic_state_id;
export const epicStateType = (state: Tracker, id: number): StateType => {
  const type = workflowOf(state).epic_states.find((each) => each.id === id)?.type;
  return type === 'started' || type === 'done' ? type : 'unstarted';
};
/** The deprecated word for a state of the epic workflow. */
const epicStateName = (state: Tracker, id: number): EpicStateName => nameOfType(epicStateType(state, id));
export const nameOfType = (type: StateType): EpicStateName =>
  type === 'done' ? 'done' : type === 'started' ? 'in progress' : 'to do';
const typeOfName = { 'to do': 'unstarted', 'in progress': 'started', done: 'done' } as const;
/** spec/tracker#states: deprecated `state` counts only when epic_state_id is absent. */
export const expectedEpicState = (
  state: Tracker,
  body: { epic_state_id?: number; state?: EpicStateName },
): number | undefined => {
  if (body.epic_state_id !== undefined) return body.epic_state_id;
  if (body.state === undefined) return undefined;
  const type = typeOfName[body.state];
  return workflowOf(state).epic_states.find((each) => each.type === type)?.id;
};
type Progress = {
  started: boolean;
  started_at: string | null;
  completed: boolean;
  completed_at: string | null;
};
export const emptyProgress: Progress = {
  started: false,
  started_at: null,
  completed: false,
  completed_at: null,
};
/**
 * Start and completion times that result from a move into a state of this type. Moving to an earlier type
 * removes them again.
 */
export const progressInto = (before: Progress, type: StateType, at: string): Progress => ({
  started: type === 'started' || type === 'done',
  started_at: type === 'started' || type === 'done' ? (before.started_at ?? at) : null,
  completed: type === 'done',
  completed_at: type === 'done' ? (before.completed_at ?? at) : null,
});
export const typeOfObjectiveState = (name: EpicStateName): StateType => typeOfName[name];

export const labelsOfEpic = (epic: StoredEpic): readonly number[] => epic.label_ids;
/** spec/tracker#records Label.stats, counted from the stories and epics that carry the label. */
const labelStats = (state: Tracker, id: number) => {
  const { stories, pointsOf, points, total, unestimated } = state.counters.of('label', id);
  const epics = { backlog: 0, unstarted: 0, started: 0, done: 0 };
  let all = 0;
  for (const epic of state.epics.index('label', labelsOfEpic).get(id)) {
    epics[epicStateType(state, epic.epic_state_id)] += 1;
    all += 1;
  }
  return {
    num_epics: all,
    num_epics_completed: epics.done,
    num_epics_in_progress: epics.started,
    num_epics_total: all,
    num_epics_unstarted: epics.unstarted + epics.backlog,
    num_points_backlog: pointsOf.backlog,
    num_points_completed: pointsOf.done,
    num_points_in_progress: pointsOf.started,
    num_points_total: points,
    num_points_unstarted: pointsOf.unstarted,
    // No row of the document links a document to another record, so the count is zero.
    num_related_documents: 0,
    num_stories_backlog: stories.backlog,
    num_stories_completed: stories.done,
    num_stories_in_progress: stories.started,
    num_stories_total: total,
    num_stories_unestimated: unestimated,
    num_stories_unstarted: stories.unstarted,
  };
};
/** spec/tracker#records-3. */
export const slimLabel = (state: Tracker, label: StoredLabel) => ({
  ...label,
  app_url: appUrl(state, 'label', label.id),
});
export const fullLabel = (state: Tracker, label: StoredLabel) => ({
  ...slimLabel(state, label),
  stats: labelStats(state, label.id),
});
/** All labels that no story and no epic carries have the same stats: most labels at the moment they are made. */
const statsText = (state: Tracker, id: number): string => {
  const isUsed =
    state.counters.of('label', id).total > 0 || state.epics.index('label', labelsOfEpic).count(id) > 0;
  const computeStats = (): string => JSON.stringify(labelStats(state, id));
  return isUsed ? computeStats() : state.cache.once('stats of an unused label', computeStats);
};
/** Concatenates the text of `fullLabel`, because creating the object first takes three times as long. */
export const labelText = (state: Tracker, label: StoredLabel): string => {
  const own = JSON.stringify(label).slice(0, -1);
  const url = JSON.stringify(appUrl(state, 'label', label.id));
  return `${own},"app_url":${url},"stats":${statsText(state, label.id)}}`;
};
/** Texts, made again only when the label or a story or epic that counts for it changed. */
export const slimLabelText = (state: Tracker, label: StoredLabel): string =>
  state.cache.text('label.slim', label, [], () => JSON.stringify(slimLabel(state, label)));
export const fullLabelText = (state: Tracker, label: StoredLabel): string => {
  const counts = state.counters.of('label', label.id);
  return state.cache.text('label', label, [counts, counts.version, state.epics.version], () =>
    labelText(state, label),
  );
};
export const labelsOf = (state: Tracker, ids: readonly number[]): StoredLabel[] =>
  ids.flatMap((id) => {
    const label = state.labels.get(id);
    return label === undefined ? [] : [label];
  });

type LabelInput = {
  readonly name: string;
  readonly color?: string;
  readonly description?: string;
  readonly external_id?: string;
};
export const newLabel = (state: Tracker, input: LabelInput): StoredLabel => {
  const at = now(state);
  const label: StoredLabel = {
    id: newId(state),
    name: input.name,
    description: input.description ?? null,
    color: input.color ?? null,
    archived: false,
    external_id: input.external_id ?? null,
    entity_type: 'label',
    created_at: at,
    updated_at: at,
  };
  state.labels.put(label.id, label);
  return label;
};
/** spec/tracker#epics-5: found by name, created if it does not exist. */
export const labelIds = (state: Tracker, inputs: readonly LabelInput[] | undefined): number[] =>
  unique(
    (inputs ?? []).map(
      (input) =>
        (state.labels.index('name', ({ name }) => name).first(input.name) ?? newLabel(state, input)).id,
    ),
  );

/** spec/tracker#records: what Epic.stats and Iteration.stats have in common, in the order of both. */
export const storyCounts = ({ points, pointsOf, stories }: StoryCounts) => ({
  num_points: points,
  num_points_backlog: pointsOf.backlog,
  num_points_done: pointsOf.done,
  num_points_started: pointsOf.started,
  num_points_unstarted: pointsOf.unstarted,
  num_related_documents: 0,
  num_stories_backlog: stories.backlog,
  num_stories_done: stories.done,
  num_stories_started: stories.started,
});
