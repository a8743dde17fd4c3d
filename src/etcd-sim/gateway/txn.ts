import type { Compare, Delete, KeyRange, Txn, TxnOp, TxnResponse } from '../state/command.ts';
import { contains, failures } from '../state/keyspace.ts';
import { writes } from '../state/transaction.ts';
import { base64Field, bigField, bytesField, enumField, field, listField } from './fields.ts';
import {
  agreed,
  checkSize,
  checkSpace,
  checkToken,
  deleteOf,
  header,
  keyOf,
  kvBody,
  putOf,
  rangeBody,
  rangeOf,
  sizeOf,
} from './kv.ts';
import { type Api, type Body, type Call, RpcError, filled } from './rpc.ts';

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
/** Of the two branches of an inner transaction only one is taken, so the same key may be in both. */
const touched = (ops: readonly TxnOp[]): Touched => {
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
  const [yes, no] = [touched(success), touched(failure)];
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
    return { response_put: filled({ header: own, prev_kv: response.prev && kvBody(response.prev) }) };
  if (response.op === 'delete')
    return {
      response_delete_range: {
        header: own,
        ...filled({ deleted: String(response.deleted), prev_kvs: response.prev.map(kvBody) }),
      },
    };
  if (response.op === 'range') return { response_range: { header: own, ...rangeBody(response) } };
  const responses = response.responses.map((one) => responseBody(revision, one));
  return { response_txn: { header: {}, ...filled({ succeeded: response.succeeded, responses }) } };
};

export const txn = async (api: Api, call: Call): Promise<Body> => {
  const command = txnOf(call.body, api.form.has.leases);
  bothWays(command);
  const bytes = bytesOf(command);
  checkSize(api, bytes);
  checkToken(api, call);
  if (writes(command)) await checkSpace(api, bytes);
  const { revision, txn: done } = await agreed(api, command);
  const responses = (done?.responses ?? []).map((one) => responseBody(revision, one));
  return filled({ header: header(api, revision), succeeded: done?.succeeded, responses });
};
