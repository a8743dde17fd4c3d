import type { Tracker } from './state.ts';
import type { StoredLabel } from './row.ts';
import { newId, now, unique } from './records.ts';

type LabelInput = {
  readonly name: string;
  readonly color?: string;
  readonly description?: string;
  readonly external_id?: string;
};

export const newLabel = (state: Tracker, input: LabelInput): StoredLabel => {
  const at = now(state);
  const label: StoredLabel = {
    id: newId(state),
    name: input.name,
    description: input.description ?? null,
    color: input.color ?? null,
    archived: false,
    external_id: input.external_id ?? null,
    entity_type: 'label',
    created_at: at,
    updated_at: at,
  };
  state.labels.put(label.id, label);
  return label;
};

/** spec/tracker#epics-5: found by name, made when there is none. */
export const labelIds = (state: Tracker, inputs: readonly LabelInput[] | undefined): number[] =>
  unique(
    (inputs ?? []).map(
      (input) =>
        (state.labels.index('name', ({ name }) => name).first(input.name) ?? newLabel(state, input)).id,
    ),
  );
