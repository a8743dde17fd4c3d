import { minorOf } from '../../../api-specs/etcd/versions.ts';
import type { Finding } from '../../engine/types.ts';
import { mebibytes } from './guard.ts';
import { memberDisks } from './member-disks.ts';
import type { GuardInput } from './guard.ts';

/** What one user of a disk takes: for good, and for the time in which one member after the other is replaced. */
type Share = {
  readonly disk: string;
  readonly free: number;
  readonly who: string;
  readonly stays: number;
  readonly passes: number;
};

const operatorShares = ({ observation: { operator, members }, to }: GuardInput): Share[] => {
  const { disk, free_bytes: free, path } = operator?.snapshots ?? {};
  if (disk === undefined || free === undefined) return [];
  const touched = members.filter(
    ({ is_reachable, server_version }) => is_reachable && minorOf(server_version) !== to,
  );
  const stays = touched.reduce((sum, { db_size_bytes = 0 }) => sum + db_size_bytes, 0);
  return [{ disk, free, who: `the snapshots in ${path}`, stays, passes: 0 }];
};

const memberShares = ({ observation, options, to }: GuardInput): Share[] =>
  observation.members.flatMap(({ name, host, db_size_bytes, server_version }) => {
    if (host === undefined || minorOf(server_version) === to) return [];
    const db = host.db_file_bytes ?? db_size_bytes ?? 0;
    return memberDisks(host, db, options).flatMap(({ disk, free, stays, passes, what }) =>
      disk === undefined ? [] : [{ disk, free, stays, passes, who: nameOf(name, what, stays) }],
    );
  });
const nameOf = (name: string, what: string | undefined, stays: number): string => {
  if (what !== undefined) return `${name} (${what})`;
  return stays > 0 ? `${name} and its copy` : name;
};

/** Directories that lie on one disk take its room together. */
export const sharedDiskFindings = (input: GuardInput): Omit<Finding, 'guard' | 'level'>[] => {
  const shares = [...operatorShares(input), ...memberShares(input)];
  return [...new Set(shares.map(({ disk }) => disk))].flatMap((disk) => {
    const here = shares.filter((share) => share.disk === disk);
    const free = Math.min(...here.map((share) => share.free));
    const wanted =
      here.reduce((sum, { stays }) => sum + stays, 0) + Math.max(...here.map(({ passes }) => passes));
    // One alone was looked at by itself, and so was whoever needs more than there is.
    if (here.length < 2 || free >= wanted || here.some(({ stays, passes }) => stays + passes > free))
      return [];
    return [
      {
        message: `one disk holds ${here.map(({ who }) => who).join(', ')}: it has ${mebibytes(free)} free, ${mebibytes(wanted)} are wanted together`,
        hint: 'make room there, or name a directory on another disk with snapshot_dir in the cluster file',
      },
    ];
  });
};
