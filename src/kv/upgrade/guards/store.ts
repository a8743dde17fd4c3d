import { defaultOf, defaultQuota } from '../../../api-specs/etcd/server-settings.ts';
import { type Advice, after, next } from '../../../core/next.ts';
import { compareVersions, type Minor } from '../../../api-specs/etcd/versions.ts';
import { AppError } from '../../../core/problem.ts';
import { hexId } from '../../client/messages.ts';
import type { ClusterFile, Finding, MemberStatus, MemberSpec, Observation } from '../../engine/model.ts';
import { isOn } from '../configuration/access.ts';
import { readSettings, runningStart } from '../configuration/configuration.ts';
import { cannotHash, compareHashes, contradictions } from '../observe/observe.ts';
import { bytesOfQuota, quotaFor } from '../observe/see-member.ts';
import { isStartedByPlan, isStartedHere, readNextStart } from './next-start.ts';
import { guard, type GuardInput, type Log, memberFacts } from './guard.ts';
import { sizeText } from '../../../core/format.ts';

const megabyte = 1_000_000;
export type Settle = { readonly seconds: number; readonly why: string };
/** spec/store#limits: v2 data over 50 MB: two minutes between members; 100 MB or more: longer; only v3 data: no wait. */
export const settleOf = (v2Bytes: number): Settle | undefined => {
  if (v2Bytes <= 50 * megabyte) return undefined;
  if (v2Bytes < 100 * megabyte)
    return {
      seconds: 120,
      why: `${sizeText(v2Bytes)} of v2 data: a new member may take two minutes to catch up`,
    };
  const minutes = Math.ceil((2 * v2Bytes) / (50 * megabyte));
  return {
    seconds: minutes * 60,
    why: `${sizeText(v2Bytes)} of v2 data: catching up takes longer than two minutes`,
  };
};
/**
 * Uses the larger of the v2 snapshot file and the current content of the v2 interface: the file may be a
 * hundred thousand writes old.
 */
export const v2BytesOf = ({ members, v2 }: Pick<Observation, 'members' | 'v2'>): number =>
  Math.max(
    0,
    v2 !== undefined && 'bytes' in v2 ? v2.bytes : 0,
    ...members.map(({ host }) => host?.v2_bytes ?? 0),
  );
/**
 * A v2 snapshot file also contains the list of members. A file up to this size does not prove that clients
 * have stored data.
 */
const memberRecordBytes = 64 * 1024;
/**
 * Size of the known v2 data that clients have written. A read through the interface is exact. If the
 * interface is off or did not respond, only a snapshot file larger than the records of the members counts.
 */
const clientV2Bytes = ({ members, v2 }: Pick<Observation, 'members' | 'v2'>): number => {
  if (v2 !== undefined && 'bytes' in v2 && v2.bytes > 0) return v2BytesOf({ members, v2 });
  const largest = v2BytesOf({ members });
  return largest > memberRecordBytes ? largest : 0;
};
const foundV2 = (observation: Observation): string => {
  const bytes = clientV2Bytes(observation);
  return bytes === 0
    ? 'no v2 data: no waits between members'
    : `${sizeText(bytes)} of v2 data, at most 50 MB: no waits between members`;
};
export const v2Settle = guard(
  'v2-settle',
  'the members have at most 50 MB of v2 data',
  ({ observation, from }, log) => {
    const settle = settleOf(v2BytesOf(observation));
    if (settle !== undefined)
      return log.warn({ message: `${settle.why}; the plan waits ${settle.seconds} s between members` });
    const { v2 } = observation;
    if (v2 !== undefined && 'unknown' in v2)
      log.noteUnknown({
        message: `cannot determine the size of the v2 data: ${v2.unknown}; with more than 50 MB, each member of ${from ?? 'the old version'} needs two minutes`,
        hint: '--stable-for 120 waits two minutes after each member',
      });
  },
  memberFacts.answer,
  { statement: ({ observation }) => foundV2(observation) },
);
/**
 * spec/store#procedure-2: a snapshot holds only v3 data, so v2 data of any amount needs a copy of the data directories. A run that has started
 * keeps the decision of its plan.
 */
export const v2Backup = guard(
  'v2-backup',
  'the backup covers all data',
  ({ observation, options, isUnderWay }, log) => {
    const bytes = clientV2Bytes(observation);
    if (options.copy_data) return;
    const { v2 } = observation;
    if (bytes > 0)
      return log[isUnderWay === true ? 'warn' : 'fail']({
        message: `${sizeText(bytes)} of v2 data is not part of any backup: snapshots contain only v3 data`,
        hint: '--copy-data copies each data directory while its member is stopped; --accept v2-backup continues without a copy',
      });
    if (v2 !== undefined && 'unknown' in v2)
      log.noteUnknown({
        message: `cannot determine whether the members have v2 data: ${v2.unknown}; snapshots contain only v3 data`,
        hint: '--copy-data copies each data directory while its member is stopped',
      });
  },
  memberFacts.answer,
  {
    statement: ({ observation, options }) => {
      const bytes = clientV2Bytes(observation);
      if (bytes === 0) return 'no v2 data was found: snapshots contain all data';
      return options.copy_data
        ? `${sizeText(bytes)} of v2 data: each data directory is copied while its member is stopped`
        : undefined;
    },
  },
);

type Said = { readonly member: string; readonly message: string; readonly hint: Advice };
type Seen = Pick<Observation, 'alarms' | 'members' | 'listed'>;
/** The store keeps an alarm after the member that raised it was removed, and still rejects writes. */
export const isOfRemovedMember = (
  { member_id }: Seen['alarms'][number],
  { members, listed }: Pick<Seen, 'members' | 'listed'>,
): boolean =>
  listed.length > 0 &&
  member_id !== '0' &&
  [...listed.map(({ id }) => id), ...members.map((member) => member.member_id)].every(
    (id) => id !== member_id,
  );
/** The next command, according to the member that raised the alarm and the type of the alarm. */
const hintFor = (alarm: string, name: string): Advice => {
  if (alarm === 'NOSPACE')
    return next(['kv', 'recover-space'], after('; or raise the quota, then', ['kv', 'alarm', 'disarm']));
  return next(
    ['kv', 'replace-member', `${name}`],
    'gives it the data of the other members, which differs from its own',
  );
};
/** Every alarm, with the member that raised it and the next command. Pure. */
export const alarmMessages = (seen: Seen): readonly Said[] =>
  seen.alarms.map((raised) => {
    const { member_id, alarm } = raised;
    if (isOfRemovedMember(raised, seen)) {
      const member = hexId(member_id);
      const message = `alarm ${alarm} of member ${member} is still raised, although ${member} is no longer a member`;
      return { member, message, hint: next(['kv', 'alarm', 'disarm', '--alarm', `${alarm}`]) };
    }
    if (member_id === '0' && alarm === 'NOSPACE')
      return {
        member: 'unknown',
        message: 'alarm NOSPACE does not name a member: a client raised it',
        hint: next(['kv', 'alarm', 'disarm', '--alarm', 'NOSPACE']),
      };
    if (member_id === '0')
      return {
        member: 'unknown',
        message: `alarm ${alarm} does not name a member: no majority of the members has the same data`,
        hint: next(
          ['kv', 'endpoint', 'hashkv'],
          after('compares them;', ['kv', 'restore'], 'rebuilds the cluster from a snapshot'),
        ),
      };
    const name =
      seen.members.find((member) => member.member_id === member_id)?.name ??
      seen.listed.find((row) => row.id === member_id)?.name ??
      hexId(member_id);
    return { member: name, message: `alarm ${alarm} is raised by ${name}`, hint: hintFor(alarm, name) };
  });
/** An alarm during a run: the current member is not its cause, and a revert does not fix it. */
export const alarmError = ({ message, hint }: Said, where: string): AppError =>
  new AppError('stopped', `${message}${where}`, {
    code: 'ALARM',
    tryThis: [hint, next(['kv', 'alarm', 'list'])],
  });
export const alarmsAreClear = guard('no-alarms', 'no alarm is raised', ({ observation }, log) => {
  for (const said of alarmMessages(observation)) log.fail(said);
});

/** At its quota the store rejects every write, and the writes of the upgrade may reach the quota. */
const limits = { warn: 0.8, fail: 0.95 };
const QUOTA = 'quota-backend-bytes';
/**
 * The quota that the next start of a member sets. A member that the plan does not start keeps its quota.
 * Undefined if that part of the start was not read.
 */
const nextQuota = (input: GuardInput, member: MemberStatus): number | undefined => {
  const { cluster, to } = input;
  const spec = cluster.members.find((one) => one.name === member.name);
  if (spec === undefined || to === undefined || !isStartedByPlan(input, member)) return member.quota_bytes;
  const next = readNextStart({ member: spec, host: member.host, to, isLocal: isStartedHere(cluster) });
  return next?.isKnown(QUOTA) === true ? quotaFor(next.read(QUOTA)) : undefined;
};
/** A new start with a smaller quota than the database raises the alarm NOSPACE. */
const quotaFinding = (
  { name, db_size_bytes: size = 0, quota_bytes: current = defaultQuota }: MemberStatus,
  next_quota: number,
): { readonly share: number; readonly said: Said } => {
  const [now, later] = [bytesOfQuota(current), bytesOfQuota(next_quota)];
  const most = Math.min(now, later);
  const [share, isSmaller] = [size / most, later < now];
  const which = isSmaller ? 'the quota of its next start' : 'its quota';
  return {
    share,
    said: {
      member: name,
      message: `the database of ${name} fills ${Math.round(share * 100)} % of ${which}: ${sizeText(size)} of ${sizeText(most)}`,
      hint: isSmaller
        ? `start it with at least its current quota: quota-backend-bytes ${current}`
        : next(
            ['kv', 'compact'],
            after(', then', ['kv', 'defrag'], '; or raise --quota-backend-bytes on every member'),
          ),
    },
  };
};
const isDropped = (current: number, planned: number | undefined): boolean =>
  planned === defaultQuota && bytesOfQuota(current) > defaultQuota;
/** The next start sets no quota, so the member gets the default. Its database fits, but it may grow as before. */
const droppedQuota = ({ name, quota_bytes: current = defaultQuota }: MemberStatus): Said => ({
  member: name,
  message: `the quota of ${name} becomes the default of ${sizeText(defaultQuota)} with its next start; it is ${current < 0 ? 'unlimited' : sizeText(current)} now`,
  hint: `start it with its current quota: quota-backend-bytes ${current}`,
});
export const quota = guard('quota', 'no database is near its quota', (input, log) => {
  for (const member of input.observation.members.filter(({ is_reachable }) => is_reachable)) {
    const { name, db_size_bytes: size, quota_bytes: current } = member;
    if (size === undefined || current === undefined) {
      log.noteUnknown({
        member: name,
        message: `${name}: cannot read the size of its database or its quota`,
      });
      continue;
    }
    const planned = nextQuota(input, member);
    const { share, said } = quotaFinding(member, planned ?? current);
    if (share >= limits.fail) log.fail(said);
    else if (share >= limits.warn) log.warn(said);
    else if (planned === undefined && size >= limits.warn * defaultQuota)
      log.noteUnknown({
        member: name,
        message: `${name}: cannot read the quota of its next start; its database has ${sizeText(size)}, and the default quota is ${sizeText(defaultQuota)}`,
        hint: `make sure that it starts with quota-backend-bytes ${current}`,
      });
    else if (isDropped(current, planned)) log.warn(droppedQuota(member));
  }
});

const holds = (odd: readonly string[]): string =>
  odd.length === 0 ? 'the members hold' : `${odd.join(', ')} ${odd.length === 1 ? 'holds' : 'hold'}`;
const differs = (odd: readonly string[], detail: string): Omit<Finding, 'guard' | 'level'> => ({
  ...(odd[0] === undefined ? {} : { member: odd[0] }),
  message: `${holds(odd)} different data: ${detail}`,
  hint:
    odd[0] === undefined
      ? next(
          ['kv', 'snapshot', 'diff'],
          after(
            'compares snapshots of the members;',
            ['kv', 'restore'],
            'rebuilds the cluster from one of them',
          ),
        )
      : next(['kv', 'replace-member', odd[0]], 'gives it the data of the other members'),
});
/** Describes members whose revisions contradict each other; undefined if none do. Pure. */
export const revisionFinding = ({
  revisions = [],
}: Pick<Observation, 'revisions'>): Omit<Finding, 'guard' | 'level'> | undefined => {
  const odd = contradictions(revisions);
  if (odd === undefined) return undefined;
  const rows = revisions.map(({ name, after: revision }) => `${name} ${revision}`).join(', ');
  return differs(odd, `the revisions differ after the same changes (${rows})`);
};
const LATER_HASHES =
  'the health checks compare it as soon as two members run a version that can hash its data';
/**
 * If the data of members differs, an upgrade would carry the fault into the new version, and the snapshots
 * would differ.
 */
export const dataAgrees = guard(
  'data-agrees',
  'all members have the same data, as far as their versions can compare it',
  ({ observation }, log) => {
    const { hashes, not_hashed, revisions_unread } = observation;
    // A version that cannot hash its data answers no command that compares it.
    const isPossible = observation.members.every(({ server_version }) => !cannotHash(server_version));
    for (const why of [not_hashed, revisions_unread])
      if (why !== undefined)
        log.noteUnknown({
          message: `the data of the members was not compared: ${why}`,
          hint: isPossible ? next(['kv', 'endpoint', 'hashkv'], 'compares it') : LATER_HASHES,
        });
    const counted = revisionFinding(observation);
    if (counted !== undefined) return log.fail(counted);
    const found = compareHashes(hashes ?? []);
    if (found.kind === 'moving')
      return log.noteUnknown({
        message:
          'the data of the members was not compared: they report different compactions, so a compaction runs or one of them has another history',
        hint: next(['kv', 'endpoint', 'hashkv'], 'compares it after the compaction'),
      });
    if (found.kind === 'unproved')
      return log.warn({
        message: `members of different versions hash their data differently after a compaction, so different hashes are not a fault: ${found.detail}`,
        hint: next(['kv', 'endpoint', 'hashkv'], ', when all of them run the same version'),
      });
    if (found.kind === 'different') log.fail(differs(found.odd, found.detail));
  },
);

type Way = { readonly from?: Minor | undefined; readonly to?: Minor | undefined };
const refusesV2 = ({ from, to }: Way): boolean => from === '3.5' && to === '3.6';
/** The store's own program must read the directory of a stopped member, and can run only on this machine. */
export const checksV2 = ({ utl_binary, driver = 'local' }: ClusterFile, way: Way): boolean =>
  refusesV2(way) && utl_binary !== undefined && driver === 'local';
export const v2CheckLine = (
  { utl_binary = 'etcdutl' }: ClusterFile,
  dataDir: string,
): [string, ...string[]] => [utl_binary, 'check', 'v2store', '--data-dir', dataDir];
/** Undefined if the configuration of the member was not read. */
const servesV2 = (spec: MemberSpec | undefined, seen: MemberStatus): boolean | undefined => {
  const read = readSettings(runningStart(spec, seen));
  return read === undefined ? undefined : isOn(read('enable-v2'));
};
/**
 * 3.6 does not start if its snapshot or its log contains v2 data. Even a read through /v2 is stored in the
 * log, so opsctl never sends such a read here.
 */
export const noV2Data = guard(
  'no-v2-data',
  'the v2 interface is off on every member',
  ({ observation, cluster, from, to }, log) => {
    for (const seen of observation.members) {
      const { name } = seen;
      const isServed = servesV2(
        cluster.members.find((spec) => spec.name === name),
        seen,
      );
      if (isServed === undefined)
        log.noteUnknown({
          member: name,
          message: `${name}: cannot determine whether it serves the v2 interface: its flags, variables or configuration file could not be read`,
        });
      if (isServed === true)
        log.fail({
          member: name,
          message: `${name} serves the v2 interface (enable-v2): 3.6 does not have it and does not start with v2 data`,
          hint: 'move the clients to v3, remove the v2 data, and restart every member without enable-v2 first',
        });
    }
    if (!checksV2(cluster, { from, to }))
      log.noteUnknown({
        message: 'cannot determine whether the data directories contain v2 data: 3.6 does not start with it',
        hint:
          (cluster.driver ?? 'local') === 'local'
            ? 'set utl_binary in the cluster file to the etcdutl of 3.5.32 or later, so that opsctl checks each member between its stop and its start; a member that does not start is rolled back to 3.5'
            : 'run etcdutl check v2store --data-dir DIR (3.5.32 or later) on a stopped member; a member that does not start is rolled back to 3.5',
      });
  },
  memberFacts.answer,
  {
    statement: () =>
      'the v2 interface is off, and opsctl checks every stopped member for v2 data before it starts',
    skips: ({ from, to }) =>
      refusesV2({ from, to }) ? undefined : 'only the upgrade from 3.5 to 3.6 refuses v2 data',
  },
);

const shortLeaseSeconds = 300;
const safePatch = '3.2.31';
const revokeWarning = {
  message: 'a lease revoke without permission that reaches a 3.3 member during the upgrade can corrupt data',
  hint: 'until every member runs 3.3, clients must not revoke leases, or must use members of 3.2 for it',
};
/**
 * spec/store#limits: with auth and a small lease TTL, upgrade to 3.2.31 first: an unauthorized revoke that
 * reaches a 3.3 member can corrupt data.
 */
/** The value of `auth-token` with which a member runs; undefined if its configuration was not read. */
const tokenOf = (spec: MemberSpec | undefined, seen: MemberStatus): string | undefined => {
  const read = readSettings(runningStart(spec, seen));
  return read === undefined ? undefined : String(read('auth-token') ?? defaultOf('auth-token', '3.3'));
};
/** A member keeps simple tokens in its memory. Signed tokens are valid on every member, and a certificate needs no token. */
const warnAboutTokens = (
  members: readonly MemberStatus[],
  { members: specs }: ClusterFile,
  log: Log,
): void => {
  const tokens = members.map((seen) =>
    tokenOf(
      specs.find(({ name }) => name === seen.name),
      seen,
    ),
  );
  if (tokens.every((token) => token?.startsWith('jwt') === true)) return;
  const isKnown = tokens.some((token) => token?.startsWith('simple') === true);
  log.warn({
    message: isKnown
      ? 'authentication is enabled with simple tokens: clients that signed in with a password must sign in again after each restart of their member'
      : 'authentication is enabled: if the members use simple tokens (auth-token), clients that signed in with a password must sign in again after each restart of their member',
    hint: 'make sure that clients renew a rejected token once, not before each request',
  });
};
const repeatHint = 'run the command again when the members respond in time';
const checkUser = (auth: Observation['auth'], { user, tls }: ClusterFile, log: Log): void => {
  // A client certificate can also name the user; then the read succeeded.
  if (user === undefined && (tls?.cert_file === undefined || auth.problem !== undefined))
    log.fail({
      message:
        'authentication is on and the cluster file does not name a user: opsctl cannot check the members',
      hint: 'add user.name and user.password_file to the cluster file (a user with the root role)',
    });
  else if (auth.problem !== undefined)
    log.fail({
      message: `user ${user?.name} cannot read: ${auth.problem}`,
      hint: auth.is_rejected === true ? 'use a user with the root role' : repeatHint,
    });
};
export const authAndLeases = guard(
  'auth-and-leases',
  'authentication and leases are safe during this change of version',
  ({ observation, cluster, from, to }, log) => {
    const { auth, members, shortest_lease_seconds: shortest } = observation;
    if (auth.is_on === undefined)
      log.noteUnknown({
        message: `cannot read whether authentication is on: ${auth.problem ?? 'no healthy member responds'}`,
        hint: repeatHint,
      });
    if (auth.is_on !== true) return;
    if (from === '3.2' && to === '3.3') log.warn(revokeWarning);
    checkUser(auth, cluster, log);
    const old = members.filter(
      ({ server_version }) =>
        from === '3.2' && server_version !== undefined && compareVersions(server_version, safePatch) < 0,
    );
    const first = old[0];
    if (first !== undefined && (shortest === undefined || shortest < shortLeaseSeconds)) {
      const leases =
        shortest === undefined
          ? 'leases with a short time to live may exist (3.2 cannot list them)'
          : `the shortest lease has a TTL of ${shortest} s`;
      log.fail({
        member: first.name,
        message: `authentication is on, ${leases}, and ${first.name} runs ${first.server_version}: data can become inconsistent`,
        hint: `upgrade every member to ${safePatch} or later first`,
      });
    }
    warnAboutTokens(members, cluster, log);
  },
  memberFacts.answer,
  {
    skips: ({ observation: { auth } }) => (auth.is_on === false ? 'authentication is off' : undefined),
  },
);
