import { type FieldKind, fieldKinds } from '../api-specs/labels/words.ts';

/**
 * A label definition as people write it: one file per label. Everything the service decides by itself is left out.
 * One rule for all members: absent is untouched; `null`, `[]` or `false` is none.
 */
export type { FieldKind };
export { fieldKinds };
export type Policy = { readonly hideInSearch: boolean; readonly showInApply: boolean };
export type Badge = { readonly color?: string; readonly priority?: string };
/** A badge with neither colour nor priority (0 is none) shows nothing: it is no badge, wherever it comes from. */
export const badgeWith = (color: string | undefined, priority: string | undefined): Badge | undefined => {
  const badge = { ...(color ? { color } : {}), ...(priority && priority !== '0' ? { priority } : {}) };
  return Object.keys(badge).length === 0 ? undefined : badge;
};
/** What tells a part of a file from the others, across renames and deployments. */
type Identity = {
  /** A stable name of the file's own. */
  readonly key?: string;
  /** The id in one deployment, as `labels export` writes it. */
  readonly id?: string;
  /** The name it had until now: a rename without a key and an id. */
  readonly was?: string;
};
export type ChoiceDef = Identity & {
  readonly name: string;
  readonly description?: string | null;
  readonly badge?: Badge | null;
  readonly disabled?: Policy | false;
};
export type FieldDef = Identity & {
  readonly name: string;
  readonly type: FieldKind;
  readonly required?: boolean;
  /** A number: several values, at most this many; 0 is as many as the service allows. `null`: one value. */
  readonly maxEntries?: number | null;
  readonly dateFormat?: string;
  readonly choices?: readonly ChoiceDef[];
  readonly disabled?: Policy | false;
};
export const definedStates = ['draft', 'published', 'disabled'] as const;
export type DefinedState = (typeof definedStates)[number];
export type PermissionDef = {
  readonly role: string;
  readonly email?: string;
  readonly person?: string;
  readonly group?: string;
  readonly audience?: string;
};
export type LabelDef = Identity & {
  /** Read from files of earlier versions: the revision that the file was written from. */
  readonly revision?: string;
  readonly title: string;
  readonly type?: string;
  readonly description?: string | null;
  readonly learnMoreUri?: string;
  readonly state?: DefinedState;
  /** How a disabled label is shown; only with `state: disabled`. */
  readonly disabledPolicy?: Policy;
  readonly copyMode?: string;
  readonly enabledApps?: readonly string[];
  readonly permissions?: readonly PermissionDef[];
  readonly fields?: readonly FieldDef[];
};

/** States of a part in the service: only a draft may change its type or be deleted at once. */
export type LiveState = 'UNPUBLISHED_DRAFT' | 'PUBLISHED' | 'DISABLED';
type LivePart = { readonly id: string; readonly name: string; readonly state: LiveState };
export type LiveChoice = LivePart & {
  readonly description?: string;
  readonly badge?: Badge;
  readonly disabled?: Policy;
};
export type LiveField = LivePart & {
  readonly type: FieldKind;
  readonly required: boolean;
  readonly maxEntries?: number;
  readonly dateFormat?: string;
  readonly choices: readonly LiveChoice[];
  readonly disabled?: Policy;
  /** maxEntries of the published revision, when this one is a newer draft: it may go back down to that. */
  readonly publishedEntries?: number;
};
/** What the service says that the caller may do with a label. */
export type Rights = {
  readonly canUpdate: boolean;
  readonly canDisable: boolean;
  readonly canEnable: boolean;
};
/** A revision of a label as the service has it, in the same words; nothing is left out. */
export type LiveLabel = {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly type: string;
  readonly learnMoreUri?: string;
  readonly copyMode: string;
  readonly enabledApps: readonly string[];
  readonly fields: readonly LiveField[];
  readonly revisionId: string;
  readonly state: LiveState;
  readonly disabledPolicy?: Policy;
  readonly hasUnpublishedChanges: boolean;
  readonly createTime: string;
  readonly rights: Rights;
};
