import { lifecycleDisabledPolicy } from '../../api-specs/labels/values.ts';
import { objectOf } from './draft.ts';
import { below } from './errors.ts';
import { maskFrom } from './mask.ts';
import type { Json } from './proto-json.ts';
import type { Policy } from './state.ts';

/** The part of a policy that a mask lets through, over what was there. Of labels, fields and choices alike. */
export const policyFrom = (json: Json, before: Policy | undefined, path: string): Policy => {
  const given = objectOf(json, 'disabledPolicy') as { [K in keyof Policy]: boolean };
  const mask = maskFrom(json.updateMask, lifecycleDisabledPolicy, below(path, 'updateMask'));
  const hideInSearch = mask.has('hideInSearch')
    ? (given.hideInSearch ?? false)
    : (before?.hideInSearch ?? false);
  const showInApply = mask.has('showInApply') ? (given.showInApply ?? false) : (before?.showInApply ?? false);
  return { hideInSearch, showInApply };
};

/** `:disable` may leave the policy out; one that is given needs its mask. */
export const labelPolicyFrom = (json: Json, before: Policy | undefined): Policy =>
  json.disabledPolicy === undefined && json.updateMask === undefined
    ? { hideInSearch: before?.hideInSearch ?? false, showInApply: before?.showInApply ?? false }
    : policyFrom(json, before, '');
