import { join } from 'node:path';
import { AppError, writeFailureReason } from '../core/problem.ts';
import type {
  ChoiceDef,
  FieldDef,
  LabelDef,
  LiveChoice,
  LiveField,
  LiveLabel,
  LiveState,
  PermissionDef,
  Policy,
} from './definition.ts';
import { contentDigest, LockIndex, recordFrom, unorderedDigest } from './lock-entries.ts';
import { changeLock, type DeploymentRecord, LOCK_FILE } from './lock-file.ts';
import { match } from './match.ts';
import type { PlannedLabel, Session } from './prepare.ts';
import { present } from './read-values.ts';

const valueOr = <T>(said: T | null | undefined, live: T | undefined): T | undefined =>
  said === undefined ? live : (said ?? undefined);
type Before = { readonly state: LiveState; readonly disabled?: Policy } | undefined;
/** A draft cannot be disabled yet. */
const disabledAfter = (said: Policy | false | undefined, live: Before): Policy | undefined => {
  if (live === undefined || live.state === 'UNPUBLISHED_DRAFT') return undefined;
  return said || undefined;
};
const plainPolicy: Policy = { hideInSearch: false, showInApply: false };
/** What the file leaves out: drafts go, the rest is disabled. */
const leaveOut = <L extends NonNullable<Before>>(missing: readonly L[]): L[] =>
  missing
    .filter(({ state }) => state !== 'UNPUBLISHED_DRAFT')
    .map((part) => ({ ...part, disabled: part.disabled ?? plainPolicy }));
const choiceAfter = (wanted: ChoiceDef, live: LiveChoice | undefined): LiveChoice =>
  present({
    id: live?.id ?? '',
    name: wanted.name,
    state: live?.state ?? 'UNPUBLISHED_DRAFT',
    description: valueOr(wanted.description, live?.description) || undefined,
    badge: valueOr(wanted.badge, live?.badge),
    disabled: disabledAfter(wanted.disabled, live),
  });
const choicesAfter = (wanted: FieldDef, live: LiveField | undefined): readonly LiveChoice[] => {
  if (wanted.choices === undefined) return live?.choices ?? [];
  const { pairs, missing } = match(wanted.choices, live?.choices ?? [], '');
  return [...pairs.map((pair) => choiceAfter(pair.wanted, pair.live)), ...leaveOut(missing)];
};
const fieldAfter = (wanted: FieldDef, live: LiveField | undefined): LiveField => {
  const format = wanted.dateFormat ?? live?.dateFormat ?? 'LONG_DATE';
  return present({
    id: live?.id ?? '',
    name: wanted.name,
    type: wanted.type,
    state: live?.state ?? 'UNPUBLISHED_DRAFT',
    required: wanted.required ?? live?.required ?? false,
    maxEntries: valueOr(wanted.maxEntries, live?.maxEntries),
    dateFormat: wanted.type === 'date' ? format : undefined,
    choices: choicesAfter(wanted, live),
    disabled: disabledAfter(wanted.disabled, live),
  });
};
/** The label that results from one delta, except for the order of its parts. Pure. */
export const simulateDelta = (wanted: LabelDef, live: LiveLabel): LiveLabel => {
  const { pairs, missing } = match(wanted.fields ?? [], live.fields, '');
  const fields = [...pairs.map((pair) => fieldAfter(pair.wanted, pair.live)), ...leaveOut(missing)];
  const { description, ...rest } = live;
  return present({
    ...rest,
    title: wanted.title,
    description: valueOr(wanted.description, description) || undefined,
    fields: wanted.fields === undefined ? live.fields : fields,
  });
};

/** A definition and the label that it led to. */
export type Outcome = {
  readonly prepared: PlannedLabel;
  readonly live: LiveLabel;
};
const byDirectory = <T>(
  items: readonly T[],
  directoryOf: (item: T) => string | undefined,
): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const directory = directoryOf(item);
    if (directory === undefined) continue;
    const group = groups.get(directory);
    if (group === undefined) groups.set(directory, [item]);
    else group.push(item);
  }
  return groups;
};
const recordOutcome = (index: LockIndex, { prepared, live }: Outcome): void => {
  const { entry, wanted, wish } = prepared;
  if (entry === undefined) return;
  const known = index.entry(entry.key);
  const permissions: readonly PermissionDef[] | undefined = wanted.permissions;
  const record = recordFrom(wish.wanted, live, known, index.deployment, permissions);
  index.put(entry.key, entry.file, record);
};
/** Protection is not part of the service. Only the lock file contains it. */
const isProtectionRecorded = (wanted: LabelDef, record: DeploymentRecord): boolean =>
  (wanted.protect === undefined || wanted.protect === (record.protect ?? false)) &&
  (wanted.fields ?? []).every(({ protect, id, name }) => {
    if (protect === undefined) return true;
    const records = Object.values(record.fields);
    const named = records.filter((one) => one.name === name);
    const known = id === undefined ? named : records.filter((one) => one.id === id);
    return known.length === 1 && protect === (known[0]?.protect ?? false);
  });
/** The record already has these values, as for most labels of most runs. */
const isRecorded = ({ deployment }: Session, { prepared, live }: Outcome): boolean => {
  const { entry } = prepared;
  const record = entry?.record?.deployments[deployment];
  return (
    record !== undefined &&
    record.applying === undefined &&
    entry?.record?.file === entry?.file &&
    prepared.wanted.permissions === undefined &&
    isProtectionRecorded(prepared.wanted, record) &&
    record.id === live.id &&
    record.revision === live.revisionId &&
    record.state === live.state &&
    record.copyMode === live.copyMode &&
    record.enabledApps.join() === live.enabledApps.join() &&
    record.digest === contentDigest(live)
  );
};
/** Directories in which an apply records what it did. */
export type Recording = ReadonlySet<string>;
/**
 * Creates the lock file of each directory before the first request, so that a crash after that request leaves a record.
 * A directory that cannot be written is applied without a lock file, as before the lock file existed.
 */
export const createLocks = async (
  session: Session,
  prepared: readonly PlannedLabel[],
): Promise<Recording> => {
  const { context, withoutLock } = session;
  const recording = new Set(prepared.flatMap(({ entry }) => (entry === undefined ? [] : [entry.directory])));
  for (const directory of withoutLock) {
    const path = join(directory, LOCK_FILE);
    try {
      await changeLock(context, directory, (lock) => lock);
      context.log.info(
        `created ${path}: commit it with the definitions, so that the next apply finds the same labels`,
      );
    } catch (error) {
      if (error instanceof AppError && error.category === 'unsafe') throw error;
      recording.delete(directory);
      context.log.warn(
        `cannot write ${path}: ${writeFailureReason(error)}; a later apply of a changed title creates a second label`,
      );
    }
  }
  return recording;
};
/** Records the applied definitions, and those that already matched. */
export const recordOutcomes = async (
  session: Session,
  all: readonly Outcome[],
  recording: Recording,
): Promise<void> => {
  const outcomes = all.filter(
    (one) => !isRecorded(session, one) && recording.has(one.prepared.entry?.directory ?? ''),
  );
  for (const [directory, group] of byDirectory(outcomes, ({ prepared }) => prepared.entry?.directory))
    await changeLock(session.context, directory, (lock) => {
      const index = new LockIndex(lock, session.deployment);
      for (const outcome of group) recordOutcome(index, outcome);
      return index.toLock();
    });
};
/** Before anything is sent: what each known label is about to become, so that after a crash it is recognized as our own. */
export const recordIntents = async (session: Session, prepared: readonly PlannedLabel[]): Promise<void> => {
  const { deployment } = session;
  const changing = prepared.filter(({ plan, entry }) => plan.edits.length > 0 && entry !== undefined);
  for (const [directory, group] of byDirectory(changing, ({ entry }) => entry?.directory))
    await changeLock(session.context, directory, (lock) => {
      const index = new LockIndex(lock, deployment);
      for (const { entry, wanted, live } of group) {
        const record = entry && index.record(entry.key);
        if (entry === undefined || record === undefined || live === undefined) continue;
        const applying = unorderedDigest(simulateDelta(wanted, live));
        index.put(entry.key, entry.file, { ...record, applying });
      }
      return index.toLock();
    });
};
