import { appUrl } from './records.ts';
import type { Tracker } from './state.ts';

export type Verb = 'create' | 'update' | 'delete';
export type Plain = Readonly<Record<string, unknown>>;
export type Reference = {
  readonly id: number | string;
  readonly entity_type: string;
  readonly name: string;
  readonly app_url?: string;
};
export type Action = {
  readonly id: number;
  readonly entity_type: string;
  readonly action: Verb;
  readonly name?: string;
  readonly app_url: string;
} & Plain;

/** Set by the service with every write; an event does not speak of them. */
const SILENT = new Set(['updated_at', 'position', 'entity_type']);

/** spec/tracker#webhooks: `{field: {old, new}}`, and `{adds, removes}` for lists. */
export const changesBetween = (before: Plain, after: Plain): Record<string, Plain> => {
  const changes: Record<string, Plain> = {};
  for (const key of Object.keys(after)) {
    const [was, is] = [before[key], after[key]];
    if (SILENT.has(key) || JSON.stringify(was) === JSON.stringify(is)) continue;
    if (!Array.isArray(is) || !Array.isArray(was)) changes[key] = { old: was, new: is };
    else {
      const [had, has] = [
        new Set(was.map((one) => JSON.stringify(one))),
        new Set(is.map((one) => JSON.stringify(one))),
      ];
      const adds = is.filter((one) => !had.has(JSON.stringify(one)));
      const removes = was.filter((one) => !has.has(JSON.stringify(one)));
      changes[key] = { ...(adds.length > 0 ? { adds } : {}), ...(removes.length > 0 ? { removes } : {}) };
    }
  }
  return changes;
};

const referTo: Readonly<Record<string, (state: Tracker, id: any) => Reference | undefined>> = {
  epic_id: (state, id) => named(state, 'epic', state.epics.get(id)),
  iteration_id: (state, id) => named(state, 'iteration', state.iterations.get(id)),
  project_id: (state, id) => named(state, 'project', state.projects.get(id)),
  label_ids: (state, id) => named(state, 'label', state.labels.get(id)),
  group_id: (state, id) => named(state, 'group', state.groups.get(id)),
  group_ids: (state, id) => named(state, 'group', state.groups.get(id)),
  objective_ids: (state, id) => named(state, 'objective', state.objectives.get(id)),
  workflow_state_id: (state, id) => {
    for (const { states } of state.workflows.values()) {
      const found = states.find((each) => each.id === id);
      if (found) return { id, entity_type: 'workflow-state', name: found.name };
    }
    return undefined;
  },
};
const named = (
  state: Tracker,
  kind: string,
  record: { id: number | string; name: string } | undefined,
): Reference | undefined =>
  record && { id: record.id, entity_type: kind, name: record.name, app_url: appUrl(state, kind, record.id) };

/** spec/tracker#webhooks: "references resolve ids in changes". */
export const referencesOf = (state: Tracker, changes: Readonly<Record<string, Plain>>): Reference[] => {
  const seen = new Map<string, Reference>();
  for (const [field, change] of Object.entries(changes)) {
    for (const id of [
      change.old,
      change.new,
      ...((change.adds as unknown[]) ?? []),
      ...((change.removes as unknown[]) ?? []),
    ]) {
      const found = id === null || id === undefined ? undefined : referTo[field]?.(state, id);
      if (found) seen.set(`${found.entity_type} ${found.id}`, found);
    }
  }
  return [...seen.values()];
};
/** A record as the change that made it. */
export const asNew = (record: Plain): Record<string, Plain> =>
  Object.fromEntries(
    Object.entries(record).map(([key, value]) => [
      key,
      Array.isArray(value) ? { adds: value } : { new: value },
    ]),
  );
