import type { Failure, Put, RangeResult, Txn, TxnOp, TxnResponse } from './command.ts';
import { type Keyspace, failures } from './keyspace.ts';

type State = { readonly keys: Keyspace; readonly leases: ReadonlyMap<string, unknown> };
/** Which way each transaction goes, the inner ones too: decided before anything is changed. */
type Ways = Map<Txn, boolean>;

const decide = (keys: Keyspace, ops: readonly TxnOp[], ways: Ways): Ways => {
  for (const one of ops) {
    if (one.op !== 'txn') continue;
    ways.set(
      one,
      one.compare.every((compare) => keys.holds(compare)),
    );
    decide(keys, chosen(one, ways), ways);
  }
  return ways;
};
const chosen = (txn: Txn, ways: Ways): readonly TxnOp[] => (ways.get(txn) ? txn.success : txn.failure);

const putProblem = (
  { keys, leases }: State,
  { key, lease, ignoreValue, ignoreLease }: Put,
): Failure | undefined => {
  if ((ignoreValue || ignoreLease) && keys.get(key) === undefined) return failures.noKey;
  return lease !== undefined && !leases.has(lease) ? failures.noLease : undefined;
};
/** All or nothing: what would be refused is found before the first change. */
const problemIn = (state: State, ops: readonly TxnOp[], ways: Ways): Failure | undefined => {
  for (const one of ops) {
    const range = one.op === 'range' ? state.keys.range({ ...one, countOnly: true }) : undefined;
    const found =
      one.op === 'put'
        ? putProblem(state, one)
        : one.op === 'txn'
          ? problemIn(state, chosen(one, ways), ways)
          : range !== undefined && 'code' in range
            ? range
            : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
};

type Change = { readonly revision: number; sub: number };

const carryOutPut = (keys: Keyspace, one: Put, change: Change): TxnResponse => {
  const before = keys.get(one.key);
  const value = one.ignoreValue ? (before?.value ?? '') : one.value;
  const lease = one.ignoreLease ? before?.lease : one.lease;
  const prev = keys.put(one.key, value, lease, change.revision, change.sub);
  change.sub += 1;
  keys.revision = change.revision;
  return one.prevKv ? { op: 'put', prev } : { op: 'put' };
};

/** Changes of one transaction share a revision, which moves only when something changed. */
const carryOut = (keys: Keyspace, ops: readonly TxnOp[], ways: Ways, change: Change): TxnResponse[] =>
  ops.map((one): TxnResponse => {
    if (one.op === 'txn')
      return {
        op: 'txn',
        succeeded: ways.get(one) === true,
        responses: carryOut(keys, chosen(one, ways), ways, change),
      };
    if (one.op === 'range') return { op: 'range', ...(keys.range(one) as RangeResult) };
    if (one.op === 'put') return carryOutPut(keys, one, change);
    const prev = keys.delete(one, change.revision, change.sub);
    change.sub += prev.length;
    if (prev.length > 0) keys.revision = change.revision;
    return { op: 'delete', deleted: prev.length, prev: one.prevKv ? prev : [] };
  });

export const transact = (state: State, ops: readonly TxnOp[]): readonly TxnResponse[] | Failure => {
  const ways = decide(state.keys, ops, new Map());
  return (
    problemIn(state, ops, ways) ??
    carryOut(state.keys, ops, ways, { revision: state.keys.revision + 1, sub: 0 })
  );
};

/** True when an operation, or one inside a transaction, writes a key. */
export const writes = (one: TxnOp): boolean =>
  one.op === 'put' || (one.op === 'txn' && [...one.success, ...one.failure].some(writes));
