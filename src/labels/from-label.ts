import type { EngineContext } from '../api/context.ts';
import { AppError } from '../core/problem.ts';
import { type CheckFinding, recordResult, type Result } from '../core/result.ts';
import type { ChoiceJson, FieldJson, LabelJson, LifecycleJson } from './api-types.ts';
import {
  type Change,
  changeRow,
  changesText,
  type Badge,
  badgeWith,
  type ChoiceDef,
  type FieldDef,
  type FieldKind,
  fieldKinds,
  hexFrom,
  type LabelDef,
  type LiveChoice,
  type LiveField,
  type LiveLabel,
  type LiveState,
  type Policy,
  type PermissionDef,
} from './definition.ts';
import { planFrom } from './plan.ts';
import { type ReadOptions, getLabel, withLabel } from './read-labels.ts';
import { present } from './read-values.ts';

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
  // Published with a newer draft: `published` in the file would publish that draft at the next apply.
  return hasUnpublishedChanges ? {} : { state: 'published' };
};
/** Converts a label of the service into a complete definition with every changeable key. Pure. */
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

const liveChoiceText = ({ name, disabled }: LiveChoice): string => (disabled ? `${name} (disabled)` : name);
const MOST_CHOICES = 6;
const choicesText = (choices: readonly LiveChoice[]): string => {
  const shown = choices.slice(0, MOST_CHOICES).map(liveChoiceText).join(', ');
  return choices.length > MOST_CHOICES ? `${shown} and ${choices.length - MOST_CHOICES} more` : shown;
};
const liveFieldText = (field: LiveField, width: number): string => {
  const notes = [
    field.required ? 'required' : '',
    field.maxEntries === undefined ? '' : `up to ${field.maxEntries} values`,
    field.disabled ? 'disabled' : field.state === 'UNPUBLISHED_DRAFT' ? 'draft' : '',
  ].filter((note) => note !== '');
  const choices = field.choices.length === 0 ? '' : `: ${choicesText(field.choices)}`;
  return `  ${field.name.padEnd(width)}  ${field.type}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}${choices}`;
};
/** A label as a person reads it; scripts take the JSON. Pure. */
export const labelText = (json: LabelJson): string => {
  const label = liveFrom(json);
  const state =
    json.lifecycle === undefined
      ? []
      : [label.state === 'UNPUBLISHED_DRAFT' ? 'draft' : label.state.toLowerCase()];
  const facts = [
    label.type,
    ...state,
    ...(label.hasUnpublishedChanges ? ['with unpublished changes'] : []),
    `revision ${label.revisionId}`,
  ];
  const width = Math.max(...label.fields.map((field) => field.name.length));
  return [
    `${label.title}  ${json.name}`,
    `  ${facts.join(', ')}`,
    ...(label.description ? [`  ${label.description}`] : []),
    ...label.fields.map((field) => liveFieldText(field, width)),
  ].join('\n');
};

/** A label with its draft and its published revision. */
export type Compared = {
  readonly name: string;
  /** The newest revision as the service gave it. */
  readonly label: LabelJson;
  readonly draft: LiveLabel;
  readonly published: LiveLabel | undefined;
  readonly changes: readonly Change[];
};
/**
 * The unpublished changes: every part of a label that was never published, otherwise the edits from the
 * published revision to the draft. Pure.
 */
export const findUnpublished = (draft: LiveLabel, published: LiveLabel | undefined): readonly Change[] => {
  // Disabled, enabled and deleted in the draft are states there, and the plan from one to the other has them as such.
  const { state: _, copyMode: __, enabledApps: ___, ...content } = definitionOf(draft);
  return planFrom(content, published, { prune: true }).changes;
};
const publishedOf = async (
  context: EngineContext,
  name: string,
  asking: ReadOptions,
): Promise<LiveLabel | undefined> => {
  try {
    return liveFrom(await getLabel(context, `${name}@published`, asking));
  } catch (error) {
    if (error instanceof AppError && error.category === 'not-found') return undefined;
    throw error;
  }
};
export const compare = (context: EngineContext, typed: string, asking: ReadOptions): Promise<Compared> =>
  withLabel(context, typed, asking, async (found) => {
    const [name = ''] = found.split('@');
    const label = await getLabel(context, name, asking);
    const draft = liveFrom(label);
    const published = await publishedOf(context, name, asking);
    return { name, label, draft, published, changes: findUnpublished(draft, published) };
  });
/** Each change that is not published is one failed finding. */
const draftFindings = (title: string, changes: readonly Change[]): CheckFinding[] =>
  changes.length === 0
    ? [{ rule: 'unpublished', level: 'pass', subject: title, message: `${title} has no unpublished change` }]
    : changes.map((change) => ({
        ...{ rule: 'unpublished', level: 'fail', subject: title, message: changesText([change]).trim() },
      }));
export const diffDraft = async (
  context: EngineContext,
  typed: string,
  asking: ReadOptions,
): Promise<Result> => {
  const { name, draft, published, changes } = await compare(context, typed, asking);
  const data = {
    label: name,
    title: draft.title,
    published_revision: published?.revisionId ?? null,
    draft_revision: draft.revisionId === published?.revisionId ? null : draft.revisionId,
    changes: changes.map(changeRow),
  };
  const from = published === undefined ? 'never published' : `published revision ${published.revisionId}`;
  const text = `label ${draft.title}: ${from}, newest revision ${draft.revisionId}\n${changesText(changes)}`;
  const findings = () => draftFindings(draft.title, changes);
  return recordResult(
    data,
    { text, isProse: true, name: 'label', findings },
    changes.length > 0 ? 'no' : undefined,
  );
};

type Plain = Record<string, unknown>;
/** `disabled: true` is the short form of an empty policy. */
const disabledText = (policy: Policy | false | undefined): unknown => {
  if (policy === undefined || policy === false) return policy;
  return policyText(policy) ?? true;
};
const policyText = (policy: Policy | undefined): Plain | undefined => {
  const said = {
    ...(policy?.hideInSearch ? { hideInSearch: true } : {}),
    ...(policy?.showInApply ? { showInApply: true } : {}),
  };
  return Object.keys(said).length === 0 ? undefined : said;
};
export const choiceText = (choice: ChoiceDef): Plain => {
  const { name, key, id, was, description, badge, disabled } = choice;
  return present({ name, key, id, was, description, badge, disabled: disabledText(disabled) });
};
export const fieldText = (field: FieldDef): Plain => {
  const { name, key, id, was, type, required, maxEntries, dateFormat, choices, disabled, protect } = field;
  return present({
    name,
    key,
    id,
    was,
    type,
    required,
    maxEntries,
    dateFormat,
    disabled: disabledText(disabled),
    protect,
    choices: choices?.map(choiceText),
  });
};
export const permissionText = ({ role, email, person, group, audience }: PermissionDef): Plain =>
  // An email address is sufficient. The principal is the internal name in the service.
  present(email === undefined ? { role, person, group, audience } : { role, email });
/** A definition as the plain value of its file; reading it gives the same definition. */
export const fileFrom = (wanted: LabelDef): Plain => {
  const { key, id, was, title, type, description, learnMoreUri, state, disabledPolicy } = wanted;
  const { copyMode, enabledApps, permissions, fields, protect } = wanted;
  return present({
    key,
    id,
    was,
    title,
    type,
    description,
    learnMoreUri,
    state,
    disabledPolicy: policyText(disabledPolicy),
    copyMode,
    enabledApps: enabledApps && [...enabledApps],
    permissions: permissions?.map(permissionText),
    protect,
    fields: fields?.map(fieldText),
  });
};
