import { failures } from '../state/keyspace.ts';
import { bigField, booleanField, numberField } from './fields.ts';
import { agreed, checkToken, header, linearized } from './kv.ts';
import { type Api, type Body, type Call, RpcError, type Stream, filled, once } from './rpc.ts';

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
  // A lease lives at least longer than an election takes.
  const ttl = Math.max(numberField(call.body, 'TTL'), Math.ceil((3 * api.settings.electionMs) / 2000));
  const { revision } = await agreed(api, { op: 'grant', id, ttl });
  return { header: header(api, revision), ID: id, TTL: String(ttl) };
};

export const revoke = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const { revision } = await agreed(api, { op: 'revoke', id: bigField(call.body, 'ID') });
  return { header: header(api, revision) };
};

/** spec/store#measured-answers: an unknown or expired lease answers 200 with TTL -1. */
export const timeToLive = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const id = bigField(call.body, 'ID');
  await linearized(api);
  const lease = api.node.machine.leases.get(id);
  const remaining = lease === undefined ? undefined : await api.lessor.remainingSeconds(id);
  if (lease === undefined || remaining === undefined)
    return { header: header(api), ...filled({ ID: id }), TTL: '-1' };
  const keys = booleanField(call.body, 'keys')
    ? api.node.machine.leaseKeys(id).map((key) => Buffer.from(key, 'latin1').toString('base64'))
    : [];
  return {
    header: header(api),
    ID: id,
    ...filled({ TTL: String(remaining), grantedTTL: String(lease.ttl), keys }),
  };
};

export const leases = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  return {
    header: header(api),
    ...filled({ leases: [...api.node.machine.leases.keys()].map((ID) => ({ ID })) }),
  };
};

export const keepAlive = async (api: Api, call: Call): Promise<Stream> => {
  checkToken(api, call);
  const id = bigField(call.body, 'ID');
  const ttl = await api.lessor.renew(id);
  if (ttl === undefined && api.node.machine.leases.has(id))
    throw new RpcError(failures.noLease.code, 'etcdserver: no leader');
  const result = { header: header(api), ID: id, ...filled({ TTL: String(ttl ?? 0) }) };
  return { stream: once(Buffer.from(`${JSON.stringify({ result })}\n`)) };
};
