import { compareVersions, minorOf, nextMinor, rowOf, versionRows } from '../../../api-specs/etcd/versions.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import type { Observation } from '../../engine/types.ts';
import { downgradeProblems } from './downgrade-path.ts';
import { guard, type Log } from './guard.ts';

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
  // spec/store#measured-upgrade: the leader looks every 5 s; until then the members are newer than their cluster.
  if (order < 0)
    log.fail({
      message: `every member runs ${from}, the cluster's version is still ${running}`,
      hint: 'the leader moves it within 5 s: try again',
    });
  if (order > 0)
    log.fail({
      message: `the cluster's version is ${running}, but a member runs ${from}`,
      hint: 'that member cannot start again: replace its binary by the newer one',
    });
};

/** A mixed cluster has an upgrade or a downgrade to bring to its end first. */
const checkSettled = ({ cluster_version, members }: Observation, from: Minor, log: Log): void => {
  if (minorOf(cluster_version) !== from && cluster_version !== undefined)
    log.fail({
      message: `the cluster's version is ${cluster_version}, its members run ${from}`,
      hint: 'opsctl kv resume, or opsctl kv rollback, brings the upgrade or downgrade to its end',
    });
  const on = members.find(({ downgrade_to }) => downgrade_to !== undefined);
  if (on !== undefined)
    log.fail({
      member: on.name,
      message: `a downgrade to ${on.downgrade_to} is on`,
      hint: 'opsctl kv downgrade goes on with it, opsctl kv downgrade --cancel takes it back',
    });
};

/** spec/store#versions-1; spec/store#versions-4: only the tool can refuse a skipped minor. */
export const versionPath = guard('version-path', 'the way is one minor version forward', (input, log) => {
  const { observation, from, to, kind } = input;
  if (from === undefined)
    return log.fail({ message: 'no member says which version it runs', hint: 'opsctl kv version' });
  if (kind === 'downgrade') {
    for (const problem of downgradeProblems(input, from)) log.fail(problem);
    return;
  }
  const known = `it knows ${versionRows.map((row) => row.minor).join(', ')}`;
  if (to === undefined)
    return log.fail({ message: `there is no version after ${from} that this tool knows`, hint: known });
  if (rowOf(to) === undefined)
    return log.fail({ message: `this tool does not know a version ${to}`, hint: known });
  if (compareVersions(to, from) < 0)
    return log.fail({
      message: `${from} to ${to} is a downgrade: the store refuses to start`,
      hint:
        rowOf(from)?.can.downgrade === true
          ? 'opsctl kv downgrade goes back to 3.5'
          : 'while a member still runs the old version: opsctl kv rollback; after that: opsctl kv restore',
    });
  if (to !== from && nextMinor(from) !== to)
    return log.fail({
      message: `${from} to ${to} skips a minor version`,
      hint: `go to ${nextMinor(from) ?? 'the next version'} first`,
    });
  checkMemberVersions(observation, from, to, log);
  if (kind === 'restart') return checkSettled(observation, from, log);
  checkClusterVersion(observation, from, log);
});
