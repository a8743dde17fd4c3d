import type { Problem } from '../core/problem.ts';
import type { EditJson } from './api-types.ts';
import type { Policy } from './definition.ts';

const SHOWN = 60;
const quoteText = (text = ''): string => {
  const letters = [...text];
  return text === ''
    ? 'none'
    : JSON.stringify(letters.length > SHOWN ? `${letters.slice(0, SHOWN).join('')}…` : text);
};
/** Both texts, so that the prompt shows the old value and the new one. */
export const descriptionText = (before: string | undefined, after: string | undefined): string =>
  `description ${quoteText(before)} becomes ${quoteText(after)}`;
type ChangeKind =
  | 'added'
  | 'renamed'
  | 'changed'
  | 'moved'
  | 'disabled'
  | 'enabled'
  | 'deleted'
  | 'published';
/** What an edit touches, for the check against locks: ids of parts that exist; {} is the whole label. */
export type EditTarget = { readonly fieldId?: string; readonly choiceId?: string };
/** One line of a plan. */
export type Change = {
  readonly kind: ChangeKind;
  /** `field Status`, `choice Signed of field Status`, `label Contract`. */
  readonly what: string;
  readonly detail?: string;
  readonly part: EditTarget;
  /** Also refused when something inside the part is locked. */
  readonly takesAway?: true;
};
/** Lines of a plan with the edits that bring them about, in the order in which they are sent. */
export type Step = { readonly changes: readonly Change[]; readonly edit: EditJson };
/** The steps for all parts of one kind, and the objections to them. */
export type Steps = {
  readonly steps: readonly Step[];
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
  /** Parts that can be disabled only after they were published. */
  readonly deferred: readonly string[];
};
export const policyJson = (policy: Policy) => ({
  disabledPolicy: { hideInSearch: policy.hideInSearch, showInApply: policy.showInApply },
  updateMask: '*',
});
export const isSamePolicy = (a: Policy, b: Policy): boolean =>
  a.hideInSearch === b.hideInSearch && a.showInApply === b.showInApply;

const marks: Readonly<Record<ChangeKind, string>> = {
  added: '+',
  renamed: '~',
  changed: '~',
  moved: '>',
  disabled: '-',
  enabled: '+',
  deleted: 'x',
  published: '*',
};
/** `  ~ field Status renamed: from State` */
const changeLine = ({ kind, what, detail }: Change): string =>
  `  ${marks[kind]} ${what} ${kind}${detail === undefined ? '' : `: ${detail}`}`;
export const changesText = (changes: readonly Change[]): string =>
  changes.length === 0 ? '  no changes' : changes.map(changeLine).join('\n');
/** A change as data for scripts. */
export const changeRow = ({ kind, what, detail, part }: Change) => ({
  kind,
  what,
  ...(detail === undefined ? {} : { detail }),
  ...(part.fieldId === undefined ? {} : { field_id: part.fieldId }),
  ...(part.choiceId === undefined ? {} : { choice_id: part.choiceId }),
});
