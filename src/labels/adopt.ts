import type { EngineContext } from '../api/context.ts';
import { problem, usageError } from '../core/problem.ts';
import { prepareFiles } from './apply.ts';
import type { ReadOptions } from './read-labels.ts';
import type { LiveLabel } from './definition.ts';
import { deploymentOf, labelKey, labelKeys, LockIndex, newLabelKey, recordFrom } from './lock-entries.ts';
import { baseOf, type PlannedLabel } from './prepare.ts';
import { changeLock, directoryOf, emptyLock, LOCK_FILE, type LockFile, readLock } from './lock-file.ts';
import { absolute } from './read-files.ts';
import { lockPlaceOf, loadDesiredLabels } from './desired.ts';
import { deploymentsWithValues } from './values.ts';

export type Adopted = {
  readonly key: string;
  readonly title: string;
  readonly id: string | null;
  readonly file: string;
  /** `known`: its record stays unchanged. `missing`: the service has no such label yet. */
  readonly status: 'adopted' | 'known' | 'missing' | 'forgotten';
};

/** A file that names the revision it was written from keeps that protection: the record starts there. */
const startOf = async (
  context: EngineContext,
  { wish, live }: PlannedLabel,
  asking: ReadOptions,
): Promise<LiveLabel | undefined> => {
  if (live === undefined || wish.wanted.revision === undefined) return live;
  const base = await baseOf(context, wish.wanted, live, undefined, asking);
  const then = typeof base === 'object' ? base.label : undefined;
  return then !== undefined && 'id' in then ? (then as LiveLabel) : live;
};

/** Files of earlier versions name their revision; the lock file has taken its place. */
const withoutRevision = async (context: EngineContext, prepared: readonly PlannedLabel[]): Promise<void> => {
  const files = new Set(
    prepared.flatMap(({ wish }) =>
      wish.wanted.revision === undefined || wish.document.file === undefined ? [] : [wish.document.file],
    ),
  );
  for (const file of files) {
    const path = absolute(context, file);
    const text = (await context.host.files.read(path)) ?? '';
    const after = text.replace(/^revision:[^\n]*\n/gm, '');
    if (after !== text) await context.host.files.replace(path, after);
  }
};

type Row = { readonly prepared: PlannedLabel; readonly start: LiveLabel | undefined };

type Rows = { readonly context: EngineContext; readonly rows: readonly Row[]; readonly deployment: string };
/** Adds the records of these rows to a lock file, and returns the status of each row. Pure. */
const adoptRows = (
  lock: LockFile,
  { context, rows, deployment }: Rows,
): { readonly lock: LockFile; readonly adopted: Adopted[] } => {
  const index = new LockIndex(lock, deployment);
  const adopted = rows.map(({ prepared, start }): Adopted => {
    const { wish, wanted, live } = prepared;
    const { file } = lockPlaceOf(context, wish);
    const key = labelKey(index, wish.wanted, file) ?? newLabelKey(index, wish.wanted);
    const base = { key, title: wanted.title, id: live?.id ?? null, file: wish.source };
    if (start === undefined) return { ...base, status: 'missing' };
    if (index.record(key)?.id === live?.id) return { ...base, status: 'known' };
    const record = recordFrom(wish.wanted, start, index.entry(key), deployment, permissionsNow(prepared));
    index.put(key, file, record);
    return { ...base, status: 'adopted' };
  });
  return { lock: index.toLock(), adopted };
};
const adoptInto = async (
  context: EngineContext,
  directory: string,
  rows: readonly Row[],
  deployment: string,
): Promise<Adopted[]> => {
  const given = { context, rows, deployment };
  if (context.isDryRun) return adoptRows(emptyLock, given).adopted;
  let adopted: Adopted[] = [];
  await changeLock(context, directory, (before) => {
    const after = adoptRows(before, given);
    ({ adopted } = after);
    return after.lock;
  });
  return adopted;
};

const permissionsNow = ({ permissions }: PlannedLabel) =>
  permissions?.live.map((one) => ({ ...one, role: one.role ?? '' }));

/** Removes lock entries that have no definition. The labels of the service are not changed. */
const forgetEntries = async (
  context: EngineContext,
  files: readonly string[],
  keys: readonly string[],
): Promise<Adopted[]> => {
  if (keys.length === 0) return [];
  const [first = '-'] = files;
  const directory = await directoryOf(context, first);
  const lock = directory === undefined ? undefined : await readLock(context, directory);
  if (directory === undefined || lock === undefined)
    throw usageError(`${first} has no ${LOCK_FILE}`, [problem('--forget', 'rule', 'requires a lock file')]);
  const [deployment] = await deploymentsWithValues(context, files);
  const wishes = await loadDesiredLabels(context, files, { deployment });
  const index = new LockIndex(lock, '');
  // Of several entries that fit one definition, one has to stay.
  const used = new Set(
    wishes.flatMap((wish) => {
      const fitting = labelKeys(index, wish.wanted, lockPlaceOf(context, wish).file);
      return fitting.every((key) => keys.includes(key)) ? fitting : [];
    }),
  );
  const problems = keys.flatMap((key) => {
    if (lock.labels[key] === undefined)
      return [problem('--forget', 'rule', `names ${key}, which is not an entry of ${LOCK_FILE}`)];
    return used.has(key) ? [problem('--forget', 'rule', `names ${key}, which has a definition`)] : [];
  });
  if (problems.length > 0) throw usageError('the lock file was not changed', problems);
  if (!context.isDryRun)
    await changeLock(context, directory, ({ labels }) => ({
      labels: Object.fromEntries(Object.entries(labels).filter(([key]) => !keys.includes(key))),
    }));
  return keys.map((key) => {
    const record = Object.values(lock.labels[key]?.deployments ?? {})[0];
    const file = lock.labels[key]?.file ?? '-';
    return { key, title: record?.title ?? key, id: record?.id ?? null, file, status: 'forgotten' };
  });
};
/**
 * Writes the lock file for existing labels. Each definition is then bound to its label in this deployment,
 * even if either is renamed. Makes no changes in the service, and keeps existing records.
 */
export const adoptFiles = async (
  context: EngineContext,
  files: readonly string[],
  options: ReadOptions & {
    readonly deployment?: string;
    readonly values?: string;
    readonly forget?: readonly string[];
  },
): Promise<Adopted[]> => {
  const forgotten = await forgetEntries(context, files, options.forget ?? []);
  if (forgotten.length > 0) return forgotten;
  const admin = options.admin ?? false;
  const asked = { publish: false, prune: false, admin, ...options };
  const { prepared } = await prepareFiles(context, files, asked);
  const deployment = await deploymentOf(context, options.deployment);
  const groups = new Map<string, Row[]>();
  for (const one of prepared) {
    const { directory } = lockPlaceOf(context, one.wish);
    if (directory === undefined) continue;
    const start = await startOf(context, one, options);
    const row = { prepared: one, start };
    const group = groups.get(directory);
    if (group === undefined) groups.set(directory, [row]);
    else group.push(row);
  }
  const adopted: Adopted[] = [];
  for (const [directory, rows] of groups)
    adopted.push(...(await adoptInto(context, directory, rows, deployment)));
  if (!context.isDryRun) await withoutRevision(context, prepared);
  return adopted;
};
