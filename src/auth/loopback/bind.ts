import { AppError } from '../../core/problem.ts';
import type { Address, Handler, Host, Listener } from '../../platform/host.ts';
import { limits } from '../../core/limits.ts';

const bounds: Omit<Address, 'host' | 'port'> = {
  maxUrlBytes: limits.callbackBytes + 1024,
  requestTimeoutMs: 5000,
  maxConnections: 64,
};

export type Bound = {
  readonly port: number;
  /** The literal that the redirect URI names. */
  readonly family: 'v4' | 'v6';
  readonly listeners: readonly Listener[];
  /** Why the other family is not there, when it is not. */
  readonly without?: string;
};

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? 'UNKNOWN';
const attempt = (host: Host, handler: Handler, address: string, port: number): Promise<Listener | string> =>
  host.network.listen(handler, { host: address, port, ...bounds }).catch(codeOf);

const portError = (port: number, code: string): AppError =>
  new AppError(
    'config',
    `cannot listen on port ${port} of 127.0.0.1 or ::1 (${code === 'EADDRINUSE' ? 'another program has it' : code})`,
    {
      code: 'PORT_UNAVAILABLE',
      tryThis: [
        'opsctl login (without --port takes a free port)',
        `find the program: ss -ltnp 'sport = :${port}'`,
        'opsctl doctor auth',
      ],
    },
  );

type Attempt = { readonly v4: Listener | string; readonly v6: Listener | string };
const isOpen = (listener: Listener | string): listener is Listener => typeof listener !== 'string';

/** What two attempts are good for; undefined when the other family of the port belongs to somebody else. */
const usable = ({ v4, v6 }: Attempt, port: number): Bound | undefined => {
  if (isOpen(v4) && isOpen(v6)) return { port: v4.port, family: 'v4', listeners: [v4, v6] };
  // A free port of v4 that another program holds on v6 is given back; a machine without v6 is fine.
  if (isOpen(v4) && (v6 !== 'EADDRINUSE' || port !== 0))
    return { port: v4.port, family: 'v4', listeners: [v4], without: `::1: ${v6}` };
  // With v4 taken by a stranger its program would get the redirect: only a machine without v4 uses v6 alone.
  if (isOpen(v6) && v4 === 'EADDRNOTAVAIL')
    return { port: v6.port, family: 'v6', listeners: [v6], without: `127.0.0.1: ${v4}` };
  return undefined;
};

/** Both loopback literals on the same port; a name like `localhost` would leave the family to chance. Never another interface. */
export const bindLoopback = async (host: Host, handler: Handler, port: number): Promise<Bound> => {
  let last = 'EADDRNOTAVAIL';
  for (let round = 0; round < (port === 0 ? 8 : 1); round++) {
    const v4 = await attempt(host, handler, '127.0.0.1', port);
    const v6 = await attempt(host, handler, '::1', isOpen(v4) ? v4.port : port);
    const bound = usable({ v4, v6 }, port);
    if (bound !== undefined) return bound;
    for (const listener of [v4, v6].filter(isOpen)) await listener.close();
    if (!isOpen(v4)) last = v4;
  }
  throw portError(port, last);
};
