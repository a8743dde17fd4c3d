import type { Bytes } from '../../platform/host.ts';
import type { Connection, Json } from './messages.ts';
import { networkFailure, storeError } from './errors.ts';
import { type KeyValue, keyValueFrom } from './etcd-client.ts';

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];
/**
 * Returns the index of the closing quote. `indexOf` is faster than a loop over the bytes, because the blobs
 * are long.
 */
const endOfString = (bytes: Buffer, from: number): number => {
  for (let at = bytes.indexOf(QUOTE, from); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let slashes = 0;
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return -1;
};
/** Returns the index after the object that starts at or after `from`, or -1 if the object is incomplete. */
const endOfObject = (bytes: Buffer, from: number): number => {
  let depth = 0;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1);
      if (at < 0) return -1;
    } else if (byte === OPEN) depth += 1;
    else if (byte === CLOSE) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
};
/**
 * Yields the JSON objects of a stream and ignores the separators. 3.2 writes objects without a separator,
 * later versions write one object per line.
 */
export async function* jsonObjects(chunks: AsyncIterable<Bytes>): AsyncGenerator<unknown> {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  for await (const chunk of chunks) {
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    waiting.push(piece);
    waitingBytes += piece.length;
    // An object can become complete only if the new chunk contains a closing brace.
    if (!piece.includes(CLOSE)) continue;
    const bytes = waiting.length === 1 ? piece : Buffer.concat(waiting, waitingBytes);
    let from = 0;
    for (let end = endOfObject(bytes, from); end >= 0; end = endOfObject(bytes, from)) {
      yield JSON.parse(bytes.toString('latin1', from, end).trim());
      from = end;
    }
    waiting = from === bytes.length ? [] : [bytes.subarray(from)];
    waitingBytes = bytes.length - from;
  }
  if (Buffer.concat(waiting).toString().trim() !== '')
    throw new Error('the stream ended in the middle of an object');
}

export type WatchEvent = {
  readonly type: 'PUT' | 'DELETE';
  readonly kv: KeyValue;
  readonly prev_kv?: KeyValue;
};
/**
 * One message of a watch. A `compact_revision` above 0 means that the server canceled the watch because its
 * revision was compacted.
 */
export type WatchMessage = {
  readonly revision: number;
  readonly is_created: boolean;
  readonly is_canceled: boolean;
  readonly cancel_reason?: string;
  readonly compact_revision: number;
  readonly events: readonly WatchEvent[];
};
export type WatchOptions = {
  readonly key: string;
  readonly rangeEnd?: string | Uint8Array | undefined;
  readonly startRevision?: number | undefined;
  readonly withPrevious?: boolean | undefined;
  readonly filters?: readonly ('NOPUT' | 'NODELETE')[];
};
const base64 = (data: string | Uint8Array): string => Buffer.from(data as Uint8Array).toString('base64');
const number = (value: unknown): number => Number(value ?? 0);
const eventFrom = (event: Json): WatchEvent => ({
  type: event['type'] === 'DELETE' ? 'DELETE' : 'PUT',
  kv: keyValueFrom((event['kv'] ?? {}) as Json),
  ...(event['prev_kv'] === undefined ? {} : { prev_kv: keyValueFrom(event['prev_kv'] as Json) }),
});
const messageFrom = (result: Json): WatchMessage => ({
  revision: number(result['header']?.revision),
  is_created: result['created'] === true,
  is_canceled: result['canceled'] === true,
  ...(result['cancel_reason'] === undefined ? {} : { cancel_reason: String(result['cancel_reason']) }),
  compact_revision: number(result['compact_revision']),
  events: ((result['events'] ?? []) as Json[]).map(eventFrom),
});
const requestOf = ({ key, rangeEnd, startRevision, withPrevious, filters = [] }: WatchOptions): Json => ({
  create_request: {
    key: base64(key),
    ...(rangeEnd === undefined ? {} : { range_end: base64(rangeEnd) }),
    ...(startRevision === undefined ? {} : { start_revision: String(startRevision) }),
    ...(withPrevious === true ? { prev_kv: true } : {}),
    ...(filters.length === 0 ? {} : { filters }),
    // The server sends a notification every ten minutes even without changes, so that the client can detect a
    // broken connection.
    progress_notify: true,
  },
});
/** Yields the messages of a watch until the server, the network or the caller closes it. */
export async function* watchMessages(
  { endpoint: { url }, stream }: Connection,
  options: WatchOptions,
): AsyncGenerator<WatchMessage> {
  const reply = await stream('/watch', requestOf(options));
  try {
    for await (const object of jsonObjects(reply.stream())) {
      const { result, error } = object as { result?: Json; error?: unknown };
      if (error !== undefined) throw storeError(url, 200, { error });
      if (result !== undefined) yield messageFrom(result);
    }
  } catch (error) {
    throw networkFailure(url, error);
  }
}
