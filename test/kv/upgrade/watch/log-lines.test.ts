import { describe, expect, it } from 'vitest';
import {
  classify,
  hintsForReason,
  newLines,
  withoutTokens,
} from '../../../../src/kv/upgrade/watch/log-lines.ts';
import { covers } from '../../../support/covers.ts';

describe('lines of a member during an upgrade', () => {
  it.each([
    '2026-01-01 00:00:00.0 W | rafthttp: lost the TCP streaming connection with peer 200c8233d25da94e (stream Message reader)',
    '2026-01-01 00:00:00.0 E | rafthttp: failed to dial 200c8233d25da94e on stream MsgApp v2 (dial tcp 127.0.0.1:2380: connection refused)',
    '2026-01-01 00:00:00.0 I | rafthttp: peer 200c8233d25da94e became inactive',
    '2026-01-01 00:00:00.0 E | rafthttp: failed to write 200c8233d25da94e on stream MsgApp v2 (write tcp 127.0.0.1:2380->127.0.0.1:5: write: broken pipe)',
    '2026-01-01 00:00:00.0 W | etcdserver: the local etcd version 3.2.32 is not up-to-date',
    '2026-01-01 00:00:00.0 W | etcdserver: member 200c8233d25da94e has a higher version 3.3.27',
    '2026-01-01 00:00:00.0 N | etcdserver: updating the cluster version from 3.2 to 3.3',
    '2026-01-01 00:00:00.0 I | etcdserver/api: enabled capabilities for version 3.3',
    '2026-01-01 00:00:00.0 I | etcdserver: restarting member 387034d4bbb9e811 in cluster a4be660caa3c9071 at commit index 161',
    '2026-01-01 00:00:00.0 W | rafthttp: failed to process raft message (raft: stopped)',
    '2026-01-01 00:00:00.0 W | rafthttp: failed to process raft message (context canceled)',
    '2026-01-01 00:00:00.0 W | auth: invalid auth token: JeIYzKKJamyGOPVF.40',
    '{"level":"warn","msg":"prober detected unhealthy status"}',
    '2026-01-01 00:00:00.0 I | raft: 387034d4bbb9e811 is starting a new election at term 2',
    '{"level":"warn","caller":"embed/config.go:689","msg":"Running http and grpc server on single port. This is not recommended for production."}',
    '{"level":"warn","caller":"rafthttp/http.go:413","msg":"failed to find remote peer in cluster","local-member-id":"fb5e1f8c4dfb93c9"}',
    '{"level":"warn","caller":"v3rpc/interceptor.go:197","msg":"request stats","time spent":"2.014030116s"}',
    '2026-01-01 00:00:00.0 I | embed: rejected connection from "127.0.0.1:39760" (error "EOF", ServerName "")',
  ])('expected: %s', covers('spec/store#measured-upgrade-4'), (line) => {
    expect(classify(line)).toMatchObject({ expected: true });
  });
  it.each([
    '2026-01-01 00:00:00.0 C | membership: cluster cannot be downgraded (current version: 3.2.32 is lower than determined cluster version: 3.3).',
    'panic: runtime error: index out of range',
    '2026-01-01 00:00:00.0 I | wal: open /var/lib/etcd/member/wal: permission denied',
    '2026-01-01 00:00:00.0 I | wal: write /var/lib/etcd/member/wal/0.wal: no space left on device',
    '2026-01-01 00:00:00.0 I | etcdserver: data inconsistency found for all members',
    '2026-01-01 00:00:00.0 I | rafthttp: request cluster ID mismatch (got 1 want 2)',
    '2026-01-01 00:00:00.0 E | etcdmain: error verifying flags, unsupported compaction mode',
    'listen tcp 127.0.0.1:2379: bind: address already in use',
    '2026-01-01 00:00:00.0 I | embed: rejected connection from "127.0.0.1:39760" (error "remote error: tls: bad certificate", ServerName "")',
    '2026-01-01 00:00:00.0 I | etcdserver: starting member 387034d4bbb9e811 in cluster a4be660caa3c9071',
    '2026-01-01 00:00:00.0 C | something nobody has seen',
    '{"level":"error","msg":"something nobody has seen"}',
    '2026-01-01T00:00:00.000Z\terror\tetcdserver/x.go:1\tsomething nobody has seen\t{"a": "b"}',
  ])('a line is not expected: %s', covers('spec/store#measured-upgrade-3'), (line) => {
    expect(classify(line)).toMatchObject({ expected: false });
  });
  it('a token in a line is removed', () => {
    expect(withoutTokens('W | auth: invalid auth token: JeIYzKKJamyGOPVF.40')).toBe(
      'W | auth: invalid auth token: ***',
    );
    expect(
      withoutTokens('request "authenticate:<name:root simple_token:TQeQNeMMJFHjNYFB>" took too long'),
    ).toBe('request "authenticate:<name:root simple_token:***>" took too long');
    expect(withoutTokens('I | raft: became leader')).toBe('I | raft: became leader');
  });
  it('a frequent line is not reported', () => {
    expect(classify('2026-01-01 00:00:00.0 I | something nobody has seen')).toBeUndefined();
  });
  it('a line that was written twice is seen up to its last copy', () => {
    expect(newLines(['a'], ['a', 'b', 'a', 'c'])).toEqual(['c']);
    expect(newLines(['x', 'a'], ['a', 'b'])).toEqual(['b']);
  });
  it('new lines are those after the last that was seen', () => {
    expect(newLines(['b'], ['a', 'b', 'c', 'd'])).toEqual(['c', 'd']);
    expect(newLines([], ['a'])).toEqual(['a']);
    expect(newLines(['x'], ['a', 'b'])).toEqual(['a', 'b']);
    expect(newLines(['b'], ['a', 'b'])).toEqual([]);
  });
  it.each([
    ['cluster cannot be downgraded', 'this version is older than the cluster: it will not start again'],
    [
      'detected disallowed v2 WAL for stage --v2-deprecation=write-only',
      'the log of the member contains v2 requests, and 3.6 does not start with them',
    ],
    ['illegal v2store content', 'the data directory contains v2 data, and 3.6 does not start with it'],
    ['failed to recover v3 backend from snapshot', 'the server panicked'],
    ['flag provided but not defined: -x', 'this version does not understand its configuration'],
    ['removed all voters', 'the membership records are wrong'],
    ['Cannot downgrade from 3.6', 'a member was replaced before the cluster was ready to downgrade'],
    ['unrecognized feature gate: X', 'this version does not understand its configuration'],
    ['walpb: crc mismatch', 'the data directory belongs to another member'],
    ['bind: address already in use', 'another process has its port'],
    ['alarm raised NOSPACE', 'no space'],
    ['read-only file system', 'the data directory is not writable'],
    ['hash of the members mismatch', 'the members have different data'],
    ['the member has been permanently removed from the cluster', 'not a member of this cluster'],
    ['starting member 1 in cluster 2', 'the member started without its data'],
    ['x509: certificate has expired', 'a certificate is refused'],
    ['the clock difference against peer 1 is too high', 'clocks differ'],
  ])(
    'a cause is never expected: %s',
    covers('spec/store#measured-upgrade-3', 'spec/store#measured-later-4'),
    (line, meaning) => {
      expect(classify(line)).toEqual({ expected: false, meaning });
      // Additional text after the match is irrelevant.
      expect(classify(`${line}; connection refused`)).toEqual({ expected: false, meaning });
    },
  );
  it.each([
    ['apply request took too long', 'the machine is slow'],
    ['lost TCP streaming', 'a member is away'],
    ['peer 1 became active', 'a connection between members'],
    ['elected leader 1 at term 2', 'an election'],
    ['invalid auth token: x', 'a token became invalid when the previous process exited'],
    ['leader found higher-versioned member', 'a member has a higher version'],
    ['updated the cluster version from 3.4 to 3.5', "the cluster's version"],
    ['ready to serve client requests', 'the life of a server'],
  ])('a line that belongs to a replacement is expected, including an error: %s', (line, meaning) => {
    expect(classify(line)).toEqual({ expected: true, meaning });
    expect(classify(`{"level":"error","msg":"${line}"}`)).toEqual({ expected: true, meaning });
  });
  it.each([
    ['{"level":"fatal","msg":"x"}', { expected: false }],
    ['{"level":"warn","msg":"x"}', { expected: false }],
    ['2026-01-01T00:00:00.000Z\twarn\tetcdserver/x.go:1\tx', { expected: false }],
    ['2026-01-01T00:00:00.000Z\tinfo\tetcdserver/x.go:1\tx', undefined],
    ['2026-01-01 00:00:00 E | x', { expected: false }],
    ['{"level":"info","msg":"x"}', undefined],
    ['x', undefined],
  ])('an unknown line counts by its level: %s', (line, expected) => {
    expect(classify(line)).toEqual(expected);
  });
  it('a known cause may have a cure', () => {
    expect(hintsForReason('n2 did not start (the end of its log: detected disallowed v2 WAL)')).toEqual([
      expect.stringContaining('--snapshot-count=1'),
    ]);
    expect(hintsForReason('panic: x')).toEqual([]);
    expect(hintsForReason('no reason that anybody knows')).toEqual([]);
  });
});
