import type { Value } from '../../core/field.ts';
import type { objective } from '../../api-specs/tracker/planning-records.ts';
import { objectivesOfEpic } from './epic-view.ts';
import { appUrl } from './records.ts';
import type { Tracker } from './state.ts';
import type { StoredKeyResult, StoredObjective } from './row.ts';

export const objectiveOfKeyResult = (keyResult: StoredKeyResult): number => keyResult.objective_id;

/** Whole seconds on average; 0 without any. */
export const average = (sum: number, count: number): number => (count === 0 ? 0 : Math.round(sum / count));

const stats = (state: Tracker, id: number): Value<typeof objective>['stats'] => {
  const sums = { cycle: 0, cycles: 0, lead: 0, leads: 0 };
  for (const epic of state.epics.index('objective', objectivesOfEpic).get(id)) {
    const counts = state.counters.of('epic', epic.id);
    sums.cycle += counts.cycleSeconds;
    sums.cycles += counts.cycles;
    sums.lead += counts.leadSeconds;
    sums.leads += counts.leads;
  }
  return {
    average_cycle_time: average(sums.cycle, sums.cycles),
    average_lead_time: average(sums.lead, sums.leads),
    num_related_documents: 0,
  };
};

/** spec/tracker#records Milestone and Objective, one store for both (spec/tracker#records-2). */
export const objectiveRecord = (state: Tracker, one: StoredObjective): Value<typeof objective> => {
  const { category_ids: ids, ...rest } = one;
  return {
    ...rest,
    app_url: appUrl(state, 'objective', one.id),
    categories: ids.flatMap((id) => state.categories.get(id) ?? []),
    key_result_ids: [...state.keyResults.index('objective', objectiveOfKeyResult).get(one.id)].map(
      ({ id }) => id,
    ),
    stats: stats(state, one.id),
  };
};
