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

/** Twice the time after which the store says that it is still there, also when nothing changes. */
const silenceMs = 25 * 60_000;
const retryMs = 250;

/** What is to be read is gone: to begin later is the operator's decision, because events are missing in between. */
const makeCompactedError = ({ key, rangeEnd }: WatchOptions, from: number, oldest: number): AppError =>
  new AppError(
    'refused',
    `revisions ${from} to ${oldest - 1} were removed by a compaction: the events in between cannot be had any more`,
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
          ', without the events before',
        ),
        next(['kv', 'get'], 'reads the keys as they are now; then watch from the revision after that'),
      ],
      data: { from_revision: from, compact_revision: oldest },
    },
  );

const refuseCanceled = (options: WatchOptions, from: number, message: WatchMessage): void => {
  if (message.compact_revision > 0) throw makeCompactedError(options, from, message.compact_revision);
  if (message.is_canceled)
    throw new AppError(
      'refused',
      `the store ended the watch: ${message.cancel_reason ?? 'no reason given'}`,
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

/** A member that went away, or a silence that is too long: another one goes on. What the store refuses, it refuses everywhere. */
const isPassing = (error: unknown): boolean =>
  error instanceof AppError && (error.category === 'network' || error.detail.code === 'NO_LEADER');

/** Where the watch is: the next revision to read, and how often in a row no member could be watched. */
type Place = { from: number | undefined; failures: number; wasConnected: boolean };

const moveOn = (place: Place, { is_created, events, revision }: WatchMessage): void => {
  if (is_created) {
    place.failures = 0;
    place.wasConnected = true;
    // The first answer tells where the watch begins: from there on nothing is missed when this member goes away.
    place.from ??= revision + 1;
    return;
  }
  const last = events.at(-1)?.kv.mod_revision;
  // Without events it says that everything up to its revision was sent.
  place.from = Math.max(place.from ?? 0, (last ?? revision) + 1);
};

/** Events in order, each once. `place` moves on with what was seen, so that another member begins right after it. */
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

/** A cluster of which no member could ever be watched is an error; one that could will be back. */
const handleFailure = ({ urls, warn, signal }: Watching, place: Place, error: unknown): void => {
  if (signal.aborted) return;
  place.failures += 1;
  const isHopeless = !place.wasConnected && place.failures >= urls.length;
  if (!isPassing(error) || isHopeless) throw error;
  if (place.failures > 1) return;
  const from = place.from === undefined ? '' : ` from revision ${place.from}`;
  warn(`${messageOf(error)}; the watch goes on at another member${from}`);
};

const longestRetryMs = 5000;
/** At one member after the other, for as long as somebody reads. */
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

/** Ends by Ctrl-C, by its limit, or when the store refuses it. */
export async function* watchKeys(watching: Watching): AsyncGenerator<WatchRow> {
  let count = 0;
  for await (const row of endless(watching)) {
    yield row;
    count += 1;
    if (count === watching.limit) return;
  }
}
