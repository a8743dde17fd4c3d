import { isAbsolute, resolve } from 'node:path';
import { after, next } from '../../../core/next.ts';
import { hexId } from '../../client/messages.ts';
import { holdText } from '../../engine/locks.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import type { ListedMember } from '../../client/etcd-client.ts';
import type {
  ClusterFile,
  Finding,
  MemberSpec,
  MemberStatus,
  Observation,
  PlanKind,
} from '../../engine/model.ts';
import { argvOf } from '../../../core/shell.ts';
import { flagsOf } from '../configuration/configuration.ts';
import { guard, type GuardInput, type Log, memberFacts } from './guard.ts';
import { findUnreadStart, isStartedHere, listForcedStarts, startNames } from './next-start.ts';
import { alarmMessages } from './store.ts';
import { listDataDirectories } from '../supervisors/wal-directory.ts';

/**
 * Operators choose their own names, but swapped names are a fault: opsctl would stop one member and check
 * another.
 */
const findCrossed = ({ members, listed }: Observation, { members: specs }: ClusterFile, log: Log): void => {
  const nameIn = (id: string | undefined): string | undefined => listed.find((row) => row.id === id)?.name;
  for (const { name, member_id, client_url } of members) {
    const called = nameIn(member_id);
    if (called !== name && specs.some((spec) => spec.name === called))
      log.fail({
        member: name,
        message: `client_url ${client_url} of ${name} belongs to member ${called}`,
        hint: next(['kv', 'member', 'list'], 'shows names and URLs'),
      });
    const spec = specs.find((one) => one.name === name);
    for (const which of ['new', 'old'] as const) {
      const started = flagsOf(argvOf(spec?.[`${which}_command`], spec?.[`${which}_binary`]) ?? []).get(
        'name',
      );
      if (called === name && started !== called && listed.some((row) => row.name === started))
        log.fail({
          member: name,
          message: `${which}_command of ${name} starts member ${started}, but its client_url belongs to ${called}`,
          hint: 'check the commands in the cluster file',
        });
    }
  }
};
/** The paths of the data directory of an entry. */
const ownDirectories = ({ data_dir, name }: MemberSpec, { members }: Observation): string[] => {
  const host = members.find((one) => one.name === name)?.host;
  return [data_dir, host?.real_data_dir, host?.data_place?.real].flatMap((path) =>
    path === undefined ? [] : [resolve(path)],
  );
};
/**
 * A member that runs on the data directory of another entry: its entry or the other one is wrong. A directory that no
 * entry contains is not a proof: `data-directories` reports it.
 */
const findCrossedDirectories = (observation: Observation, { members }: ClusterFile, log: Log): void => {
  for (const member of members) {
    const { name, data_dir } = member;
    const seen = observation.members.find((one) => one.name === name);
    if (data_dir === undefined) continue;
    const { working_directory: cwd, other_directories = [] } = seen?.host ?? {};
    const named = listDataDirectories(member, seen?.host ?? {}, minorOf(seen?.server_version))
      .filter(({ directory }) => isAbsolute(directory) || cwd !== undefined)
      .map((one) => ({ ...one, path: resolve(cwd ?? '/', one.directory) }));
    const own = ownDirectories(member, observation);
    const others = members.filter((one) => one !== member && one.host === member.host);
    for (const { where, path } of [...other_directories, ...named]) {
      const owner = others.find((one) => ownDirectories(one, observation).includes(path));
      if (owner === undefined || own.includes(path)) continue;
      log.fail({
        member: name,
        message: `${name}: ${where} runs on the data directory ${path}, which is data_dir of ${owner.name}; data_dir of ${name} is ${data_dir}`,
        hint: `correct data_dir of ${name} and ${owner.name} in the cluster file`,
      });
      break;
    }
  }
};
/**
 * The entries of the cluster file that mix two members: a client or peer URL of another member, or a command with another
 * data directory. Every operation that stops a member or moves its data refuses them, also if the cluster is damaged.
 */
export const findMixedEntries = (observation: Observation, cluster: ClusterFile): Finding[] => {
  const found: Finding[] = [];
  const fail: Log['fail'] = (said) => void found.push({ guard: 'one-cluster', level: 'fail', ...said });
  const log = { fail, warn: () => {}, noteUnknown: () => {} };
  findCrossed(observation, cluster, log);
  findCrossedDirectories(observation, cluster, log);
  for (const { name, peer_url } of cluster.members) {
    const own = observation.listed.find((row) => row.name === name) ?? findListed(observation, { name });
    const owner = observation.listed.find(
      ({ peer_urls }) =>
        peer_url !== undefined && peer_urls.map(withoutSlash).includes(withoutSlash(peer_url)),
    );
    if (own !== undefined && owner !== undefined && own.id !== owner.id)
      fail({
        member: name,
        message: `peer_url ${peer_url} of ${name} belongs to member ${owner.name || hexId(owner.id)}`,
        hint: `set peer_url: ${own.peer_urls[0]}`,
      });
  }
  return found;
};
const checkClusterIds = ({ members }: Observation, log: Log): void => {
  const clusters = new Set(members.flatMap(({ cluster_id }) => cluster_id ?? []));
  if (clusters.size > 1)
    log.fail({
      message: `the members belong to ${clusters.size} clusters: ${members.map((m) => `${m.name} ${m.cluster_id === undefined ? '?' : hexId(m.cluster_id)}`).join(', ')}`,
      hint: 'one of the URLs or data directories is wrong',
    });
};
const checkMemberLists = ({ members }: Observation, log: Log): void => {
  const views = new Set(members.flatMap(({ listed_ids }) => listed_ids?.join(',') ?? []));
  if (views.size > 1)
    log.fail({
      message: 'the members report different member lists',
      hint: next(['kv', 'member', 'list', '--endpoints', 'URL'], 'for each'),
    });
};
const memberIds = ({ members }: Observation): string[] => members.flatMap(({ member_id }) => member_id ?? []);
const checkDuplicates = ({ members }: Observation, log: Log): void => {
  const twice = members.find(
    ({ member_id }, i) =>
      member_id !== undefined && members.findIndex((one) => one.member_id === member_id) !== i,
  );
  if (twice !== undefined)
    log.fail({
      member: twice.name,
      message: `${twice.name} and another entry of the cluster file are the same member ${hexId(twice.member_id as string)}`,
      hint: 'check the client URLs',
    });
};
/** The member responds, but its status is missing, so its identity is unknown. */
const checkKnown = ({ members }: Observation, log: Log): void => {
  for (const { name, is_reachable, member_id, errors } of members)
    if (is_reachable && member_id === undefined)
      log.fail({
        member: name,
        message: `${name} responds, but opsctl cannot read its status (${errors[0] ?? 'no response'}): its member ID is unknown`,
        hint: after('try again;', ['kv', 'status']),
      });
};
/**
 * Finds a member of the cluster file in the member list: by its ID, by its name if it does not respond, or by its peer URL
 * if it has not started.
 */
export const findListed = (
  { members, listed }: Observation,
  { name, peer_url }: Pick<MemberSpec, 'name'> & Partial<Pick<MemberSpec, 'peer_url'>>,
): ListedMember | undefined => {
  const id = members.find((member) => member.name === name)?.member_id;
  return (
    listed.find((row) => row.id === id) ??
    listed.find((row) => row.name === name) ??
    listed.find(({ peer_urls }) => peer_url !== undefined && peer_urls.includes(peer_url))
  );
};
/**
 * The listed members that no entry of the cluster file describes. An entry that was not found, because its member does
 * not respond and has another name, may be one of them.
 */
export const listStrangers = (
  observation: Observation,
  { members }: Pick<ClusterFile, 'members'>,
): ListedMember[] => {
  const known = members.map((member) => findListed(observation, member)?.id);
  const rows = observation.listed.filter(({ id }) => !known.includes(id));
  const unknown = members.filter(
    ({ name }, i) =>
      known[i] === undefined &&
      observation.members.find((member) => member.name === name)?.member_id === undefined,
  );
  return rows.length > unknown.length ? rows : [];
};
/** Reports a member that never started, cannot vote, or is missing in the cluster file. */
const checkListed = (observation: Observation, cluster: ClusterFile, log: Log): void => {
  const { listed } = observation;
  const ids = memberIds(observation);
  const strangers = listStrangers(observation, cluster);
  for (const row of listed) {
    // A member that responds has started, even if it has not published its name yet.
    if (row.name === '' && !ids.includes(row.id))
      log.fail({
        message: `member ${hexId(row.id)} (${row.peer_urls.join(', ')}) was added but never started`,
        hint: 'start it or remove it',
      });
    else if (row.is_learner)
      log.fail({
        member: row.name,
        message: `${row.name} is a learner: it does not vote yet`,
        hint: 'promote it or remove it first',
      });
    else if (strangers.includes(row))
      log.fail({
        message: `member ${row.name} (${hexId(row.id)}) is not in the cluster file`,
        hint: 'add it to the cluster file, because opsctl must check every member',
      });
  }
};
const withoutSlash = (url: string): string => url.replace(/\/+$/, '');
/** A restore of a stopped cluster cannot read the member list, so it uses the URLs of the cluster file. */
const checkPeerUrls = ({ members, listed }: Observation, { members: specs }: ClusterFile, log: Log): void => {
  for (const { name, peer_url } of specs) {
    const id = members.find((member) => member.name === name)?.member_id;
    const urls = listed.find((row) => row.id === id)?.peer_urls.map(withoutSlash) ?? [];
    if (id === undefined || peer_url === undefined || urls.length === 0) continue;
    if (!urls.includes(withoutSlash(peer_url)))
      log.warn({
        member: name,
        message: `peer_url ${peer_url} of ${name} is not its URL in the member list, ${urls.join(', ')}`,
        hint: `set peer_url: ${urls[0]}, because a restore of the stopped cluster would use it`,
      });
  }
};
/**
 * A member that starts with this setting forms a cluster of its own, and the other members exit, because they were
 * removed from it. A single member has no other members to lose.
 */
const checkForced = ({ observation, cluster, from, to }: GuardInput, log: Log): void => {
  const minor =
    to ?? from ?? minorOf(observation.members.find(({ server_version }) => server_version)?.server_version);
  if (minor === undefined) return;
  const isAlone = cluster.members.length === 1 && observation.listed.length <= 1;
  for (const member of cluster.members) {
    const host = observation.members.find(({ name }) => name === member.name)?.host;
    const one = { member, host, to: minor, isLocal: isStartedHere(cluster) };
    const [[forced], unread] = [listForcedStarts(one), findUnreadStart(one)];
    if (forced === undefined) {
      if (unread !== undefined && host !== undefined && !isAlone)
        log.noteUnknown({
          member: member.name,
          message: `${member.name}: cannot determine whether force-new-cluster is set in its ${startNames[unread[0]]}: ${unread[1]}`,
          hint: 'make sure that force-new-cluster is not set: a start with it removes all other members from the cluster',
        });
      continue;
    }
    log[isAlone ? 'warn' : 'fail']({
      member: member.name,
      message: `${member.name}: force-new-cluster is set in its ${startNames[forced]}: each start with it removes all other members from the cluster`,
      hint: 'remove force-new-cluster from its command, its variables or its configuration file',
    });
  }
};
export const noForcedStart = guard(
  'one-cluster',
  'no start removes members from the cluster',
  checkForced,
  memberFacts.host,
);
/**
 * The cluster file and the cluster contain the same members: no member is unknown, unstarted, a learner, or
 * part of another cluster.
 */
export const oneCluster = guard(
  'one-cluster',
  'all members belong to one cluster and report the same member list',
  (input, log) => {
    const { observation, cluster } = input;
    checkForced(input, log);
    checkClusterIds(observation, log);
    checkMemberLists(observation, log);
    checkDuplicates(observation, log);
    findCrossed(observation, cluster, log);
    findCrossedDirectories(observation, cluster, log);
    checkKnown(observation, log);
    checkListed(observation, cluster, log);
    checkPeerUrls(observation, cluster, log);
  },
);

/** Returns what makes the members respond again: a suspended process runs, so it cannot be started. */
export const repairOf = (members: readonly MemberStatus[], otherwise: string): string => {
  const suspended = members.flatMap(({ is_reachable, host }) =>
    !is_reachable && host?.is_suspended === true && host.pid !== undefined ? [host.pid] : [],
  );
  return suspended.length === 0 ? otherwise : `kill -CONT ${suspended.join(' ')}`;
};
/** spec/store#procedure-1: check that the cluster is healthy and runs the old version. */
export const allMembersHealthy = guard(
  'all-members-healthy',
  'every member responds and is healthy',
  ({ observation }, log) => {
    // Unavailable members come first: without them, members that wait for a new leader are unhealthy as well,
    // and the cause would come second.
    const causesFirst = observation.members.toSorted(
      (a, b) => Number(a.is_reachable) - Number(b.is_reachable),
    );
    for (const member of causesFirst) {
      // The member runs, but the TLS connection to it fails. The message names the cause.
      if (member.error_code === 'TLS')
        log.fail({
          member: member.name,
          message: `cannot query ${member.name}: ${member.error}`,
          hint: next(['kv', 'version'], 'repeats the query'),
        });
      else if (!member.is_reachable && member.host?.is_suspended === true)
        log.fail({
          member: member.name,
          message: `${member.name} does not respond: its process ${member.host.pid} is suspended`,
          hint: `${repairOf([member], 'resume it')} resumes it`,
        });
      else if (!member.is_reachable)
        log.fail({
          member: member.name,
          message: `${member.name} does not respond: ${member.error ?? 'unknown'}`,
          hint: 'start or repair it first',
        });
      else if (!member.is_healthy) {
        const [alarm] = alarmMessages(observation);
        const why = member.health_reason ?? member.errors[0] ?? alarm?.message ?? '/health reports it';
        log.fail({
          member: member.name,
          message: `${member.name} is not healthy: ${why}`,
          hint: alarm?.hint ?? 'read its log and repair it first',
        });
      }
    }
  },
);

export const leaderAgreed = guard(
  'leader-agreed',
  'all members follow the same leader',
  ({ observation }, log) => {
    const leaders = new Set(
      observation.members.filter(({ is_reachable }) => is_reachable).map(({ leader_id }) => leader_id ?? ''),
    );
    const [said] = observation.members.flatMap(({ name, errors }) =>
      errors.map((error) => ` (${name}: ${error})`),
    );
    const { auth, listed } = observation;
    const [only] = leaders;
    // The cluster file does not contain the leader: one-cluster reports that.
    if (observation.leader === undefined && leaders.size === 1 && listed.some(({ id }) => id === only))
      return;
    // The leader is unknown because the login failed: auth-and-leases reports the password.
    if (observation.leader === undefined && auth.is_rejected === true)
      log.fail({
        message: `cannot determine the leader: ${auth.problem}`,
        hint: 'fix the user of the cluster file first',
      });
    else if (observation.leader === undefined)
      log.fail({
        message: `no leader: the cluster cannot accept writes${said ?? ''}`,
        hint: next(['kv', 'status'], '; a majority of the members must be up'),
      });
    else if (leaders.size > 1)
      log.fail({
        message: 'the members do not agree on the leader',
        hint: 'an election may be in progress: run the command again in a few seconds',
      });
  },
);

/**
 * opsctl reads members one after the other while writes continue, so a difference of a few entries does not
 * matter.
 */
export const lagLimits = { warn: 1000, stop: 5000 };
export const membersKeepUp = guard(
  'members-keep-up',
  'all members are up to date',
  ({ observation }, log) => {
    const furthest = Math.max(...observation.members.flatMap(({ raft_index }) => raft_index ?? []));
    for (const { name, is_reachable, raft_index } of observation.members) {
      if (!is_reachable || raft_index === undefined) continue;
      const lag = furthest - raft_index;
      if (lag > lagLimits.stop)
        log.fail({
          member: name,
          message: `${name} is ${lag} entries behind`,
          hint: 'wait until it has caught up',
        });
      else if (lag > lagLimits.warn) log.warn({ member: name, message: `${name} is ${lag} entries behind` });
    }
  },
);
const transfereeLag = 500;
/**
 * Members that could not become leader immediately, because they lag or follow another leader. Empty if
 * `leader` is not the leader. Pure.
 */
export const laggingFollowers = (members: readonly MemberStatus[], leader: MemberStatus): string[] =>
  members
    .filter(
      ({ name, is_reachable, is_learner }) =>
        leader.is_leader && name !== leader.name && is_reachable && !is_learner,
    )
    .filter(
      ({ leader_id, raft_index = 0 }) =>
        leader_id !== leader.member_id || (leader.raft_index ?? 0) - raft_index > transfereeLag,
    )
    .map(({ name }) => name);

export const quorumOf = (size: number): number => Math.floor(size / 2) + 1;
type Cluster = Pick<Observation, 'members' | 'listed'>;
/** Returns whether a member counts towards a majority now. */
export const isGood = (member: MemberStatus): boolean =>
  member.is_reachable && member.is_healthy && !member.is_learner;
/** A learner does not vote: it counts neither towards a majority nor towards the members that need one. */
const isLearner = ({ listed }: Cluster, { name, member_id, is_learner }: MemberStatus): boolean =>
  is_learner ||
  listed.some(
    (row) => row.is_learner && (member_id === undefined ? row.name === name : row.id === member_id),
  );
const namesOf = (members: readonly MemberStatus[]): string => members.map(({ name }) => name).join(', ');
/** Two members exchange messages if one of them reaches the other. */
const areApart = (a: MemberStatus, b: MemberStatus): boolean =>
  a.unreached?.includes(b.name) === true && b.unreached?.includes(a.name) === true;
/** The size of the largest group of members that one of them reaches, including itself. */
const largestGroup = (members: readonly MemberStatus[]): number =>
  Math.max(0, ...members.map((one) => members.filter((other) => !areApart(one, other)).length));
/**
 * Returns why this member must not be stopped now: without it, a majority of all voters must be healthy and
 * connected. A cluster of one or two members has no spare majority. Two members need `accepted` (a flag of
 * the operator); one member always loses its quorum.
 */
export const stopProblem = (cluster: Cluster, name: string, accepted: boolean): string | undefined => {
  const voters = cluster.members.filter((member) => !isLearner(cluster, member));
  // A member that another user added after the plan counts towards the majority, but its state is unknown.
  const strangers = Math.max(
    0,
    cluster.listed.filter(({ is_learner }) => !is_learner).length - voters.length,
  );
  const size = voters.length + strangers;
  const needed = quorumOf(size);
  if (size === 1 || (size === 2 && accepted)) return undefined;
  const others = voters.filter((member) => member.name !== name);
  const left = others.filter(isGood);
  if (left.length < needed) {
    const bad = others.filter((member) => !isGood(member));
    const whoIsBad = bad.length === 0 ? '' : ` (${namesOf(bad)} ${bad.length === 1 ? 'is' : 'are'} not)`;
    const unknown =
      strangers === 0
        ? ''
        : ` (${strangers} of them ${strangers === 1 ? 'is' : 'are'} not in the cluster file)`;
    return `without ${name} only ${left.length} of ${size} voting members would be healthy, ${needed} are needed${whoIsBad}${unknown}`;
  }
  if (largestGroup(left) >= needed) return undefined;
  return `without ${name} no member would reach a majority: ${namesOf(left)} are not connected to each other in either direction`;
};
/** Returns whether the plan changes the member: members that already run the target version stay unchanged. */
export const isInOrder = (
  { server_version }: Pick<MemberStatus, 'server_version'>,
  to: string | undefined,
  kind: PlanKind | undefined,
): boolean => kind === 'restart' || minorOf(server_version) !== to;
const unhealthyVoters = (cluster: Cluster): MemberStatus[] =>
  cluster.members.filter((member) => !isLearner(cluster, member) && !isGood(member));
/**
 * The first member whose stop would cost the majority. `repairs`: the unhealthy members that are upgraded first,
 * so each of them must be healthy when the turn of the others comes. A member that does not run needs no stop.
 */
const firstStopProblem = (
  cluster: Cluster,
  repairs: readonly MemberStatus[],
): { readonly member: string; readonly message: string } | undefined => {
  const repaired: Cluster = {
    ...cluster,
    members: cluster.members.map((member) =>
      repairs.includes(member) ? { ...member, is_reachable: true, is_healthy: true } : member,
    ),
  };
  for (const member of cluster.members) {
    const isLater = isGood(member);
    if (!isLater && (!repairs.includes(member) || member.host?.is_running === false)) continue;
    const message = stopProblem(isLater ? repaired : cluster, member.name, false);
    if (message !== undefined) return { member: member.name, message };
  }
  return undefined;
};
/** spec/store: an upgrade has no downtime, so every single stop must leave a majority. */
export const quorumSurvives = guard(
  'quorum-survives',
  'quorum survives when any one member stops',
  ({ observation, options, to, kind }, log) => {
    const { members } = observation;
    if (members.length === 1)
      return log.warn({
        message: 'the cluster has one member and is unavailable while that member is replaced',
        hint: 'add members: with three, the cluster stays available',
      });
    if (members.length === 2 && members.every(isGood)) {
      const said = {
        message: 'the cluster has two members and accepts no writes while one of them is replaced',
        hint: 'add a member, or accept the downtime with --accept quorum-survives',
      };
      return options.accept.includes('quorum-survives') ? log.warn(said) : log.fail(said);
    }
    checkStops({ observation, options, to, kind }, log);
  },
);
/** Checks every single stop. An accepted unhealthy member that the plan changes is upgraded first. */
const checkStops = (
  { observation, options, to, kind }: Pick<GuardInput, 'observation' | 'options' | 'to' | 'kind'>,
  log: Log,
): void => {
  const unhealthy = unhealthyVoters(observation);
  const repairs = unhealthy.filter((member) => isInOrder(member, to, kind));
  const others = unhealthy.filter((member) => !repairs.includes(member));
  const isAccepted = options.accept.includes('all-members-healthy');
  const problem = firstStopProblem(observation, isAccepted ? repairs : []);
  if (problem !== undefined) {
    const helps = repairs.length > 0 && firstStopProblem(observation, repairs) === undefined;
    const first = `; --accept all-members-healthy ${kind ?? 'upgrade'}s ${namesOf(repairs)} first, and stops no other member before ${namesOf(repairs)} is healthy`;
    const apart = `repair ${namesOf(others)} first: the plan does not change a member that already runs ${to}`;
    const hint = others.length > 0 ? apart : repairOf(observation.members, 'start the other members first');
    log.fail({ ...problem, hint: `${hint}${!isAccepted && helps ? first : ''}` });
    return;
  }
  if (!isAccepted) return;
  if (repairs.length > 0)
    log.warn({
      message: `the ${kind ?? 'upgrade'} starts with ${namesOf(repairs)} and stops no other member before ${namesOf(repairs)} is healthy`,
    });
  for (const { name } of others)
    log.warn({
      member: name,
      message: `${name} already runs ${to} and is not healthy: the ${kind ?? 'upgrade'} does not change it, and ${name} does not count towards the majority`,
    });
};
export const stopFinding = (
  cluster: Cluster,
  name: string,
  accept: readonly string[],
): Finding | undefined => {
  const message = stopProblem(cluster, name, accept.includes('quorum-survives'));
  return message === undefined
    ? undefined
    : {
        guard: 'quorum-survives',
        level: 'fail',
        member: name,
        message,
        hint: after(`${repairOf(cluster.members, 'start the other members')}, then`, ['kv', 'resume']),
      };
};

/**
 * A hold stops an upgrade before its last member. A downgrade ends with its last member, so it does not start.
 */
export const clusterHold = guard('cluster-hold', 'no hold is stored in the cluster', (input, log) => {
  const { hold, hold_unread } = input.observation;
  if (hold_unread !== undefined)
    log.noteUnknown({ message: `cannot read whether the cluster is held: ${hold_unread}` });
  if (hold === undefined || hold === null) return;
  const consequence =
    input.kind === 'downgrade'
      ? 'a downgrade changes its version'
      : input.kind === 'restart'
        ? 'a restart keeps its version'
        : 'the upgrade holds before the last member';
  log[input.kind === 'downgrade' ? 'fail' : 'warn']({
    message: `${holdText(hold)}; ${consequence}`,
    hint: next(['kv', 'hold', 'remove'], 'removes the hold'),
  });
});
