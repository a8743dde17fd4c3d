import { describe, expect, test } from 'vitest';
import {
  bucketRecords,
  inMemory,
  snapshotContent,
  snapshotRevision,
} from '../../../src/kv/client/snapshot-content.ts';
import { dbFile, trailer } from '../../../src/etcd-sim/disk/db-file.ts';

const item = (key: Uint8Array | string, value: string) => ({
  key: typeof key === 'string' ? Buffer.from(key) : key,
  value: Buffer.from(value),
});
const revision = (n: number): Buffer => {
  const key = Buffer.alloc(17);
  key.writeBigUInt64BE(BigInt(n), 0);
  return key;
};
const file = (keys: number): Buffer => {
  const body = dbFile({
    key: Array.from({ length: keys }, (_, i) => item(revision(i + 2), `value ${i}`)),
    meta: [item('consistent_index', '12345678'), item('term', '1')],
  });
  return Buffer.concat([body, trailer(body)]);
};

test.each([0, 1, 3, 2000])(
  'a snapshot with %i revisions: every record of every bucket is counted once',
  (keys) => {
    const whole = file(keys);
    expect(snapshotContent(inMemory(whole))).toMatchObject({
      revision: keys + 1,
      total_key: keys + 2,
      total_size: whole.length - 32,
    });
    expect(snapshotRevision(inMemory(whole))).toBe(keys + 1);
  },
);

test('the hash depends on every key and value, and not on anything else', () => {
  expect(snapshotContent(inMemory(file(3))).hash).toBe(snapshotContent(inMemory(file(3))).hash);
  expect(snapshotContent(inMemory(file(3))).hash).not.toBe(snapshotContent(inMemory(file(4))).hash);
});

test('records of one bucket are in order; a missing bucket is empty', () => {
  const names = [...bucketRecords(inMemory(file(2)), 'meta')].map(({ key, value }) => `${key}=${value}`);
  expect(names).toEqual(['consistent_index=12345678', 'term=1']);
  expect([...bucketRecords(inMemory(file(2)), 'auth')]).toEqual([]);
});

describe('a damaged file is named as that', () => {
  const page = 4096;
  /** Replaces the root with a branch page whose only element refers to the target page. */
  const leadingTo = (target: number): Buffer => {
    const whole = Buffer.from(file(3));
    const root = Number(whole.readBigUInt64LE(16 + 16)) * page;
    whole.writeUInt16LE(1, root + 8);
    whole.writeUInt16LE(1, root + 10);
    whole.writeBigUInt64LE(BigInt(target), root + 16 + 8);
    return whole;
  };
  const rootOf = (whole: Buffer): number => Number(whole.readBigUInt64LE(16 + 16));
  test.each([
    ['a page that leads to itself', leadingTo(rootOf(file(3)))],
    ['a page far behind the end', leadingTo(2 ** 40)],
    ['cut in the middle', file(3).subarray(0, 3 * page + 100)],
  ])('%s', (_, whole) => {
    for (const read of [snapshotContent, snapshotRevision])
      expect(() => read(inMemory(whole))).toThrow(expect.objectContaining({ category: 'no' }));
  });
});
