import { NetworkError } from '../platform/host.ts';
import type { AuthContext } from './auth-context.ts';

/** A minute is what requests and rounding may take; identity tokens are refused at five. */
const clockLimitMs = 60_000;
const limitMs = 10_000;

const clockWarning = (date: string | undefined, nowMs: number, origin: string): string | undefined => {
  const server = Date.parse(date ?? '');
  const off = nowMs - server;
  if (Number.isNaN(server) || Math.abs(off) <= clockLimitMs) return undefined;
  const minutes = Math.round(Math.abs(off) / 60_000);
  return `The clock of this machine is ${minutes} min ${off > 0 ? 'ahead of' : 'behind'} the one of ${origin}; set it before you go on, or the sign-in may be refused.`;
};

/**
 * While the user is in the browser there is time to see whether the code can be exchanged at all: certificate, clock
 * and reachability of the token host are found before the password was typed, not after. Says what it found; undefined
 * is good.
 */
export const tokenHostWarning = async (
  { host, signal }: Pick<AuthContext, 'host' | 'signal'>,
  tokenEndpoint: string,
): Promise<string | undefined> => {
  const { origin, protocol } = new URL(tokenEndpoint);
  // Plain HTTP is for this machine alone: it has neither a certificate nor another clock.
  if (protocol === 'http:') return undefined;
  try {
    const reply = await host.network.request({
      method: 'GET',
      url: `${origin}/.well-known/openid-configuration`,
      headers: { accept: 'application/json' },
      timeoutMs: limitMs,
      maxReplyBytes: 256 * 1024,
      signal,
    });
    await reply.text().catch(() => '');
    return clockWarning(reply.headers.date, host.now(), origin);
  } catch (error) {
    if (!(error instanceof NetworkError) || error.code === 'ABORTED' || error.code === 'TOO_LARGE')
      return undefined;
    const help =
      error.code === 'TLS'
        ? 'set ca_file or NODE_EXTRA_CA_CERTS'
        : 'check the network, the proxy and --token-url';
    return `The token host does not work from here (${error.message}): after the sign-in in the browser the code could not be exchanged. Before you go on: ${help}.`;
  }
};
