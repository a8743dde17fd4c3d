import { isUuid } from '../../core/format.ts';
import { escapePattern } from '../../core/text.ts';
import { isRecord } from '../../core/shape.ts';
import type { Host } from '../../platform/host.ts';
import {
  bodyBytes,
  type Cassette,
  type Exchange,
  type KeptBody,
  keptBody,
  keptHeaders,
  type KeptResponse,
} from './cassette.ts';

/** One thing in which a response differs from the recorded one. */
type Difference = { readonly where: string; readonly recorded: unknown; readonly received: unknown };
/** Identifiers of the recorded service, and the corresponding ones of the other service. */
type Identifiers = Map<string, string>;
const ID_KEY = /(^|_)(id|ids|uuid|global_id)$/;
const isTime = (value: unknown): boolean =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);
const isUuidText = (value: unknown): boolean => typeof value === 'string' && isUuid(value);
const isScalarId = (value: unknown): value is string | number =>
  typeof value === 'number' || (typeof value === 'string' && value !== '');
/** Returns the text with every recorded identifier replaced, longest first, at word boundaries. */
const translateIds = (text: string, ids: Identifiers): string => {
  const known = [...ids.keys()].sort((a, b) => b.length - a.length);
  if (known.length === 0) return text;
  const pattern = new RegExp(`(?<![\\w-])(${known.map(escapePattern).join('|')})(?![\\w-])`, 'g');
  return text.replace(pattern, (id) => ids.get(id) ?? id);
};
/** The same value as the other service would have it: recorded identifiers become its own. */
const translatedJson = (value: unknown, ids: Identifiers, key = ''): unknown => {
  if (Array.isArray(value)) return value.map((one) => translatedJson(one, ids, key));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, translatedJson(inner, ids, name)]),
    );
  if (!isScalarId(value) || !(ID_KEY.test(key) || isUuidText(value))) return value;
  const other = ids.get(String(value));
  if (other === undefined) return value;
  return typeof value === 'number' ? Number(other) : other;
};
type Comparing = { readonly ids: Identifiers; readonly found: Difference[] };
const compareScalars = (
  { ids, found }: Comparing,
  where: string,
  key: string,
  a: unknown,
  b: unknown,
): void => {
  if (Object.is(a, b) || (isTime(a) && isTime(b))) return;
  const areIds =
    isScalarId(a) &&
    isScalarId(b) &&
    typeof a === typeof b &&
    (ID_KEY.test(key) || (isUuidText(a) && isUuidText(b)));
  if (areIds) {
    const known = ids.get(String(a));
    if (known === undefined) ids.set(String(a), String(b));
    if (known === undefined || known === String(b)) return;
  } else if (typeof a === 'string' && typeof b === 'string' && isLink(a) && sameLink(a, b, ids)) return;
  found.push({ where, recorded: a, received: b });
};
const isLink = (text: string): boolean => /^https?:\/\//.test(text);
const pathOf = (text: string): string => text.replace(/^https?:\/\/[^/]+/, '');
const sameLink = (a: string, b: string, ids: Identifiers): boolean =>
  translateIds(pathOf(a), ids) === pathOf(b);
const compareLists = (
  on: Comparing,
  where: string,
  key: string,
  a: readonly unknown[],
  b: readonly unknown[],
): void => {
  if (a.length !== b.length)
    on.found.push({ where: `${where}.length`, recorded: a.length, received: b.length });
  for (let i = 0; i < Math.min(a.length, b.length); i += 1)
    compareValues(on, `${where}[${i}]`, key, a[i], b[i]);
};
const compareValues = (on: Comparing, where: string, key: string, a: unknown, b: unknown): void => {
  if (Array.isArray(a) && Array.isArray(b)) compareLists(on, where, key, a, b);
  else if (isRecord(a) && isRecord(b)) compareObjects(on, where, a, b);
  else compareScalars(on, where, key, a, b);
};
const compareObjects = (
  on: Comparing,
  where: string,
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
): void => {
  // Identifiers first, because the nearby links contain them.
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort(
    (x, y) => Number(ID_KEY.test(y)) - Number(ID_KEY.test(x)),
  );
  for (const name of names)
    compareValues(on, where === '' ? name : `${where}.${name}`, name, a[name], b[name]);
};
const comparable = (body: KeptBody | undefined): unknown => {
  if (body === undefined) return undefined;
  return 'json' in body ? body.json : 'text' in body ? body.text : body.base64;
};
const mediaType = ({ headers }: KeptResponse): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
/**
 * Returns the differences between two responses to the same request: status, media type and body. Identifiers
 * and times may differ.
 */
const differences = (recorded: KeptResponse, received: KeptResponse, ids: Identifiers): Difference[] => {
  const found: Difference[] = [];
  if (recorded.status !== received.status)
    found.push({ where: 'status', recorded: recorded.status, received: received.status });
  if (mediaType(recorded) !== mediaType(received))
    found.push({ where: 'content-type', recorded: mediaType(recorded), received: mediaType(received) });
  compareValues({ ids, found }, 'body', '', comparable(recorded.body), comparable(received.body));
  return found;
};

/** A difference with the exchange in which it was seen; `exchange` counts from 1. */
export type Row = Difference & { readonly exchange: number; readonly method: string; readonly path: string };
/** The target of the requests and its credentials. */
export type CompareTarget = { readonly url: string; readonly headers: Readonly<Record<string, string>> };
const MASK = '***';
const ask = async (
  host: Host,
  other: CompareTarget,
  { request }: Exchange,
  ids: Identifiers,
): Promise<KeptResponse> => {
  const { method, headers, body } = request;
  const kept = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== MASK));
  const query = request.query === '' ? '' : `?${translateIds(request.query, ids)}`;
  const translatedBody =
    body !== undefined && 'json' in body ? { json: translatedJson(body.json, ids) } : body;
  const reply = await host.network.request({
    method,
    url: `${other.url}${translateIds(request.path, ids)}${query}`,
    headers: { ...kept, ...other.headers },
    body: bodyBytes(translatedBody),
  });
  const bytes = await reply.bytes();
  return {
    status: reply.status,
    headers: keptHeaders(reply.headers),
    body: keptBody(bytes, reply.headers['content-type'], headers['content-type']),
  };
};
/** Sends the recorded requests in order to another service and yields the responses that differ. */
export async function* compareWith(
  host: Host,
  cassette: Cassette,
  other: CompareTarget,
): AsyncGenerator<Row> {
  const ids: Identifiers = new Map();
  for (const [at, exchange] of cassette.exchanges.entries()) {
    const received = await ask(host, other, exchange, ids);
    const { method, path } = exchange.request;
    for (const difference of differences(exchange.response, received, ids))
      yield { exchange: at + 1, method, path, ...difference };
  }
}
