import { next } from '../../core/next.ts';
import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { hexId } from '../client/messages.ts';
import type { Store } from '../client/etcd-client.ts';
import type { MemberHash } from '../engine/model.ts';
import { compareHashes } from '../upgrade/observe/observe.ts';

/** A member under the address that was typed for it. */
export type Endpoint = { readonly endpoint: string; readonly store: Store };
/** The message without the address in front of it: the line begins with the endpoint already. */
const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^[^ ]+:\d+: /, '') : String(error);

type Failed = { readonly endpoint: string; readonly error: string };
type Hashed = {
  readonly endpoint: string;
  readonly hash: number;
  readonly revision: number;
  readonly compact_revision: number;
  readonly version: string;
};
type Verdict = { readonly isSame: boolean; readonly warning?: string };
/** Each member's newest revision is another one while somebody writes: the lowest of them is one that all have. */
const commonRevision = async (endpoints: readonly Endpoint[]): Promise<number> => {
  const seen = await Promise.all(
    endpoints.map(({ store }) =>
      store.status().then(
        ({ revision }) => revision,
        () => 0,
      ),
    ),
  );
  const known = seen.filter((revision) => revision > 0);
  return known.length === 0 ? 0 : Math.min(...known);
};
const hashOf = async ({ endpoint, store }: Endpoint, revision: number): Promise<Hashed | Failed> => {
  try {
    const { server } = await store.versions();
    const { hash, compact_revision } = await store.hashKv(revision);
    return { endpoint, hash, revision, compact_revision, version: server };
  } catch (error) {
    return { endpoint, error: reasonOf(error) };
  }
};
/** Every endpoint at one revision: the one that was asked for, else the newest that all have. */
export const hashedAt = async (
  endpoints: readonly Endpoint[],
  asked: number | undefined,
): Promise<(Hashed | Failed)[]> => {
  const revision = asked ?? (await commonRevision(endpoints));
  const rows: (Hashed | Failed)[] = [];
  // One after the other: never more than one member pauses.
  for (const endpoint of endpoints) rows.push(await hashOf(endpoint, revision));
  return rows;
};
/** Whether the hashes say that the members hold the same data, in words when they do not. An endpoint without a hash proves nothing. */
export const hashVerdict = (rows: readonly (Hashed | Failed)[]): Verdict => {
  const hashed = rows.filter((row): row is Hashed => 'hash' in row);
  const found = compareHashes(
    hashed.map(
      ({ endpoint, version, hash, compact_revision }): MemberHash => ({
        name: endpoint,
        server: version,
        hash,
        compact_revision,
      }),
    ),
  );
  const isSame = found.kind !== 'different' && hashed.length === rows.length;
  if (found.kind === 'moving')
    return { isSame, warning: 'a compaction is under way: the hashes cannot be compared; ask again' };
  if (found.kind === 'unproved')
    return {
      isSame,
      warning: 'different versions after a compaction: a different hash proves nothing here',
    };
  if (found.kind !== 'different') return { isSame };
  const who =
    found.odd.length === 0
      ? 'the members hold'
      : `${found.odd.join(', ')} ${found.odd.length === 1 ? 'holds' : 'hold'}`;
  return { isSame, warning: `${who} different data at revision ${hashed[0]?.revision}` };
};

const trimZeros = (value: number, digits: number): string => value.toFixed(digits).replace(/\.?0+$/, '');
/** A time as the store's own tools print it: `2.257987ms`, `512.3µs`, `1.5s`, `2m3.5s`. */
export const goDuration = (ms: number): string => {
  if (ms < 1) return `${trimZeros(ms * 1000, 3)}µs`;
  if (ms < 1000) return `${trimZeros(ms, 6)}ms`;
  if (ms < 60_000) return `${trimZeros(ms / 1000, 9)}s`;
  const minutes = Math.floor(ms / 60_000);
  return `${minutes}m${trimZeros((ms - minutes * 60_000) / 1000, 9)}s`;
};

/** What /health of the member says. */
export const askedHealth = async ({ endpoint, store }: Endpoint) => {
  try {
    const { is_healthy, reason, status } = await store.health();
    return {
      endpoint,
      health: is_healthy ? 'true' : 'false',
      status,
      ...(reason === undefined ? {} : { reason }),
    };
  } catch (error) {
    return { endpoint, health: 'false', reason: reasonOf(error) };
  }
};
export type Proposed = {
  readonly endpoint: string;
  readonly health: boolean;
  readonly took: string;
  /** No proposal was made: without a user, only /health could be read. */
  readonly is_proposed?: false;
  readonly error?: string;
};
/** A proposal through the member; without a user and with authentication on, what /health says (spec/store#measured-answers: else a false alarm). */
export const propose = async (
  host: Pick<Host, 'elapsed'>,
  { endpoint, store }: Endpoint,
): Promise<Proposed> => {
  let began = host.elapsed();
  const took = (): string => goDuration(host.elapsed() - began);
  try {
    // Finding out how the member is spoken to, and connecting, is no part of the proposal.
    await store.row();
    began = host.elapsed();
    await store.range('health');
    return { endpoint, health: true, took: took() };
  } catch (error) {
    const isAuth = error instanceof AppError && error.category === 'auth';
    const isHealthy =
      isAuth &&
      (await store.health().then(
        ({ is_healthy }) => is_healthy,
        () => false,
      ));
    return isHealthy
      ? { endpoint, health: true, took: took(), is_proposed: false }
      : { endpoint, health: false, took: took(), error: reasonOf(error) };
  }
};
/** spec/store#interfaces: `<host:port> is healthy: successfully committed proposal: took = <duration>` */
export const proposalText = (rows: readonly Proposed[]): string =>
  rows
    .map(({ endpoint, health, took, is_proposed, error }) =>
      is_proposed === false
        ? `${endpoint} is healthy: /health is true; no proposal without a user`
        : health
          ? `${endpoint} is healthy: successfully committed proposal: took = ${took}`
          : `${endpoint} is unhealthy: failed to commit proposal: ${error}`,
    )
    .join('\n');

export const askedStatus = async ({ endpoint, store }: Endpoint) => {
  try {
    const { member_id, leader_id, cluster_id, ...rest } = await store.status();
    const { server } = await store.versions();
    return {
      endpoint,
      id: hexId(member_id),
      cluster_id: hexId(cluster_id),
      is_leader: leader_id === member_id,
      leader: leader_id === undefined ? '' : hexId(leader_id),
      ...rest,
      version: server,
    };
  } catch (error) {
    return { endpoint, error: reasonOf(error) };
  }
};
type Row = { readonly [key: string]: unknown };
/** What the tools of the store show; what a version does not tell, and an error that nobody has, takes no room. */
export const statusColumns = (rows: readonly Row[]): string[] => {
  const isTold = (key: string): boolean =>
    rows.some((row) => row[key] !== undefined && (!Array.isArray(row[key]) || row[key].length > 0));
  const some = (...keys: string[]): string[] => keys.filter(isTold);
  return [
    ...[
      'endpoint',
      'id',
      'version',
      'db_size_bytes',
      'is_leader',
      ...some('is_learner'),
      'raft_term',
      'raft_index',
    ],
    ...some('applied_index', 'errors', 'error'),
  ];
};

type Told = {
  readonly endpoint: string;
  readonly kvserver?: string;
  readonly kvcluster?: string;
  readonly error?: string;
};
const askedVersion = async ({ endpoint, store }: Endpoint): Promise<Told> => {
  try {
    const { server, cluster } = await store.versions();
    return { endpoint, kvserver: server, kvcluster: cluster };
  } catch (error) {
    return { endpoint, error: reasonOf(error) };
  }
};
/** What /version of each member says; an error when none of them answers. */
export const askedVersions = async (endpoints: readonly Endpoint[]): Promise<Told[]> => {
  const rows = await Promise.all(endpoints.map(askedVersion));
  if (rows.some(({ error }) => error === undefined)) return rows;
  const why = rows.map(({ endpoint, error }) => `${endpoint}: ${error}`).join('; ');
  throw new AppError('network', `no member answers: ${why}`, {
    code: 'UNAVAILABLE',
    tryThis: [next(['kv', 'status'])],
  });
};
