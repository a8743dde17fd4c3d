/**
 * A network between members, and between members and their clients, that a test can cut: it closes all connections, or
 * silently blocks all data.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Door } from './cluster.ts';

/**
 * `refused`: connections are closed and new connections are refused. `silent`: connections stay open and transfer no data, as
 * with packet loss.
 */
export type Cut = { readonly how: 'refused' | 'silent'; readonly sides: readonly Door['kind'][] };
type Half = { readonly to: Socket; readonly from: Socket; readonly waiting: Buffer[] };
type Link = {
  readonly door: Door;
  readonly halves: readonly [Half, Half];
  /** ID of the member that dialed, as soon as it has identified itself. */
  dialler?: string;
  isOver?: boolean;
};

/** Members identify themselves in their requests to each other. */
const diallerId = (chunk: Buffer): string | undefined =>
  /^x-server-from: *([0-9a-f]+)/im.exec(chunk.toString('latin1'))?.[1];

export const cutNetwork = () => {
  const [links, servers, cuts, names] = [
    new Set<Link>(),
    new Map<Door, Server>(),
    new Map<string, Cut>(),
    new Map<string, string>(),
  ];
  const oneWay = new Map<string, Cut>();
  const wayOf = (from: string, to: string): string => `${from} to ${to}`;
  /** A member is cut in both directions: incoming connections and outgoing connections. */
  const cutOf = ({ door, dialler }: Link): Cut | undefined => {
    const from = door.kind === 'peer' ? names.get(dialler ?? '') : undefined;
    return [
      cuts.get(door.member),
      ...(from === undefined ? [] : [cuts.get(from), oneWay.get(wayOf(from, door.member))]),
    ].find((cut) => cut?.sides.includes(door.kind) === true);
  };
  const end = (link: Link): void => {
    links.delete(link);
    for (const { from, to, waiting } of link.halves) {
      for (const chunk of waiting.splice(0)) to.write(chunk);
      from.end();
      from.destroySoon();
    }
  };
  const flow = (link: Link): void => {
    const cut = cutOf(link);
    if (cut?.how === 'refused' || (cut === undefined && link.isOver)) {
      end(link);
      return;
    }
    for (const { to, from, waiting } of link.halves) {
      if (cut !== undefined) from.pause();
      else {
        for (const chunk of waiting.splice(0)) to.write(chunk);
        from.resume();
      }
    }
  };
  const join = (door: Door, client: Socket): void => {
    const server = connect(door.behind, '127.0.0.1');
    const link: Link = {
      door,
      halves: [
        { to: server, from: client, waiting: [] },
        { to: client, from: server, waiting: [] },
      ],
    };
    links.add(link);
    for (const half of link.halves) {
      half.from.on('data', (chunk: Buffer) => {
        if (half.from === client && link.dialler === undefined && door.kind === 'peer')
          link.dialler = diallerId(chunk);
        half.waiting.push(chunk);
        flow(link);
      });
      half.from.on('error', () => {});
      // A silent cut also delays the close of a connection until it heals.
      half.from.on('close', () => {
        link.isOver = true;
        flow(link);
      });
    }
    flow(link);
  };
  const open = (door: Door): Promise<void> =>
    new Promise((resolve, reject) => {
      const server = createServer((client) => join(door, client)).once('error', reject);
      servers.set(door, server);
      server.listen(door.at, '127.0.0.1', resolve);
    });
  return {
    open,
    /** Maps the hexadecimal ID of a member to its name. Required before a peer side is cut. */
    knows: (id: string, member: string): void => void names.set(id, member),
    cut: (member: string, cut: Cut): void => {
      cuts.set(member, cut);
      for (const [door, server] of servers)
        if (door.member === member && cut.how === 'refused' && cut.sides.includes(door.kind)) server.close();
      for (const link of [...links]) flow(link);
    },
    /** Cuts only the connections that one member opens to another. The other direction still works, as behind a firewall. */
    cutOneWay: (from: string, to: string, how: Cut['how']): void => {
      oneWay.set(wayOf(from, to), { how, sides: ['peer'] });
      for (const link of [...links]) flow(link);
    },
    healOneWay: (from: string, to: string): void => {
      oneWay.delete(wayOf(from, to));
      for (const link of [...links]) flow(link);
    },
    heal: async (member: string): Promise<void> => {
      cuts.delete(member);
      for (const [door, server] of [...servers])
        if (door.member === member && !server.listening) await open(door);
      for (const link of [...links]) flow(link);
    },
    close: (): void => {
      for (const server of servers.values()) server.close();
      for (const link of links) end(link);
    },
  };
};
export type CutNetwork = ReturnType<typeof cutNetwork>;
