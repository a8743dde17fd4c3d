import { type Advice, after, next } from '../../../core/next.ts';
import { resolve } from 'node:path';
import { isCtlWithoutRestore, type Minor, minorOf, utlNextTo } from '../../../api-specs/etcd/versions.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import { sh, type ShellScript, shellLine } from '../../../core/shell.ts';
import type { Finished, Host } from '../../../platform/host.ts';
import { snapshotRevision } from '../../client/snapshot-content.ts';
import { hexId } from '../../client/messages.ts';
import type { ListedMember } from '../../client/etcd-client.ts';
import { hashWithoutChecksum, verifySnapshot, withSnapshot } from '../../client/snapshot.ts';
import { findRuns } from '../../engine/journal.ts';
import type { ClusterFile, HostFacts, MemberSpec, Observation, SnapshotRecord } from '../../engine/model.ts';
import type { BucketOptions } from '../../snapshots/catalog.ts';
import { isBucketUrl } from '../../snapshots/catalog.ts';
import { asLocalFile } from '../../snapshots/trial-restore.ts';
import { type Shell, versionInText, failureReason } from '../supervisors/driver.ts';
import { placeFunctions } from '../supervisors/driver.ts';
import { isTrustRefusal, trustFunctions } from '../supervisors/member-process.ts';
import { walDirOf } from '../supervisors/wal-directory.ts';
import { consentHint } from '../guards/guard.ts';
import { findMixedEntries } from '../guards/membership.ts';
import { findUnreadStart, isStartedHere, listForcedStarts, startNames } from '../guards/next-start.ts';

/** How a restore rebuilds a cluster on its old version from one verified snapshot. */
export type RestorePlan = {
  readonly cluster: string;
  readonly to: Minor;
  /** The run that took the snapshot. */
  readonly run: string;
  readonly snapshot: SnapshotRecord;
  readonly ctl: string;
  /** The current revision of the cluster, if a member responds. */
  readonly revision_now?: number;
  /** Number of changes after the snapshot that will be lost; undefined if no member responds. */
  readonly lost_revisions?: number;
  /**
   * Added to the revisions of the snapshot, so that watches end and caches are rebuilt; absent if the ctl
   * program does not support it or the user declined it.
   */
  readonly bump_revision?: number;
  readonly members: readonly RestoreStep[];
  /** Members whose start was not read, with the reason: it may contain force-new-cluster. */
  readonly unread_starts?: readonly string[];
  /** Checks that the operator accepted: a start that was not read, or too little free space. */
  readonly accepted?: readonly string[];
};
export type RestoreStep = {
  readonly name: string;
  /** The path for the current data directory. */
  readonly aside: string;
  /** Directory of its log, if the log is not part of the data directory. */
  readonly wal_dir?: string;
  /** Arguments of the ctl program after `snapshot restore FILE`. */
  readonly words: readonly string[];
};
/** Selects the snapshot with the highest revision: every member must be rebuilt from the same file. */
export const newestSnapshot = (snapshots: readonly SnapshotRecord[]): SnapshotRecord | undefined =>
  snapshots.toSorted((a, b) => b.revision - a.revision)[0];
/**
 * Returns whether a listed member is this member of the file. A member that has just started has no name in
 * the list yet: its ID or its peer address identifies it.
 */
const isSameMember = (listed: ListedMember, member: MemberSpec, { members }: Observation): boolean => {
  if (listed.name !== '') return listed.name === member.name;
  const id = members.find(({ name }) => name === member.name)?.member_id;
  return listed.id === id || listed.peer_urls.some((url) => url === member.peer_url);
};
const peerUrl = (member: MemberSpec, observation: Observation): string | undefined =>
  member.peer_url ?? observation.listed.find((one) => isSameMember(one, member, observation))?.peer_urls[0];
/** A log inside the data directory moves with it, but the ctl program does not build it there. */
const logOf = (member: MemberSpec, host: HostFacts | undefined, to: Minor): Pick<RestoreStep, 'wal_dir'> => {
  const wal_dir = walDirOf(member, host, to);
  if (wal_dir === undefined) return {};
  if (!wal_dir.startsWith('/'))
    throw new AppError(
      'config',
      `the log directory ${wal_dir} of ${member.name} is relative, and opsctl cannot resolve it`,
      {
        code: 'WAL_DIR',
        tryThis: [
          'write the absolute path in --wal-dir, in old_command or the configuration file',
          'add wal_dir: PATH to the cluster file',
        ],
      },
    );
  return { wal_dir: wal_dir.replace(/\/+$/, '') };
};
export type RestoreInput = {
  readonly cluster: ClusterFile;
  readonly observation: Observation;
  readonly snapshot: SnapshotRecord;
  readonly to: Minor;
  /** Part of the names of the directories that are moved aside. */
  readonly run: string;
  readonly bump?: number | undefined;
};
/**
 * A voter that the restore does not rebuild would keep the old data, and its clients would read that data.
 */
const refuseOutsiders = ({ members }: ClusterFile, observation: Observation): void => {
  const others = observation.listed.filter(
    (one) => !members.some((member) => isSameMember(one, member, observation)),
  );
  if (others.length === 0) return;
  const shown = others.map(
    ({ name, id, peer_urls }) => `${name === '' ? hexId(id) : name} (${peer_urls.join(', ')})`,
  );
  throw new AppError(
    'unsafe',
    `the cluster has members that the cluster file does not contain: ${shown.join(', ')}; no changes were made`,
    {
      code: 'UNKNOWN_MEMBER',
      tryThis: [
        'add them to the cluster file, so that the restore rebuilds them',
        ...others.map(({ id }) => next(['kv', 'member', 'remove', hexId(id)], ', if it is not needed')),
      ],
    },
  );
};
/** The restore would put the data of one member into the directory of another member. */
const refuseMixedEntries = ({ cluster, observation }: RestoreInput): void => {
  const [first, ...others] = findMixedEntries(observation, cluster);
  if (first === undefined) return;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  throw new AppError('unsafe', `no changes were made: ${first.message}${more}`, {
    code: 'MIXED_MEMBERS',
    tryThis: [...(first.hint === undefined ? [] : [first.hint]), next(['kv', 'check'])],
  });
};
const refuseWrongMembers = (input: RestoreInput): void => {
  refuseOutsiders(input.cluster, input.observation);
  refuseMixedEntries(input);
};
type Starts = Pick<RestoreInput, 'cluster' | 'observation' | 'to'>;
/** The members whose start was not read, with the reason. */
const listUnread = ({ cluster, observation, to }: Starts): (readonly [name: string, why: string])[] => {
  if (cluster.members.length === 1) return [];
  return cluster.members.flatMap((member) => {
    const host = observation.members.find(({ name }) => name === member.name)?.host;
    const unread = findUnreadStart({ member, host, to, isLocal: isStartedHere(cluster) });
    if (unread === undefined) return [];
    const [which, why] = unread;
    return [[member.name, which === 'next' ? why : `${startNames[which]}: ${why}`] as const];
  });
};
const unreadStarts = (input: Starts): Pick<RestorePlan, 'unread_starts'> => {
  const unread = listUnread(input).map(([name, why]) => `${name} (${why})`);
  return unread.length === 0 ? {} : { unread_starts: unread };
};
/** Each restored member would form a cluster of its own, and the clusters would accept different writes. */
const refuseForcedStarts = ({ cluster, observation, to }: RestoreInput): void => {
  if (cluster.members.length === 1) return;
  const isLocal = isStartedHere(cluster);
  const forced = cluster.members.filter((member) => {
    const host = observation.members.find(({ name }) => name === member.name)?.host;
    return listForcedStarts({ member, host, to, isLocal }).length > 0;
  });
  if (forced.length === 0) return;
  const names = forced.map(({ name }) => name).join(', ');
  throw new AppError(
    'unsafe',
    `force-new-cluster is set in the start of ${names}: each start with it removes all other members from the cluster; no changes were made`,
    {
      code: 'FORCE_NEW_CLUSTER',
      tryThis: [
        'remove force-new-cluster from the commands, the variables and the configuration files of the members',
      ],
    },
  );
};
/**
 * Arguments of the ctl program for one member. The new token creates a new cluster ID: no member of the old
 * cluster can join by accident.
 */
const listWords = (
  { cluster, snapshot, run, bump }: Pick<RestoreInput, 'cluster' | 'snapshot' | 'run' | 'bump'>,
  { name, all, peer, beside }: Readonly<Record<'name' | 'all' | 'peer' | 'beside', string>>,
): string[] => [
  ...['--name', name, '--initial-cluster', all],
  ...['--initial-cluster-token', `${cluster.name}-restore-${run}`],
  ...(snapshot.has_no_checksum === true ? ['--skip-hash-check'] : []),
  ...(bump === undefined ? [] : ['--bump-revision', String(bump), '--mark-compacted']),
  ...['--initial-advertise-peer-urls', peer, '--data-dir', `${beside}.restoring`],
];
/** Returns the program that writes the data of a member. */
const requireCtl = ({ cluster, to }: RestoreInput): string => {
  if (cluster.ctl_binary !== undefined) return cluster.ctl_binary;
  throw new AppError('config', 'the cluster file does not name a ctl_binary', {
    code: 'NO_CTL',
    tryThis: [`set ctl_binary: PATH of the ${to} ctl program`],
  });
};
/** The plan, with the commands of the store's own program. Pure. */
export const restorePlan = (input: RestoreInput): RestorePlan => {
  const { cluster, observation, snapshot, to, run, bump } = input;
  const ctl = requireCtl(input);
  const peers = cluster.members.map((member) => ({ member, peer: peerUrl(member, observation) }));
  const unknown = peers.find(({ member, peer }) => peer === undefined || member.data_dir === undefined);
  if (unknown !== undefined)
    throw new AppError(
      'config',
      `member ${unknown.member.name} needs peer_url and data_dir in the cluster file`,
      { code: 'CLUSTER_FILE' },
    );
  refuseWrongMembers(input);
  refuseForcedStarts(input);
  const all = peers.map(({ member, peer }) => `${member.name}=${peer}`).join(',');
  const revisions = observation.members.flatMap(({ revision }) => revision ?? []);
  const now = revisions.length === 0 ? undefined : Math.max(...revisions);
  return {
    cluster: cluster.name,
    to,
    run,
    snapshot,
    ctl,
    ...(now === undefined ? {} : { revision_now: now, lost_revisions: Math.max(0, now - snapshot.revision) }),
    ...(bump === undefined ? {} : { bump_revision: bump }),
    ...unreadStarts(input),
    members: peers.map(({ member, peer }) => {
      const host = observation.members.find(({ name }) => name === member.name)?.host;
      const beside = host?.data_place?.beside.path ?? (member.data_dir as string);
      return {
        name: member.name,
        aside: `${beside}.before-restore-${run}`,
        ...logOf(member, host, to),
        words: listWords(
          { cluster, snapshot, run, bump },
          { name: member.name, all, peer: peer as string, beside },
        ),
      };
    }),
  };
};
export const unreadText = (unread: readonly string[]): string =>
  `cannot determine whether force-new-cluster is set in the start of ${unread.join(', ')}`;
export const restoreText = (plan: RestorePlan): string => {
  const lost =
    plan.lost_revisions === undefined
      ? 'an unknown number of revisions (no member responds)'
      : `${plan.lost_revisions} revisions`;
  const steps = plan.members.flatMap(({ name, aside, wal_dir, words }) => [
    `  ${name}: the data directory moves to ${aside}${wal_dir === undefined ? '' : `, and its log ${wal_dir} in the same way`}`,
    `    $ ${shellLine([plan.ctl, 'snapshot', 'restore', plan.snapshot.path, ...words])}`,
  ]);
  return [
    `Rebuild of ${plan.cluster} on ${plan.to} from ${plan.snapshot.path} (revision ${plan.snapshot.revision}, taken from ${plan.snapshot.member})`,
    `LOST: ${lost} written after the snapshot; the snapshot does not contain v2 data; the cluster is unavailable to clients during the restore`,
    ...(plan.bump_revision === undefined
      ? []
      : [
          `The revisions of the snapshot are raised by ${plan.bump_revision}, and all earlier revisions count as compacted: watches end, and clients rebuild their caches`,
        ]),
    ...(plan.unread_starts === undefined
      ? []
      : [
          `NOT CHECKED${plan.accepted?.includes('one-cluster') === true ? ' (accepted)' : ''}: ${unreadText(plan.unread_starts)}; continue only if it is not set there, because a start with it removes all other members`,
        ]),
    '1. build new data directories next to the current ones, on every host',
    '2. stop every member; the current directories are kept under another name',
    ...steps,
    `3. start every member with its ${plan.to} binary and configuration, and wait until all are healthy`,
  ].join('\n');
};

export type RestoreSource = {
  readonly snapshot: SnapshotRecord;
  readonly to: Minor;
  readonly run: string;
  /** A temporary copy of a snapshot in a bucket, deleted after the restore. */
  readonly copy?: string;
};
type Wanted = {
  /** A file or a bucket URL, instead of the newest snapshot of the last run. */
  readonly snapshot: string | undefined;
  readonly to: string | undefined;
  readonly bucket: BucketOptions;
  /** Accept a snapshot file without a checksum. */
  readonly canSkipHash?: boolean;
  readonly signal?: AbortSignal;
};
type Directories = { readonly clusters: string; readonly state: string };
type Chosen = Pick<RestoreSource, 'to' | 'run'> & { readonly place: string; readonly member: string };
/** Returns the newest snapshot of the last run, or the snapshot that the user named. */
const chooseSnapshot = async (
  host: Host,
  clusters: string,
  wanted: Wanted,
  cluster: string,
): Promise<Chosen> => {
  const [run] = (await findRuns(host, clusters, cluster)).filter(({ entries }) =>
    entries.some(({ kind }) => kind === 'snapshot'),
  );
  const opened = run?.entries[0];
  const recorded = newestSnapshot(
    run?.entries.flatMap((entry) => (entry.kind === 'snapshot' ? [entry.snapshot] : [])) ?? [],
  );
  const to = wanted.to ?? (opened?.kind === 'opened' ? opened.plan.from : undefined);
  const named = wanted.snapshot;
  const place =
    named === undefined || isBucketUrl(named) ? (named ?? recorded?.path) : resolve(host.cwd, named);
  if (place === undefined || to === undefined) {
    throw new AppError('not-found', 'this machine has no run of this cluster with snapshots', {
      code: 'NO_SNAPSHOT',
      tryThis: ['--snapshot FILE --to MINOR'],
    });
  }
  const member = recorded?.path === place ? recorded.member : 'a file';
  return { place, member, to: to as Minor, run: run?.run ?? 'by-hand' };
};
/** Returns the chosen snapshot as a local file, verified again. */
export const restoreSource = async (
  host: Host,
  { clusters, state }: Directories,
  wanted: Wanted,
  { name, s3 }: Pick<ClusterFile, 'name' | 's3'>,
): Promise<RestoreSource> => {
  const { place, member, to, run } = await chooseSnapshot(host, clusters, wanted, name);
  const isStored = isBucketUrl(place);
  const bucket = { ...s3, ...wanted.bucket, directory: `${state}/snapshots` };
  const path = isStored ? await asLocalFile(host, place, bucket, wanted.signal) : place;
  const verified = await (wanted.canSkipHash === true ? hashWithoutChecksum : verifySnapshot)(
    host,
    path,
    wanted.signal,
  );
  const revision = withSnapshot(host.files, path, snapshotRevision);
  return {
    snapshot: { duration_ms: 0, member, path, ...verified, revision },
    to,
    run,
    ...(isStored ? { copy: path } : {}),
  };
};

const defaultBump = 1_000_000_000;
/** Returns whether the ctl program can increase the revisions: its help lists the flag. */
const canBump = async (shell: Shell, ctl: string): Promise<boolean> => {
  const { stdout, stderr } = await shell.run(
    sh`${trustFunctions}
trusted ${ctl} && ETCDCTL_API=3 ${ctl} snapshot restore --help 2>&1`,
  );
  return /--bump-revision\b/.test(`${stdout}\n${stderr}`);
};
/**
 * Returns the increase of the revisions. Without it, a client that watches from a later revision waits until
 * the cluster reaches that revision, and misses the writes before it. `wanted` 0: no increase; undefined:
 * increase if every ctl program supports it.
 */
export const chooseBump = async (
  shellFor: (member: MemberSpec) => Shell,
  { members, ctl_binary }: Pick<ClusterFile, 'members' | 'ctl_binary'>,
  wanted: number | undefined,
): Promise<number | undefined> => {
  if (wanted === 0 || ctl_binary === undefined) return undefined;
  const able = await Promise.all(members.map((member) => canBump(shellFor(member), ctl_binary)));
  if (able.every(Boolean)) return wanted ?? defaultBump;
  if (wanted === undefined) return undefined;
  throw new AppError('config', `${ctl_binary} has no flag --bump-revision; no changes were made`, {
    code: 'NO_BUMP_REVISION',
    tryThis: [
      'set ctl_binary: PATH of a ctl program that has it (etcdctl or etcdutl of 3.5)',
      '--bump-revision 0 restores without it; then restart every client that watches or caches',
    ],
  });
};

const buildMs = 3_600_000;
type WantedCtl = { readonly ctl: string; readonly to: Minor };
/** Returns the error for a ctl program that does not report the wanted version, or that cannot restore. Pure. */
const findWrongCtl = (
  { code, stdout, stderr }: Pick<Finished, 'code' | 'stdout' | 'stderr'>,
  where: string,
  { ctl, to }: WantedCtl,
): AppError | undefined => {
  const text = `${stdout}\n${stderr}`.trim();
  // If a program cannot start, the path in the error may contain a version.
  const version = code === 0 ? versionInText(text) : undefined;
  const isVersion = minorOf(version) === to;
  if (isVersion && !isCtlWithoutRestore(text)) return undefined;
  const place = where === 'here' ? '' : ` on ${where}`;
  const unread =
    text === ''
      ? `printed no version (exit code ${code ?? 'unknown'})`
      : `has an unknown version (${text.split('\n')[0]})`;
  const what = version === undefined ? unread : `is ${version}`;
  const why = isVersion
    ? 'and etcdctl has no snapshot restore from 3.6 on: only etcdutl restores'
    : `but the directories are for ${to}`;
  const utl = isVersion ? utlNextTo(ctl) : undefined;
  return new AppError('unsafe', `no changes were made: the ctl program${place} ${what}, ${why}`, {
    code: 'WRONG_CTL',
    tryThis: [
      isVersion
        ? `set ctl_binary: PATH of etcdutl of ${to}${utl === undefined ? '' : `, usually ${utl}`}`
        : `set ctl_binary: PATH of the ${to} ctl program`,
    ],
  });
};
/**
 * Rejects a ctl program that another user could replace, or that has an unsuitable version, on the host of
 * the member.
 */
export const refuseWrongCtl = async (shell: Shell, wanted: WantedCtl): Promise<void> => {
  const call = () =>
    shell.run(
      sh`${trustFunctions}
trusted ${wanted.ctl} && ETCDCTL_API=3 ${wanted.ctl} version 2>&1`,
    );
  const first = await call();
  // A call without output was cut, for example on a busy host.
  const done = `${first.stdout}${first.stderr}`.trim() === '' ? await call() : first;
  if (isTrustRefusal(done.stderr.trimStart()))
    throw new AppError('unsafe', `no changes were made: ${done.stderr.trim().split('\n')[0]}`, {
      code: 'UNTRUSTED',
      tryThis: ['set ctl_binary: PATH of a program that only root or you can replace'],
    });
  const error = findWrongCtl(done, shell.where, wanted);
  if (error !== undefined) throw error;
};
/**
 * Sets `$N` to the directory as named, `$R` to its path without links, and `$B` to the path next to which new
 * and old directories are created.
 */
const locate = ({ data_dir }: MemberSpec): ShellScript => sh`${placeFunctions}
N=${data_dir?.replace(/\/+$/, '')}; R=$(real "$N"); B=$(beside "$N")`;
/**
 * Sets `$W` to the real directory of the write-ahead log if it is not part of the data directory; this
 * includes a log behind a link in the data directory. Sets `$V` to the path next to which its new and old
 * directories are created, and `$I` to its position in the data directory, or empty.
 */
const placedLog = (wal: string | undefined): ShellScript => sh`W=; V=; I=
${
  wal === undefined
    ? sh`if [ -L "$R/member/wal" ]; then W=$(real "$R/member/wal"); V=$(beside "$W"); I=/member/wal
  case "$W/" in "$R"/*) W=; V=; I=;; esac
fi`
    : sh`w=${wal}; W=$(real "$w"); V=$(beside "$w"); l="$(real "$(dirname "$w")")/$(basename "$w")"
case "$W/" in
"$R"/*) I=\${W#"$R"}; W=; V=;;
*) case "$l" in "$R"/*) I=\${l#"$R"}; V=$(beside "$W");; esac;;
esac`
}`;
/** Checks every requirement of the swap and the start on the directories while all members still run. */
const refusals = (wal: string | undefined): ShellScript => sh`refuse() { echo "$1" >&2; exit 9; }
for d in "$R" \${W:+"$W"}; do
  if is_mount "$d"; then refuse "$d is a mount point: it cannot be moved aside; make data_dir and wal_dir directories below the mount point"; fi
  p=$(dirname "$d"); [ -d "$p" ] || refuse "the directory $p does not exist"
  [ -w "$p" ] || refuse "$p cannot be written: the new directory goes there"
  if [ -d "$d" ] && [ "$(id -u)" != 0 ] && [ "$(stat -c %u "$d")" != "$(id -u)" ]; then refuse "$d belongs to uid $(stat -c %u "$d"), opsctl runs as uid $(id -u): the new directory would get another owner; run opsctl as that user or as root"; fi
done
[ ! -e "$R" ] || [ -d "$R" ] || refuse "$R is not a directory"
for d in "$R/member" "$R/member/snap" "$R/member/wal"; do ! is_mount "$d" || refuse "$d is a mount point: it cannot be moved aside"; done
for d in "$R/member" "$R/member/snap"; do [ ! -L "$d" ] || refuse "$d is a link: make data_dir the directory itself, or mount the disk there"; done
${wal === undefined ? sh`[ ! -d "$R/member" ] || [ -e "$R/member/wal" ] || [ -L "$R/member/wal" ] || refuse "$R has no member/wal, and no setting names another directory: wal_dir: PATH in the cluster file ($R/member/wal if the log is lost)"` : sh``}`;
/** The ctl program allocates a log file of this size. */
const logKib = 64_000_000 / 1024;
/** Prints the disk, its free space, the required space and the directory of each place where a build writes. */
const spaceScript = (
  bytes: number,
): ShellScript => sh`space() { d=$(dirname "$1"); echo "$(stat -c %d "$d") $(df -Pk "$d" | awk 'NR==2 {print $4}') $2 $d"; }
space "$B" ${String(Math.ceil(bytes / 1024 + logKib))} 2>/dev/null; [ -z "$W" ] || space "$V" ${String(logKib)} 2>/dev/null`;
type Space = { readonly disk: string; readonly free: number; readonly needed: number; readonly at: string };
/** A line without the free space is left out: not every file system reports it. Pure. */
const spacesIn = (output: string, where: string): Space[] =>
  [...output.matchAll(/^(\d*) (\d+) (\d+) (.*)$/gm)].map(([, disk, free, needed, at = '']) => ({
    ...{ disk: `${where} ${disk}`, free: Number(free), needed: Number(needed), at },
  }));
/** Returns the problem of the first disk that has less space than all builds on it need. Pure. */
const findFullDisk = (spaces: readonly Space[]): string | undefined => {
  const needed = new Map<string, number>();
  for (const one of spaces) needed.set(one.disk, (needed.get(one.disk) ?? 0) + one.needed);
  const full = spaces.find(({ disk, free }) => free < (needed.get(disk) ?? 0));
  const mib = (kib = 0): number => Math.floor(kib / 1024);
  return full === undefined
    ? undefined
    : `${full.at} has ${mib(full.free)} MiB free, and ${mib(needed.get(full.disk))} MiB is required for the new directories on its disk`;
};
/** Returns why a restore of this member would be refused, and the fix if it is known. Empty if no check fails. Read-only. */
export const findRestoreProblem = async (
  shell: Shell,
  { ctl_binary: ctl }: Pick<ClusterFile, 'ctl_binary'>,
  member: MemberSpec,
  { to, host }: { readonly to: Minor; readonly host: HostFacts | undefined },
): Promise<NonNullable<HostFacts['restore_check']>> => {
  if (ctl === undefined) return { problem: 'the cluster file has no ctl_binary' };
  if (member.data_dir === undefined) return { problem: 'the cluster file has no data_dir' };
  try {
    await refuseWrongCtl(shell, { ctl, to });
    const { wal_dir } = logOf(member, host, to);
    const done = await shell.run(sh`${locate(member)}
${placedLog(wal_dir)}
${refusals(wal_dir)}
${spaceScript(host?.db_file_bytes ?? 0)}`);
    const problem = done.code === 0 ? findFullDisk(spacesIn(done.stdout, shell.where)) : failureReason(done);
    return problem === undefined ? {} : { problem };
  } catch (error) {
    const hint = error instanceof AppError ? error.detail.tryThis?.[0] : undefined;
    return { problem: messageOf(error), ...(hint === undefined ? {} : { hint }) };
  }
};
/** Returns the first of these ctl programs that can restore this version on the host of every member. */
export const findCtlFor = async (
  shells: readonly Shell[],
  programs: readonly string[],
  to: Minor,
): Promise<string | undefined> => {
  for (const ctl of programs) {
    const checks = await Promise.allSettled(shells.map((shell) => refuseWrongCtl(shell, { ctl, to })));
    if (checks.every(({ status }) => status === 'fulfilled')) return ctl;
  }
  return undefined;
};
/**
 * The ctl program of 3.2 does not support --wal-dir, so on every version the script moves the log out of the
 * new directory.
 */
const logScript = sh`T=$B.restoring\${I:-/member/wal}
if [ -n "$W" ]; then T=$V.restoring; rm -rf "$T" || exit 1; fi
if [ "$T" != "$B.restoring/member/wal" ]; then mkdir -p "$(dirname "$T")" && mv "$B.restoring/member/wal" "$T" || exit 1; fi`;
/**
 * Creates the new directory next to the current directory, on its disk, with its owner and mode, before any
 * stop. `owner`: for a directory that does not exist.
 */
const buildScript = (
  plan: RestorePlan,
  { words, wal_dir }: RestoreStep,
  member: MemberSpec,
  { snapshot, owner }: { readonly snapshot: string; readonly owner: string | undefined },
): ShellScript => {
  const at = words.indexOf('--data-dir');
  const before = at < 0 ? words : words.slice(0, at);
  return sh`${locate(member)}
${placedLog(wal_dir)}
${refusals(wal_dir)}
rm -rf "$B.restoring" || exit 1
ETCDCTL_API=3 ${[plan.ctl, 'snapshot', 'restore', snapshot, ...before]} --data-dir "$B.restoring" >&2 || { rm -rf "$B.restoring"; exit 1; }
${logScript}
if [ -d "$R" ]; then o=$(stat -c %u:%g "$R"); m=$(stat -c %a "$R"); else o=${owner}; m=700; fi
if [ "$(id -u)" = 0 ] && [ -n "$o" ]; then chown -R "$o" "$B.restoring" || exit 1; fi
chmod "$m" "$B.restoring" || exit 1
if [ -n "$W" ]; then
  if [ -d "$W" ]; then o=$(stat -c %u:%g "$W"); m=$(stat -c %a "$W"); else m=700; fi
  if [ "$(id -u)" = 0 ] && [ -n "$o" ]; then chown -R "$o" "$V.restoring" || exit 1; fi
  chmod "$m" "$V.restoring" || exit 1
  if [ -n "$I" ]; then mkdir -p "$(dirname "$B.restoring$I")"; ln -s "$(readlink "$R$I")" "$B.restoring$I" || exit 1; fi
fi`;
};
type Building = { readonly shell: Shell; readonly step: RestoreStep; readonly member: MemberSpec };
const refusedBuild = (message: string, fix: Advice): AppError =>
  new AppError('unsafe', `no member was stopped: ${message}`, { code: 'RESTORE_FAILED', tryThis: [fix] });
const failedBuild = ({ snapshot, to }: RestorePlan, { name }: RestoreStep, reason: string): AppError =>
  refusedBuild(
    `cannot build the directory of ${name}: ${reason}`,
    after('remove the cause, then', ['kv', 'restore', '--snapshot', snapshot.path, '--to', to]),
  );
/**
 * Requires space for every build before the first: a build that fills a disk would stop a member that runs there. On
 * another host, the snapshot is copied to the same disk.
 */
export const refuseFullDisks = async (plan: RestorePlan, builds: readonly Building[]): Promise<void> => {
  const spaces: Space[] = [];
  for (const { shell, step, member } of builds) {
    const size = plan.snapshot.size_bytes * (shell.where === 'here' ? 1 : 2);
    const done = await shell.run(sh`${locate(member)}
${placedLog(step.wal_dir)}
${refusals(step.wal_dir)}
rm -rf "$B.restoring" \${W:+"$V.restoring"} || exit 1
${spaceScript(size)}`);
    if (done.code !== 0) throw failedBuild(plan, step, failureReason(done));
    spaces.push(...spacesIn(done.stdout, shell.where));
  }
  const problem = findFullDisk(spaces);
  if (problem === undefined || plan.accepted?.includes('disk-space') === true) return;
  throw refusedBuild(problem, consentHint('disk-space'));
};
export const buildDirectory = async (
  shell: Shell,
  plan: RestorePlan,
  step: RestoreStep,
  member: MemberSpec,
  owner?: string,
): Promise<void> => {
  const beside = step.aside.replace(/\.before-restore-[^/]*$/, '');
  const sent = await shell.send(plan.snapshot.path, `${beside}.snapshot`);
  const script = buildScript(plan, step, member, { snapshot: sent.path, owner });
  const done = await shell.run(script, { timeoutMs: buildMs }).catch(async (error: unknown) => {
    await sent.remove().catch(() => {});
    throw error;
  });
  await sent.remove();
  if (done.code !== 0) throw failedBuild(plan, step, failureReason(done));
};
/**
 * A second rebuild, or a resume after a crash, must not overwrite the directory that the first moved aside. A
 * link to a directory stays a link.
 */
const swapScript = ({ aside, wal_dir }: RestoreStep, member: MemberSpec): ShellScript => {
  const ending = /\.before-restore-[^/]*$/.exec(aside)?.[0];
  return sh`set -e
${locate(member)}
${placedLog(wal_dir)}
K=$(unused "$B"${ending})
if [ -n "$W" ] && [ -e "$V.restoring" ]; then
  L=$(unused "$V"${ending})
  if [ -e "$W" ]; then mv "$W" "$L"; [ -z "$I" ] || { rm -f "$R$I"; ln -s "$L" "$R$I"; }; fi
  mv "$V.restoring" "$W"
fi
if [ -e "$R" ]; then mv "$R" "$K"; fi
mv "$B.restoring" "$R"
printf %s "$K"`;
};
/**
 * Moves the current directory aside and the new directory to its path. Returns the new path of the previous
 * directory. `again` is the command that repeats the restore.
 */
export const swapDirectory = async (
  shell: Shell,
  step: RestoreStep,
  member: MemberSpec,
  again: readonly string[],
): Promise<string> => {
  const done = await shell.run(swapScript(step, member), { timeoutMs: 60_000 });
  if (done.code === 0) return done.stdout;
  throw new AppError(
    'stopped',
    `${step.name}: its data directory could not be changed: ${done.stderr.trim().split('\n').at(-1) ?? ''}`,
    {
      code: 'RESTORE_STOPPED',
      tryThis: [
        after(
          'every member is stopped; fix the cause, then',
          again,
          'restores again: the kept directories stay',
        ),
      ],
    },
  );
};
/** Returns whether the new directory exists next to the current directory. */
export const isSiblingPath = async (shell: Shell, member: MemberSpec): Promise<boolean> =>
  (
    await shell.run(
      sh`[ -d ${`${member.data_dir}.restoring`} ] && exit 0\n${locate(member)}\n[ -d "$B.restoring" ]`,
    )
  ).code === 0;
