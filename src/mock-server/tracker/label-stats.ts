import type { Tracker } from './state.ts';
import type { StoredEpic, StoredLabel } from './row.ts';
import { appUrl } from './records.ts';
import { epicStateType } from './epic-state.ts';

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
    // No row of the document relates a document to anything, so there are none to count.
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

/** Texts, made again only when the label or a story or epic that counts for it changed. */
export const slimLabelText = (state: Tracker, label: StoredLabel): string =>
  state.cache.text('label.slim', label, [], () => JSON.stringify(slimLabel(state, label)));
export const fullLabelText = (state: Tracker, label: StoredLabel): string => {
  const counts = state.counters.of('label', label.id);
  return state.cache.text('label', label, [counts, counts.version, state.epics.version], () =>
    JSON.stringify(fullLabel(state, label)),
  );
};

export const labelsOf = (state: Tracker, ids: readonly number[]): StoredLabel[] =>
  ids.flatMap((id) => {
    const label = state.labels.get(id);
    return label === undefined ? [] : [label];
  });
