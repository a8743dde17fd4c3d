import type { HostFacts, PlanOptions } from '../../engine/types.ts';

/** What a server takes for its next log file at each start. Without it the start fails: `read wal error (no space left on device)`, measured. */
const walBytes = 64 * 1024 * 1024;

/** One disk of a member, and what its replacement takes there: for good, and while it lasts. */
export type MemberDisk = {
  readonly disk?: string;
  readonly free: number;
  readonly stays: number;
  readonly passes: number;
  /** Room that the disk should have on top, because the database may grow. */
  readonly growth: number;
  /** For messages; absent for the disk of the data directory. */
  readonly what?: string;
};

/** Adds up what one disk has to hold. A disk that is not known is another one. */
const merged = (disks: readonly MemberDisk[]): MemberDisk[] => {
  const found: MemberDisk[] = [];
  for (const one of disks) {
    const at = found.findIndex(({ disk }) => disk !== undefined && disk === one.disk);
    const before = found[at];
    if (before === undefined) found.push(one);
    else
      found[at] = {
        ...before,
        free: Math.min(before.free, one.free),
        stays: before.stays + one.stays,
        passes: before.passes + one.passes,
        growth: before.growth + one.growth,
      };
  }
  return found;
};

/**
 * The new version may rewrite the db file, a start takes a log file, and a copy contains everything. Data, a separate write-ahead log and
 * copies may be on three disks. Pure.
 */
export const memberDisks = (
  host: HostFacts,
  db: number,
  { copy_data }: Pick<PlanOptions, 'copy_data'>,
): readonly MemberDisk[] => {
  const { free_bytes: free, disk, data_place, wal_place } = host;
  if (free === undefined) return [];
  const on = (id: string | undefined) => (id === undefined ? {} : { disk: id });
  const log = { stays: 0, passes: walBytes, growth: 0 };
  const hasOwnDisk = wal_place?.free_bytes !== undefined && wal_place.disk !== disk;
  const copies = host.data_dir_bytes ?? db;
  const beside = data_place?.beside;
  const isCopiedElsewhere = copy_data && beside?.free_bytes !== undefined && beside.disk !== disk;
  return merged([
    {
      ...{ ...on(disk), free, growth: db },
      passes: db + (hasOwnDisk ? 0 : walBytes),
      stays: copy_data && !isCopiedElsewhere ? copies : 0,
    },
    ...(hasOwnDisk
      ? [
          {
            ...{ ...on(wal_place.disk), free: wal_place.free_bytes as number, ...log },
            what: `the write-ahead log in ${wal_place.path}`,
          },
        ]
      : []),
    ...(isCopiedElsewhere
      ? [
          {
            ...{ ...on(beside.disk), free: beside.free_bytes as number, passes: 0, growth: 0, stays: copies },
            what: `the copy next to ${beside.path}`,
          },
        ]
      : []),
  ]);
};
