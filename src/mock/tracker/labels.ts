import type { labels } from '../../services/tracker/labels.ts';
import { Refused } from '../refused.ts';
import type { World } from '../service.ts';
import type { Call, Handlers } from '../table-service.ts';
import { labelNameIsUnused } from './rules/label-name-is-unused.ts';
import type { StoredLabel, Tracker } from './state.ts';

const noStats = {
  num_epics: 0,
  num_epics_completed: 0,
  num_epics_in_progress: 0,
  num_epics_total: 0,
  num_epics_unstarted: 0,
  num_points_backlog: 0,
  num_points_completed: 0,
  num_points_in_progress: 0,
  num_points_total: 0,
  num_points_unstarted: 0,
  num_related_documents: 0,
  num_stories_backlog: 0,
  num_stories_completed: 0,
  num_stories_in_progress: 0,
  num_stories_total: 0,
  num_stories_unestimated: 0,
  num_stories_unstarted: 0,
};

/** Whole seconds in UTC (facts tracker 7). */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

const found = ({ state, params }: { state: Tracker; params: { 'label-public-id': number } }): StoredLabel => {
  const label = state.labels.get(params['label-public-id']);
  if (label === undefined) throw new Refused(404, 'Resource not found.');
  return label;
};
const full = (label: StoredLabel) => ({ ...label, stats: noStats });

const create = ({ state, world, body }: Call<Tracker, (typeof labels)['create']>) => {
  labelNameIsUnused(state, body.name);
  const id = world.store.next('tracker.ids');
  const now = timestamp(world.now());
  const label: StoredLabel = {
    id,
    name: body.name,
    description: body.description ?? null,
    color: body.color ?? null,
    app_url: appUrl(world, 'label', id),
    archived: false,
    external_id: body.external_id ?? null,
    entity_type: 'label',
    created_at: now,
    updated_at: now,
  };
  state.labels.put(id, label);
  return full(label);
};

/** Where a person would look at a record. */
export const appUrl = (world: World, kind: string, id: number | string): string => `${world.origin()}/app/${kind}/${id}`;

export const labelHandlers: Handlers<{ labels: typeof labels }, Tracker>['labels'] = {
  list: ({ state, query }) => [...state.labels.values()].map((label) => (query.slim ? label : full(label))),
  create,
  get: (call) => full(found(call)),
  update: (call) => {
    const label = found(call);
    labelNameIsUnused(call.state, call.body.name, label.id);
    const changed = { ...label, ...call.body, updated_at: timestamp(call.world.now()) };
    call.state.labels.put(label.id, changed);
    return full(changed);
  },
  delete: (call) => {
    call.state.labels.delete(found(call).id);
    return undefined;
  },
};
