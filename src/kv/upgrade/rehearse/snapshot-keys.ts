import { AppError } from '../../../core/problem.ts';
import type { PageSource } from '../../client/snapshot-content.ts';
import { bucketRecords } from '../../client/snapshot-content.ts';

/** A key as it stood in a snapshot. `key` has one character a byte, `value` is base64. */
export type SnapshotKey = {
  readonly key: string;
  readonly value: string;
  readonly create: number;
  readonly mod: number;
  readonly version: number;
};
export type SnapshotKeys = { readonly revision: number; readonly keys: readonly SnapshotKey[] };

/** Fields of a protobuf message: numbers and byte strings by field number. Pure. */
const protoFields = (bytes: Buffer): Map<number, bigint | Buffer> => {
  const found = new Map<number, bigint | Buffer>();
  let at = 0;
  const varint = (): bigint => {
    let [value, shift] = [0n, 0n];
    for (;;) {
      const byte = bytes[at] ?? 0;
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      shift += 7n;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    if ((tag & 7) === 0) found.set(tag >> 3, varint());
    else if ((tag & 7) === 2) {
      const size = Number(varint());
      found.set(tag >> 3, bytes.subarray(at, at + size));
      at += size;
    } else
      throw new AppError('no', `the snapshot cannot be read: a record has a field of kind ${tag & 7}`, {
        code: 'SNAPSHOT_DAMAGED',
      });
  }
  return found;
};

const MARK_OF_DELETION = 18;
const bytesOf = (value: bigint | Buffer | undefined): Buffer =>
  Buffer.isBuffer(value) ? value : Buffer.alloc(0);

/** Every key that is alive in a snapshot file, with its newest value. Records come in the order of their revisions. Pure. */
export const snapshotKeys = (file: PageSource): SnapshotKeys => {
  const alive = new Map<string, SnapshotKey>();
  let revision = 1;
  for (const { key: at, value } of bucketRecords(file, 'key')) {
    revision = Number(at.readBigUInt64BE(0));
    const fields = protoFields(value);
    const key = bytesOf(fields.get(1)).toString('latin1');
    const number = (field: number): number => Number(fields.get(field) ?? 0);
    if (at.length === MARK_OF_DELETION) alive.delete(key);
    else
      alive.set(key, {
        key,
        value: bytesOf(fields.get(5)).toString('base64'),
        create: number(2),
        mod: number(3),
        version: number(4),
      });
  }
  return { revision, keys: [...alive.values()] };
};
