import { bool, color, datetime, int, maybe, orNull, record, str } from '../../core/field.ts';

/** spec/tracker#records Label without `stats`, as embedded in stories and epics and returned for `slim=true` (spec/tracker#records). */
const labelSlimFields = {
  id: int(),
  name: str(128),
  description: orNull(str(1024)),
  color: orNull(color()),
  app_url: str(),
  archived: bool(),
  external_id: orNull(str(128)),
  entity_type: str(),
  created_at: orNull(datetime()),
  updated_at: orNull(datetime()),
} as const;

/** spec/tracker#records Label.stats, all int. */
const labelStats = record('LabelStats', {
  num_epics: int(),
  num_epics_completed: int(),
  num_epics_in_progress: int(),
  num_epics_total: int(),
  num_epics_unstarted: int(),
  num_points_backlog: int(),
  num_points_completed: int(),
  num_points_in_progress: int(),
  num_points_total: int(),
  num_points_unstarted: int(),
  num_related_documents: int(),
  num_stories_backlog: int(),
  num_stories_completed: int(),
  num_stories_in_progress: int(),
  num_stories_total: int(),
  num_stories_unestimated: int(),
  num_stories_unstarted: int(),
});
export const labelSlim = record('LabelSlim', labelSlimFields);
export const label = record('Label', { ...labelSlimFields, stats: maybe(labelStats) });
