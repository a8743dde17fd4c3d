import { AppError } from '../core/problem.ts';
import type { Context } from '../cli/command.ts';
import type { LabelJson } from './api-types.ts';
import { type Asking, getLabel } from './read-labels.ts';

/** spec/labels#errors: this service says 400 FAILED_PRECONDITION for a stale pin, newer ones 409 ABORTED. */
const mayBeStale = (error: unknown): error is AppError =>
  error instanceof AppError &&
  ((error.detail.httpStatus === 400 && error.detail.code === 'FAILED_PRECONDITION') ||
    (error.detail.httpStatus === 409 && error.detail.code === 'ABORTED'));

export type Stale = {
  readonly name: string;
  readonly title: string;
  readonly revisionId: string;
  readonly asking: Asking;
  /** What stands when the write is refused; "Nothing was changed." unless an earlier step was done. */
  readonly stands?: string;
};

/**
 * Sends a write that is pinned to the revision that was shown. When it is refused, the label is read again: only a newer
 * revision means that somebody else was here, and then the difference is shown.
 */
export const pinned = async <T>(
  context: Context,
  shown: Stale,
  again: string,
  diff: (now: LabelJson) => string,
  write: () => Promise<T>,
): Promise<T> => {
  try {
    return await write();
  } catch (error) {
    if (!mayBeStale(error)) throw error;
    const now = await getLabel(context, shown.name, shown.asking);
    if (now.revisionId === shown.revisionId) throw error;
    throw new AppError(
      'unsafe',
      `label ${shown.title} was changed by somebody else meanwhile: you saw revision ${shown.revisionId}, now it is ${now.revisionId}. ${shown.stands ?? 'Nothing was changed.'}\nSince then:\n${diff(now)}`,
      {
        code: 'CHANGED_MEANWHILE',
        httpStatus: error.detail.httpStatus,
        tryThis: [again],
        data: { label: shown.name, seen_revision: shown.revisionId, revision: now.revisionId },
        cause: error,
      },
    );
  }
};
