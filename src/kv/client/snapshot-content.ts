import { AppError, messageOf } from '../../core/problem.ts';
import { decode, type Shape, storeCrc } from '../../core/protobuf.ts';

/** Summary of a snapshot file. `total_key` counts every revision in every bucket, as etcdctl does. */
export type SnapshotContent = {
  readonly hash: number;
  readonly revision: number;
  readonly total_key: number;
  readonly total_size: number;
};

/** A file that is read page by page, because a snapshot may be larger than the memory. */
export type PageSource = {
  readonly size: number;
  /** Returns fewer bytes at the end of the file. */
  read(from: number, length: number): Buffer;
};
export const inMemory = (file: Buffer): PageSource => ({
  size: file.length,
  read: (from, length) => file.subarray(from, from + length),
});

const headerBytes = 16;
const elementBytes = 16;
const BRANCH = 0x01;
const LEAF = 0x02;
/** The first bytes of each meta page of the file format. */
export const pageMagic = 0xed0cdaed;

const makeContentError = (why: string): AppError =>
  new AppError('no', `cannot read the snapshot: ${why}`, { code: 'SNAPSHOT_DAMAGED' });

type Meta = {
  readonly pageSize: number;
  readonly root: number;
  readonly txid: bigint;
  readonly pages: number;
};
const metaBytes = 80;
const pageSizes = [4096, 8192, 16384, 32768, 65536];
const metaAt = (file: PageSource, at: number): Meta | undefined => {
  if (file.size < at + metaBytes) return undefined;
  const page = file.read(at, metaBytes);
  if (page.readUInt32LE(headerBytes) !== pageMagic) return undefined;
  const number = (offset: number): number => Number(page.readBigUInt64LE(headerBytes + offset));
  const pageSize = page.readUInt32LE(headerBytes + 8);
  if (!pageSizes.includes(pageSize)) return undefined;
  return {
    pageSize,
    root: number(16),
    pages: number(40),
    txid: page.readBigUInt64LE(headerBytes + 48),
  };
};

/**
 * Returns the newer of the two meta pages. The second one is on the second page, and the page size varies.
 */
const metaOf = (file: PageSource): Meta => {
  const first = metaAt(file, 0);
  const sizes = first === undefined ? pageSizes : [first.pageSize];
  const second = sizes.map((size) => metaAt(file, size)).find((meta) => meta !== undefined);
  const both = [first, second]
    .filter((meta) => meta !== undefined)
    .sort((a, b) => (a.txid > b.txid ? -1 : 1));
  if (both[0] === undefined) throw makeContentError('it has no header of a database');
  return both[0];
};

/**
 * Returns the size that the header of a database states: a member sends exactly the pages in use. Returns undefined for a
 * file without a header.
 */
export const statedBytes = (file: PageSource): number | undefined => {
  if (metaAt(file, 0) === undefined) return undefined;
  const { pages, pageSize } = metaOf(file);
  return pages * pageSize;
};

type Entry = { readonly key: Buffer; readonly value: Buffer };

/** Yields every entry below a page in key order. */
function* entries(file: PageSource, page: Buffer, pageSize: number): Generator<Entry> {
  const [flags, count] = [page.readUInt16LE(8), page.readUInt16LE(10)];
  for (let i = 0; i < count; i += 1) {
    const at = headerBytes + i * elementBytes;
    if (flags & LEAF) {
      const [position, keySize, valueSize] = [
        page.readUInt32LE(at + 4),
        page.readUInt32LE(at + 8),
        page.readUInt32LE(at + 12),
      ];
      const from = at + position;
      yield {
        key: page.subarray(from, from + keySize),
        value: page.subarray(from + keySize, from + keySize + valueSize),
      };
    } else if (flags & BRANCH) {
      yield* entries(file, pageAt(file, Number(page.readBigUInt64LE(at + 8)), pageSize), pageSize);
    } else throw makeContentError('a page is neither branch nor leaf');
  }
}

const pageAt = (file: PageSource, id: number, pageSize: number): Buffer => {
  const from = id * pageSize;
  if (from + headerBytes > file.size) throw makeContentError(`page ${id} is after its end`);
  const page = file.read(from, pageSize);
  const overflow = page.readUInt32LE(12);
  if (overflow === 0) return page;
  if (from + (overflow + 1) * pageSize > file.size) throw makeContentError(`page ${id} extends past its end`);
  return file.read(from, (overflow + 1) * pageSize);
};

/**
 * Limits the number of reads. A page of a corrupted file may refer to itself, which would cause an endless
 * loop.
 */
const eachPageOnce = (file: PageSource): PageSource => {
  let left = 2 * Math.ceil(file.size / (pageSizes[0] as number)) + 16;
  return {
    size: file.size,
    read: (from, length) => {
      left -= 1;
      if (left < 0) throw makeContentError('its pages form a cycle');
      return file.read(from, length);
    },
  };
};
/** Converts a RangeError, which a corrupted page with invalid offsets causes. */
const inWords = (error: unknown): unknown =>
  error instanceof RangeError
    ? makeContentError(`a record points outside of its page (${error.message})`)
    : error;
function* readingFrom<T>(file: PageSource, read: (file: PageSource) => Reading<T>): Reading<T> {
  try {
    return yield* read(eachPageOnce(file));
  } catch (error) {
    throw inWords(error);
  }
}
/**
 * Reads a file record by record and yields after each record, so that the caller can pause: a file of several
 * gigabytes takes minutes, and no signal arrives while a function runs.
 */
export type Reading<T> = Generator<undefined, T>;
/** Reads without a pause, for a file in memory and for a few records. */
const readNow = <T>(reading: Reading<T>): T => {
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
};

/**
 * Returns the root page of a bucket. The value of the bucket contains its page number or, for a small bucket,
 * the page.
 */
const rootOf = (file: PageSource, bucket: Buffer, pageSize: number): Buffer => {
  const root = Number(bucket.readBigUInt64LE(0));
  return root === 0 ? bucket.subarray(16) : pageAt(file, root, pageSize);
};

/** Yields the records of one bucket in key order. Yields no records if the bucket does not exist. */
export function* bucketRecords(source: PageSource, name: string): Generator<Entry> {
  const file = eachPageOnce(source);
  try {
    const meta = metaOf(file);
    for (const bucket of entries(file, pageAt(file, meta.root, meta.pageSize), meta.pageSize)) {
      if (bucket.key.toString() === name)
        yield* entries(file, rootOf(file, bucket.value, meta.pageSize), meta.pageSize);
    }
  } catch (error) {
    throw inWords(error);
  }
}

/** Returns the last entry below a page without reading the earlier entries. */
const lastEntry = (file: PageSource, page: Buffer, pageSize: number): Entry | undefined => {
  const [flags, count] = [page.readUInt16LE(8), page.readUInt16LE(10)];
  if (count === 0) return undefined;
  if ((flags & BRANCH) === 0) return [...entries(file, page, pageSize)].at(-1);
  const at = headerBytes + (count - 1) * elementBytes;
  return lastEntry(file, pageAt(file, Number(page.readBigUInt64LE(at + 8)), pageSize), pageSize);
};

/**
 * Returns the revision of a verified snapshot file. It is in the last record of the bucket, which needs only
 * a few page reads.
 */
export const snapshotRevision = (file: PageSource): number => readNow(readingFrom(file, revisionIn));
function* revisionIn(file: PageSource): Reading<number> {
  const { root, pageSize } = metaOf(file);
  let revision = firstRevision;
  for (const bucket of entries(file, pageAt(file, root, pageSize), pageSize)) {
    yield undefined;
    const name = bucket.key.toString();
    const page = (): Buffer => rootOf(file, bucket.value, pageSize);
    if (name === 'key') revision = Math.max(revision, mainRevision(lastEntry(file, page(), pageSize)?.key));
    if (name === 'meta')
      for (const entry of entries(file, page(), pageSize))
        revision = Math.max(revision, compactRevision(entry));
  }
  return revision;
}
/** The revision of a store without keys. */
const firstRevision = 1;
const mainRevision = (bytes: Buffer | undefined): number =>
  bytes === undefined || bytes.length < 8 ? 0 : Number(bytes.readBigUInt64BE(0));
/** A compaction may have removed every record. Then the store continues at the revision of the compaction. */
const compactRevision = ({ key, value }: Entry): number =>
  ['scheduledCompactRev', 'finishedCompactRev'].includes(key.toString()) ? mainRevision(value) : 0;

/** Reads a verified snapshot file without etcdctl. `file` is the whole file with its trailer. */
export const snapshotContent = (file: PageSource): SnapshotContent => readNow(readContent(file));
export const readContent = (file: PageSource): Reading<SnapshotContent> => readingFrom(file, contentIn);
function* contentIn(file: PageSource): Reading<SnapshotContent> {
  const meta = metaOf(file);
  let [hash, revision, totalKey] = [0, firstRevision, 0];
  for (const bucket of entries(file, pageAt(file, meta.root, meta.pageSize), meta.pageSize)) {
    hash = storeCrc(bucket.key, hash);
    const name = bucket.key.toString();
    for (const { key, value } of entries(file, rootOf(file, bucket.value, meta.pageSize), meta.pageSize)) {
      hash = storeCrc(value, storeCrc(key, hash));
      totalKey += 1;
      if (name === 'key') revision = Math.max(revision, mainRevision(key));
      if (name === 'meta') revision = Math.max(revision, compactRevision({ key, value }));
      yield undefined;
    }
  }
  return { hash, revision, total_key: totalKey, total_size: file.size - (file.size % 512) };
}

/** A key in a snapshot. `key` is latin1 (one character per byte), and `value` is base64. */
export type SnapshotKey = {
  readonly key: string;
  readonly value: string;
  readonly create: number;
  readonly mod: number;
  readonly version: number;
};
export type SnapshotKeys = { readonly revision: number; readonly keys: readonly SnapshotKey[] };
/** A change in a snapshot: a value of a key, or its deletion. `sub` numbers the changes of one revision. */
export type SnapshotRecord =
  | (SnapshotKey & { readonly sub: number; readonly lease?: string })
  | { readonly key: string; readonly mod: number; readonly sub: number; readonly isDeleted: true };
/** `compacted`: the last revision that a compaction removed, or 0. */
type SnapshotHistory = {
  readonly revision: number;
  readonly compacted: number;
  readonly records: readonly SnapshotRecord[];
};
/** The message of a record (mvccpb.KeyValue). */
const RECORD = {
  key: [1, 'bytes'],
  create: [2, 'int64'],
  mod: [3, 'int64'],
  version: [4, 'int64'],
  value: [5, 'bytes'],
  lease: [6, 'int64'],
} as const satisfies Shape;
const recordFrom = (bytes: Buffer): Readonly<Record<string, string | undefined>> => {
  try {
    return decode(RECORD, bytes) as Readonly<Record<string, string | undefined>>;
  } catch (error) {
    throw makeContentError(messageOf(error));
  }
};
const MARK_OF_DELETION = 18;
const changeFrom = ({ key: at, value }: Entry): SnapshotRecord => {
  const record = recordFrom(value);
  const key = Buffer.from(record['key'] ?? '', 'base64').toString('latin1');
  const place = { mod: mainRevision(at), sub: at.length < 17 ? 0 : Number(at.readBigUInt64BE(9)) };
  if (at.length === MARK_OF_DELETION) return { key, ...place, isDeleted: true };
  return {
    key,
    value: record['value'] ?? '',
    create: Number(record['create'] ?? 0),
    version: Number(record['version'] ?? 0),
    ...place,
    ...(record['lease'] === undefined ? {} : { lease: record['lease'] }),
  };
};
/** Yields the changes of a snapshot file, sorted by revision. */
function* changesIn(file: PageSource): Generator<SnapshotRecord> {
  for (const entry of bucketRecords(file, 'key')) yield changeFrom(entry);
}
const compactedIn = (file: PageSource): number =>
  Math.max(0, ...[...bucketRecords(file, 'meta')].map(compactRevision));
/** Returns every key that exists in a snapshot file with its newest value. Pure. */
export function* readKeys(file: PageSource): Reading<SnapshotKeys> {
  const alive = new Map<string, SnapshotKey>();
  let revision = Math.max(firstRevision, compactedIn(file));
  for (const change of changesIn(file)) {
    yield undefined;
    revision = Math.max(revision, change.mod);
    if ('isDeleted' in change) alive.delete(change.key);
    else {
      const { key, value, create, mod, version } = change;
      alive.set(key, { key, value, create, mod, version });
    }
  }
  return { revision, keys: [...alive.values()] };
}
/** Returns every change in a snapshot file that no compaction removed, as a restore needs it. Pure. */
export const snapshotHistory = (file: PageSource): SnapshotHistory => {
  const [compacted, records] = [compactedIn(file), [...changesIn(file)]];
  return { revision: Math.max(firstRevision, compacted, records.at(-1)?.mod ?? 0), compacted, records };
};
export const snapshotKeys = (file: PageSource): SnapshotKeys => readNow(readKeys(file));

/** Returns the version of the cluster in a database file. Reads a few pages. */
export const storedVersion = (file: PageSource): string | undefined => {
  for (const record of bucketRecords(file, 'cluster'))
    if (record.key.toString() === 'clusterVersion') return record.value.toString();
  return undefined;
};
/**
 * Returns the newest value of one key in a database file, or undefined if the key does not exist. Reads every
 * record of the file, because the records are sorted by revision.
 */
export function* readStoredValue(file: PageSource, key: string): Reading<string | undefined> {
  let value: string | undefined;
  const wanted = Buffer.from(key);
  for (const { key: at, value: bytes } of bucketRecords(file, 'key')) {
    yield undefined;
    if (!bytes.includes(wanted)) continue;
    const record = recordFrom(bytes);
    if (!Buffer.from(record['key'] ?? '', 'base64').equals(wanted)) continue;
    value =
      at.length === MARK_OF_DELETION ? undefined : Buffer.from(record['value'] ?? '', 'base64').toString();
  }
  return value;
}
