import { decimal } from '../disk/db-file.ts';
import { TimedOut } from '../node/node.ts';
import type {
  Applied,
  Command,
  Compare,
  Delete,
  KeyRange,
  KeyValue,
  Put,
  RangeOptions,
  RangeResult,
  Txn,
  TxnOp,
  TxnResponse,
} from '../state/command.ts';
import { contains, failures, writes } from '../state/keyspace.ts';
import {
  type Api,
  base64Field,
  bigField,
  type Body,
  booleanField,
  bytesField,
  type Call,
  enumField,
  field,
  omitZeros,
  listField,
  numberField,
  RpcError,
} from './rpc.ts';

const base64 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('base64');
export const header = (api: Api, revision = api.node.machine.keys.revision): Body =>
  omitZeros({
    cluster_id: decimal(api.clusterId),
    member_id: decimal(api.node.id),
    revision: String(revision),
    raft_term: String(api.node.raft.term),
  });
export const kvBody = (kv: KeyValue): Body =>
  omitZeros({
    key: base64(kv.key),
    create_revision: String(kv.create),
    mod_revision: String(kv.mod),
    version: String(kv.version),
    value: kv.value,
    lease: kv.lease,
  });
const rangeBody = (result: RangeResult): Body =>
  omitZeros({ kvs: result.kvs.map(kvBody), more: result.more, count: String(result.count) });
/**
 * spec/store#errors: a request without a token if authentication is enabled; a token of a member that was
 * restarted (spec/store#measured-answers).
 */
export const checkToken = (api: Api, call: Call): string | undefined => {
  if (!api.node.machine.isAuthOn) return undefined;
  if (call.token === undefined) throw new RpcError(3, 'etcdserver: user name is empty');
  const user = api.tokens.userOf(call.token);
  if (user === undefined) throw new RpcError(16, 'etcdserver: invalid auth token');
  return user;
};
/** From these patches on also calls that only look need a user. */
const strictFrom: Readonly<Record<string, number>> = { '3.4': 42, '3.5': 28, '3.6': 9, '3.7': 0 };
export const checkLooking = (api: Api, call: Call): void => {
  const strict = strictFrom[api.form.minor];
  if (strict !== undefined && Number(api.version.split('.')[2]) >= strict) checkToken(api, call);
};
/** From these patches on, the keys of a lease need a user. 3.4.23 returns them to every user, 3.5.16 and 3.5.30 do not. */
const keysFrom: Readonly<Record<string, number>> = { '3.4': 26, '3.5': 9, '3.6': 0, '3.7': 0 };
/** A lease without its keys needs a user only where other calls that look need one (seen on 3.3, 3.4 and 3.5). */
export const checkLease = (api: Api, call: Call, hasKeys: boolean): void => {
  const strict = keysFrom[api.form.minor];
  if (hasKeys && strict !== undefined && Number(api.version.split('.')[2]) >= strict) checkToken(api, call);
  else checkLooking(api, call);
};
/** spec/store#limits: server request size, default 1.5 MiB; the transport's own limit is 512 KiB above it. */
export const transportBytes = ({ settings }: Api): number => settings.maxRequestBytes + 512 * 1024;
const checkSize = (api: Api, bytes: number): void => {
  const transport = transportBytes(api);
  if (bytes > transport)
    throw new RpcError(8, `grpc: received message larger than max (${bytes} vs. ${transport})`);
  if (bytes > api.settings.maxRequestBytes) throw new RpcError(3, 'etcdserver: request is too large');
};
/** Until 3.5 the member itself gives up; the second gateway ends the call with its own deadline. */
const timedOut = ({ form }: Api): RpcError =>
  form.isGateway2
    ? new RpcError(4, 'context deadline exceeded')
    : new RpcError(14, 'etcdserver: request timed out');
export const proposeCommand = async (api: Api, command: Command): Promise<Extract<Applied, { ok: true }>> => {
  try {
    const result = await api.node.propose(command);
    if (!result.ok) throw new RpcError(result.failure.code, result.failure.message);
    return result;
  } catch (error) {
    if (error instanceof TimedOut) throw timedOut(api);
    throw error;
  }
};
export const awaitLinearizable = async (api: Api): Promise<void> => {
  try {
    await api.node.linearize();
  } catch (error) {
    if (error instanceof TimedOut) throw timedOut(api);
    throw error;
  }
};
/** The member that accepts a write beyond the quota raises the alarm for the whole cluster. */
const checkSpace = async (api: Api, bytes: number): Promise<void> => {
  const { machine } = api.node;
  if (!machine.has('NOSPACE') && machine.isFull(bytes)) {
    await proposeCommand(api, {
      op: 'alarm',
      action: 'ACTIVATE',
      member: decimal(api.node.id),
      alarm: 'NOSPACE',
    });
  }
  if (machine.has('NOSPACE')) throw new RpcError(failures.noSpace.code, failures.noSpace.message);
};
export const keyOf = (body: Body): string => {
  const key = bytesField(body, 'key');
  if (key === '') throw new RpcError(failures.emptyKey.code, failures.emptyKey.message);
  return key;
};
const leaseOf = (body: Body): string | undefined => {
  const lease = bigField(body, 'lease');
  return lease === '0' ? undefined : lease;
};
const putOf = (body: Body): Put => {
  const [ignoreValue, ignoreLease] = [booleanField(body, 'ignore_value'), booleanField(body, 'ignore_lease')];
  const [key, value, lease] = [keyOf(body), base64Field(body, 'value'), leaseOf(body)];
  if (ignoreValue && value !== '')
    throw new RpcError(failures.valueProvided.code, failures.valueProvided.message);
  if (ignoreLease && lease !== undefined)
    throw new RpcError(failures.leaseProvided.code, failures.leaseProvided.message);
  const kept = { ...(ignoreValue ? { ignoreValue } : {}), ...(ignoreLease ? { ignoreLease } : {}) };
  return { op: 'put', key, value, lease, prevKv: booleanField(body, 'prev_kv'), ...kept };
};
const deleteOf = (body: Body): Delete => ({
  op: 'delete',
  key: keyOf(body),
  end: bytesField(body, 'range_end'),
  prevKv: booleanField(body, 'prev_kv'),
});
const rangeOf = (body: Body): RangeOptions => ({
  key: keyOf(body),
  end: bytesField(body, 'range_end'),
  limit: numberField(body, 'limit'),
  revision: numberField(body, 'revision'),
  sortOrder: enumField(body, 'sort_order', ['NONE', 'ASCEND', 'DESCEND'], 'RangeRequest_SortOrder'),
  sortTarget: enumField(
    body,
    'sort_target',
    ['KEY', 'VERSION', 'CREATE', 'MOD', 'VALUE'],
    'RangeRequest_SortTarget',
  ),
  keysOnly: booleanField(body, 'keys_only'),
  countOnly: booleanField(body, 'count_only'),
});
const sizeOf = (put: { key: string; value: string }): number =>
  put.key.length + Math.floor((put.value.length * 3) / 4) + 10;
export const put = async (api: Api, call: Call): Promise<Body> => {
  const command = putOf(call.body);
  checkSize(api, sizeOf(command));
  checkToken(api, call);
  await checkSpace(api, sizeOf(command));
  const { revision, prev } = await proposeCommand(api, command);
  return omitZeros({ header: header(api, revision), prev_kv: prev?.[0] && kvBody(prev[0]) });
};
export const range = async (api: Api, call: Call): Promise<Body> => {
  const options = rangeOf(call.body);
  checkToken(api, call);
  if (!booleanField(call.body, 'serializable')) await awaitLinearizable(api);
  const result = api.node.machine.keys.range(options);
  if ('code' in result) throw new RpcError(result.code, result.message);
  return { header: header(api), ...rangeBody(result) };
};
export const deleteRange = async (api: Api, call: Call): Promise<Body> => {
  const command = deleteOf(call.body);
  checkToken(api, call);
  const { revision, deleted, prev } = await proposeCommand(api, command);
  return omitZeros({
    header: header(api, revision),
    deleted: String(deleted ?? 0),
    prev_kvs: (prev ?? []).map(kvBody),
  });
};
export const compaction = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const { revision } = await proposeCommand(api, {
    op: 'compact',
    revision: numberField(call.body, 'revision'),
  });
  return { header: header(api, revision) };
};

/** The servers' own default of --max-txn-ops. */
const MOST_OPS = 128;
const refuse = ({ code, message }: { readonly code: number; readonly message: string }): RpcError =>
  new RpcError(code, message);
/** 3.3 added comparisons of leases and of whole ranges, and transactions inside transactions. */
const targets = ['VERSION', 'CREATE', 'MOD', 'VALUE', 'LEASE'] as const;
const fields = {
  VERSION: 'version',
  CREATE: 'create_revision',
  MOD: 'mod_revision',
  VALUE: 'value',
  LEASE: 'lease',
};
const compareOf =
  (isNew: boolean) =>
  (body: Body): Compare => {
    const target = enumField(body, 'target', isNew ? targets : targets.slice(0, 4), 'Compare_CompareTarget');
    const result = enumField(
      body,
      'result',
      ['EQUAL', 'GREATER', 'LESS', 'NOT_EQUAL'],
      'Compare_CompareResult',
    );
    const value = target === 'VALUE' ? base64Field(body, fields[target]) : bigField(body, fields[target]);
    const end = isNew ? bytesField(body, 'range_end') : '';
    return { key: keyOf(body), ...(end === '' ? {} : { end }), target, result, value };
  };
const opOf =
  (isNew: boolean) =>
  (body: Body): TxnOp => {
    const part = (name: string): Body | undefined =>
      field(body, name) === undefined
        ? undefined
        : (listField({ one: [field(body, name)] }, 'one')[0] as Body);
    const [asPut, asDelete, asRange, asTxn] = [
      part('request_put'),
      part('request_delete_range'),
      part('request_range'),
      part('request_txn'),
    ];
    if (asPut !== undefined) return putOf(asPut);
    if (asDelete !== undefined) return deleteOf(asDelete);
    if (asRange !== undefined) return { op: 'range', ...rangeOf(asRange) };
    if (asTxn !== undefined && isNew) return txnOf(asTxn, isNew);
    throw refuse(failures.noKey);
  };
const txnOf = (body: Body, isNew: boolean): Txn => {
  const [compare, success, failure] = [
    listField(body, 'compare'),
    listField(body, 'success'),
    listField(body, 'failure'),
  ];
  if ([compare, success, failure].some(({ length }) => length > MOST_OPS)) throw refuse(failures.tooManyOps);
  return {
    op: 'txn',
    compare: compare.map(compareOf(isNew)),
    success: success.map(opOf(isNew)),
    failure: failure.map(opOf(isNew)),
  };
};
type Touched = { readonly puts: readonly string[]; readonly deletes: readonly KeyRange[] };
/** Only one of the two branches of an inner transaction runs, so both may contain the same key. */
const listTouched = (ops: readonly TxnOp[]): Touched => {
  const inner = ops.flatMap((one) => (one.op === 'txn' ? [bothWays(one)] : []));
  const puts = [
    ...ops.flatMap((one) => (one.op === 'put' ? [one.key] : [])),
    ...inner.flatMap((one) => [...new Set(one.puts)]),
  ];
  const deletes = [
    ...ops.filter((one): one is Delete => one.op === 'delete'),
    ...inner.flatMap((one) => one.deletes),
  ];
  const isTwice =
    new Set(puts).size < puts.length || puts.some((key) => deletes.some((range) => contains(range, key)));
  if (isTwice) throw refuse(failures.duplicateKey);
  return { puts, deletes };
};
const bothWays = ({ success, failure }: Txn): Touched => {
  const [yes, no] = [listTouched(success), listTouched(failure)];
  return { puts: [...yes.puts, ...no.puts], deletes: [...yes.deletes, ...no.deletes] };
};
const bytesOf = (one: TxnOp): number => {
  if (one.op === 'put') return sizeOf(one);
  return one.op === 'txn'
    ? [...one.success, ...one.failure].reduce((sum, inner) => sum + bytesOf(inner), 0)
    : one.key.length;
};
const responseBody = (revision: number, response: TxnResponse): Body => {
  const own = { revision: String(revision) };
  if (response.op === 'put')
    return { response_put: omitZeros({ header: own, prev_kv: response.prev && kvBody(response.prev) }) };
  if (response.op === 'delete')
    return {
      response_delete_range: {
        header: own,
        ...omitZeros({ deleted: String(response.deleted), prev_kvs: response.prev.map(kvBody) }),
      },
    };
  if (response.op === 'range') return { response_range: { header: own, ...rangeBody(response) } };
  const responses = response.responses.map((one) => responseBody(revision, one));
  return { response_txn: { header: {}, ...omitZeros({ succeeded: response.succeeded, responses }) } };
};
export const txn = async (api: Api, call: Call): Promise<Body> => {
  const command = txnOf(call.body, api.form.has.leases);
  bothWays(command);
  const bytes = bytesOf(command);
  checkSize(api, bytes);
  checkToken(api, call);
  if (writes(command)) await checkSpace(api, bytes);
  const { revision, txn: done } = await proposeCommand(api, command);
  const responses = (done?.responses ?? []).map((one) => responseBody(revision, one));
  return omitZeros({ header: header(api, revision), succeeded: done?.succeeded, responses });
};
