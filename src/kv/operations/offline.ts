import { after, next } from '../../core/next.ts';
import { type Minor, minorOf, nextMinor } from '../../api-specs/etcd/versions.ts';
import { AppError, messageOf, problem } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import type { Access } from '../engine/access.ts';
import type { ClusterFile, Finding, MemberSpec, Observation, PlanOptions } from '../engine/model.ts';
import { configurationFits } from '../upgrade/guards/configuration.ts';
import { diskSpace } from '../upgrade/guards/disk-space.ts';
import type { Guard } from '../upgrade/guards/guard.ts';
import { binariesAreRight, dataDirectories, dbFilePresent } from '../upgrade/guards/hosts.ts';
import { knownVersions, leastVersions, versionPath } from '../upgrade/guards/versions.ts';
import { observe } from '../upgrade/observe/observe.ts';
import type { DataCopy, Driver } from '../upgrade/supervisors/driver.ts';
import { walDirOf } from '../upgrade/supervisors/wal-directory.ts';

export type OfflineInput = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly access: Access;
  readonly driver: Driver;
  readonly run: string;
  readonly runDirectory: string;
  readonly options: PlanOptions;
  info(text: string): void;
  readonly signal: AbortSignal;
};
export type OfflinePlan = {
  readonly cluster: string;
  readonly from: Minor;
  readonly to: Minor;
  readonly members: readonly string[];
  readonly findings: readonly Finding[];
  readonly observation: Observation;
};
/** Checks of the versions, for which the version of the old program is enough. */
const versionGuards: readonly Guard[] = [versionPath, knownVersions, leastVersions];
/** Checks of the hosts. */
const hostGuards: readonly Guard[] = [
  binariesAreRight,
  configurationFits,
  dataDirectories,
  dbFilePresent,
  diskSpace,
];
const refused = (message: string, code: string, tryThis: AppError['detail']['tryThis']): AppError =>
  new AppError('unsafe', `refused, no changes were made: ${message}`, { code, tryThis: tryThis ?? [] });
/** Throws if a member runs, responds, or cannot be inspected: two programs must not use one data directory. */
const refuseRunning = async ({ cluster, driver }: OfflineInput, seen: Observation): Promise<void> => {
  for (const spec of cluster.members) {
    const status = await driver.process(spec);
    const responds = seen.members.some(({ name, is_reachable }) => name === spec.name && is_reachable);
    if (status.state === 'gone' && !responds) continue;
    const why =
      status.state === 'unknown'
        ? `opsctl cannot inspect ${spec.name}: ${status.reason}`
        : `${spec.name} ${responds ? 'responds' : 'runs'}`;
    throw refused(`${why}; --offline requires that every member is stopped`, 'MEMBER_RUNS', [
      after('without --offline,', ['kv', 'upgrade'], 'replaces one member after the other'),
    ]);
  }
};
/** The version of a stopped member is the version of its old program. */
const asStopped = (seen: Observation): Observation => ({
  ...seen,
  members: seen.members.map((member) => {
    const version = member.host?.old_binary_version;
    return version === undefined ? member : { ...member, server_version: version };
  }),
});
/** Checks a stopped cluster. Makes no changes. */
export const planOffline = async (input: OfflineInput): Promise<OfflinePlan> => {
  const { host, cluster, access, driver, runDirectory } = input;
  const seen = await observe({ host, cluster, access, driver, sizes: true, isDeep: true, runDirectory });
  await refuseRunning(input, seen);
  const observation = asStopped(seen);
  const from = minorOf(observation.members[0]?.server_version);
  const to = (input.options.to ?? cluster.to ?? (from === undefined ? undefined : nextMinor(from))) as
    | Minor
    | undefined;
  const options = { ...input.options, copy_data: true };
  const asked = { observation, cluster, options, ...(from && { from }), ...(to && { to }) };
  const known = {
    ...observation,
    members: observation.members.map((one) => ({ ...one, is_reachable: true })),
  };
  const findings = [
    ...versionGuards.flatMap((guard) => guard.findings({ ...asked, observation: known })),
    ...hostGuards.flatMap((guard) => guard.findings(asked)),
  ];
  const [first, ...rest] = findings.filter(
    ({ level, guard }) => level === 'fail' && !options.accept.includes(guard),
  );
  if (first !== undefined || from === undefined || to === undefined)
    throw new AppError(
      'unsafe',
      `refused, no changes were made: ${first?.message ?? 'opsctl cannot read the version of old_binary'}`,
      {
        code: first?.guard.toUpperCase().replaceAll('-', '_') ?? 'REFUSED',
        problems: rest.map(({ guard, message, hint }) => problem(guard, 'rule', message, hint)),
        tryThis: first?.hint === undefined ? [] : [first.hint],
      },
    );
  const members = cluster.members.map(({ name }) => name);
  return { cluster: cluster.name, from, to, members, findings, observation };
};

type Copied = DataCopy & { readonly member: string };
const copyAll = async (input: OfflineInput, { from, observation }: OfflinePlan): Promise<Copied[]> => {
  const copies: Copied[] = [];
  for (const spec of input.cluster.members) {
    const host = observation.members.find(({ name }) => name === spec.name)?.host;
    const made = await input.driver.copyData(
      spec,
      `.before-offline-${from}-${input.run}`,
      walDirOf(spec, host),
    );
    input.info(`copied the data of ${spec.name}: ${made.path} (${made.files} files, ${made.bytes} bytes)`);
    copies.push({ member: spec.name, ...made });
  }
  return copies;
};
/** Starts the new version as the owner of the data, because no process shows the user. */
const startNew = async (input: OfflineInput, plan: OfflinePlan, spec: MemberSpec): Promise<void> => {
  const { driver, run } = input;
  const { from, to, observation } = plan;
  const staged = await driver.stage(spec, { from, to, run });
  const place = observation.members.find(({ name }) => name === spec.name)?.host?.data_place;
  const owner =
    staged.runs_as ??
    (place?.uid === undefined || place.gid === undefined ? undefined : { uid: place.uid, gid: place.gid });
  const placement = owner === undefined ? staged : { ...staged, runs_as: owner };
  await driver.activate(spec, 'new', placement);
  await driver.start(spec, 'new', placement);
};
const pollMs = 200;
const defaultGateSeconds = 60;
/** Returns why the member does not run the new version yet. */
const problemOf = (
  { name, is_reachable, is_healthy, ...seen }: Observation['members'][number],
  to: Minor,
) => {
  if (!is_reachable) return `${name} does not respond`;
  if (minorOf(seen.server_version) !== to) return `${name} runs ${seen.server_version}`;
  if (!is_healthy) return `${name} is not healthy`;
  return minorOf(seen.cluster_version) === to
    ? undefined
    : `the cluster is ${seen.cluster_version} on ${name}`;
};
/** Waits until every member runs the new version, is healthy and reports the new cluster version. */
const waitForAll = async (input: OfflineInput, to: Minor): Promise<Observation> => {
  const { host, cluster, access, signal, driver } = input;
  const until = host.elapsed() + (cluster.timeouts?.gate_seconds ?? defaultGateSeconds) * 1000;
  for (;;) {
    const seen = await observe({ host, cluster, access });
    const [why] = seen.members.flatMap((member) => problemOf(member, to) ?? []);
    if (why === undefined && seen.leader !== undefined) return seen;
    if (host.elapsed() >= until || signal.aborted) {
      const failed = cluster.members.find(({ name }) => why?.startsWith(`${name} `));
      const log = failed === undefined ? [] : await driver.logTail(failed, 1).catch(() => []);
      const last = log.length === 0 ? '' : ` (last line of its log: ${log.at(-1)})`;
      throw new Error(`${why ?? 'no leader is elected'}${last}`);
    }
    await host.sleep(pollMs, signal).catch(() => {});
  }
};
export type OfflineResult = { readonly copies: readonly Copied[]; readonly after: Observation };
/** Copies the data of every member, then starts all of them with the new version, and verifies the cluster. */
export const upgradeOffline = async (input: OfflineInput, plan: OfflinePlan): Promise<OfflineResult> => {
  // The members may have started while the question was open.
  await refuseRunning(
    input,
    await observe({ host: input.host, cluster: input.cluster, access: input.access }),
  );
  const copies = await copyAll(input, plan);
  const failed = (error: unknown): never => {
    const kept = copies.map(({ member, path }) => `${member}: ${path}`);
    throw new AppError('stopped', `the cluster does not run ${plan.to}: ${messageOf(error)}`, {
      code: 'OFFLINE_UNFINISHED',
      tryThis: [next(['kv', 'status']), `the data before the upgrade is kept: ${kept.join(', ')}`],
      cause: error,
    });
  };
  const verified = (async () => {
    await Promise.all(input.cluster.members.map((spec) => startNew(input, plan, spec)));
    input.info(`started ${plan.members.join(', ')} with ${plan.to}`);
    return waitForAll(input, plan.to);
  })();
  return { copies, after: await verified.catch(failed) };
};
