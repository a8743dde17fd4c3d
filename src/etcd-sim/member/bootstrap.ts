import { childPath, pathPart } from '../../core/file-name.ts';
import { messageOf } from '../../core/problem.ts';
import type { Host, Handler, Incoming, Outgoing } from '../../platform/host.ts';
import { snapshotFile, clusterId, memberId, type Stored, Wal } from '../disk/db-file.ts';
import type { MemberLog } from '../forms.ts';
import { type MemberListEntry, listedMembers, promoteHere } from '../gateway/membership.ts';
import type { Api } from '../gateway/rpc.ts';
import { type ServerSettings, StartRefused } from '../server-flags.ts';
import type { MemberRecord, Proposal } from '../state/command.ts';
import { limits } from '../../core/limits.ts';
import { version } from '../gateway/client-handler.ts';
import type { Message } from '../raft/progress.ts';
import { REMOVED_STATUS, OWN_ID, REFUSED_LINK, type PeerInfo } from '../node/peer-link.ts';

const answerJson = (value: unknown): Outgoing => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});
/** A connection that closes without a response. */
const lost: Outgoing = { status: 503, cut: true };

const messagesIn = (api: Api, body: { messages: Message<Proposal>[] }): Message<Proposal>[] => {
  const from = body.messages[0]?.from;
  return from === undefined ? [] : api.node.receive(from, body.messages);
};
const peerCalls: Readonly<Record<string, (api: Api, body: never) => unknown>> = {
  '/raft': messagesIn,
  '/raft/propose': (api, body: Proposal) => ({ accepted: api.node.accept(body) }),
  '/raft/read-index': async (api) => ({ index: await api.node.leaderRead() }),
  '/raft/hello': (api): PeerInfo => ({
    id: api.node.id,
    name: api.settings.name,
    version: api.version,
    applied: api.node.machine.applied,
    now: api.host.now(),
  }),
  '/raft/promote': async (api, body: { member: string }) => ({
    failure: await promoteHere(api, body.member),
  }),
  '/raft/lease': async (api, body: { id: string }) => ({
    seconds: await api.lessor.remainingSeconds(body.id),
  }),
  '/raft/lease-renew': async (api, body: { id: string }) => ({ seconds: await api.lessor.renew(body.id) }),
};

/** What peers may read with any method; undefined where a version has no such page. */
const peerPages: Readonly<Record<string, (api: Api) => unknown>> = {
  '/version': (api) => JSON.parse(version(api)),
  '/downgrade/enabled': ({ form, node }) =>
    form.logLines === 'json' ? node.machine.downgradeTo !== undefined : undefined,
  '/members': listedMembers,
  '/membership': (api) => ({ cluster: api.clusterId, first: api.first, members: listedMembers(api) }),
};
const gone: Outgoing = {
  status: REMOVED_STATUS,
  body: 'the member has been permanently removed from the cluster\n',
};
const isFromRemoved = (api: Api, { headers }: Pick<Incoming, 'headers'>): boolean =>
  api.node.machine.membership.wasRemoved(headers[OWN_ID] ?? '');
const stateOf = ({ node }: Api): unknown => ({
  id: node.id,
  leader: node.raft.leader,
  term: node.raft.term,
  applied: node.machine.applied,
});

const readBody = async (request: { read(limit: number): Promise<Uint8Array> }): Promise<unknown> => {
  const text = Buffer.from(await request.read(limits.memberBytes)).toString('utf8');
  return text === '' ? {} : JSON.parse(text);
};
const notRead: Outgoing = { status: 400, body: 'the body is not JSON\n' };

const runPeerCall = async (
  api: Api,
  call: (api: Api, body: never) => unknown,
  request: Incoming,
): Promise<Outgoing> => {
  let body: unknown;
  try {
    body = await readBody(request);
  } catch (error) {
    if (error instanceof SyntaxError) return notRead;
    throw error;
  }
  return answerJson(await call(api, body as never));
};

/** The response as the requesting member receives it. */
const sendUnlessFaulty = ({ faults }: Api, answer: Outgoing): Outgoing => {
  if (faults.sendsNothing) return lost;
  return faults.refusesLinks ? { ...answer, headers: { ...answer.headers, [REFUSED_LINK]: '1' } } : answer;
};

/** Messages between members. A partitioned member drops all of them, but still accepts fault commands. */
export const peerHandler =
  (api: Api, changeFaults: () => Promise<void>): Handler =>
  async (request) => {
    if (request.url === '/simulation/faults') {
      await changeFaults();
      return answerJson({ ok: true });
    }
    if (request.url === '/simulation/state') return answerJson(stateOf(api));
    if (api.faults.hearsNothing) return lost;
    const known = peerPages[request.url]?.(api);
    if (known !== undefined) return answerJson(known);
    if (isFromRemoved(api, request)) return gone;
    const call = peerCalls[request.url];
    if (call === undefined || request.method !== 'POST') return { status: 404, body: '404 page not found\n' };
    const answer = await runPeerCall(api, call, request);
    return sendUnlessFaulty(api, answer);
  };

/**
 * True if other members know this member as one that ran, although it has no data here: its directory is
 * wrong or empty.
 */
const isKnownToOthers = async (
  host: Host,
  id: string,
  peers: Iterable<string>,
  timeoutMs: number,
): Promise<boolean> => {
  const asked = [...peers].map(async (url) => {
    try {
      const reply = await host.network.request({ method: 'GET', url: `${url}/members`, timeoutMs });
      const members = JSON.parse(await reply.text()) as { id: string; clientURLs: string[] }[];
      return members.some((member) => member.id === id && member.clientURLs.length > 0);
    } catch {
      return false;
    }
  });
  return (await Promise.all(asked)).includes(true);
};

/** The identity of a member, and the initial members of its log. */
type Identity = {
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
