import { describe, expect, it } from 'vitest';
import { classify, withoutTokens } from '../../../src/kv-upgrade/watch/log-lines.ts';
import { newLines } from '../../../src/kv-upgrade/watch/log-watch.ts';

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
  ])('expected: %s', (line) => {
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
  ])('not expected: %s', (line) => {
    expect(classify(line)).toMatchObject({ expected: false });
  });
  it('a token in a line is not passed on', () => {
    expect(withoutTokens('W | auth: invalid auth token: JeIYzKKJamyGOPVF.40')).toBe(
      'W | auth: invalid auth token: ***',
    );
    expect(
      withoutTokens('request "authenticate:<name:root simple_token:TQeQNeMMJFHjNYFB>" took too long'),
    ).toBe('request "authenticate:<name:root simple_token:***>" took too long');
    expect(withoutTokens('I | raft: became leader')).toBe('I | raft: became leader');
  });
  it('a chatty line is no news', () => {
    expect(classify('2026-01-01 00:00:00.0 I | something nobody has seen')).toBeUndefined();
  });
  it('new lines are those after the last that was seen', () => {
    expect(newLines(['b'], ['a', 'b', 'c', 'd'])).toEqual(['c', 'd']);
    expect(newLines([], ['a'])).toEqual(['a']);
    expect(newLines(['x'], ['a', 'b'])).toEqual(['a', 'b']);
    expect(newLines(['b'], ['a', 'b'])).toEqual([]);
  });
});
