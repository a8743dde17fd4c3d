import { describe, expect, it } from 'vitest';
import { compareHashes } from '../../../../src/kv/upgrade/observe/observe.ts';
import type { MemberHash } from '../../../../src/kv/engine/model.ts';

/** `3.3:a:-1` means version, hash and compaction. The names are n1, n2, … */
const rows = (...texts: string[]): MemberHash[] =>
  texts.map((text, at) => {
    const [server, hash, compacted] = text.split(':') as [string, string, string];
    return {
      name: `n${at + 1}`,
      server: `${server}.${at}`,
      hash: Number.parseInt(hash, 16),
      compact_revision: Number(compacted),
    };
  });

describe('hashes of members', () => {
  it.each<[string, MemberHash[], object]>([
    ['equal, never compacted', rows('3.3:a:-1', '3.4:a:-1', '3.4:a:0'), { kind: 'same' }],
    ['equal after a compaction, on different versions', rows('3.3:a:7', '3.4:a:7'), { kind: 'same' }],
    ['one member', rows('3.3:a:7'), { kind: 'same' }],
    ['nobody', [], { kind: 'same' }],
    ['asked before and after a compaction', rows('3.4:a:7', '3.4:b:9'), { kind: 'moving' }],
    ['asked before and after the first compaction', rows('3.4:a:-1', '3.4:a:1'), { kind: 'moving' }],
    ['different after a compaction at 1', rows('3.3:a:1', '3.4:b:1'), { kind: 'unproved' }],
    ['different, compacted at 0', rows('3.3:a:0', '3.4:b:0'), { kind: 'different', odd: [] }],
    [
      'different without a compaction: whatever the versions are',
      rows('3.3:a:-1', '3.4:b:0'),
      { kind: 'different', odd: [] },
    ],
    ['one of three', rows('3.3:a:-1', '3.4:b:-1', '3.3:a:-1'), { kind: 'different', odd: ['n2'] }],
    [
      'different after a compaction, each minor for itself equal',
      rows('3.3:a:7', '3.4:b:7', '3.3:a:7'),
      { kind: 'unproved' },
    ],
    [
      'different after a compaction within a minor',
      rows('3.4:a:7', '3.4:b:7', '3.4:a:7'),
      { kind: 'different', odd: ['n2'] },
    ],
    ['the same in a mixed cluster', rows('3.3:a:7', '3.4:b:7', '3.3:c:7'), { kind: 'different', odd: [] }],
    ['two against two', rows('3.3:a:-1', '3.3:b:-1', '3.3:a:-1', '3.3:b:-1'), { kind: 'different', odd: [] }],
  ])('%s', (_, members, expected) => {
    expect(compareHashes(members)).toMatchObject(expected);
  });
  it('a difference names members, versions and hashes', () => {
    expect(compareHashes(rows('3.3:a:-1', '3.4:fedc1234:-1'))).toMatchObject({
      detail: 'n1 (3.3.0) 0000000a, n2 (3.4.1) fedc1234',
    });
  });
});
