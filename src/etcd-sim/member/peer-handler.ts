import { limits } from '../../core/limits.ts';
import type { Handler, Host, Incoming, Outgoing } from '../../platform/host.ts';
import { listedMembers, promoteHere } from '../gateway/membership.ts';
import { version } from '../gateway/client-handler.ts';
import type { Api } from '../gateway/rpc.ts';
import type { Message } from '../raft/progress.ts';
import type { Proposal } from '../state/command.ts';
import { STATUS_GONE, OWN_ID, REFUSED_LINK, type PeerInfo } from '../node/peer-link.ts';

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
  status: STATUS_GONE,
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

const carriedOut = async (
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
    const answer = await carriedOut(api, call, request);
    return sendUnlessFaulty(api, answer);
  };

/**
 * True if other members know this member as one that ran, although it has no data here: its directory is
 * wrong or empty.
 */
export const isKnownToOthers = async (
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
