import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { guard, mebibytes, sees } from './guard.ts';
import type { GuardInput } from './guard.ts';
import { memberDisks } from './member-disks.ts';
import { sharedDiskFindings } from './shared-disk.ts';
import type { DirectorySeen, Finding, HostFacts, MemberSeen, PlanOptions } from '../../engine/types.ts';

/** Journal, events and report of a run: some hundred KiB, more when it waits for long. */
const runBytes = 1024 * 1024;

type Logger = {
  fail(said: Omit<Finding, 'guard' | 'level'>): void;
  warn(said: Omit<Finding, 'guard' | 'level'>): void;
};
const sayRoom = (
  log: Logger,
  { path, is_writable, free_bytes = Infinity }: DirectorySeen,
  wanted: number,
  what: string,
  hint: string,
): void => {
  const message = `${path} has ${mebibytes(free_bytes)} free, ${mebibytes(wanted)} are wanted for ${what}`;
  if (!is_writable) log.fail({ message: `${path} cannot be written: it is wanted for ${what}`, hint });
  else if (free_bytes < wanted) log.fail({ message, hint });
  else if (free_bytes < wanted * 2) log.warn({ message, hint });
};

/** The operator's own machine holds a snapshot of every member that will be touched, and what the run writes about itself. */
const operatorRoom = ({ observation: { operator, members }, to }: GuardInput, log: Logger): void => {
  if (operator === undefined) return;
  const touched = members.filter(
    ({ is_reachable, server_version }) => is_reachable && minorOf(server_version) !== to,
  );
  const bytes = touched.reduce((sum, { db_size_bytes }) => sum + (db_size_bytes ?? 0), 0);
  const what = `the snapshots of ${touched.length} member${touched.length === 1 ? '' : 's'}`;
  const place = 'make room there, or name another directory with snapshot_dir in the cluster file';
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
      'make room there; OPSCTL_HOME names another directory',
    );
  }
};

const memberRoom = (
  seen: Pick<MemberSeen, 'name' | 'host' | 'db_size_bytes'>,
  options: Pick<PlanOptions, 'copy_data'>,
  log: Logger,
): void => {
  const { name, host, db_size_bytes } = seen;
  if (host?.free_bytes === undefined) return;
  const db = host.db_file_bytes ?? db_size_bytes ?? 0;
  for (const { free, stays, passes, growth, what } of memberDisks(host, db, options)) {
    const needed = stays + passes;
    const message = `${name} has ${mebibytes(free)} free${what === undefined ? '' : ` for ${what}`}, ${mebibytes(needed)} are wanted`;
    const hint = `make room on the disk of ${what ?? 'the data directory'}`;
    if (free < needed) log.fail({ member: name, message, hint });
    else if (free < needed + growth) log.warn({ member: name, message, hint });
  }
};

/** The same, just before a member is stopped: what speaks against it now. */
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

export const diskSpace = guard(
  'disk-space',
  'there is room for the new version, the snapshots and the copies',
  (input, log) => {
    operatorRoom(input, log);
    for (const member of input.observation.members) memberRoom(member, input.options, log);
    for (const said of sharedDiskFindings(input)) log.fail(said);
  },
  sees.host,
);
