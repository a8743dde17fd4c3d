import type { PermissionJson } from './api-types.ts';
import type { LabelDef, LiveLabel } from './definition.ts';
import type { Base, Drift } from './drift.ts';
import type { LabelRecord } from './lock-file.ts';
import type { PermissionPlan } from './permissions.ts';
import type { Plan } from './plan.ts';
import type { Wish } from './wishes.ts';

/** Where the record of a definition is kept; absent without a lock file. */
export type LockEntry = {
  readonly directory: string;
  readonly file?: string;
  readonly key: string;
  readonly record: LabelRecord | undefined;
};
/** A definition with what the service has, before anything is sent. */
export type Prepared = {
  readonly wish: Wish;
  /** The definition with this deployment's ids. */
  readonly wanted: LabelDef;
  readonly entry: LockEntry | undefined;
  readonly live: LiveLabel | undefined;
  readonly base: Base | undefined;
  /** What others changed since the label was applied. */
  readonly drift: readonly Drift[];
  readonly plan: Plan;
  /** Only when the file says the permissions. */
  readonly permissions?: { readonly live: readonly PermissionJson[]; readonly plan: PermissionPlan };
};

export const lostOf = ({ drift }: Prepared): readonly Drift[] => drift.filter(({ isLost }) => isLost);

export const changesPermissions = ({ permissions }: Prepared): boolean => {
  if (permissions === undefined) return false;
  const { added, changed, removed } = permissions.plan;
  return added.length + changed.length + removed.length > 0;
};
