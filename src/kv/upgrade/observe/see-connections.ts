import { X509Certificate } from 'node:crypto';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import type { Host } from '../../../platform/host.ts';
import type { Access } from '../../engine/access.ts';
import { AppError } from '../../../core/problem.ts';
import { argvOf } from '../../../core/shell.ts';
import type {
  AccessProbe,
  AccessResults,
  CertificateStatus,
  ClusterFile,
  MemberStatus,
  MemberSpec,
  Observation,
} from '../../engine/model.ts';
import { fileOfStart, findChangedConfig, readSettings } from '../configuration/configuration.ts';
import type { Driver } from '../supervisors/driver.ts';
import {
  linksInLog,
  type BeatSample,
  readPeerMetrics,
  type InspectedMember,
  type PeerLinks,
  unreachedBy,
} from './see-member.ts';
import { hexId } from '../../client/messages.ts';

/** Access to the connections of a cluster. `driver`: includes logs and certificate files. */
export type Looking = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly access: Access;
  readonly driver?: Driver | undefined;
};
const tailLines = 400;
const specOf = ({ cluster }: Looking, name: string): MemberSpec | undefined =>
  cluster.members.find((member) => member.name === name);

/**
 * Every server sends a heartbeat on each of the two streams to a peer, three times in its read timeout of five
 * seconds. The peer counts its bytes under the ID 0. Measured on 3.3; 3.4 and 3.5 write 30 bytes, and report their
 * connections directly.
 */
const beatMs = 5000 / 3;
const beatBytes = 28;
const streamsPerPeer = 2;
/** Within three heartbeats on each stream, one heartbeat more or less does not change the number of peers. */
const beatsWanted = 3;
/** The time after which two samples show the number of streams. */
export const beatWindowMs = Math.ceil(beatMs * beatsWanted) + 50;
/**
 * On a busy machine heartbeats are late. The streams of a member that has just started send at the same moment, so
 * one late moment hides one heartbeat of each: among three of each stream, that looks like a missing peer, and
 * among nine it does not. A missing connection is a finding after this number of windows only.
 */
const leastWindowsToFail = 3;
/** A server that is paused for seconds loses heartbeats, so the check waits this long for a window that shows the streams. */
export const mostWindows = 12;
/** Heartbeats of each stream that may arrive within two samples although they were sent before the first sample. */
const lateBeats = 1;
const slack = 0.25;
/**
 * Whether a member has open connections to all its `peers` that it opened itself. A member receives these
 * heartbeats only on streams that it opened, in every version, so a direction that a firewall blocks is missing
 * although messages pass through the connections of the other member. Undefined if the samples do not show it.
 *
 * The server counted at some moment of each request, so the time between two counts has a lower and an upper
 * limit. A pass needs more heartbeats than a member without one connection receives in the upper limit. Pure.
 */
const openedToAll = (first: BeatSample, last: BeatSample, peers: number): boolean | undefined => {
  const bytes = last.bytes - first.bytes;
  const least = Math.floor((last.sentMs - first.atMs) / beatMs);
  const most = Math.floor((last.atMs - first.sentMs) / beatMs);
  if (least < beatsWanted || bytes < 0 || bytes % beatBytes !== 0) return undefined;
  const beats = bytes / beatBytes / streamsPerPeer;
  /** Time and heartbeats are not in step, so a stream may send one heartbeat more. */
  const mostWithoutOne = (peers - 1) * (most + 1);
  const late = Math.max(1, peers - 1) * lateBeats;
  if (beats > mostWithoutOne + late && beats >= (peers - slack) * least) return true;
  const isLong = last.sentMs - first.atMs >= leastWindowsToFail * beatWindowMs;
  // A member with all connections that lost some heartbeats must still differ from a member without one of them.
  const isDistinct = (peers - 0.5) * least > mostWithoutOne;
  return isLong && isDistinct && beats <= mostWithoutOne ? false : undefined;
};
/** The first result of two samples of one member: a window without lost heartbeats shows all connections. Pure. */
export const openedInSamples = (samples: readonly BeatSample[], peers: number): boolean | undefined => {
  const results = samples.flatMap((last, at) =>
    samples.slice(0, at).map((first) => openedToAll(first, last, peers)),
  );
  return results.includes(true) ? true : results.find((result) => result !== undefined);
};

/** What a member reports about its connections. */
type Reports = { readonly links: PeerLinks; readonly sample?: BeatSample; readonly isCounted: boolean };
/**
 * From 3.4 on the metrics contain the connections. The log of an earlier version contains them if a line was
 * written since the last change.
 */
const linksOf = async (
  looking: Looking,
  { name, client_url }: InspectedMember,
): Promise<Reports | undefined> => {
  const metrics = await readPeerMetrics(looking.host, looking.access.store(client_url));
  if (metrics?.links !== undefined) return { links: metrics.links, isCounted: true };
  const sample = metrics?.beats;
  const spec = specOf(looking, name);
  const lines =
    looking.driver === undefined || spec === undefined
      ? []
      : await looking.driver.logTail(spec, tailLines).catch(() => []);
  const links = linksInLog(lines);
  return links.size === 0 && sample === undefined
    ? undefined
    : { links, ...(sample === undefined ? {} : { sample }), isCounted: false };
};
/** Members connect within this time after a start. A connection that is still missing then is a finding. */
const CONNECT_MS = 5000;
const LOOK_AGAIN_MS = 250;
type Answering = Readonly<Required<Pick<InspectedMember, 'name' | 'member_id'>>>;
type Seen = { readonly member: InspectedMember; readonly own?: Answering; readonly reports?: Reports };
const seeOnce = async (
  looking: Looking,
  seen: readonly InspectedMember[],
  answering: readonly Answering[],
): Promise<Seen[]> =>
  Promise.all(
    seen.map(async (member) => {
      const own = answering.find(({ name }) => name === member.name);
      if (own === undefined || answering.length < 2) return { member };
      const reports = await linksOf(looking, member);
      return { member, own, ...(reports === undefined ? {} : { reports }) };
    }),
  );
/** Members whose connection neither the metrics nor the log of this member show. Pure. */
const unshownTo = ({ own, reports }: Seen, answering: readonly Answering[]): readonly Answering[] =>
  own === undefined || reports === undefined || reports.isCounted
    ? []
    : answering.filter((one) => one.name !== own.name && !reports.links.has(hexId(one.member_id)));
/** Members that do not respond to this client may still be connected. */
const countPeers = ({ listed }: InspectedMember, answering: readonly Answering[]): number =>
  Math.max(answering.length, listed?.length ?? 0) - 1;
/** Whether a member opened its connections to all others. Undefined if no two samples show it. Pure. */
const reachesAll = (
  { member }: Seen,
  looks: readonly Seen[],
  answering: readonly Answering[],
): boolean | undefined =>
  openedInSamples(
    looks.flatMap(({ reports }) => reports?.sample ?? []),
    countPeers(member, answering),
  );
/**
 * The members that this member does not reach. Absent if a connection is not known: a log without a line about
 * its peers is not a pass.
 */
const unreachedOf = (
  one: Seen,
  looks: readonly Seen[],
  answering: readonly Answering[],
): Pick<InspectedMember, 'unreached' | 'unreached_among'> => {
  const { own, reports, member } = one;
  if (own === undefined || reports === undefined) return {};
  const broken = unreachedBy({ ...own, links: reports.links }, answering);
  const unshown = unshownTo(one, answering);
  if (unshown.length === 0) return { unreached: broken };
  const peers = countPeers(member, answering);
  const isAll = reachesAll(one, looks, answering);
  if (isAll === true) return { unreached: [] };
  if (broken.length > 0) return { unreached: broken };
  if (isAll === undefined || peers >= answering.length) return {};
  const names = unshown.map(({ name }) => name);
  return names.length === 1 ? { unreached: names } : { unreached: [], unreached_among: names };
};
/**
 * Adds the members that each member does not reach, among the members that respond. A member that has just
 * started connects to the others first, so a missing connection is checked again. Without a metric and a line
 * of the log, samples of the heartbeats show whether the member opened its connections.
 */
export const seeUnreached = async (
  looking: Looking,
  seen: readonly InspectedMember[],
): Promise<InspectedMember[]> => {
  const answering = seen.flatMap(({ name, member_id, is_reachable }) =>
    is_reachable && member_id !== undefined ? [{ name, member_id }] : [],
  );
  const began = looking.host.elapsed();
  const isBroken = (one: Seen): boolean => (unreachedOf(one, [], answering).unreached ?? []).length > 0;
  let found = await seeOnce(looking, seen, answering);
  while (found.some(isBroken) && looking.host.elapsed() < began + CONNECT_MS) {
    await looking.host.sleep(LOOK_AGAIN_MS);
    found = await seeOnce(looking, seen, answering);
  }
  const isSampled = (one: Seen): boolean =>
    one.reports?.sample !== undefined && unshownTo(one, answering).length > 0;
  // Before each stop, only the metrics are read: the run has checked the connections of every member.
  const windows = looking.driver === undefined ? 0 : mostWindows;
  const looks = [found];
  const looksAt = (at: number): Seen[] => looks.flatMap((look) => look[at] ?? []);
  const isOpen = (one: Seen, at: number): boolean =>
    isSampled(one) && reachesAll(one, looksAt(at), answering) === undefined;
  while (looks.length <= windows && found.some(isOpen)) {
    await looking.host.sleep(beatWindowMs);
    looks.push(await seeOnce(looking, seen, answering));
  }
  return found.map((one, at) => ({ ...one.member, ...unreachedOf(one, looksAt(at), answering) }));
};

/** Key purposes that allow a TLS client: clientAuth and anyExtendedKeyUsage (RFC 5280). */
const clientPurposes = ['1.3.6.1.5.5.7.3.2', '2.5.29.37.0'];
/** A certificate without an extended key usage allows everything. */
const isServerOnly = ({ keyUsage }: X509Certificate): boolean =>
  keyUsage !== undefined && !keyUsage.some((purpose) => clientPurposes.includes(purpose));
/** Parses a certificate. Undefined if the text does not contain a valid certificate. Pure. */
export const certificateIn = (
  role: CertificateStatus['role'],
  source: string,
  pem: string | undefined,
): CertificateStatus | undefined => {
  // The first certificate of a chain is the server's certificate.
  const [block] = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/.exec(pem ?? '') ?? [];
  if (block === undefined) return undefined;
  try {
    const certificate = new X509Certificate(block);
    const { subject, validTo, subjectAltName } = certificate;
    return {
      role,
      source,
      subject: subject?.replaceAll('\n', ', ') || 'no subject',
      not_after: new Date(validTo).toISOString(),
      has_names: subjectAltName !== undefined,
      ...(isServerOnly(certificate) ? { is_server_only: true } : {}),
    };
  } catch {
    return undefined;
  }
};
const probeMs = 2000;
/** The address of a member for other members: as the cluster lists it, otherwise from the cluster file. */
export const peerUrlOf = (
  listed: Observation['listed'],
  member_id: string | undefined,
  spec: MemberSpec | undefined,
): string | undefined => listed.find(({ id }) => id === member_id)?.peer_urls[0] ?? spec?.peer_url;
const presentedAt = async (
  { host }: Looking,
  role: CertificateStatus['role'],
  url: string | undefined,
): Promise<CertificateStatus | undefined> =>
  url?.startsWith('https:') === true
    ? certificateIn(
        role,
        url,
        (await host.network.probe(`${url.replace(/\/+$/, '')}/version`, probeMs)).certificate,
      )
    : undefined;
const fileKeys = [
  ['server', 'cert-file', 'client-transport-security', 'cert-file'],
  ['peer', 'peer-cert-file', 'peer-transport-security', 'cert-file'],
  ['client', 'client-cert-file', 'client-transport-security', 'client-cert-file'],
  ['peer', 'peer-client-cert-file', 'peer-transport-security', 'client-cert-file'],
] as const;
/**
 * Returns the absolute paths of the certificate files that the next start reads: from the running command
 * line, the cluster file or the configuration file. Pure.
 */
export const certificateFiles = (
  spec: MemberSpec,
  { host, server_version }: Pick<MemberStatus, 'host' | 'server_version'>,
): readonly (readonly [CertificateStatus['role'], string])[] => {
  const start = {
    words: host?.command ?? argvOf(spec.new_command, spec.new_binary) ?? [],
    env: { ...host?.environment, ...spec.env },
    minor: minorOf(server_version),
  };
  // A process that does not name a file does not read one. An unread command or environment may name one.
  const isUnread = host?.command === undefined || host.environment === undefined;
  const isFileRead = isUnread || fileOfStart(start) !== undefined;
  const read = readSettings({ ...start, file: isFileRead ? host?.config : undefined });
  return fileKeys.flatMap(([role, flag, section, key]) => {
    const path = read?.(flag, [section, key]);
    return typeof path === 'string' && path.startsWith('/') ? [[role, path] as const] : [];
  });
};
const filesOf = async (looking: Looking, member: MemberStatus): Promise<CertificateStatus[]> => {
  const spec = specOf(looking, member.name);
  const { driver } = looking;
  if (spec === undefined || driver === undefined) return [];
  const found = await Promise.all(
    certificateFiles(spec, member).map(async ([role, path]) =>
      certificateIn(role, path, await driver.readFile(spec, path).catch(() => undefined)),
    ),
  );
  return found.flatMap((one) => one ?? []);
};
/**
 * Adds the certificates that each member presents, and the certificates in the files that its next start
 * reads.
 */
export const seeCertificates = async (
  looking: Looking,
  seen: readonly InspectedMember[],
): Promise<InspectedMember[]> => {
  const listed = seen.flatMap((member) => member.listed ?? []);
  return Promise.all(
    seen.map(async (member) => {
      const peer = peerUrlOf(listed, member.member_id, specOf(looking, member.name));
      const presented = await Promise.all([
        presentedAt(looking, 'server', member.client_url),
        presentedAt(looking, 'peer', peer),
      ]);
      const certificates = [...presented.flatMap((one) => one ?? []), ...(await filesOf(looking, member))];
      return certificates.length === 0 ? member : { ...member, certificates };
    }),
  );
};
/** Returns the certificate of this client. */
export const ownCertificate = ({ tls }: Access): Pick<Observation, 'client_certificate'> => {
  const found = certificateIn('client', tls?.named.cert ?? 'tls.cert_file', tls?.cert);
  return found === undefined ? {} : { client_certificate: found };
};

type Asking = Pick<Looking, 'host' | 'access'>;
type Answer = AccessResults[AccessProbe];
const plainOf = (url: string): string => url.replace(/^https:/, 'http:');
const answerAt = async ({ host }: Asking, url: string, hostName?: string): Promise<Answer> =>
  (await host.network.probe(`${url.replace(/\/+$/, '')}/version`, probeMs, hostName)).answer;
/**
 * A name that no list of hosts contains (RFC 2606). The servers compare the name only without TLS: 421 on real
 * 3.4 and 3.5. With listen-client-http-urls, client_url is one of these addresses, because opsctl uses HTTP.
 */
const foreignName = 'opsctl.invalid';
/** CERTIFICATE_NAME: with authentication the gateway of 3.4 and later versions rejects a certificate with a Common Name. */
const rejections = ['USER_NEEDED', 'PERMISSION_DENIED', 'UNAUTHENTICATED', 'CERTIFICATE_NAME'];
/** Reads a key without a user, with only the client certificate. */
const userAnswer = async ({ access }: Asking, url: string): Promise<Answer> => {
  try {
    await access.anonymous(url).range('opsctl/access', { limit: 1, isSerializable: true });
    return 'accepted';
  } catch (error) {
    if (!(error instanceof AppError)) return undefined;
    return error.category === 'auth' || rejections.includes(error.detail.code ?? '') ? 'rejected' : undefined;
  }
};
/** The probes that apply to these URLs. Pure. */
export const accessProbes = (client: string, peer: string | undefined): readonly AccessProbe[] => [
  ...(client.startsWith('https:') ? (['certificate', 'plain'] as const) : (['host-name'] as const)),
  'user',
  ...(peer?.startsWith('https:') === true ? (['peer-certificate', 'peer-plain'] as const) : []),
];
/** Checks how a member treats clients and peers without credentials. Read-only, sends no secrets. */
export const seeAccess = async (
  asking: Asking,
  client: string,
  peer: string | undefined,
): Promise<AccessResults> => {
  const ask: Readonly<Record<AccessProbe, () => Promise<Answer>>> = {
    certificate: () => answerAt(asking, client),
    plain: () => answerAt(asking, plainOf(client)),
    user: () => userAnswer(asking, client),
    'host-name': () => answerAt(asking, client, foreignName),
    'peer-certificate': () => answerAt(asking, peer ?? ''),
    'peer-plain': () => answerAt(asking, plainOf(peer ?? '')),
  };
  const probes = accessProbes(client, peer);
  const seen = await Promise.all(probes.map(async (name) => [name, await ask[name]()] as const));
  return Object.fromEntries(seen.filter(([, answer]) => answer !== undefined)) as AccessResults;
};
/**
 * Adds how members treat connections without credentials, if their processes read a configuration file that has
 * changed since: what they reject can only be seen at the members.
 */
export const seeChangedAccess = (
  looking: Looking,
  seen: readonly InspectedMember[],
): Promise<InspectedMember[]> => {
  const listed = seen.flatMap((member) => member.listed ?? []);
  return Promise.all(
    seen.map(async (member) =>
      member.is_reachable && findChangedConfig(member.host) !== undefined
        ? {
            ...member,
            access: await seeAccess(
              looking,
              member.client_url,
              peerUrlOf(listed, member.member_id, specOf(looking, member.name)),
            ),
          }
        : member,
    ),
  );
};
