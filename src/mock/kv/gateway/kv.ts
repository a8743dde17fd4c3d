import type { Applied, Command, Compare, KeyValue, RangeOptions, RangeResult, TxnOp, TxnResponse } from '../state/command.ts';
import { failures } from '../state/keyspace.ts';
import { decimal } from '../disk/identity.ts';
import { TimedOut } from '../member/node.ts';
import { base64Field, bigField, booleanField, bytesField, enumField, field, listField, numberField } from './fields.ts';
import { type Api, type Body, type Call, RpcError, filled } from './rpc.ts';

const base64 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('base64');
export const header = (api: Api, revision = api.node.machine.keys.revision): Body =>
  filled({ cluster_id: decimal(api.clusterId), member_id: decimal(api.node.id), revision: String(revision), raft_term: String(api.node.raft.term) });

const kvBody = (kv: KeyValue): Body =>
  filled({
    key: base64(kv.key),
    create_revision: String(kv.create),
    mod_revision: String(kv.mod),
    version: String(kv.version),
    value: kv.value,
    lease: kv.lease,
  });
const rangeBody = (result: RangeResult): Body => filled({ kvs: result.kvs.map(kvBody), more: result.more, count: String(result.count) });

/** doc3 Errors: a request without a token where auth is on; a token of a member that was restarted (facts kv A2). */
export const checkToken = (api: Api, call: Call): string | undefined => {
  if (!api.node.machine.isAuthOn) return undefined;
  if (call.token === undefined) throw new RpcError(3, 'etcdserver: user name is empty');
  const user = api.tokens.userOf(call.token);
  if (user === undefined) throw new RpcError(16, 'etcdserver: invalid auth token');
  return user;
};

/** doc3 Limits: server request size, default 1.5 MiB; the transport's own limit is 512 KiB above it. */
const checkSize = (api: Api, bytes: number): void => {
  const transport = api.settings.maxRequestBytes + 512 * 1024;
  if (bytes > transport) throw new RpcError(8, `grpc: received message larger than max (${bytes} vs. ${transport})`);
  if (bytes > api.settings.maxRequestBytes) throw new RpcError(3, 'etcdserver: request is too large');
};

export const agreed = async (api: Api, command: Command): Promise<Extract<Applied, { ok: true }>> => {
  try {
    const result = await api.node.propose(command);
    if (!result.ok) throw new RpcError(result.failure.code, result.failure.message);
    return result;
  } catch (error) {
    if (error instanceof TimedOut) throw new RpcError(14, 'etcdserver: request timed out');
    throw error;
  }
};
export const linearized = async (api: Api): Promise<void> => {
  try {
    await api.node.linearize();
  } catch (error) {
    if (error instanceof TimedOut) throw new RpcError(14, 'etcdserver: request timed out');
    throw error;
  }
};

/** Whoever takes a write that passes the quota raises the alarm for the whole cluster. */
const checkSpace = async (api: Api, bytes: number): Promise<void> => {
  const { machine } = api.node;
  if (!machine.has('NOSPACE') && machine.isFull(bytes)) {
    await agreed(api, { op: 'alarm', action: 'ACTIVATE', member: decimal(api.node.id), alarm: 'NOSPACE' });
  }
  if (machine.has('NOSPACE')) throw new RpcError(failures.noSpace.code, failures.noSpace.message);
};

const keyOf = (body: Body): string => {
  const key = bytesField(body, 'key');
  if (key === '') throw new RpcError(failures.emptyKey.code, failures.emptyKey.message);
  return key;
};
const leaseOf = (body: Body): string | undefined => {
  const lease = bigField(body, 'lease');
  return lease === '0' ? undefined : lease;
};
const putOf = (body: Body): TxnOp & { op: 'put' } => ({
  op: 'put',
  key: keyOf(body),
  value: base64Field(body, 'value'),
  lease: leaseOf(body),
  prevKv: booleanField(body, 'prev_kv'),
});
const deleteOf = (body: Body): TxnOp & { op: 'delete' } => ({
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
  sortOrder: enumField(body, 'sort_order', ['NONE', 'ASCEND', 'DESCEND']),
  sortTarget: enumField(body, 'sort_target', ['KEY', 'VERSION', 'CREATE', 'MOD', 'VALUE']),
  keysOnly: booleanField(body, 'keys_only'),
  countOnly: booleanField(body, 'count_only'),
});
const sizeOf = (put: { key: string; value: string }): number => put.key.length + Math.floor((put.value.length * 3) / 4) + 10;

export const put = async (api: Api, call: Call): Promise<Body> => {
  const command = putOf(call.body);
  checkSize(api, sizeOf(command));
  checkToken(api, call);
  await checkSpace(api, sizeOf(command));
  const { revision, prev } = await agreed(api, command);
  return filled({ header: header(api, revision), prev_kv: prev?.[0] && kvBody(prev[0]) });
};

export const range = async (api: Api, call: Call): Promise<Body> => {
  const options = rangeOf(call.body);
  checkToken(api, call);
  if (!booleanField(call.body, 'serializable')) await linearized(api);
  const result = api.node.machine.keys.range(options);
  if ('code' in result) throw new RpcError(result.code, result.message);
  return { header: header(api), ...rangeBody(result) };
};

export const deleteRange = async (api: Api, call: Call): Promise<Body> => {
  const command = deleteOf(call.body);
  checkToken(api, call);
  const { revision, deleted, prev } = await agreed(api, command);
  return filled({ header: header(api, revision), deleted: String(deleted ?? 0), prev_kvs: (prev ?? []).map(kvBody) });
};

const compareOf = (body: Body): Compare => {
  const target = enumField(body, 'target', ['VERSION', 'CREATE', 'MOD', 'VALUE']);
  const name = { VERSION: 'version', CREATE: 'create_revision', MOD: 'mod_revision', VALUE: 'value' }[target];
  const result = enumField(body, 'result', ['EQUAL', 'GREATER', 'LESS', 'NOT_EQUAL']);
  return { key: keyOf(body), target, result, value: target === 'VALUE' ? base64Field(body, name) : numberField(body, name) };
};
const opOf = (body: Body): TxnOp => {
  const part = (name: string): Body | undefined => field(body, name) as Body | undefined;
  const [asPut, asDelete, asRange] = [part('request_put'), part('request_delete_range'), part('request_range')];
  if (asPut !== undefined) return putOf(asPut);
  if (asDelete !== undefined) return deleteOf(asDelete);
  if (asRange !== undefined) return { op: 'range', ...rangeOf(asRange) };
  throw new RpcError(3, 'etcdserver: key is not provided');
};
const responseBody = (api: Api, revision: number, response: TxnResponse): Body => {
  const own = { revision: String(revision) };
  if (response.op === 'put') return { response_put: filled({ header: own, prev_kv: response.prev && kvBody(response.prev) }) };
  if (response.op === 'delete') return { response_delete_range: { header: own, ...filled({ deleted: String(response.deleted) }) } };
  return { response_range: { header: own, ...rangeBody(response) } };
};

export const txn = async (api: Api, call: Call): Promise<Body> => {
  const compare = listField(call.body, 'compare').map(compareOf);
  const success = listField(call.body, 'success').map(opOf);
  const failure = listField(call.body, 'failure').map(opOf);
  for (const branch of [success, failure]) {
    const keys = branch.filter((one) => one.op === 'put').map((one) => one.key);
    if (new Set(keys).size < keys.length) throw new RpcError(failures.duplicateKey.code, failures.duplicateKey.message);
  }
  const bytes = [...success, ...failure].reduce((sum, one) => sum + (one.op === 'put' ? sizeOf(one) : one.key.length), 0);
  checkSize(api, bytes);
  checkToken(api, call);
  if ([...success, ...failure].some((one) => one.op === 'put')) await checkSpace(api, bytes);
  const { revision, txn: done } = await agreed(api, { op: 'txn', compare, success, failure });
  const responses = (done?.responses ?? []).map((one) => responseBody(api, revision, one));
  return filled({ header: header(api, revision), succeeded: done?.succeeded, responses });
};

export const compaction = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const { revision } = await agreed(api, { op: 'compact', revision: numberField(call.body, 'revision') });
  return { header: header(api, revision) };
};
