import type { Change } from '../state/keyspace.ts';
import { failures } from '../state/keyspace.ts';
import { booleanField, bytesField, field, numberField } from './fields.ts';
import { checkToken, header, keyOf, kvBody } from './kv.ts';
import { type Api, type Body, type Call, type Stream, filled } from './rpc.ts';

/** How soon a change is noticed. */
const POLL_MS = 20;
const line = (result: Body): Buffer => Buffer.from(`${JSON.stringify({ result })}\n`);

const eventBody = ({ kv, key, mod, previous }: Change, withPrevious: boolean): Body => ({
  ...(kv === undefined ? { type: 'DELETE' } : {}),
  kv:
    kv === undefined
      ? filled({ key: Buffer.from(key, 'latin1').toString('base64'), mod_revision: String(mod) })
      : kvBody(kv),
  ...(withPrevious && previous !== undefined ? { prev_kv: kvBody(previous) } : {}),
});

type Watched = {
  readonly range: { readonly key: string; readonly end: string };
  readonly start: number;
  readonly withPrevious: boolean;
  readonly filters: readonly unknown[];
};
const isWanted = ({ filters }: Watched, { kv }: Change): boolean =>
  !filters.includes(kv === undefined ? 'NODELETE' : 'NOPUT');

/** The first answer, then the changes from a revision on as they are agreed, until the client or this member goes away. */
async function* changes(api: Api, watched: Watched, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  const { node, host } = api;
  const { keys } = node.machine;
  let next = watched.start > 0 ? watched.start : keys.revision + 1;
  yield line({ header: header(api), created: true });
  while (!node.isStopped && signal?.aborted !== true) {
    if (next < keys.compacted) {
      const cancel_reason = failures.compacted.message;
      yield line({
        header: header(api),
        canceled: true,
        compact_revision: String(keys.compacted),
        cancel_reason,
      });
      return;
    }
    const found = keys.changesFrom(watched.range, next).filter((change) => isWanted(watched, change));
    next = keys.revision + 1;
    if (found.length > 0)
      yield line({
        header: header(api),
        events: found.map((change) => eventBody(change, watched.withPrevious)),
      });
    await host.sleep(POLL_MS);
  }
}

/** One watch a request: the gateway's stream takes no second message. */
export const watch = async (api: Api, call: Call): Promise<Stream> => {
  checkToken(api, call);
  const body = (field(call.body, 'create_request') ?? {}) as Body;
  const watched = {
    range: { key: keyOf(body), end: bytesField(body, 'range_end') },
    start: numberField(body, 'start_revision'),
    withPrevious: booleanField(body, 'prev_kv'),
    filters: (field(body, 'filters') ?? []) as unknown[],
  };
  return { stream: changes(api, watched, call.signal) };
};
