import { choiceProperties } from '../../api-specs/labels/label.ts';
import { lifecycleDisabledPolicy } from '../../api-specs/labels/wire.ts';
import { bare, type Field, type ObjectField } from '../../core/field.ts';
import {
  choiceOf,
  constraints,
  disablePart,
  type Draft,
  enablePart,
  needText,
  objectOf,
  insertItem,
  refuseLockedPart,
  refuseLong,
  refusePublished,
  selectionFieldOf,
  textOf,
  touch,
  type Badge,
  type ChoiceRecord,
  type FieldRecord,
  type Policy,
} from './draft.ts';
import { below, invalid, LabelError, camel, type Json } from './proto-json.ts';

/** Paths that an edit writes, relative to its implied root; `names` are those of the root's own members. */
export type Mask = { readonly paths: ReadonlySet<string>; has(name: string): boolean };
const membersOf = (field: Field): ObjectField['fields'] => {
  const inner = bare(field);
  return inner.type === 'object' ? inner.fields : {};
};
/** A path names a member of the row, on any level; members that only the service sets cannot be written. */
const isKnown = (root: Field, path: string): boolean => {
  let field: Field = root;
  for (const name of path.split('.')) {
    const member: Field | undefined = membersOf(field)[name];
    if (member === undefined || member.outputOnly) return false;
    field = member;
  }
  return true;
};
const writable = (root: Field): string[] =>
  Object.entries(membersOf(root)).flatMap(([name, field]) => (field.outputOnly ? [] : [name]));
const maskOf = (paths: ReadonlySet<string>): Mask => ({
  paths,
  // A key is written if the mask names it or a key inside it.
  has: (name) => [...paths].some((path) => path === name || path.startsWith(`${name}.`)),
});
/**
 * Which members an edit writes (spec/labels#parameters-7: relative to the implied root, at least one, `*` = every field).
 * The names are those of the row, nested ones included. A mask that is missing is refused, as the real service does.
 */
export const maskFrom = (mask: unknown, root: Field, path: string): Mask => {
  const names = String(mask ?? '')
    .split(',')
    .map(camel)
    .filter((name) => name !== '');
  if (names.length === 0) throw invalid(path, 'must name at least one field', 'EMPTY_FIELD_MASK');
  if (names.includes('*')) {
    if (names.length > 1) throw invalid(path, '* stands alone');
    return maskOf(new Set(writable(root)));
  }
  for (const name of names) {
    if (!isKnown(root, name))
      throw invalid(path, `"${name}" is not one of ${writable(root).join(', ')}`, 'UNKNOWN_FIELD_IN_MASK');
  }
  return maskOf(new Set(names));
};
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const writePath = (before: unknown, given: unknown, [name = '', ...rest]: readonly string[]): unknown => {
  const [old, fresh] = [isObject(before) ? before : {}, isObject(given) ? given[name] : undefined];
  const value = rest.length === 0 ? fresh : writePath(old[name], fresh, rest);
  const { [name]: _, ...others } = old;
  return value === undefined ? others : { ...others, [name]: value };
};
/** The object after the edit: replaced completely, or only in the parts that the mask names. */
const valueAfter = (mask: Mask, name: string, before: unknown, given: Json): unknown => {
  if (mask.paths.has(name)) return given[name];
  return [...mask.paths]
    .filter((path) => path.startsWith(`${name}.`))
    .reduce((now, path) => writePath(now, given[name], path.split('.').slice(1)), before);
};

/**
 * The part of a policy that a mask selects, merged into the previous policy. Used for labels, fields and
 * choices.
 */
export const policyFrom = (json: Json, before: Policy | undefined, path: string): Policy => {
  const given = objectOf(json, 'disabledPolicy') as { [K in keyof Policy]: boolean };
  const mask = maskFrom(json.updateMask, lifecycleDisabledPolicy, below(path, 'updateMask'));
  const hideInSearch = mask.has('hideInSearch')
    ? (given.hideInSearch ?? false)
    : (before?.hideInSearch ?? false);
  const showInApply = mask.has('showInApply') ? (given.showInApply ?? false) : (before?.showInApply ?? false);
  return { hideInSearch, showInApply };
};
/** `:disable` may omit the policy. A policy in the request needs its mask. */
export const labelPolicyFrom = (json: Json, before: Policy | undefined): Policy =>
  json.disabledPolicy === undefined && json.updateMask === undefined
    ? { hideInSearch: before?.hideInSearch ?? false, showInApply: before?.showInApply ?? false }
    : policyFrom(json, before, '');

const limits = constraints.fieldLimits.selectionLimits;
const refuseWrongBadge = (badge: Badge | undefined, path: string): void => {
  for (const [name, value] of Object.entries(badge?.color ?? {})) {
    if (typeof value === 'number' && (value < 0 || value > 1))
      throw invalid(`${path}.color.${name}`, `must be between 0 and 1, got ${value}`);
  }
};
const refuseWrongTexts = (properties: Json, path: string): void => {
  refuseLong(needText(properties, 'displayName', path), limits.maxDisplayNameLength, `${path}.displayName`);
  refuseLong(
    textOf(properties, 'description'),
    constraints.fieldLimits.maxDescriptionLength,
    `${path}.description`,
  );
  refuseWrongBadge(properties.badgeConfig as Badge | undefined, `${path}.badgeConfig`);
};
const refuseWrongId = (field: FieldRecord, id: string, path: string): void => {
  if (!/^[A-Za-z0-9_]+$/.test(id)) throw invalid(`${path}.id`, 'must consist of letters, digits and _');
  refuseLong(id, limits.maxIdLength, `${path}.id`);
  if (field.choices.some((other) => other.id === id)) {
    throw new LabelError('ALREADY_EXISTS', `Field ${field.id} has a choice ${id} already.`, {
      reason: 'CHOICE_EXISTS',
      fields: [{ field: `${path}.id`, description: 'exists' }],
    });
  }
};
/** Adds a choice to a field of a draft; also used while a field is created with its choices. */
export const addChoice = (draft: Draft, field: FieldRecord, given: Json, path: string): ChoiceRecord => {
  const properties = objectOf(given, 'properties');
  refuseWrongTexts(properties, `${path}.properties`);
  const id = textOf(given, 'id') === '' ? draft.choiceId() : textOf(given, 'id');
  refuseWrongId(field, id, path);
  if (field.choices.length >= limits.maxChoices) {
    throw invalid(path, `a selection field has at most ${limits.maxChoices} choices`, 'LIMIT_EXCEEDED');
  }
  const choice: ChoiceRecord = {
    id,
    displayName: textOf(properties, 'displayName'),
    ...(textOf(properties, 'description') === '' ? {} : { description: textOf(properties, 'description') }),
    ...(properties.badgeConfig === undefined ? {} : { badge: properties.badgeConfig as Badge }),
    state: 'UNPUBLISHED_DRAFT',
    createTime: draft.now,
    creator: draft.caller,
    updateTime: draft.now,
    updater: draft.caller,
  };
  insertItem(
    field.choices,
    choice,
    textOf(properties, 'insertBeforeChoice'),
    `${path}.properties.insertBeforeChoice`,
  );
  return choice;
};
const nameOf = (field: FieldRecord, choice: ChoiceRecord): string =>
  `choice ${choice.id} of field ${field.id}`;
const target = (draft: Draft, json: Json, path: string): { field: FieldRecord; choice: ChoiceRecord } => {
  const field = selectionFieldOf(draft, needText(json, 'fieldId', path), `${path}.fieldId`);
  return { field, choice: choiceOf(field, needText(json, 'id', path), `${path}.id`) };
};
export const createSelectionChoice = (draft: Draft, json: Json, path: string): Json => {
  const field = selectionFieldOf(draft, needText(json, 'fieldId', path), `${path}.fieldId`);
  refuseLockedPart(draft, { fieldId: field.id });
  const choice = addChoice(draft, field, objectOf(json, 'choice'), `${path}.choice`);
  touch(field, draft);
  return { fieldId: field.id, id: choice.id };
};
export const updateSelectionChoiceProperties = (draft: Draft, json: Json, path: string): Json => {
  const { field, choice } = target(draft, json, path);
  refuseLockedPart(draft, { fieldId: field.id, choiceId: choice.id });
  const properties = objectOf(json, 'properties');
  const mask = maskFrom(json.updateMask, choiceProperties, `${path}.updateMask`);
  refuseWrongTexts(
    { ...properties, displayName: mask.has('displayName') ? properties.displayName : choice.displayName },
    `${path}.properties`,
  );
  if (mask.has('displayName')) choice.displayName = textOf(properties, 'displayName');
  if (mask.has('description')) choice.description = textOf(properties, 'description') || undefined;
  if (mask.has('badgeConfig'))
    choice.badge = valueAfter(mask, 'badgeConfig', choice.badge, properties) as Badge | undefined;
  if (mask.has('insertBeforeChoice'))
    insertItem(
      field.choices,
      choice,
      textOf(properties, 'insertBeforeChoice'),
      `${path}.properties.insertBeforeChoice`,
    );
  touch(choice, draft);
  return { priority: field.choices.indexOf(choice) + 1 };
};
export const enableSelectionChoice = (draft: Draft, json: Json, path: string): Json => {
  const { field, choice } = target(draft, json, path);
  refuseLockedPart(draft, { fieldId: field.id, choiceId: choice.id });
  enablePart(choice, nameOf(field, choice), draft);
  return {};
};
export const disableSelectionChoice = (draft: Draft, json: Json, path: string): Json => {
  const { field, choice } = target(draft, json, path);
  refuseLockedPart(draft, { fieldId: field.id, choiceId: choice.id }, true);
  const policy = policyFrom(json, choice.policy, path);
  disablePart(choice, nameOf(field, choice), draft);
  choice.policy = policy;
  return {};
};
export const deleteSelectionChoice = (draft: Draft, json: Json, path: string): Json => {
  const { field, choice } = target(draft, json, path);
  refuseLockedPart(draft, { fieldId: field.id, choiceId: choice.id }, true);
  refusePublished(choice, nameOf(field, choice));
  if (choice.state === 'DISABLED') {
    const count = (draft.deletedChoices[field.id] ?? 0) + 1;
    if (count > limits.maxDeletedChoices)
      throw invalid(
        path,
        `at most ${limits.maxDeletedChoices} published choices of a field can be deleted`,
        'LIMIT_EXCEEDED',
      );
    draft.deletedChoices[field.id] = count;
  }
  field.choices.splice(field.choices.indexOf(choice), 1);
  touch(field, draft);
  return {};
};
