import type { Value } from '../../core/field.ts';
import type { keyResults } from '../../api-specs/tracker/key-results.ts';
import type { keyResult } from '../../api-specs/tracker/planning-records.ts';
import type { Handlers } from '../table-service.ts';
import { found, given } from './records.ts';
import { valueFitsKeyResultType } from './rules/key-results.ts';
import type { Tracker } from './state.ts';
import type { StoredKeyResult } from './row.ts';

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
  get: ({ state, params }) => keyResultRecord(found(state.keyResults, params['key-result-public-id'])),
  update: ({ state, params, body }) => {
    const one = found(state.keyResults, params['key-result-public-id']);
    valueFitsKeyResultType(one.type, 'initial_observed_value', body.initial_observed_value);
    valueFitsKeyResultType(one.type, 'observed_value', body.observed_value);
    valueFitsKeyResultType(one.type, 'target_value', body.target_value);
    const changed: StoredKeyResult = {
      ...one,
      ...given(body, 'initial_observed_value', 'name'),
      current_observed_value: body.observed_value ?? one.current_observed_value,
      current_target_value: body.target_value ?? one.current_target_value,
    };
    state.keyResults.put(one.id, changed);
    return keyResultRecord(changed);
  },
};
