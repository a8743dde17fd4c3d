import type { PermissionDef } from './definition.ts';
import { recordFrom } from './lock-entries.ts';
import type { LockFile } from './lock-file.ts';
import { changeLock, withRecord } from './lock-store.ts';
import type { LiveLabel } from './definition.ts';
import type { Prepared } from './prepared.ts';
import { contentDigest, unorderedDigest } from './digest.ts';
import { simulated } from './simulate.ts';
import type { Session } from './session.ts';

/** A definition and the label that it led to. */
export type Outcome = {
  readonly prepared: Prepared;
  readonly live: LiveLabel;
};

const byDirectory = <T>(
  items: readonly T[],
  directoryOf: (item: T) => string | undefined,
): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const directory = directoryOf(item);
    if (directory !== undefined) groups.set(directory, [...(groups.get(directory) ?? []), item]);
  }
  return groups;
};

const recorded = (lock: LockFile, { deployment }: Session, { prepared, live }: Outcome): LockFile => {
  const { entry, wanted, wish } = prepared;
  if (entry === undefined) return lock;
  const known = lock.labels[entry.key];
  const permissions: readonly PermissionDef[] | undefined = wanted.permissions;
  const record = recordFrom(wish.wanted, live, known, deployment, permissions);
  return withRecord(lock, entry.key, entry.file, deployment, record);
};

/** The record says the same already: most labels of most runs. */
const isRecorded = ({ deployment }: Session, { prepared, live }: Outcome): boolean => {
  const { entry } = prepared;
  const record = entry?.record?.deployments[deployment];
  return (
    record !== undefined &&
    record.applying === undefined &&
    entry?.record?.file === entry?.file &&
    prepared.wanted.permissions === undefined &&
    record.id === live.id &&
    record.revision === live.revisionId &&
    record.state === live.state &&
    record.copyMode === live.copyMode &&
    record.enabledApps.join() === live.enabledApps.join() &&
    record.digest === contentDigest(live)
  );
};

/** Writes down what was applied, or found to be as the file says. */
export const recordOutcomes = async (session: Session, all: readonly Outcome[]): Promise<void> => {
  const outcomes = all.filter((one) => !isRecorded(session, one));
  for (const [directory, group] of byDirectory(outcomes, ({ prepared }) => prepared.entry?.directory))
    await changeLock(session.context, directory, (lock) =>
      group.reduce((now, outcome) => recorded(now, session, outcome), lock),
    );
};

/** Before anything is sent: what each known label is about to become, so that after a crash it is recognized as our own. */
export const recordIntents = async (session: Session, prepared: readonly Prepared[]): Promise<void> => {
  const { deployment } = session;
  const changing = prepared.filter(({ plan, entry }) => plan.edits.length > 0 && entry !== undefined);
  for (const [directory, group] of byDirectory(changing, ({ entry }) => entry?.directory))
    await changeLock(session.context, directory, (lock) =>
      group.reduce((now, { entry, wanted, live }) => {
        const record = entry && now.labels[entry.key]?.deployments[deployment];
        if (entry === undefined || record === undefined || live === undefined) return now;
        const applying = unorderedDigest(simulated(wanted, live));
        return withRecord(now, entry.key, entry.file, deployment, { ...record, applying });
      }, lock),
    );
};
