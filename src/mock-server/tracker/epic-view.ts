import type {
  epic as epicRecord,
  epicSlim as epicSlimRecord,
  health as healthRecord,
  objective,
  ThreadedComment,
} from '../../api-specs/tracker/planning-records.ts';
import type { Value } from '../../core/field.ts';
import { epicStateName, labelsOf, slimLabel, storyCounts } from './label-stats.ts';
import type { StoredEpic, StoredEpicComment, StoredHealth, StoredKeyResult, StoredObjective } from './row.ts';
import { appUrl, type Tracker } from './state.ts';

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
