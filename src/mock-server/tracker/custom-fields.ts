import type { customFields } from '../../api-specs/tracker/workspace.ts';
import type { Handlers } from '../table-service.ts';
import { found, given, newUuid, now } from './records.ts';
import {
  entityTag,
  fieldIsUnchanged,
  valuesAreDistinct,
  valuesAreStillThere,
} from './rules/custom-fields.ts';
import { byPosition, move } from './rules/moves.ts';
import type { Tracker } from './state.ts';
import type { StoredCustomField, StoredStory } from './row.ts';

type ValueInput = {
  readonly id?: string;
  readonly value?: string;
  readonly color_key?: string | null;
  readonly enabled?: boolean;
};

const fieldsOfStory = (story: StoredStory): readonly string[] =>
  story.custom_fields.map((one) => one.field_id);

/** spec/tracker#custom-fields-2: the order given is the sort order, what is left out is deleted, no id is a new value. */
const nextValues = (
  state: Tracker,
  field: StoredCustomField,
  inputs: readonly ValueInput[],
): StoredCustomField['values'] => {
  valuesAreStillThere(field, inputs);
  valuesAreDistinct(inputs);
  return inputs.map((input, at) => {
    const before = field.values.find(({ id }) => id === input.id?.toLowerCase());
    return {
      id: before?.id ?? newUuid(state),
      value: input.value ?? before?.value ?? '',
      color_key: input.color_key === undefined ? (before?.color_key ?? null) : input.color_key,
      position: at,
      enabled: input.enabled ?? before?.enabled ?? true,
      entity_type: 'custom-field-enum-value',
    };
  });
};

/** A value that is gone or has another text is so on every story that has it. */
const carryToStories = (state: Tracker, fieldId: string, values: StoredCustomField['values']): void => {
  const texts = new Map(values.map(({ id, value }) => [id, value]));
  for (const story of [...state.stories.index('custom-field', fieldsOfStory).get(fieldId)]) {
    const after = story.custom_fields.flatMap((one) => {
      if (one.field_id !== fieldId) return [one];
      const value = texts.get(one.value_id);
      return value === undefined ? [] : [value === one.value ? one : { ...one, value }];
    });
    const isSame =
      after.length === story.custom_fields.length && after.every((one, i) => one === story.custom_fields[i]);
    if (!isSame) state.stories.put(story.id, { ...story, custom_fields: after });
  }
};

export const customFieldHandlers: Handlers<
  { 'custom-fields': typeof customFields },
  Tracker
>['custom-fields'] = {
  list: ({ state }) => byPosition(state.customFields.values()),
  get: ({ state, params, headers }) => {
    const field = found(state.customFields, params['custom-field-public-id']);
    headers.etag = entityTag(field);
    return field;
  },
  update: ({ state, params, body, request, headers }) => {
    const field = found(state.customFields, params['custom-field-public-id']);
    fieldIsUnchanged(field, request.headers['if-match']);
    const values = body.values === undefined ? field.values : nextValues(state, field, body.values);
    const changed = {
      ...field,
      ...given(body, 'description', 'enabled', 'icon_set_identifier', 'name'),
      values,
      updated_at: now(state),
    };
    state.customFields.put(field.id, changed);
    if (body.values !== undefined) carryToStories(state, field.id, values);
    move(state.customFields, field.id, body);
    const after = found(state.customFields, field.id);
    headers.etag = entityTag(after);
    return after;
  },
  delete: ({ state, params }) => {
    const field = found(state.customFields, params['custom-field-public-id']);
    carryToStories(state, field.id, []);
    state.customFields.delete(field.id);
    return undefined;
  },
};
