import { durationText } from '../../../core/format.ts';
import { cutText } from '../../../core/problem.ts';
import { unlistedParts } from '../../../core/runnable-words.ts';
import { hookCommands } from '../cluster/drivers.ts';
import { next } from '../../../core/next.ts';
import { dirname } from 'node:path';
import { type Minor, minorOf, rowOf } from '../../../api-specs/etcd/versions.ts';
import type {
  ClusterFile,
  Finding,
  HostFacts,
  MemberSpec,
  PlanKind,
  CertificateStatus,
  MemberStatus,
  Observation,
} from '../../engine/model.ts';
import { type LaterPrograms, namesProgram } from '../plan-kind.ts';
import { requestsCertificate } from '../configuration/access.ts';
import { isStartedHere, readNextStart } from './next-start.ts';
import { guard, type Guard, hintForHost, type Log, memberFacts, type GuardInput } from './guard.ts';

/** spec/store#errors: a server restoring from snapshots while the v3 db file is missing panics. */
export const dbFilePresent = guard(
  'db-file-present',
  'the v3 db file is at the path that the new version reads',
  ({ observation }, log) => {
    for (const { name, host } of observation.members) {
      if (host?.data_dir_exists === true && host.has_db_file === false) {
        log.fail({
          member: name,
          message: `${name} has no member/snap/db: the new version would panic when it starts`,
          hint: 'check data_dir; a store migrated from v2 needs v3 data first',
        });
      }
    }
  },
  memberFacts.directory,
);
/** A copy needs a writable location and the whole log. */
const lookAtCopy = (name: string, { data_place, is_wal_missing }: HostFacts, log: Log): void => {
  if (data_place?.exists !== true) return;
  const { path, is_writable } = data_place.beside;
  if (!is_writable)
    log.fail({
      member: name,
      message: `${name}: the copy goes next to ${path}, and that directory is not writable`,
      hint: `run opsctl as a user who can write ${dirname(path)}, or leave out --copy-data`,
    });
  if (is_wal_missing === true)
    log.fail({
      member: name,
      message: `${name}: ${data_place.real} has no member/wal, and no setting names another directory: the copy would be incomplete`,
      hint: 'add wal_dir: PATH to the cluster file',
    });
};
const lookAtDirectory = (name: string, host: HostFacts, { members }: ClusterFile, log: Log): void => {
  const path = members.find((member) => member.name === name)?.data_dir;
  if (host.data_dir_exists === false)
    log.fail({
      member: name,
      message: `${name}: data directory not found: ${path}`,
      hint: 'check data_dir and the mount of its disk: without its data the member would start empty',
    });
  else if (host.data_dir_writable === false)
    log.fail({
      member: name,
      message: `${name}: the data directory ${path} is not writable`,
      hint: 'restore the write permission',
    });
};
/**
 * Returns whether the driver found no process. A kubelet that has the manifest may still be starting the member, but a
 * member that responds has a process, and opsctl could not see its end.
 */
const isUnseen = ({ is_running, starting, pid }: HostFacts, spec: MemberSpec | undefined): boolean =>
  is_running === false || (spec?.manifest !== undefined && starting !== undefined && pid === undefined);
export const dataDirectories = guard(
  'data-directories',
  'data directories exist, are writable, and belong to the user of the process',
  ({ observation, cluster, options }, log) => {
    for (const { name, is_reachable, host } of observation.members) {
      if (host === undefined) continue;
      lookAtDirectory(name, host, cluster, log);
      if (options.copy_data) lookAtCopy(name, host, log);
      const spec = cluster.members.find((one) => one.name === name);
      if (host.owner_mismatch !== undefined)
        log.warn({
          member: name,
          message: `${name}: ${host.owner_mismatch}`,
          hint: 'the new process must run as the same user',
        });
      for (const message of host.problems ?? [])
        log.fail({
          member: name,
          message: `${name}: ${message}`,
          hint: hintForHost(host, spec, 'correct it on the host of the member or in the cluster file'),
        });
      if (is_reachable && (host.problems ?? []).length === 0 && isUnseen(host, spec))
        log.fail({
          member: name,
          message: `${name} responds, but the driver finds no process of the member`,
          hint: 'check pid_file, unit, container or data_dir in the cluster file: opsctl could not stop the member',
        });
    }
  },
  memberFacts.directory,
);

/**
 * Two programs of one minor version need two paths: the drop-in of a unit is named after the minor version,
 * so the new drop-in would overwrite the old drop-in.
 */
const losesItsDropIn = (
  kind: PlanKind | undefined,
  { unit, binary_path, new_binary, old_binary }: MemberSpec,
): boolean =>
  kind === 'restart' &&
  unit !== undefined &&
  binary_path === undefined &&
  new_binary !== undefined &&
  new_binary !== old_binary;
const lostDropIn = ({ name, unit }: MemberSpec) => ({
  member: name,
  message: `${name}: a drop-in sets the program of ${unit}, and another program of the same minor version would replace that drop-in: a rollback could not restore it`,
  hint: 'add binary_path: PATH of the program that the unit starts, or use --keep-program to change only the configuration',
});
type Old = {
  readonly name: string;
  readonly runs: string | undefined;
  readonly old: string | undefined;
  readonly from: Minor | undefined;
};
/** Checks the old version, to which a failed start would return. */
const lookAtOld = ({ name, runs, old, from }: Old, log: Log): void => {
  const hint = 'check old_binary in the cluster file';
  if (old === undefined)
    log.warn({
      member: name,
      message: `${name}: cannot read the version of the old binary: a failed start could not be rolled back`,
      hint,
    });
  else if (runs !== undefined && minorOf(runs) === from && minorOf(old) !== from)
    log.fail({
      member: name,
      message: `${name}: the old binary is ${old}, but the member runs ${runs}: a failed start could not be rolled back`,
      hint: next(['kv', 'advance'], 'updates the cluster file after an upgrade; otherwise check old_binary'),
    });
};
/** A restart changes the program only for members that name a new program. */
const keepsItsProgram = (kind: PlanKind | undefined, spec: MemberSpec | undefined): boolean =>
  kind === 'restart' && spec !== undefined && !namesProgram(spec);
const unknownVersion = (member: string, host: HostFacts, spec: MemberSpec | undefined) => ({
  member,
  message: `${member}: cannot read the version of the new binary: ${host.new_binary_error ?? 'unknown'}`,
  hint: hintForHost(host, spec, 'check new_binary in the cluster file'),
});
const otherVersion = (member: string, version: string, to: Minor, kind: PlanKind = 'upgrade') => ({
  member,
  message: `${member}: the new binary is ${version}, but the target of the ${kind} is ${to}`,
  hint:
    kind === 'restart'
      ? 'use --keep-program to restart the running program with the changes in its configuration'
      : `put a ${to} binary there; no member was stopped`,
});
const wrongLater = ({ member, to, version, error }: LaterPrograms[number]) => ({
  member,
  message:
    version === undefined
      ? `${member}: opsctl cannot read the version of the program for ${to}: ${error ?? 'unknown'}`
      : `${member}: the program for ${to} has version ${version}`,
  hint: `check versions."${to}" in the cluster file`,
});
const lookAtLater = (programs: LaterPrograms, log: Log): void => {
  for (const later of programs) if (minorOf(later.version) !== later.to) log.fail(wrongLater(later));
};
/** Runs the new binary with --version on every host before any member is stopped. */
export const binariesAreRight = guard(
  'binaries-are-right',
  'the new binary of every member has the expected version',
  ({ observation, cluster, from, to, kind }, log) => {
    const right: string[] = [];
    for (const { name, host, server_version } of observation.members) {
      const spec = cluster.members.find((one) => one.name === name);
      if (host === undefined || keepsItsProgram(kind, spec)) continue;
      if (spec !== undefined && losesItsDropIn(kind, spec)) log.fail(lostDropIn(spec));
      const { new_binary_version: version, old_binary_version: old } = host;
      if (version === undefined) log.fail(unknownVersion(name, host, spec));
      // For an unknown target version no binary can match: version-path reports that.
      else if (rowOf(to) !== undefined && to !== undefined && minorOf(version) !== to)
        log.fail(otherVersion(name, version, to, kind));
      else right.push(version);
      lookAtOld({ name, runs: server_version, old, from }, log);
    }
    lookAtLater(observation.later_programs ?? [], log);
    const different = [...new Set(right)];
    if (different.length > 1) log.warn({ message: `the new binaries differ: ${different.join(', ')}` });
  },
  memberFacts.host,
);

const limitMs = 1000;
export const clocksAgree = guard(
  'clocks-agree',
  'clocks agree within a second',
  ({ observation }, log) => {
    const skews = observation.members.flatMap(({ name, host }) =>
      host?.clock_skew_ms === undefined ? [] : [{ name, skew: host.clock_skew_ms }],
    );
    for (const { name, skew } of skews)
      if (Math.abs(skew) > limitMs)
        log.warn({
          member: name,
          message: `the clock of ${name} differs by ${durationText(skew)}`,
          hint: 'check the time service: leases and certificates depend on the clock',
        });
  },
  memberFacts.clock,
);

/**
 * After the last member, only a restore leads to the old version, and a missing precondition cannot be
 * repaired quickly. So it is reported before the point of no return (spec/store#versions-6).
 */
export const restorePossible = guard(
  'restore-possible',
  'kv restore can rebuild every member',
  ({ observation, cluster, from }, log) => {
    // No member reported its version.
    const old = from ?? 'its version';
    if (cluster.ctl_binary === undefined)
      return log.warn({
        message: `after the last member only kv restore can return the cluster to ${old}, and the cluster file has no ctl_binary`,
        hint: `add ctl_binary: PATH of etcdctl or etcdutl of ${old}, on the host of every member`,
      });
    for (const { name, host } of observation.members)
      if (host?.restore_check?.problem !== undefined)
        log.warn({
          member: name,
          message: `${name}: after the last member kv restore could not return the cluster to ${old}: ${host.restore_check.problem}`,
          hint:
            host.restore_check.hint ??
            next(
              ['kv', 'restore', '--dry-run'],
              'shows the steps of a restore; with --hold-last a rollback stays possible',
            ),
        });
  },
  ({ host }) => host?.restore_check !== undefined,
  {
    statement: ({ cluster, from }) =>
      `kv restore can rebuild every member on ${from} with ${cluster.ctl_binary ?? ''}`,
    skips: ({ kind = 'upgrade', isUnderWay }) =>
      kind !== 'upgrade'
        ? `a ${kind} has no point of no return`
        : isUnderWay === true
          ? 'checked before the run started, and again at the point of no return'
          : undefined,
  },
);

/** Every member that reports a missing connection to another member that responds. Pure. */
const missingConnections = ({
  members,
}: Pick<Observation, 'members'>): readonly Omit<Finding, 'guard' | 'level'>[] =>
  members.flatMap(({ name, unreached = [], unreached_among = [] }) =>
    unreached.length + unreached_among.length === 0
      ? []
      : [
          {
            member: name,
            message: `${name} has no connection to ${unreached_among.length === 0 ? unreached.join(', ') : `one of ${unreached_among.join(', ')}`}: the cluster loses its majority if the wrong member stops`,
            hint: `read the log of ${name} for errors about its peers (certificates, firewall, peer URLs)`,
          },
        ],
  );
/**
 * Returns why no member must be stopped now. A firewall may block a direction after the plan and after the last
 * health check. The majority survives a stop through the other direction, but the health check of the member at
 * the other end would fail later, and after the point of no return that member cannot return to its old version.
 */
export const connectionFinding = (
  observation: Pick<Observation, 'members'>,
  accept: readonly string[],
): Finding | undefined => {
  const [missing] = accept.includes('peer-links') ? [] : missingConnections(observation);
  return missing && { guard: 'peer-links', level: 'fail', ...missing };
};
/** A member that reaches no other member still serves its clients while another member reaches it. */
export const peerLinks = guard(
  'peer-links',
  'every member reaches every other member',
  ({ observation }, log) => {
    const { members } = observation;
    for (const missing of missingConnections(observation)) log.fail(missing);
    const unseen = members.filter(({ is_reachable, unreached }) => is_reachable && unreached === undefined);
    if (members.length > 1 && unseen.length > 0)
      log.noteUnknown({
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
/** Returns whether the next start of a member rejects peers without a certificate for clients. */
const verifiesPeers = ({ cluster, observation, to }: GuardInput, { name }: MemberStatus): boolean => {
  const member = cluster.members.find((one) => one.name === name);
  const host = observation.members.find((one) => one.name === name)?.host;
  if (member === undefined || to === undefined) return false;
  const start = readNextStart({ member, host, to, isLocal: isStartedHere(cluster) });
  return start !== undefined && requestsCertificate('peers', start.read, to);
};
/**
 * A member is a client of the others with its peer certificate. From 3.5 on it can have two: one of them for clients is
 * sufficient.
 */
const checkPurposes = (input: GuardInput, log: Log): void => {
  const { members } = input.observation;
  for (const one of members) {
    const peer = (one.certificates ?? []).filter(({ role }) => role === 'peer');
    const [first] = peer;
    const verifying = members.filter((other) => other !== one && verifiesPeers(input, other));
    if (first === undefined || verifying.length === 0 || !peer.every(({ is_server_only }) => is_server_only))
      continue;
    log.fail({
      member: one.name,
      message: `${textOf(one.name, first)} allows only servers, and the next start of ${verifying.map(({ name }) => name).join(', ')} requests certificates for clients from its peers: it would reject ${one.name}`,
      hint: 'issue the peer certificates again with the extended key usages serverAuth and clientAuth',
    });
  }
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
    checkPurposes(input, log);
    for (const { name, client_url, is_reachable, certificates = [] } of observation.members)
      if (
        client_url.startsWith('https:') &&
        is_reachable &&
        certificates.every(({ role }) => role !== 'server')
      )
        log.noteUnknown({
          member: name,
          message: `${name}: cannot read its server certificate, so its expiry date is unknown`,
        });
  },
  undefined,
  {
    skips: (input) =>
      certificatesOf(input).length === 0 &&
      input.observation.members.every(
        ({ client_url, is_reachable }) => is_reachable && client_url.startsWith('http:'),
      )
        ? 'no member presents a certificate'
        : undefined,
  },
);

/**
 * The cluster file was read, so every program that a hook names is trusted. A text can compute more names, and then it is unknown
 * what the hook starts.
 */
const programsAreListed = guard(
  'hook-programs',
  'only trusted users can change the programs of the hooks',
  ({ cluster }, log) => {
    const open = new Map(
      hookCommands(cluster).flatMap(({ name, words }) => {
        const [part] = unlistedParts(words);
        return part === undefined ? [] : [[name, part] as const];
      }),
    );
    for (const [name, part] of open)
      log.noteUnknown({
        message: `opsctl cannot list the programs that the hook ${name} starts: ${JSON.stringify(cutText(part, 80))}`,
        hint: 'write the commands to a script that only root or you can change, and use its path as the hook',
      });
  },
  () => true,
);
/** Without hooks the check has no findings. */
export const hookPrograms: Guard = {
  ...programsAreListed,
  findings: (input) =>
    Object.keys(input.cluster.hooks ?? {}).length === 0 ? [] : programsAreListed.findings(input),
};
