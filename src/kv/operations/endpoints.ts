import { next } from '../../core/next.ts';
import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { hexId } from '../client/messages.ts';
import { isCompacted, type Store } from '../client/etcd-client.ts';
import type { MemberHash, MemberRevisions } from '../engine/model.ts';
import { compareHashes, contradictions, readRevisions } from '../upgrade/observe/observe.ts';
import { compareVersions, minorOf } from '../../api-specs/etcd/versions.ts';

/** A member with the endpoint that the user typed. */
export type Endpoint = { readonly endpoint: string; readonly store: Store };
/** Returns the message without its address, because the line starts with the endpoint. */
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
/**
 * Returns the lowest of the members' newest revisions, which all members have. The newest revisions differ
 * while clients write.
 */
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
type HashAttempt = { readonly row: Hashed | Failed; readonly isOvertaken: boolean };
const hashOf = async ({ endpoint, store }: Endpoint, revision: number): Promise<HashAttempt> => {
  try {
    const { server } = await store.versions();
    const { hash, compact_revision, revision: newest } = await store.hashKv(revision);
    const row = { endpoint, hash, revision: revision === 0 ? newest : revision, compact_revision };
    return { row: { ...row, version: server }, isOvertaken: false };
  } catch (error) {
    return { row: { endpoint, error: reasonOf(error) }, isOvertaken: isCompacted(error) };
  }
};
/** Hashes the endpoints in sequence, so that at most one member pauses. */
const hashAll = async (endpoints: readonly Endpoint[], revision: number): Promise<HashAttempt[]> => {
  const found: HashAttempt[] = [];
  for (const endpoint of endpoints) found.push(await hashOf(endpoint, revision));
  return found;
};
const rowsOf = (found: readonly HashAttempt[]): (Hashed | Failed)[] => found.map(({ row }) => row);
const mostHashTries = 3;
/** Returns the error of each endpoint that does not return its version: it would use up a limit for each hash. */
const findAbsent = async (endpoints: readonly Endpoint[]): Promise<ReadonlyMap<string, Failed>> => {
  const errors = await Promise.all(
    endpoints.map(({ endpoint, store }) =>
      store.versions().then(
        () => undefined,
        (error: unknown) => ({ endpoint, error: reasonOf(error) }),
      ),
    ),
  );
  return new Map(errors.flatMap((failed) => (failed === undefined ? [] : [[failed.endpoint, failed]])));
};
/** Hashes the endpoints that respond, and returns a row for every endpoint. */
export const hashedAt = async (
  endpoints: readonly Endpoint[],
  asked: number | undefined,
): Promise<(Hashed | Failed)[]> => {
  const absent = await findAbsent(endpoints);
  const rows = await hashResponding(
    endpoints.filter(({ endpoint }) => !absent.has(endpoint)),
    asked,
  );
  return endpoints.map(({ endpoint }) => absent.get(endpoint) ?? (rows.shift() as Hashed | Failed));
};
/**
 * Hashes every endpoint at one revision: the requested revision, or the newest revision that all members
 * have. Reads that revision again if a compaction has overtaken it. Without a write since the compaction, 3.3
 * and 3.4 return a hash only at their newest revision (0).
 */
const hashResponding = async (
  endpoints: readonly Endpoint[],
  asked: number | undefined,
): Promise<(Hashed | Failed)[]> => {
  if (asked !== undefined) return rowsOf(await hashAll(endpoints, asked));
  let found: readonly HashAttempt[] = [];
  for (let tries = 0; tries < mostHashTries; tries += 1) {
    found = await hashAll(endpoints, await commonRevision(endpoints));
    if (!found.some(({ isOvertaken }) => isOvertaken)) break;
    const newest = rowsOf(await hashAll(endpoints, 0));
    const revisions = newest.flatMap((row) => ('revision' in row ? [row.revision] : []));
    if (new Set(revisions).size === 1) return newest;
  }
  return rowsOf(found);
};
/**
 * Compares the hashes of the members and describes a difference. An endpoint without a hash proves no
 * equality.
 */
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
    return {
      isSame,
      warning: 'a compaction is in progress, so the hashes cannot be compared: run the command again',
    };
  if (found.kind === 'unproved')
    return {
      isSame,
      warning: 'the versions differ, and a compaction ran: a different hash is not a fault here',
    };
  if (found.kind !== 'different') return { isSame };
  const who =
    found.odd.length === 0
      ? 'the members hold'
      : `${found.odd.join(', ')} ${found.odd.length === 1 ? 'holds' : 'hold'}`;
  return { isSame, warning: `${who} different data at revision ${hashed[0]?.revision}` };
};

const differingRevisions = (rows: readonly MemberRevisions[]): string | undefined => {
  const odd = contradictions(rows);
  if (odd === undefined) return undefined;
  const seen = rows.map(({ name, after }) => `${name} ${after}`).join(', ');
  const who = odd.length === 0 ? 'the members' : odd.join(', ');
  return `${who} ${odd.length === 1 ? 'holds' : 'hold'} different data: the revisions differ after the same changes (${seen})`;
};
/**
 * Compares the revisions of the endpoints and describes a difference: hashes at a revision before the difference
 * are equal. Different clusters count their own changes, so their revisions are not compared. An endpoint that
 * does not return its revision twice proves no equality.
 */
export const revisionVerdict = async (endpoints: readonly Endpoint[]): Promise<Verdict> => {
  if (endpoints.length < 2) return { isSame: true };
  const states = await Promise.all(endpoints.map(({ store }) => store.status().catch(() => undefined)));
  const clusters = states.flatMap((state) => (state === undefined ? [] : [state.cluster_id]));
  if (new Set(clusters).size > 1) return { isSame: true };
  // A learner serves no linearizable read. Only its hash is compared.
  const voters = endpoints.filter((_, i) => states[i]?.is_learner !== true);
  const rows = await readRevisions(voters.map(({ endpoint, store }) => ({ name: endpoint, store })));
  const differing = differingRevisions(rows);
  if (differing !== undefined) return { isSame: false, warning: differing };
  const unread = voters.filter(({ endpoint }) => rows.every(({ name }) => name !== endpoint));
  if (unread.length === 0) return { isSame: true };
  const names = unread.map(({ endpoint }) => endpoint).join(', ');
  return { isSame: false, warning: `revisions not compared: no revision from ${names}` };
};

const trimZeros = (value: number, digits: number): string => value.toFixed(digits).replace(/\.?0+$/, '');
/** Formats a duration as etcdctl does: `2.257987ms`, `512.3µs`, `1.5s`, `2m3.5s`. */
export const goDuration = (ms: number): string => {
  if (ms < 1) return `${trimZeros(ms * 1000, 3)}µs`;
  if (ms < 1000) return `${trimZeros(ms, 6)}ms`;
  if (ms < 60_000) return `${trimZeros(ms / 1000, 9)}s`;
  const minutes = Math.floor(ms / 60_000);
  return `${minutes}m${trimZeros((ms - minutes * 60_000) / 1000, 9)}s`;
};

/** Returns the result of the member's /health. */
export const queryHealth = async ({ endpoint, store }: Endpoint) => {
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
  /** The check made no proposal: without a user it could only read /health. */
  readonly is_proposed?: false;
  readonly error?: string;
};
/**
 * Commits a proposal through the member. If authentication is on and no user is given, it uses /health to
 * avoid a false alarm (spec/store#measured-answers).
 */
export const propose = async (
  host: Pick<Host, 'elapsed'>,
  { endpoint, store }: Endpoint,
): Promise<Proposed> => {
  let began = host.elapsed();
  const took = (): string => goDuration(host.elapsed() - began);
  try {
    // The measured time excludes the version lookup and the connection.
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

export const queryStatus = async ({ endpoint, store }: Endpoint) => {
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
/** Returns the columns of etcdctl. Omits columns without a value and an empty error column. */
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
/** Returns /version of each member. Throws if no member responds. */
export const queryVersions = async (endpoints: readonly Endpoint[]): Promise<Told[]> => {
  const rows = await Promise.all(endpoints.map(askedVersion));
  if (rows.some(({ error }) => error === undefined)) return rows;
  const why = rows.map(({ endpoint, error }) => `${endpoint}: ${error}`).join('; ');
  throw new AppError('network', `no member responds: ${why}`, {
    code: 'UNAVAILABLE',
    tryThis: [next(['kv', 'status'])],
  });
};

/** A member that may receive a lease revoke. */
type Target<T> = { readonly endpoint: string; readonly store: Store; readonly target: T };
type Seen<T> = Target<T> & { readonly server?: string; readonly isMixed: boolean };

/**
 * Returns whether a member is newer than its cluster, or its cluster has no version yet. Such a member
 * belongs to a mixed cluster.
 */
const isNewer = (server: string, cluster: string): boolean => {
  const [own, common] = [minorOf(server), minorOf(cluster)];
  return own !== undefined && (common === undefined || compareVersions(own, common) > 0);
};

const look = async <T>(target: Target<T>): Promise<Seen<T>> => {
  try {
    const { server, cluster } = await target.store.versions();
    return { ...target, server, isMixed: isNewer(server, cluster) };
  } catch {
    // A member that does not respond cannot receive a revoke.
    return { ...target, isMixed: false };
  }
};

/**
 * Returns the members that may receive a lease revoke. spec/store#limits-4: with authentication on, an
 * unauthorized revoke at a member of the new version can corrupt data while the versions are mixed. The
 * function excludes such members and refuses the revoke if no other member responds.
 */
export const revokeTargets = async <T>(
  targets: readonly Target<T>[],
  isAuthOn: (target: T) => Promise<boolean | undefined>,
): Promise<readonly T[]> => {
  const seen = await Promise.all(targets.map(look));
  const newer = seen.filter(({ isMixed }) => isMixed);
  const all = targets.map(({ target }) => target);
  const [first] = newer;
  if (first === undefined || (await isAuthOn(first.target)) === false) return all;
  const safe = seen.filter(({ isMixed, server }) => !isMixed && server !== undefined);
  if (safe.length > 0) return safe.map(({ target }) => target);
  const names = newer.map(({ endpoint, server }) => `${endpoint} (${server})`).join(', ');
  throw new AppError(
    'unsafe',
    `no changes were made: the cluster runs two versions, authentication is on, and ${names} ${newer.length === 1 ? 'runs' : 'run'} the new version: a lease revoke without permission there can corrupt data`,
    {
      code: 'MIXED_REVOKE',
      tryThis: [
        'use --endpoints with a member that runs the old version',
        next(['kv', 'resume'], 'finishes the upgrade; then revoke the lease'),
      ],
    },
  );
};
