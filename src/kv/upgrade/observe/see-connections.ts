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
import { linksInLog, readPeerMetrics, type InspectedMember, unreachedBy } from './see-member.ts';

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
 * From 3.4 on the metrics contain the connections. The log of an earlier version contains them if a line was
 * written since the last change.
 */
const linksOf = async (looking: Looking, { name, client_url }: InspectedMember) => {
  const metrics = await readPeerMetrics(looking.access.store(client_url)).catch(() => undefined);
  const links = metrics?.links;
  const spec = specOf(looking, name);
  if (links !== undefined || looking.driver === undefined || spec === undefined) return links;
  const lines = await looking.driver.logTail(spec, tailLines).catch(() => []);
  return lines.length === 0 ? undefined : linksInLog(lines);
};
/** Members connect within this time after a start. A connection that is still missing then is a finding. */
const CONNECT_MS = 5000;
const LOOK_AGAIN_MS = 250;
/**
 * Adds the members that each member does not reach, among the members that respond. A member that has just
 * started connects to the others first, so a missing connection is looked at again.
 */
export const seeUnreached = async (
  looking: Looking,
  seen: readonly InspectedMember[],
): Promise<InspectedMember[]> => {
  const untilMs = looking.host.elapsed() + CONNECT_MS;
  let found = await seeUnreachedOnce(looking, seen);
  while (found.some(({ unreached = [] }) => unreached.length > 0) && looking.host.elapsed() < untilMs) {
    await looking.host.sleep(LOOK_AGAIN_MS);
    found = await seeUnreachedOnce(looking, seen);
  }
  return found;
};
const seeUnreachedOnce = async (
  looking: Looking,
  seen: readonly InspectedMember[],
): Promise<InspectedMember[]> => {
  const answering = seen.flatMap(({ name, member_id, is_reachable }) =>
    is_reachable && member_id !== undefined ? [{ name, member_id }] : [],
  );
  return Promise.all(
    seen.map(async (member) => {
      const own = answering.find(({ name }) => name === member.name);
      if (own === undefined || answering.length < 2) return member;
      const links = await linksOf(looking, member);
      return links === undefined
        ? member
        : { ...member, unreached: unreachedBy({ ...own, links }, answering) };
    }),
  );
};

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
    const { subject, validTo, subjectAltName } = new X509Certificate(block);
    return {
      role,
      source,
      subject: subject?.replaceAll('\n', ', ') || 'no subject',
      not_after: new Date(validTo).toISOString(),
      has_names: subjectAltName !== undefined,
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
  // A process that names no file reads none. An unread command or environment may name one.
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
/** Checks how a member treats clients and peers without credentials. Read-only, sends no secrets. */
export const seeAccess = async (
  asking: Asking,
  client: string,
  peer: string | undefined,
): Promise<AccessResults> => {
  const isTls = client.startsWith('https:');
  const isPeerTls = peer?.startsWith('https:') === true;
  const answers: Readonly<Record<AccessProbe, Promise<Answer> | undefined>> = {
    certificate: isTls ? answerAt(asking, client) : undefined,
    plain: isTls ? answerAt(asking, plainOf(client)) : undefined,
    user: userAnswer(asking, client),
    'host-name': isTls ? undefined : answerAt(asking, client, foreignName),
    'peer-certificate': isPeerTls ? answerAt(asking, peer) : undefined,
    'peer-plain': isPeerTls ? answerAt(asking, plainOf(peer)) : undefined,
  };
  const seen = await Promise.all(Object.entries(answers).map(async ([name, answer]) => [name, await answer]));
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
