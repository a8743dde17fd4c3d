import { isRecord } from '../../core/shape.ts';
import type { Bytes, Host } from '../../platform/host.ts';
import type { Store } from '../client/etcd-client.ts';
import type { SnapshotKey } from '../client/snapshot-content.ts';
import { prefixEnd } from '../client/messages.ts';
import { AppError } from '../../core/problem.ts';
import { next } from '../../core/next.ts';
import { childPath, pathPart } from '../../core/file-name.ts';

export const isBucketUrl = (where: string): boolean => /^s3:\/\//i.test(where);

/**
 * Retention rules. An absent rule keeps no snapshots. Without the first three rules, every snapshot up to the
 * maximum age is kept.
 */
export type Retention = {
  readonly keepLast?: number | undefined;
  readonly keepDaily?: number | undefined;
  readonly keepWeekly?: number | undefined;
  readonly maxAgeMs?: number | undefined;
};
type Kept = { readonly snapshot: StoredSnapshot; readonly why: string };
type Sorted = {
  readonly keep: readonly Kept[];
  readonly prune: readonly StoredSnapshot[];
};
const dayMs = 86_400_000;
const dayOf = ({ taken_at }: StoredSnapshot): string => taken_at.slice(0, 10);
/** Returns the Monday of the week in UTC. */
const weekOf = ({ taken_at }: StoredSnapshot): string => {
  const day = Math.floor(Date.parse(taken_at) / dayMs);
  return String(day - ((day + 3) % 7));
};
const newestFirst = (snapshots: readonly StoredSnapshot[]): StoredSnapshot[] =>
  [...snapshots].sort((a, b) =>
    a.taken_at === b.taken_at ? b.revision - a.revision : a.taken_at < b.taken_at ? 1 : -1,
  );
/** Returns the newest snapshot of each of the last `count` days or weeks that have a snapshot. */
const newestOfEach = (
  ordered: readonly StoredSnapshot[],
  count: number | undefined,
  spanOf: (snapshot: StoredSnapshot) => string,
): Set<string> => {
  const spans = new Map<string, string>();
  for (const snapshot of ordered)
    if (!spans.has(spanOf(snapshot))) spans.set(spanOf(snapshot), snapshot.name);
  return new Set([...spans.values()].slice(0, count ?? 0));
};
const isVerified = ({ manifest }: StoredSnapshot): boolean => manifest?.verified_at !== undefined;
/**
 * Splits the snapshots of one cluster into those to keep and those to prune. The newest verified snapshot is
 * always kept. Pure.
 */
export const retain = (
  snapshots: readonly StoredSnapshot[],
  { keepLast, keepDaily, keepWeekly, maxAgeMs }: Retention,
  nowMs: number,
): Sorted => {
  const ordered = newestFirst(snapshots);
  const hasCounts = [keepLast, keepDaily, keepWeekly].some((count) => count !== undefined);
  const rules: readonly (readonly [string, ReadonlySet<string>])[] = [
    ['last', new Set(ordered.slice(0, keepLast ?? 0).map(({ name }) => name))],
    ['daily', newestOfEach(ordered, keepDaily, dayOf)],
    ['weekly', newestOfEach(ordered, keepWeekly, weekOf)],
    ['age', new Set(hasCounts ? [] : ordered.map(({ name }) => name))],
  ];
  const isTooOld = ({ taken_at }: StoredSnapshot): boolean =>
    maxAgeMs !== undefined && nowMs - Date.parse(taken_at) > maxAgeMs;
  const lastVerified = ordered.find(isVerified)?.name;
  const [keep, prune]: [Kept[], StoredSnapshot[]] = [[], []];
  for (const snapshot of ordered) {
    const rule = isTooOld(snapshot) ? undefined : rules.find(([, names]) => names.has(snapshot.name))?.[0];
    const why = rule ?? (snapshot.name === lastVerified ? 'last verified' : undefined);
    if (why === undefined) prune.push(snapshot);
    else keep.push({ snapshot, why });
  }
  return { keep, prune };
};

/** Metadata of a stored snapshot. The manifest is stored next to the snapshot as `NAME.json`. */
export type SnapshotManifest = {
  readonly format: 1;
  readonly cluster: string;
  readonly member: string;
  /** ISO time. */
  readonly taken_at: string;
  readonly revision: number;
  readonly total_key: number;
  /** The hash that etcdctl prints. */
  readonly hash: string;
  readonly size_bytes: number;
  /** Hash of the whole file. */
  readonly file_sha256: string;
  /** Time and method of the last verification of the stored copy. */
  readonly verified_at?: string;
  readonly verified_by?: 'checksum' | 'trial restore';
};
export type StoredSnapshot = {
  readonly name: string;
  readonly cluster: string;
  readonly taken_at: string;
  readonly revision: number;
  readonly size_bytes: number;
  /** Absent if the manifest is missing or unreadable. Then the snapshot counts as not verified. */
  readonly manifest?: SnapshotManifest;
};
/** The name of a cluster has only letters, digits, dots, dashes and underscores, so that no other file is listed or removed. */
const namePattern = /^([\w.-]+)-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-r(\d{1,19})\.db$/;
/** Returns a name such as `prod-20261122T040000Z-r1234.db`, which sorts by time within a cluster. */
export const snapshotName = (cluster: string, takenMs: number, revision: number): string => {
  const stamp = new Date(takenMs).toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '');
  return `${cluster}-${stamp}-r${revision}.db`;
};
/** Parses a snapshot name. Returns undefined for other files, which opsctl neither lists nor removes. */
export const parseName = (
  name: string,
): Pick<StoredSnapshot, 'cluster' | 'taken_at' | 'revision'> | undefined => {
  const found = namePattern.exec(name);
  if (found === null) return undefined;
  const [, cluster = '', year, month, day, hour, minute, second, revision] = found;
  const taken_at = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  return Number.isNaN(Date.parse(taken_at)) ? undefined : { cluster, taken_at, revision: Number(revision) };
};
export const manifestName = (name: string): string => `${name}.json`;
type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === 'string' && value.length <= 1000;
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const orMissing =
  (isValid: Check): Check =>
  (value) =>
    value === undefined || isValid(value);
/** The type of each value, because the values are shown, and a verified snapshot is kept. More keys are allowed. */
const manifestTypes: Readonly<Record<keyof SnapshotManifest, Check>> = {
  format: (value) => value === 1,
  ...{ file_sha256: isText, size_bytes: isCount, revision: isCount },
  ...{ cluster: orMissing(isText), member: orMissing(isText), taken_at: orMissing(isText) },
  ...{ hash: orMissing(isText), total_key: orMissing(isCount) },
  verified_at: orMissing((value) => typeof value === 'string' && !Number.isNaN(Date.parse(value))),
  verified_by: orMissing((value) => value === 'checksum' || value === 'trial restore'),
};
const isManifest = (value: unknown): value is SnapshotManifest =>
  isRecord(value) && Object.entries(manifestTypes).every(([key, isValid]) => isValid(value[key]));
/** Parses a manifest. Returns undefined if the text is not a manifest. */
export const parseManifest = (text: string | undefined): SnapshotManifest | undefined => {
  if (text === undefined) return undefined;
  try {
    const manifest: unknown = JSON.parse(text);
    return isManifest(manifest) ? manifest : undefined;
  } catch {
    return undefined;
  }
};

const readAtOnce = 8;
/**
 * Returns the stored snapshots of the cluster (default: of all clusters), oldest first. Ignores other files.
 */
export const catalogue = async (destination: Destination, cluster?: string): Promise<StoredSnapshot[]> => {
  const files = await destination.names();
  const names = new Set(files.map(({ name }) => name));
  const ours = files.flatMap(({ name, sizeBytes }) => {
    const parsed = parseName(name);
    if (parsed === undefined || (cluster !== undefined && parsed.cluster !== cluster)) return [];
    return [{ name, size_bytes: sizeBytes, ...parsed }];
  });
  const found: StoredSnapshot[] = [];
  for (let i = 0; i < ours.length; i += readAtOnce)
    found.push(
      ...(await Promise.all(
        ours.slice(i, i + readAtOnce).map(async (one) => {
          const text = names.has(manifestName(one.name))
            ? await destination.text(manifestName(one.name))
            : undefined;
          const manifest = parseManifest(text);
          return manifest === undefined ? one : { ...one, manifest };
        }),
      )),
    );
  return found.sort((a, b) => (a.taken_at < b.taken_at ? -1 : 1));
};
export const writeManifest = (destination: Destination, name: string, manifest: SnapshotManifest) =>
  destination.putText(manifestName(name), `${JSON.stringify(manifest, null, 2)}\n`);
/** Returns the snapshots that a prune would remove, without removing them. */
export const prunePlan = async (
  destination: Destination,
  cluster: string,
  retention: Retention,
  nowMs: number,
): Promise<Sorted> => retain(await catalogue(destination, cluster), retention, nowMs);
/**
 * Removes the snapshot before its manifest. A manifest without a snapshot is not listed, and a snapshot
 * without a manifest is listed as not verified.
 */
export const removeSnapshots = async (
  destination: Destination,
  snapshots: readonly StoredSnapshot[],
): Promise<void> => {
  for (const { name } of snapshots) {
    await destination.remove(name);
    await destination.remove(manifestName(name));
  }
};

/** A location that stores snapshots. Names contain no directories. */
export type Destination = {
  /** The name for display. */
  readonly where: string;
  /** A local directory for building a file before `put` stores it. */
  readonly workDirectory: string;
  /** Returns the path or URL for results. */
  placeOf(name: string): string;
  names(): Promise<readonly { readonly name: string; readonly sizeBytes: number }[]>;
  /** Stores a complete local file atomically under its name. May remove the local file. */
  put(name: string, file: string, sizeBytes: number, signal?: AbortSignal): Promise<void>;
  putText(name: string, text: string): Promise<void>;
  /** Returns undefined if the file is missing. */
  text(name: string): Promise<string | undefined>;
  /** Returns undefined if the file is missing. */
  stream(name: string, signal?: AbortSignal): Promise<AsyncIterable<Bytes> | undefined>;
  remove(name: string): Promise<void>;
  /**
   * Removes incomplete uploads that are more than a day old. Returns their number, or undefined if it is
   * unknown.
   */
  discardUnfinished(): Promise<number | undefined>;
  close(): void;
};
/** Connection settings of an S3-compatible service. The environment provides missing values. */
export type BucketOptions = {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly addressing?: 'path' | 'virtual' | undefined;
};

/** A key of a snapshot or of a cluster. `key` is latin1 (one character per byte), and `value` is base64. */
export type ComparedKey = Pick<SnapshotKey, 'key' | 'value' | 'mod'> & { readonly lease?: string };
export type KeyChange = {
  readonly key: string;
  readonly change: 'added' | 'removed' | 'changed';
  readonly before?: ComparedKey;
  readonly after?: ComparedKey;
};
/** The keys of opsctl (locks, progress and canary) always differ. */
const isOwn = (key: string): boolean => key.startsWith('opsctl/');
const inPrefix = (keys: readonly ComparedKey[], prefix: string): Map<string, ComparedKey> =>
  new Map(
    keys
      .filter(({ key }) => key.startsWith(prefix) && (isOwn(prefix) || !isOwn(key)))
      .map((one) => [one.key, one]),
  );
/**
 * Returns the changes from `before` to `after` by key. A key that was written again with the same value is
 * unchanged. Pure.
 */
export const compareKeys = (
  before: readonly ComparedKey[],
  after: readonly ComparedKey[],
  prefix = '',
): KeyChange[] => {
  const [old, fresh] = [inPrefix(before, prefix), inPrefix(after, prefix)];
  const names = [...new Set([...old.keys(), ...fresh.keys()])].sort();
  return names.flatMap((key): KeyChange[] => {
    const [a, b] = [old.get(key), fresh.get(key)];
    if (a === undefined && b !== undefined) return [{ key, change: 'added', after: b }];
    if (a !== undefined && b === undefined) return [{ key, change: 'removed', before: a }];
    return a?.value === b?.value || a === undefined || b === undefined
      ? []
      : [{ key, change: 'changed', before: a, after: b }];
  });
};
export const countChanges = (changes: readonly KeyChange[]) => {
  const count = (kind: KeyChange['change']): number => changes.filter(({ change }) => change === kind).length;
  return { added: count('added'), removed: count('removed'), changed: count('changed') };
};
const pageKeys = 500;
/** Returns every key below a prefix at one revision (default: the newest revision). */
export const readKeys = async (
  store: Store,
  prefix: string,
  revision?: number,
): Promise<{ readonly revision: number; readonly keys: readonly ComparedKey[] }> => {
  const end = prefixEnd(Buffer.from(prefix, 'latin1').toString());
  const keys: ComparedKey[] = [];
  let [from, at] = [Buffer.from(prefix === '' ? '\0' : prefix, 'latin1'), revision];
  for (;;) {
    const page = await store.range(from, {
      rangeEnd: end,
      limit: pageKeys,
      ...(at === undefined ? {} : { revision: at }),
    });
    at ??= page.revision;
    for (const kv of page.kvs) {
      const key = kv.key_base64 === undefined ? Buffer.from(kv.key) : Buffer.from(kv.key_base64, 'base64');
      const value = kv.value_base64 ?? Buffer.from(kv.value).toString('base64');
      keys.push({
        key: key.toString('latin1'),
        value,
        mod: kv.mod_revision,
        ...(kv.lease === undefined ? {} : { lease: kv.lease }),
      });
      from = Buffer.concat([key, Buffer.from([0])]);
    }
    if (page.kvs.length < pageKeys) return { revision: at, keys };
  }
};
/**
 * Applies each change only if its key has not changed since the comparison. Returns the keys that another
 * client changed in the meantime.
 */
export const applyChanges = async (store: Store, changes: readonly KeyChange[]): Promise<string[]> => {
  const conflicts: string[] = [];
  for (const { key, before, after } of changes) {
    const value = after === undefined ? undefined : Buffer.from(after.value, 'base64');
    if (!(await store.change(Buffer.from(key, 'latin1'), before?.mod ?? 0, value))) conflicts.push(key);
  }
  return conflicts;
};

export type SnapshotRequest = {
  readonly host: Host;
  readonly cluster: string;
  readonly member: string;
  readonly store: Store;
  readonly destination: Destination;
  readonly signal: AbortSignal;
};
export type StoredFile = {
  readonly name: string;
  readonly place: string;
  readonly manifest: SnapshotManifest;
};
/** Returns the summary of a verified local file. Throws SNAPSHOT_DAMAGED. */
const describeFile = async (
  host: Host,
  path: string,
  signal: AbortSignal | undefined,
): Promise<Pick<SnapshotManifest, 'revision' | 'total_key' | 'hash' | 'size_bytes' | 'file_sha256'>> => {
  const [{ readContent }, { verifySnapshot, readSnapshot }] = await Promise.all([
    import('../client/snapshot-content.ts'),
    import('../client/snapshot.ts'),
  ]);
  const { size_bytes, file_sha256 } = await verifySnapshot(host, path, signal);
  const { hash, revision, total_key } = await readSnapshot(host, path, readContent, signal);
  return { revision, total_key, hash: hash.toString(16), size_bytes, file_sha256 };
};
/**
 * Rejects a snapshot that is older than the member was at its start. The member keeps every page for a
 * snapshot in progress, so an older snapshot did not come from this member.
 */
const refuseOlder = (member: string, revision: number, atStart: number): void => {
  if (revision >= atStart) return;
  throw new AppError(
    'no',
    `the snapshot of ${member} contains revision ${revision}, but ${member} was at ${atStart} when the snapshot started`,
    { code: 'SNAPSHOT_OLD', tryThis: [next(['kv', 'status']), 'take it from another member: --member NAME'] },
  );
};
export type Storing = Pick<SnapshotRequest, 'host' | 'cluster' | 'member' | 'destination' | 'signal'> & {
  readonly takenMs: number;
  /** Revision of the member at the start of the snapshot. */
  readonly atStart: number;
};
/** Stores a verified local file with its manifest. May remove the local file. */
export const storeFile = async (storing: Storing, file: string): Promise<StoredFile> => {
  const { host, cluster, member, destination, signal, takenMs, atStart } = storing;
  const described = await describeFile(host, file, signal);
  refuseOlder(member, described.revision, atStart);
  const name = snapshotName(cluster, takenMs, described.revision);
  await destination.put(name, file, described.size_bytes, signal);
  const manifest: SnapshotManifest = {
    format: 1,
    cluster,
    member,
    taken_at: new Date(takenMs).toISOString(),
    ...described,
    verified_at: new Date(host.now()).toISOString(),
    verified_by: 'checksum',
  };
  await writeManifest(destination, name, manifest);
  return { name, place: destination.placeOf(name), manifest };
};
/**
 * Takes one snapshot: reads it from the member into a local file, verifies it and stores it under its name.
 * It does not stream directly to the destination, because the member keeps its free pages until the read has
 * finished and a slow upload would delay that.
 */
export const takeStored = async (taking: SnapshotRequest): Promise<StoredFile> => {
  const { host, cluster, store, destination } = taking;
  const takenMs = host.now();
  await host.files.makeDirectory(destination.workDirectory, 0o700);
  const file = childPath(destination.workDirectory, pathPart(`.${cluster}-${takenMs}.partial-${host.pid}`));
  try {
    const { revision: atStart } = await store.status();
    const { saveSnapshot } = await import('../client/snapshot.ts');
    await saveSnapshot(host, store, file);
    return await storeFile({ ...taking, takenMs, atStart }, file);
  } finally {
    await host.files.remove(file);
  }
};
