import { after, next } from '../../../core/next.ts';
import { countText } from '../../../core/format.ts';
import {
  compareVersions,
  isUnknownTo,
  type Minor,
  minorOf,
  nextMinor,
  previousMinor,
  rowOf,
  rulesFor,
  versionRows,
  type VersionRule,
  versionTable,
} from '../../../api-specs/etcd/versions.ts';
import type { Finding, MemberStatus, Observation } from '../../engine/model.ts';
import { minorsBetween, missingRows } from '../plan-kind.ts';
import { isOn } from '../configuration/access.ts';
import { isStartedHere, readNextStart } from './next-start.ts';
import { guard, type GuardInput, type Log, memberFacts } from './guard.ts';

type Problem = Omit<Finding, 'guard' | 'level'>;
const describeMixed = ({ name, server_version }: MemberStatus): Problem => ({
  member: name,
  message: `${name} runs ${server_version}: the store refuses a downgrade of a mixed cluster`,
  hint: next(
    ['kv', 'rollback'],
    after('while an upgrade is under way,', ['kv', 'resume'], 'for a downgrade'),
  ),
});
const silent = ({ name }: MemberStatus, from: Minor): Problem => ({
  member: name,
  message: `${name} does not respond: the cluster stays on ${from} until every member responds`,
  hint: 'start it first',
});
const elsewhere = ({ name, downgrade_to }: MemberStatus): Problem => ({
  member: name,
  message: `a downgrade to ${downgrade_to} is already enabled`,
  hint: next(['kv', 'downgrade', '--cancel'], 'cancels it'),
});
/**
 * spec/store#measured-later-8, spec/store#measured-later-11: a downgrade covers one minor version, uses the
 * store's own interface, and requires every member.
 */
const downgradeProblems = (
  { observation: { members }, to, isUnderWay = false }: GuardInput,
  from: Minor,
): Problem[] => {
  if (to === undefined || rowOf(from)?.can.downgrade !== true)
    return [
      {
        message: `a cluster of ${from} cannot be downgraded: the store supports downgrades from 3.6 on`,
        hint: after(
          'while a member still runs the old version:',
          ['kv', 'rollback'],
          after('; after that:', ['kv', 'restore']),
        ),
      },
    ];
  const isOther = ({ server_version }: MemberStatus): boolean =>
    server_version !== undefined && minorOf(server_version) !== from;
  return [
    ...(isUnderWay ? [] : members.filter(isOther).map(describeMixed)),
    ...members
      .filter(({ downgrade_to }) => downgrade_to !== undefined && minorOf(downgrade_to) !== to)
      .map(elsewhere),
    ...(isUnderWay ? [] : members.filter(({ is_reachable }) => !is_reachable)).map((member) =>
      silent(member, from),
    ),
  ];
};

const checkMemberVersions = ({ members }: Observation, from: Minor, to: Minor, log: Log): void => {
  for (const { name, server_version } of members) {
    const minor = minorOf(server_version);
    if (minor !== undefined && minor !== from && minor !== to)
      log.fail({
        member: name,
        message: `${name} runs ${server_version}, neither ${from} nor ${to}`,
        hint: 'three versions at the same time are never supported',
      });
  }
};
const checkClusterVersion = ({ cluster_version }: Observation, from: Minor, log: Log): void => {
  const running = minorOf(cluster_version);
  if (running === undefined) return;
  const order = compareVersions(running, from);
  // spec/store#measured-upgrade: the leader checks every 5 s. Before its check, the members are newer than
  // their cluster.
  if (order < 0)
    log.fail({
      message: `every member runs ${from}, but the cluster version is still ${running}`,
      hint: 'run the command again: the leader updates it within 5 s',
    });
  if (order > 0)
    log.fail({
      message: `the cluster version is ${running}, but a member runs ${from}`,
      hint: 'replace its binary with the newer one: that member cannot start again',
    });
};
/** A mixed cluster must first finish its upgrade or downgrade. */
const checkSettled = ({ cluster_version, members }: Observation, from: Minor, log: Log): void => {
  if (minorOf(cluster_version) !== from && cluster_version !== undefined)
    log.fail({
      message: `the cluster version is ${cluster_version}, but its members run ${from}`,
      hint: next(['kv', 'resume'], after(', or', ['kv', 'rollback'], ', finishes the upgrade or downgrade')),
    });
  const on = members.find(({ downgrade_to }) => downgrade_to !== undefined);
  if (on !== undefined)
    log.fail({
      member: on.name,
      message: `a downgrade to ${on.downgrade_to} is enabled`,
      hint: next(['kv', 'downgrade'], after('continues it,', ['kv', 'downgrade', '--cancel'], 'cancels it')),
    });
};
/**
 * spec/store#versions-1; spec/store#versions-4: the store does not refuse a skipped minor version, so opsctl
 * must.
 */
export const versionPath = guard(
  'version-path',
  'the path covers at most one minor version',
  (input, log) => {
    const { observation, from, to, kind } = input;
    if (from === undefined)
      return log.fail({
        message: 'no member reports the version that it runs',
        hint: next(['kv', 'version']),
      });
    if (kind === 'downgrade') {
      for (const problem of downgradeProblems(input, from)) log.fail(problem);
      return;
    }
    const known = `it knows ${versionRows.map((row) => row.minor).join(', ')}`;
    if (to === undefined) return log.fail({ message: `opsctl knows no version after ${from}`, hint: known });
    if (rowOf(to) === undefined)
      return log.fail({ message: `opsctl does not know version ${to}`, hint: known });
    if (compareVersions(to, from) < 0)
      return log.fail({
        message: `${from} to ${to} is a downgrade: the store refuses to start`,
        hint:
          rowOf(from)?.can.downgrade === true
            ? next(['kv', 'downgrade'], `goes back to ${previousMinor(from)}`)
            : after(
                'while a member still runs the old version:',
                ['kv', 'rollback'],
                after('; after that:', ['kv', 'restore']),
              ),
      });
    if (to !== from && nextMinor(from) !== to)
      return log.fail({
        message: `${from} to ${to} skips a minor version`,
        hint: `go to ${nextMinor(from) ?? 'the next version'} first, or name the programs of every version in the cluster file: ${missingRows(input.cluster, minorsBetween(from, to)).join(', ')}`,
      });
    checkMemberVersions(observation, from, to, log);
    if (kind === 'restart') return checkSettled(observation, from, log);
    checkClusterVersion(observation, from, log);
  },
);

/** Returns whether a rule holds for this member; undefined if its condition was not observed. */
const holdsFor = (
  { only_with }: VersionRule,
  { host }: MemberStatus,
  { auth }: Observation,
): boolean | undefined => {
  if (only_with === undefined) return true;
  if (only_with === 'authentication') return auth.is_on;
  const { mode, inner_modes } = host?.data_place ?? {};
  const isWrong = (one: number): boolean => (one & 0o777) !== 0o700;
  if ([mode ?? 0o700, ...Object.values(inner_modes ?? {})].some(isWrong)) return true;
  return mode === undefined || inner_modes === undefined ? undefined : false;
};
type Against = {
  readonly name: string;
  readonly what: string;
  readonly rule: VersionRule;
  /** The condition of the rule was not observed. */
  readonly isOpen: boolean;
};
const describeRule = ({ name, what, rule: { reason, instead, source } }: Against) => ({
  member: name,
  message: `${name}: ${what}: ${reason} (${source})`,
  hint: instead,
});
/**
 * Everything in the version table that prevents the upgrade from the running version to the target version.
 */
const against = ({ observation, options, from, to, kind }: GuardInput): Against[] => {
  const table = options.versions ?? versionTable;
  return observation.members.flatMap((member) => {
    const { name, host, server_version } = member;
    const rulesAgainst = (version: string, on: VersionRule['on'], what: string): Against[] =>
      rulesFor(table, version, on).flatMap((rule) => {
        const holds = holdsFor(rule, member, observation);
        return holds === false ? [] : [{ name, what, rule, isOpen: holds === undefined }];
      });
    const fresh = host?.new_binary_version;
    const isStarted = fresh !== undefined && minorOf(fresh) === to && fresh !== server_version;
    const isLeft =
      server_version !== undefined && minorOf(server_version) === from && to !== from && kind !== 'downgrade';
    return [
      ...(isStarted ? rulesAgainst(fresh, 'arrive', `its new version is ${fresh}`) : []),
      ...(isLeft
        ? rulesAgainst(server_version, 'leave', `it runs ${server_version}, which must not be upgraded from`)
        : []),
    ];
  });
};
/** Versions that upstream withdrew, or that leave data that harms the next version. */
export const knownVersions = guard(
  'known-versions',
  'these versions have no known problems',
  (input, log) => {
    for (const one of against(input))
      if (one.rule.is_final !== true) log[one.isOpen ? 'noteUnknown' : one.rule.level](describeRule(one));
    const table = input.options.versions ?? versionTable;
    const fresh = input.observation.members.flatMap(({ host }) => host?.new_binary_version ?? []);
    for (const version of new Set(fresh.filter((one) => minorOf(one) === input.to)))
      if (isUnknownTo(table, version))
        log.noteUnknown({
          message: `${version} is newer than the version data of ${table.data_of}: its known problems could not be checked`,
          hint: after(
            '--versions-file FILE supplies newer data;',
            ['kv', 'versions'],
            'shows the built-in data',
          ),
        });
  },
);
/** If upstream does not document a safe workaround for a version, the operator cannot accept it. */
export const leastVersions = guard(
  'least-versions',
  'no version has a known fault that makes this step unsafe',
  (input, log) => {
    for (const one of against(input))
      if (one.rule.is_final === true) log[one.isOpen ? 'noteUnknown' : one.rule.level](describeRule(one));
  },
);

/** Returns whether the new version of this member starts with the v2 interface. */
const startsV2 = (input: GuardInput, name: string): boolean => {
  const spec = input.cluster.members.find((member) => member.name === name);
  const host = input.observation.members.find((member) => member.name === name)?.host;
  if (input.to === undefined || rowOf(input.to)?.v2 !== 'enable-v2' || spec === undefined) return false;
  const one = { member: spec, host, to: input.to, isLocal: isStartedHere(input.cluster) };
  return isOn(readNextStart(one)?.read('enable-v2'));
};
const mostAddresses = 5;
/**
 * The addresses with the most connections to the member. The kernel does not report which API a connection
 * uses, and opsctl on another machine is one of the addresses.
 */
const describeConnected = ({ host }: MemberStatus): string => {
  const rows = Object.entries(host?.connected ?? {}).toSorted(([, a], [, b]) => b - a);
  if (rows.length === 0) return '';
  const shown = rows
    .slice(0, mostAddresses)
    .map(([address, count]) => `${address} (${countText(count, 'connection')})`);
  const rest = rows.length - shown.length;
  return `; connected now (through any API, opsctl included): ${shown.join(', ')}${rest === 0 ? '' : ` and ${rest} more`}`;
};
const firstWithoutV2 = versionRows.find(({ v2 }) => v2 === 'removed')?.minor ?? 'a later version';
const v2Hint = (to: Minor, isServed: boolean) => {
  if (isServed) return `move the clients to the v3 API before the upgrade to ${firstWithoutV2}`;
  return after(
    `${rowOf(to)?.v2 === 'removed' ? '' : 'start the new version with enable-v2, or '}move the clients to the v3 API, then`,
    ['kv', 'restart'],
    'resets the counters of the members',
  );
};
/** A clause about the v2 requests that a member counted; undefined if it counted none. */
const describeV2 = ({ clients }: MemberStatus): string | undefined => {
  const { v2_requests = 0, v2_watchers = 0 } = clients ?? {};
  const waiting = `${countText(v2_watchers, 'request')} ${v2_watchers === 1 ? 'waits' : 'wait'} for changes`;
  if (v2_requests === 0) return v2_watchers === 0 ? undefined : `${waiting} through the v2 API now`;
  const sent = `clients sent ${countText(v2_requests, 'request')} through the v2 API since its start`;
  return v2_watchers === 0 ? sent : `${sent}, and ${waiting} now`;
};
/** Reports clients of the v2 interface if the new version does not serve it, or serves it for the last time. */
const checkV2Clients = (input: GuardInput, to: Minor, log: Log): void => {
  if (rowOf(to)?.v2 === 'served') return;
  for (const member of input.observation.members) {
    const { name } = member;
    const used = describeV2(member);
    if (used === undefined) continue;
    const isServed = startsV2(input, name);
    const effect = isServed
      ? `${to} serves it only with enable-v2, which ${firstWithoutV2} does not have`
      : `${to} does not serve it${rowOf(to)?.v2 === 'enable-v2' ? ' without enable-v2' : ''}`;
    log[isServed ? 'warn' : 'fail']({
      member: name,
      message: `${name}: ${used}; ${effect}${describeConnected(member)}`,
      hint: v2Hint(to, isServed),
    });
  }
};
/** Gateway paths that the running version serves and the new version does not. */
const lostPaths = (from: Minor | undefined, to: Minor): readonly string[] =>
  (rowOf(from)?.answers ?? []).filter((path) => rowOf(to)?.answers.includes(path) === false);
/**
 * Members count requests of the gateway, but not their paths. They also count those of opsctl, so only a member
 * that counted none is sure to have no client there.
 */
const checkGatewayClients = ({ observation: { members }, from }: GuardInput, to: Minor, log: Log): void => {
  const lost = lostPaths(from, to);
  const kept = rowOf(from)?.answers.find((path) => rowOf(to)?.answers.includes(path));
  const asked = members.filter(
    ({ clients }) =>
      clients !== undefined && (clients.versions === undefined || (clients.versions['unknown'] ?? 0) > 0),
  );
  if (lost.length === 0 || asked.length === 0) return;
  log.noteUnknown({
    message: `cannot determine whether clients of ${asked.map(({ name }) => name).join(', ')} use the gateway path ${lost.join(', ')}, which ${to} does not serve: members do not count requests by path, and they count the requests of opsctl like those of clients`,
    hint: `search the clients for ${lost.join(', ')}${kept === undefined ? '' : `, and let them use ${kept}, which both versions serve`}`,
  });
};
/** The client versions that the members report, with their requests. */
const reportedVersions = ({ observation: { members } }: GuardInput): string => {
  const sums = new Map<string, number>();
  for (const { clients } of members)
    for (const [version, count] of Object.entries(clients?.versions ?? {}))
      sums.set(version, (sums.get(version) ?? 0) + count);
  const shown = [...sums].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  return shown.map(([version, count]) => `${version} (${countText(count, 'request')})`).join(', ');
};
/** Clients that would fail after the upgrade: they use an interface that the new version does not serve. */
export const clientInterfaces = guard(
  'client-interfaces',
  'no client uses an interface that the new version does not serve',
  (input, log) => {
    const { to } = input;
    if (to === undefined) return;
    checkV2Clients(input, to, log);
    checkGatewayClients(input, to, log);
    const unread = input.observation.members.filter(
      ({ is_reachable, clients }) => is_reachable && clients === undefined,
    );
    if (unread.length > 0)
      log.noteUnknown({
        message: `cannot read the metrics of ${unread.map(({ name }) => name).join(', ')}, so it is unknown whether clients use an interface that ${to} does not serve`,
        hint: `check that ${unread[0]?.client_url}/metrics returns status 200 and the metrics of etcd`,
      });
  },
  memberFacts.answer,
  {
    statement: (input) => {
      const versions = reportedVersions(input);
      return `no client uses an interface that ${input.to ?? 'the new version'} does not serve${versions === '' ? '' : `; client versions: ${versions}`}`;
    },
    skips: ({ kind, from, to }) => {
      if (kind === 'downgrade' || from === to) return 'the interfaces for clients stay the same';
      // Without the running version, the lost interfaces are unknown.
      const isKept =
        from !== undefined &&
        to !== undefined &&
        rowOf(to)?.v2 === 'served' &&
        lostPaths(from, to).length === 0;
      return isKept ? `${to} serves every interface of ${from}` : undefined;
    },
  },
);
