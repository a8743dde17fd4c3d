import type { Host } from '../../platform/host.ts';
import {
  type Cassette,
  type Exchange,
  type KeptResponse,
  bodyBytes,
  keptBody,
  keptHeaders,
} from './cassette.ts';
import { type Difference, type Identifiers, differences, translated, translatedJson } from './differences.ts';

/** A difference with the exchange in which it was seen; `exchange` counts from 1. */
export type Row = Difference & { readonly exchange: number; readonly method: string; readonly path: string };
/** Where the requests go and how they are let in. */
export type Other = { readonly url: string; readonly headers: Readonly<Record<string, string>> };

const MASK = '***';

const ask = async (
  host: Host,
  other: Other,
  { request }: Exchange,
  ids: Identifiers,
): Promise<KeptResponse> => {
  const { method, headers, body } = request;
  const kept = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== MASK));
  const query = request.query === '' ? '' : `?${translated(request.query, ids)}`;
  const translatedBody =
    body !== undefined && 'json' in body ? { json: translatedJson(body.json, ids) } : body;
  const reply = await host.network.request({
    method,
    url: `${other.url}${translated(request.path, ids)}${query}`,
    headers: { ...kept, ...other.headers },
    body: bodyBytes(translatedBody),
  });
  const bytes = await reply.bytes();
  return {
    status: reply.status,
    headers: keptHeaders(reply.headers),
    body: keptBody(bytes, reply.headers['content-type']),
  };
};

/** Sends the recorded requests in their order to another service and yields what it answers differently. */
export async function* compareWith(host: Host, cassette: Cassette, other: Other): AsyncGenerator<Row> {
  const ids: Identifiers = new Map();
  for (const [at, exchange] of cassette.exchanges.entries()) {
    const received = await ask(host, other, exchange, ids);
    const { method, path } = exchange.request;
    for (const difference of differences(exchange.response, received, ids))
      yield { exchange: at + 1, method, path, ...difference };
  }
}
