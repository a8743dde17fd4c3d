import { type Host, type HttpRequest, NetworkError } from '../../host/host.ts';
import { networkFailure } from './failure.ts';
import type { Read } from './party.ts';

/** One request, read whole. No retry: a code is good for one use only. */
export const send = async (host: Host, what: string, request: HttpRequest, signal?: AbortSignal): Promise<Read> => {
  try {
    const reply = await host.network.request(signal === undefined ? request : { ...request, signal });
    return { status: reply.status, headers: reply.headers, text: await reply.text() };
  } catch (error) {
    throw networkFailure(what, error);
  }
};

const isOutage = (status: number): boolean => status === 429 || status >= 500;
const waitMs = (read: Read | undefined, attempt: number): number => {
  const seconds = Number(read?.headers['retry-after']);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, 5000) : 200 * 2 ** attempt;
};

/** For requests that may be sent again without harm (refresh, revoke): three attempts at an outage, two when the line was cut. */
export const sendPatiently = async (host: Host, what: string, request: HttpRequest, signal?: AbortSignal): Promise<Read> => {
  for (let attempt = 0; ; attempt++) {
    try {
      const read = await send(host, what, request, signal);
      if (!isOutage(read.status) || attempt === 2) return read;
      await host.sleep(waitMs(read, attempt), signal);
    } catch (error) {
      const cause = (error as { cause?: unknown }).cause;
      const isBrief = cause instanceof NetworkError && (cause.code === 'RESET' || cause.code === 'REFUSED');
      if (!isBrief || attempt >= 1) throw error;
      await host.sleep(waitMs(undefined, attempt), signal);
    }
  }
};
