import { resolve } from 'node:path';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { req, str } from '../../core/field.ts';
import { next } from '../../core/next.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult, type Result, rowsResult } from '../../core/result.ts';
import { isUtf8 } from 'node:buffer';
import { countText } from '../../core/format.ts';
import { type ComparedKey, type KeyChange, isBucketUrl } from '../../kv/snapshots/catalog.ts';
import { clusterFlags } from './flags.ts';
import { askAny, openCluster, type Opened } from './prepare.ts';
import { bucketFlags, bucketOptions, type BucketValues } from './snapshot.ts';

/** UTF-8 text unchanged, other bytes as base64 with a mark. */
const shownBytes = (bytes: Buffer): string =>
  isUtf8(bytes) ? bytes.toString() : `base64:${bytes.toString('base64')}`;
const shownValue = (one: ComparedKey | undefined): string | null =>
  one === undefined ? null : shownBytes(Buffer.from(one.value, 'base64'));
const rowOf = ({ key, change, before, after }: KeyChange) => ({
  change,
  key: shownBytes(Buffer.from(key, 'latin1')),
  before: shownValue(before),
  after: shownValue(after),
  before_revision: before?.mod ?? null,
  after_revision: after?.mod ?? null,
});
/** The keys of a verified snapshot file, local or in a bucket. */
const snapshotKeysAt = async (
  { host, settings, signal }: Context,
  place: string,
  values: BucketValues,
): Promise<{ readonly revision: number; readonly keys: readonly ComparedKey[] }> => {
  const [{ asLocalFile }, { readKeys }, { verifySnapshot, readSnapshot }] = await Promise.all([
    import('../../kv/snapshots/trial-restore.ts'),
    import('../../kv/client/snapshot-content.ts'),
    import('../../kv/client/snapshot.ts'),
  ]);
  const isStored = isBucketUrl(place);
  const bucket = { ...bucketOptions(values), directory: `${settings.directories.state}/snapshots` };
  const path = isStored ? await asLocalFile(host, place, bucket, signal) : resolve(host.cwd, place);
  try {
    await verifySnapshot(host, path, signal);
    return await readSnapshot(host, path, readKeys, signal);
  } finally {
    if (isStored) await host.files.remove(path);
  }
};
/** The second argument names a snapshot. Users also type the name of a cluster there. */
const secondSnapshotKeys = async (
  context: Context,
  before: string,
  after: string,
  values: BucketValues,
): ReturnType<typeof snapshotKeysAt> => {
  try {
    return await snapshotKeysAt(context, after, values);
  } catch (error) {
    const isClusterFile = /\.ya?ml$/.test(after);
    if (!(error instanceof AppError) || isBucketUrl(after)) throw error;
    if (!isClusterFile && error.detail.code !== 'NO_SNAPSHOT') throw error;
    const cluster = isClusterFile ? ['--cluster', after] : [];
    throw new AppError(error.category, error.advice, {
      ...error.detail,
      tryThis: [next(['kv', 'snapshot', 'diff', before, ...cluster], 'to compare with the cluster')],
    });
  }
};
const prefixFlag = {
  effects: [],
  field: str(1024),
  summary: 'Only keys with this prefix',
  value: 'prefix',
} as const;
export const snapshotDiff = defineCommand({
  path: ['kv', 'snapshot', 'diff'],
  summary: 'Compare a snapshot with a snapshot or a cluster, by key',
  about:
    'Prints each key that was added, removed or changed between the first snapshot and the second one, or the current state of the cluster. Keys of opsctl itself (opsctl/) are left out. Reads only, and needs no program of the store.',
  args: [
    {
      name: 'before',
      effects: ['reads'],
      field: req(str(4096, { min: 1 })),
      summary: 'Snapshot: a file, or s3://BUCKET/PREFIX/NAME',
      complete: 'file',
    },
    {
      name: 'after',
      effects: ['reads'],
      field: str(4096, { min: 1 }),
      summary: 'Second snapshot (default: the cluster)',
      optional: true,
      complete: 'file',
    },
  ],
  flags: { ...clusterFlags, prefix: prefixFlag, ...bucketFlags },
  examples: [
    {
      line: 'opsctl kv snapshot diff backup.db --prefix /app/ --cluster cluster.yaml',
      says: 'Show what has changed below /app/ since the backup',
    },
    { line: 'opsctl kv snapshot diff monday.db tuesday.db', says: 'Show the changes of one day' },
  ],
  run: async (context, values) => {
    const { compareKeys, readKeys } = await import('../../kv/snapshots/catalog.ts');
    const prefix = Buffer.from(values.prefix ?? '').toString('latin1');
    const before = await snapshotKeysAt(context, values.before, values);
    const after =
      values.after === undefined
        ? await askAny(context, await openCluster(context, values), (store) => readKeys(store, prefix))
        : await secondSnapshotKeys(context, values.before, values.after, values);
    const rows = compareKeys(before.keys, after.keys, prefix).map(rowOf);
    const columns = ['change', 'key', 'before', 'after'];
    return rowsResult(rows, { columns, name: 'key' });
  },
});

type Part = { readonly prefix: string; readonly at: string } & BucketValues;
/** The keys to restore: of a snapshot, or of the cluster at an earlier revision. */
const keysToRestore = async (context: Context, opened: Opened, { prefix, at, ...values }: Part) => {
  if (!/^\d+$/.test(at)) return (await snapshotKeysAt(context, at, values)).keys;
  const { readKeys } = await import('../../kv/snapshots/catalog.ts');
  const { keys } = await askAny(context, opened, (store) => readKeys(store, prefix, Number(at)));
  return keys;
};
const listShown = 20;
const valueShown = 40;
/** A value of the store in a plan: escaped, because it may contain control characters, and short. */
const planValue = (value: string | null): string => {
  const text = value ?? '';
  return `${JSON.stringify(text.slice(0, valueShown))}${text.length > valueShown ? '…' : ''}`;
};
/** The size of a value. A value may be a secret, and a log of a pipeline must not contain it. */
const planSize = (entry: ComparedKey | undefined): string =>
  countText(Buffer.from(entry?.value ?? '', 'base64').length, 'byte');
/** A line of the plan: the key, its present value and its restored value, or only their sizes. */
export const planLine = (one: KeyChange, showsValues: boolean): string => {
  const { change, key, before, after } = rowOf(one);
  const old = showsValues ? planValue(before) : planSize(one.before);
  const restored = showsValues ? planValue(after) : planSize(one.after);
  if (change === 'added') return `  create ${key}: ${restored}`;
  if (change === 'removed') return `  delete ${key}: ${old}`;
  return `  change ${key}: ${old} → ${restored}`;
};
/**
 * `kv restore --prefix`: restores the keys below a prefix while the cluster runs. Each change happens only if
 * its key is unchanged since it was shown.
 */
export const restoreKeys = async (context: Context, opened: Opened, part: Part): Promise<Result> => {
  const { applyChanges, compareKeys, countChanges, readKeys } = await import('../../kv/snapshots/catalog.ts');
  const prefix = Buffer.from(part.prefix).toString('latin1');
  const wanted = await keysToRestore(context, opened, { ...part, prefix });
  const { keys: now } = await askAny(context, opened, (store) => readKeys(store, prefix));
  const changes = compareKeys(now, wanted, prefix);
  const counts = countChanges(changes);
  const rows = changes.map(rowOf);
  const leases = changes.filter(({ before }) => before?.lease !== undefined).length;
  const said = `${countText(counts.added, 'key')} to create, ${counts.changed} to change, ${counts.removed} to delete below ${part.prefix}`;
  const showsValues = context.isDryRun || context.isInteractive;
  const lines = [
    said,
    ...changes.slice(0, listShown).map((one) => planLine(one, showsValues)),
    ...(rows.length > listShown ? [`  and ${rows.length - listShown} more`] : []),
    ...(leases > 0 ? [`${leases} of these keys have a lease now; restored keys have none`] : []),
  ];
  const data = { cluster: opened.cluster.name, prefix: part.prefix, at: part.at, ...counts, changes: rows };
  if (context.isDryRun) return recordResult(data, { text: lines.join('\n'), isProse: true });
  if (changes.length === 0)
    return recordResult(
      { ...data, conflicts: [] },
      { text: `nothing to restore below ${part.prefix}`, isProse: true },
    );
  context.log.info(lines.join('\n'));
  await context.confirm(
    `Apply ${changes.length === 1 ? 'this change' : `these ${changes.length} changes`} to ${opened.cluster.name}?`,
  );
  const conflicts = await askAny(context, opened, (store) => applyChanges(store, changes));
  if (conflicts.length === 0)
    return recordResult(
      { ...data, conflicts },
      { text: `restored ${countText(changes.length, 'key')} below ${part.prefix}`, isProse: true },
    );
  throw new AppError(
    'partial',
    `${conflicts.length} of ${changes.length} keys were changed by another client in the meantime and stay as they are: ${conflicts.slice(0, 5).join(', ')}`,
    { code: 'KEYS_CHANGED', tryThis: ['run the command again: it compares again'], data: { conflicts } },
  );
};
