import { etcdMethods } from '../../api-specs/etcd/messages.ts';
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

/** The part of a transaction that the client sends, with the names of the gateway's JSON. An unknown field is an error. */
const transaction = (): Shape => {
  const request = (method: string): { readonly shape: Shape } => ({
    shape: etcdMethods[`/etcdserverpb.KV/${method}`]?.request ?? {},
  });
  const step: Shape = {
    requestRange: [1, request('Range')],
    requestPut: [2, request('Put')],
    requestDeleteRange: [3, request('DeleteRange')],
  };
  const compare: Shape = {
    result: [1, ['EQUAL', 'GREATER', 'LESS', 'NOT_EQUAL']],
    target: [2, ['VERSION', 'CREATE', 'MOD', 'VALUE', 'LEASE']],
    key: [3, 'bytes'],
    version: [4, 'int64'],
    mod_revision: [6, 'int64'],
  };
  return {
    compare: [1, { shape: compare }, 'many'],
    success: [2, { shape: step }, 'many'],
    failure: [3, { shape: step }, 'many'],
  };
};
/** Methods that the client calls, without their package. */
const methods = [
  ...['KV/Put', 'KV/Range', 'KV/DeleteRange', 'KV/Txn', 'KV/Compact'],
  ...['Lease/LeaseGrant', 'Lease/LeaseKeepAlive', 'Lease/LeaseRevoke', 'Lease/LeaseTimeToLive'],
  ...['Lease/LeaseLeases', 'Cluster/MemberList', 'Cluster/MemberAdd', 'Cluster/MemberRemove'],
  ...['Cluster/MemberUpdate', 'Cluster/MemberPromote', 'Maintenance/Status', 'Maintenance/Alarm'],
  ...['Maintenance/MoveLeader', 'Maintenance/Downgrade', 'Maintenance/HashKV', 'Maintenance/Defragment'],
  ...['Auth/Authenticate', 'Auth/AuthStatus'],
];
/** A gateway has the calls of leases below two paths. */
const pathsOf = (path: string): string[] =>
  path.startsWith('/kv/lease/') ? [path, path.replace('/kv', '')] : [path];
/** The calls by the path of the gateway, without the prefix of the version. */
export const directCalls: Readonly<Record<string, DirectCall>> = Object.fromEntries(
  methods.flatMap((method) => {
    const row = etcdMethods[`/etcdserverpb.${method}`];
    if (row === undefined) throw new Error(`api-specs/etcd has no method ${method}`);
    const request = method === 'KV/Txn' ? transaction() : row.request;
    return pathsOf(row.path).map((path) => [path, { method, request, answer: row.response }]);
  }),
);
