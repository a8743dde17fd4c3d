import { describe, expect, it } from 'vitest';
import { classify } from '../../src/upgrade/log-lines.ts';

const at = '2026-03-31 12:30:01.045123';
/** facts kv A5: what members log while one after the other is replaced; in the words of both products. */
describe('lines that belong to an upgrade', () => {
  it.each([
    [`${at} W | rafthttp: lost the TCP streaming connection with peer 8e9e05c52164694d (stream Message reader)`, 'a member is away'],
    [
      `${at} E | rafthttp: failed to dial 8e9e05c52164694d on stream Message (dial tcp 127.0.0.1:2380: connect: connection refused)`,
      'a member is away',
    ],
    [`${at} I | rafthttp: peer 8e9e05c52164694d became inactive`, 'a member is away'],
    [`${at} I | rafthttp: peer 8e9e05c52164694d became active`, 'a connection between members'],
    [`${at} I | rafthttp: established a TCP streaming connection with peer 8e9e05c52164694d (stream Message writer)`, 'a connection between members'],
    [`${at} I | etcdserver: starts leadership transfer from 8e9e05c52164694d to fd422379fda50e48`, 'an election'],
    [`${at} I | etcdserver: finished leadership transfer from 8e9e05c52164694d to fd422379fda50e48 (took 100.588259ms)`, 'an election'],
    [`${at} I | kvserver: skipped leadership transfer for stopping non-leader member`, undefined],
    [`${at} I | raft: raft.node: 8e9e05c52164694d changed leader from a to b at term 3`, 'an election'],
    [`${at} W | etcdserver: the local etcd version 3.2.32 is not up-to-date`, 'a member has a higher version'],
    [`${at} W | kvserver: the local kv version 3.2.32 is not up-to-date`, 'a member has a higher version'],
    [`${at} W | etcdserver: member 8e9e05c52164694d has a higher version 3.3.27`, 'a member has a higher version'],
    [`${at} N | etcdserver/membership: set the initial cluster version to 3.2`, "the cluster's version"],
    [`${at} I | etcdserver: updating the cluster version from 3.2 to 3.3`, "the cluster's version"],
    [`${at} N | kvserver/membership: updated the cluster version from 3.2 to 3.3`, "the cluster's version"],
    [`${at} I | etcdserver/api: enabled capabilities for version 3.3`, "the cluster's version"],
    [`${at} I | etcdmain: etcd Version: 3.3.27`, undefined],
    [`${at} N | etcdmain: the server is already initialized as member before, starting as etcd member...`, undefined],
    [`${at} I | etcdserver: restarting member 8e9e05c52164694d in cluster cdf818194e3a8c32 at commit index 25`, undefined],
    [`${at} I | etcdserver: published {Name:n2 ClientURLs:[http://127.0.0.1:2379]} to cluster cdf818194e3a8c32`, undefined],
    [`${at} I | embed: ready to serve client requests`, undefined],
    [`${at} I | etcdserver/api/etcdhttp: /health OK (status code 200)`, undefined],
    [`${at} N | pkg/osutil: received terminated signal, shutting down...`, undefined],
    [
      '{"level":"warn","ts":"2026-03-31T12:30:01.045Z","caller":"rafthttp/stream.go:682","msg":"lost TCP streaming connection with remote peer"}',
      'a member is away',
    ],
    [
      '{"level":"info","ts":"2026-03-31T12:30:01.045Z","caller":"etcdserver/server.go:2593","msg":"updating cluster version","from":"3.4","to":"3.5"}',
      "the cluster's version",
    ],
  ])('%s', (line, meaning) => {
    const found = classify(line);
    expect(found?.expected ?? true).toBe(true);
    if (meaning !== undefined) expect(found?.meaning).toBe(meaning);
  });
});

describe('lines that must be seen', () => {
  it.each([
    [
      `${at} C | membership: cluster cannot be downgraded (current version: 3.2.32 is lower than determined cluster version: 3.3).`,
      /will not start again/,
    ],
    [
      `${at} C | etcdmain: error unmarshaling JSON: json: cannot unmarshal number into Go struct field configYAML.auto-compaction-retention of type string`,
      /configuration/,
    ],
    ['flag provided but not defined: -auto-compaction-mode', /configuration/],
    [`${at} C | etcdmain: listen tcp 127.0.0.1:2380: bind: address already in use`, /port/],
    [`${at} C | etcdmain: cannot write to data directory: open .touch: permission denied`, /cannot be written/],
    [`${at} W | etcdserver: alarm NOSPACE raised by peer 8e9e05c52164694d`, /no space/],
    [`${at} I | etcdserver: starting member 8e9e05c52164694d in cluster cdf818194e3a8c32`, /without its data/],
    ["panic: recovering backend from snapshot error: database snapshot file path error: snap: snapshot file doesn't exist", /panicked/],
    [`${at} E | rafthttp: request cluster ID mismatch (got a want b)`, /not a member/],
    [`${at} C | etcdmain: member 8e9e05c52164694d has already been bootstrapped`, undefined],
    [`${at} E | etcdserver: something nobody has ever seen`, undefined],
    ['{"level":"error","ts":"x","msg":"something nobody has ever seen"}', undefined],
  ])('%s', (line, meaning) => {
    const found = classify(line);
    expect(found?.expected).toBe(false);
    if (meaning !== undefined) expect(found?.meaning).toMatch(meaning);
  });
});

it('a line below a warning that nobody knows is no news', () => {
  expect(classify(`${at} I | etcdserver: heartbeat = 100ms`)).toBeUndefined();
  expect(classify('')).toBeUndefined();
});
