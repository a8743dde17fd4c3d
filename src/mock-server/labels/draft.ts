import { characters } from '../../core/check.ts';
import { makePreconditionError, invalid, type LabelError, type Json } from './proto-json.ts';
import type { FieldKind } from '../../api-specs/labels/wire.ts';
import type { Collection } from '../store.ts';
import type { Environment } from '../service-set.ts';

/**
 * spec/labels#limits "the numeric values … not shown"; spec/labels#limits: the first four numbers are the real ones, the rest are chosen.
 * What the read returns and what the rules enforce is this one value.
 */
export const constraints = {
  name: 'limits/label',
  maxTitleLength: 100,
  maxDescriptionLength: 1000,
  maxFields: 10,
  maxDeletedFields: 20,
  maxDraftRevisions: 20,
  fieldLimits: {
    maxIdLength: 50,
    maxDisplayNameLength: 100,
    maxDescriptionLength: 1000,
    textLimits: { minLength: 0, maxLength: 100 },
    longTextLimits: { minLength: 0, maxLength: 2000 },
    integerLimits: { minValue: '-9007199254740991', maxValue: '9007199254740991' },
    dateLimits: { minValue: { year: 1, month: 1, day: 1 }, maxValue: { year: 9999, month: 12, day: 31 } },
    selectionLimits: {
      maxChoices: 200,
      maxDeletedChoices: 200,
      maxDisplayNameLength: 100,
      maxIdLength: 50,
      listLimits: { maxEntries: 10 },
    },
    userLimits: { listLimits: { maxEntries: 10 } },
  },
} as const;

/** A label ({}), a field, or a choice of a field. */
export type Part = { readonly fieldId?: string; readonly choiceId?: string };
const covers = (lock: Part, part: Part): boolean =>
  lock.fieldId === undefined ||
  (lock.fieldId === part.fieldId && (lock.choiceId === undefined || lock.choiceId === part.choiceId));
const isDirectly = (lock: Part, part: Part): boolean =>
  lock.fieldId === part.fieldId && lock.choiceId === part.choiceId;
/**
 * spec/labels#locks: a locked part rejects the change. A lock protects its part and all parts below it.
 * Removing a whole (disable, delete, another type) is also rejected if it contains a locked part. A lock that
 * is being removed remains in effect until it is gone.
 */
export const lockAgainst = (
  locks: readonly LockRecord[],
  part: Part,
  takesAway: boolean,
): LockRecord | undefined => locks.find((lock) => covers(lock, part) || (takesAway && covers(part, lock)));
export const isLockTarget = (locks: readonly LockRecord[], part: Part): boolean =>
  locks.some((lock) => isDirectly(lock, part));
const partText = ({ fieldId, choiceId }: Part): string =>
  fieldId === undefined
    ? 'the label'
    : choiceId === undefined
      ? `field ${fieldId}`
      : `choice ${choiceId} of field ${fieldId}`;
const refuseLocked = (label: string, locks: readonly LockRecord[], part: Part, takesAway: boolean): void => {
  const lock = lockAgainst(locks, part, takesAway);
  if (lock === undefined) return;
  throw makePreconditionError(
    'LOCKED',
    `labels/${label}/locks/${lock.id}`,
    `Lock ${lock.id} on ${partText(lock)} does not allow this change of ${partText(part)}.`,
  );
};

/** A revision during its edits. It is discarded if an edit is rejected, so that a delta is atomic. */
export type Draft = {
  readonly label: string;
  readonly revision: Revision;
  /**
   * The published revision. The rules that apply after publish compare with it, not with an earlier draft.
   */
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
/**
 * spec/labels#edits: positions are 1..n and contiguous. An empty `before` means the end. Returns the
 * position.
 */
export const insertItem = <T extends { readonly id: string }>(
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
    throw makePreconditionError(
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
    throw makePreconditionError(
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
    throw makePreconditionError(
      'MUST_BE_DISABLED',
      what,
      `${what} is published: disable it before it is deleted.`,
    );
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

/** The status of a label: its published state, and whether newer drafts exist. */
export type LabelStatus = 'draft' | 'published' | 'published+draft' | 'disabled' | 'disabled+draft';
export type Action = 'delta' | 'publish' | 'disable' | 'enable' | 'delete';
type Transition = {
  readonly cites: string;
  /** From a standing to the next one; a standing that is missing refuses the action. */
  readonly from: Readonly<Partial<Record<LabelStatus, LabelStatus | 'deleted'>>>;
};
/** spec/labels#lifecycle, refined by spec/labels#lifecycle. */
const transitions: Readonly<Record<Action, Transition>> = {
  delta: {
    cites: 'spec/labels#lifecycle-1',
    from: {
      draft: 'draft',
      published: 'published+draft',
      'published+draft': 'published+draft',
      disabled: 'disabled+draft',
      'disabled+draft': 'disabled+draft',
    },
  },
  publish: {
    cites: 'spec/labels#lifecycle-2',
    from: { draft: 'published', 'published+draft': 'published' },
  },
  disable: {
    cites: 'spec/labels#lifecycle-3',
    from: { published: 'disabled', 'published+draft': 'disabled+draft' },
  },
  enable: {
    cites: 'spec/labels#lifecycle-4',
    from: { disabled: 'published', 'disabled+draft': 'published+draft' },
  },
  delete: {
    cites: 'spec/labels#lifecycle-5',
    from: {
      draft: 'deleted',
      published: 'deleted',
      'published+draft': 'deleted',
      disabled: 'deleted',
      'disabled+draft': 'deleted',
    },
  },
};
export const labelStatus = (label: LabelRecord, published: Revision | undefined): LabelStatus => {
  if (published === undefined) return 'draft';
  const base = published.state === 'DISABLED' ? 'disabled' : 'published';
  return label.drafts.length > 0 ? `${base}+draft` : base;
};
const why: Readonly<Record<Action, string>> = {
  delta: 'cannot be edited',
  publish: 'has no draft changes that could be published',
  disable: 'can be disabled only when it is published and enabled',
  enable: 'can be enabled only when it is disabled',
  delete: 'cannot be deleted',
};
/** Refuses every arrow that is not in the table. Undefined when the action is legal. */
export const illegal = (action: Action, standing: LabelStatus, label: string): LabelError | undefined => {
  if (transitions[action].from[standing] !== undefined) return undefined;
  const because =
    action === 'publish' && standing === 'disabled+draft'
      ? 'is disabled; enable it before its changes are published'
      : why[action];
  const reason =
    action === 'publish' && !standing.endsWith('draft') ? 'NOTHING_TO_PUBLISH' : 'ILLEGAL_TRANSITION';
  return makePreconditionError(
    reason,
    `labels/${label}`,
    `Label ${label} is ${standing.replace('+', ' with ')}: it ${because}.`,
  );
};
/** spec/labels#lifecycle "CONFLICT": the document deletes from any state; real services want a published label disabled first. */
export const mustBeDisabledFirst = (
  policy: 'any' | 'disabled-first',
  standing: LabelStatus,
  label: string,
): LabelError | undefined =>
  policy === 'disabled-first' && standing.startsWith('published')
    ? makePreconditionError(
        'MUST_BE_DISABLED',
        `labels/${label}`,
        `Label ${label} is published: disable it before it is deleted.`,
      )
    : undefined;
/**
 * spec/labels#parameters: writeControl.requiredRevisionId must equal the latest revision ID; otherwise the
 * response is 400 without a change.
 */
export const revisionIsLatest = (required: unknown, latest: string, label: string): LabelError | undefined =>
  typeof required === 'string' && required !== '' && required !== latest
    ? makePreconditionError(
        'REVISION_MISMATCH',
        `labels/${label}`,
        `The required revision ${required} is not the latest revision ${latest} of label ${label}: it has changed in the meantime.`,
      )
    : undefined;
export const refuse = (...findings: readonly (LabelError | undefined)[]): void => {
  for (const found of findings) if (found !== undefined) throw found;
};

/** spec/labels#lifecycle: the states of a label, a field and a choice; a deleted one is simply gone. */
type ComponentState = 'UNPUBLISHED_DRAFT' | 'PUBLISHED' | 'DISABLED';
export type Policy = { readonly hideInSearch?: boolean; readonly showInApply?: boolean };
/** Who and when, milliseconds since 1970; people are `people/<id>`. */
export type Stamps = {
  createTime: number;
  creator: string;
  updateTime: number;
  updater: string;
  publishTime?: number;
  publisher?: string;
  disableTime?: number;
  disabler?: string;
};
export type Color = {
  readonly red?: number;
  readonly green?: number;
  readonly blue?: number;
  readonly alpha?: number;
};
export type Badge = { readonly color?: Color; readonly priorityOverride?: string };
export type ChoiceRecord = Stamps & {
  readonly id: string;
  displayName: string;
  description?: string;
  badge?: Badge;
  state: ComponentState;
  policy?: Policy;
};
export type FieldRecord = Stamps & {
  readonly id: string;
  displayName: string;
  required: boolean;
  kind: FieldKind;
  dateFormatType?: string;
  /** Present: several values are allowed, at most this many. */
  maxEntries?: number;
  choices: ChoiceRecord[];
  state: ComponentState;
  policy?: Policy;
};
/** What one revision holds. Once stored it never changes. */
export type Revision = {
  readonly id: string;
  title: string;
  description?: string;
  fields: FieldRecord[];
  /** The label's state as this revision has it. */
  state: ComponentState;
  policy?: Policy;
  revisionCreateTime: number;
  revisionCreator: string;
  publishTime?: number;
  publisher?: string;
  disableTime?: number;
  disabler?: string;
};
/** A label: the parts without revisions, and which revisions there are. */
export type LabelRecord = {
  readonly id: string;
  readonly seq: number;
  readonly customer: string;
  readonly labelType: string;
  readonly learnMoreUri?: string;
  readonly createTime: number;
  readonly creator: string;
  readonly copyMode: string;
  readonly enabledApps: readonly string[];
  /** The last revision number given. */
  readonly counter: number;
  /** The current published revision, enabled or disabled. */
  readonly published?: string;
  /** Drafts newer than it, oldest first. */
  readonly drafts: readonly string[];
  /** Earlier published revisions, oldest first. */
  readonly past: readonly string[];
  /** Published fields and choices that were deleted, counted against the limits. */
  readonly deletedFields: number;
  readonly deletedChoices: Readonly<Record<string, number>>;
};
export type PermissionRecord = {
  readonly id: string;
  readonly seq: number;
  readonly label: string;
  readonly role: string;
  /** people/<id>, groups/<id> or audiences/<id>. */
  readonly principal: string;
  readonly email?: string;
};
export type LockRecord = {
  readonly id: string;
  readonly seq: number;
  readonly label: string;
  readonly fieldId?: string;
  readonly choiceId?: string;
  readonly creator?: string;
  readonly createTime: number;
  readonly deleteTime?: number;
  readonly state: 'ACTIVE' | 'DELETING';
};

export type LabelState = {
  readonly labels: Collection<LabelRecord>;
  /** By `<label>@<revision>`. */
  readonly revisions: Collection<Revision>;
  /** By `<label>/<permission>`. */
  readonly permissions: Collection<PermissionRecord>;
  readonly locks: Collection<LockRecord>;
};

export const labelState = ({ store }: Environment): LabelState => ({
  labels: store.collection('labels.labels'),
  revisions: store.collection('labels.revisions'),
  permissions: store.collection('labels.permissions'),
  locks: store.collection('labels.locks'),
});

export const revisionOf = (state: LabelState, label: LabelRecord, id: string): Revision | undefined =>
  state.revisions.get(`${label.id}@${id}`);
export const latestId = (label: LabelRecord): string =>
  label.drafts[label.drafts.length - 1] ?? label.published ?? '';
export const latestOf = (state: LabelState, label: LabelRecord): Revision => {
  const found = revisionOf(state, label, latestId(label));
  if (found === undefined) throw new Error(`label ${label.id} has no latest revision`);
  return found;
};
export const publishedOf = (state: LabelState, label: LabelRecord): Revision | undefined =>
  label.published === undefined ? undefined : revisionOf(state, label, label.published);
export const permissionsOf = (state: LabelState, label: string): PermissionRecord[] =>
  state.permissions.filter((p) => p.label === label);

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** spec/labels#schemas: ids match ([a-zA-Z0-9])+. */
export const newId = (env: Environment, length: number): string =>
  Array.from(env.random(length), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
