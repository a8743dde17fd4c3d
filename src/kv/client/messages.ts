import type { VersionRow } from '../../api-specs/etcd/versions.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import type { DirectCall, Shape } from '../../core/protobuf.ts';
import type { Bytes, HttpReply } from '../../platform/host.ts';
import type { ClusterTls } from './certificates.ts';

export type Credentials = { readonly name: string; readonly password: string };
export type Endpoint = {
  readonly url: string;
  readonly tls?: ClusterTls;
  readonly user?: Credentials;
  /** Time to connect and between two bytes of an answer. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** What the gateway refuses stays refused. */
  readonly isGatewayOnly?: boolean;
  /** spec/store#limits: client send size 2 MiB, receive size the largest 32-bit integer. */
  readonly maxSendBytes?: number;
  readonly maxReceiveBytes?: number;
};
export type Json = Readonly<Record<string, any>>;
/** `storage`: the version of the data, from 3.6 on. */
export type Versions = { readonly server: string; readonly cluster: string; readonly storage?: string };
export type Connection = {
  readonly endpoint: Endpoint;
  /** GET of a plain path: status and text, whatever the status. */
  get(path: string): Promise<{ readonly status: number; readonly text: string }>;
  versions(): Promise<Versions>;
  row(): Promise<VersionRow>;
  /** POST below the gateway's prefix; the answer's JSON, or the store's error. */
  call(path: string | ((row: VersionRow) => string | undefined), body: Json): Promise<Json>;
  stream(path: string, body: Json): Promise<HttpReply>;
  /** A call to the store's own interface, past the gateway; HTTP/2 (default: The message is empty). */
  grpc(method: string, message?: Bytes): Promise<HttpReply>;
  /** The next call logs in again: the token died with the process that gave it. */
  forgetToken(): void;
};

/** 64-bit ids are decimal on the wire and hexadecimal for people. */
export const hexId = (decimal: string): string => BigInt(decimal).toString(16);

/** Ids are hexadecimal for people and decimal, signed 64 bit, on the wire. */
export const decimalLease = (id: string, path = '<lease-id>'): string => {
  if (!/^(0x)?[0-9a-f]{1,16}$/i.test(id))
    throw invalidArguments([
      problem(path, 'format', `must be a hexadecimal id of at most 16 digits; got ${JSON.stringify(id)}`),
    ]);
  return BigInt.asIntN(64, BigInt(`0x${id.replace(/^0x/i, '')}`)).toString();
};
/** An id as people and the store's ctl write it: 16 hexadecimal digits. */
export const hexLease = (decimal: string): string =>
  BigInt.asUintN(64, BigInt(decimal)).toString(16).padStart(16, '0');

/** The key after all keys with this prefix, as bytes: its last byte that can be raised is one higher. Nothing is after all keys: a zero byte alone. */
export const prefixEnd = (prefix: string): Uint8Array => {
  const bytes = Buffer.from(prefix);
  for (let i = bytes.length - 1; i >= 0; i -= 1) {
    const byte = bytes[i] as number;
    if (byte < 0xff) return Buffer.concat([bytes.subarray(0, i), Buffer.from([byte + 1])]);
  }
  return Buffer.of(0);
};

const member: Shape = {
  ID: [1, 'uint64'],
  name: [2, 'text'],
  peerURLs: [3, 'text', 'many'],
  clientURLs: [4, 'text', 'many'],
  isLearner: [5, 'flag'],
};
const members: Shape = { members: [2, { shape: member }, 'many'] };
const byId: Shape = { ID: [1, 'uint64'] };
/** Calls of maintenance and membership, by path, without the version's prefix. */
const operationMessages: Readonly<Record<string, DirectCall>> = {
  '/kv/compaction': {
    method: 'KV/Compact',
    request: { revision: [1, 'int64'], physical: [2, 'flag'] },
    answer: {},
  },
  '/maintenance/defragment': { method: 'Maintenance/Defragment', request: {}, answer: {} },
  '/cluster/member/add': {
    method: 'Cluster/MemberAdd',
    request: { peerURLs: [1, 'text', 'many'], isLearner: [2, 'flag'] },
    answer: { member: [2, { shape: member }] },
  },
  '/cluster/member/remove': {
    method: 'Cluster/MemberRemove',
    request: byId,
    answer: members,
  },
  '/cluster/member/update': {
    method: 'Cluster/MemberUpdate',
    request: { ...byId, peerURLs: [2, 'text', 'many'] },
    answer: members,
  },
  '/cluster/member/promote': {
    method: 'Cluster/MemberPromote',
    request: byId,
    answer: members,
  },
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
const keyValue: Shape = {
  key: [1, 'bytes'],
  create_revision: [2, 'int64'],
  mod_revision: [3, 'int64'],
  version: [4, 'int64'],
  value: [5, 'bytes'],
  lease: [6, 'int64'],
};
const put: Shape = { key: [1, 'bytes'], value: [2, 'bytes'], lease: [3, 'int64'] };
const range: Shape = {
  key: [1, 'bytes'],
  range_end: [2, 'bytes'],
  limit: [3, 'int64'],
  revision: [4, 'int64'],
  serializable: [7, 'flag'],
  keys_only: [8, 'flag'],
};
const compare: Shape = {
  result: [1, ['EQUAL', 'GREATER', 'LESS', 'NOT_EQUAL']],
  target: [2, ['VERSION', 'CREATE', 'MOD', 'VALUE', 'LEASE']],
  key: [3, 'bytes'],
  version: [4, 'int64'],
  mod_revision: [6, 'int64'],
};
const deletion: Shape = { key: [1, 'bytes'], range_end: [2, 'bytes'] };
const step: Shape = {
  requestRange: [1, { shape: range }],
  requestPut: [2, { shape: put }],
  requestDeleteRange: [3, { shape: deletion }],
};
const alarms = ['NONE', 'NOSPACE', 'CORRUPT'] as const;
const alarm: Shape = {
  action: [1, ['GET', 'ACTIVATE', 'DEACTIVATE']],
  memberID: [2, 'uint64'],
  alarm: [3, alarms],
};
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
  downgradeInfo: [13, { shape: { enabled: [1, 'flag'], targetVersion: [2, 'text'] } }],
};
const revoke: DirectCall = { method: 'Lease/LeaseRevoke', request: { ID: [1, 'int64'] }, answer: { header } };
const timeToLive: DirectCall = {
  method: 'Lease/LeaseTimeToLive',
  request: { ID: [1, 'int64'], keys: [2, 'flag'] },
  answer: {
    header,
    ID: [2, 'int64'],
    TTL: [3, 'int64'],
    grantedTTL: [4, 'int64'],
    keys: [5, 'bytes', 'many'],
  },
};
const leases: DirectCall = {
  method: 'Lease/LeaseLeases',
  request: {},
  answer: { header, leases: [2, { shape: { ID: [1, 'int64'] } }, 'many'] },
};
/** By path, without the version's prefix. */
export const directCalls: Readonly<Record<string, DirectCall>> = {
  '/kv/put': { method: 'KV/Put', request: put, answer: { header } },
  '/kv/range': {
    method: 'KV/Range',
    request: range,
    answer: { header, kvs: [2, { shape: keyValue }, 'many'], count: [4, 'int64'] },
  },
  '/kv/deleterange': {
    method: 'KV/DeleteRange',
    request: deletion,
    answer: { header, deleted: [2, 'int64'] },
  },
  '/kv/txn': {
    method: 'KV/Txn',
    request: {
      compare: [1, { shape: compare }, 'many'],
      success: [2, { shape: step }, 'many'],
      failure: [3, { shape: step }, 'many'],
    },
    answer: { header, succeeded: [2, 'flag'] },
  },
  '/lease/grant': {
    method: 'Lease/LeaseGrant',
    request: { TTL: [1, 'int64'], ID: [2, 'int64'] },
    answer: { header, ID: [2, 'int64'], TTL: [3, 'int64'] },
  },
  '/lease/keepalive': {
    method: 'Lease/LeaseKeepAlive',
    request: { ID: [1, 'int64'] },
    answer: { header, ID: [2, 'int64'], TTL: [3, 'int64'] },
  },
  '/lease/revoke': revoke,
  '/kv/lease/revoke': revoke,
  '/lease/timetolive': timeToLive,
  '/kv/lease/timetolive': timeToLive,
  '/lease/leases': leases,
  '/kv/lease/leases': leases,
  '/cluster/member/list': {
    method: 'Cluster/MemberList',
    request: {},
    answer: { header, members: [2, { shape: member }, 'many'] },
  },
  '/maintenance/status': { method: 'Maintenance/Status', request: {}, answer: status },
  '/maintenance/alarm': {
    method: 'Maintenance/Alarm',
    request: alarm,
    answer: { header, alarms: [2, { shape: { memberID: [1, 'uint64'], alarm: [2, alarms] } }, 'many'] },
  },
  '/maintenance/transfer-leadership': {
    method: 'Maintenance/MoveLeader',
    request: { targetID: [1, 'uint64'] },
    answer: { header },
  },
  '/maintenance/downgrade': {
    method: 'Maintenance/Downgrade',
    request: { action: [1, ['VALIDATE', 'ENABLE', 'CANCEL']], version: [2, 'text'] },
    answer: { header, version: [2, 'text'] },
  },
  '/maintenance/hashkv': {
    method: 'Maintenance/HashKV',
    request: { revision: [1, 'int64'] },
    answer: { header, hash: [2, 'uint64'], compact_revision: [3, 'int64'] },
  },
  '/auth/authenticate': {
    method: 'Auth/Authenticate',
    request: { name: [1, 'text'], password: [2, 'text'] },
    answer: { header, token: [2, 'text'] },
  },
  ...operationMessages,
  '/auth/status': { method: 'Auth/AuthStatus', request: {}, answer: { header, enabled: [2, 'flag'] } },
};
