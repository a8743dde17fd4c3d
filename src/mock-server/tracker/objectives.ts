import type { keyResult } from '../../api-specs/tracker/planning-records.ts';
import type {
  keyResults,
  milestones,
  objectiveCreate,
  objectives,
  objectiveUpdate,
} from '../../api-specs/tracker/planning.ts';
import type { Value, Values } from '../../core/field.ts';
import type { Handlers } from '../table-service.ts';
import { epicSlim, objectiveOfKeyResult, objectiveRecord, objectivesOfEpic } from './epic-view.ts';
import { emptyProgress, progressInto, typeOfObjectiveState } from './label-stats.ts';
import { categoryIds } from './labels.ts';
import type { StoredKeyResult, StoredObjective } from './row.ts';
import { byPosition, move, objectivesAreEntitled, valueFitsKeyResultType } from './rules/stories.ts';
import { findRecord, pickGiven, instant, newId, now, type Tracker } from './state.ts';

const list = (state: Tracker) =>
  byPosition(state.objectives.values()).map((one) => objectiveRecord(state, one));
const create = (state: Tracker, body: Values<typeof objectiveCreate>) => {
  objectivesAreEntitled(state);
  const at = now(state);
  const name = body.state ?? 'to do';
  const one: StoredObjective = {
    id: newId(state),
    name: body.name,
    description: body.description ?? '',
    archived: false,
    category_ids: categoryIds(state, body.categories),
    ...progressInto(emptyProgress, typeOfObjectiveState(name), at),
    completed_at_override: instant(body.completed_at_override) ?? null,
    started_at_override: instant(body.started_at_override) ?? null,
    state: name,
    position: state.env.store.next('tracker.objective-position'),
    entity_type: 'objective',
    created_at: at,
    updated_at: at,
  };
  state.objectives.put(one.id, one);
  return objectiveRecord(state, one);
};
const get = (state: Tracker, id: number) => objectiveRecord(state, findRecord(state.objectives, id));
const update = (state: Tracker, id: number, body: Values<typeof objectiveUpdate>) => {
  const one = findRecord(state.objectives, id);
  const at = now(state);
  state.objectives.put(id, {
    ...one,
    ...pickGiven(body, 'archived', 'description', 'name', 'state'),
    ...(body.categories === undefined ? {} : { category_ids: categoryIds(state, body.categories) }),
    ...(body.state === undefined ? {} : progressInto(one, typeOfObjectiveState(body.state), at)),
    // spec/tracker#states: an override is set, and null clears it.
    ...(body.completed_at_override === undefined
      ? {}
      : { completed_at_override: instant(body.completed_at_override) }),
    ...(body.started_at_override === undefined
      ? {}
      : { started_at_override: instant(body.started_at_override) }),
    updated_at: at,
  });
  move(state.objectives, id, body);
  return get(state, id);
};
const remove = (state: Tracker, id: number): undefined => {
  findRecord(state.objectives, id);
  for (const epic of [...state.epics.index('objective', objectivesOfEpic).get(id)]) {
    state.epics.put(epic.id, { ...epic, objective_ids: epic.objective_ids.filter((each) => each !== id) });
  }
  for (const keyResult of [...state.keyResults.index('objective', objectiveOfKeyResult).get(id)])
    state.keyResults.delete(keyResult.id);
  state.objectives.delete(id);
  return undefined;
};
const epics = (state: Tracker, id: number) => {
  findRecord(state.objectives, id);
  return byPosition(state.epics.index('objective', objectivesOfEpic).get(id)).map((epic) =>
    epicSlim(state, epic, true),
  );
};
export const objectiveHandlers: Handlers<{ objectives: typeof objectives }, Tracker>['objectives'] = {
  list: ({ state }) => list(state),
  create: ({ state, body }) => create(state, body),
  get: ({ state, params }) => get(state, params['objective-public-id']),
  update: ({ state, params, body }) => update(state, params['objective-public-id'], body),
  delete: ({ state, params }) => remove(state, params['objective-public-id']),
  epics: ({ state, params }) => epics(state, params['objective-public-id']),
};
/** spec/tracker#objectives: the same records. */
export const milestoneHandlers: Handlers<{ milestones: typeof milestones }, Tracker>['milestones'] = {
  list: ({ state }) => list(state),
  create: ({ state, body }) => create(state, body),
  get: ({ state, params }) => get(state, params['milestone-public-id']),
  update: ({ state, params, body }) => update(state, params['milestone-public-id'], body),
  delete: ({ state, params }) => remove(state, params['milestone-public-id']),
  epics: ({ state, params }) => epics(state, params['milestone-public-id']),
};

/** How far the observed value is from the first one to the target, in per cent from 0 to 100. */
const progress = (one: StoredKeyResult): number => {
  if (one.type === 'boolean')
    return one.current_observed_value.boolean_value === one.current_target_value.boolean_value ? 100 : 0;
  const [first, seen, target] = [
    one.initial_observed_value,
    one.current_observed_value,
    one.current_target_value,
  ].map((value) => Number(value.numeric_value ?? 0)) as [number, number, number];
  const share = target === first ? (seen === target ? 1 : 0) : (seen - first) / (target - first);
  return Math.round(Math.min(1, Math.max(0, share)) * 100);
};
const keyResultRecord = (one: StoredKeyResult): Value<typeof keyResult> => ({
  ...one,
  progress: progress(one),
});
export const keyResultHandlers: Handlers<{ 'key-results': typeof keyResults }, Tracker>['key-results'] = {
  get: ({ state, params }) => keyResultRecord(findRecord(state.keyResults, params['key-result-public-id'])),
  update: ({ state, params, body }) => {
    const one = findRecord(state.keyResults, params['key-result-public-id']);
    valueFitsKeyResultType(one.type, 'initial_observed_value', body.initial_observed_value);
    valueFitsKeyResultType(one.type, 'observed_value', body.observed_value);
    valueFitsKeyResultType(one.type, 'target_value', body.target_value);
    const changed: StoredKeyResult = {
      ...one,
      ...pickGiven(body, 'initial_observed_value', 'name'),
      current_observed_value: body.observed_value ?? one.current_observed_value,
      current_target_value: body.target_value ?? one.current_target_value,
    };
    state.keyResults.put(one.id, changed);
    return keyResultRecord(changed);
  },
};
