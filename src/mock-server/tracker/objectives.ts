import type { Values } from '../../core/field.ts';
import type { milestones } from '../../api-specs/tracker/milestones.ts';
import type { objectiveCreate, objectiveUpdate } from '../../api-specs/tracker/objective-inputs.ts';
import type { objectives } from '../../api-specs/tracker/objectives.ts';
import type { Handlers } from '../table-service.ts';
import { categoryIds } from './categories.ts';
import { noProgress, progressInto, typeOfObjectiveState } from './epic-state.ts';
import { epicSlim, objectivesOfEpic } from './epic-view.ts';
import { objectiveOfKeyResult, objectiveRecord } from './objective-view.ts';
import { found, given, instant, newId, now } from './records.ts';
import { objectivesAreEntitled } from './rules/features.ts';
import { byPosition, move } from './rules/moves.ts';
import type { Tracker } from './state.ts';
import type { StoredObjective } from './row.ts';

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
    ...progressInto(noProgress, typeOfObjectiveState(name), at),
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

const get = (state: Tracker, id: number) => objectiveRecord(state, found(state.objectives, id));

const update = (state: Tracker, id: number, body: Values<typeof objectiveUpdate>) => {
  const one = found(state.objectives, id);
  const at = now(state);
  state.objectives.put(id, {
    ...one,
    ...given(body, 'archived', 'description', 'name', 'state'),
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
  found(state.objectives, id);
  for (const epic of [...state.epics.index('objective', objectivesOfEpic).get(id)]) {
    state.epics.put(epic.id, { ...epic, objective_ids: epic.objective_ids.filter((each) => each !== id) });
  }
  for (const keyResult of [...state.keyResults.index('objective', objectiveOfKeyResult).get(id)])
    state.keyResults.delete(keyResult.id);
  state.objectives.delete(id);
  return undefined;
};

const epics = (state: Tracker, id: number) => {
  found(state.objectives, id);
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
