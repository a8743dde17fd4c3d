import type { Shape } from '../../core/protobuf.ts';

/** A call of the store's own interface; its messages as rpc.proto numbers them (spec/store#interfaces). */
export type EtcdMethod = {
  /** First version that has it. */
  readonly since: string;
  /** The path of the gateway that does the same. */
  readonly path: string;
  readonly request: Shape;
  readonly response: Shape;
};
const header = [
  1,
  {
    shape: {
      cluster_id: [1, 'uint64'],
      member_id: [2, 'uint64'],
      revision: [3, 'int64'],
      raft_term: [4, 'uint64'],
    },
  },
] as const;
const onlyHeader: Shape = { header };
const keyValue: Shape = {
  key: [1, 'bytes'],
  create_revision: [2, 'int64'],
  mod_revision: [3, 'int64'],
  version: [4, 'int64'],
  value: [5, 'bytes'],
  lease: [6, 'int64'],
};
const range: Shape = {
  key: [1, 'bytes'],
  range_end: [2, 'bytes'],
  limit: [3, 'int64'],
  revision: [4, 'int64'],
  sort_order: [5, ['NONE', 'ASCEND', 'DESCEND']],
  sort_target: [6, ['KEY', 'VERSION', 'CREATE', 'MOD', 'VALUE']],
  serializable: [7, 'flag'],
  keys_only: [8, 'flag'],
  count_only: [9, 'flag'],
  min_mod_revision: [10, 'int64'],
  max_mod_revision: [11, 'int64'],
  min_create_revision: [12, 'int64'],
  max_create_revision: [13, 'int64'],
};
const ranged: Shape = {
  header,
  kvs: [2, { shape: keyValue }, 'many'],
  more: [3, 'flag'],
  count: [4, 'int64'],
};
const put: Shape = {
  key: [1, 'bytes'],
  value: [2, 'bytes'],
  lease: [3, 'int64'],
  prev_kv: [4, 'flag'],
  ignore_value: [5, 'flag'],
  ignore_lease: [6, 'flag'],
};
const written: Shape = { header, prev_kv: [2, { shape: keyValue }] };
const remove: Shape = { key: [1, 'bytes'], range_end: [2, 'bytes'], prev_kv: [3, 'flag'] };
const removed: Shape = { header, deleted: [2, 'int64'], prev_kvs: [3, { shape: keyValue }, 'many'] };
const compare: Shape = {
  result: [1, ['EQUAL', 'GREATER', 'LESS', 'NOT_EQUAL']],
  target: [2, ['VERSION', 'CREATE', 'MOD', 'VALUE', 'LEASE']],
  key: [3, 'bytes'],
  version: [4, 'int64'],
  create_revision: [5, 'int64'],
  mod_revision: [6, 'int64'],
  value: [7, 'bytes'],
  lease: [8, 'int64'],
  range_end: [64, 'bytes'],
};
/** A transaction may hold transactions, so their shapes name each other: read when they are used. */
const txn: Shape = {
  compare: [1, { shape: compare }, 'many'],
  get success() {
    return [2, { shape: operation }, 'many'] as const;
  },
  get failure() {
    return [3, { shape: operation }, 'many'] as const;
  },
};
const operation: Shape = {
  request_range: [1, { shape: range }],
  request_put: [2, { shape: put }],
  request_delete_range: [3, { shape: remove }],
  request_txn: [4, { shape: txn }],
};
const transacted: Shape = {
  header,
  succeeded: [2, 'flag'],
  get responses() {
    return [3, { shape: outcome }, 'many'] as const;
  },
};
const outcome: Shape = {
  response_range: [1, { shape: ranged }],
  response_put: [2, { shape: written }],
  response_delete_range: [3, { shape: removed }],
  response_txn: [4, { shape: transacted }],
};
const member: Shape = {
  ID: [1, 'uint64'],
  name: [2, 'text'],
  peerURLs: [3, 'text', 'many'],
  clientURLs: [4, 'text', 'many'],
  isLearner: [5, 'flag'],
};
const members: Shape = { header, members: [2, { shape: member }, 'many'] };
const alarms = ['NONE', 'NOSPACE', 'CORRUPT'] as const;
const status: Shape = {
  header,
  version: [2, 'text'],
  dbSize: [3, 'int64'],
  leader: [4, 'uint64'],
  raftIndex: [5, 'uint64'],
  raftTerm: [6, 'uint64'],
  raftAppliedIndex: [7, 'uint64'],
  errors: [8, 'text', 'many'],
  dbSizeInUse: [9, 'int64'],
  isLearner: [10, 'flag'],
  storageVersion: [11, 'text'],
  dbSizeQuota: [12, 'int64'],
  downgradeInfo: [13, { shape: { enabled: [1, 'flag'], targetVersion: [2, 'text'] } }],
};
const lease: Shape = { header, ID: [2, 'int64'], TTL: [3, 'int64'], error: [4, 'text'] };
const row = (since: string, path: string, request: Shape, response: Shape): EtcdMethod => ({
  since,
  path,
  request,
  response,
});
/** By package, service and method, as the path of a call names them. Watch is not supported. */
export const etcdMethods: Readonly<Record<string, EtcdMethod>> = {
  '/etcdserverpb.KV/Range': row('3.0', '/kv/range', range, ranged),
  '/etcdserverpb.KV/Put': row('3.0', '/kv/put', put, written),
  '/etcdserverpb.KV/DeleteRange': row('3.0', '/kv/deleterange', remove, removed),
  '/etcdserverpb.KV/Txn': row('3.0', '/kv/txn', txn, transacted),
  '/etcdserverpb.KV/Compact': row(
    '3.0',
    '/kv/compaction',
    { revision: [1, 'int64'], physical: [2, 'flag'] },
    onlyHeader,
  ),
  '/etcdserverpb.Lease/LeaseGrant': row(
    '3.0',
    '/lease/grant',
    { TTL: [1, 'int64'], ID: [2, 'int64'] },
    lease,
  ),
  '/etcdserverpb.Lease/LeaseRevoke': row('3.0', '/kv/lease/revoke', { ID: [1, 'int64'] }, onlyHeader),
  '/etcdserverpb.Lease/LeaseKeepAlive': row('3.0', '/lease/keepalive', { ID: [1, 'int64'] }, lease),
  '/etcdserverpb.Lease/LeaseTimeToLive': row(
    '3.1',
    '/kv/lease/timetolive',
    { ID: [1, 'int64'], keys: [2, 'flag'] },
    { header, ID: [2, 'int64'], TTL: [3, 'int64'], grantedTTL: [4, 'int64'], keys: [5, 'bytes', 'many'] },
  ),
  '/etcdserverpb.Lease/LeaseLeases': row(
    '3.3',
    '/kv/lease/leases',
    {},
    { header, leases: [2, { shape: { ID: [1, 'int64'] } }, 'many'] },
  ),
  '/etcdserverpb.Cluster/MemberList': row(
    '3.0',
    '/cluster/member/list',
    { linearizable: [1, 'flag'] },
    members,
  ),
  '/etcdserverpb.Cluster/MemberAdd': row(
    '3.0',
    '/cluster/member/add',
    { peerURLs: [1, 'text', 'many'], isLearner: [2, 'flag'] },
    { header, member: [2, { shape: member }], members: [3, { shape: member }, 'many'] },
  ),
  '/etcdserverpb.Cluster/MemberRemove': row('3.0', '/cluster/member/remove', { ID: [1, 'uint64'] }, members),
  '/etcdserverpb.Cluster/MemberUpdate': row(
    '3.0',
    '/cluster/member/update',
    { ID: [1, 'uint64'], peerURLs: [2, 'text', 'many'] },
    members,
  ),
  '/etcdserverpb.Cluster/MemberPromote': row(
    '3.4',
    '/cluster/member/promote',
    { ID: [1, 'uint64'] },
    members,
  ),
  '/etcdserverpb.Maintenance/Alarm': row(
    '3.0',
    '/maintenance/alarm',
    {
      action: [1, ['GET', 'ACTIVATE', 'DEACTIVATE']],
      memberID: [2, 'uint64'],
      alarm: [3, alarms],
    },
    { header, alarms: [2, { shape: { memberID: [1, 'uint64'], alarm: [2, alarms] } }, 'many'] },
  ),
  '/etcdserverpb.Maintenance/Status': row('3.0', '/maintenance/status', {}, status),
  '/etcdserverpb.Maintenance/Defragment': row('3.0', '/maintenance/defragment', {}, onlyHeader),
  '/etcdserverpb.Maintenance/Hash': row('3.0', '/maintenance/hash', {}, { header, hash: [2, 'uint64'] }),
  '/etcdserverpb.Maintenance/HashKV': row(
    '3.3',
    '/maintenance/hashkv',
    { revision: [1, 'int64'] },
    { header, hash: [2, 'uint64'], compact_revision: [3, 'int64'], hash_revision: [4, 'int64'] },
  ),
  '/etcdserverpb.Maintenance/Snapshot': row(
    '3.0',
    '/maintenance/snapshot',
    {},
    { header, remaining_bytes: [2, 'uint64'], blob: [3, 'bytes'], version: [4, 'text'] },
  ),
  '/etcdserverpb.Maintenance/MoveLeader': row(
    '3.3',
    '/maintenance/transfer-leadership',
    { targetID: [1, 'uint64'] },
    onlyHeader,
  ),
  '/etcdserverpb.Maintenance/Downgrade': row(
    '3.5',
    '/maintenance/downgrade',
    { action: [1, ['VALIDATE', 'ENABLE', 'CANCEL']], version: [2, 'text'] },
    { header, version: [2, 'text'] },
  ),
  '/etcdserverpb.Auth/AuthEnable': row('3.0', '/auth/enable', {}, onlyHeader),
  '/etcdserverpb.Auth/AuthDisable': row('3.0', '/auth/disable', {}, onlyHeader),
  '/etcdserverpb.Auth/AuthStatus': row(
    '3.5',
    '/auth/status',
    {},
    { header, enabled: [2, 'flag'], authRevision: [3, 'uint64'] },
  ),
  '/etcdserverpb.Auth/Authenticate': row(
    '3.0',
    '/auth/authenticate',
    { name: [1, 'text'], password: [2, 'text'] },
    { header, token: [2, 'text'] },
  ),
  '/etcdserverpb.Auth/UserAdd': row(
    '3.0',
    '/auth/user/add',
    { name: [1, 'text'], password: [2, 'text'] },
    onlyHeader,
  ),
};
