/** A label definition as people write it: one file per label. Everything the service decides by itself is left out. */
export type FieldKind = 'text' | 'integer' | 'date' | 'selection' | 'user';
export type Policy = { readonly hideInSearch: boolean; readonly showInApply: boolean };
export type Badge = { readonly color?: string; readonly priority?: string };
/** A badge with neither colour nor priority (0 is none) shows nothing: it is no badge, wherever it comes from. */
export const badgeWith = (color: string | undefined, priority: string | undefined): { badge?: Badge } => {
  const badge = { ...(color ? { color } : {}), ...(priority && priority !== '0' ? { priority } : {}) };
  return Object.keys(badge).length === 0 ? {} : { badge };
};
export type ChoiceDef = {
  readonly id?: string;
  /** The name it had until now: a rename without an id. */
  readonly was?: string;
  readonly name: string;
  readonly description?: string;
  readonly badge?: Badge;
  readonly disabled?: Policy;
};
export type FieldDef = {
  readonly id?: string;
  readonly was?: string;
  readonly name: string;
  readonly type: FieldKind;
  readonly required: boolean;
  /** Present: several values, at most this many; 0 is as many as the service allows. */
  readonly maxEntries?: number;
  readonly dateFormat?: string;
  readonly choices: readonly ChoiceDef[];
  readonly disabled?: Policy;
};
export type LabelDef = {
  readonly id?: string;
  readonly was?: string;
  /** The revision that the file was written from; `apply` undoes nothing that others changed since. */
  readonly revision?: string;
  readonly title: string;
  readonly description?: string;
  readonly type: string;
  readonly learnMoreUri?: string;
  /** Undefined: the file does not say, so it stays as it is. */
  readonly copyMode?: string;
  readonly enabledApps?: readonly string[];
  readonly fields: readonly FieldDef[];
};

/** States of a part in the service: only a draft may change its type or be deleted at once. */
export type LiveState = 'UNPUBLISHED_DRAFT' | 'PUBLISHED' | 'DISABLED';
export type LiveChoice = ChoiceDef & { readonly id: string; readonly state: LiveState };
export type LiveField = Omit<FieldDef, 'choices'> & {
  readonly id: string;
  readonly state: LiveState;
  readonly choices: readonly LiveChoice[];
  /** maxEntries of the published revision, when this one is a newer draft: it may go back down to that. */
  readonly publishedEntries?: number;
};
/** A revision of a label as the service has it, in the same words. */
export type LiveLabel = Omit<LabelDef, 'fields'> & {
  readonly id: string;
  readonly revisionId: string;
  readonly state: LiveState;
  readonly hasUnpublishedChanges: boolean;
  readonly fields: readonly LiveField[];
  /** False when the service says that the caller may not edit it. */
  readonly canUpdate: boolean;
};
