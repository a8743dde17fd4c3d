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

/** All labels that no story and no epic carries have the same stats: most labels at the moment they are made. */
const statsText = (state: Tracker, id: number): string => {
  const isUsed =
    state.counters.of('label', id).total > 0 || state.epics.index('label', labelsOfEpic).count(id) > 0;
  const made = (): string => JSON.stringify(labelStats(state, id));
  return isUsed ? made() : state.cache.once('stats of an unused label', made);
};
/** The text of `fullLabel`, put together: making the object first takes three times as long. */
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
