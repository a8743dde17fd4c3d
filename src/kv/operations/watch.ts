import { next } from '../../core/next.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import { type KeyValue, openStore } from '../client/etcd-client.ts';
import { type WatchEvent, type WatchMessage, watchMessages, type WatchOptions } from '../client/watch.ts';
import type { Access } from '../engine/access.ts';
import type { Host } from '../../platform/host.ts';

export type Watching = {
  readonly host: Host;
  readonly urls: readonly string[];
  readonly access: Access;
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
