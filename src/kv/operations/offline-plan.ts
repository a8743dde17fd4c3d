import { adviceText, after, next, nextFromLine } from '../../core/next.ts';
import { join } from 'node:path';
import { type Minor, minorOf, nextMinor } from '../../api-specs/etcd/versions.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { type PageSource, readStoredValue, storedVersion } from '../client/snapshot-content.ts';
import { readSnapshot, withSnapshot } from '../client/snapshot.ts';
import { holdKey, holdText, parseHold } from '../engine/locks.ts';
import type { Access } from '../engine/access.ts';
import type {
  ClusterFile,
  ClusterHold,
  Finding,
  Observation,
  PlanOptions,
  MemberSpec,
} from '../engine/model.ts';
import { readV2Data } from '../upgrade/execute/steps.ts';
import { configurationFits } from '../upgrade/guards/configuration.ts';
import {
  certificatesLast,
  binariesAreRight,
  dataDirectories,
  dbFilePresent,
} from '../upgrade/guards/hosts.ts';
import { diskSpace } from '../upgrade/guards/disk-space.ts';
import { acceptable, consentHint, type Guard, type GuardInput, toConsent } from '../upgrade/guards/guard.ts';
import { clusterHold, noForcedStart } from '../upgrade/guards/membership.ts';
import { checksV2, noV2Data } from '../upgrade/guards/store.ts';
import { knownVersions, leastVersions, versionPath } from '../upgrade/guards/versions.ts';
import { observe } from '../upgrade/observe/observe.ts';
import { refusalError } from '../upgrade/plan-kind.ts';
import { rewritesConfig } from '../upgrade/plan.ts';
import { type Driver, hasProcess } from '../upgrade/supervisors/driver.ts';
import { recordPath } from '../upgrade/supervisors/process-record.ts';
import type { FoundOperation, OperationPlan, OperationRefusal, OperationStep } from './journal.ts';
import { buildPlan } from './plan.ts';

export type OfflineInput = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly access: Access;
  readonly driver: Driver;
  readonly options: PlanOptions;
  readonly signal?: AbortSignal | undefined;
};
/** Guards that need only the version of the old program. */
const versionGuards: readonly Guard[] = [versionPath, knownVersions, leastVersions];
/** Guards that need only the hosts and the files of the members. */
const hostGuards: readonly Guard[] = [
  binariesAreRight,
  configurationFits,
  dataDirectories,
  dbFilePresent,
  diskSpace,
  certificatesLast,
];

type Asked = Pick<OfflineInput, 'cluster' | 'driver'>;
/** Returns why a member is not known to be stopped: two programs must not use one data directory. */
export const runningFindings = async ({ cluster, driver }: Asked, seen: Observation): Promise<Finding[]> => {
  const states = await Promise.all(cluster.members.map((spec) => driver.process(spec)));
  return cluster.members.flatMap(({ name }, at): Finding[] => {
    const status = states[at];
    const responds = seen.members.some((one) => one.name === name && one.is_reachable);
    if (status?.state === 'gone' && !responds) return [];
    const why =
      status?.state === 'unknown'
        ? `opsctl cannot inspect ${name}: ${status.reason}`
        : `${name} ${responds ? 'responds' : 'runs'}`;
    return [
      {
        guard: 'member-runs',
        level: 'fail',
        member: name,
        message: `${why}; --offline requires that every member is stopped`,
        hint: after('without --offline,', ['kv', 'upgrade'], 'replaces one member after the other'),
      },
    ];
  });
};
type Databases = Pick<OfflineInput, 'host' | 'cluster'> & { readonly signal?: AbortSignal | undefined };
const databaseOf = ({ cluster }: Databases, { data_dir }: MemberSpec): string => {
  if (cluster.driver === 'ssh' || data_dir === undefined) throw new Error('its database is on another host');
  return join(data_dir, 'member/snap/db');
};
/** Returns the version of the cluster in the database of each stopped member. */
export const storedVersions = (databases: Databases): ReadonlyMap<string, string> =>
  new Map(
    databases.cluster.members.flatMap((spec) => {
      try {
        const version = withSnapshot(databases.host.files, databaseOf(databases, spec), storedVersion);
        return version === undefined ? [] : [[spec.name, version] as const];
      } catch {
        // The hold of this member is unread too, and that is a finding.
        return [];
      }
    }),
  );
/** Reads the hold from the databases of stopped members on this machine. Changes nothing. */
export const storedHold = async (
  databases: Databases,
): Promise<Pick<Observation, 'hold' | 'hold_unread'>> => {
  const { host, cluster, signal } = databases;
  let unread: string | undefined;
  for (const spec of cluster.members) {
    try {
      const read = (file: PageSource) => readStoredValue(file, holdKey);
      const hold = await readSnapshot(host, databaseOf(databases, spec), read, signal);
      if (hold !== undefined) return { hold: parseHold(hold) ?? null };
    } catch (error) {
      signal?.throwIfAborted();
      unread ??= `${spec.name}: ${messageOf(error)}`;
    }
  }
  return unread === undefined ? { hold: parseHold(undefined) ?? null } : { hold_unread: unread };
};
/**
 * Observes a stopped cluster. The version of a stopped member is the version of its old program, or the version
 * in its database if they are not of the same minor version.
 */
export const observeStopped = async (
  { host, cluster, access, driver, signal }: OfflineInput,
  runDirectory: string,
): Promise<Observation> => {
  const seen = await observe({ host, cluster, access, driver, sizes: true, isDeep: true, runDirectory });
  const databases = { host, cluster, signal };
  const [versions, stored] = [storedVersions(databases), await storedHold(databases)];
  const members = seen.members.map((member) => {
    const [old, own] = [member.host?.old_binary_version, versions.get(member.name)];
    const version = own === undefined || minorOf(own) === minorOf(old) ? old : own;
    return version === undefined || member.is_reachable ? member : { ...member, server_version: version };
  });
  const { hold: _, hold_unread: __, ...rest } = seen;
  return { ...rest, ...stored, members };
};
/**
 * Checks every data directory for v2 data. A stopped cluster has no healthy member that could keep serving
 * while one member returns to its old version, so unknown data is a reason to refuse.
 */
const v2Findings = async ({ host, cluster }: OfflineInput, asked: GuardInput): Promise<Finding[]> => {
  const found = noV2Data.findings(asked);
  if (!checksV2(cluster, asked))
    return found.map((one) =>
      one.level === 'unknown'
        ? {
            ...one,
            level: 'fail',
            hint: 'set utl_binary in the cluster file to the etcdutl of 3.5.32 or later (driver local), or check every data directory with etcdutl check v2store and add --accept no-v2-data',
          }
        : one,
    );
  const data = await Promise.all(cluster.members.map((spec) => readV2Data(host, cluster, spec)));
  return [
    ...found,
    ...cluster.members.flatMap(({ name }, at): Finding[] => {
      const { state, line } = data[at] as Awaited<ReturnType<typeof readV2Data>>;
      if (state === 'none') return [];
      const message =
        state === 'found'
          ? `${name} has v2 data, and ${asked.to} would not start with it: ${line}`
          : `${name}: cannot determine whether it has v2 data: ${line}`;
      return [{ guard: noV2Data.id, level: 'fail', member: name, message }];
    }),
  ];
};
/** A program that runs shows its environment and limits. Of a stopped program, only a stored record does. */
const settingsFindings = async ({ cluster, driver }: OfflineInput): Promise<Finding[]> => {
  const by = cluster.driver === 'ssh' ? (cluster.ssh?.then ?? 'local') : (cluster.driver ?? 'local');
  if (by !== 'local') return [];
  const texts = await Promise.all(
    cluster.members.map((spec) => driver.readFile(spec, recordPath(spec)).catch(() => undefined)),
  );
  const names = cluster.members.flatMap(({ name }, at) => (texts[at] === undefined ? [name] : []));
  if (names.length === 0) return [];
  return [
    {
      guard: configurationFits.id,
      level: 'unknown',
      message: `${names.join(', ')}: opsctl did not stop the member, so its environment and limits are unknown; it starts with the environment of opsctl and env of the cluster file`,
      hint: 'add every variable that the server needs to env of the member, and run opsctl with the limits of the service',
    },
  ];
};
/** Every member starts with the new version, so there is no last member before which the upgrade could hold. */
const holdFindings = (asked: GuardInput): Finding[] =>
  clusterHold.findings(asked).map((one) => {
    // A hold that opsctl cannot read counts as a hold, as in an upgrade of a running cluster.
    if (one.level !== 'warn') return toConsent(one, asked.options.accept, '; the cluster counts as held');
    return {
      ...one,
      level: 'fail',
      message: holdText(asked.observation.hold as ClusterHold),
      hint: after('start every member with its old version, then run', ['kv', 'hold', 'remove']),
    };
  });
const acceptFinding =
  ({ accept }: PlanOptions) =>
  (finding: Finding): Finding =>
    finding.level === 'fail' && accept.includes(finding.guard) && acceptable.includes(finding.guard)
      ? { ...finding, level: 'warn', message: `${finding.message} (accepted)` }
      : finding;
/** Without a response, the version before the upgrade is in the old program and in the databases. */
const versionFindings = ({ observation, from }: GuardInput): Finding[] => {
  const hint = 'set old_binary in the cluster file to the program that the members ran';
  const guard = 'binaries-are-right';
  if (from === undefined) {
    const message = 'opsctl cannot read the version of old_binary or of a database, and no member responds';
    return [{ guard, level: 'fail', message, hint }];
  }
  return observation.members.flatMap(({ name, server_version }): Finding[] => {
    const message = `${name} ran ${server_version ?? 'an unknown version'}, but the other members ran ${from}`;
    return minorOf(server_version) === from ? [] : [{ guard, level: 'fail', member: name, message, hint }];
  });
};
const findingsOf = async (input: OfflineInput, asked: GuardInput): Promise<Finding[]> => {
  const { observation } = asked;
  // The old program shows the version, so the guards of the versions need no response.
  const members = observation.members.map((one) => ({ ...one, is_reachable: true }));
  const known = { ...asked, observation: { ...observation, members } };
  const running = await runningFindings(input, observation);
  if (running.length > 0) return running;
  return [
    ...versionFindings(asked),
    ...noForcedStart.findings(asked).map((one) => toConsent(one, asked.options.accept)),
    ...versionGuards.flatMap((guard) => guard.findings(known)),
    ...hostGuards.flatMap((guard) => guard.findings(asked)),
    ...(await v2Findings(input, known)),
    ...(await settingsFindings(input)),
    ...holdFindings(known),
  ].map(acceptFinding(input.options));
};

const stepsOf = (cluster: ClusterFile, observation: Observation, from: Minor, to: Minor): OperationStep[] => {
  const names = cluster.members.map(({ name }) => name);
  const each =
    (kind: OperationStep['kind'], title: (name: string) => string, why?: string) => (name: string) => ({
      ...{ id: `${name}.${kind}` as const, kind, title: title(name), member: name },
      ...(why === undefined ? {} : { why }),
    });
  const rewritten = cluster.members.flatMap((spec) => {
    const config = observation.members.find(({ name }) => name === spec.name)?.host?.config;
    return rewritesConfig(spec, config, to) ? [spec] : [];
  });
  return [
    ...names.map(
      each(
        'copy-data',
        (name) => `copy the data directory of ${name}`,
        `only these copies return the cluster to ${from}`,
      ),
    ),
    ...rewritten.map(({ name, config_file }) =>
      each(
        'configure',
        () => `rewrite ${config_file} for ${to}`,
        'the new version would not start with it; the old file is kept',
      )(name),
    ),
    { id: 'verify-stopped', kind: 'verify-stopped', title: 'check that every member is still stopped' },
    {
      id: 'start',
      kind: 'start',
      title: `start ${names.join(', ')} with ${to}`,
      why: 'together, because a single member waits for a majority',
    },
    ...names.map(each('check', (name) => `check that ${name} is healthy on ${to}`)),
    { id: 'verify-version', kind: 'verify-version', title: `wait until every member reports cluster ${to}` },
  ];
};
/** Returns the guards whose acceptance is the only thing that a refused plan lacks. */
export const missingConsents = (made: OperationPlan | OperationRefusal): string[] => {
  const refused = 'refused' in made ? made.refused : [];
  return refused.every(({ guard, hint }) => hint === consentHint(guard))
    ? [...new Set(refused.map(({ guard }) => guard))]
    : [];
};
/** Plans the upgrade of a stopped cluster from its observation. Makes no changes. */
export const offlinePlan = async (
  input: OfflineInput,
  id: string,
  observation: Observation,
): Promise<OperationPlan | OperationRefusal> => {
  const { cluster, options } = input;
  const from = minorOf(observation.members[0]?.server_version);
  const to = (options.to ?? cluster.to ?? (from === undefined ? undefined : nextMinor(from))) as
    | Minor
    | undefined;
  const asked = {
    ...{ observation, cluster, options: { ...options, copy_data: true } },
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const findings = await findingsOf(input, asked);
  const refused = findings.filter(({ level }) => level === 'fail');
  if (refused.length > 0 || from === undefined || to === undefined) return { refused, findings, observation };
  return buildPlan({
    id,
    operation: 'upgrade-offline',
    command: adviceText(
      next([
        ...['kv', 'upgrade', '--offline', '--to', to],
        ...options.accept.flatMap((name) => ['--accept', name]),
      ]),
    ),
    steps: stepsOf(cluster, observation, from, to),
    notes: [`From ${from} to ${to}. No client has access until the last step.`],
    findings,
    values: { from, to },
    observation,
  });
};
/**
 * Returns whether an interrupted upgrade continues: only if it began to start the members, one of them still
 * runs, and no member runs another version. If every member is stopped, an operator may have used the data
 * since the copies were made, so a new upgrade makes new copies.
 */
export const continuesOffline = async (
  { cluster, driver }: Asked,
  { plan, entries }: FoundOperation,
  seen: Observation,
): Promise<boolean> => {
  const { to } = plan.values;
  const hasStarted = entries.some((entry) => entry.kind === 'begin' && entry.step === 'start');
  if (plan.operation !== 'upgrade-offline' || to === undefined || !hasStarted) return false;
  const versions = seen.members.map(({ server_version }) => minorOf(server_version));
  if (versions.some((version) => version !== undefined && version !== to)) return false;
  const states = await Promise.all(cluster.members.map((spec) => driver.process(spec)));
  return states.some((state) => hasProcess(state) === true);
};
/** Throws if a member was started since the plan was made, for example while the question was open. */
export const refuseStarted = async ({ host, cluster, access, driver }: OfflineInput): Promise<void> => {
  const observation = await observe({ host, cluster, access });
  const refused = await runningFindings({ cluster, driver }, observation);
  if (refused.length > 0)
    throw refusalError({ refused, findings: refused }, (hint) => [hint ?? next(['kv', 'status'])]);
};
/** Returns the interrupted upgrade that this command continues. Throws if it has another target. */
export const offlineToContinue = async (
  { host, cluster, access, driver }: Omit<OfflineInput, 'options'>,
  found: FoundOperation,
  wanted: string | undefined,
): Promise<OperationPlan | undefined> => {
  const seen = await observe({ host, cluster, access });
  if (!(await continuesOffline({ cluster, driver }, found, seen))) return undefined;
  const { command, values } = found.plan;
  if (wanted === undefined || wanted === values.to) return found.plan;
  throw new AppError(
    'unsafe',
    `no changes were made: the upgrade of the stopped cluster to ${values.to} is unfinished, so --to ${wanted} is not possible now`,
    { code: 'UNFINISHED_OPERATION', tryThis: [nextFromLine(command)] },
  );
};
