import type { Handler, Host, Outgoing } from '../../platform/host.ts';
import { listedMembers } from '../gateway/cluster.ts';
import { version } from '../gateway/plain.ts';
import type { Api } from '../gateway/rpc.ts';
import type { Message } from '../raft/message.ts';
import type { Proposal } from '../state/command.ts';
import type { PeerInfo } from '../node/peer-link.ts';

const MOST_BYTES = 64 * 1024 * 1024;
const answered = (value: unknown): Outgoing => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

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
  }),
  '/raft/lease': async (api, body: { id: string }) => ({
    seconds: await api.lessor.remainingSeconds(body.id),
  }),
  '/raft/lease-renew': async (api, body: { id: string }) => ({ seconds: await api.lessor.renew(body.id) }),
};

const readBody = async (request: { read(limit: number): Promise<Uint8Array> }): Promise<unknown> => {
  const text = Buffer.from(await request.read(MOST_BYTES)).toString('utf8');
  return text === '' ? {} : JSON.parse(text);
};

/** What members say to each other. A cut member lets nothing through, but still hears the one who switches faults. */
export const peerHandler =
  (api: Api, changeFaults: () => Promise<void>): Handler =>
  async (request) => {
    if (request.url === '/simulation/faults') {
      await changeFaults();
      return answered({ ok: true });
    }
    if (request.url === '/simulation/state')
      return answered({
        id: api.node.id,
        leader: api.node.raft.leader,
        term: api.node.raft.term,
        applied: api.node.machine.applied,
      });
    if (api.faults.isCut) return { status: 503, cut: true };
    if (request.url === '/version') return answered(JSON.parse(version(api)));
    if (request.url === '/members') return answered(listedMembers(api));
    const call = peerCalls[request.url];
    if (call === undefined || request.method !== 'POST') return { status: 404, body: '404 page not found\n' };
    return answered(await call(api, (await readBody(request)) as never));
  };

/** True when a member that has no data here is known to others as one that ran: its directory is wrong or empty. */
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
