import { describe, expect, it } from 'vitest';
import { readCtlWords } from '../../src/etcd-sim/cluster/ctl.ts';

const words = (...more: string[]) => [
  ...['snapshot', 'restore', '/s.db', '--name', 'n1', '--initial-cluster=n1=http://a,n2=http://b'],
  ...['--initial-cluster-token', 't', '--data-dir', '/d', ...more],
];

describe('the ctl program of a simulated cluster', () => {
  it('reads flags in both forms of the real program', () => {
    expect(
      readCtlWords(words('--skip-hash-check', '--bump-revision', '7', '--mark-compacted'), '3.5.33'),
    ).toEqual({
      ...{ snapshot: '/s.db', name: 'n1', token: 't', dataDir: '/d' },
      peers: [
        { name: 'n1', peerUrl: 'http://a' },
        { name: 'n2', peerUrl: 'http://b' },
      ],
      ...{ skipsHash: true, bumpRevision: 7, marksCompacted: true },
    });
  });
  it.each([
    [
      'a version before 3.5 cannot raise the revisions',
      words('--bump-revision', '7', '--mark-compacted'),
      '3.4.23',
    ],
    ['--bump-revision requires --mark-compacted', words('--bump-revision', '7'), '3.5.33'],
    ['the name is part of the cluster', [...words(), '--name', 'n3'], '3.5.33'],
    ['another command is unknown', ['member', 'list'], '3.5.33'],
  ])('rejects invalid words: %s', (_, given, version) => {
    expect(() => readCtlWords(given, version)).toThrow(expect.objectContaining({ category: 'usage' }));
  });
});
