import { hexFrom } from './color.ts';
import {
  type Badge,
  type FieldKind,
  type LiveChoice,
  type LiveField,
  type LiveLabel,
  type LiveState,
  type Policy,
  badgeWith,
} from './definition.ts';
import type { ChoiceJson, FieldJson, LabelJson, LifecycleJson } from './api-types.ts';

const stateOf = (lifecycle: LifecycleJson | undefined): LiveState =>
  (lifecycle?.state ?? 'UNPUBLISHED_DRAFT') as LiveState;
const disabledOf = (lifecycle: LifecycleJson | undefined): { disabled?: Policy } => {
  if (stateOf(lifecycle) !== 'DISABLED') return {};
  const { hideInSearch = false, showInApply = false } = lifecycle?.disabledPolicy ?? {};
  return { disabled: { hideInSearch, showInApply } };
};

const badgeOf = (choice: ChoiceJson): { badge?: Badge } => {
  const config = choice.properties?.badgeConfig;
  return badgeWith(config?.color && hexFrom(config.color), String(config?.priorityOverride ?? '0'));
};

const choiceFrom = (choice: ChoiceJson): LiveChoice => ({
  id: choice.id ?? '',
  name: choice.properties?.displayName ?? '',
  ...(choice.properties?.description ? { description: choice.properties.description } : {}),
  ...badgeOf(choice),
  ...disabledOf(choice.lifecycle),
  state: stateOf(choice.lifecycle),
});

const kinds: readonly FieldKind[] = ['text', 'integer', 'date', 'selection', 'user'];
const kindOf = (field: FieldJson): FieldKind =>
  kinds.find((kind) => field[`${kind}Options`] !== undefined) ?? 'text';

const fieldFrom = (field: FieldJson): LiveField => {
  const list = field.selectionOptions?.listOptions ?? field.userOptions?.listOptions;
  const format = field.dateOptions?.dateFormatType;
  return {
    id: field.id ?? '',
    name: field.properties?.displayName ?? '',
    type: kindOf(field),
    required: field.properties?.required ?? false,
    ...(list ? { maxEntries: list.maxEntries ?? 0 } : {}),
    ...(format ? { dateFormat: format } : {}),
    choices: (field.selectionOptions?.choices ?? []).map(choiceFrom),
    ...disabledOf(field.lifecycle),
    state: stateOf(field.lifecycle),
  };
};

/** A label in full view as a definition. Pure. */
export const liveFrom = (label: LabelJson): LiveLabel => ({
  id: label.id ?? '',
  title: label.properties?.title ?? '',
  ...(label.properties?.description ? { description: label.properties.description } : {}),
  type: label.labelType ?? '',
  ...(label.learnMoreUri ? { learnMoreUri: label.learnMoreUri } : {}),
  copyMode: label.appliedLabelPolicy?.copyMode ?? 'DO_NOT_COPY',
  enabledApps: (label.enabledAppSettings?.enabledApps ?? []).flatMap(({ app }) =>
    app === undefined ? [] : [app],
  ),
  fields: (label.fields ?? []).map(fieldFrom),
  revisionId: label.revisionId ?? '',
  state: stateOf(label.lifecycle),
  hasUnpublishedChanges: label.lifecycle?.hasUnpublishedChanges ?? false,
  canUpdate: label.schemaCapabilities?.canUpdate ?? true,
});
