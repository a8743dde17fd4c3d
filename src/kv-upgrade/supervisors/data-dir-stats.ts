import { childPath, pathPart } from '../../core/file-name.ts';
import { join } from 'node:path';
import { messageOf } from '../../core/error-message.ts';
import type { Files } from '../../platform/host.ts';
import { argvOf } from '../cluster/command-line.ts';
import { flagsOf, parseConfig } from '../configuration/configuration.ts';
import type { HostFacts, MemberSpec } from '../types.ts';

const sizeOf = async (files: Files, directory: string): Promise<number> => {
  let total = 0;
  for (const name of await files.list(directory).catch(() => [])) {
    const info = await files.info(childPath(directory, pathPart(name)));
    if (info?.kind === 'directory') total += await sizeOf(files, childPath(directory, pathPart(name)));
    else total += info?.sizeBytes ?? 0;
  }
  return total;
};

/** Largest of the v2 snapshot files: each holds all v2 data of its time. spec/store#limits: v2 data over 50 MB needs waits. */
const v2Bytes = async (files: Files, snapDirectory: string): Promise<number> => {
  const names = (await files.list(snapDirectory).catch(() => [])).filter((name) => name.endsWith('.snap'));
  const sizes = await Promise.all(
    names.map(async (name) => (await files.info(childPath(snapDirectory, pathPart(name))))?.sizeBytes ?? 0),
  );
  return Math.max(0, ...sizes);
};

const isWritable = async (files: Files, dataDir: string): Promise<boolean> => {
  for (const path of [
    dataDir,
    join(dataDir, 'member'),
    join(dataDir, 'member', 'snap'),
    join(dataDir, 'member', 'wal'),
    join(dataDir, 'member', 'snap', 'db'),
  ]) {
    const info = await files.info(path);
    // Root may write anywhere; a directory without any write bit is still a sign that somebody closed it.
    if (info !== undefined && ((info.mode & 0o222) === 0 || !(await files.isWritable(path)))) return false;
  }
  return true;
};

/** What can be read of a data directory on this machine. */
export const directoryFacts = async (
  files: Files,
  dataDir: string | undefined,
  wantsSizes: boolean,
): Promise<HostFacts> => {
  if (dataDir === undefined) return {};
  const info = await files.info((await files.realPath(dataDir)) ?? dataDir);
  if (info?.kind !== 'directory') return { data_dir_exists: false };
  const snap = join(dataDir, 'member', 'snap');
  const [db, writable, free, v2, disk] = await Promise.all([
    files.info(join(snap, 'db')),
    isWritable(files, dataDir),
    files.freeBytes(dataDir).catch(() => undefined),
    v2Bytes(files, snap),
    files.diskOf(dataDir),
  ]);
  return {
    data_dir_exists: true,
    data_dir_writable: writable,
    has_db_file: db !== undefined,
    ...(db === undefined ? {} : { db_file_bytes: db.sizeBytes }),
    v2_bytes: v2,
    ...(free === undefined ? {} : { free_bytes: free }),
    ...(disk === undefined ? {} : { disk }),
    ...(wantsSizes ? { data_dir_bytes: await sizeOf(files, dataDir) } : {}),
  };
};

/** The configuration file that the new version will read: the one of the cluster file, else the one that the new command names. */
export const configPath = (member: MemberSpec): string | undefined =>
  member.config_file ?? flagsOf(argvOf(member.new_command, member.new_binary) ?? []).get('config-file');

export const configFacts = async (files: Pick<Files, 'read'>, member: MemberSpec): Promise<HostFacts> => {
  const path = configPath(member);
  if (path === undefined) return {};
  const text = await files.read(path).catch((error: unknown) => ({ unreadable: messageOf(error) }));
  if (typeof text === 'object')
    return { config_error: `the configuration file ${path} cannot be read: ${text.unreadable}` };
  if (text === undefined) return { config_error: `there is no configuration file ${path}` };
  const read = await parseConfig(text);
  return 'broken' in read
    ? { config_error: `${path} is not a configuration file: ${read.broken}` }
    : { config: read.file };
};
