import { defaultQuota } from '../../../api-specs/etcd/server-settings.ts';
import { compareVersions, minorOf } from '../../../api-specs/etcd/versions.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import { hexId } from '../../client/messages.ts';
import {
  type AlarmStatus,
  type ListedMember,
  openStore,
  type Status,
  type Store,
} from '../../client/etcd-client.ts';
import { type Access, busyTimeoutMs } from '../../engine/access.ts';
import type {
  ClientRequests,
  ClusterFile,
  MemberStatus,
  MemberSpec,
  V2DataStatus,
} from '../../engine/model.ts';
import { readSettings, runningStart } from '../configuration/configuration.ts';

export type InspectedMember = MemberStatus & {
  readonly listed?: readonly ListedMember[];
  readonly alarms?: readonly AlarmStatus[];
};
const errorOf = (error: unknown): Pick<MemberStatus, 'error' | 'error_code'> => {
  const code = error instanceof AppError ? error.detail.code : undefined;
  return { error: messageOf(error), ...(code === undefined ? {} : { error_code: code }) };
};
const healthOf = (
  health: Awaited<ReturnType<Store['health']>> | undefined,
): Pick<MemberStatus, 'is_healthy' | 'health_reason'> => ({
  is_healthy: health?.is_healthy ?? false,
  ...(health === undefined
    ? { health_reason: 'no response in time' }
    : health.reason === undefined
      ? {}
      : { health_reason: health.reason }),
});
export type VersionReport = Pick<MemberStatus, 'server_version' | 'cluster_version' | 'storage_version'>;
/** Reads the versions of a member, with the names of an observation. */
export const readVersions = async (store: Store): Promise<VersionReport> => {
  const { server, cluster, storage } = await store.versions();
  return {
    server_version: server,
    cluster_version: cluster,
    ...(storage === undefined ? {} : { storage_version: storage }),
  };
};
/** The results of the requests after the version. */
type Answers = {
  readonly health: PromiseSettledResult<Awaited<ReturnType<Store['health']>>>;
  readonly status: PromiseSettledResult<Status>;
  readonly listed: PromiseSettledResult<readonly ListedMember[]>;
  readonly alarms: PromiseSettledResult<readonly AlarmStatus[]>;
};
const isLate = (answer: PromiseSettledResult<unknown>): boolean =>
  answer.status === 'rejected' &&
  answer.reason instanceof AppError &&
  answer.reason.detail.code === 'DEADLINE_EXCEEDED';
const settle = async <T>(work: Promise<T>): Promise<PromiseSettledResult<T>> =>
  (await Promise.allSettled([work]))[0];
const answerOf = <T>(answer: PromiseSettledResult<T>): T | undefined =>
  answer.status === 'fulfilled' ? answer.value : undefined;
/**
 * A member that reports its version but is late with other responses runs on a busy machine, so opsctl
 * repeats the late requests with more time. Without a leader, its health and its lists cannot arrive, and a
 * refusal must not wait for them.
 */
const answersOf = async (store: Store, patient: Store): Promise<Answers> => {
  const [health, first, listed, alarms] = await Promise.allSettled([
    store.health(),
    store.status(),
    store.members(),
    store.alarms(),
  ]);
  const status = isLate(first) ? await settle(patient.status()) : first;
  if (answerOf(status)?.leader_id === undefined) return { health, status, listed, alarms };
  const [lateHealth, lateListed, lateAlarms] = await Promise.all([
    isLate(health) ? settle(patient.health()) : health,
    isLate(listed) ? settle(patient.members()) : listed,
    isLate(alarms) ? settle(patient.alarms()) : alarms,
  ]);
  return { health: lateHealth, status, listed: lateListed, alarms: lateAlarms };
};
/**
 * Observes one member through its gateway. An unreachable member is a value, not an exception. `timeoutMs`:
 * default is the time of an observation.
 */
export const seeMember = async (
  host: Host,
  spec: MemberSpec,
  access: Access,
  timeoutMs?: number,
): Promise<InspectedMember> => {
  const store = access.store(spec.client_url, timeoutMs);
  const began = host.elapsed();
  const { name, client_url } = spec;
  const unseen = { name, client_url, is_leader: false, is_learner: false, errors: [] };
  let versions: VersionReport;
  try {
    versions = await readVersions(store);
  } catch (error) {
    return { ...unseen, is_reachable: false, is_healthy: false, ...errorOf(error) };
  }
  const latency_ms = Math.round((host.elapsed() - began) * 10) / 10;
  const answers = await answersOf(store, access.store(spec.client_url, busyTimeoutMs));
  const [status, listed, alarms] = [
    answerOf(answers.status),
    answerOf(answers.listed),
    answerOf(answers.alarms),
  ];
  const { version: _, ...numbers } = status ?? {};
  return {
    ...unseen,
    is_reachable: true,
    ...healthOf(answerOf(answers.health)),
    ...versions,
    latency_ms,
    ...numbers,
    is_leader: status?.leader_id !== undefined && status.leader_id === status.member_id,
    errors:
      answers.status.status === 'rejected' ? [messageOf(answers.status.reason)] : (status?.errors ?? []),
    ...(listed === undefined ? {} : { listed, listed_ids: listed.map(({ id }) => id).sort() }),
    ...(alarms === undefined ? {} : { alarms }),
  };
};

/** The value of a quota without a limit, as the servers write it. */
const unlimitedQuota = -1;
/** The number of bytes that a quota permits. Pure. */
export const bytesOfQuota = (quota: number): number => (quota < 0 ? Number.POSITIVE_INFINITY : quota);
/**
 * The quota for a value of the setting: 0 or no value is the default, and a negative value removes the limit.
 * Undefined for a value that is not a number. Pure.
 */
export const quotaFor = (value: unknown): number | undefined => {
  const bytes = Number(String(value ?? 0).replaceAll('_', ''));
  if (Number.isNaN(bytes)) return undefined;
  return bytes < 0 ? unlimitedQuota : bytes || defaultQuota;
};
const metric = /^etcd_server_quota_backend_bytes\s+(\S+)/m;
/** The quota from the configuration of the server. Undefined if its configuration was not read. Pure. */
export const configuredQuota = (
  spec: MemberSpec,
  seen: Pick<MemberStatus, 'host' | 'server_version'>,
): number | undefined => {
  const read = readSettings(runningStart(spec, seen));
  return read === undefined ? undefined : quotaFor(read('quota-backend-bytes'));
};
/** A counter with at most one label, by the value of the label; `''` without a label. */
const countersIn = (page: string, name: string, label = ''): ReadonlyMap<string, number> => {
  const found = new Map<string, number>();
  for (const [, labels = '', value] of page.matchAll(
    new RegExp(`^\\w+_${name}(?:\\{([^}]*)\\})?[ \\t]+(\\S+)`, 'gm'),
  )) {
    const key = new RegExp(`(?:^|,)${label}="([^"]*)"`).exec(labels)?.[1] ?? '';
    found.set(key, (found.get(key) ?? 0) + Number(value));
  }
  return found;
};
/**
 * Reads from the metrics of a member what its clients requested. Undefined if the page is not that of a
 * member. A member prints a counter only after its first request. `seeV2` sends a HEAD for a missing key before
 * each scan of the whole tree, and a member counts both as recursive reads. Only these pairs are left out, so
 * recursive reads of clients count. Pure.
 */
export const clientsIn = (page: string): ClientRequests | undefined => {
  if (!/^\w+_server_has_leader[ \t]/m.test(page)) return undefined;
  const received = countersIn(page, 'http_received_total', 'method');
  const all = [...received.values()].reduce((sum, count) => sum + count, 0);
  const recursive = countersIn(page, 'debugging_store_reads_total', 'action').get('getRecursive') ?? 0;
  const missing = countersIn(page, 'http_failed_total', 'method').get('HEAD') ?? 0;
  const marks = Math.min(missing, recursive);
  const scans = Math.min(marks, recursive - marks, received.get('GET') ?? 0);
  const versions = countersIn(page, 'server_client_requests_total', 'client_api_version');
  return {
    v2_requests: all - marks - scans,
    v2_watchers: countersIn(page, 'debugging_store_watchers').get('') ?? 0,
    ...(versions.size === 0 ? {} : { versions: Object.fromEntries([...versions].sort()) }),
  };
};
/** A request is in flight for a few milliseconds, so two pages with this pause between them show it at most once. */
const requestPauseMs = 50;
const mostMetricsReads = 5;
/**
 * Reads the metrics page of a member. A member fills its page counter by counter: if another opsctl scans at
 * that moment, the page shows a part of the scan, which looks like a request of a client. Such a page is read
 * again until two pages agree.
 */
const readMetrics = async (host: Host, { connection }: Store): Promise<string> => {
  const read = async (): Promise<string> => {
    const answer = await connection.get('/metrics').catch(() => undefined);
    return answer?.status === 200 ? answer.text : '';
  };
  let page = await read();
  for (let reads = 1; reads < mostMetricsReads; reads += 1) {
    const count = clientsIn(page)?.v2_requests ?? 0;
    if (count === 0) return page;
    await host.sleep(requestPauseMs);
    const next = await read();
    // A page that could not be read again is not evidence about the page before.
    if (next === '' || clientsIn(next)?.v2_requests === count) return page;
    page = next;
  }
  return page;
};
/** When the process of a member started. Pure. */
const startIn = (page: string): Pick<MemberStatus, 'started_at'> => {
  const seconds = Number(/^process_start_time_seconds[ \t]+(\S+)/m.exec(page)?.[1]);
  return seconds > 0 ? { started_at: new Date(seconds * 1000).toISOString() } : {};
};
/** The start, the quota and the requests that a member reports. Absent if its metrics do not contain them or cannot be read. */
const metricsOf = async (host: Host, access: Access, spec: MemberSpec): Promise<MemberMetrics> => {
  const page = await readMetrics(host, access.store(spec.client_url));
  const bytes = Number(metric.exec(page)?.[1]);
  const clients = clientsIn(page);
  return {
    ...startIn(page),
    ...(Number.isFinite(bytes) && bytes !== 0 ? { quota_bytes: quotaFor(bytes) } : {}),
    // Fewer than no requests: the counters changed during every read, so they are not evidence.
    ...(clients === undefined || clients.v2_requests < 0 ? {} : { clients }),
  };
};
export type MemberMetrics = Pick<MemberStatus, 'started_at' | 'quota_bytes' | 'clients'>;
/**
 * Reads the metrics of all members that respond. `seeV2` must not run at the same time, because members count
 * its requests.
 */
export const seeMetrics = async (
  host: Host,
  cluster: ClusterFile,
  access: Access,
  seen: readonly MemberStatus[],
): Promise<ReadonlyMap<string, MemberMetrics>> => {
  const rows = await Promise.all(
    cluster.members.map(async (spec): Promise<readonly [string, MemberMetrics]> => {
      const member = seen.find(({ name }) => name === spec.name);
      const found = member?.is_reachable === true ? await metricsOf(host, access, spec) : {};
      const quota = member === undefined ? undefined : configuredQuota(spec, member);
      return [spec.name, { ...(quota === undefined ? {} : { quota_bytes: quota }), ...found }];
    }),
  );
  return new Map(rows);
};
/** Reads only when the processes of the members started. */
export const seeStarts = async (
  access: Access,
  seen: readonly MemberStatus[],
): Promise<ReadonlyMap<string, MemberMetrics>> => {
  const rows = seen.map(async ({ name, client_url, is_reachable }) => {
    const { connection } = access.store(client_url);
    const page = is_reachable ? await connection.get('/metrics').catch(() => undefined) : undefined;
    return [name, page?.status === 200 ? startIn(page.text) : {}] as const;
  });
  return new Map(await Promise.all(rows));
};
/** spec/store#limits: above this size the wait has its maximum, so opsctl does not read more. */
const mostV2Bytes = 100_000_000;
/**
 * From 3.5 on the interface is off, and even a read through it can keep 3.6 from starting, so opsctl never
 * uses it there.
 */
const lastWithV2 = '3.4';
/** A key that does not exist. No client sends HEAD for missing keys, so `clientsIn` finds the scans of opsctl. */
const markPath = '/v2/keys/_opsctl_scan?recursive=true';
/**
 * Reads the size of the data in the store's v2 interface. Its snapshot files may be missing or a hundred
 * thousand writes old; a plain read of the whole tree shows the current size. The read is not replicated, so
 * it leaves no data.
 */
export const seeV2 = async (
  host: Host,
  access: Access,
  { client_url, server_version }: MemberStatus,
): Promise<V2DataStatus> => {
  if (server_version === undefined || compareVersions(minorOf(server_version) ?? '0.0', lastWithV2) > 0)
    return { bytes: 0 };
  const { tls, user } = access;
  const store = openStore(host, {
    url: client_url,
    tls,
    user,
    timeoutMs: 5000,
    maxReceiveBytes: mostV2Bytes,
  });
  try {
    await store.connection.get(markPath, { method: 'HEAD' });
    const { status, text } = await store.connection.get('/v2/keys/?recursive=true');
    // From 3.4 on the interface is off by default: clients cannot write through it, and the snapshot files
    // contain the older data.
    if (status === 404 || status === 410) return { bytes: 0 };
    if (status === 200) return { bytes: isEmptyTree(text) ? 0 : Buffer.byteLength(text) };
    return { unknown: `its interface returned ${status}` };
  } catch (error) {
    if (error instanceof AppError && error.detail.code === 'RESOURCE_EXHAUSTED')
      return { bytes: mostV2Bytes };
    return { unknown: messageOf(error) };
  }
};
/** Returns whether a tree has no node: servers omit `nodes` or send an empty list. */
const isEmptyTree = (text: string): boolean =>
  !/"nodes"\s*:\s*\[\s*[^\]\s]/.test(text) && !text.includes('"value"');

/**
 * Connections of one member to the others, by the hexadecimal ID of the other member. Two members have two
 * connections, because each opens one. With only one of them the store works for a time, but loses its quorum
 * if a specific member fails.
 */
export type PeerLinks = ReadonlyMap<string, boolean>;
/** Removes leading zeros, as in `hexId`: some programs pad IDs with zeros. */
const withoutZeros = (id: string): string => id.replace(/^0+(?=.)/, '');
const sample = /^\w+_network_active_peers\{([^}]*)\}\s+(\S+)/gm;
/** Undefined if the page has no such metric: 3.3 and earlier versions do not count their peers. Pure. */
export const linksIn = (page: string): PeerLinks | undefined => {
  const found = new Map<string, boolean>();
  for (const [, labels = '', value] of page.matchAll(sample)) {
    const remote = /Remote="([0-9a-f]+)"/.exec(labels)?.[1];
    if (remote !== undefined) found.set(withoutZeros(remote), Number(value) > 0);
  }
  return found.size === 0 ? undefined : found;
};
const roundTrips = /^\w+_network_peer_round_trip_time_seconds_(sum|count)\{To="([0-9a-f]+)"\}\s+(\S+)/gm;
/**
 * Whether a member has ever reached each peer through a connection that it opened itself. From five seconds
 * after its start on, a server records the time of its own requests to a peer, and 0 until one has succeeded.
 * A server that was reached earlier keeps its time, so this shows only a direction that was never open. Pure.
 */
const reachedIn = (page: string): PeerLinks => {
  const found = new Map<string, boolean>();
  const counts = new Map<string, number>();
  for (const [, what, remote = '', value] of page.matchAll(roundTrips))
    if (what === 'count') counts.set(withoutZeros(remote), Number(value));
    else found.set(withoutZeros(remote), Number(value) > 0);
  return new Map([...found].filter(([id, isReached]) => isReached || (counts.get(id) ?? 0) > 0));
};
/** The bytes of heartbeats that a member had received at some time between the request and its response, by `elapsed`. */
export type BeatSample = { readonly sentMs: number; readonly atMs: number; readonly bytes: number };
export type PeerMetrics = {
  readonly links: PeerLinks | undefined;
  readonly reached: PeerLinks;
  /** The heartbeats on streams (see `openedToAll`). */
  readonly beats?: BeatSample;
};
/** What a member reports about its peers; undefined if its metrics could not be read. */
export const readPeerMetrics = async (host: Host, store: Store): Promise<PeerMetrics | undefined> => {
  const sentMs = host.elapsed();
  const page = await store.connection.get('/metrics').catch(() => undefined);
  if (page?.status !== 200) return undefined;
  const received = countersIn(page.text, 'network_peer_received_bytes_total', 'From');
  // The metrics list a sender only after its first message, so a member that lists others has received no heartbeat yet.
  const bytes = received.get('0') ?? (received.size > 0 ? 0 : undefined);
  return {
    links: linksIn(page.text),
    reached: reachedIn(page.text),
    ...(bytes === undefined ? {} : { beats: { sentMs, atMs: host.elapsed(), bytes } }),
  };
};
const became = /peer ([0-9a-f]+) became (in)?active|\bpeer became (in)?active\b/;
/**
 * Log lines about a permanent fault of a connection between members: certificates, and members of another
 * cluster.
 */
const lasting = /x509: |\btls: |bad certificate|cluster ID mismatch|remote error/;
const betweenMembers = /rafthttp|"remote-peer|peer-id|health check for peer|prober detected/;
export const peerErrors = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) => betweenMembers.test(line) && lasting.test(line));
/**
 * A server that starts logs one or two errors before its peers know it; a permanent error repeats with every
 * attempt.
 */
export const mostPeerErrors = 3;
/** The JSON of `log-format: console` (3.6) has a space after each colon. */
const peerIn = (line: string): string | undefined =>
  /\bpeer ([0-9a-f]+)\b/.exec(line)?.[1] ?? /"(?:remote-)?peer-id": ?"([0-9a-f]+)"/.exec(line)?.[1];
/** Reads connections from lines of the member's log since its start. Pure. */
export const linksInLog = (lines: readonly string[]): PeerLinks => {
  const found = new Map<string, boolean>();
  const errors = new Map<string, number>();
  for (const line of lines) {
    const match = became.exec(line);
    const named = match?.[1] ?? peerIn(line);
    if (named === undefined) continue;
    const id = withoutZeros(named);
    if (match !== null) {
      found.set(id, match[2] === undefined && match[3] === undefined);
      errors.delete(id);
    } else if (peerErrors([line]).length > 0) {
      errors.set(id, (errors.get(id) ?? 0) + 1);
      if ((errors.get(id) ?? 0) >= mostPeerErrors) found.set(id, false);
    }
  }
  return found;
};
const stream = /\b(established|lost) (?:a |the )?TCP streaming connection with (?:remote )?peer\b/;
const side = /\((stream [^()]*) (reader|writer)\)|"stream-(reader|writer)-type": ?"([^"]+)"/;
type Streams = { readonly reads: Map<string, boolean>; readonly writes: Map<string, boolean> };
/**
 * Which member opened the streams to each peer: `true` if this member opened one, `false` if only the peer did.
 * A member reads the streams that it opened and writes to the others, and both kinds count as active. A server
 * logs each stream once, so lines that do not begin at its start (`isComplete`) may not contain a stream of
 * its own: then `false` requires that they show its loss. Pure.
 */
export const openedInLog = (lines: readonly string[], isComplete: boolean): ReadonlyMap<string, boolean> => {
  const streams = new Map<string, Streams>();
  for (const line of lines) {
    const [, change] = stream.exec(line) ?? [];
    const [, plain, plainSide, jsonSide, json] = side.exec(line) ?? [];
    const [named, kind] = [peerIn(line), plain ?? json];
    if (change === undefined || named === undefined || kind === undefined) continue;
    const id = withoutZeros(named);
    const own = streams.get(id) ?? { reads: new Map(), writes: new Map() };
    streams.set(id, own);
    own[(plainSide ?? jsonSide) === 'reader' ? 'reads' : 'writes'].set(kind, change === 'established');
  }
  return new Map([...streams].flatMap(([id, own]) => judgeStreams(own, isComplete).map((one) => [id, one])));
};
/** Empty: the lines do not show it. */
const judgeStreams = ({ reads, writes }: Streams, isComplete: boolean): boolean[] => {
  if ([...reads.values()].includes(true)) return [true];
  const isProved = isComplete || reads.size > 0;
  return isProved && [...writes.values()].includes(true) ? [false] : [];
};
type Reported = { readonly name: string; readonly member_id: string; readonly links: PeerLinks | undefined };
/** The members that `from` does not reach, among the members that respond. Pure. */
export const unreachedBy = (from: Reported, others: readonly Omit<Reported, 'links'>[]): readonly string[] =>
  from.links === undefined
    ? []
    : others
        .filter(
          ({ member_id }) => member_id !== from.member_id && from.links?.get(hexId(member_id)) === false,
        )
        .map(({ name }) => name);
