import { fieldProperties, labelField, labelProperties } from '../../api-specs/labels/label.ts';
import { type FieldKind, fieldKinds, optionMembers, optionsOf } from '../../api-specs/labels/wire.ts';
import { obj } from '../../core/field.ts';
import * as choices from './choice-edits.ts';
import { addChoice, type Mask, maskFrom, policyFrom } from './choice-edits.ts';
import {
  constraints,
  disablePart,
  type Draft,
  enablePart,
  fieldOf,
  needText,
  objectOf,
  insertItem,
  refuseLockedPart,
  refuseLong,
  refusePublished,
  refuseTooManyFields,
  textOf,
  touch,
  type FieldRecord,
} from './draft.ts';
import { makePreconditionError, invalid, camel, type Json } from './proto-json.ts';

const listLimit = (kind: FieldKind): number =>
  kind === 'selection'
    ? constraints.fieldLimits.selectionLimits.listLimits.maxEntries
    : constraints.fieldLimits.userLimits.listLimits.maxEntries;
/** Which of the five option members is set; the mapping has refused two of them already. */
const kindIn = (json: Json, path: string): FieldKind => {
  const kind = fieldKinds.find((k) => json[optionsOf(k)] !== undefined);
  if (kind === undefined) throw invalid(path, `one of ${optionMembers.join(', ')} is required`, 'REQUIRED');
  return kind;
};
/** The number of values allowed; undefined when only one is. 0 means as many as the limit allows. */
const maxEntriesIn = (options: Json, kind: FieldKind, path: string): number | undefined => {
  if (options.listOptions === undefined) return undefined;
  const asked = Number(objectOf(options, 'listOptions').maxEntries ?? 0);
  const limit = listLimit(kind);
  if (asked < 0 || asked > limit) {
    throw invalid(
      `${path}.${kind}Options.listOptions.maxEntries`,
      `must be between 1 and ${limit}, got ${asked}`,
      'LIMIT_EXCEEDED',
    );
  }
  return asked === 0 ? limit : asked;
};
const dateFormatIn = (options: Json, path: string): string => {
  const type = textOf(options, 'dateFormatType');
  if (type === 'DATE_FORMAT_UNSPECIFIED')
    throw invalid(`${path}.dateOptions.dateFormatType`, 'must be LONG_DATE or SHORT_DATE');
  return type === '' ? 'LONG_DATE' : type;
};
/** The same id twice in one request is a wrong argument; 409 is for an id that the field has already. */
const refuseTwins = (choices: readonly Json[], path: string): void => {
  const ids = choices.map((choice) => textOf(choice, 'id'));
  const twin = ids.findIndex((id, i) => id !== '' && ids.indexOf(id) < i);
  if (twin >= 0)
    throw invalid(`${path}[${twin}].id`, `is the id of choice ${ids.indexOf(ids[twin] ?? '')} too`);
};
const setChoices = (draft: Draft, field: FieldRecord, options: Json, path: string): void => {
  const choices = (options.choices ?? []) as readonly Json[];
  refuseTwins(choices, `${path}.selectionOptions.choices`);
  field.choices = [];
  for (const [i, choice] of choices.entries())
    addChoice(draft, field, choice, `${path}.selectionOptions.choices[${i}]`);
};
/** Puts the options of one kind on a field; what belonged to another kind goes. */
const applyType = (draft: Draft, field: FieldRecord, json: Json, path: string): void => {
  const kind = kindIn(json, path);
  const options = objectOf(json, `${kind}Options`);
  field.kind = kind;
  field.maxEntries = kind === 'selection' || kind === 'user' ? maxEntriesIn(options, kind, path) : undefined;
  field.dateFormatType = kind === 'date' ? dateFormatIn(options, path) : undefined;
  setChoices(draft, field, options, path);
};
const needName = (properties: Json, path: string): string => {
  const name = needText(properties, 'displayName', path);
  refuseLong(name, constraints.fieldLimits.maxDisplayNameLength, `${path}.displayName`);
  return name;
};
/** Adds a field to a draft; also used while a label is created with its fields. Returns it and its position. */
export const addField = (
  draft: Draft,
  json: Json,
  path: string,
): { field: FieldRecord; priority: number } => {
  const properties = objectOf(json, 'properties');
  const field: FieldRecord = {
    id: draft.fieldId(),
    displayName: needName(properties, `${path}.properties`),
    required: properties.required === true,
    kind: 'text',
    choices: [],
    state: 'UNPUBLISHED_DRAFT',
    createTime: draft.now,
    creator: draft.caller,
    updateTime: draft.now,
    updater: draft.caller,
  };
  applyType(draft, field, json, path);
  refuseTooManyFields(draft.revision.fields.length + 1, path);
  const priority = insertItem(
    draft.revision.fields,
    field,
    textOf(properties, 'insertBeforeField'),
    `${path}.properties.insertBeforeField`,
  );
  return { field, priority };
};
const createField = (draft: Draft, json: Json, path: string): Json => {
  refuseLockedPart(draft, {});
  const { field, priority } = addField(draft, objectOf(json, 'field'), `${path}.field`);
  return { id: field.id, priority };
};
const target = (draft: Draft, json: Json, path: string): FieldRecord =>
  fieldOf(draft, needText(json, 'id', path), `${path}.id`);
const updateField = (draft: Draft, json: Json, path: string): Json => {
  const field = target(draft, json, path);
  refuseLockedPart(draft, { fieldId: field.id });
  const properties = objectOf(json, 'properties');
  const mask = maskFrom(json.updateMask, fieldProperties, `${path}.updateMask`);
  if (mask.has('displayName')) field.displayName = needName(properties, `${path}.properties`);
  if (mask.has('required')) field.required = properties.required === true;
  if (mask.has('insertBeforeField')) {
    insertItem(
      draft.revision.fields,
      field,
      textOf(properties, 'insertBeforeField'),
      `${path}.properties.insertBeforeField`,
    );
  }
  touch(field, draft);
  return { priority: draft.revision.fields.indexOf(field) + 1 };
};
const isFrozen = (field: FieldRecord): boolean => field.state !== 'UNPUBLISHED_DRAFT';
/** spec/labels#lifecycle "Rules that bite after publish": the field type is frozen. */
const refuseFrozenType = (field: FieldRecord, kind: FieldKind): void => {
  if (isFrozen(field) && field.kind !== kind) {
    throw makePreconditionError(
      'TYPE_FROZEN',
      `field ${field.id}`,
      `Field ${field.id} was published as a ${field.kind} field; its type cannot become ${kind}.`,
    );
  }
};
/**
 * spec/labels#lifecycle: listOptions presence is fixed, and maxEntries may not be lower than the published
 * value. A draft may return to that value.
 */
const refuseFrozenListOptions = (draft: Draft, field: FieldRecord, next: number | undefined): void => {
  const then = draft.published?.fields.find(({ id }) => id === field.id);
  if (then === undefined || next === then.maxEntries) return;
  const subject = `field ${field.id}`;
  if (next === undefined || then.maxEntries === undefined) {
    const had = then.maxEntries === undefined ? 'without' : 'with';
    throw makePreconditionError(
      'LIST_OPTIONS_FROZEN',
      subject,
      `Field ${field.id} was published ${had} listOptions; that is fixed.`,
    );
  }
  if (next < then.maxEntries) {
    const message = `Field ${field.id} was published with maxEntries ${then.maxEntries}; it cannot shrink to ${next}.`;
    throw makePreconditionError('MAX_ENTRIES_SHRINKS', subject, message);
  }
};
/** The mask of a type edit is relative to the type: `selectionOptions.listOptions`, or `listOptions` alone. */
const typeMask = (json: Json, kind: FieldKind, path: string): Mask => {
  const member = optionsOf(kind);
  const names = String(json.updateMask ?? '').split(',');
  const isWhole = (name: string): boolean =>
    name === '' || name === '*' || optionMembers.some((one) => one === camel(name).split('.')[0]);
  const whole = names.map((name) => (isWhole(name) ? name : `${member}.${name}`));
  return maskFrom(whole.join(), obj({ [member]: labelField.fields[member] }), `${path}.updateMask`);
};
/**
 * spec/labels#lifecycle: choices of a published field have dedicated requests. Replacing the list would
 * orphan values on items.
 */
const refuseReplacedChoices = (field: FieldRecord, options: Json, path: string): void => {
  if (isFrozen(field) && options.choices !== undefined) {
    throw invalid(
      `${path}.selectionOptions.choices`,
      'choices of a published field are changed by the choice requests',
      'CHOICES_FROZEN',
    );
  }
};
const updateFieldType = (draft: Draft, json: Json, path: string): Json => {
  const field = target(draft, json, path);
  const kind = kindIn(json, path);
  refuseLockedPart(draft, { fieldId: field.id }, field.kind !== kind);
  refuseFrozenType(field, kind);
  const options = objectOf(json, `${kind}Options`);
  const mask = typeMask(json, kind, path);
  const covers = (name: string): boolean =>
    mask.paths.has(optionsOf(kind)) || mask.has(`${optionsOf(kind)}.${name}`);
  touch(field, draft);
  if (field.kind !== kind) applyType(draft, field, json, path);
  else {
    refuseReplacedChoices(field, options, path);
    if ((kind === 'selection' || kind === 'user') && covers('listOptions')) {
      const next = maxEntriesIn(options, kind, path);
      refuseFrozenListOptions(draft, field, next);
      field.maxEntries = next;
    }
    if (kind === 'date' && covers('dateFormatType')) field.dateFormatType = dateFormatIn(options, path);
    if (kind === 'selection' && options.choices !== undefined && covers('choices')) {
      setChoices(draft, field, options, path);
    }
  }
  return {};
};
const enableField = (draft: Draft, json: Json, path: string): Json => {
  const field = target(draft, json, path);
  refuseLockedPart(draft, { fieldId: field.id });
  enablePart(field, `field ${field.id}`, draft);
  return {};
};
const disableField = (draft: Draft, json: Json, path: string): Json => {
  const field = target(draft, json, path);
  refuseLockedPart(draft, { fieldId: field.id }, true);
  const policy = policyFrom(json, field.policy, path);
  disablePart(field, `field ${field.id}`, draft);
  field.policy = policy;
  return {};
};
const deleteField = (draft: Draft, json: Json, path: string): Json => {
  const field = target(draft, json, path);
  refuseLockedPart(draft, { fieldId: field.id }, true);
  refusePublished(field, `field ${field.id}`);
  if (field.state === 'DISABLED') {
    draft.deletedFields += 1;
    if (draft.deletedFields > constraints.maxDeletedFields) {
      throw invalid(
        path,
        `at most ${constraints.maxDeletedFields} published fields of a label can be deleted`,
        'LIMIT_EXCEEDED',
      );
    }
  }
  draft.revision.fields.splice(draft.revision.fields.indexOf(field), 1);
  return {};
};

export const refuseWrongLabelTexts = (properties: Json, path: string): void => {
  refuseLong(needText(properties, 'title', path), constraints.maxTitleLength, `${path}.title`);
  refuseLong(textOf(properties, 'description'), constraints.maxDescriptionLength, `${path}.description`);
};
const updateLabel = (draft: Draft, json: Json, path: string): Json => {
  refuseLockedPart(draft, {});
  const properties = objectOf(json, 'properties');
  const mask = maskFrom(json.updateMask, labelProperties, `${path}.updateMask`);
  refuseWrongLabelTexts(
    { ...properties, title: mask.has('title') ? properties.title : draft.revision.title },
    `${path}.properties`,
  );
  if (mask.has('title')) draft.revision.title = textOf(properties, 'title');
  if (mask.has('description')) draft.revision.description = textOf(properties, 'description') || undefined;
  return {};
};
type Edit = (draft: Draft, json: Json, path: string) => Json;
/** spec/labels#edits: the twelve kinds. */
const edits: Readonly<Record<string, Edit>> = {
  updateLabel,
  createField: createField,
  updateField: updateField,
  updateFieldType: updateFieldType,
  enableField: enableField,
  disableField: disableField,
  deleteField: deleteField,
  createSelectionChoice: choices.createSelectionChoice,
  updateSelectionChoiceProperties: choices.updateSelectionChoiceProperties,
  enableSelectionChoice: choices.enableSelectionChoice,
  disableSelectionChoice: choices.disableSelectionChoice,
  deleteSelectionChoice: choices.deleteSelectionChoice,
};
/** Members that every request of a kind must have besides its ids (spec/labels#schemas, flag R). */
const needed: Readonly<Record<string, string>> = {
  updateLabel: 'properties',
  createField: 'field',
  updateField: 'properties',
  disableField: 'disabledPolicy',
  createSelectionChoice: 'choice',
  updateSelectionChoiceProperties: 'properties',
  disableSelectionChoice: 'disabledPolicy',
};
/**
 * Applies all requests in order to a draft. Throws at the first rejected request. Returns one result per
 * request.
 */
export const applyEdits = (draft: Draft, requests: readonly Json[]): Json[] =>
  requests.map((request, i) => {
    const kind = Object.keys(edits).find((name) => request[name] !== undefined);
    const path = `requests[${i}]`;
    const edit = kind === undefined ? undefined : edits[kind];
    if (kind === undefined || edit === undefined)
      throw invalid(path, `exactly one of ${Object.keys(edits).join(', ')} is required`, 'REQUIRED');
    const member = needed[kind];
    const body = objectOf(request, kind);
    if (member !== undefined && body[member] === undefined)
      throw invalid(`${path}.${kind}.${member}`, 'is required', 'REQUIRED');
    return { [kind]: edit(draft, body, `${path}.${kind}`) };
  });
