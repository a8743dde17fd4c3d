import type { CertificateStatus, MemberStatus } from '../../engine/model.ts';
import { guard, type GuardInput, type Log } from './guard.ts';

/** A member that reaches no other member still serves its clients while another member reaches it. */
export const peerLinks = guard(
  'peer-links',
  'every member reaches every other member',
  ({ observation: { members } }, log) => {
    for (const { name, unreached = [] } of members)
      if (unreached.length > 0)
        log.fail({
          member: name,
          message: `${name} has no connection to ${unreached.join(', ')}: the cluster loses its majority if the wrong member stops`,
          hint: `read the log of ${name} for errors about its peers (certificates, firewall, peer URLs)`,
        });
    const unseen = members.filter(({ is_reachable, unreached }) => is_reachable && unreached === undefined);
    if (members.length > 1 && unseen.length > 0)
      log.unknown({
        message: `neither metrics nor logs of ${unseen.map(({ name }) => name).join(', ')} show the connections to other members`,
        hint: 'add log_file: PATH to the cluster file, or read their logs',
      });
  },
  undefined,
  {
    skips: ({ observation: { members } }) =>
      members.length === 1 ? 'the cluster has one member' : undefined,
  },
);

const dayMs = 86_400_000;
const warnDays = 30;
/** A run with its holds should end within this time. */
const windowMs = dayMs / 2;
const roles = {
  server: 'server certificate',
  peer: 'peer certificate',
  client: 'client certificate',
} as const satisfies Record<CertificateStatus['role'], string>;
const textOf = (whose: string, { role, source }: CertificateStatus): string =>
  `the ${roles[role]} of ${whose} (${source})`;
const timeText = (leftMs: number): string =>
  leftMs < 2 * dayMs
    ? `${Math.max(0, Math.floor(leftMs / 3_600_000))} h`
    : `${Math.floor(leftMs / dayMs)} days`;
type Owned = { readonly whose: string; readonly member?: string; readonly certificate: CertificateStatus };
const checkExpiry = ({ whose, member, certificate }: Owned, now: number, log: Log): void => {
  const left = Date.parse(certificate.not_after) - now;
  if (left > warnDays * dayMs) return;
  const about = member === undefined ? {} : { member };
  const hint = 'issue a new certificate first, with the same names';
  const what = textOf(whose, certificate);
  if (left <= 0) log.fail({ ...about, message: `${what} expired at ${certificate.not_after}`, hint });
  else
    log[left < windowMs ? 'fail' : 'warn']({
      ...about,
      message: `${what} expires in ${timeText(left)}, at ${certificate.not_after}`,
      hint,
    });
};
/** Go 1.15 ignores the common name of a server certificate, and 1.17 removed the setting that restores it. */
const ignoresCommonName = (go: string): boolean => {
  const [major = 0, minor = 0] = go.split('.').map(Number);
  return major > 1 || (major === 1 && minor >= 15);
};
const checkNames = (
  { whose, member, certificate }: Owned,
  seen: MemberStatus | undefined,
  log: Log,
): void => {
  const go = seen?.host?.new_binary_go;
  if (certificate.has_names || certificate.role === 'client' || go === undefined || !ignoresCommonName(go))
    return;
  const isPeer = certificate.role === 'peer';
  log[isPeer ? 'fail' : 'warn']({
    ...(member === undefined ? {} : { member }),
    message: `${textOf(whose, certificate)} has no Subject Alternative Name, and the new binary was built with Go ${go}: ${isPeer ? 'members of the new version would not connect to it' : 'clients built with Go 1.15 or later do not connect to it'}`,
    hint: 'issue it again with the host names and IP addresses of the member as Subject Alternative Names',
  });
};
const certificatesOf = ({ observation }: GuardInput): readonly Owned[] => [
  ...observation.members.flatMap(({ name, certificates = [] }) => {
    // If a file and a handshake show the same certificate, they are one finding.
    const isFirst = (one: CertificateStatus, at: number): boolean =>
      certificates.findIndex(
        ({ role, subject, not_after, has_names }) =>
          role === one.role &&
          subject === one.subject &&
          not_after === one.not_after &&
          has_names === one.has_names,
      ) === at;
    return certificates.filter(isFirst).map((certificate) => ({ whose: name, member: name, certificate }));
  }),
  ...(observation.client_certificate === undefined
    ? []
    : [{ whose: 'opsctl', certificate: observation.client_certificate }]),
];
export const certificatesLast = guard(
  'certificates',
  'no certificate expires within 30 days, and the new version accepts all of them',
  (input, log) => {
    const { observation } = input;
    const now = Date.parse(observation.taken_at);
    for (const owned of certificatesOf(input)) {
      checkExpiry(owned, now, log);
      checkNames(
        owned,
        observation.members.find(({ name }) => name === owned.member),
        log,
      );
    }
    for (const { name, client_url, is_reachable, certificates = [] } of observation.members)
      if (
        client_url.startsWith('https:') &&
        is_reachable &&
        certificates.every(({ role }) => role !== 'server')
      )
        log.unknown({
          member: name,
          message: `${name}: cannot read its server certificate, so its expiry date is unknown`,
        });
  },
  undefined,
  {
    skips: (input) =>
      certificatesOf(input).length === 0 &&
      input.observation.members.every(({ client_url }) => client_url.startsWith('http:'))
        ? 'no member presents a certificate'
        : undefined,
  },
);
