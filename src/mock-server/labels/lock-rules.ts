import { failed } from './errors.ts';
import type { LockRecord } from './state.ts';

/** A label ({}), a field, or a choice of a field. */
export type Part = { readonly fieldId?: string; readonly choiceId?: string };

const covers = (lock: Part, part: Part): boolean =>
  lock.fieldId === undefined ||
  (lock.fieldId === part.fieldId && (lock.choiceId === undefined || lock.choiceId === part.choiceId));
const isDirectly = (lock: Part, part: Part): boolean =>
  lock.fieldId === part.fieldId && lock.choiceId === part.choiceId;

/**
 * spec/labels#locks: a locked part refuses the change. A lock guards its part and everything under it; taking away a whole
 * (disable, delete, another type) is also refused for what holds a locked part. A lock being removed is in effect until it is gone.
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

export const refuseLocked = (
  label: string,
  locks: readonly LockRecord[],
  part: Part,
  takesAway: boolean,
): void => {
  const lock = lockAgainst(locks, part, takesAway);
  if (lock === undefined) return;
  throw failed(
    'LOCKED',
    `labels/${label}/locks/${lock.id}`,
    `Lock ${lock.id} on ${partText(lock)} does not allow this change of ${partText(part)}.`,
  );
};
