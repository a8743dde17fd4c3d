import { choiceProperties } from '../../api-specs/labels/field.ts';
import { LabelError, invalid } from './errors.ts';
import { constraints } from './constraints.ts';
import {
  type Draft,
  choiceOf,
  disablePart,
  enablePart,
  refuseLockedPart,
  needText,
  objectOf,
  place,
  refuseLong,
  refusePublished,
  selectionFieldOf,
  textOf,
  touch,
} from './draft.ts';
import { maskFrom, valueAfter } from './mask.ts';
import { policyFrom } from './policy.ts';
import type { Json } from './proto-json.ts';
import type { Badge, ChoiceRecord, FieldRecord } from './state.ts';

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
  place(
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
    place(
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
