import type { keyResult, iteration, iterationSlim } from '../../api-specs/tracker/planning-records.ts';
import type {
  keyResults,
  milestones,
  objectiveCreate,
  objectives,
  objectiveUpdate,
  iterations,
} from '../../api-specs/tracker/planning.ts';
import type { Value, Values } from '../../core/field.ts';
import type { Handlers } from '../table-service.ts';
import {
  epicSlim,
  objectiveOfKeyResult,
  objectiveRecord,
  objectivesOfEpic,
  average,
  emptyProgress,
  progressInto,
  typeOfObjectiveState,
  fullLabel,
  labelIds,
  labelsOf,
  storyCounts,
} from './epic-view.ts';
import { categoryIds } from './labels.ts';
import type { StoredKeyResult, StoredObjective, StoredIteration } from './row.ts';
import {
  byPosition,
  move,
  objectivesAreEntitled,
  valueFitsKeyResultType,
  iterationEndsAfterItStarts,
  iterationsAreOn,
} from './rules/stories.ts';
import {
  findRecord,
  overrideChanges,
  pickGiven,
  instant,
  newId,
  now,
  type Tracker,
  appUrl,
  mentions,
  timestamp,
  uuidList,
} from './state.ts';
import { groupsExist, membersExist } from './rules/stories.ts';
import { iterationOfStory, storiesJson } from './story-parts.ts';

const stats = (state: Tracker, id: number): Value<typeof iteration>['stats'] => {
  const counts = state.counters.of('iteration', id);
  return {
    // spec/tracker#records Iteration.stats, "all int": 0 if no story is completed.
    average_cycle_time: average(counts.cycleSeconds, counts.cycles),
    average_lead_time: average(counts.leadSeconds, counts.leads),
    ...storyCounts(counts),
    num_stories_unestimated: counts.unestimated,
    num_stories_unstarted: counts.stories.unstarted,
  };
};

/** spec/tracker#enums: unstarted, started, done; what it is follows from the day. */
export const iterationStatus = (state: Tracker, one: StoredIteration): string => {
  const today = timestamp(state.env.now()).slice(0, 10);
  if (today < one.start_date) return 'unstarted';
  return today > one.end_date ? 'done' : 'started';
};

/** spec/tracker#records: "IterationSlim lacks description". */
export const iterationSlimRecord = (state: Tracker, one: StoredIteration): Value<typeof iterationSlim> => {
  const { description: _left, ...rest } = one;
  return {
    ...rest,
    app_url: appUrl(state, 'iteration', one.id),
    labels: labelsOf(state, one.label_ids).map((label) => fullLabel(state, label)),
    stats: stats(state, one.id),
    status: iterationStatus(state, one),
  };
};
const iterationRecord = (state: Tracker, one: StoredIteration): Value<typeof iteration> => ({
  ...iterationSlimRecord(state, one),
  description: one.description,
});

type Body = {
  readonly description?: string;
  readonly follower_ids?: readonly string[];
  readonly group_ids?: readonly string[];
  readonly labels?: Parameters<typeof labelIds>[1];
};
const changesFrom = (state: Tracker, body: Body) => {
  membersExist(state, 'follower_ids', body.follower_ids);
  groupsExist(state, 'group_ids', body.group_ids);
  return {
    ...(body.description === undefined
      ? {}
      : { description: body.description, ...mentions(state, body.description) }),
    ...(body.follower_ids === undefined ? {} : { follower_ids: uuidList(body.follower_ids) }),
    ...(body.group_ids === undefined ? {} : { group_ids: uuidList(body.group_ids) }),
    ...(body.labels === undefined ? {} : { label_ids: labelIds(state, body.labels) }),
  };
};

export const iterationHandlers: Handlers<{ iterations: typeof iterations }, Tracker>['iterations'] = {
  list: ({ state }) => [...state.iterations.values()].map((one) => iterationSlimRecord(state, one)),
  create: ({ state, body }) => {
    iterationsAreOn(state);
    iterationEndsAfterItStarts(body.start_date, body.end_date);
    const at = now(state);
    const one: StoredIteration = {
      id: newId(state),
      name: body.name,
      description: '',
      start_date: body.start_date,
      end_date: body.end_date,
      follower_ids: [],
      group_ids: [],
      ...mentions(state, ''),
      label_ids: [],
      entity_type: 'iteration',
      created_at: at,
      updated_at: at,
      ...changesFrom(state, body),
    };
    state.iterations.put(one.id, one);
    return iterationRecord(state, one);
  },
  disable: ({ state }) => {
    state.features.put('iterations', false);
    return undefined;
  },
  enable: ({ state }) => {
    state.features.put('iterations', true);
    return undefined;
  },
  get: ({ state, params }) =>
    iterationRecord(state, findRecord(state.iterations, params['iteration-public-id'])),
  update: ({ state, params, body }) => {
    const one = findRecord(state.iterations, params['iteration-public-id']);
    iterationsAreOn(state);
    const changed: StoredIteration = {
      ...one,
      ...pickGiven(body, 'name', 'start_date', 'end_date'),
      ...changesFrom(state, body),
      updated_at: now(state),
    };
    iterationEndsAfterItStarts(changed.start_date, changed.end_date);
    state.iterations.put(one.id, changed);
    return iterationRecord(state, changed);
  },
  delete: ({ state, params }) => {
    const { id } = findRecord(state.iterations, params['iteration-public-id']);
    iterationsAreOn(state);
    for (const story of [...state.stories.index('iteration', iterationOfStory).get(id)])
      state.stories.put(story.id, { ...story, iteration_id: null });
    state.iterations.delete(id);
    return undefined;
  },
  stories: ({ state, params, query }) => {
    const { id } = findRecord(state.iterations, params['iteration-public-id']);
    return storiesJson(
      state,
      `iteration ${id}`,
      () => state.stories.index('iteration', iterationOfStory).get(id),
      query.includes_description ?? false,
    );
  },
};

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
    ...overrideChanges(body),
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
