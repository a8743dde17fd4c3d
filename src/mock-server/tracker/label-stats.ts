import type { StateType, StoryCounts, StoredEpic, StoredLabel } from './row.ts';
import { appUrl, newId, now, type Tracker, unique } from './state.ts';

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
export const epicStateName = (state: Tracker, id: number): EpicStateName =>
  nameOfType(epicStateType(state, id));
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
