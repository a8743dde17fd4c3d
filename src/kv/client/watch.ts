import { next } from '../../core/next.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import { decodeUtf8 } from '../../core/text.ts';
import type { Bytes, Host } from '../../platform/host.ts';
import { type Connection, type Endpoint, type Json, recordAt } from './messages.ts';
import { networkFailure, storeError } from './errors.ts';
import { type KeyValue, keyValueFrom, openStore } from './etcd-client.ts';

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];
/** Finds the ends of objects in a stream. It reads each byte once, however the stream is divided. */
class ObjectEnds {
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  /** Returns the index after the object that ends first at or after `from`, or -1 if it ends in a later piece. */
  next(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at += 1) {
      if (this.#isText) {
        at = this.#textEnd(bytes, at);
        continue;
      }
      const byte = bytes[at];
      if (byte === QUOTE) this.#isText = true;
      else if (byte === OPEN) this.#depth += 1;
      else if (byte === CLOSE) {
        this.#depth -= 1;
        if (this.#depth < 0) throw new Error('the stream has a closing brace outside of an object');
        if (this.#depth === 0) return at + 1;
      }
    }
    return -1;
  }
  /**
   * Returns the index of the closing quote, or the length of the piece. `indexOf` is faster than a loop over
   * the bytes, because the blobs are long.
   */
  #textEnd(bytes: Buffer, from: number): number {
    let at = this.#isEscaped ? from + 1 : from;
    this.#isEscaped = false;
    for (let quote = bytes.indexOf(QUOTE, at); ; quote = bytes.indexOf(QUOTE, at)) {
      const end = quote < 0 ? bytes.length : quote;
      let slashes = 0;
      while (end - 1 - slashes >= at && bytes[end - 1 - slashes] === BACKSLASH) slashes += 1;
      const isEscaped = slashes % 2 === 1;
      if (quote < 0) {
        this.#isEscaped = isEscaped;
        return bytes.length;
      }
      if (!isEscaped) {
        this.#isText = false;
        return quote;
      }
      at = quote + 1;
    }
  }
}
/**
 * Yields the JSON objects of a stream and ignores the separators. 3.2 writes objects without a separator,
 * later versions write one object per line.
 */
export async function* jsonObjects(chunks: AsyncIterable<Bytes>): AsyncGenerator<unknown> {
  const ends = new ObjectEnds();
  let waiting: Buffer[] = [];
  for await (const chunk of chunks) {
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (let end = ends.next(piece, from); end >= 0; end = ends.next(piece, from)) {
      waiting.push(piece.subarray(from, end));
      const object = waiting.length === 1 ? piece.subarray(from, end) : Buffer.concat(waiting);
      waiting = [];
      from = end;
      yield JSON.parse(decodeUtf8(object, 'the stream of the store', 'network'));
    }
    if (from < piece.length) waiting.push(piece.subarray(from));
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
  kv: keyValueFrom(recordAt(event, 'kv')),
  ...(event['prev_kv'] === undefined ? {} : { prev_kv: keyValueFrom(event['prev_kv'] as Json) }),
});
const messageFrom = (result: Json): WatchMessage => ({
  revision: number(recordAt(result, 'header')['revision']),
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

export type Watching = {
  readonly host: Host;
  readonly urls: readonly string[];
  readonly access: Pick<Endpoint, 'tls' | 'user'>;
  readonly signal: AbortSignal;
  readonly options: WatchOptions;
  readonly limit?: number | undefined;
  warn(text: string): void;
};
export type WatchRow = KeyValue & { readonly type: WatchEvent['type']; readonly previous?: KeyValue };

/**
 * More than twice the interval of the progress notifications, which the server sends even without changes.
 */
const silenceMs = 25 * 60_000;
const retryMs = 250;

/**
 * The requested events are compacted. The operator must decide whether to start at a later revision and miss
 * events.
 */
const makeCompactedError = ({ key, rangeEnd }: WatchOptions, from: number, oldest: number): AppError =>
  new AppError(
    'refused',
    `a compaction removed revisions ${from} to ${oldest - 1}: their events are no longer available`,
    {
      code: 'COMPACTED',
      tryThis: [
        next(
          [
            'kv',
            'watch',
            `${JSON.stringify(key)}${rangeEnd === undefined ? '' : ' --prefix'}`,
            '--rev',
            `${oldest}`,
          ],
          ', without the earlier events',
        ),
        next(['kv', 'get'], 'reads the current keys; then watch from the next revision'),
      ],
      data: { from_revision: from, compact_revision: oldest },
    },
  );

const refuseCanceled = (options: WatchOptions, from: number, message: WatchMessage): void => {
  if (message.compact_revision > 0) throw makeCompactedError(options, from, message.compact_revision);
  if (message.is_canceled)
    throw new AppError(
      'refused',
      `the server canceled the watch: ${message.cancel_reason ?? 'no reason given'}`,
      {
        code: 'WATCH_CANCELED',
      },
    );
};

const rowOf = ({ type, kv, prev_kv }: WatchEvent): WatchRow => ({
  type,
  ...kv,
  ...(prev_kv === undefined ? {} : { previous: prev_kv }),
});

/**
 * Returns whether another member can continue the watch after a lost connection or a timeout. Every member
 * would reject the same invalid request.
 */
const isPassing = (error: unknown): boolean =>
  error instanceof AppError && (error.category === 'network' || error.detail.code === 'NO_LEADER');

/** Position of the watch: the next revision to read and the number of consecutive failures. */
type Place = { from: number | undefined; failures: number; wasConnected: boolean };

const moveOn = (place: Place, { is_created, events, revision }: WatchMessage): void => {
  if (is_created) {
    place.failures = 0;
    place.wasConnected = true;
    // The first response contains the start revision. After it, no event is lost if this member becomes
    // unavailable.
    place.from ??= revision + 1;
    return;
  }
  const last = events.at(-1)?.kv.mod_revision;
  // A message without events confirms all events up to its revision.
  place.from = Math.max(place.from ?? 0, (last ?? revision) + 1);
};

/**
 * Yields each event once, in order. Updates `place`, so that another member can continue after the last
 * event.
 */
async function* eventsAt(
  { host, access, signal, options }: Watching,
  url: string,
  place: Place,
): AsyncGenerator<WatchRow> {
  const store = openStore(host, { url, tls: access.tls, user: access.user, timeoutMs: silenceMs, signal });
  const asked = { ...options, startRevision: place.from };
  for await (const message of watchMessages(store.connection, asked)) {
    refuseCanceled(options, place.from ?? message.revision, message);
    for (const event of message.events) yield rowOf(event);
    moveOn(place, message);
  }
}

/** Throws if no member could ever be watched. After a successful watch it retries. */
const handleFailure = ({ urls, warn, signal }: Watching, place: Place, error: unknown): void => {
  if (signal.aborted) return;
  place.failures += 1;
  const isHopeless = !place.wasConnected && place.failures >= urls.length;
  if (!isPassing(error) || isHopeless) throw error;
  if (place.failures > 1) return;
  const from = place.from === undefined ? '' : ` from revision ${place.from}`;
  warn(`${messageOf(error)}; the watch continues on another member${from}`);
};

const longestRetryMs = 5000;
/** Watches one member after another until the reader stops. */
async function* endless(watching: Watching): AsyncGenerator<WatchRow> {
  const { host, urls, signal, options } = watching;
  const place: Place = { from: options.startRevision, failures: 0, wasConnected: false };
  for (let at = 0; !signal.aborted; at += 1) {
    try {
      yield* eventsAt(watching, urls[at % urls.length] as string, place);
    } catch (error) {
      handleFailure(watching, place, error);
    }
    await host.sleep(Math.min(longestRetryMs, retryMs * (1 + place.failures)), signal).catch(() => {});
  }
  signal.throwIfAborted();
}

/** Watches until Ctrl-C, the limit, or an error from the server. */
export async function* watchKeys(watching: Watching): AsyncGenerator<WatchRow> {
  let count = 0;
  for await (const row of endless(watching)) {
    yield row;
    count += 1;
    if (count === watching.limit) return;
  }
}
