import { AppError } from '../core/problem.ts';
import { type Bytes, type Host, type HttpReply, type HttpRequest, NetworkError } from '../platform/host.ts';
import type { Reach, ServiceName, Target } from './command.ts';
import type { TraceFile } from './trace-file.ts';

type Exchange = TraceFile['exchanges'][number];

const notRecorded = (what: string): AppError =>
  new AppError('network', `${what} is not in the trace; nothing was sent`, {
    code: 'NOT_RECORDED',
    tryThis: ['replay the trace with the command that it was recorded with; its first lines name it'],
  });

/** The same words for one request, whatever port the service had. */
const keyOf = ({ method, url }: Pick<HttpRequest, 'method' | 'url'>): string => {
  const { pathname, search } = new URL(url);
  return `${method} ${pathname}${search}`;
};

// The body is what was decoded, and maybe redacted: these no longer say how long it is, or how it is packed.
const GONE = new Set(['content-length', 'content-encoding', 'transfer-encoding']);

const replyOf = ({ status, responseHeaders, responseBody }: Exchange): HttpReply => {
  const bytes: Bytes = new TextEncoder().encode(responseBody);
  return {
    status,
    headers: Object.fromEntries(Object.entries(responseHeaders).filter(([name]) => !GONE.has(name))),
    bytes: async () => bytes,
    text: async () => responseBody,
    async *stream() {
      if (bytes.length > 0) yield bytes;
    },
  };
};

/** The same machine, whose network is the trace: each request gets the answers that it got, one after the other. */
export const replayingHost = (host: Host, { exchanges }: TraceFile): Host => {
  const waiting = new Map<string, Exchange[]>();
  for (const one of exchanges) waiting.set(keyOf(one), [...(waiting.get(keyOf(one)) ?? []), one]);
  const request: Host['network']['request'] = async (given) => {
    const found = waiting.get(keyOf(given))?.shift();
    if (found === undefined) throw notRecorded(keyOf(given));
    if (found.error !== undefined) throw new NetworkError('OTHER', found.error, true);
    if (found.isCut === true) throw notRecorded(`the whole body of ${keyOf(given)}`);
    return replyOf(found);
  };
  const network: Host['network'] = {
    ...host.network,
    request,
    canConnect: async () => false,
    probe: async () => ({}),
    listen: async () => {
      throw notRecorded('a server of its own');
    },
  };
  const refuse = async (command: string): Promise<never> => {
    throw notRecorded(`the program ${command}`);
  };
  // A replay never acts on the machine: no program is started or stopped by answers that are not of now.
  const processes: Host['processes'] = { ...host.processes, run: refuse, start: refuse, signal: () => false };
  // Waits of the recorded run are over.
  return Object.create(host, {
    network: { value: network },
    processes: { value: processes },
    sleep: { value: async () => {} },
  }) as Host;
};

/** Where the services were when the trace was made. No setting and no token of this machine has a part in it. */
export const replayingReach = ({ services }: TraceFile): Reach => ({
  reach: async (service: ServiceName): Promise<Target> => {
    const found = services[service];
    if (found === undefined) throw notRecorded(`a request to the service ${service}`);
    const { baseUrl, basePath, planningWord } = found;
    return {
      baseUrl,
      headers: {},
      isMock: false,
      origin: '--replay',
      wording: {
        ...(basePath === undefined ? {} : { basePath }),
        ...(planningWord === undefined ? {} : { planningWord }),
      },
    };
  },
  close: async () => {},
});
