import { AppError } from '../../../core/problem.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import { shellLine } from '../cluster/command-line.ts';
import { walDirOf } from '../supervisors/wal-directory.ts';
import type { ClusterFile, HostFacts, MemberSpec, Observation, SnapshotRecord } from '../../engine/types.ts';

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
  readonly members: readonly RestoreStep[];
};
export type RestoreStep = {
  readonly name: string;
  /** Where the present data directory is kept. */
  readonly aside: string;
  /** Directory of its log, where that is not part of the data directory. */
  readonly wal_dir?: string;
  /** Words of the ctl program after `snapshot restore FILE`. */
  readonly words: readonly string[];
};

/** Every member must be rebuilt from the same file: the one with the highest revision. */
export const newestSnapshot = (snapshots: readonly SnapshotRecord[]): SnapshotRecord | undefined =>
  snapshots.toSorted((a, b) => b.revision - a.revision)[0];

const peerUrl = (member: MemberSpec, { listed }: Observation): string | undefined =>
  member.peer_url ?? listed.find(({ name }) => name === member.name)?.peer_urls[0];

/** One inside the data directory is moved with it, but not built there by the ctl program. */
const logOf = (member: MemberSpec, host: HostFacts | undefined): Pick<RestoreStep, 'wal_dir'> => {
  const wal_dir = walDirOf(member, host);
  if (wal_dir === undefined) return {};
  if (!wal_dir.startsWith('/'))
    throw new AppError(
      'config',
      `the log directory ${wal_dir} of ${member.name} is relative: it cannot be told where that is`,
      {
        code: 'WAL_DIR',
        tryThis: [
          'write the whole path in --wal-dir, in old_command or the configuration file',
          'wal_dir: PATH in the cluster file',
        ],
      },
    );
  return { wal_dir: wal_dir.replace(/\/+$/, '') };
};

export type RestoreInput = {
  readonly cluster: ClusterFile;
  readonly observation: Observation;
  readonly snapshot: SnapshotRecord;
  readonly to: Minor;
  /** Part of the names of the directories that are moved aside. */
  readonly run: string;
};

/** The plan, with the commands of the store's own program. Pure. */
export const restorePlan = ({ cluster, observation, snapshot, to, run }: RestoreInput): RestorePlan => {
  const ctl = cluster.ctl_binary;
  if (ctl === undefined)
    throw new AppError('config', 'the cluster file names no ctl_binary', {
      code: 'NO_CTL',
      tryThis: [`ctl_binary: PATH of the ${to} ctl program`],
    });
  const peers = cluster.members.map((member) => ({ member, peer: peerUrl(member, observation) }));
  const unknown = peers.find(({ member, peer }) => peer === undefined || member.data_dir === undefined);
  if (unknown !== undefined)
    throw new AppError(
      'config',
      `member ${unknown.member.name} needs peer_url and data_dir in the cluster file`,
      { code: 'CLUSTER_FILE' },
    );
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
    members: peers.map(({ member, peer }) => {
      const host = observation.members.find(({ name }) => name === member.name)?.host;
      const beside = host?.data_place?.beside.path ?? (member.data_dir as string);
      return {
        name: member.name,
        aside: `${beside}.before-restore-${run}`,
        ...logOf(member, host),
        words: [
          ...['--name', member.name, '--initial-cluster', all],
          ...['--initial-advertise-peer-urls', peer as string, '--data-dir', `${beside}.restoring`],
        ],
      };
    }),
  };
};

export const restoreText = (plan: RestorePlan): string => {
  const lost =
    plan.lost_revisions === undefined
      ? 'an unknown number of revisions (no member answers)'
      : `${plan.lost_revisions} revisions`;
  const steps = plan.members.flatMap(({ name, aside, wal_dir, words }) => [
    `  ${name}: the data directory goes to ${aside}${wal_dir === undefined ? '' : `, its log ${wal_dir} likewise`}`,
    `    $ ${shellLine([plan.ctl, 'snapshot', 'restore', plan.snapshot.path, ...words])}`,
  ]);
  return [
    `Rebuild of ${plan.cluster} on ${plan.to} from ${plan.snapshot.path} (revision ${plan.snapshot.revision}, taken from ${plan.snapshot.member})`,
    `LOST: ${lost} written after the snapshot; v2 data is not part of it; clients see no store meanwhile`,
    '1. build new data directories beside the present ones, on every host',
    '2. stop every member; the present directories are kept aside',
    ...steps,
    `3. start every member with its ${plan.to} binary and configuration, and wait until all are healthy`,
  ].join('\n');
};
