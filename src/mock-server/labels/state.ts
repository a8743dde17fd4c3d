import type { FieldKind } from '../../api-specs/labels/wire.ts';
import type { Collection } from '../store.ts';
import type { Environment } from '../service-set.ts';

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
