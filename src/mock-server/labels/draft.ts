import { characters } from '../../core/check.ts';
import { constraints } from './constraints.ts';
import { failed, invalid } from './errors.ts';
import type { Part } from './lock-rules.ts';
import { refuseLocked } from './lock-rules.ts';
import type { Json } from './proto-json.ts';
import type { ChoiceRecord, FieldRecord, LockRecord, Revision } from './state.ts';

/** A revision while edits change it. Thrown away when an edit is refused, so that a delta is all or nothing. */
export type Draft = {
  readonly label: string;
  readonly revision: Revision;
  /** What is published: the rules that bite after publish compare with it, not with an earlier draft. */
  readonly published: Revision | undefined;
  readonly locks: readonly LockRecord[];
  readonly caller: string;
  readonly now: number;
  deletedFields: number;
  readonly deletedChoices: Record<string, number>;
  fieldId(): string;
  choiceId(): string;
};

/** The member as text; '' and absent are the same in proto JSON. */
export const textOf = (json: Json, name: string): string => String(json[name] ?? '');
export const objectOf = (json: Json, name: string): Json => (json[name] ?? {}) as Json;

export const needText = (json: Json, name: string, path: string): string => {
  const text = textOf(json, name);
  if (text === '') throw invalid(`${path}.${name}`, 'is required', 'REQUIRED');
  return text;
};

/** Limits count characters. */
export const refuseLong = (text: string, max: number, path: string): void => {
  const length = characters(text);
  if (length > max)
    throw invalid(path, `must have at most ${max} characters, has ${length}`, 'LIMIT_EXCEEDED');
};

export const fieldOf = (draft: Draft, id: string, path: string): FieldRecord => {
  const field = draft.revision.fields.find((f) => f.id === id);
  if (field === undefined)
    throw invalid(path, `label ${draft.label} has no field "${id}"`, 'FIELD_NOT_FOUND');
  return field;
};
export const choiceOf = (field: FieldRecord, id: string, path: string): ChoiceRecord => {
  const choice = field.choices.find((c) => c.id === id);
  if (choice === undefined)
    throw invalid(path, `field ${field.id} has no choice "${id}"`, 'CHOICE_NOT_FOUND');
  return choice;
};
export const selectionFieldOf = (draft: Draft, id: string, path: string): FieldRecord => {
  const field = fieldOf(draft, id, path);
  if (field.kind !== 'selection')
    throw invalid(path, `field ${id} is a ${field.kind} field and has no choices`);
  return field;
};

export const refuseLockedPart = (draft: Draft, part: Part, takesAway = false): void =>
  refuseLocked(draft.label, draft.locks, part, takesAway);

export const touch = (record: { updateTime: number; updater: string }, draft: Draft): void => {
  record.updateTime = draft.now;
  record.updater = draft.caller;
};

/** spec/labels#edits: positions are 1..n and contiguous. Empty `before` is the end. Returns the position. */
export const place = <T extends { readonly id: string }>(
  all: T[],
  item: T,
  before: string,
  path: string,
): number => {
  if (before === item.id) throw invalid(path, 'cannot be placed before itself');
  const target = before === '' ? undefined : all.find((other) => other.id === before);
  if (before !== '' && target === undefined)
    throw invalid(path, `there is no "${before}" to be placed before`);
  const from = all.indexOf(item);
  if (from >= 0) all.splice(from, 1);
  all.splice(target === undefined ? all.length : all.indexOf(target), 0, item);
  return all.indexOf(item) + 1;
};

/** spec/labels#lifecycle: published -> disabled. A draft part is deleted instead, a disabled one is disabled already. */
export const disablePart = (record: FieldRecord | ChoiceRecord, what: string, draft: Draft): void => {
  if (record.state !== 'PUBLISHED')
    throw failed(
      'ILLEGAL_TRANSITION',
      what,
      `${what} is ${stateText(record)}: only a published one can be disabled.`,
    );
  record.state = 'DISABLED';
  record.disableTime = draft.now;
  record.disabler = draft.caller;
  touch(record, draft);
};

export const enablePart = (record: FieldRecord | ChoiceRecord, what: string, draft: Draft): void => {
  if (record.state !== 'DISABLED')
    throw failed(
      'ILLEGAL_TRANSITION',
      what,
      `${what} is ${stateText(record)}: only a disabled one can be enabled.`,
    );
  record.state = 'PUBLISHED';
  delete record.policy;
  delete record.disableTime;
  delete record.disabler;
  touch(record, draft);
};

/** spec/labels#lifecycle "Rules that bite after publish": a published part can be deleted only when it is disabled. */
export const refusePublished = (record: FieldRecord | ChoiceRecord, what: string): void => {
  if (record.state === 'PUBLISHED')
    throw failed('MUST_BE_DISABLED', what, `${what} is published: disable it before it is deleted.`);
};

const stateText = (record: { state: string }): string =>
  record.state === 'UNPUBLISHED_DRAFT' ? 'a draft' : record.state.toLowerCase();

export const refuseTooManyFields = (count: number, path: string): void => {
  if (count > constraints.maxFields)
    throw invalid(
      path,
      `a label has at most ${constraints.maxFields} fields, this would be ${count}`,
      'LIMIT_EXCEEDED',
    );
};
