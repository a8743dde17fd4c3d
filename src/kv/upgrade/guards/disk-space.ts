import { countText, sizeText } from '../../../core/format.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import type { DirectoryStatus, Finding, HostFacts, MemberStatus, PlanOptions } from '../../engine/model.ts';
import { guard, type GuardInput, memberFacts } from './guard.ts';

/**
 * A server allocates this size for its next log file at each start. Without free space the start fails: `read
 * wal error (no space left on device)`, measured.
 */
const walBytes = 64 * 1024 * 1024;
/**
 * One disk of a member with the permanent and the temporary space that the replacement of the member needs.
 */
export type MemberDisk = {
  readonly disk?: string;
  readonly free: number;
  readonly stays: number;
  readonly passes: number;
  /** Additional free space, because the database may grow. */
  readonly growth: number;
  /** For messages; absent for the disk of the data directory. */
  readonly what?: string;
};
/** Adds up the requirements of one disk. An unknown disk counts as a separate disk. */
const mergeLists = (disks: readonly MemberDisk[]): MemberDisk[] => {
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
 * The new version may rewrite the db file, a start allocates a log file, and a copy contains all data. Data,
 * a separate write-ahead log and copies may be on three disks. Pure.
 */
export const memberDisks = (
  host: HostFacts,
  db: number,
  { copy_data }: Pick<PlanOptions, 'copy_data'>,
): readonly MemberDisk[] => {
  const { data_place, wal_place } = host;
  // A data directory that does not exist is created next to its path.
  const { free_bytes: free, disk } = host.data_dir_exists === false ? (data_place?.beside ?? {}) : host;
  if (free === undefined) return [];
  const on = (id: string | undefined) => (id === undefined ? {} : { disk: id });
  const log = { stays: 0, passes: walBytes, growth: 0 };
  const hasOwnDisk = wal_place?.free_bytes !== undefined && wal_place.disk !== disk;
  const copies = host.data_dir_bytes ?? db;
  const beside = data_place?.beside;
  const isCopiedElsewhere = copy_data && beside?.free_bytes !== undefined && beside.disk !== disk;
  return mergeLists([
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

/**
 * The space that one user of a disk needs: permanently, and temporarily while members are replaced one after
 * the other.
 */
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
/** Directories on the same disk share its free space. */
const sharedDiskFindings = (input: GuardInput): Omit<Finding, 'guard' | 'level'>[] => {
  const shares = [...operatorShares(input), ...memberShares(input)];
  return [...new Set(shares.map(({ disk }) => disk))].flatMap((disk) => {
    const here = shares.filter((share) => share.disk === disk);
    const free = Math.min(...here.map((share) => share.free));
    const wanted =
      here.reduce((sum, { stays }) => sum + stays, 0) + Math.max(...here.map(({ passes }) => passes));
    // A disk with one user has a separate check, and a user that needs more than the free space is reported
    // there.
    if (here.length < 2 || free >= wanted || here.some(({ stays, passes }) => stays + passes > free))
      return [];
    return [
      {
        message: `one disk holds ${here.map(({ who }) => who).join(', ')}: it has ${sizeText(free)} free, and together they need ${sizeText(wanted)}`,
        hint: 'free space there, or set snapshot_dir in the cluster file to a directory on another disk',
      },
    ];
  });
};

/** Journal, events and report of a run: some hundred KiB, more for a long run. */
const runBytes = 1024 * 1024;
type Logger = {
  fail(said: Omit<Finding, 'guard' | 'level'>): void;
  warn(said: Omit<Finding, 'guard' | 'level'>): void;
};
const sayRoom = (
  log: Logger,
  { path, is_writable, free_bytes = Infinity }: DirectoryStatus,
  wanted: number,
  what: string,
  hint: string,
): void => {
  const message = `${path} has ${sizeText(free_bytes)} free, ${sizeText(wanted)} is required for ${what}`;
  if (!is_writable) log.fail({ message: `${path} is not writable, and it is required for ${what}`, hint });
  else if (free_bytes < wanted) log.fail({ message, hint });
  else if (free_bytes < wanted * 2) log.warn({ message, hint });
};
/**
 * The operator's machine needs space for a snapshot of every member that the run changes, and for the files
 * of the run.
 */
const operatorRoom = ({ observation: { operator, members }, to }: GuardInput, log: Logger): void => {
  if (operator === undefined) return;
  const touched = members.filter(
    ({ is_reachable, server_version }) => is_reachable && minorOf(server_version) !== to,
  );
  const bytes = touched.reduce((sum, { db_size_bytes }) => sum + (db_size_bytes ?? 0), 0);
  const what = `the snapshots of ${countText(touched.length, 'member')}`;
  const place = 'free space there, or set snapshot_dir in the cluster file to another directory';
  const { snapshots, run } = operator;
  const isOneDisk =
    snapshots.disk === undefined || run.disk === undefined
      ? snapshots.path.startsWith(run.path)
      : snapshots.disk === run.disk;
  if (isOneDisk) sayRoom(log, operator.snapshots, bytes + runBytes, `${what} and the journal`, place);
  else {
    sayRoom(log, operator.snapshots, bytes, what, place);
    sayRoom(
      log,
      operator.run,
      runBytes,
      'the journal and the report',
      'free space there, or set OPSCTL_HOME to another directory',
    );
  }
};
const memberRoom = (
  seen: Pick<MemberStatus, 'name' | 'host' | 'db_size_bytes'>,
  options: Pick<PlanOptions, 'copy_data'>,
  log: Logger,
): void => {
  const { name, host, db_size_bytes } = seen;
  if (host === undefined) return;
  const db = host.db_file_bytes ?? db_size_bytes ?? 0;
  for (const { free, stays, passes, growth, what } of memberDisks(host, db, options)) {
    const needed = stays + passes;
    const message = `${name} has ${sizeText(free)} free${what === undefined ? '' : ` for ${what}`}, ${sizeText(needed)} is required`;
    const hint = `free space on the disk of ${what ?? 'the data directory'}`;
    if (free < needed) log.fail({ member: name, message, hint });
    else if (free < needed + growth) log.warn({ member: name, message, hint });
  }
};
/** The same check immediately before a member is stopped. Returns the problem, if any. */
export const memberRoomProblem = (
  name: string,
  host: HostFacts,
  { copy_data, accept }: Pick<PlanOptions, 'copy_data' | 'accept'>,
): string | undefined => {
  let problem: string | undefined;
  const fail = ({ message }: { readonly message: string }): void => {
    problem = message;
  };
  if (!accept.includes('disk-space')) memberRoom({ name, host }, { copy_data }, { fail, warn: () => {} });
  return problem;
};
/**
 * The space for a new data directory while the old one is kept: without it, a member that was removed from the cluster
 * could not start again. `db` is the size of the database that the member receives.
 */
export const newDataFinding = (name: string, seen: HostFacts | undefined, db: number): Finding => {
  const found: Omit<Finding, 'guard' | 'level'>[] = [];
  const said = { guard: 'disk-space', member: name };
  const fail = (one: Omit<Finding, 'guard' | 'level'>): void => void found.push(one);
  const facts: HostFacts = { ...seen, db_file_bytes: db };
  if (memberDisks(facts, db, { copy_data: false }).length === 0)
    return { ...said, level: 'unknown', message: `cannot read the free space for the new data of ${name}` };
  memberRoom({ name, host: facts }, { copy_data: false }, { fail, warn: () => {} });
  const [first] = found;
  return first === undefined
    ? { ...said, level: 'pass', message: `${name} has enough free space for new data next to the old data` }
    : { ...said, level: 'fail', ...first };
};
export const diskSpace = guard(
  'disk-space',
  'the disks have enough free space for the new version, the snapshots and the copies',
  (input, log) => {
    operatorRoom(input, log);
    for (const member of input.observation.members) memberRoom(member, input.options, log);
    for (const said of sharedDiskFindings(input)) log.fail(said);
  },
  memberFacts.space,
);
