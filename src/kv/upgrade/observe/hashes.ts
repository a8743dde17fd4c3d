import { minorOf, rowOf } from '../../../api-specs/etcd/versions.ts';
import type { Store } from '../../client/etcd-client.ts';
import type { MemberHash } from '../../engine/types.ts';

export type Comparison =
  | { readonly kind: 'same' }
  /** Asked before and after a compaction: to be asked again. */
  | { readonly kind: 'moving' }
  /** Different, and it proves nothing. */
  | { readonly kind: 'unproved'; readonly detail: string }
  /** `odd`: those that stand against a majority; empty when there is none. */
  | { readonly kind: 'different'; readonly odd: readonly string[]; readonly detail: string };

const named = (rows: readonly MemberHash[]): string =>
  rows
    .map(({ name, server, hash }) => `${name} (${server}) ${hash.toString(16).padStart(8, '0')}`)
    .join(', ');

/**
 * Whether members hold the same data. Pure.
 *
 * Measured with real servers 3.3.25, 3.4.23 and 3.5.16, mixed in one cluster: the hashes were equal at every revision from the last compaction
 * on, without a compaction (where every version says -1) and with one below, at and behind a deletion, after a restart and a defragmentation.
 * The revision of the compaction itself is refused by 3.3 and 3.4 and hashed by 3.5, there with the compaction before: never ask for that one.
 * What a compaction keeps of deleted keys has been changed within and between minors though, so after one only members of one minor must agree.
 */
export const compareHashes = (rows: readonly MemberHash[]): Comparison => {
  const count = (hash: number): number => rows.filter((row) => row.hash === hash).length;
  if (new Set(rows.map(({ compact_revision }) => Math.max(0, compact_revision))).size > 1)
    return { kind: 'moving' };
  if (rows.every(({ hash }) => hash === rows[0]?.hash)) return { kind: 'same' };
  const detail = named(rows);
  const isCompacted = rows.some(({ compact_revision }) => compact_revision > 0);
  const isMinorSplit = rows.some(({ server, hash }) =>
    rows.some((row) => minorOf(row.server) === minorOf(server) && row.hash !== hash),
  );
  if (isCompacted && !isMinorSplit) return { kind: 'unproved', detail };
  const most = rows.find(({ hash }) => count(hash) > rows.length / 2)?.hash;
  return {
    kind: 'different',
    odd: most === undefined ? [] : rows.flatMap(({ name, hash }) => (hash === most ? [] : [name])),
    detail,
  };
};

/** A version before 3.3; of one that is not known nothing is said. */
export const cannotHash = (server: string | undefined): boolean => rowOf(server)?.can.hashKv === false;

/** A member does nothing else while it hashes, 0.35 ms for each MiB as measured: above this its clients would feel the pause. */
export const mostHashedBytes = 512 * 1024 * 1024;

/** One after the other: never more than one member pauses. Those that cannot be asked, or do not answer, are left out. */
export const hashMembers = async (
  asked: readonly { readonly name: string; readonly store: Store }[],
  revision: number,
): Promise<MemberHash[]> => {
  const rows: MemberHash[] = [];
  for (const { name, store } of asked) {
    const row = await hashOf(name, store, revision).catch(() => undefined);
    if (row !== undefined) rows.push(row);
  }
  return rows;
};
const hashOf = async (name: string, store: Store, revision: number): Promise<MemberHash | undefined> => {
  const { server } = await store.versions();
  return cannotHash(server) ? undefined : { name, server, ...(await store.hashKv(revision)) };
};
