import { dirname } from 'node:path';
import type { ClusterFile, HostFacts } from '../../engine/types.ts';
import { guard, sees, type Log } from './guard.ts';
import { hintForHost } from './unreachable.ts';

/** spec/store#errors: a server restoring from snapshots while the v3 db file is missing panics. */
export const dbFilePresent = guard(
  'db-file-present',
  'the v3 db file is where the new version looks for it',
  ({ observation }, log) => {
    for (const { name, host } of observation.members) {
      if (host?.data_dir_exists === true && host.has_db_file === false) {
        log.fail({
          member: name,
          message: `${name} has no member/snap/db: the new version would panic at its start`,
          hint: 'check data_dir; a store migrated from v2 needs v3 data before the upgrade',
        });
      }
    }
  },
  sees.host,
);

/** A copy needs a place that can be written, and the whole log. */
const lookAtCopy = (name: string, { data_place, is_wal_missing }: HostFacts, log: Log): void => {
  if (data_place?.exists !== true) return;
  const { path, is_writable } = data_place.beside;
  if (!is_writable)
    log.fail({
      member: name,
      message: `${name}: the copy goes next to ${path}, and that directory cannot be written`,
      hint: `run opsctl as a user who can write ${dirname(path)}, or leave out --copy-data`,
    });
  if (is_wal_missing === true)
    log.fail({
      member: name,
      message: `${name}: ${data_place.real} has no member/wal, and no setting names another directory: the copy would not be complete`,
      hint: 'wal_dir: PATH in the cluster file',
    });
};

const lookAtDirectory = (name: string, host: HostFacts, { members }: ClusterFile, log: Log): void => {
  const path = members.find((member) => member.name === name)?.data_dir;
  if (host.data_dir_exists === false)
    log.fail({
      member: name,
      message: `${name}: there is no data directory ${path}`,
      hint: 'a member started without its data would join empty',
    });
  else if (host.data_dir_writable === false)
    log.fail({
      member: name,
      message: `${name}: the data directory ${path} is not writable`,
      hint: 'give the write permission back',
    });
};

export const dataDirectories = guard(
  'data-directories',
  'data directories are there, writable, and belong to the process',
  ({ observation, cluster, options }, log) => {
    for (const { name, is_reachable, host } of observation.members) {
      if (host === undefined) continue;
      lookAtDirectory(name, host, cluster, log);
      if (options.copy_data) lookAtCopy(name, host, log);
      const spec = cluster.members.find((one) => one.name === name);
      if (host.owner_mismatch !== undefined)
        log.warn({
          member: name,
          message: `${name}: ${host.owner_mismatch}`,
          hint: 'the new process must run as the same user',
        });
      for (const message of host.problems ?? [])
        log.fail({
          member: name,
          message: `${name}: ${message}`,
          hint: hintForHost(host, spec, 'check the cluster file'),
        });
      if (is_reachable && host.is_running === false && (host.problems ?? []).length === 0) {
        log.fail({
          member: name,
          message: `${name} answers, but the driver finds no process of it`,
          hint: 'check pid_file, unit or container in the cluster file: it could not be stopped',
        });
      }
    }
  },
  sees.host,
);
