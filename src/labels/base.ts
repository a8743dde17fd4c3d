import type { Context } from '../cli/command.ts';
import { AppError } from '../core/problem.ts';
import type { LabelDef, LiveLabel } from './definition.ts';
import { contentDigest, unorderedDigest } from './digest.ts';
import { type Base, baseFromRecord, baseFromRevision } from './drift.ts';
import { liveFrom } from './from-label.ts';
import type { DeploymentRecord } from './lock-file.ts';
import { type Asking, getDefinition } from './read-labels.ts';

/** An older revision that the service still has; drafts go when they are published. */
export const revisionOf = async (
  context: Context,
  id: string,
  revision: string,
  asking: Asking,
): Promise<LiveLabel | undefined> => {
  try {
    return liveFrom(await getDefinition(context, `labels/${id}@${revision}`, asking));
  } catch (error) {
    if (error instanceof AppError && error.category === 'not-found') return undefined;
    throw error;
  }
};

const fromRecord = async (
  context: Context,
  record: DeploymentRecord,
  live: LiveLabel,
  asking: Asking,
): Promise<Base> => {
  const now = contentDigest(live);
  // A crash came between the write and the note of it: this is what that apply was about to bring about.
  if (record.applying === unorderedDigest(live)) return baseFromRevision(live);
  if (record.digest === now) return baseFromRevision(live, record);
  const then = await revisionOf(context, live.id, record.revision, asking);
  const isThatOne = then !== undefined && contentDigest(then) === record.digest;
  return isThatOne ? baseFromRevision(then, record) : baseFromRecord(record, live);
};

/**
 * What a definition was compared with last: the lock file's record of this deployment, or, in files of earlier versions,
 * the revision that the file names. Undefined: nobody wrote it down. 'gone': it was, and the service dropped it.
 */
export const baseOf = async (
  context: Context,
  wanted: LabelDef,
  live: LiveLabel,
  record: DeploymentRecord | undefined,
  asking: Asking,
): Promise<Base | 'gone' | undefined> => {
  if (record !== undefined)
    return record.id === live.id ? fromRecord(context, record, live, asking) : undefined;
  const { revision, id } = wanted;
  // The number means something only where the id was found: another deployment counts for itself.
  if (revision === undefined || id !== live.id) return undefined;
  if (revision === live.revisionId) return baseFromRevision(live);
  const then = await revisionOf(context, live.id, revision, asking);
  return then === undefined ? 'gone' : baseFromRevision(then);
};
