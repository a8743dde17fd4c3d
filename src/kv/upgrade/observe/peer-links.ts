import { hexId } from '../../client/hex-id.ts';
import type { Store } from '../../client/etcd-client.ts';

/**
 * Connections of one member to the others, by the hexadecimal id of the other. A member opens a connection to every other member, so a pair of
 * members has two: the store works with one of them for a time, and loses its quorum when the wrong member fails.
 */
export type PeerLinks = ReadonlyMap<string, boolean>;

const sample = /^\w+_network_active_peers\{([^}]*)\}\s+(\S+)/gm;
/** Undefined if the page has no such metric: 3.3 and earlier versions do not count their peers. Pure. */
export const linksIn = (page: string): PeerLinks | undefined => {
  const found = new Map<string, boolean>();
  for (const [, labels = '', value] of page.matchAll(sample)) {
    const remote = /Remote="([0-9a-f]+)"/.exec(labels)?.[1];
    if (remote !== undefined) found.set(remote, Number(value) > 0);
  }
  return found.size === 0 ? undefined : found;
};

/** What a member reports about its connections; undefined if its metrics could not be read or do not contain them. */
export const readLinks = async (store: Store): Promise<PeerLinks | undefined> => {
  const page = await store.connection.get('/metrics').catch(() => undefined);
  return page?.status === 200 ? linksIn(page.text) : undefined;
};

const became = /peer ([0-9a-f]+) became (in)?active|"msg":"peer became (in)?active"/;
/** The same from lines of the member's log, as they were written since its start. Pure. */
export const linksInLog = (lines: readonly string[]): PeerLinks => {
  const found = new Map<string, boolean>();
  for (const line of lines) {
    const match = became.exec(line);
    if (match === null) continue;
    const id = match[1] ?? /"peer-id":"([0-9a-f]+)"/.exec(line)?.[1];
    if (id !== undefined) found.set(id, match[2] === undefined && match[3] === undefined);
  }
  return found;
};

/** Lines about a connection between members that do not pass with time: certificates, and members of another cluster. */
const lasting = /x509: |\btls: |bad certificate|cluster ID mismatch|remote error/;
const betweenMembers = /rafthttp|"remote-peer|peer-id|health check for peer|prober detected/;
export const peerErrors = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) => betweenMembers.test(line) && lasting.test(line));

type Reported = { readonly name: string; readonly member_id: string; readonly links: PeerLinks | undefined };
/** The members that `from` does not reach, of those that answer. Pure. */
export const unreachedBy = (from: Reported, others: readonly Omit<Reported, 'links'>[]): readonly string[] =>
  from.links === undefined
    ? []
    : others
        .filter(
          ({ member_id }) => member_id !== from.member_id && from.links?.get(hexId(member_id)) === false,
        )
        .map(({ name }) => name);
