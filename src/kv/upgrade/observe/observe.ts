import { seeHold } from '../../engine/locks.ts';
import { readsFileOfVariable } from '../../../api-specs/etcd/server-settings.ts';
import { compareVersions, type Minor, minorOf, rowOf } from '../../../api-specs/etcd/versions.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import type { Host, Files } from '../../../platform/host.ts';
import type { Store } from '../../client/etcd-client.ts';
import { type Access, busyTimeoutMs } from '../../engine/access.ts';
import type {
  ClusterFile,
  MemberHash,
  MemberRevisions,
  MemberStatus,
  Observation,
  DirectoryStatus,
} from '../../engine/model.ts';
import type { Driver } from '../supervisors/driver.ts';
import { ownCertificate, seeCertificates, seeChangedAccess, seeUnreached } from './see-connections.ts';
import {
  seeMember,
  type InspectedMember,
  type MemberMetrics,
  seeMetrics,
  seeStarts,
  seeV2,
} from './see-member.ts';
import { dirname, join } from 'node:path';

export type Comparison =
  | { readonly kind: 'same' }
  /** The members were read before and after a compaction: read again. */
  | { readonly kind: 'moving' }
  /** The hashes differ, but this proves no fault. */
  | { readonly kind: 'unproved'; readonly detail: string }
  /** `odd`: members that differ from a majority; empty if no majority exists. */
  | { readonly kind: 'different'; readonly odd: readonly string[]; readonly detail: string };
const nameHashes = (rows: readonly MemberHash[]): string =>
  rows
    .map(({ name, server, hash }) => `${name} (${server}) ${hash.toString(16).padStart(8, '0')}`)
    .join(', ');
/**
 * Compares the data of members by their hashes. Pure.
 *
 * Measured with real servers 3.3.25, 3.4.23 and 3.5.16 in one mixed cluster: the hashes were equal at every
 * revision from the last compaction on. This includes tests without a compaction (every version reports -1),
 * with a compaction below, at and after a deletion, after a restart and after a defragmentation.
 *
 * Never request the revision of the compaction: 3.3 and 3.4 reject it, and 3.5 hashes it with the previous
 * compaction. The rules for deleted keys in a compaction have changed between and within minor versions, so
 * after a compaction only members of one minor version must agree.
 */
export const compareHashes = (rows: readonly MemberHash[]): Comparison => {
  const count = (hash: number): number => rows.filter((row) => row.hash === hash).length;
  if (new Set(rows.map(({ compact_revision }) => Math.max(0, compact_revision))).size > 1)
    return { kind: 'moving' };
  if (rows.every(({ hash }) => hash === rows[0]?.hash)) return { kind: 'same' };
  const detail = nameHashes(rows);
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
/** Returns true for a version before 3.3, but not for an unknown version. */
export const cannotHash = (server: string | undefined): boolean => rowOf(server)?.can.hashKv === false;
/**
 * A member is blocked while it hashes, 0.35 ms for each MiB as measured. Above this size its clients would
 * notice the pause.
 */
export const mostHashedBytes = 512 * 1024 * 1024;
type Reach = readonly { readonly name: string; readonly store: Store }[];
/**
 * Hashes one member after the other, so that at most one member pauses. Members that do not support hashes or
 * do not respond are left out.
 */
export const hashMembers = async (asked: Reach, revision: number): Promise<HashedMember[]> => {
  const rows: HashedMember[] = [];
  for (const { name, store } of asked) {
    const row = await hashOf(name, store, revision).catch(() => undefined);
    if (row !== undefined) rows.push(row);
  }
  return rows;
};
/** `revision`: the newest revision of the member at the time of its hash. */
type HashedMember = MemberHash & { readonly revision: number };
const hashOf = async (name: string, store: Store, revision: number): Promise<HashedMember | undefined> => {
  const { server } = await store.versions();
  return cannotHash(server) ? undefined : { name, server, ...(await store.hashKv(revision)) };
};
const mostHashTries = 3;
/** Returns the lowest of the members' newest revisions; `known` if no member reports its revision. */
const lowestRevision = async (asked: Reach, known: number): Promise<number> => {
  const seen = await Promise.all(asked.map(({ store }) => orUndefined(store.status())));
  const revisions = seen.flatMap((status) => (status === undefined ? [] : [status.revision]));
  return revisions.length === 0 ? known : Math.min(...revisions);
};
/**
 * Hashes the members at their lowest revision. 3.3 and 3.4 reject the revision of a compaction, so members
 * without a write since the compaction are hashed at their newest revision (0), if they all have the same one.
 * Reads the revision again for every attempt, because a compaction can overtake it.
 */
const hashAtOneRevision = async (
  asked: Reach,
  known: number,
): Promise<{ readonly revision: number; readonly hashes: readonly MemberHash[] }> => {
  let found: { readonly revision: number; readonly hashes: readonly MemberHash[] };
  let tries = 0;
  do {
    const revision = await lowestRevision(asked, known);
    found = { revision, hashes: await hashMembers(asked, revision) };
    if (isComparable(found.hashes, asked)) return found;
    tries += 1;
    if (found.hashes.length === asked.length) continue;
    const newest = await hashMembers(asked, 0);
    const isOneRevision = newest.every((row) => row.revision === newest[0]?.revision);
    if (isOneRevision && isComparable(newest, asked))
      return { revision: newest[0]?.revision ?? revision, hashes: newest };
  } while (tries < mostHashTries);
  return found;
};
const isComparable = (hashes: readonly MemberHash[], asked: Reach): boolean =>
  hashes.length === asked.length && compareHashes(hashes).kind !== 'moving';

/**
 * Reads the revision of each member twice, all members in parallel. A linearizable read waits until the member
 * has applied every entry that was committed before. Members that do not return both revisions are left out.
 */
export const readRevisions = async (asked: Reach): Promise<MemberRevisions[]> => {
  const readAll = (): Promise<(number | undefined)[]> =>
    Promise.all(
      asked.map(({ store }) =>
        orUndefined(store.range('opsctl', { limit: 1 }).then(({ revision }) => revision)),
      ),
    );
  const first = await readAll();
  const second = await readAll();
  return asked.flatMap(({ name }, at) => {
    const [before, after] = [first[at], second[at]];
    return before === undefined || after === undefined ? [] : [{ name, before, after }];
  });
};
/**
 * Returns the members whose revisions contradict the others; undefined if no two members contradict each other.
 * The list is empty if no majority agrees. Every second read follows every first read, so with equal data it
 * never returns a lower revision. A member that skipped or repeated an entry differs forever, and hashes at an
 * old revision do not show it. Pure.
 */
export const contradictions = (rows: readonly MemberRevisions[]): readonly string[] | undefined => {
  const agrees = (a: MemberRevisions, b: MemberRevisions): boolean =>
    a.before <= b.after && b.before <= a.after;
  const countOf = (row: MemberRevisions): number => rows.filter((other) => agrees(row, other)).length;
  if (rows.every((row) => countOf(row) === rows.length)) return undefined;
  const major = rows.filter((row) => countOf(row) > rows.length / 2);
  return major.length === 0 ? [] : rows.flatMap((row) => (major.includes(row) ? [] : [row.name]));
};

/** An idle member reports its version within a few milliseconds, even over a long distance. */
const slowMs = 250;
const isSilent = ({ is_reachable, error_code }: MemberStatus): boolean =>
  !is_reachable && error_code === 'DEADLINE_EXCEEDED';
/**
 * Returns the members without a timely response if another member was slow or if all were silent: then this
 * machine or the network is busy, and these members may only be late. If the others respond immediately or
 * refuse the connection, a silent member hangs.
 */
export const slowMembers = (seen: readonly MemberStatus[]): readonly string[] => {
  const silent = seen.filter(isSilent);
  const isBusy = silent.length === seen.length || seen.some(({ latency_ms = 0 }) => latency_ms >= slowMs);
  return isBusy ? silent.map(({ name }) => name) : [];
};
/**
 * Observes all members in parallel and returns them in their order. A member that may only be late gets one
 * more attempt with more time.
 */
export const seeMembers = async (
  host: Host,
  cluster: ClusterFile,
  access: Access,
): Promise<InspectedMember[]> => {
  const { members } = cluster;
  const seen = await Promise.all(members.map((spec) => seeMember(host, spec, access)));
  const late = new Set(slowMembers(seen));
  return Promise.all(
    seen.map(async (member, i) => {
      const spec = members[i];
      return spec === undefined || !late.has(member.name)
        ? member
        : seeMember(host, spec, access, busyTimeoutMs);
    }),
  );
};

export type ObserveOptions = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly access: Access;
  /** Without a driver the hosts are not inspected. */
  readonly driver?: Driver;
  /** Includes the sizes of whole data directories: only if a copy of them is planned. */
  readonly sizes?: boolean;
  /** Includes authentication, leases, hashes and the hold. */
  readonly isDeep?: boolean;
  /** Includes the hold that is stored in the cluster. */
  readonly hasHold?: boolean;
  /** Includes the revisions of the members, which show whether their data differs. */
  readonly hasRevisions?: boolean;
  /** Directory of the planned run, for the check of the free space on this machine. */
  readonly runDirectory?: string;
};
const orUndefined = async <T>(promise: Promise<T>): Promise<T | undefined> => promise.catch(() => undefined);
/** The leader according to more than half of all members. */
const agreedLeader = (members: readonly MemberStatus[]): string | undefined => {
  const votes = new Map<string, number>();
  for (const { leader_id } of members)
    if (leader_id !== undefined) votes.set(leader_id, (votes.get(leader_id) ?? 0) + 1);
  const [id] = [...votes].find(([, count]) => count > members.length / 2) ?? [];
  return members.find(({ member_id }) => id !== undefined && member_id === id)?.name;
};
const minors = (members: readonly MemberStatus[]): Minor[] =>
  members
    .flatMap(({ server_version }) => minorOf(server_version) ?? [])
    .sort((a, b) => compareVersions(a, b));
/** Derives facts of the whole cluster from the facts of its members. Pure. */
export const observationFrom = (
  cluster: string,
  takenAt: string,
  seen: readonly InspectedMember[],
  auth: Observation['auth'],
  leases: Leases,
): Observation => {
  const source =
    seen.find((member) => member.listed !== undefined && member.leader_id !== undefined) ??
    seen.find((member) => member.listed !== undefined);
  const versions = minors(seen);
  const leader = agreedLeader(seen);
  const cluster_version = seen.find(
    (member) => member.cluster_version !== undefined && member.cluster_version !== 'not_decided',
  )?.cluster_version;
  const alarms = new Map(
    seen
      .flatMap((member) => member.alarms ?? [])
      .map((alarm) => [`${alarm.member_id} ${alarm.alarm}`, alarm]),
  );
  return {
    taken_at: takenAt,
    cluster,
    members: seen.map(({ listed: _, alarms: __, ...member }) => member),
    listed: source?.listed ?? [],
    alarms: [...alarms.values()],
    auth,
    ...leases,
    ...(leader === undefined ? {} : { leader }),
    ...(cluster_version === undefined ? {} : { cluster_version }),
    ...(versions.length === 0 ? {} : { lowest: versions[0] as Minor, highest: versions.at(-1) as Minor }),
  };
};
/**
 * On versions that do not report their authentication, a read without a user shows it
 * (`spec/store#measured-answers`).
 */
export const seeAuth = async (access: Access, url: string): Promise<Observation['auth']> => {
  const anonymous = access.anonymous(url);
  try {
    await anonymous.range('opsctl', { isSerializable: true, limit: 1 });
    return { is_on: false };
  } catch (error) {
    if (!(error instanceof AppError) || error.category !== 'auth')
      return { is_on: undefined, problem: messageOf(error) };
  }
  try {
    await access.store(url).range('opsctl', { isSerializable: true, limit: 1 });
    return { is_on: true };
  } catch (error) {
    const isRejected = error instanceof AppError && error.category === 'auth';
    return { is_on: true, problem: messageOf(error), ...(isRejected ? { is_rejected: true } : {}) };
  }
};
/**
 * Asks one member after the other until one responds, because a busy member may not respond in time. A member
 * that rejects a read without a user proves that authentication is on, regardless of the responses of the next members.
 */
const seeAuthOfAny = async (access: Access, urls: readonly string[]): Promise<Observation['auth']> => {
  let auth: Observation['auth'] = { is_on: undefined };
  for (const url of urls) {
    const next = await seeAuth(access, url);
    if (next.is_on === true || auth.is_on !== true) auth = next;
    if (auth.problem === undefined || auth.is_rejected === true) return auth;
  }
  return auth;
};
type Leases = { readonly lease_count?: number; readonly shortest_lease_seconds?: number };
const asked = 50;
const seeLeases = async (store: Store): Promise<Leases> => {
  const ids = await orUndefined(store.row().then(store.leases));
  if (ids === undefined) return {};
  const seen = await Promise.all(ids.slice(0, asked).map((id) => orUndefined(store.timeToLive(id))));
  const times = seen.flatMap((lease) =>
    lease === undefined || lease.granted_seconds <= 0 ? [] : [lease.granted_seconds],
  );
  return {
    lease_count: ids.length,
    ...(times.length === 0 ? {} : { shortest_lease_seconds: Math.min(...times) }),
  };
};
type Compared = Pick<Observation, 'hashes' | 'not_hashed' | 'revisions' | 'revisions_unread'>;
const reachOf = (access: Access, seen: readonly InspectedMember[]): Reach =>
  seen.map(({ name, client_url }) => ({ name, store: access.store(client_url) }));
const namesMissing = (seen: readonly InspectedMember[], rows: readonly { readonly name: string }[]): string =>
  seen
    .filter(({ name }) => rows.every((row) => row.name !== name))
    .map(({ name }) => name)
    .join(', ');
/** Compares the revisions of healthy voters. Without a quorum a linearizable read does not return in time. */
const seeRevisions = async (access: Access, seen: readonly InspectedMember[]): Promise<Compared> => {
  const voters = seen.filter(({ is_learner, is_healthy }) => is_healthy && !is_learner);
  if (voters.length < 2) return {};
  const revisions = await readRevisions(reachOf(access, voters));
  const missing = namesMissing(voters, revisions);
  return { revisions, ...(missing === '' ? {} : { revisions_unread: `no revision from ${missing}` }) };
};
/**
 * Compares the hashes of the members at a revision that all of them have, and only if the pause does not
 * affect their clients.
 */
const seeHashes = async (access: Access, seen: readonly InspectedMember[]): Promise<Compared> => {
  if (seen.length < 2) return {};
  const why = whyNotHashed(seen);
  if (why !== undefined) return { not_hashed: why };
  const known = Math.min(...seen.map((member) => member.revision as number));
  const { revision, hashes } = await hashAtOneRevision(reachOf(access, seen), known);
  const missing = namesMissing(seen, hashes);
  const not_hashed = `${missing} returned no hash at revision ${revision}`;
  return { ...(hashes.length < 2 ? {} : { hashes }), ...(missing === '' ? {} : { not_hashed }) };
};
const seeData = async (access: Access, seen: readonly InspectedMember[]): Promise<Compared> => {
  const revisions = await seeRevisions(access, seen);
  return { ...revisions, ...(await seeHashes(access, seen)) };
};
const whyNotHashed = (seen: readonly InspectedMember[]): string | undefined => {
  const unable = seen.find(({ server_version }) => cannotHash(server_version));
  if (unable !== undefined) return `${minorOf(unable.server_version)} cannot hash its data`;
  const sick = seen.find(({ is_healthy, revision }) => !is_healthy || revision === undefined);
  if (sick !== undefined) return `${sick.name} did not respond`;
  const big = seen.find(({ db_size_bytes = 0 }) => db_size_bytes > mostHashedBytes);
  return big === undefined
    ? undefined
    : `${big.name} has ${Math.round((big.db_size_bytes ?? 0) / 2 ** 20)} MiB, and its clients would feel the pause`;
};
const seeOperator = async (
  { files }: Host,
  cluster: ClusterFile,
  runDirectory: string,
): Promise<NonNullable<Observation['operator']>> => {
  const [snapshots, run] = await Promise.all([
    seeDirectory(files, snapshotDirectory(cluster, runDirectory)),
    seeDirectory(files, runDirectory),
  ]);
  return { snapshots, run };
};
const withMetrics = (
  seen: readonly InspectedMember[],
  metrics: ReadonlyMap<string, MemberMetrics>,
): InspectedMember[] => seen.map((member) => ({ ...member, ...metrics.get(member.name) }));
/** Removes the configuration file of the variable from the facts of a member whose version does not read it. Pure. */
export const withReadFile = (member: InspectedMember): InspectedMember => {
  const { config: _, config_error: __, config_repeats: ___, ...others } = member.host ?? {};
  const minor = minorOf(member.server_version);
  return member.host?.is_config_of_variable !== true || minor === undefined || readsFileOfVariable(minor)
    ? member
    : { ...member, host: others };
};
/** Observes all members, and their hosts if a driver is given. */
const seeWithHosts = async ({
  host,
  cluster,
  access,
  driver,
  sizes = false,
}: ObserveOptions): Promise<InspectedMember[]> => {
  const members = seeMembers(host, cluster, access);
  const minor = async (at: number) => minorOf((await members)[at]?.server_version);
  const [seen, facts] = await Promise.all([
    members,
    Promise.all(cluster.members.map((spec, at) => driver?.facts(spec, { sizes, minor: () => minor(at) }))),
  ]);
  return seen.map((member, i) =>
    withReadFile({ ...member, ...(facts[i] === undefined ? {} : { host: facts[i] }) }),
  );
};
/** Expensive facts: authentication, leases, hashes and data of the v2 interface. */
const seeDeep = async (
  { host, access, isDeep = false, hasRevisions = false }: ObserveOptions,
  seen: readonly InspectedMember[],
): Promise<readonly [Observation['auth'], Leases, Compared, Pick<Observation, 'v2'>]> => {
  // Without a healthy member no operation will run, and the refusal must not wait for responses that need a
  // leader.
  const healthy = seen.filter((member) => member.is_healthy);
  const urls = healthy.map(({ client_url }) => client_url);
  if (!isDeep)
    return hasRevisions
      ? [...(await Promise.all([seeAuthOfAny(access, urls), {}, seeRevisions(access, seen)])), {}]
      : [{ is_on: undefined }, {}, {}, {}];
  const [asker] = healthy;
  if (asker === undefined) return [{ is_on: undefined }, {}, { not_hashed: 'no member is healthy' }, {}];
  return Promise.all([
    seeAuthOfAny(access, urls),
    seeLeases(access.store(asker.client_url)),
    seeData(access, seen),
    seeV2(host, access, asker).then((found) => ({ v2: found })),
  ]);
};
const seePages = async (
  { host, cluster, access, isDeep, hasHold }: ObserveOptions,
  seen: readonly MemberStatus[],
): Promise<ReadonlyMap<string, MemberMetrics>> => {
  if (isDeep === true) return seeMetrics(host, cluster, access, seen);
  return hasHold === true ? seeStarts(access, seen) : new Map();
};
/** Observes a cluster, read-only, all members in parallel. */
export const observe = async (look: ObserveOptions): Promise<Observation> => {
  const { host, cluster, access, driver, isDeep = false, runDirectory } = look;
  // Logs and certificate files are read only for a plan, not before each stop.
  const looking = { host, cluster, access, driver: isDeep ? driver : undefined };
  const reached = await seeUnreached(looking, await seeWithHosts(look));
  const seen = isDeep ? await seeChangedAccess(looking, await seeCertificates(looking, reached)) : reached;
  const [auth, leases, hashes, v2] = await seeDeep(look, seen);
  // After the scan of the v2 interface: members count its requests while it runs.
  const metrics = await seePages(look, seen);
  const hold =
    isDeep || look.hasHold === true
      ? await seeHold(
          seen.filter(({ is_healthy }) => is_healthy).map(({ client_url }) => access.store(client_url)),
        )
      : {};
  const operator =
    runDirectory === undefined ? {} : { operator: await seeOperator(host, cluster, runDirectory) };
  const at = new Date(host.now()).toISOString();
  return {
    ...observationFrom(cluster.name, at, withMetrics(seen, metrics), auth, leases),
    ...hashes,
    ...v2,
    ...hold,
    ...operator,
    ...(isDeep ? ownCertificate(access) : {}),
  };
};

/** Followers lag by a few entries; a larger difference means that a member is behind. */
const mostBehind = 1000;
const indexOf = ({ raft_index = 0 }: MemberStatus): number => raft_index;
/**
 * Selects the source of a scheduled snapshot: a healthy follower that keeps up, to spare the leader's disk;
 * otherwise the leader, otherwise any member that responds. Undefined if no member responds. Pure.
 */
export const snapshotSource = ({ members }: Pick<Observation, 'members'>): MemberStatus | undefined => {
  const able = members.filter(({ is_reachable, is_healthy }) => is_reachable && is_healthy);
  const newest = Math.max(...able.map(indexOf));
  const followers = able.filter(
    (member) => !member.is_leader && member.is_learner !== true && newest - indexOf(member) <= mostBehind,
  );
  return (
    followers.toSorted((a, b) => indexOf(b) - indexOf(a))[0] ??
    able.find(({ is_leader }) => is_leader) ??
    members.filter(({ is_reachable }) => is_reachable).toSorted((a, b) => indexOf(b) - indexOf(a))[0]
  );
};
/**
 * Selects the member for an immediate snapshot: the leader, because it has all entries, otherwise the member
 * with the highest index. Pure.
 */
export const mostCurrent = (members: readonly MemberStatus[]): MemberStatus | undefined =>
  members.find(({ is_leader }) => is_leader) ??
  members.filter(({ is_reachable }) => is_reachable).toSorted((a, b) => indexOf(b) - indexOf(a))[0];

/** The directory for the snapshots of a run. */
export const snapshotDirectory = (
  { snapshot_dir }: Pick<ClusterFile, 'snapshot_dir'>,
  runDirectory: string,
): string => snapshot_dir ?? join(runDirectory, 'snapshots');
/** Free space in a directory of this machine. If it does not exist, its nearest existing parent counts. */
export const seeDirectory = async (files: Files, path: string): Promise<DirectoryStatus> => {
  let there = path;
  const isMissing = async (): Promise<boolean> =>
    (await files.realPath(there).catch(() => undefined)) === undefined && dirname(there) !== there;
  // A dangling link cannot become a directory.
  while (await isMissing()) {
    if ((await files.info(there).catch(() => undefined))?.kind === 'link')
      return { path, is_writable: false };
    there = dirname(there);
  }
  const [free_bytes, disk, is_writable] = await Promise.all([
    files.freeBytes(there).catch(() => undefined),
    files.diskOf(there),
    files.isWritable(there),
  ]);
  return {
    path,
    is_writable,
    ...(free_bytes === undefined ? {} : { free_bytes }),
    ...(disk === undefined ? {} : { disk }),
  };
};

/**
 * After an upgrade the running program is the new program of the cluster file, before the upgrade the old
 * program.
 */
export const detectBinary = async (
  cluster: ClusterFile,
  access: Access,
  driver: Driver,
): Promise<'old' | 'new'> => {
  const [first] = cluster.members;
  if (first === undefined) return 'old';
  const [{ new_binary_version: fresh }, running] = await Promise.all([
    driver.facts(first, { sizes: false }),
    access
      .store(first.client_url)
      .versions()
      .catch(() => undefined),
  ]);
  return fresh !== undefined && minorOf(fresh) === minorOf(running?.server) ? 'new' : 'old';
};
