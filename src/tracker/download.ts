import { AppError } from '../core/problem.ts';
import { errorFrom } from '../api/response.ts';
import { send } from '../api/send.ts';
import type { HttpReply } from '../platform/host.ts';
import type { Context, Target } from '../cli/command.ts';
import { needContentUrl } from './content-url.ts';
import { limits } from '../core/limits.ts';

export type FileRecord = { readonly id: number; readonly url: string | null; readonly filename: string };

/** The token goes to the tracker's own host only, never to a storage service; nothing leads from TLS to plain HTTP. */
export const contentOf = async (
  context: Context,
  start: URL,
  { baseUrl, headers: own }: Target,
): Promise<HttpReply> => {
  let url = start;
  for (let hop = 0; hop <= limits.redirects; hop++) {
    const headers = url.origin === new URL(baseUrl).origin ? own : {};
    const reply = await send(
      context.host,
      { method: 'GET', url: url.href, headers },
      { signal: context.signal },
    );
    if (reply.status >= 400)
      throw errorFrom(
        { status: reply.status, headers: reply.headers, text: await reply.text() },
        `GET ${url.pathname}`,
      );
    const { location } = reply.headers;
    if (reply.status < 300) return reply;
    if (location === undefined)
      throw new AppError(
        'network',
        `GET ${url.pathname}: the service answered ${reply.status}, which is no success`,
      );
    await reply.bytes();
    const next = needContentUrl(String(location), url, `GET ${url.pathname} redirects`);
    if (url.protocol === 'https:' && next.protocol !== 'https:')
      throw new AppError(
        'network',
        `GET ${url.pathname}: the service redirects to ${next.origin}, which is not encrypted`,
      );
    url = next;
  }
  throw new AppError('network', `GET ${start.pathname}: more than ${limits.redirects} redirects`);
};
