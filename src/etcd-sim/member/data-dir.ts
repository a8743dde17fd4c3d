import { childPath, pathPart } from '../../core/file-name.ts';
import { messageOf } from '../../core/error-message.ts';
import type { Host } from '../../platform/host.ts';
import { snapshotFile } from '../disk/snapshot.ts';
import { type Stored, Wal } from '../disk/wal.ts';
import type { Api } from '../gateway/rpc.ts';
import type { MemberLog } from '../log.ts';
import { type ServerSettings, StartRefused } from '../server-flags.ts';

/** Above this the database file is not written again at the end: a restart reads the log anyway. */
const MOST_DB_BYTES = 64 * 1024 * 1024;

/** spec/store#errors: the v3 database file is missing after a migration from v2: the server panics. */
const checkDatabase = async (host: Host, dataDir: string): Promise<void> => {
  const directory = `${dataDir}/member/snap`;
  const names = await host.files.list(directory);
  if (names.includes('db') || !names.some((name) => name.endsWith('.snap'))) return;
  throw new StartRefused(
    2,
    "recovering backend from snapshot error: database snapshot file path error: snap: snapshot file doesn't exist",
  );
};

export const openData = async (
  host: Host,
  settings: ServerSettings,
  log: MemberLog,
  word: string,
): Promise<{ wal: Wal; stored: Stored; isNew: boolean }> => {
  try {
    await host.files.makeDirectory(`${settings.dataDir}/member/snap`, 0o700);
    await checkDatabase(host, settings.dataDir);
    const { wal, stored } = await Wal.open(host, settings.dataDir);
    const isNew = stored.member === undefined;
    if (!isNew)
      log(
        'N',
        `${word}main`,
        `the server is already initialized as member before, starting as ${word} member...`,
      );
    return { wal, stored, isNew };
  } catch (error) {
    if (error instanceof StartRefused) throw error;
    throw new StartRefused(1, `cannot write to data directory: ${messageOf(error)}`);
  }
};

/** Sizes of the v2 snapshot files. */
export const v2Sizes = async (host: Host, dataDir: string): Promise<number[]> => {
  const directory = `${dataDir}/member/snap`;
  const names = (await host.files.list(directory)).filter((name) => name.endsWith('.snap'));
  return Promise.all(
    names.map(async (name) => (await host.files.info(childPath(directory, pathPart(name))))?.sizeBytes ?? 0),
  );
};
/** The database file as others look for it; the member itself reads its log. */
export const writeDatabase = async (host: Host, api: Api): Promise<void> => {
  if (api.node.machine.keys.sizeBytes < MOST_DB_BYTES)
    await host.files.replace(`${api.settings.dataDir}/member/snap/db`, snapshotFile(api.node.machine), 0o600);
};
