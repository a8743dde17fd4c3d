import { basename } from 'node:path';
import { AppError } from '../core/problem.ts';
import { errorFrom } from '../api-client/response.ts';
import { send } from '../api-client/send.ts';
import type { HttpReply } from '../platform/host.ts';
import type { Context, Target } from '../cli/command.ts';

/**
 * The name comes from whoever uploaded the file: only its last part, so that it cannot point outside this directory, no leading
 * dot or dash, so that it is no settings file and no flag, and nothing that a terminal obeys.
 */
export const safeName = ({ id, filename }: Pick<FileRecord, 'id' | 'filename'>): string => {
  const last = basename(filename.replaceAll('\\', '/'));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be in a name
  const plain = last.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '_');
  const safe = plain.replace(/^[.-]+/, (start) => '_'.repeat(start.length));
  return safe.replaceAll('_', '') === '' ? `file-${id}` : safe;
};

export type FileRecord = { readonly id: number; readonly url: string | null; readonly filename: string };

/** Hops of a download: services keep contents elsewhere and point there. */
const MOST_HOPS = 5;

/** The token goes to the tracker's own host only, never to a storage service; nothing leads from TLS to plain HTTP. */
export const contentOf = async (
  context: Context,
  start: URL,
  { baseUrl, headers: own }: Target,
): Promise<HttpReply> => {
  let url = start;
  for (let hop = 0; hop <= MOST_HOPS; hop++) {
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
    const next = new URL(String(location), url);
    if (url.protocol === 'https:' && next.protocol !== 'https:')
      throw new AppError(
        'network',
        `GET ${url.pathname}: the service redirects to ${next.origin}, which is not encrypted`,
      );
    url = next;
  }
  throw new AppError('network', `GET ${start.pathname}: more than ${MOST_HOPS} redirects`);
};
