import type { EditJson } from './api-types.ts';

const SHOWN = 60;
const quoted = (text = ''): string => {
  const letters = [...text];
  return text === ''
    ? 'none'
    : JSON.stringify(letters.length > SHOWN ? `${letters.slice(0, SHOWN).join('')}…` : text);
};

/** Both texts, so that a person who is asked sees what goes and what comes. */
export const descriptionText = (before: string | undefined, after: string | undefined): string =>
  `description ${quoted(before)} becomes ${quoted(after)}`;

export type ChangeKind = 'added' | 'renamed' | 'changed' | 'moved' | 'disabled' | 'enabled' | 'deleted';
/** One line of a plan. */
export type Change = {
  readonly kind: ChangeKind;
  /** `field Status`, `choice Signed of field Status`, `label Contract`. */
  readonly what: string;
  readonly detail?: string;
  /** What the edit touches, for the check against locks; ids of parts that exist. */
  readonly part: { readonly fieldId?: string; readonly choiceId?: string };
  /** Also refused when something inside the part is locked. */
  readonly takesAway?: true;
};
/** Lines of a plan with the edits that bring them about, in the order in which they are sent. */
export type Step = { readonly changes: readonly Change[]; readonly edit: EditJson };

export const policyJson = (policy: { readonly hideInSearch: boolean; readonly showInApply: boolean }) => ({
  disabledPolicy: { hideInSearch: policy.hideInSearch, showInApply: policy.showInApply },
  updateMask: '*',
});
export const samePolicy = (
  a: { readonly hideInSearch: boolean; readonly showInApply: boolean },
  b: { readonly hideInSearch: boolean; readonly showInApply: boolean },
): boolean => a.hideInSearch === b.hideInSearch && a.showInApply === b.showInApply;
