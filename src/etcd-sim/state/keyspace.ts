import type {
  Compare,
  Failure,
  KeyRange,
  KeyValue,
  Put,
  RangeOptions,
  RangeResult,
  StoredKey,
  StoredRecord,
  Txn,
  TxnOp,
  TxnResponse,
} from './command.ts';

type Version = { readonly mod: number; readonly sub: number; readonly kv?: StoredKey };
/** Failures in the wording of the real servers (spec/store#measured-answers). */
export const failures = {
  emptyKey: { code: 3, message: 'etcdserver: key is not provided' },
  compacted: { code: 11, message: 'etcdserver: mvcc: required revision has been compacted' },
  futureRevision: { code: 11, message: 'etcdserver: mvcc: required revision is a future revision' },
  noKey: { code: 3, message: 'etcdserver: key not found' },
  valueProvided: { code: 3, message: 'etcdserver: value is provided' },
  leaseProvided: { code: 3, message: 'etcdserver: lease is provided' },
  tooManyOps: { code: 3, message: 'etcdserver: too many operations in txn request' },
  noSpace: { code: 8, message: 'etcdserver: mvcc: database space exceeded' },
  noLease: { code: 5, message: 'etcdserver: requested lease not found' },
  leaseExists: { code: 9, message: 'etcdserver: lease already exists' },
  duplicateKey: { code: 3, message: 'etcdserver: duplicate key given in txn request' },
  corrupt: { code: 15, message: 'etcdserver: corrupt cluster' },
} as const satisfies Record<string, Failure>;
/** `end` of a range: absent is the one key, one zero byte is everything from the key on. */
export const contains = ({ key, end }: KeyRange, name: string): boolean =>
  end === undefined || end === '' ? name === key : name >= key && (end === '\0' || name < end);
const sorters: Readonly<Record<NonNullable<RangeOptions['sortTarget']>, (kv: KeyValue) => string | number>> =
  {
    KEY: (kv) => kv.key,
    VERSION: (kv) => kv.version,
    CREATE: (kv) => kv.create,
    MOD: (kv) => kv.mod,
    VALUE: (kv) => Buffer.from(kv.value, 'base64').toString('latin1'),
  };
const bytes = (base64: string | number): string => Buffer.from(String(base64), 'base64').toString('latin1');
const compared: Readonly<
  Record<
    Compare['target'],
    (kv: KeyValue | undefined, wanted: string | number) => readonly [unknown, unknown]
  >
> = {
  VERSION: (kv, wanted) => [kv?.version ?? 0, Number(wanted)],
  CREATE: (kv, wanted) => [kv?.create ?? 0, Number(wanted)],
  MOD: (kv, wanted) => [kv?.mod ?? 0, Number(wanted)],
  LEASE: (kv, wanted) => [BigInt(kv?.lease ?? 0), BigInt(wanted)],
  VALUE: (kv, wanted) => [bytes(kv?.value ?? ''), bytes(wanted)],
};
const fits = ({ target, result, value }: Compare, kv: KeyValue | undefined): boolean => {
  if (target === 'VALUE' && kv === undefined) return false;
  const [a, b] = compared[target](kv, value) as [number, number];
  return { EQUAL: a === b, NOT_EQUAL: a !== b, GREATER: a > b, LESS: a < b }[result];
};
/** A version of a key, with what it was before; without `kv` it was deleted. */
export type Change = Version & { readonly key: string; readonly previous?: StoredKey | undefined };
/** Every version of every key since the last compaction. */
export class Keyspace {
  readonly #keys = new Map<string, Version[]>();
  #order: string[] | undefined = [];
  #bytes = 0;
  revision = 1;
  compacted = 0;

  /** What a file of these keys would hold, without page overhead. */
  get sizeBytes(): number {
    return this.#bytes;
  }
  get(key: string): KeyValue | undefined {
    return this.#keys.get(key)?.at(-1)?.kv;
  }
  #sortedKeys(): string[] {
    this.#order ??= [...this.#keys.keys()].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    return this.#order;
  }
  #names(range: KeyRange): string[] {
    if (range.end === undefined || range.end === '') return this.#keys.has(range.key) ? [range.key] : [];
    return this.#sortedKeys().filter((name) => contains(range, name));
  }
  #at(name: string, revision: number): KeyValue | undefined {
    return this.#keys.get(name)?.findLast((version) => version.mod <= revision)?.kv;
  }
  range(options: RangeOptions): RangeResult | Failure {
    const at = options.revision ?? 0;
    if (at > this.revision) return failures.futureRevision;
    if (at > 0 && at < this.compacted) return failures.compacted;
    const found = this.#names(options).flatMap((name) => this.#at(name, at > 0 ? at : this.revision) ?? []);
    if (options.countOnly) return { kvs: [], count: found.length, more: false };
    const by = sorters[options.sortTarget ?? 'KEY'];
    if (options.sortOrder !== undefined && options.sortOrder !== 'NONE') {
      const sign = options.sortOrder === 'DESCEND' ? -1 : 1;
      found.sort((a, b) => sign * (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0));
    }
    const limit = options.limit !== undefined && options.limit > 0 ? options.limit : found.length;
    const kvs = found.slice(0, limit).map((kv) => (options.keysOnly ? { ...kv, value: '' } : kv));
    return { kvs, count: found.length, more: found.length > limit };
  }
  #add(name: string, version: Version): void {
    const versions = this.#keys.get(name);
    if (versions === undefined) {
      this.#keys.set(name, [version]);
      this.#order = undefined;
    } else versions.push(version);
    this.#bytes += name.length + 60 + ((version.kv?.value.length ?? 0) * 3) / 4;
  }
  /** `revision` is the whole transaction's; `sub` numbers its changes. */
  put(
    key: string,
    value: string,
    lease: string | undefined,
    revision: number,
    sub: number,
  ): KeyValue | undefined {
    const before = this.get(key);
    const kv = {
      key,
      value,
      create: before?.create ?? revision,
      mod: revision,
      version: (before?.version ?? 0) + 1,
      lease,
    };
    this.#add(key, { mod: revision, sub, kv });
    return before;
  }
  delete(range: KeyRange, revision: number, firstSub: number): KeyValue[] {
    const gone = this.#names(range).flatMap((name) => this.get(name) ?? []);
    for (const [i, kv] of gone.entries()) this.#add(kv.key, { mod: revision, sub: firstSub + i });
    return gone;
  }
  /** Every key of a range must match; a range without keys is compared as a missing key. */
  holds(compare: Compare): boolean {
    const names = compare.end === undefined || compare.end === '' ? [compare.key] : this.#names(compare);
    const found = names.flatMap((name) => this.get(name) ?? []);
    return found.length === 0 ? fits(compare, undefined) : found.every((kv) => fits(compare, kv));
  }
  compact(revision: number): Failure | undefined {
    if (revision <= this.compacted) return failures.compacted;
    if (revision > this.revision) return failures.futureRevision;
    this.compacted = revision;
    for (const [name, versions] of this.#keys) {
      const lastOld = versions.findLastIndex((version) => version.mod <= revision);
      const kept =
        lastOld < 0 ? versions : versions.slice(versions[lastOld]?.kv === undefined ? lastOld + 1 : lastOld);
      if (kept.length === versions.length) continue;
      if (kept.length === 0) this.#keys.delete(name);
      else this.#keys.set(name, kept);
    }
    this.#order = undefined;
    this.#bytes = [...this.versions()].reduce(
      (sum, { name, kv }) => sum + name.length + 60 + ((kv?.value.length ?? 0) * 3) / 4,
      0,
    );
    return undefined;
  }
  /** `compacted`: revisions up to this one are removed, so that watches from before are canceled. */
  restore(records: readonly StoredRecord[], revision: number, compacted = 0): void {
    for (const record of records) {
      const { sub = 0, ...kv } = record;
      this.#add(kv.key, { mod: kv.mod, sub, ...('isDeleted' in kv ? {} : { kv }) });
    }
    this.revision = Math.max(revision, 1);
    if (compacted > 0) this.compact(compacted);
  }
  /** What happened from a revision on, in order. */
  changesFrom(range: KeyRange, revision: number): Change[] {
    const found = this.#names(range).flatMap((key) => {
      const versions = this.#keys.get(key) ?? [];
      return versions.flatMap((version, i) =>
        version.mod < revision ? [] : [{ ...version, key, previous: versions[i - 1]?.kv }],
      );
    });
    return found.toSorted((a, b) => a.mod - b.mod || a.sub - b.sub);
  }
  /** Everything there is, for the snapshot file. */
  *versions(): Iterable<Version & { readonly name: string }> {
    for (const [name, versions] of this.#keys) for (const version of versions) yield { ...version, name };
  }
}

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
    decide(keys, chooseOps(one, ways), ways);
  }
  return ways;
};
const chooseOps = (txn: Txn, ways: Ways): readonly TxnOp[] => (ways.get(txn) ? txn.success : txn.failure);
const putProblem = (
  { keys, leases }: State,
  { key, lease, ignoreValue, ignoreLease }: Put,
): Failure | undefined => {
  if ((ignoreValue || ignoreLease) && keys.get(key) === undefined) return failures.noKey;
  return lease !== undefined && !leases.has(lease) ? failures.noLease : undefined;
};
/** Atomic: errors are found before the first change. */
const problemIn = (state: State, ops: readonly TxnOp[], ways: Ways): Failure | undefined => {
  for (const one of ops) {
    const range = one.op === 'range' ? state.keys.range({ ...one, countOnly: true }) : undefined;
    const found =
      one.op === 'put'
        ? putProblem(state, one)
        : one.op === 'txn'
          ? problemIn(state, chooseOps(one, ways), ways)
          : range !== undefined && 'code' in range
            ? range
            : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
};
type TransactionChange = { readonly revision: number; sub: number };
const applyPut = (keys: Keyspace, one: Put, change: TransactionChange): TxnResponse => {
  const before = keys.get(one.key);
  const value = one.ignoreValue ? (before?.value ?? '') : one.value;
  const lease = one.ignoreLease ? before?.lease : one.lease;
  const prev = keys.put(one.key, value, lease, change.revision, change.sub);
  change.sub += 1;
  keys.revision = change.revision;
  return one.prevKv ? { op: 'put', prev } : { op: 'put' };
};
/** Changes of one transaction share a revision, which moves only when something changed. */
const applyOps = (
  keys: Keyspace,
  ops: readonly TxnOp[],
  ways: Ways,
  change: TransactionChange,
): TxnResponse[] =>
  ops.map((one): TxnResponse => {
    if (one.op === 'txn')
      return {
        op: 'txn',
        succeeded: ways.get(one) === true,
        responses: applyOps(keys, chooseOps(one, ways), ways, change),
      };
    if (one.op === 'range') return { op: 'range', ...(keys.range(one) as RangeResult) };
    if (one.op === 'put') return applyPut(keys, one, change);
    const prev = keys.delete(one, change.revision, change.sub);
    change.sub += prev.length;
    if (prev.length > 0) keys.revision = change.revision;
    return { op: 'delete', deleted: prev.length, prev: one.prevKv ? prev : [] };
  });
export const transact = (state: State, ops: readonly TxnOp[]): readonly TxnResponse[] | Failure => {
  const ways = decide(state.keys, ops, new Map());
  return (
    problemIn(state, ops, ways) ??
    applyOps(state.keys, ops, ways, { revision: state.keys.revision + 1, sub: 0 })
  );
};
/** True when an operation, or one inside a transaction, writes a key. */
export const writes = (one: TxnOp): boolean =>
  one.op === 'put' || (one.op === 'txn' && [...one.success, ...one.failure].some(writes));
