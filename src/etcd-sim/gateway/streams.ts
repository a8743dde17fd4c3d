import { decimal, hashAt, hexFrom, snapshotFile, trailer } from '../disk/db-file.ts';
import type { Command } from '../state/command.ts';
import {
  type Api,
  bigField,
  type Body,
  type Call,
  enumField,
  omitZeros,
  yieldOnce,
  RpcError,
  type Stream,
  unsignedField,
  booleanField,
  bytesField,
  field,
  numberField,
} from './rpc.ts';
import {
  proposeCommand,
  checkLease,
  checkLooking,
  checkToken,
  header,
  keyOf,
  kvBody,
  awaitLinearizable,
} from './kv.ts';
import { type Change, failures } from '../state/keyspace.ts';

const CHUNK = 32 * 1024;

/** The 3.6 status of its data and of an active downgrade. */
const status36 = ({ node: { machine }, settings }: Api): Body => ({
  storageVersion: machine.clusterVersion ?? '',
  dbSizeQuota: String(settings.quotaBytes),
  downgradeInfo:
    machine.downgradeTo === undefined ? {} : { enabled: true, targetVersion: machine.downgradeTo },
});

export const status = async (api: Api, call: Call): Promise<Body> => {
  checkLooking(api, call);
  const { raft, machine } = api.node;
  const more = {
    raftAppliedIndex: String(machine.applied),
    errors: [
      ...(raft.leader === undefined ? ['etcdserver: no leader'] : []),
      ...machine.alarms.map((one) => `memberID:${one.member} alarm:${one.alarm} `),
    ],
    dbSizeInUse: String(machine.sizeBytes),
  };
  return omitZeros({
    header: header(api),
    version: api.version,
    dbSize: String(machine.fileBytes),
    leader: raft.leader === undefined ? '0' : decimal(raft.leader),
    raftIndex: String(api.form.has.appliedIndex ? raft.log.lastIndex : machine.applied),
    raftTerm: String(raft.term),
    ...(api.form.has.appliedIndex ? more : {}),
    ...(api.form.has.learners ? { isLearner: machine.membership.isLearner(api.node.id) } : {}),
    ...(api.form.has.downgrade ? status36(api) : {}),
  });
};

const alarmOf = (call: Call): 'NONE' | 'NOSPACE' | 'CORRUPT' =>
  enumField(call.body, 'alarm', ['NONE', 'NOSPACE', 'CORRUPT'], 'AlarmType');
export const alarm = async (api: Api, call: Call): Promise<Body> => {
  const action = enumField(
    call.body,
    'action',
    ['GET', 'ACTIVATE', 'DEACTIVATE'],
    'AlarmRequest_AlarmAction',
  );
  const kind = alarmOf(call);
  const member = unsignedField(call.body, 'memberID');
  const { machine } = api.node;
  const showAlarms = (): Body => {
    const alarms = machine.alarms
      .filter((one) => kind === 'NONE' || one.alarm === kind)
      .map((one) => omitZeros({ memberID: one.member, alarm: one.alarm }));
    return { ...(api.form.has.alarmHeader ? { header: header(api) } : {}), ...omitZeros({ alarms }) };
  };
  if (action === 'GET') {
    checkLooking(api, call);
    return showAlarms();
  }
  checkToken(api, call);
  const wasRaised = machine.alarms.some(
    (one) => one.alarm === kind && (one.member === member || member === '0'),
  );
  await proposeCommand(api, { op: 'alarm', action, member, alarm: kind } satisfies Command);
  // An alarm that was not raised cannot be disarmed, so the response lists no alarm.
  const changed = action === 'ACTIVATE' || wasRaised ? [omitZeros({ memberID: member, alarm: kind })] : [];
  return { ...(api.form.has.alarmHeader ? { header: header(api) } : {}), ...omitZeros({ alarms: changed }) };
};

export const hash = async (api: Api): Promise<Body> => ({
  header: header(api),
  hash: hashAt(api.node.machine, api.node.machine.keys.revision),
});

export const hashKv = async (api: Api, call: Call): Promise<Body> => {
  const { keys } = api.node.machine;
  const asked = Number(bigField(call.body, 'revision'));
  if (asked > keys.revision)
    throw new RpcError(failures.futureRevision.code, failures.futureRevision.message);
  // Before 3.5 the revision of the compaction counts as compacted.
  const first = api.form.has.hashKv ? keys.compacted : keys.compacted + 1;
  if (asked > 0 && asked < first) throw new RpcError(failures.compacted.code, failures.compacted.message);
  return omitZeros({
    header: header(api),
    hash: hashAt(api.node.machine, asked === 0 ? keys.revision : asked),
    compact_revision: keys.compacted === 0 ? '-1' : String(keys.compacted),
  });
};

const noUser = (call: Call, api: Api): void => {
  // spec/store#measured-answers: maintenance errors name the layer that rejected the call.
  if (api.node.machine.isAuthOn && call.token === undefined)
    throw new RpcError(2, 'auth: user name is empty');
  checkToken(api, call);
};
export const defragment = async (api: Api, call: Call): Promise<Body> => {
  noUser(call, api);
  api.node.machine.defragment();
  return {};
};

/** spec/store#measured-snapshots: pieces with the bytes that remain, then one with only the sha256 of everything before. */
export const snapshot = async (api: Api, call: Call): Promise<Stream> => {
  const end = api.form.snapshotNewlines ? '\n' : '';
  const line = (value: Body): Buffer => Buffer.from(JSON.stringify(value) + end);
  const refusal = ((): RpcError | undefined => {
    try {
      checkToken(api, call);
      return undefined;
    } catch (error) {
      return error as RpcError;
    }
  })();
  if (refusal !== undefined) {
    const { code, message } = refusal;
    return {
      stream: yieldOnce(
        line({ error: { grpc_code: code, http_code: 400, message, http_status: 'Bad Request' } }),
      ),
    };
  }
  const file = snapshotFile(api.node.machine);
  return {
    stream: (async function* () {
      for (let at = 0; at < file.length; at += CHUNK) {
        const blob = file.subarray(at, at + CHUNK);
        const remaining = file.length - at - blob.length + 32;
        yield line({ result: { remaining_bytes: String(remaining), blob: blob.toString('base64') } });
      }
      yield line({ result: { blob: trailer(file).toString('base64') } });
    })(),
  };
};

export const transferLeader = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const { raft, links, machine } = api.node;
  if (!raft.isLeading) throw new RpcError(9, 'etcdserver: not leader');
  const target = hexFrom(unsignedField(call.body, 'targetID'));
  if (target === api.node.id) return { header: header(api) };
  if (!links.has(target) || machine.membership.isLearner(target))
    throw new RpcError(9, 'etcdserver: bad leader transferee');
  if (!(await api.node.handOver(target)))
    throw new RpcError(14, 'etcdserver: request timed out, possibly due to previous leader failure');
  return { header: header(api) };
};

/** How soon a change is noticed. */
const POLL_MS = 20;
const line = (result: Body): Buffer => Buffer.from(`${JSON.stringify({ result })}\n`);
const eventBody = ({ kv, key, mod, previous }: Change, withPrevious: boolean): Body => ({
  ...(kv === undefined ? { type: 'DELETE' } : {}),
  kv:
    kv === undefined
      ? omitZeros({ key: Buffer.from(key, 'latin1').toString('base64'), mod_revision: String(mod) })
      : kvBody(kv),
  ...(withPrevious && previous !== undefined ? { prev_kv: kvBody(previous) } : {}),
});
type Watched = {
  readonly range: { readonly key: string; readonly end: string };
  readonly start: number;
  readonly withPrevious: boolean;
  readonly filters: readonly unknown[];
};
const isWanted = ({ filters }: Watched, { kv }: Change): boolean =>
  !filters.includes(kv === undefined ? 'NODELETE' : 'NOPUT');
/**
 * Sends the first response, then the committed changes from a revision on, until the client disconnects or
 * this member stops.
 */
async function* changes(api: Api, watched: Watched, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  const { node, host } = api;
  const { keys } = node.machine;
  let next = watched.start > 0 ? watched.start : keys.revision + 1;
  yield line({ header: header(api), created: true });
  while (!node.isStopped && signal?.aborted !== true) {
    if (next < keys.compacted) {
      const cancel_reason = failures.compacted.message;
      yield line({
        header: header(api),
        canceled: true,
        compact_revision: String(keys.compacted),
        cancel_reason,
      });
      return;
    }
    const found = keys.changesFrom(watched.range, next).filter((change) => isWanted(watched, change));
    next = keys.revision + 1;
    if (found.length > 0)
      yield line({
        header: header(api),
        events: found.map((change) => eventBody(change, watched.withPrevious)),
      });
    await host.sleep(POLL_MS);
  }
}
/** One watch per request: the gateway's stream accepts no second message. */
export const watch = async (api: Api, call: Call): Promise<Stream> => {
  checkToken(api, call);
  const body = (field(call.body, 'create_request') ?? {}) as Body;
  const watched = {
    range: { key: keyOf(body), end: bytesField(body, 'range_end') },
    start: numberField(body, 'start_revision'),
    withPrevious: booleanField(body, 'prev_kv'),
    filters: (field(body, 'filters') ?? []) as unknown[],
  };
  return { stream: changes(api, watched, call.signal) };
};

const LONGEST_TTL = 9_000_000_000;
const freshId = (api: Api): string => {
  const bytes = Buffer.from(api.host.random(8));
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.readBigUInt64BE().toString();
};
export const grant = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const asked = bigField(call.body, 'ID');
  const id = asked === '0' ? freshId(api) : asked;
  if (numberField(call.body, 'TTL') > LONGEST_TTL) throw new RpcError(11, 'etcdserver: too large lease TTL');
  // The minimum TTL of a lease is longer than an election.
  const ttl = Math.max(numberField(call.body, 'TTL'), Math.ceil((3 * api.settings.electionMs) / 2000));
  const { revision } = await proposeCommand(api, { op: 'grant', id, ttl });
  return { header: header(api, revision), ID: id, TTL: String(ttl) };
};
export const revoke = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const { revision } = await proposeCommand(api, { op: 'revoke', id: bigField(call.body, 'ID') });
  return { header: header(api, revision) };
};
/** spec/store#measured-answers: an unknown or expired lease returns 200 with TTL -1. */
export const timeToLive = async (api: Api, call: Call): Promise<Body> => {
  checkLease(api, call, booleanField(call.body, 'keys'));
  const id = bigField(call.body, 'ID');
  await awaitLinearizable(api);
  const lease = api.node.machine.leases.get(id);
  const remaining = lease === undefined ? undefined : await api.lessor.remainingSeconds(id);
  if (lease === undefined || remaining === undefined)
    return { header: header(api), ...omitZeros({ ID: id }), TTL: '-1' };
  const keys = booleanField(call.body, 'keys')
    ? api.node.machine.leaseKeys(id).map((key) => Buffer.from(key, 'latin1').toString('base64'))
    : [];
  return {
    header: header(api),
    ID: id,
    ...omitZeros({ TTL: String(remaining), grantedTTL: String(lease.ttl), keys }),
  };
};
export const leases = async (api: Api, call: Call): Promise<Body> => {
  checkLooking(api, call);
  return {
    header: header(api),
    ...omitZeros({ leases: [...api.node.machine.leases.keys()].map((ID) => ({ ID })) }),
  };
};
export const keepAlive = async (api: Api, call: Call): Promise<Stream> => {
  checkToken(api, call);
  const id = bigField(call.body, 'ID');
  const ttl = await api.lessor.renew(id);
  if (ttl === undefined && api.node.machine.leases.has(id))
    throw new RpcError(failures.noLease.code, 'etcdserver: no leader');
  const result = { header: header(api), ID: id, ...omitZeros({ TTL: String(ttl ?? 0) }) };
  return { stream: yieldOnce(Buffer.from(`${JSON.stringify({ result })}\n`)) };
};
