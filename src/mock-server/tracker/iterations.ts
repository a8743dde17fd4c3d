import type { Value } from '../../core/field.ts';
import type { iterations } from '../../api-specs/tracker/planning.ts';
import type { iteration, iterationSlim } from '../../api-specs/tracker/planning-records.ts';
import type { Handlers } from '../table-service.ts';
import { fullLabel, labelIds, labelsOf, storyCounts } from './label-stats.ts';
import { average } from './epic-view.ts';
import {
  appUrl,
  findRecord,
  pickGiven,
  mentions,
  newId,
  now,
  timestamp,
  type Tracker,
  uuidList,
} from './state.ts';
import { iterationEndsAfterItStarts, iterationsAreOn } from './rules/stories.ts';
import { groupsExist, membersExist } from './rules/references.ts';
import type { StoredIteration } from './row.ts';
import { iterationOfStory, storiesJson } from './story-view.ts';

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
