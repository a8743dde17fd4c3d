import { keyValueFrom } from './key-value.ts';
import type { KeyValue } from './key-value.ts';
import type { Connection, Json } from './endpoint.ts';
import { networkFailure, storeError } from './errors.ts';
import { jsonObjects } from './json-stream.ts';

export type WatchEvent = {
  readonly type: 'PUT' | 'DELETE';
  readonly kv: KeyValue;
  readonly prev_kv?: KeyValue;
};
/** One message of a watch. `compact_revision` above 0: the watch ended, because its revision was compacted. */
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
    // Every ten minutes also where nothing changes: a connection that died unnoticed is found out by its silence.
    progress_notify: true,
  },
});

/** The messages of a watch as they come, until the store, the network or the reader ends it. */
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
