import { args, hideOwnVariables, type ProgramArguments, trustCall } from '../../../core/program-call.ts';
import { join, resolve } from 'node:path';
import { childPath, pathPart } from '../../../core/file-name.ts';
import { durationText } from '../../../core/format.ts';
import { AppError } from '../../../core/problem.ts';
import { recordResult, type Result } from '../../../core/result.ts';
import type { Host } from '../../../platform/host.ts';
import { openStore } from '../../client/etcd-client.ts';
import { canaryText, unavailableText } from '../present/text.ts';
import { readKeys, type SnapshotKeys } from '../../client/snapshot-content.ts';
import { saveSnapshot, verifySnapshot, readSnapshot } from '../../client/snapshot.ts';
import { type Access, accessWith } from '../../engine/access.ts';
import { clusterDirectory } from '../../engine/journal.ts';
import type {
  ClusterFile,
  Observation,
  Plan,
  PlanOptions,
  Report,
  UpgradeEvent,
} from '../../engine/model.ts';
import { needRestoringCtl } from '../../snapshots/trial-restore.ts';
import { readCluster } from '../cluster/cluster-file.ts';
import { failureReason } from '../supervisors/driver.ts';
import { localDriver } from '../supervisors/local.ts';
import {
  type ChildRun,
  configAt,
  privateConfig,
  type PrivateCopy,
  privateCopy,
  refuseForeignStart,
  runSelf,
  upgradeCopy,
} from './private-copy.ts';

export type RehearsalInput = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly observation: Observation;
  /** A verified snapshot file. */
  readonly snapshot: string;
  /** An empty directory for the copy. */
  readonly directory: string;
  readonly isReal: boolean;
  readonly versions: { readonly old: string; readonly new: string };
  readonly options: PlanOptions;
  readonly onEvent: (event: UpgradeEvent) => void;
  readonly signal: AbortSignal;
};
export type RehearsalResult = {
  readonly mode: 'real servers' | 'simulated servers';
  readonly outcome: Report['outcome'] | 'refused';
  readonly message: string;
  readonly keys_before: number;
  readonly keys_after?: number;
  readonly report?: Report;
  /** The hops of a path over several versions. */
  readonly hops?: readonly (Pick<Report, 'from' | 'to' | 'outcome' | 'duration_ms'> & {
    readonly failed_writes?: number;
  })[];
};
const HEALTHY_WITHIN_MS = 60_000;
/**
 * Returns whether the copy can use real servers: it needs both programs on this machine, and the ctl program,
 * which restores the snapshot.
 */
export const canBeReal = (cluster: ClusterFile): boolean =>
  cluster.simulated !== true &&
  cluster.ctl_binary !== undefined &&
  cluster.driver !== 'ssh' &&
  cluster.members.every(
    (member) =>
      (member.old_command ?? member.old_binary) !== undefined &&
      (member.new_command ?? member.new_binary) !== undefined,
  );
const laterVersions = ({ observation, options: { path } }: RehearsalInput): string[] =>
  (path?.hops ?? []).slice(1).map(({ to }) => {
    const found = observation.later_programs?.find((one) => one.to === to)?.version;
    return found ?? `${to}.0`;
  });
const restoreCopy = async (
  { host, cluster, directory, signal }: RehearsalInput,
  copy: PrivateCopy,
): Promise<void> => {
  const ctl = await needRestoringCtl(host, cluster.ctl_binary as string, 'ctl_binary', signal);
  for (const { spec, restore, settings } of copy.members) {
    const done = await host.processes.run(...trustCall([ctl], restore), {
      env: { ...hideOwnVariables(host), ETCDCTL_API: '3' },
      signal,
    });
    if (done.code !== 0)
      throw new AppError('unknown', `cannot restore the snapshot for ${spec.name}: ${failureReason(done)}`, {
        code: 'RESTORE_FAILED',
      });
    const original = cluster.members.find((member) => member.name === spec.name)?.config_file;
    if (original === undefined) continue;
    const text = await host.files.read(original);
    await host.files.replace(
      configAt(directory, spec.name),
      await privateConfig(text ?? '', settings),
      0o600,
    );
  }
};
const startCopy = async (input: RehearsalInput): Promise<ClusterFile> => {
  const { host, directory, snapshot } = input;
  const copy = privateCopy(input.cluster, {
    directory,
    snapshot,
    ports: await host.network.freePorts(2 * input.cluster.members.length),
  });
  await refuseForeignStart(host, copy, directory);
  await restoreCopy(input, copy);
  await host.files.replace(join(directory, 'cluster.yaml'), JSON.stringify(copy.cluster, null, 2), 0o600);
  const driver = localDriver(host);
  for (const { spec } of copy.members) await driver.start(spec, 'old');
  return copy.cluster;
};
const startSimulated = async (input: RehearsalInput, content: SnapshotKeys): Promise<ClusterFile> => {
  const { host, directory, versions, cluster, signal } = input;
  const keys = join(directory, 'keys.json');
  await host.files.replace(keys, JSON.stringify({ ...content, compacted: content.revision }), 0o600);
  const dir = join(directory, 'copy');
  const later = laterVersions(input).reduce(
    (flags, version) => args`${flags} --later-version ${version}`,
    args``,
  );
  const words = args`mock kv start --dir ${dir} --members ${cluster.members.length} --version ${versions.old}
    --new-version ${versions.new} ${later} --keys ${keys} -o name`;
  await runSelf(host, join(directory, 'home'), words, signal);
  return readCluster(host, join(dir, 'cluster.yaml'));
};
const accessTo = (host: Host, copy: ClusterFile, access: Access): Access =>
  accessWith(host, undefined, copy.user === undefined ? undefined : access.user);
const waitHealthy = async (
  { host, signal }: RehearsalInput,
  copy: ClusterFile,
  access: Access,
): Promise<void> => {
  const until = host.elapsed() + HEALTHY_WITHIN_MS;
  for (const { name, client_url } of copy.members) {
    const { health } = access.store(client_url);
    while (!(await health().catch(() => undefined))?.is_healthy) {
      if (host.elapsed() > until)
        throw new AppError('unknown', `member ${name} of the private copy did not become healthy`, {
          code: 'REHEARSAL_FAILED',
        });
      await host.sleep(50, signal);
    }
  }
};
const countKeys = async (copy: ClusterFile, access: Access): Promise<number | undefined> => {
  for (const { client_url } of copy.members) {
    const found = await access
      .store(client_url)
      .range('\0', { rangeEnd: '\0', limit: 1, keysOnly: true })
      .catch(() => undefined);
    if (found !== undefined) return found.count;
  }
  return undefined;
};
const stopCopy = async (
  { host, directory, isReal }: RehearsalInput,
  copy: ClusterFile | undefined,
): Promise<void> => {
  if (!isReal) {
    const dir = join(directory, 'copy');
    if ((await host.files.info(dir)) !== undefined)
      await runSelf(host, join(directory, 'home'), args`mock kv stop --dir ${dir} --kill -o name`).catch(
        () => '',
      );
    return;
  }
  const driver = localDriver(host);
  await Promise.all((copy?.members ?? []).map((member) => driver.kill(member)));
};
const upgradeArgs = (directory: string, isReal: boolean, options: PlanOptions): ProgramArguments => {
  const file = isReal ? join(directory, 'cluster.yaml') : join(directory, 'copy', 'cluster.yaml');
  const copied = options.copy_data ? args`--copy-data` : args``;
  const to = options.to === undefined ? args`` : args`--to ${options.path?.to ?? options.to}`;
  const soak = options.path === undefined ? args`` : args`--soak 1s`;
  // The copy has no users.
  return args`kv upgrade --cluster ${file} --yes --accept-point-of-no-return ${copied} ${to} ${soak}
    --stable-for ${options.stable_seconds} --stable-before-last 1`;
};
const hopsOf = (reports: readonly Report[]): Pick<RehearsalResult, 'hops'> =>
  reports.length < 2
    ? {}
    : {
        hops: reports.map(({ from, to, outcome, duration_ms, canary }) => ({
          from,
          to,
          outcome,
          duration_ms,
          ...(canary === undefined ? {} : { failed_writes: canary.failed }),
        })),
      };
const resultOf = (
  run: ChildRun,
  { isReal, ...keys }: Pick<RehearsalResult, 'keys_before' | 'keys_after'> & { readonly isReal: boolean },
): RehearsalResult => {
  const mode = isReal ? 'real servers' : 'simulated servers';
  const { report, complaint, code, reports } = run;
  // A later hop that a guard refuses has no report.
  if (report === undefined || (code !== 0 && report.outcome === 'done'))
    return {
      ...hopsOf(reports),
      mode,
      outcome: 'refused',
      message: complaint ?? `the upgrade of the copy exited with code ${code}`,
      ...keys,
    };
  const { outcome, message } = report;
  return { ...hopsOf(reports), mode, outcome, message, ...keys, report };
};
/**
 * Restores the snapshot into a private cluster on this machine and runs the same plan there. Does not change
 * the real cluster.
 */
export const rehearse = async (input: RehearsalInput, access: Access): Promise<RehearsalResult> => {
  const { host, directory, isReal } = input;
  // Simulated servers get every key. Real servers restore the file, regardless of its size.
  const content = isReal ? undefined : await readSnapshot(host, input.snapshot, readKeys, input.signal);
  await host.files.makeDirectory(join(directory, 'home'), 0o700);
  let copy: ClusterFile | undefined;
  try {
    copy = content === undefined ? await startCopy(input) : await startSimulated(input, content);
    const mine = accessTo(host, copy, access);
    await waitHealthy(input, copy, mine);
    const before = (await countKeys(copy, mine)) ?? content?.keys.length ?? 0;
    const run = await upgradeCopy(
      host,
      join(directory, 'home'),
      upgradeArgs(directory, isReal, input.options),
      input.onEvent,
    );
    const after = await countKeys(copy, mine);
    return resultOf(run, { isReal, keys_before: before, keys_after: after });
  } finally {
    await stopCopy(input, copy);
  }
};

/** Describes the result of a rehearsal. It succeeded if the copy has all of its initial keys. */
export const rehearsalEnding = (result: RehearsalResult, kept: string): Result => {
  const { report } = result;
  const isWhole = result.keys_after === undefined || result.keys_after >= result.keys_before;
  const isGood = result.outcome === 'done' && isWhole;
  const text = [
    isGood
      ? `The rehearsal succeeded on ${result.mode}: ${result.message}.`
      : `The rehearsal failed (${result.mode}): ${result.message}`,
    ...(result.hops ?? []).map(
      ({ from, to, outcome, duration_ms }) => `  ${from} → ${to}: ${outcome} in ${durationText(duration_ms)}`,
    ),
    `keys: ${result.keys_before} before, ${result.keys_after ?? 'not readable'} after`,
    ...(report === undefined
      ? []
      : [
          `took ${durationText(report.duration_ms)}; members unavailable for: ${unavailableText(report.members)}`,
        ]),
    ...(report?.canary === undefined ? [] : [canaryText(report.canary)]),
    ...(report === undefined ? [] : [`report ${kept}/report.html`]),
  ].join('\n');
  return recordResult(
    { ...result, ok: isGood, directory: kept },
    { text, name: 'outcome' },
    isGood ? undefined : 'no',
  );
};

const SILENCE_MS = 30_000;
type Wanted = {
  readonly access: Access;
  readonly observation: Observation;
  /** A file from the user instead of a new snapshot. */
  readonly file: string | undefined;
  /** Directory for a new snapshot. */
  readonly directory: string;
  info(text: string): void;
};
/** Returns the snapshot for the rehearsal: the verified file of the user, or a new snapshot of a follower. */
export const snapshotToRehearse = async (
  host: Host,
  { access, observation, file, directory, info }: Wanted,
): Promise<string> => {
  if (file !== undefined) {
    const path = resolve(host.cwd, file);
    await verifySnapshot(host, path);
    return path;
  }
  const reachable = observation.members.filter((member) => member.is_reachable);
  const source = reachable.find((member) => !member.is_leader) ?? reachable[0];
  if (source === undefined)
    throw new AppError('network', 'no member responds, so there is no data to copy', {
      code: 'UNAVAILABLE',
      tryThis: ['--snapshot FILE'],
    });
  const path = join(directory, 'snapshot.db');
  info(`saving a snapshot of ${source.name} for the private copy`);
  await saveSnapshot(
    host,
    openStore(host, {
      url: source.client_url,
      tls: access.tls,
      user: access.user,
      timeoutMs: SILENCE_MS,
    }),
    path,
  );
  return path;
};

/**
 * The versions of the programs: the running version and the newest available version, otherwise the first
 * patch of the minor version.
 */
export const rehearsedVersions = (
  observation: Observation,
  plan: Plan,
): { readonly old: string; readonly new: string } => {
  const newest = observation.members
    .map((member) => member.host?.new_binary_version)
    .find((version) => version !== undefined);
  const running = observation.members
    .map((member) => member.server_version)
    .find((version) => version !== undefined);
  return { old: running ?? `${plan.from}.0`, new: newest ?? `${plan.to}.0` };
};

/** Keeps the run directory of the copy with the runs of the real cluster and deletes the rest of the copy. */
export const keepReport = async (
  host: Host,
  state: string,
  cluster: string,
  directory: string,
  run: string,
): Promise<string> => {
  const kept = childPath(join(clusterDirectory(state, cluster), 'rehearsals'), pathPart(run));
  const find = async (at: string): Promise<string | undefined> => {
    // The newest run has the last name.
    for (const name of (await host.files.list(at)).toSorted().reverse()) {
      const path = childPath(at, pathPart(name));
      if (name === 'report.json') return at;
      const inside = (await host.files.info(path))?.kind === 'directory' ? await find(path) : undefined;
      if (inside !== undefined) return inside;
    }
    return undefined;
  };
  const from = await find(join(directory, 'home'));
  if (from === undefined) return kept;
  await host.files.makeDirectory(kept, 0o700);
  for (const name of ['report.json', 'report.md', 'report.html', 'events.ndjson'])
    await host.files.copy(childPath(from, pathPart(name)), childPath(kept, pathPart(name)));
  return kept;
};
