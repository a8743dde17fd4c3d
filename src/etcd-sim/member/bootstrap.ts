import { childPath, pathPart } from '../../core/file-name.ts';
import { messageOf } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { snapshotFile } from '../disk/db-file.ts';
import { clusterId, memberId, type Stored, Wal } from '../disk/wal.ts';
import type { MemberLog } from '../forms.ts';
import type { MemberListEntry } from '../gateway/membership.ts';
import type { Api } from '../gateway/rpc.ts';
import { type ServerSettings, StartRefused } from '../server-flags.ts';
import type { MemberRecord } from '../state/command.ts';
import { isKnownToOthers } from './peer-handler.ts';

/** The identity of a member, and the initial members of its log. */
export type Identity = {
  readonly id: string;
  readonly cluster: string;
  readonly first: readonly MemberRecord[];
};
/** The data that a member sends to a joining member. */
type Joinable = {
  readonly cluster: string;
  readonly first: readonly MemberRecord[];
  readonly members: readonly MemberListEntry[];
};
const ASK_MS = 1_000;
const sameUrls = (one: readonly string[], other: readonly string[]): boolean =>
  one.toSorted().join() === other.toSorted().join();
const fromFlags = ({ cluster, token, name }: ServerSettings): Identity => {
  const first = [...cluster].map(([, peerUrls]) => ({
    id: memberId(peerUrls, token),
    peerUrls,
    isLearner: false,
  }));
  const id = memberId(cluster.get(name) ?? [], token);
  return { id, cluster: clusterId(first.map((member) => member.id)), first };
};
const othersOf = ({ cluster, name }: ServerSettings): string[] =>
  [...cluster].filter(([other]) => other !== name).flatMap(([, urls]) => urls);
/** The first member that responds returns the list of members. */
const askMembers = async (host: Host, settings: ServerSettings): Promise<Joinable> => {
  for (const url of othersOf(settings)) {
    try {
      const reply = await host.network.request({
        method: 'GET',
        url: `${url}/membership`,
        timeoutMs: ASK_MS,
      });
      if (reply.status === 200) return JSON.parse(await reply.text()) as Joinable;
    } catch {
      // The next member may respond.
    }
  }
  throw new StartRefused(
    1,
    'cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs',
  );
};
/** The flags must list exactly the existing members with their URLs. */
const refuseOtherMembers = ({ cluster, members }: Joinable, settings: ServerSettings): void => {
  const makeStartRefused = (reason: string): StartRefused =>
    new StartRefused(1, `error validating peerURLs {ClusterID:${cluster}}: ${reason}`);
  if (members.length !== settings.cluster.size) throw makeStartRefused('member count is unequal');
  const stray = members.find(
    ({ peerURLs }) => ![...settings.cluster.values()].some((urls) => sameUrls(urls, peerURLs)),
  );
  if (stray !== undefined)
    throw makeStartRefused(
      `PeerURLs: no match found for existing member (${stray.id}, [${stray.peerURLs.join(' ')}])`,
    );
};
/** `--initial-cluster-state existing`: its id was given to it when it was added. */
const joining = async (host: Host, settings: ServerSettings): Promise<Identity> => {
  const found = await askMembers(host, settings);
  refuseOtherMembers(found, settings);
  const own = settings.cluster.get(settings.name) ?? [];
  const { id } = found.members.find(({ peerURLs }) => sameUrls(peerURLs, own)) as MemberListEntry;
  return { id, cluster: found.cluster, first: found.first };
};
/** From its data; with an empty data directory from the members it joins, or from its flags. */
export const identify = async (host: Host, settings: ServerSettings, stored: Stored): Promise<Identity> => {
  const own = fromFlags(settings);
  if (stored.member !== undefined)
    return { id: stored.member, cluster: stored.cluster ?? own.cluster, first: stored.members ?? own.first };
  if (settings.joins) return joining(host, settings);
  if (await isKnownToOthers(host, own.id, othersOf(settings), 300))
    throw new StartRefused(1, `member ${own.id} has already been bootstrapped`);
  return own;
};

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
/** The database file in the format that other programs expect. The member itself reads its log. */
export const writeDatabase = async (host: Host, api: Api): Promise<void> => {
  if (api.node.machine.keys.sizeBytes < MOST_DB_BYTES)
    await host.files.replace(`${api.settings.dataDir}/member/snap/db`, snapshotFile(api.node.machine), 0o600);
};
