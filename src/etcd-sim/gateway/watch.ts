import { type Change, failures } from '../state/keyspace.ts';
import { proposeCommand, checkToken, header, keyOf, kvBody, awaitLinearizable } from './kv.ts';
import {
  type Api,
  bigField,
  type Body,
  booleanField,
  bytesField,
  type Call,
  field,
  omitZeros,
  numberField,
  yieldOnce,
  RpcError,
  type Stream,
} from './rpc.ts';

/** How soon a change is noticed. */
const POLL_MS = 20;
const line = (result: Body): Buffer => Buffer.from(`${JSON.stringify({ result })}\n`);
const eventBody = ({ kv, key, mod, previous }: Change, withPrevious: boolean): Body => ({
  ...(kv === undefined ? { type: 'DELETE' } : {}),
  kv:
    kv === undefined
      ? omitZeros({ key: Buffer.from(key, 'latin1').toString('base64'), mod_revision: String(mod) })
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
/**
 * Sends the first response, then the committed changes from a revision on, until the client disconnects or
 * this member stops.
 */
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
/** One watch per request: the gateway's stream accepts no second message. */
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

const LONGEST_TTL = 9_000_000_000;
const freshId = (api: Api): string => {
  const bytes = Buffer.from(api.host.random(8));
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.readBigUInt64BE().toString();
};
export const grant = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const asked = bigField(call.body, 'ID');
  const id = asked === '0' ? freshId(api) : asked;
  if (numberField(call.body, 'TTL') > LONGEST_TTL) throw new RpcError(11, 'etcdserver: too large lease TTL');
  // The minimum TTL of a lease is longer than an election.
  const ttl = Math.max(numberField(call.body, 'TTL'), Math.ceil((3 * api.settings.electionMs) / 2000));
  const { revision } = await proposeCommand(api, { op: 'grant', id, ttl });
  return { header: header(api, revision), ID: id, TTL: String(ttl) };
};
export const revoke = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const { revision } = await proposeCommand(api, { op: 'revoke', id: bigField(call.body, 'ID') });
  return { header: header(api, revision) };
};
/** spec/store#measured-answers: an unknown or expired lease returns 200 with TTL -1. */
export const timeToLive = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const id = bigField(call.body, 'ID');
  await awaitLinearizable(api);
  const lease = api.node.machine.leases.get(id);
  const remaining = lease === undefined ? undefined : await api.lessor.remainingSeconds(id);
  if (lease === undefined || remaining === undefined)
    return { header: header(api), ...omitZeros({ ID: id }), TTL: '-1' };
  const keys = booleanField(call.body, 'keys')
    ? api.node.machine.leaseKeys(id).map((key) => Buffer.from(key, 'latin1').toString('base64'))
    : [];
  return {
    header: header(api),
    ID: id,
    ...omitZeros({ TTL: String(remaining), grantedTTL: String(lease.ttl), keys }),
  };
};
export const leases = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  return {
    header: header(api),
    ...omitZeros({ leases: [...api.node.machine.leases.keys()].map((ID) => ({ ID })) }),
  };
};
export const keepAlive = async (api: Api, call: Call): Promise<Stream> => {
  checkToken(api, call);
  const id = bigField(call.body, 'ID');
  const ttl = await api.lessor.renew(id);
  if (ttl === undefined && api.node.machine.leases.has(id))
    throw new RpcError(failures.noLease.code, 'etcdserver: no leader');
  const result = { header: header(api), ID: id, ...omitZeros({ TTL: String(ttl ?? 0) }) };
  return { stream: yieldOnce(Buffer.from(`${JSON.stringify({ result })}\n`)) };
};
