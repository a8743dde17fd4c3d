import type { StoryCounts } from './counters.ts';

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
