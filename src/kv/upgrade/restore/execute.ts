import { messageOf } from '../../../core/error-message.ts';
import { stopGraceMs } from '../cluster/stop-grace.ts';
import { AppError } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { accessWith } from '../../engine/access.ts';
import type { Access } from '../../engine/access.ts';
import { placementOf } from '../placement.ts';
import { configOn, startVersion } from '../switch-version.ts';
import type { Driver } from '../supervisors/driver.ts';
import type { Shell } from '../supervisors/shell.ts';
import { quorumOf } from '../guards/quorum-survives.ts';
import { removeShared } from '../../engine/shared-progress.ts';
import { dropLock } from '../../engine/locks.ts';
import { removeOwnKeys } from '../../client/own-keys.ts';
import type { ClusterFile, MemberSpec } from '../../engine/types.ts';
import { buildDirectory, isBuiltBeside, refuseWrongCtl, swapDirectory } from './place.ts';
import type { RestorePlan } from './plan.ts';
import type { RestoreJournal } from './restore-journal.ts';

export type Restoring = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly driver: Driver;
  readonly access: Access;
  readonly plan: RestorePlan;
  /** Directory of the run that took the snapshot: configurations before it are kept there. */
  readonly directory: string;
  /** What this restore has done, in this process or in one that was killed. */
  readonly progress: RestoreJournal;
  readonly shellFor: (member: MemberSpec) => Shell;
  log(text: string): void;
};

const memberOf = ({ cluster }: Restoring, name: string): MemberSpec =>
  cluster.members.find((member) => member.name === name) as MemberSpec;

/** The programs that a driver starts by a command line: after the stop it would be too late to find out. */
const refuseWrongBinary = async ({ cluster, driver, plan }: Restoring, member: MemberSpec): Promise<void> => {
  const by = driver.kind === 'ssh' ? (cluster.ssh?.then ?? 'local') : driver.kind;
  if (by !== 'local') return;
  const {
    old_binary_version: version,
    problems = [],
    data_place,
  } = await driver.facts(member, { sizes: false });
  // Without a look at the host nothing is known, and the next step says why.
  if (data_place === undefined || minorOf(version) === plan.to) return;
  throw new AppError(
    'unsafe',
    `no changes were made: ${member.name}: the old binary ${member.old_binary ?? ''} is ${version ?? 'not there or reports no version'}; the restore needs ${plan.to}${problems.length === 0 ? '' : ` (${problems[0]})`}`,
    { code: 'WRONG_BINARY', tryThis: [`old_binary: PATH of the ${plan.to} server in the cluster file`] },
  );
};

const stopAll = async ({ cluster, driver, log }: Restoring): Promise<void> => {
  for (const member of cluster.members) {
    if (!(await driver.stop(member, stopGraceMs(cluster))))
      throw new AppError('stopped', `${member.name} did not end`, {
        code: 'STOP_IGNORED',
        tryThis: ['end it by hand, then kv restore again'],
      });
    log(`${member.name}: stopped`);
  }
};

/** Old binary, and the configuration that it could read: a rewritten one would stop it at its start (spec/store#measured-configuration). */
const startAll = async (restoring: Restoring): Promise<void> => {
  for (const member of restoring.cluster.members)
    await startVersion(restoring, member, 'old', restoring.plan.to);
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
          tryThis: ['read its log', 'run kv restore again: what is kept aside stays'],
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

/** Built by a process that was killed: its directory is there still, or it was put in its place just before the crash. */
const wasBuilt = async ({ shellFor, progress }: Restoring, { step, member }: Step): Promise<boolean> => {
  if (progress.keptOf(step.name) !== undefined) return true;
  if (!progress.isBuilt(step.name)) return false;
  if (await isBuiltBeside(shellFor(member), member)) return true;
  if (!progress.wasStopping) return false;
  progress.write({ kind: 'swapped', member: step.name, kept: step.aside });
  return true;
};

/** For a directory that is gone: as whom the member ran on its old version. */
const ownerOf = async (restoring: Restoring, { name }: MemberSpec): Promise<string | undefined> => {
  const { uid, gid } = (await placementOf(restoring, name, restoring.plan.to))?.runs_as ?? {};
  return uid === undefined || gid === undefined ? undefined : `${uid}:${gid}`;
};

/** Nothing is stopped before every directory exists. */
const buildAll = async (restoring: Restoring, steps: readonly Step[]): Promise<void> => {
  const { plan, shellFor, log, progress } = restoring;
  for (const { step, member } of steps) {
    if (await wasBuilt(restoring, { step, member })) continue;
    await buildDirectory(shellFor(member), plan, step, member, await ownerOf(restoring, member));
    progress.write({ kind: 'built', member: step.name });
    log(`${step.name}: new data directory built`);
  }
};

const swapAll = async (
  { shellFor, progress }: Restoring,
  steps: readonly Step[],
): Promise<Restored['kept']> => {
  const kept: { name: string; kept_data: string }[] = [];
  for (const { step, member } of steps) {
    const before = progress.keptOf(step.name);
    const kept_data = before ?? (await swapDirectory(shellFor(member), step, member));
    if (before === undefined) progress.write({ kind: 'swapped', member: step.name, kept: kept_data });
    kept.push({ name: step.name, kept_data });
  }
  return kept;
};

/** Builds, stops, swaps, starts, waits. Returns the revision that the cluster has now, and where the directories before are kept. */
export const restore = async (restoring: Restoring): Promise<Restored> => {
  const { cluster, access, plan, shellFor, progress } = restoring;
  const steps = plan.members.map((step) => ({ step, member: memberOf(restoring, step.name) }));
  for (const { member } of steps) {
    await refuseWrongCtl(shellFor(member), plan);
    await configOn({ ...restoring, plan: { from: plan.to } }, member);
    await refuseWrongBinary(restoring, member);
  }
  await buildAll(restoring, steps);
  progress.write({ kind: 'stopping' });
  await stopAll(restoring);
  const kept = await swapAll(restoring, steps);
  progress.write({ kind: 'starting' });
  await startAll(restoring);
  await waitHealthy(restoring, (cluster.timeouts?.gate_seconds ?? 60) * 1000).catch((error: unknown) => {
    progress.write({ kind: 'failed', reason: messageOf(error) });
    throw error;
  });
  // A token of the cluster before names a raft index that this one has not reached: the server would wait for it (seen on 3.3).
  const fresh = accessWith(restoring.host, access.tls, access.user);
  const store = fresh.store(cluster.members[0]?.client_url as string, FIRST_READ_MS);
  const { revision } = await store.range('opsctl/none');
  await dropLock([store], plan.run);
  await removeOwnKeys([store], plan.run);
  // The snapshot was taken while a run was in progress, and holds what that run had shared.
  await removeShared({ host: restoring.host, cluster, stores: [store] });
  progress.write({ kind: 'closed', revision });
  progress.close();
  return { revision, kept };
};
