import type { Host } from '../../platform/host.ts';
import { connect } from './connection.ts';
import type { Connection, Endpoint, Json } from './endpoint.ts';
import { parsed } from './connection.ts';
import { sendLimitError } from './errors.ts';
import { grpcCall } from './grpc-call.ts';
import { keyValueFrom } from './key-value.ts';
import type { KeyValue } from './key-value.ts';
import { listedFrom, operationCalls } from './operation-calls.ts';
import type { ListedMember } from './operation-calls.ts';
import { bytesField, numberField, numberMessage } from './grpc.ts';

export type { KeyValue } from './key-value.ts';
export type { ListedMember } from './operation-calls.ts';
export type AlarmSeen = { readonly member_id: string; readonly alarm: 'NOSPACE' | 'CORRUPT' | string };
export type Health = { readonly is_healthy: boolean; readonly reason?: string; readonly status: number };
export type Status = {
  readonly version?: string;
  readonly member_id: string;
  readonly cluster_id: string;
  readonly leader_id?: string;
  readonly is_learner: boolean;
  readonly raft_term: number;
  readonly raft_index: number;
  readonly applied_index?: number;
  readonly revision: number;
  readonly db_size_bytes: number;
  readonly db_in_use_bytes?: number;
  readonly errors: readonly string[];
  /** The version that a downgrade of the cluster goes to, while one is on. Members before 3.6 do not say it. */
  readonly downgrade_to?: string;
};
export type RangeOptions = {
  readonly rangeEnd?: string | Uint8Array;
  readonly limit?: number;
  readonly isSerializable?: boolean;
  readonly keysOnly?: boolean;
  readonly revision?: number;
};
export type LeaseSeen = {
  readonly id: string;
  readonly ttl_seconds: number;
  readonly granted_seconds: number;
  readonly keys: readonly string[];
};
/** `compact_revision` is -1 or 0 where nothing was ever compacted; `revision` is the store's own at that moment. */
export type HashSeen = {
  readonly hash: number;
  readonly compact_revision: number;
  readonly revision: number;
};
/** spec/store#limits: client send size default 2 MiB. */
const defaultSendBytes = 2 * 1024 * 1024;

const base64 = (data: string | Uint8Array): string => Buffer.from(data as Uint8Array).toString('base64');
const plain = (text: unknown): string => Buffer.from(String(text ?? ''), 'base64').toString();
const number = (value: unknown): number => Number(value ?? 0);
const idOf = (value: unknown): string => String(value ?? '0');

/** Size of the put as the store's own clients would send it: what its 2 MiB limit counts. */
export const putSizeBytes = (key: string, value: string | Uint8Array): number => {
  const field = (data: string | Uint8Array): number => {
    const length = Buffer.byteLength(data);
    return length === 0 ? 0 : 1 + Math.max(1, Math.ceil(Math.log2(length + 1) / 7)) + length;
  };
  return field(key) + field(value);
};

type PutSeen = { readonly revision: number };
type RangeSeen = { readonly kvs: KeyValue[]; readonly count: number; readonly revision: number };

const keyCalls = ({ call, endpoint }: Connection) => ({
  put: async (key: string, value: string | Uint8Array, lease?: string): Promise<PutSeen> => {
    const [size, limit] = [putSizeBytes(key, value), endpoint.maxSendBytes ?? defaultSendBytes];
    if (size > limit) throw sendLimitError(size, limit);
    const answer = await call('/kv/put', {
      key: base64(key),
      value: base64(value),
      ...(lease === undefined ? {} : { lease }),
    });
    return { revision: number(answer['header']?.revision) };
  },
  range: async (key: string, options: RangeOptions = {}): Promise<RangeSeen> => {
    const answer = await call('/kv/range', {
      key: base64(key),
      ...(options.rangeEnd === undefined ? {} : { range_end: base64(options.rangeEnd) }),
      ...(options.limit === undefined ? {} : { limit: String(options.limit) }),
      ...(options.isSerializable === true ? { serializable: true } : {}),
      ...(options.keysOnly === true ? { keys_only: true } : {}),
      ...(options.revision === undefined ? {} : { revision: String(options.revision) }),
    });
    const kvs = ((answer['kvs'] ?? []) as Json[]).map(keyValueFrom);
    return { kvs, count: number(answer['count']), revision: number(answer['header']?.revision) };
  },
  del: async (
    key: string,
    rangeEnd?: string | Uint8Array,
  ): Promise<{ readonly deleted: number; readonly revision: number }> => {
    const answer = await call('/kv/deleterange', {
      key: base64(key),
      ...(rangeEnd === undefined ? {} : { range_end: base64(rangeEnd) }),
    });
    return { deleted: number(answer['deleted']), revision: number(answer['header']?.revision) };
  },
});

/** Writes that happen only under a condition; true when it held. */
const conditionalCalls = ({ call }: Connection) => {
  const putIf = async (compare: Json, key: string, value: string, lease: string): Promise<boolean> => {
    const answer = await call('/kv/txn', {
      compare: [{ key: base64(key), result: 'EQUAL', ...compare }],
      success: [requestPut(key, value, lease)],
      failure: [],
    });
    return answer['succeeded'] === true;
  };
  return {
    /** Writes only when the key does not exist yet. */
    create: (key: string, value: string, lease: string): Promise<boolean> =>
      putIf({ target: 'VERSION', version: '0' }, key, value, lease),
    /** Writes only when the key is as it was seen. */
    replace: ({ key, mod_revision }: KeyValue, value: string, lease: string): Promise<boolean> =>
      putIf({ target: 'MOD', mod_revision: String(mod_revision) }, key, value, lease),
  };
};
const requestPut = (key: string, value: string, lease: string) => ({
  requestPut: { key: base64(key), value: base64(value), lease },
});

const leaseCalls = ({ call }: Connection) => ({
  grant: async (ttlSeconds: number): Promise<string> =>
    idOf((await call('/lease/grant', { TTL: String(ttlSeconds), ID: '0' }))['ID']),
  revoke: async (id: string): Promise<void> => void (await call((row) => row.path.revokeLease, { ID: id })),
  /** One heartbeat; the remaining seconds, 0 when the lease has gone. The answer is a stream of one object. */
  keepAlive: async (id: string): Promise<number> => {
    const answer = await call('/lease/keepalive', { ID: id });
    return number((answer['result'] ?? answer)['TTL']);
  },
  /** ttl_seconds is -1 for a lease that expired or never was. */
  timeToLive: async (id: string, withKeys = false): Promise<LeaseSeen> => {
    const answer = await call((row) => row.path.timeToLive, { ID: id, keys: withKeys });
    const keys = ((answer['keys'] ?? []) as string[]).map(plain);
    return { id, ttl_seconds: number(answer['TTL']), granted_seconds: number(answer['grantedTTL']), keys };
  },
  /** Undefined on 3.2, which cannot list. */
  leases: async (row: { path: { listLeases?: string } }): Promise<string[] | undefined> => {
    if (row.path.listLeases === undefined) return undefined;
    return (((await call(row.path.listLeases, {}))['leases'] ?? []) as Json[]).map((lease) =>
      idOf(lease['ID']),
    );
  },
});

const statusFrom = (answer: Json): Status => ({
  ...(answer['version'] === undefined ? {} : { version: String(answer['version']) }),
  member_id: idOf(answer['header']?.member_id),
  cluster_id: idOf(answer['header']?.cluster_id),
  ...(answer['leader'] === undefined || answer['leader'] === '0'
    ? {}
    : { leader_id: String(answer['leader']) }),
  is_learner: answer['isLearner'] === true,
  raft_term: number(answer['raftTerm']),
  raft_index: number(answer['raftIndex']),
  ...(answer['raftAppliedIndex'] === undefined ? {} : { applied_index: number(answer['raftAppliedIndex']) }),
  revision: number(answer['header']?.revision),
  db_size_bytes: number(answer['dbSize']),
  ...(answer['dbSizeInUse'] === undefined ? {} : { db_in_use_bytes: number(answer['dbSizeInUse']) }),
  errors: (answer['errors'] ?? []) as string[],
  ...(answer['downgradeInfo']?.enabled === true
    ? { downgrade_to: String(answer['downgradeInfo'].targetVersion) }
    : {}),
});

/** /health: `"true"` or, in release candidates, the boolean. A 3.2 member says 200 true even with an alarm raised. */
export const healthFrom = (status: number, text: string): Health => {
  const body = parsed(text) as { health?: unknown; reason?: unknown } | undefined;
  const is_healthy = status === 200 && (body?.health === 'true' || body?.health === true);
  const said = typeof body?.reason === 'string' && body.reason !== '' ? body.reason : undefined;
  const reason =
    body?.health === undefined
      ? `/health answered ${status} and no health: is this the client URL of a member?`
      : said;
  return { is_healthy, status, ...(reason === undefined ? {} : { reason }) };
};

/** header (1, with its revision 3), hash (2), compact_revision (3). */
const hashFrom = (message: Buffer): HashSeen => ({
  hash: numberField(message, 2),
  compact_revision: numberField(message, 3),
  revision: numberField(bytesField(message, 1) ?? Buffer.alloc(0), 3),
});

const hashCalls = (connection: Connection) => ({
  /** Of the whole keyspace at that revision; 0 is the newest. */
  hashKv: async (revision: number): Promise<HashSeen> => {
    const { can } = await connection.row();
    if (can.hashKv === 'grpc')
      return hashFrom(
        await grpcCall(connection, '/etcdserverpb.Maintenance/HashKV', numberMessage(1, revision)),
      );
    const answer = await connection.call(
      () => (can.hashKv === 'gateway' ? '/maintenance/hashkv' : undefined),
      { revision: String(revision) },
    );
    return {
      hash: number(answer['hash']),
      compact_revision: number(answer['compact_revision']),
      revision: number(answer['header']?.revision),
    };
  },
});

export type DowngradeAction = 'VALIDATE' | 'ENABLE' | 'CANCEL';
const clusterCalls = ({ call, get }: Connection) => ({
  health: async (): Promise<Health> => {
    const { status, text } = await get('/health');
    return healthFrom(status, text);
  },
  status: async (): Promise<Status> => statusFrom(await call('/maintenance/status', {})),
  members: async (): Promise<ListedMember[]> =>
    (((await call('/cluster/member/list', {}))['members'] ?? []) as Json[]).map(listedFrom),
  /** Only GET and DEACTIVATE are ever sent: ACTIVATE with no alarm kills a 3.2 cluster for good (spec/store#measured-answers). */
  alarms: async (): Promise<AlarmSeen[]> =>
    alarmsFrom(await call('/maintenance/alarm', { action: 'GET', memberID: '0', alarm: 'NONE' })),
  disarm: async ({ member_id, alarm }: AlarmSeen): Promise<void> =>
    void (await call('/maintenance/alarm', { action: 'DEACTIVATE', memberID: member_id, alarm })),
  /** Only the leader can; `target` is a decimal member id. */
  moveLeader: async (target: string): Promise<void> =>
    void (await call((row) => (row.can.moveLeader ? '/maintenance/transfer-leadership' : undefined), {
      targetID: target,
    })),
  /** From 3.6 on. Never sent to 3.5, where it answers an error and takes effect all the same. */
  downgrade: async (action: DowngradeAction, version: string): Promise<void> =>
    void (await call((row) => (row.can.downgrade ? '/maintenance/downgrade' : undefined), {
      action,
      ...(action === 'CANCEL' ? {} : { version }),
    })),
  authIsOn: async (): Promise<boolean> =>
    (await call((row) => (row.can.authStatus ? '/auth/status' : undefined), {}))['enabled'] === true,
});

const alarmsFrom = (answer: Json): AlarmSeen[] =>
  ((answer['alarms'] ?? []) as Json[]).map((row) => ({
    member_id: idOf(row['memberID']),
    alarm: String(row['alarm'] ?? 'NONE'),
  }));

/** Everything one member of the store can be asked through its gateway. */
export const openStore = (host: Host, endpoint: Endpoint) => {
  const connection = connect(host, endpoint);
  return {
    connection,
    versions: connection.versions,
    row: connection.row,
    ...keyCalls(connection),
    ...conditionalCalls(connection),
    ...leaseCalls(connection),
    ...clusterCalls(connection),
    ...hashCalls(connection),
    ...operationCalls(connection),
  };
};
export type Store = ReturnType<typeof openStore>;
