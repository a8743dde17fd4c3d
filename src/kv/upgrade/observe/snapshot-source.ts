import { dirname, join } from 'node:path';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import type { Files } from '../../../platform/host.ts';
import type { Access } from '../../engine/access.ts';
import type { ClusterFile, DirectoryStatus, MemberStatus, Observation } from '../../engine/model.ts';
import type { Driver } from '../supervisors/driver.ts';

/** Followers lag by a few entries; a larger difference means that a member is behind. */
const mostBehind = 1000;
const indexOf = ({ raft_index = 0 }: MemberStatus): number => raft_index;
/**
 * Selects the source of a scheduled snapshot: a healthy follower that keeps up, to spare the leader's disk;
 * otherwise the leader, otherwise any member that responds. Undefined if no member responds. Pure.
 */
export const snapshotSource = ({ members }: Pick<Observation, 'members'>): MemberStatus | undefined => {
  const able = members.filter(({ is_reachable, is_healthy }) => is_reachable && is_healthy);
  const newest = Math.max(...able.map(indexOf));
  const followers = able.filter(
    (member) => !member.is_leader && member.is_learner !== true && newest - indexOf(member) <= mostBehind,
  );
  return (
    followers.toSorted((a, b) => indexOf(b) - indexOf(a))[0] ??
    able.find(({ is_leader }) => is_leader) ??
    members.filter(({ is_reachable }) => is_reachable).toSorted((a, b) => indexOf(b) - indexOf(a))[0]
  );
};
/**
 * Selects the member for an immediate snapshot: the leader, because it has all entries, otherwise the member
 * with the highest index. Pure.
 */
export const mostCurrent = (members: readonly MemberStatus[]): MemberStatus | undefined =>
  members.find(({ is_leader }) => is_leader) ??
  members.filter(({ is_reachable }) => is_reachable).toSorted((a, b) => indexOf(b) - indexOf(a))[0];

/** The directory for the snapshots of a run. */
export const snapshotDirectory = (
  { snapshot_dir }: Pick<ClusterFile, 'snapshot_dir'>,
  runDirectory: string,
): string => snapshot_dir ?? join(runDirectory, 'snapshots');
/** Free space in a directory of this machine. If it does not exist, its nearest existing parent counts. */
export const seeDirectory = async (files: Files, path: string): Promise<DirectoryStatus> => {
  let there = path;
  const isMissing = async (): Promise<boolean> =>
    (await files.realPath(there).catch(() => undefined)) === undefined && dirname(there) !== there;
  // A dangling link cannot become a directory.
  while (await isMissing()) {
    if ((await files.info(there).catch(() => undefined))?.kind === 'link')
      return { path, is_writable: false };
    there = dirname(there);
  }
  const [free_bytes, disk, is_writable] = await Promise.all([
    files.freeBytes(there).catch(() => undefined),
    files.diskOf(there),
    files.isWritable(there),
  ]);
  return {
    path,
    is_writable,
    ...(free_bytes === undefined ? {} : { free_bytes }),
    ...(disk === undefined ? {} : { disk }),
  };
};

/**
 * After an upgrade the running program is the new program of the cluster file, before the upgrade the old
 * program.
 */
export const detectBinary = async (
  cluster: ClusterFile,
  access: Access,
  driver: Driver,
): Promise<'old' | 'new'> => {
  const [first] = cluster.members;
  if (first === undefined) return 'old';
  const [{ new_binary_version: fresh }, running] = await Promise.all([
    driver.facts(first, { sizes: false }),
    access
      .store(first.client_url)
      .versions()
      .catch(() => undefined),
  ]);
  return fresh !== undefined && minorOf(fresh) === minorOf(running?.server) ? 'new' : 'old';
};
