import type { ChoiceJson, FieldJson, LabelJson, LifecycleJson } from './api-types.ts';
import { hexFrom } from './color.ts';
import {
  type Badge,
  type ChoiceDef,
  type FieldDef,
  type FieldKind,
  type LabelDef,
  type LiveChoice,
  type LiveField,
  type LiveLabel,
  type LiveState,
  type Policy,
  badgeWith,
  fieldKinds,
} from './definition.ts';

const stateOf = (lifecycle: LifecycleJson | undefined): LiveState =>
  (lifecycle?.state ?? 'UNPUBLISHED_DRAFT') as LiveState;
const policyOf = (lifecycle: LifecycleJson | undefined): Policy | undefined => {
  if (stateOf(lifecycle) !== 'DISABLED') return undefined;
  const { hideInSearch = false, showInApply = false } = lifecycle?.disabledPolicy ?? {};
  return { hideInSearch, showInApply };
};
const disabledOf = (lifecycle: LifecycleJson | undefined): { disabled?: Policy } => {
  const disabled = policyOf(lifecycle);
  return disabled === undefined ? {} : { disabled };
};

const badgeOf = (choice: ChoiceJson): { badge?: Badge } => {
  const config = choice.properties?.badgeConfig;
  const badge = badgeWith(config?.color && hexFrom(config.color), String(config?.priorityOverride ?? '0'));
  return badge === undefined ? {} : { badge };
};

const choiceFrom = (choice: ChoiceJson): LiveChoice => ({
  id: choice.id ?? '',
  name: choice.properties?.displayName ?? '',
  ...(choice.properties?.description ? { description: choice.properties.description } : {}),
  ...badgeOf(choice),
  ...disabledOf(choice.lifecycle),
  state: stateOf(choice.lifecycle),
});

const kindOf = (field: FieldJson): FieldKind =>
  fieldKinds.find((kind) => field[`${kind}Options`] !== undefined) ?? 'text';

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

const textsOf = (label: LabelJson) => ({
  id: label.id ?? '',
  title: label.properties?.title ?? '',
  ...(label.properties?.description ? { description: label.properties.description } : {}),
  type: label.labelType ?? '',
  ...(label.learnMoreUri ? { learnMoreUri: label.learnMoreUri } : {}),
});

/** A right that the service does not mention is not denied. */
const rightsOf = ({ schemaCapabilities: rights = {} }: LabelJson) => ({
  canUpdate: rights.canUpdate ?? true,
  canDisable: rights.canDisable ?? rights.canUpdate ?? true,
  canEnable: rights.canEnable ?? rights.canUpdate ?? true,
});

/** A label in full view in the words of a definition. Pure. */
export const liveFrom = (label: LabelJson): LiveLabel => {
  const disabledPolicy = policyOf(label.lifecycle);
  return {
    ...textsOf(label),
    copyMode: label.appliedLabelPolicy?.copyMode ?? 'DO_NOT_COPY',
    enabledApps: (label.enabledAppSettings?.enabledApps ?? []).flatMap(({ app }) =>
      app === undefined ? [] : [app],
    ),
    fields: (label.fields ?? []).map(fieldFrom),
    revisionId: label.revisionId ?? '',
    state: stateOf(label.lifecycle),
    ...(disabledPolicy === undefined ? {} : { disabledPolicy }),
    hasUnpublishedChanges: label.lifecycle?.hasUnpublishedChanges ?? false,
    createTime: label.createTime ?? '',
    rights: rightsOf(label),
  };
};

const choiceDefOf = ({ id, name, description, badge, disabled }: LiveChoice): ChoiceDef => ({
  ...(id === '' ? {} : { id }),
  name,
  description: description ?? null,
  badge: badge ?? null,
  disabled: disabled ?? false,
});

const fieldDefOf = (field: LiveField): FieldDef => {
  const { id, name, type, required, maxEntries, dateFormat, choices, disabled } = field;
  return {
    ...(id === '' ? {} : { id }),
    name,
    type,
    required,
    ...(type === 'selection' || type === 'user' ? { maxEntries: maxEntries ?? null } : {}),
    ...(dateFormat === undefined ? {} : { dateFormat }),
    ...(type === 'selection' ? { choices: choices.map(choiceDefOf) } : {}),
    disabled: disabled ?? false,
  };
};

const definedStateOf = ({ state, hasUnpublishedChanges }: LiveLabel): Pick<LabelDef, 'state'> => {
  if (state === 'UNPUBLISHED_DRAFT') return { state: 'draft' };
  if (state === 'DISABLED') return { state: 'disabled' };
  // Published with a newer draft: to say `published` would publish that draft at the next apply.
  return hasUnpublishedChanges ? {} : { state: 'published' };
};

/** A label of the service as a complete definition: every member that can be changed is said. Pure. */
export const definitionOf = (live: LiveLabel): LabelDef => ({
  ...(live.id === '' ? {} : { id: live.id }),
  title: live.title,
  type: live.type,
  description: live.description ?? null,
  ...(live.learnMoreUri === undefined ? {} : { learnMoreUri: live.learnMoreUri }),
  ...definedStateOf(live),
  ...(live.disabledPolicy === undefined ? {} : { disabledPolicy: live.disabledPolicy }),
  copyMode: live.copyMode,
  enabledApps: live.enabledApps,
  fields: live.fields.map(fieldDefOf),
});
