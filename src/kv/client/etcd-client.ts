import { AppError } from '../../core/problem.ts';
import { bytesField, numberField, numberMessage } from '../../core/protobuf.ts';
import type { Host } from '../../platform/host.ts';
import { connect, parseJson } from './connection.ts';
import { type Connection, type Endpoint, type Json, hexId, recordAt, grpcCall } from './messages.ts';
import { networkFailure, sendLimitError } from './errors.ts';
import { isUtf8 } from 'node:buffer';

export const isCompacted = (error: unknown): boolean =>
  error instanceof AppError && /required revision has been compacted/.test(error.message);
/**
 * Returns the oldest readable revision: the revision of the last compaction, or 1. etcd has no call for this
 * value but rejects a read at a compacted revision. A binary search finds the boundary in about twenty reads
 * of a key that does not need to exist.
 */
export const oldestRevision = async (store: Pick<Store, 'range'>, newest: number): Promise<number> => {
  const isReadable = (revision: number): Promise<boolean> =>
    store.range('opsctl/none', { revision, isSerializable: true, keysOnly: true, limit: 1 }).then(
      () => true,
      (error: unknown) => {
        if (isCompacted(error)) return false;
        throw error;
      },
    );
  if (await isReadable(1)) return 1;
  let [compacted, readable] = [1, newest];
  while (readable - compacted > 1) {
    const middle = Math.floor((compacted + readable) / 2);
    if (await isReadable(middle)) readable = middle;
    else compacted = middle;
  }
  return readable;
};

/** Returns the range of readable revisions. */
export const newestAndOldest = async (
  store: Store,
): Promise<{ readonly oldest: number; readonly newest: number }> => {
  const { revision } = await store.range('opsctl/none');
  return { newest: revision, oldest: await oldestRevision(store, revision) };
};

export type KeyValue = {
  readonly key: string;
  readonly value: string;
  /** Present if the key or value is not valid UTF-8, because the text form loses bytes. */
  readonly key_base64?: string;
  readonly value_base64?: string;
  readonly create_revision: number;
  readonly mod_revision: number;
  readonly version: number;
  readonly lease?: string;
};
const plain = (text: unknown): string => Buffer.from(String(text ?? ''), 'base64').toString();
const number = (value: unknown): number => Number(value ?? 0);
const isText = (data: unknown): boolean => isUtf8(Buffer.from(String(data ?? ''), 'base64'));
export const keyValueFrom = (kv: Json): KeyValue => ({
  key: plain(kv['key']),
  value: plain(kv['value']),
  ...(isText(kv['key']) ? {} : { key_base64: String(kv['key']) }),
  ...(isText(kv['value']) ? {} : { value_base64: String(kv['value']) }),
  create_revision: number(kv['create_revision']),
  mod_revision: number(kv['mod_revision']),
  version: number(kv['version']),
  ...(kv['lease'] === undefined || kv['lease'] === '0' ? {} : { lease: String(kv['lease']) }),
});

export type ListedMember = {
  readonly id: string;
  readonly name: string;
  readonly peer_urls: readonly string[];
  readonly client_urls: readonly string[];
  readonly is_learner: boolean;
};
const idOf = (value: unknown): string => String(value ?? '0');
const listedFrom = (member: Json): ListedMember => ({
  id: idOf(member['ID']),
  name: String(member['name'] ?? ''),
  peer_urls: (member['peerURLs'] ?? []) as string[],
  client_urls: (member['clientURLs'] ?? []) as string[],
  is_learner: member['isLearner'] === true,
});
/** Membership changes. The response arrives after a majority has agreed to the change. */
const memberCalls = ({ call }: Connection) => ({
  addMember: async (peerUrls: readonly string[], isLearner = false): Promise<ListedMember> => {
    const answer = await call((row) => (isLearner && !row.can.learners ? undefined : '/cluster/member/add'), {
      peerURLs: peerUrls,
      ...(isLearner ? { isLearner } : {}),
    });
    return listedFrom(recordAt(answer, 'member'));
  },
  removeMember: async (id: string): Promise<void> => void (await call('/cluster/member/remove', { ID: id })),
  updateMember: async (id: string, peerUrls: readonly string[]): Promise<void> =>
    void (await call('/cluster/member/update', { ID: id, peerURLs: peerUrls })),
  /** Call this on the leader: with authentication on, followers before 3.5.28 cannot forward the request. */
  promoteMember: async (id: string): Promise<void> =>
    void (await call((row) => (row.can.learners ? '/cluster/member/promote' : undefined), { ID: id })),
});
/** Calls that free space inside the database file or shrink the file. */
const spaceCalls = ({ call }: Connection) => ({
  /** With `isPhysical`, the response arrives after the space inside the file is free. */
  compact: async (revision: number, isPhysical: boolean): Promise<void> =>
    void (await call('/kv/compaction', {
      revision: String(revision),
      ...(isPhysical ? { physical: true } : {}),
    })),
  /** Defragments only this member. The member does not respond to other requests until it has finished. */
  defragment: async (): Promise<void> => void (await call('/maintenance/defragment', {})),
});
const operationCalls = (connection: Connection) => ({
  ...memberCalls(connection),
  ...spaceCalls(connection),
});

export type AlarmStatus = { readonly member_id: string; readonly alarm: 'NOSPACE' | 'CORRUPT' | string };
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
  /** The target version of a downgrade in progress. Members before 3.6 do not report it. */
  readonly downgrade_to?: string;
};
export type RangeOptions = {
  readonly rangeEnd?: string | Uint8Array;
  readonly limit?: number;
  readonly isSerializable?: boolean;
  readonly keysOnly?: boolean;
  readonly revision?: number;
};
export type LeaseStatus = {
  readonly id: string;
  readonly ttl_seconds: number;
  readonly granted_seconds: number;
  readonly keys: readonly string[];
};
/**
 * `compact_revision` is -1 or 0 if the store has never been compacted. `revision` is the current revision of
 * the store.
 */
export type HashResult = {
  readonly hash: number;
  readonly compact_revision: number;
  readonly revision: number;
};
/** spec/store#limits: the default send limit of the client is 2 MiB. */
const defaultSendBytes = 2 * 1024 * 1024;
const base64 = (data: string | Uint8Array): string => Buffer.from(data as Uint8Array).toString('base64');
/** Returns the size of the put request in the gRPC encoding, to which the 2 MiB limit applies. */
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
    return { revision: number(recordAt(answer, 'header')['revision']) };
  },
  range: async (key: string | Uint8Array, options: RangeOptions = {}): Promise<RangeSeen> => {
    const answer = await call('/kv/range', {
      key: base64(key),
      ...(options.rangeEnd === undefined ? {} : { range_end: base64(options.rangeEnd) }),
      ...(options.limit === undefined ? {} : { limit: String(options.limit) }),
      ...(options.isSerializable === true ? { serializable: true } : {}),
      ...(options.keysOnly === true ? { keys_only: true } : {}),
      ...(options.revision === undefined ? {} : { revision: String(options.revision) }),
    });
    const kvs = ((answer['kvs'] ?? []) as Json[]).map(keyValueFrom);
    return { kvs, count: number(answer['count']), revision: number(recordAt(answer, 'header')['revision']) };
  },
  del: async (
    key: string,
    rangeEnd?: string | Uint8Array,
  ): Promise<{ readonly deleted: number; readonly revision: number }> => {
    const answer = await call('/kv/deleterange', {
      key: base64(key),
      ...(rangeEnd === undefined ? {} : { range_end: base64(rangeEnd) }),
    });
    return { deleted: number(answer['deleted']), revision: number(recordAt(answer, 'header')['revision']) };
  },
});
/** Conditional writes. They return true if the condition was met. */
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
    /** Writes the key only if it does not exist. */
    create: (key: string, value: string, lease: string): Promise<boolean> =>
      putIf({ target: 'VERSION', version: '0' }, key, value, lease),
    /**
     * Sets the key, or deletes it if there is no value, only if it still has this revision (0: if it does not
     * exist). Returns false if another client changed it.
     */
    change: async (
      key: Uint8Array,
      mod_revision: number,
      value: Uint8Array | undefined,
    ): Promise<boolean> => {
      const name = base64(key);
      const step =
        value === undefined
          ? { requestDeleteRange: { key: name } }
          : { requestPut: { key: name, value: base64(value) } };
      const answer = await call('/kv/txn', {
        compare: [{ key: name, result: 'EQUAL', target: 'MOD', mod_revision: String(mod_revision) }],
        success: [step],
        failure: [],
      });
      return answer['succeeded'] === true;
    },
    /** Writes only if the key has not changed since it was read. */
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
  /**
   * Renews the lease once and returns the remaining seconds, or 0 if the lease has expired. The response is a
   * stream of one object.
   */
  keepAlive: async (id: string): Promise<number> => {
    const answer = await call('/lease/keepalive', { ID: id });
    return number(((answer['result'] ?? answer) as Json)['TTL']);
  },
  /** ttl_seconds is -1 for a lease that has expired or never existed. */
  timeToLive: async (id: string, withKeys = false): Promise<LeaseStatus> => {
    const answer = await call((row) => row.path.timeToLive, { ID: id, keys: withKeys });
    const keys = ((answer['keys'] ?? []) as string[]).map(plain);
    return { id, ttl_seconds: number(answer['TTL']), granted_seconds: number(answer['grantedTTL']), keys };
  },
  /** Returns undefined on 3.2, which cannot list leases. */
  leases: async (row: { path: { listLeases?: string } }): Promise<string[] | undefined> => {
    if (row.path.listLeases === undefined) return undefined;
    return (((await call(row.path.listLeases, {}))['leases'] ?? []) as Json[]).map((lease) =>
      idOf(lease['ID']),
    );
  },
});
const statusFrom = (answer: Json): Status => ({
  ...(answer['version'] === undefined ? {} : { version: String(answer['version']) }),
  member_id: idOf(recordAt(answer, 'header')['member_id']),
  cluster_id: idOf(recordAt(answer, 'header')['cluster_id']),
  ...(answer['leader'] === undefined || answer['leader'] === '0'
    ? {}
    : { leader_id: String(answer['leader']) }),
  is_learner: answer['isLearner'] === true,
  raft_term: number(answer['raftTerm']),
  raft_index: number(answer['raftIndex']),
  ...(answer['raftAppliedIndex'] === undefined ? {} : { applied_index: number(answer['raftAppliedIndex']) }),
  revision: number(recordAt(answer, 'header')['revision']),
  db_size_bytes: number(answer['dbSize']),
  ...(answer['dbSizeInUse'] === undefined ? {} : { db_in_use_bytes: number(answer['dbSizeInUse']) }),
  errors: (answer['errors'] ?? []) as string[],
  ...(recordAt(answer, 'downgradeInfo')['enabled'] === true
    ? { downgrade_to: String(recordAt(answer, 'downgradeInfo')['targetVersion']) }
    : {}),
});
/**
 * Parses /health: `"true"`, or a boolean in release candidates. A 3.2 member returns 200 and true even with
 * an active alarm.
 */
export const healthFrom = (status: number, text: string): Health => {
  const body = parseJson(text) as { health?: unknown; reason?: unknown } | undefined;
  const is_healthy = status === 200 && (body?.health === 'true' || body?.health === true);
  const said = typeof body?.reason === 'string' && body.reason !== '' ? body.reason : undefined;
  const reason =
    body?.health === undefined
      ? `/health returned ${status} without health: check that this is the client URL of a member`
      : said;
  return { is_healthy, status, ...(reason === undefined ? {} : { reason }) };
};
/** Field numbers: header (1, revision is its field 3), hash (2), compact_revision (3). */
const hashFrom = (url: string, message: Buffer): HashResult => {
  try {
    return {
      hash: numberField(message, 2),
      compact_revision: numberField(message, 3),
      revision: numberField(bytesField(message, 1) ?? Buffer.alloc(0), 3),
    };
  } catch (error) {
    throw networkFailure(url, error);
  }
};
const hashCalls = (connection: Connection) => ({
  /** Returns the hash of the whole keyspace at the revision; 0 selects the newest revision. */
  hashKv: async (revision: number): Promise<HashResult> => {
    const { can } = await connection.row();
    if (can.hashKv === 'grpc')
      return hashFrom(
        connection.endpoint.url,
        await grpcCall(connection, '/etcdserverpb.Maintenance/HashKV', numberMessage(1, revision)),
      );
    const answer = await connection.call(
      () => (can.hashKv === 'gateway' ? '/maintenance/hashkv' : undefined),
      { revision: String(revision) },
    );
    return {
      hash: number(answer['hash']),
      compact_revision: number(answer['compact_revision']),
      revision: number(recordAt(answer, 'header')['revision']),
    };
  },
});
export type DowngradeAction = 'VALIDATE' | 'ENABLE' | 'CANCEL';
/** Without a leader, 3.5 returns /health only after its own limit of 7 s. */
const healthLimitOf = ({ contactMs }: Endpoint): number | undefined =>
  contactMs === undefined ? undefined : Math.max(contactMs, 10_000);
const clusterCalls = ({ call, get, endpoint }: Connection) => ({
  health: async (): Promise<Health> => {
    const { status, text } = await get('/health', { limitMs: healthLimitOf(endpoint) });
    return healthFrom(status, text);
  },
  status: async (): Promise<Status> => statusFrom(await call('/maintenance/status', {})),
  members: async (): Promise<ListedMember[]> =>
    (((await call('/cluster/member/list', {}))['members'] ?? []) as Json[]).map(listedFrom),
  /**
   * opsctl sends only GET and DEACTIVATE. ACTIVATE without an alarm type permanently breaks a 3.2 cluster
   * (spec/store#measured-answers).
   */
  alarms: async (): Promise<AlarmStatus[]> =>
    alarmsFrom(await call('/maintenance/alarm', { action: 'GET', memberID: '0', alarm: 'NONE' })),
  disarm: async ({ member_id, alarm }: AlarmStatus): Promise<void> =>
    void (await call('/maintenance/alarm', { action: 'DEACTIVATE', memberID: member_id, alarm })),
  /** Only the leader accepts this call. `target` is a decimal member id. */
  moveLeader: async (target: string): Promise<void> =>
    void (await call((row) => (row.can.moveLeader ? '/maintenance/transfer-leadership' : undefined), {
      targetID: target,
    })),
  /** Available from 3.6 on. Do not send it to 3.5: it returns an error but still applies the change. */
  downgrade: async (action: DowngradeAction, version: string): Promise<void> =>
    void (await call((row) => (row.can.downgrade ? '/maintenance/downgrade' : undefined), {
      action,
      ...(action === 'CANCEL' ? {} : { version }),
    })),
  authIsOn: async (): Promise<boolean> =>
    (await call((row) => (row.can.authStatus ? '/auth/status' : undefined), {}))['enabled'] === true,
});
const alarmsFrom = (answer: Json): AlarmStatus[] =>
  ((answer['alarms'] ?? []) as Json[]).map((row) => ({
    member_id: idOf(row['memberID']),
    alarm: String(row['alarm'] ?? 'NONE'),
  }));
/** Opens a client for one member, with all calls that opsctl uses. */
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

/** Tries the members in order and returns the first successful result. */
export const firstAnswer = async <T>(
  stores: readonly Store[],
  work: (store: Store) => Promise<T>,
): Promise<T> => {
  let last: unknown = new AppError('network', 'no member answers', { code: 'UNAVAILABLE' });
  for (const store of stores) {
    try {
      return await work(store);
    } catch (error) {
      last = error;
    }
  }
  throw last;
};

/** Keys that a run writes to the cluster. The key of the lock is removed with its lease. */
export const canaryKey = (run: string): string => `opsctl/canary/${run}`;
const probeDirectory = (run: string): string => `opsctl/probe/${run}`;
export const probeKey = (run: string, member: string): string => `${probeDirectory(run)}/${member}`;
/** Removes all keys of a run, including keys from before a crash. If no member responds, the keys remain. */
export const removeOwnKeys = (stores: readonly Store[], run: string): Promise<void> =>
  firstAnswer(stores, async (store) => {
    await Promise.all([
      store.del(canaryKey(run)),
      // `0` is the character after `/`, so the range covers every key below the prefix.
      store.del(`${probeDirectory(run)}/`, `${probeDirectory(run)}0`),
    ]);
  }).catch(() => {});

/** Finds a member by name or hexadecimal id. */
export const getMember = (members: readonly ListedMember[], wanted: string): ListedMember => {
  const found = members.find(({ id, name }) => name === wanted || hexId(id) === wanted.toLowerCase());
  if (found === undefined)
    throw new AppError(
      'not-found',
      `member not found: ${JSON.stringify(wanted)}; one of: ${members.map(({ name }) => name).join(', ')}`,
      {
        code: 'NO_MEMBER',
      },
    );
  return found;
};
