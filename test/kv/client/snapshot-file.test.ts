import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type PageSource,
  type Reading,
  readContent,
  readKeys,
  readStoredValue,
  snapshotContent,
  snapshotRevision,
} from '../../../src/kv/client/snapshot-content.ts';
import {
  hashWithoutChecksum,
  readSnapshot,
  verifySnapshot,
  withSnapshot,
} from '../../../src/kv/client/snapshot.ts';
import { dbFile } from '../../../src/etcd-sim/disk/db-file.ts';
import { nodeFiles } from '../../../src/platform/node/files.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { covers } from '../../support/covers.ts';
import { errorWith } from '../../support/facts.ts';
import { makeDirectory } from '../../support/directory.ts';

let directory: string;
beforeEach(() => {
  directory = makeDirectory();
});

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
it.each(['no header', 'bytes after the last page', 'no checksum'])(
  'a huge file with %s is refused before its content is read',
  async (kind) => {
    const path = join(directory, 'huge.db');
    writeFileSync(path, kind === 'no header' ? '' : dbFile({ key: [], meta: [] }));
    truncateSync(path, 2 ** 40 + (kind === 'bytes after the last page' ? 32 : 0));
    const stream = (): never => {
      throw new Error('read the content');
    };
    const host = { ...fakeHost({}), files: { ...nodeFiles, stream } };
    await expect(verifySnapshot(host, path)).rejects.toMatchObject({
      category: 'no',
      detail: { code: kind === 'no checksum' ? 'SNAPSHOT_NO_CHECKSUM' : 'SNAPSHOT_DAMAGED' },
    });
  },
);
it('a missing file is named', () => {
  expect(() => withSnapshot(nodeFiles, join(directory, 'none.db'), snapshotRevision)).toThrow(
    errorWith('NO_SNAPSHOT', 'snapshot'),
  );
});
describe('a snapshot that takes long to read', () => {
  const pathOf = (count: number): string => {
    const path = join(directory, 'slow.db');
    const rows = Array.from({ length: count }, (_, i) => ({
      key: key(i + 2),
      value: Buffer.from([10, 1, 97]),
    }));
    writeFileSync(path, dbFile({ key: rows, meta: [] }));
    return path;
  };
  /** Each look at the time costs a second, and the host counts the pauses. */
  const slowHost = (onTurn: (turns: number) => void = () => {}) => {
    let [now, turns] = [0, 0];
    return {
      files: nodeFiles,
      elapsed: () => {
        now += 1000;
        return now;
      },
      turn: async () => {
        turns += 1;
        onTurn(turns);
      },
    };
  };
  it.each([
    ['its summary', readContent],
    ['its keys', readKeys],
    ['one key', (file: PageSource) => readStoredValue(file, 'opsctl/hold')],
  ] satisfies [string, (file: PageSource) => Reading<unknown>][])(
    'lets signals arrive while opsctl reads %s',
    async (_, read) => {
      const path = pathOf(500);
      const turns: number[] = [];
      await readSnapshot<unknown>(
        slowHost((count) => turns.push(count)),
        path,
        read,
      );
      expect(turns.length).toBeGreaterThan(20);
      const interrupt = new AbortController();
      const host = slowHost((count) => {
        if (count === 3) interrupt.abort(new Error('interrupted'));
        if (count > 3) throw new Error('read on after the signal');
      });
      await expect(readSnapshot<unknown>(host, path, read, interrupt.signal)).rejects.toThrow('interrupted');
    },
  );
  it.each([
    ['verifies', verifySnapshot],
    ['hashes', hashWithoutChecksum],
  ])('lets a signal end the command while opsctl %s the whole file', async (_, hash) => {
    const host = fakeHost({ files: { '/s.db': 'x'.repeat(512 + 32) } });
    const interrupt = new AbortController();
    const stream = async function* () {
      yield Buffer.alloc(512);
      interrupt.abort(new Error('interrupted'));
      yield Buffer.alloc(512);
      throw new Error('read on after the signal');
    };
    const files = { ...host.files, stream };
    await expect(hash({ ...host, files }, '/s.db', interrupt.signal)).rejects.toThrow('interrupted');
  });
  it('is read once, record by record: the number of reads grows with the size', async () => {
    const reads = async (count: number): Promise<number> => {
      const path = pathOf(count);
      let calls = 0;
      const openParts: typeof nodeFiles.openParts = (one) => {
        const parts = nodeFiles.openParts(one);
        return parts === undefined
          ? undefined
          : {
              ...parts,
              read: (from, length) => {
                calls += 1;
                return parts.read(from, length);
              },
            };
      };
      const host = { ...slowHost(), files: { ...nodeFiles, openParts } };
      await readSnapshot(host, path, (file) => readStoredValue(file, 'opsctl/hold'));
      return calls;
    };
    const [small, large] = [await reads(500), await reads(4000)];
    expect(large).toBeLessThan(9 * small);
  });
});
