import { describe, expect, it } from 'vitest';
import { identifyFile } from '../../../src/kv/client/snapshot.ts';

const database = Buffer.alloc(20);
database.writeUInt32LE(0xed0cdaed, 16);

describe('a file that is not a snapshot with its checksum', () => {
  it.each<[string, Buffer, number, string | undefined]>([
    ['an empty file', Buffer.alloc(0), 0, 'SNAPSHOT_EMPTY'],
    ['gzip', Buffer.from([0x1f, 0x8b, 8, 0]), 1000, 'SNAPSHOT_COMPRESSED'],
    ['gzip of the size of a snapshot', Buffer.from([0x1f, 0x8b, 8, 0]), 544, 'SNAPSHOT_COMPRESSED'],
    ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), 1000, 'SNAPSHOT_COMPRESSED'],
    ['a copied db file', database, 4096 * 5, 'SNAPSHOT_NO_CHECKSUM'],
    ['a truncated snapshot', database, 4096 * 5 + 7, 'SNAPSHOT_TRUNCATED'],
    ['another file', Buffer.from('x'.repeat(20)), 100, 'SNAPSHOT_DAMAGED'],
    ['a snapshot', database, 4096 * 5 + 32, undefined],
  ])('the file is identified: %s', (_, head, size, code) => {
    expect(identifyFile(head, size)?.code).toBe(code);
  });
  it('gets a hint that does not need a running cluster', () => {
    expect(identifyFile(Buffer.from([0x1f, 0x8b]), 9)?.tryThis[0]).toContain('gzip -dc');
    expect(identifyFile(database, 4096)?.tryThis[0]).toRead('--skip-hash-check');
  });
});
