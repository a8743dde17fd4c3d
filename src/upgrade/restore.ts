import { AppError } from '../kernel/problem.ts';
import type { Host } from '../host/host.ts';
import { minorOf } from '../services/kv/versions.ts';
import type { Minor } from '../services/kv/versions.ts';
import type { Access } from './access.ts';
import type { Driver } from './drivers/driver.ts';
import { versionInText } from './drivers/driver.ts';
import { shellLine } from './command-line.ts';
import { dropRestoredLock } from './locks/store-lock.ts';
import { removeOwnKeys } from './own-keys.ts';
import { quorumOf } from './guards/quorum-survives.ts';
import type { ClusterFile, MemberSpec, Observation, SnapshotRecord } from './types.ts';

/** How a cluster is rebuilt on its old version from one verified snapshot. */
export type RestorePlan = {
  readonly cluster: string;
  readonly to: Minor;
  /** The run that took the snapshot. */
  readonly run: string;
  readonly snapshot: SnapshotRecord;
  readonly ctl: string;
  /** Revision of the cluster now, when a member answers. */
  readonly revision_now?: number;
  /** Changes after the snapshot that will be gone; undefined when nobody answers. */
  readonly lost_revisions?: number;
  readonly members: readonly { readonly name: string; readonly aside: string; readonly command: readonly string[] }[];
};

/** Every member must be rebuilt from the same file: the one with the highest revision. */
export const newestSnapshot = (snapshots: readonly SnapshotRecord[]): SnapshotRecord | undefined =>
  snapshots.toSorted((a, b) => b.revision - a.revision)[0];

const peerUrl = (member: MemberSpec, { listed }: Observation): string | undefined =>
  member.peer_url ?? listed.find(({ name }) => name === member.name)?.peer_urls[0];

export type RestoreInput = {
  readonly cluster: ClusterFile;
  readonly observation: Observation;
  readonly snapshot: SnapshotRecord;
  readonly to: Minor;
  /** Part of the names of the folders that are moved aside. */
  readonly run: string;
};

/** The plan, with the commands of the store's own program. Pure. */
export const restorePlan = ({ cluster, observation, snapshot, to, run }: RestoreInput): RestorePlan => {
  const ctl = cluster.ctl_binary;
  if (ctl === undefined)
    throw new AppError('config', 'the cluster file names no ctl_binary', { code: 'NO_CTL', tryThis: [`ctl_binary: PATH of the ${to} ctl program`] });
  const peers = cluster.members.map((member) => ({ member, peer: peerUrl(member, observation) }));
  const unknown = peers.find(({ member, peer }) => peer === undefined || member.data_dir === undefined);
  if (unknown !== undefined)
    throw new AppError('config', `member ${unknown.member.name} needs peer_url and data_dir in the cluster file`, { code: 'CLUSTER_FILE' });
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
    members: peers.map(({ member, peer }) => ({
      name: member.name,
      aside: `${member.data_dir}.before-restore-${run}`,
      command: [
        ...[ctl, 'snapshot', 'restore', snapshot.path, '--name', member.name, '--initial-cluster', all],
        ...['--initial-advertise-peer-urls', peer as string, '--data-dir', `${member.data_dir}.restoring`],
      ],
    })),
  };
};

export const restoreText = (plan: RestorePlan): string => {
  const lost = plan.lost_revisions === undefined ? 'an unknown number of revisions (no member answers)' : `${plan.lost_revisions} revisions`;
  const steps = plan.members.flatMap(({ name, aside, command }) => [`  ${name}: the data folder goes to ${aside}`, `    $ ${shellLine(command)}`]);
  return [
    `Rebuild of ${plan.cluster} on ${plan.to} from ${plan.snapshot.path} (revision ${plan.snapshot.revision}, taken from ${plan.snapshot.member})`,
    `LOST: ${lost} written after the snapshot; v2 data is not part of it; clients see no store meanwhile`,
    '1. stop every member',
    '2. build new data folders; the present ones are kept aside',
    ...steps,
    `3. start every member with its ${plan.to} binary, and wait until all are healthy`,
  ].join('\n');
};

export type Restoring = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly driver: Driver;
  readonly access: Access;
  readonly plan: RestorePlan;
  say(text: string): void;
};

const refuseWrongCtl = async ({ host, plan }: Restoring): Promise<void> => {
  const done = await host.processes.run(plan.ctl, ['version'], { env: { ETCDCTL_API: '3' }, timeoutMs: 5000 });
  const version = versionInText(`${done.stdout}\n${done.stderr}`);
  if (minorOf(version) === plan.to) return;
  throw new AppError(
    'unsafe',
    `refused, nothing was changed: the ctl program is ${version ?? 'of an unknown version'}, the folders are for ${plan.to}`,
    { code: 'WRONG_CTL', tryThis: [`ctl_binary: PATH of the ${plan.to} ctl program`] },
  );
};

/** New folders first: nothing is stopped before they all exist. */
const buildFolder = async ({ host, cluster, say }: Restoring, step: RestorePlan['members'][number]): Promise<void> => {
  const member = cluster.members.find(({ name }) => name === step.name) as MemberSpec;
  const [command, ...words] = step.command;
  await host.files.remove(`${member.data_dir}.restoring`);
  const done = await host.processes.run(command as string, words, { env: { ETCDCTL_API: '3' }, timeoutMs: 3_600_000 });
  if (done.code !== 0)
    throw new AppError(
      'unsafe',
      `nothing was stopped: the folder of ${step.name} could not be built: ${done.stderr.trim().split('\n').at(-1) ?? done.startError ?? ''}`,
      { code: 'RESTORE_FAILED' },
    );
  say(`${step.name}: new data folder built`);
};

/** A second rebuild of the same run, or one that goes on after a crash, must not cover what the first kept aside. */
const freeName = async ({ files }: Host, path: string): Promise<string> => {
  let name = path;
  for (let number = 2; (await files.info(name)) !== undefined; number += 1) name = `${path}.${number}`;
  return name;
};

/** The present folder goes aside, the new one takes its place. Returns where the present one is kept. */
const swapFolder = async ({ host, cluster }: Restoring, step: RestorePlan['members'][number]): Promise<string> => {
  const member = cluster.members.find(({ name }) => name === step.name) as MemberSpec;
  const folder = member.data_dir as string;
  const aside = await freeName(host, step.aside);
  if ((await host.files.info(folder)) !== undefined) await host.files.rename(folder, aside);
  await host.files.rename(`${folder}.restoring`, folder);
  return aside;
};

const waitHealthy = async ({ host, cluster, access, plan }: Restoring, withinMs: number): Promise<void> => {
  const until = host.elapsed() + withinMs;
  for (;;) {
    const stores = cluster.members.map(({ name, client_url }) => ({ name, store: access.store(client_url) }));
    const good = await Promise.all(
      stores.map(
        async ({ store }) =>
          (await store.health().catch(() => undefined))?.is_healthy === true && minorOf((await store.versions()).server) === plan.to,
      ),
    );
    if (good.every(Boolean)) return;
    if (host.elapsed() > until) {
      const bad = stores.filter((_, i) => !good[i]).map(({ name }) => name);
      throw new AppError('stopped', `${bad.join(', ')} did not become healthy on ${plan.to}; a majority needs ${quorumOf(stores.length)}`, {
        code: 'RESTORE_UNHEALTHY',
        tryThis: ['read its log', 'run kv restore again: what is built is kept'],
      });
    }
    await host.sleep(100);
  }
};

export type Restored = { readonly revision: number; readonly kept: readonly { readonly name: string; readonly kept_data: string }[] };
/** Builds, stops, swaps, starts, waits. Returns the revision that the cluster has now, and where the folders before are kept. */
export const restore = async (restoring: Restoring): Promise<Restored> => {
  const { cluster, driver, access, plan, say } = restoring;
  await refuseWrongCtl(restoring);
  for (const step of plan.members) await buildFolder(restoring, step);
  for (const member of cluster.members) {
    if (!(await driver.stop(member, (cluster.timeouts?.stop_seconds ?? 120) * 1000)))
      throw new AppError('stopped', `${member.name} did not end`, { code: 'STOP_IGNORED', tryThis: ['end it by hand, then kv restore again'] });
    say(`${member.name}: stopped`);
  }
  const kept: { name: string; kept_data: string }[] = [];
  for (const step of plan.members) kept.push({ name: step.name, kept_data: await swapFolder(restoring, step) });
  for (const member of cluster.members) await driver.start(member, 'old');
  await waitHealthy(restoring, (cluster.timeouts?.gate_seconds ?? 60) * 1000);
  const store = access.store(cluster.members[0]?.client_url as string);
  const { revision } = await store.range('opsctl/none');
  await dropRestoredLock(store, plan.run);
  await removeOwnKeys(store, plan.run);
  return { revision, kept };
};
