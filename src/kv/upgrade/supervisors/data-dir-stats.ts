import { childPath, pathPart } from '../../../core/file-name.ts';
import { join } from 'node:path';
import { messageOf } from '../../../core/error-message.ts';
import type { FileInfo, Files } from '../../../platform/host.ts';
import { argvOf } from '../cluster/command-line.ts';
import { flagsOf, parseConfig } from '../configuration/configuration.ts';
import type { HostFacts, MemberSpec, PlaceSeen } from '../../engine/types.ts';
import { seePlace } from './places.ts';
import { walFacts } from './wal-directory.ts';

/** Follows links, and counts each directory once. */
const sizeOf = async (files: Files, directory: string, counted = new Set<string>()): Promise<number> => {
  const real = (await files.realPath(directory).catch(() => undefined)) ?? directory;
  if (counted.has(real)) return 0;
  counted.add(real);
  let total = 0;
  for (const name of await files.list(real).catch(() => [])) {
    const info = await infoOf(files, childPath(real, pathPart(name)));
    if (info?.kind === 'directory') total += await sizeOf(files, childPath(real, pathPart(name)), counted);
    else total += info?.sizeBytes ?? 0;
  }
  return total;
};
/** Of what a link leads to. */
const infoOf = async (files: Files, path: string): Promise<FileInfo | undefined> => {
  const info = await files.info(path);
  if (info?.kind !== 'link') return info;
  const real = await files.realPath(path).catch(() => undefined);
  return real === undefined ? undefined : files.info(real);
};

/** Largest of the v2 snapshot files: each holds all v2 data of its time. spec/store#limits: v2 data over 50 MB needs waits. */
const v2Bytes = async (files: Files, snapDirectory: string): Promise<number> => {
  const names = (await files.list(snapDirectory).catch(() => [])).filter((name) => name.endsWith('.snap'));
  const sizes = await Promise.all(
    names.map(
      async (name) => (await infoOf(files, childPath(snapDirectory, pathPart(name))))?.sizeBytes ?? 0,
    ),
  );
  return Math.max(0, ...sizes);
};

const isWritable = async (files: Files, dataDir: string, walDir: string): Promise<boolean> => {
  for (const path of [
    dataDir,
    join(dataDir, 'member'),
    join(dataDir, 'member', 'snap'),
    walDir,
    join(dataDir, 'member', 'snap', 'db'),
  ]) {
    const info = await infoOf(files, path);
    // Root may write anywhere; a directory without any write bit is still a sign that somebody closed it.
    if (info !== undefined && ((info.mode & 0o222) === 0 || !(await files.isWritable(path)))) return false;
  }
  return true;
};

const sizeFacts = async (files: Files, data: PlaceSeen, { wal_place }: HostFacts): Promise<HostFacts> => {
  const counted = new Set<string>();
  const log = wal_place === undefined ? 0 : await sizeOf(files, wal_place.real, counted);
  return { data_dir_bytes: log + (await sizeOf(files, data.real, counted)) };
};

/** What can be read of a data directory on this machine, and of a write-ahead log outside of it. */
export const directoryFacts = async (
  files: Files,
  dataDir: string | undefined,
  wantsSizes: boolean,
  walDir?: string,
): Promise<HostFacts> => {
  if (dataDir === undefined) return {};
  const [data, log] = await Promise.all([
    seePlace(files, dataDir),
    walDir === undefined ? undefined : seePlace(files, walDir),
  ]);
  if (!data.exists) return { data_dir_exists: false, data_place: data };
  const snap = join(data.real, 'member', 'snap');
  const ownLog = join(data.real, 'member', 'wal');
  const [db, writable, v2, hasOwnWal] = await Promise.all([
    infoOf(files, join(snap, 'db')),
    isWritable(files, data.real, log?.real ?? ownLog),
    v2Bytes(files, snap),
    infoOf(files, ownLog),
  ]);
  const wal = walFacts(data, log, hasOwnWal !== undefined);
  return {
    data_dir_exists: true,
    data_dir_writable: writable,
    data_place: data,
    ...wal,
    has_db_file: db !== undefined,
    ...(db === undefined ? {} : { db_file_bytes: db.sizeBytes }),
    v2_bytes: v2,
    ...(data.free_bytes === undefined ? {} : { free_bytes: data.free_bytes }),
    ...(data.disk === undefined ? {} : { disk: data.disk }),
    ...(wantsSizes ? await sizeFacts(files, data, wal) : {}),
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
