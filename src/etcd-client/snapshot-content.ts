import { AppError } from '../core/problem.ts';

/** What a snapshot file holds. `total_key` counts every revision in every bucket, as the store's own tools do. */
export type SnapshotContent = {
  readonly hash: number;
  readonly revision: number;
  readonly total_key: number;
  readonly total_size: number;
};

const headerBytes = 16;
const elementBytes = 16;
const BRANCH = 0x01;
const LEAF = 0x02;
const magic = 0xed0cdaed;

const damaged = (why: string): AppError =>
  new AppError('no', `the snapshot cannot be read: ${why}`, { code: 'SNAPSHOT_DAMAGED' });

type Meta = {
  readonly pageSize: number;
  readonly root: number;
  readonly txid: bigint;
  readonly pages: number;
};
const metaAt = (file: Buffer, at: number): Meta | undefined => {
  if (file.length < at + 80 || file.readUInt32LE(at + headerBytes) !== magic) return undefined;
  const base = at + headerBytes;
  const number = (offset: number): number => Number(file.readBigUInt64LE(base + offset));
  return {
    pageSize: file.readUInt32LE(base + 8),
    root: number(16),
    pages: number(40),
    txid: file.readBigUInt64LE(base + 48),
  };
};

/** The newer of the two meta pages; the second one lies one page further, whatever a page is there. */
const metaOf = (file: Buffer): Meta => {
  const first = metaAt(file, 0);
  const sizes = first === undefined ? [4096, 8192, 16384, 65536] : [first.pageSize];
  const second = sizes.map((size) => metaAt(file, size)).find((meta) => meta !== undefined);
  const both = [first, second]
    .filter((meta) => meta !== undefined)
    .sort((a, b) => (a.txid > b.txid ? -1 : 1));
  if (both[0] === undefined) throw damaged('it has no header of a database');
  return both[0];
};

type Entry = { readonly key: Buffer; readonly value: Buffer };

/** Every entry below a page, in key order. */
function* entries(file: Buffer, page: Buffer, pageSize: number): Generator<Entry> {
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
    } else throw damaged('a page is neither branch nor leaf');
  }
}

const pageAt = (file: Buffer, id: number, pageSize: number): Buffer => {
  const from = id * pageSize;
  if (from + headerBytes > file.length) throw damaged(`page ${id} lies behind its end`);
  return file.subarray(from, from + (file.readUInt32LE(from + 12) + 1) * pageSize);
};

/** A bucket's value holds the number of its root page, or, when it is small, the page itself. */
const rootOf = (file: Buffer, bucket: Buffer, pageSize: number): Buffer => {
  const root = Number(bucket.readBigUInt64LE(0));
  return root === 0 ? bucket.subarray(16) : pageAt(file, root, pageSize);
};

const castagnoli = new Uint32Array(256).map((_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value >>> 0;
});
const crc = (bytes: Buffer, before: number): number => {
  let value = before ^ -1;
  for (let i = 0; i < bytes.length; i += 1)
    value = (value >>> 8) ^ (castagnoli[(value ^ (bytes[i] as number)) & 0xff] as number);
  return (value ^ -1) >>> 0;
};

/** The records of one bucket in key order; nothing when the file has no such bucket. */
export function* bucketRecords(file: Buffer, name: string): Generator<Entry> {
  const meta = metaOf(file);
  for (const bucket of entries(file, pageAt(file, meta.root, meta.pageSize), meta.pageSize)) {
    if (bucket.key.toString() === name)
      yield* entries(file, rootOf(file, bucket.value, meta.pageSize), meta.pageSize);
  }
}

/** Reads a verified snapshot file without the store's own program. `file` is the whole file with its trailer. */
export const snapshotContent = (file: Buffer): SnapshotContent => {
  const meta = metaOf(file);
  let [hash, revision, totalKey] = [0, 0, 0];
  for (const bucket of entries(file, pageAt(file, meta.root, meta.pageSize), meta.pageSize)) {
    hash = crc(bucket.key, hash);
    const isKeys = bucket.key.toString() === 'key';
    for (const { key, value } of entries(file, rootOf(file, bucket.value, meta.pageSize), meta.pageSize)) {
      hash = crc(value, crc(key, hash));
      totalKey += 1;
      if (isKeys && key.length >= 8) revision = Number(key.readBigUInt64BE(0));
    }
  }
  return { hash, revision, total_key: totalKey, total_size: file.length - (file.length % 512) };
};
