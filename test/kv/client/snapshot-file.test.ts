import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { snapshotContent, snapshotRevision } from '../../../src/kv/client/snapshot-content.ts';
import { withSnapshot } from '../../../src/kv/client/snapshot.ts';
import { dbFile } from '../../../src/etcd-sim/disk/db-file.ts';
import { nodeFiles } from '../../../src/platform/node/files.ts';
import { covers } from '../../support/covers.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'snapshot-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const key = (n: number): Buffer => {
  const bytes = Buffer.alloc(17);
  bytes.writeBigUInt64BE(BigInt(n), 0);
  return bytes;
};
// A buffer cannot exceed 2 GiB, so a whole large file does not fit into one buffer.
it('a snapshot of nine gigabytes is read page by page', covers('defect/U-10'), () => {
  const path = join(directory, 'large.db');
  const rows = Array.from({ length: 500 }, (_, i) => ({ key: key(i + 2), value: Buffer.from(`value ${i}`) }));
  writeFileSync(path, dbFile({ key: rows, meta: [] }));
  truncateSync(path, 9 * 1024 ** 3);
  expect(withSnapshot(nodeFiles, path, snapshotRevision)).toBe(501);
  expect(withSnapshot(nodeFiles, path, snapshotContent)).toMatchObject({
    revision: 501,
    total_key: 500,
    total_size: 9 * 1024 ** 3,
  });
});
it('a missing file is named', () => {
  expect(() => withSnapshot(nodeFiles, join(directory, 'none.db'), snapshotRevision)).toThrow(
    /snapshot file not found/,
  );
});
