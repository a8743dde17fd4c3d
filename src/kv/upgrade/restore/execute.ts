import { type Advice, adviceText, after, next, type ShowAdvice, showPlain } from '../../../core/next.ts';
import { basename, join } from 'node:path';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import { shapeBy } from '../../../core/shape.ts';
import { storedLines } from '../../../core/text.ts';
import type { Host } from '../../../platform/host.ts';
import { removeOwnKeys } from '../../client/etcd-client.ts';
import { type Access, accessWith } from '../../engine/access.ts';
import { clusterDirectory, runDirectory } from '../../engine/journal.ts';
import { dropLock, takeLocks } from '../../engine/locks.ts';
import type { ClusterFile, MemberSpec } from '../../engine/model.ts';
import { removeShared } from '../../engine/progress.ts';
import { stopAfterEffect } from '../../engine/steps.ts';
import { stopGraceMs } from '../cluster/cluster-file.ts';
import { endRestoredRun } from '../execute/ending.ts';
import { quorumOf } from '../guards/membership.ts';
import { configOn, placementOf, startVersion } from '../placement.ts';
import type { Driver, Shell } from '../supervisors/driver.ts';
import { shellsOf } from '../supervisors/open.ts';
import {
  buildDirectory,
  isSiblingPath,
  refuseFullDisks,
  refuseWrongCtl,
  type RestorePlan,
  swapDirectory,
} from './plan.ts';

export type Restoring = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly driver: Driver;
  readonly access: Access;
  readonly plan: RestorePlan;
  /** Directory of the run that took the snapshot; it contains the earlier configurations. */
  readonly directory: string;
  /** Progress of this restore, including an earlier process that was killed. */
  readonly progress: RestoreJournal;
  readonly shellFor: (member: MemberSpec) => Shell;
  /** Aborted by the first Ctrl-C, which has an effect only until the first member is stopped. */
  readonly signal: AbortSignal;
  log(text: string): void;
  warn(text: string): void;
};
/** What the command line of a restore contains. `bump_revision` is absent from the journal of an earlier version. */
type RestoreWords = {
  readonly snapshot: string;
  readonly to: string;
  readonly has_no_checksum?: boolean | undefined;
  readonly bump_revision?: number | undefined;
  readonly accepted?: readonly string[] | undefined;
};
/** The command that repeats a restore. A file without a checksum is accepted again only by its name. */
const restoreCommand = ({
  snapshot,
  to,
  has_no_checksum,
  bump_revision,
  accepted = [],
}: RestoreWords): string[] => [
  ...['kv', 'restore', '--snapshot', snapshot, '--to', to],
  ...(has_no_checksum === true ? ['--skip-hash-check', '--accept-unverified', basename(snapshot)] : []),
  ...(bump_revision === undefined ? [] : ['--bump-revision', String(bump_revision)]),
  ...accepted.flatMap((name) => ['--accept', name]),
];
/** Members that are built with different values have different revisions forever. */
const bumpOf = ({ bump_revision = 0 }: Pick<RestorePlan, 'bump_revision'>): number => bump_revision;
const wordsOf = (plan: RestorePlan): RestoreWords => ({
  snapshot: plan.snapshot.path,
  to: plan.to,
  bump_revision: bumpOf(plan),
  ...(plan.snapshot.has_no_checksum === true ? { has_no_checksum: true } : {}),
  ...(plan.accepted === undefined ? {} : { accepted: plan.accepted }),
});
const commandOf = (plan: RestorePlan): string[] => restoreCommand(wordsOf(plan));
/** While every member still runs, no step has to be finished. */
const stopOnRequest = ({ signal, plan, progress }: Restoring): void => {
  if (!signal.aborted || progress.wasStopping) return;
  throw new AppError('stopped', 'stopped before any member was stopped, as requested', {
    code: 'STOPPED',
    tryThis: [next(commandOf(plan), 'restores again')],
  });
};
/** Only a second signal ends the process, so after --max-time two of them are needed. */
const exitText = (reason: unknown): string =>
  reason instanceof AppError && reason.detail.code === 'MAX_TIME'
    ? ' after --max-time. A second Ctrl-C exits'
    : '. Another Ctrl-C exits';
/**
 * A stop would leave the cluster down, so the restore continues and reports how it can be interrupted. Returns a
 * function that ends this: after the restore, the message would be wrong.
 */
const announceStop = ({ signal, plan, warn }: Restoring): (() => void) => {
  const announce = (): void => {
    const exit = exitText(signal.reason);
    const advice = after(
      `the restore has stopped members, so it continues to its end${exit} immediately and leaves them as they are; then`,
      commandOf(plan),
    );
    warn(adviceText(advice));
  };
  signal.addEventListener('abort', announce, { once: true });
  return () => signal.removeEventListener('abort', announce);
};
const memberOf = ({ cluster }: Restoring, name: string): MemberSpec =>
  cluster.members.find((member) => member.name === name) as MemberSpec;
/** Checks programs that a driver starts by a command line: after the stop it would be too late. */
const refuseWrongBinary = async ({ cluster, driver, plan }: Restoring, member: MemberSpec): Promise<void> => {
  const by = driver.kind === 'ssh' ? (cluster.ssh?.then ?? 'local') : driver.kind;
  if (by !== 'local') return;
  const {
    old_binary_version: version,
    problems = [],
    data_place,
  } = await driver.facts(member, { sizes: false });
  // If the host could not be inspected, the next step reports the reason.
  if (data_place === undefined || minorOf(version) === plan.to) return;
  throw new AppError(
    'unsafe',
    `no changes were made: ${member.name}: the old binary ${member.old_binary ?? ''} is ${version ?? 'missing or reports no version'}; the restore needs ${plan.to}${problems.length === 0 ? '' : ` (${problems[0]})`}`,
    { code: 'WRONG_BINARY', tryThis: [`old_binary: PATH of the ${plan.to} server in the cluster file`] },
  );
};
const stopAll = async ({ cluster, driver, plan, log }: Restoring): Promise<void> => {
  for (const member of cluster.members) {
    if (!(await driver.stop(member, stopGraceMs(cluster))))
      throw new AppError('stopped', `${member.name} did not end`, {
        code: 'STOP_IGNORED',
        tryThis: [after('stop it by hand, then', commandOf(plan))],
      });
    log(`${member.name}: stopped`);
  }
};
/**
 * Starts the old binary with its old configuration: a rewritten configuration would stop it at its start
 * (spec/store#measured-configuration).
 */
const startAll = async (restoring: Restoring): Promise<void> => {
  const failures: unknown[] = [];
  // A member that does not start must not keep the others down: they may be a majority.
  for (const member of restoring.cluster.members)
    await startVersion(restoring, member, 'old', restoring.plan.to).catch((error: unknown) =>
      failures.push(error),
    );
  if (failures.length > 0) throw failures[0];
};
const waitHealthy = async ({ host, cluster, access, plan }: Restoring, withinMs: number): Promise<void> => {
  const until = host.elapsed() + withinMs;
  for (;;) {
    const stores = cluster.members.map(({ name, client_url }) => ({ name, store: access.store(client_url) }));
    const good = await Promise.all(
      stores.map(
        async ({ store }) =>
          (await store.health().catch(() => undefined))?.is_healthy === true &&
          minorOf((await store.versions().catch(() => undefined))?.server) === plan.to,
      ),
    );
    if (good.every(Boolean)) return;
    if (host.elapsed() > until) {
      const bad = stores.filter((_, i) => !good[i]).map(({ name }) => name);
      throw new AppError(
        'stopped',
        `${bad.join(', ')} did not become healthy on ${plan.to}; a majority needs ${quorumOf(stores.length)}`,
        {
          code: 'RESTORE_UNHEALTHY',
          tryThis: ['read its log', next(commandOf(plan), 'restores again and keeps the directories')],
        },
      );
    }
    await host.sleep(100);
  }
};
const FIRST_READ_MS = 5000;
export type Restored = {
  readonly revision: number;
  readonly kept: readonly { readonly name: string; readonly kept_data: string }[];
};
type Step = { readonly step: RestorePlan['members'][number]; readonly member: MemberSpec };
/**
 * Built by a process that was killed: its directory still exists, or was already swapped before the crash.
 */
const wasBuilt = async ({ shellFor, progress }: Restoring, { step, member }: Step): Promise<boolean> => {
  if (progress.keptOf(step.name) !== undefined) return true;
  if (!progress.isBuilt(step.name)) return false;
  if (await isSiblingPath(shellFor(member), member)) return true;
  if (!progress.wasStopping) return false;
  progress.write({ kind: 'swapped', member: step.name, kept: step.aside });
  return true;
};
/** For a directory that does not exist: the user that ran the old version of the member. */
const ownerOf = async (restoring: Restoring, { name }: MemberSpec): Promise<string | undefined> => {
  const { uid, gid } = (await placementOf(restoring, name, restoring.plan.to))?.runs_as ?? {};
  return uid === undefined || gid === undefined ? undefined : `${uid}:${gid}`;
};
/** The stop of a restore that has built or replaced a directory, or stopped a member. */
const asStop = ({ plan }: Restoring, error: unknown): AppError =>
  stopAfterEffect(error, next(commandOf(plan), 'restores again'), 'opsctl kv restore');
/** Stops no member before every directory exists, and builds none before the disks have space for all. */
const buildAll = async (restoring: Restoring, steps: readonly Step[]): Promise<void> => {
  const { plan, shellFor, log, progress } = restoring;
  const fail = (error: unknown): never => {
    throw steps.some(({ step: { name } }) => progress.isBuilt(name)) ? asStop(restoring, error) : error;
  };
  const missing: Step[] = [];
  for (const one of steps) if (!(await wasBuilt(restoring, one))) missing.push(one);
  const builds = missing.map((one) => ({ ...one, shell: shellFor(one.member) }));
  await refuseFullDisks(plan, builds).catch(fail);
  for (const { shell, step, member } of builds) {
    stopOnRequest(restoring);
    await buildDirectory(shell, plan, step, member, await ownerOf(restoring, member)).catch(fail);
    progress.write({ kind: 'built', member: step.name });
    log(`${step.name}: new data directory built`);
  }
};
const swapAll = async (
  { plan, shellFor, progress }: Restoring,
  steps: readonly Step[],
): Promise<Restored['kept']> => {
  const kept: { name: string; kept_data: string }[] = [];
  for (const { step, member } of steps) {
    const before = progress.keptOf(step.name);
    const kept_data = before ?? (await swapDirectory(shellFor(member), step, member, commandOf(plan)));
    if (before === undefined) progress.write({ kind: 'swapped', member: step.name, kept: kept_data });
    kept.push({ name: step.name, kept_data });
  }
  return kept;
};
/** Stops every member, puts the new directories in place, and starts the members. */
const replaceAll = async (restoring: Restoring, steps: readonly Step[]): Promise<Restored['kept']> => {
  const { cluster, progress } = restoring;
  progress.write({ kind: 'stopping' });
  await stopAll(restoring);
  const kept = await swapAll(restoring, steps);
  progress.write({ kind: 'starting' });
  await startAll(restoring);
  await waitHealthy(restoring, (cluster.timeouts?.gate_seconds ?? 60) * 1000).catch((error: unknown) => {
    progress.write({ kind: 'failed', reason: messageOf(error) });
    throw error;
  });
  return kept;
};
/** Removes the keys of the earlier run. Returns the revision of the cluster. */
const concludeRestore = async ({ host, cluster, access, plan, progress }: Restoring): Promise<number> => {
  // A token of the previous cluster contains a raft index that the new cluster has not reached: the server
  // would wait for that index (seen on 3.3).
  const fresh = accessWith(host, access.tls, access.user);
  const store = fresh.store(cluster.members[0]?.client_url as string, FIRST_READ_MS);
  const { revision } = await store.range('opsctl/none');
  await dropLock([store], plan.run);
  await removeOwnKeys([store], plan.run);
  // The snapshot was taken during a run and contains the shared keys of that run.
  await removeShared({ host, cluster, stores: [store] });
  progress.write({ kind: 'closed', revision });
  progress.close();
  return revision;
};
/**
 * Builds, stops, swaps, starts, waits. Returns the current revision of the cluster, and the paths of the
 * previous directories.
 */
export const restore = async (restoring: Restoring): Promise<Restored> => {
  const { plan, shellFor } = restoring;
  const steps = plan.members.map((step) => ({ step, member: memberOf(restoring, step.name) }));
  for (const { member } of steps) {
    await refuseWrongCtl(shellFor(member), plan);
    await configOn({ ...restoring, plan: { from: plan.to } }, member);
    await refuseWrongBinary(restoring, member);
  }
  await buildAll(restoring, steps);
  stopOnRequest(restoring);
  const endAnnouncements = announceStop(restoring);
  try {
    const kept = await replaceAll(restoring, steps);
    return { revision: await concludeRestore(restoring), kept };
  } catch (error) {
    throw asStop(restoring, error);
  } finally {
    endAnnouncements();
  }
};

/**
 * One JSON line per entry, written with fsync. A restore that was killed continues without repeating
 * completed builds and swaps.
 */
export type RestoreEntry =
  | {
      readonly kind: 'opened';
      readonly at: string;
      readonly to: string;
      readonly snapshot: string;
      readonly file_sha256: string;
      /** 0: the revisions were not raised. Absent in journals of earlier versions. */
      readonly bump_revision?: number;
      /** The snapshot was accepted without a checksum. */
      readonly has_no_checksum?: boolean;
      /** Checks that the operator accepted, and the starts that opsctl did not read. */
      readonly accepted?: readonly string[];
      readonly unread_starts?: readonly string[];
      readonly members: readonly string[];
    }
  | { readonly kind: 'built'; readonly at: string; readonly member: string }
  | { readonly kind: 'stopping'; readonly at: string }
  | { readonly kind: 'swapped'; readonly at: string; readonly member: string; readonly kept: string }
  | { readonly kind: 'starting'; readonly at: string }
  /** The rebuilt members did not become healthy: the next restore builds the directories again. */
  | { readonly kind: 'failed'; readonly at: string; readonly reason: string }
  | { readonly kind: 'closed'; readonly at: string; readonly revision: number };
type Unstamped = RestoreEntry extends infer E ? (E extends RestoreEntry ? Omit<E, 'at'> : never) : never;
const shapeOf = shapeBy('kind', {
  opened: { to: 'text', snapshot: 'text', file_sha256: 'text', bump_revision: 'number?', members: ['text'] },
  built: { member: 'text' },
  swapped: { member: 'text', kept: 'text' },
});
const pathOf = (state: string, cluster: string): string =>
  join(clusterDirectory(state, cluster), 'restore.jsonl');
/**
 * Reads the last restore of a cluster. opsctl never acted on a torn last line. Corruption is an error: a
 * completed swap must not run again.
 */
export const readRestore = async (
  host: Host,
  state: string,
  cluster: string,
): Promise<readonly RestoreEntry[]> => {
  const path = pathOf(state, cluster);
  const text = (await host.files.read(path).catch(() => undefined)) ?? '';
  const { values } = storedLines(
    path,
    text,
    ['check the data directories of the members, then move the file away to start a new restore'],
    shapeOf,
  );
  return values as readonly RestoreEntry[];
};
export type RestoreJournal = {
  /** The earlier process was killed while it stopped members. */
  readonly wasStopping: boolean;
  isBuilt(member: string): boolean;
  /** The path of the previous directory, if the swap is complete. */
  keptOf(member: string): string | undefined;
  write(entry: Unstamped): void;
  close(): void;
};
type Opened = Extract<RestoreEntry, { kind: 'opened' }>;
const refuseOtherBump = (opened: Opened, plan: RestorePlan): void => {
  const { bump_revision: bump } = opened;
  if (bump === undefined || bump === bumpOf(plan)) return;
  throw new AppError(
    'unsafe',
    `no changes were made: an interrupted restore has built every member with --bump-revision ${bump}, so it cannot continue with ${bumpOf(plan)}`,
    {
      code: 'OTHER_BUMP_REVISION',
      tryThis: [next(restoreCommand(opened), 'continues that restore')],
    },
  );
};
const acceptedText = ({ accepted = [] }: Pick<RestorePlan, 'accepted'>): string => accepted.join();
/**
 * Returns whether this restore continues the recorded one. Until the first member is stopped, other values
 * start a new restore, which builds every directory again.
 */
const continues = (entries: readonly RestoreEntry[], plan: RestorePlan): boolean => {
  const [opened] = entries;
  const last = entries.at(-1)?.kind;
  const isSame =
    opened?.kind === 'opened' &&
    opened.file_sha256 === plan.snapshot.file_sha256 &&
    opened.to === plan.to &&
    last !== 'closed' &&
    last !== 'failed';
  if (!isSame) return false;
  if (!entries.some(({ kind }) => kind === 'stopping'))
    return opened.bump_revision === bumpOf(plan) && acceptedText(opened) === acceptedText(plan);
  refuseOtherBump(opened, plan);
  return true;
};
/**
 * Continues an unfinished restore of the same snapshot to the same version with the same revisions; otherwise
 * starts a new restore.
 */
export const openRestore = async (host: Host, state: string, plan: RestorePlan): Promise<RestoreJournal> => {
  const path = pathOf(state, plan.cluster);
  const before = await readRestore(host, state, plan.cluster);
  const goesOn = continues(before, plan);
  const entries: RestoreEntry[] = goesOn ? [...before] : [];
  await host.files.makeDirectory(clusterDirectory(state, plan.cluster), 0o700);
  await host.files.replace(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), 0o600);
  const file = host.files.append(path, 0o600);
  const write = (entry: Unstamped): void => {
    const line = { at: new Date(host.now()).toISOString(), ...entry } as RestoreEntry;
    file.write(`${JSON.stringify(line)}\n`);
    file.sync();
    entries.push(line);
  };
  if (!goesOn)
    write({
      kind: 'opened',
      ...wordsOf(plan),
      file_sha256: plan.snapshot.file_sha256,
      ...(plan.unread_starts === undefined ? {} : { unread_starts: plan.unread_starts }),
      members: plan.members.map(({ name }) => name),
    });
  return {
    wasStopping: entries.some(({ kind }) => kind === 'stopping'),
    isBuilt: (member) => entries.some((entry) => entry.kind === 'built' && entry.member === member),
    keptOf: (member) => {
      const entry = entries.findLast((one) => one.kind === 'swapped' && one.member === member);
      return entry?.kind === 'swapped' ? entry.kept : undefined;
    },
    write,
    close: () => file.close(),
  };
};
/** The status line of the last restore; undefined if no restore exists. Pure. */
export const restoreLine = (
  entries: readonly RestoreEntry[],
  show: ShowAdvice = showPlain,
):
  | { readonly outcome: 'interrupted' | 'restored'; readonly at: string; readonly text: string }
  | undefined => {
  const [first, last] = [entries[0], entries.at(-1)];
  if (first?.kind !== 'opened' || last === undefined) return undefined;
  if (last.kind === 'closed')
    return {
      outcome: 'restored',
      at: last.at,
      text: `restored to ${first.to} at revision ${last.revision} from ${first.snapshot}`,
    };
  const command = restoreCommand(first);
  const interruptedResult = (advice: Advice) => ({
    outcome: 'interrupted' as const,
    at: last.at,
    text: show(advice),
  });
  if (last.kind === 'failed')
    return interruptedResult(after(`the restore to ${first.to} failed: ${last.reason}\n  again:`, command));
  const swapped = entries.filter(({ kind }) => kind === 'swapped').length;
  const where = {
    opened: 'before any member was stopped',
    built: 'before any member was stopped',
    stopping: 'while it stopped the members',
    swapped: `with the members stopped, ${swapped} of ${first.members.length} data directories swapped`,
    starting: 'while it started the members',
  }[last.kind];
  return interruptedResult(
    after(`the restore to ${first.to} was interrupted ${where}\n  continue:`, command),
  );
};

type Place = {
  readonly host: Host;
  readonly directories: { readonly clusters: string; readonly state: string };
  readonly log: { info(text: string): void; warn(text: string): void };
  readonly signal: AbortSignal;
};
type Parts = Pick<Restoring, 'cluster' | 'access' | 'plan'> & { readonly driver: Driver };
const runRestore = async ({ host, directories, log, signal }: Place, parts: Parts): Promise<Restored> => {
  const { cluster, plan } = parts;
  const shellFor = await shellsOf(host, cluster, directories.state);
  const directory = runDirectory(directories.clusters, cluster.name, plan.run);
  const progress = await openRestore(host, directories.clusters, plan);
  const { info, warn } = log;
  const restored = await restore({ ...parts, host, shellFor, directory, progress, signal, log: info, warn });
  await endRestoredRun(host, directories.clusters, { cluster: cluster.name, to: plan.to });
  return restored;
};
/**
 * Holds the local lock, so that no other process changes the members. The store is unavailable during the
 * restore, so its lock only warns other users.
 */
export const runLockedRestore = async (place: Place, parts: Parts): Promise<Restored> => {
  const { host, directories, log } = place;
  const { cluster, access, plan } = parts;
  const { run } = plan;
  const lock = await takeLocks({ host, state: directories.clusters, cluster, access, run, warn: log.warn });
  try {
    return await runRestore(place, parts);
  } finally {
    await lock.release();
  }
};
