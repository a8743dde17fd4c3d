import { compareVersions } from '../../api-specs/etcd/versions.ts';
import { messageOf } from '../../core/problem.ts';
import { type Handler, type Incoming, NetworkError, type Outgoing, type Bytes } from '../../platform/host.ts';
import { decimal } from '../disk/db-file.ts';
import { compareMinors, everyForm, type Form, printedIds } from '../forms.ts';
import type { PeerLink } from '../node/peer-link.ts';
import { compaction, deleteRange, put, range, transportBytes, txn } from './kv.ts';
import {
  alarm,
  defragment,
  hash,
  hashKv,
  snapshot,
  status,
  transferLeader,
  grant,
  keepAlive,
  leases,
  revoke,
  timeToLive,
  watch,
} from './streams.ts';
import {
  authDisable,
  authEnable,
  authenticate,
  authStatus,
  downgrade,
  listedMembers,
  memberAdd,
  memberList,
  memberPromote,
  memberRemove,
  memberUpdate,
  refuseForLearner,
  userAdd,
} from './membership.ts';
import {
  type Api,
  countRequest,
  errorText,
  httpCode,
  requestIn,
  type Rpc,
  RpcError,
  writeSpaced,
  type Body,
} from './rpc.ts';
import { type EtcdMethod, etcdMethods } from '../../api-specs/etcd/messages.ts';
import { decode, encode } from '../../core/protobuf.ts';

const HEALTH_LIMIT_MS = 1_000;
const sickness = async (api: Api): Promise<string | undefined> => {
  const { machine, raft } = api.node;
  if (api.form.healthSeesAlarms && machine.alarms.length > 0) return `ALARM ${machine.alarms[0]?.alarm}`;
  if (raft.leader === undefined) return 'RAFT NO LEADER';
  try {
    await api.node.linearize(HEALTH_LIMIT_MS);
    return undefined;
  } catch {
    return 'RAFT NO LEADER';
  }
};
/**
 * spec/store#interfaces: 200 with a string field `health`; 503 without a quorum
 * (spec/store#measured-versions). Accessible even if authentication is enabled.
 */
const health = async (api: Api, headers: Readonly<Record<string, string>>): Promise<Outgoing> => {
  const reason = await sickness(api);
  const isHealthy = reason === undefined;
  if (api.form.logsHealth) {
    const text = isHealthy ? '/health OK (status code 200)' : '/health error; no leader (status code 503)';
    api.log(isHealthy ? 'I' : 'W', `${api.word}server/api/${api.word}http`, text);
  }
  return { status: isHealthy ? 200 : 503, headers, body: api.form.health(isHealthy, reason ?? '') };
};
/** spec/store#interfaces: string fields kvserver and kvcluster; the same without a quorum. */
export const version = ({ word, version: own, form, node: { machine } }: Api): string =>
  JSON.stringify({
    [`${word}server`]: own,
    [`${word}cluster`]: machine.clusterVersion ?? 'not_decided',
    // It follows the cluster's version within the same look of the monitor.
    ...(form.has.downgrade ? { storage: machine.clusterVersion ?? '' } : {}),
  });
/** A learner is not ready from 3.5.18 on (spec/store#measured-answers). */
const isUnreadyLearner = ({ node, version: own }: Api): boolean =>
  node.machine.membership.isLearner(node.id) && compareVersions(own, '3.5.18') >= 0;
/** Whether it can serve: a linearizable read. Of the alarms only damaged data counts. */
const readiness = async (api: Api, headers: Readonly<Record<string, string>>): Promise<Outgoing> => {
  const { machine } = api.node;
  const isReading = await api.node.linearize().then(
    () => true,
    () => false,
  );
  if (isReading && !machine.has('CORRUPT') && !isUnreadyLearner(api))
    return { status: 200, headers, body: 'ok\n' };
  if (isReading && isUnreadyLearner(api))
    return { status: 503, headers, body: '[-]non_learner failed: not supported for learner\n' };
  const failed = isReading
    ? 'data_corruption failed: alarm activated: CORRUPT'
    : 'linearizable_read failed: context deadline exceeded';
  return { status: 503, headers, body: `[-]${failed}\n` };
};
/** A member writes the times of its requests to a peer after the first record. */
const roundTripMetrics = ({ id, roundTrips }: PeerLink): (readonly [string, number])[] =>
  roundTrips.count === 0
    ? []
    : (['sum', 'count'] as const).map((what) => [
        `network_peer_round_trip_time_seconds_${what}{To="${id}"}`,
        roundTrips[what],
      ]);
/** From 3.4 on, a member counts the connections that it opened, and those that it lost. */
const peerMetrics = ({ node, form }: Api): (readonly [string, number])[] =>
  node.links.values().flatMap((link): (readonly [string, number])[] => {
    const labels = `{Local="${node.id}",Remote="${link.id}"}`;
    const always = [
      [`network_peer_sent_failures_total{To="${link.id}"}`, link.failures] as const,
      ...roundTripMetrics(link),
    ];
    if (!form.has.learners) return always;
    return [
      [`network_active_peers${labels}`, link.isActive ? 1 : 0],
      [`network_disconnected_peers_total${labels}`, link.disconnects],
      ...always,
    ];
  });
/** A member writes the bytes of heartbeats after the first one. */
const beatMetrics = ({ node }: Api): (readonly [string, number])[] => {
  const bytes = node.links.values().reduce((sum, link) => sum + link.beatBytes, 0);
  return bytes === 0 ? [] : [['network_peer_received_bytes_total{From="0"}', bytes]];
};
const metrics = (api: Api): string => {
  const { raft, machine } = api.node;
  const keys = machine.keys.range({ key: '\0', end: '\0', countOnly: true });
  const lines: readonly (readonly [string, number])[] = [
    ['server_has_leader', raft.leader === undefined ? 0 : 1],
    ['server_is_leader', raft.isLeading ? 1 : 0],
    ['server_proposals_applied_total', machine.applied],
    ['server_proposals_committed_total', raft.commit],
    ['mvcc_db_total_size_in_bytes', machine.fileBytes],
    ['debugging_mvcc_keys_total', 'count' in keys ? keys.count : 0],
  ];
  const text = [...lines, ...peerMetrics(api), ...beatMetrics(api), ...[...api.counters].sort()].map(
    ([name, value]) => `${api.word}_${name} ${value}\n`,
  );
  const started = `process_start_time_seconds ${api.startedAt / 1000}\n`;
  return `${started}${printedIds(text.join(''))}${api.word}_server_version{server_version="${api.version}"} 1\n`;
};
const v2Members = (api: Api): string => {
  const members = listedMembers(api).map(({ isLearner: _, ...member }) => member);
  return JSON.stringify({ members });
};
const v2Stats = (api: Api, path: string): string => {
  const { raft } = api.node;
  if (path.endsWith('/self')) {
    return JSON.stringify({
      name: api.settings.name,
      id: printedIds(api.node.id),
      state: raft.isLeading ? 'StateLeader' : 'StateFollower',
      leaderInfo: { leader: printedIds(raft.leader ?? '') },
    });
  }
  if (path.endsWith('/leader')) return JSON.stringify({ leader: decimal(raft.leader ?? ''), followers: {} });
  return JSON.stringify({
    getsSuccess: 0,
    setsSuccess: Math.ceil(api.v2Bytes / V2_VALUE),
    createSuccess: Math.ceil(api.v2Bytes / V2_VALUE),
    watchers: 0,
  });
};
const v2Missing = (api: Api, path: string): string =>
  `${JSON.stringify({ errorCode: 100, message: 'Key not found', cause: path.slice('/v2/keys'.length), index: api.node.machine.applied })}\n`;
const V2_VALUE = 64 * 1024;
/** Synthetic v2 data, generated in values of 64 KiB while it is read. */
const v2Keys = (api: Api, query: string): AsyncIterable<Uint8Array> | string => {
  const dir = { key: '/rehearsal', dir: true, modifiedIndex: 4, createdIndex: 4 };
  const nodes = api.v2Bytes === 0 ? [] : [dir];
  if (!/recursive=true/.test(query) || api.v2Bytes === 0)
    return JSON.stringify({ action: 'get', node: { dir: true, nodes } });
  return (async function* () {
    yield Buffer.from('{"action":"get","node":{"dir":true,"nodes":[{"key":"/rehearsal","dir":true,"nodes":[');
    const value = 'x'.repeat(V2_VALUE);
    for (let i = 0, left = api.v2Bytes; left > 0; i += 1, left -= V2_VALUE) {
      const node = {
        key: `/rehearsal/${i}`,
        value: value.slice(0, Math.min(V2_VALUE, left)),
        modifiedIndex: i + 5,
        createdIndex: i + 5,
      };
      yield Buffer.from(`${i === 0 ? '' : ','}${JSON.stringify(node)}`);
    }
    yield Buffer.from('],"modifiedIndex":4,"createdIndex":4}]}}');
  })();
};

const json = { 'content-type': 'application/json', 'x-simulated': 'a rehearsal, not a database' };
const plain = { 'content-type': 'text/plain; charset=utf-8', 'x-simulated': 'a rehearsal, not a database' };
const notFound: Outgoing = { status: 404, headers: plain, body: '404 page not found\n' };
const notAllowed: Outgoing = { status: 405, headers: plain, body: 'Method Not Allowed\n' };
const tokenOf = (api: Api, request: Incoming): string | undefined =>
  api.form.tokenHeaders
    .map((name) => request.headers[name])
    .find((value) => value !== undefined && value !== '')
    ?.replace(api.form.isGateway2 ? /^Bearer / : /^$/, '');
/**
 * Base64 adds a third, names and brackets the rest. A larger body cannot be a request that a member accepts.
 */
const bodyBytes = (api: Api): number => 2 * transportBytes(api);
/** The error message of the transport behind the gateway. */
const tooLarge = (api: Api): RpcError =>
  new RpcError(
    8,
    `grpc: received message larger than max (more than ${bodyBytes(api)} vs. ${transportBytes(api)})`,
  );
const textOf = async (api: Api, request: Incoming): Promise<string> => {
  const bytes = await request.read(bodyBytes(api)).catch((error: unknown) => {
    throw error instanceof NetworkError && error.code === 'TOO_LARGE' ? tooLarge(api) : error;
  });
  return Buffer.from(bytes).toString('utf8');
};
const gateway = async (api: Api, path: string, rpc: Rpc, request: Incoming): Promise<Outgoing> => {
  try {
    const text = await textOf(api, request);
    const body = requestIn(text, api.form.takesNothing);
    refuseForLearner(api, path, body);
    const result = await rpc(api, {
      body,
      token: tokenOf(api, request),
      signal: request.signal,
    });
    if ('stream' in result)
      return { status: 200, headers: json, body: result.stream as AsyncIterable<Uint8Array> };
    return {
      status: 200,
      headers: json,
      body: api.form.isSpaced ? writeSpaced(result) : JSON.stringify(result),
    };
  } catch (error) {
    const known = error instanceof RpcError ? error : new RpcError(2, messageOf(error));
    return {
      status: httpCode(known.code, api.form),
      headers: json,
      body: errorText(api.form, known.code, known.message),
    };
  }
};
/** From 3.3 on, a member counts requests by the version that a client reports. The gateway reports none. */
const countClient = (api: Api, reported = 'unknown'): void => {
  const version = reported.replace(/[^\w.-]/g, '_');
  if (api.form.has.leases)
    countRequest(api, `server_client_requests_total{client_api_version="${version}",type="unary"}`);
};
/**
 * A real member counts a request of the v2 interface by its method, a recursive read also as such, and a failed
 * request by its code.
 */
const countV2 = (api: Api, path: string, query: string, method: string): void => {
  countRequest(api, `http_received_total{method="${method}"}`);
  if (/^\/v2\/keys\/./.test(path) && ['GET', 'HEAD'].includes(method))
    countRequest(api, `http_failed_total{code="404",method="${method}"}`);
  if (['GET', 'HEAD'].includes(method) && /recursive=true/.test(query))
    countRequest(api, 'debugging_store_reads_total{action="getRecursive"}');
};
type Page = (api: Api, request: Incoming) => Outgoing | Promise<Outgoing>;
const getOnly =
  (page: Page): Page =>
  (api, request) =>
    request.method === 'GET' ? page(api, request) : notAllowed;
const root: Page = () => ({
  status: 200,
  headers: plain,
  body: 'A simulated member for rehearsals. It is not a database: do not keep data in it.\n',
});
/** Paths of every version, outside the gateway. */
const pages: Readonly<Record<string, Page>> = {
  '': root,
  '/': root,
  '/health': getOnly((api) => health(api, plain)),
  '/version': getOnly((api) => ({ status: 200, headers: json, body: version(api) })),
  '/metrics': (api) => ({ status: 200, headers: plain, body: metrics(api) }),
  '/readyz': (api) => (api.form.has.readyz ? readiness(api, plain) : notFound),
  '/livez': ({ form }) => (form.has.readyz ? { status: 200, headers: plain, body: 'ok\n' } : notFound),
  '/config/local/log': ({ form }, { method }) => {
    if (form.logLines === 'json') return { status: 404, headers: plain };
    return { status: method === 'PUT' ? 204 : 405, headers: plain };
  },
};
/** The v2 API, as far as a member without v2 data has one. */
const atV2Path = (api: Api, path: string, query: string, { method }: Incoming): Outgoing => {
  if (path === '/v2/members') return { status: 200, headers: json, body: v2Members(api) };
  if (path.startsWith('/v2/stats/')) return { status: 200, headers: json, body: v2Stats(api, path) };
  if (!path.startsWith('/v2/keys')) return notFound;
  countV2(api, path, query, method);
  if (method === 'HEAD')
    return { status: path === '/v2/keys' || path === '/v2/keys/' ? 200 : 404, headers: json };
  if (method !== 'GET')
    return {
      status: 501,
      headers: json,
      body: `${JSON.stringify({ message: 'a simulated member does not accept v2 data; --v2-size generates some' })}\n`,
    };
  if (path === '/v2/keys' || path === '/v2/keys/')
    return { status: 200, headers: json, body: v2Keys(api, query) };
  return path.startsWith('/v2/keys/') ? { status: 404, headers: json, body: v2Missing(api, path) } : notFound;
};
const atPlainPath = (
  api: Api,
  path: string,
  query: string,
  request: Incoming,
): Outgoing | Promise<Outgoing> => {
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (page !== undefined) return page(api, request);
  return api.form.has.v2 ? atV2Path(api, path, query, request) : notFound;
};
/**
 * Calls that real members support and a rehearsal does not. The response states this, instead of reporting an
 * unknown path.
 */
const isLeftOut = (path: string): boolean => /^\/auth\/(user|role)\/[a-z]+$/.test(path);
const leftOut =
  (path: string): Rpc =>
  async () => {
    throw new RpcError(12, `a simulated member is a rehearsal and does not support ${path}`);
  };
/**
 * spec/program#choices: spec/store specifies that requests to /v3alpha redirect; 308 keeps method and body.
 */
const movedTo = ({ form }: Api, path: string): string | undefined => {
  const moved = Object.entries(form.redirects).find(([from]) => path.startsWith(`${from}/`));
  return moved && `${moved[1]}${path.slice(moved[0].length)}`;
};
const noSuchCall = ({ form }: Api): Outgoing =>
  form.isGateway2
    ? { status: 404, headers: json, body: errorText(form, 5, 'Not Found') }
    : { status: 404, headers: plain, body: 'Not Found\n' };
const wrongMethod = ({ form }: Api): Outgoing =>
  form.isGateway2
    ? { status: 501, headers: json, body: errorText(form, 12, 'Method Not Allowed') }
    : notAllowed;
/**
 * All responses of a member to its clients. `ready` resolves after it has joined the cluster; requests wait
 * for it.
 */
export const clientHandler =
  (api: Api, routes: Readonly<Record<string, Rpc>>, ready: Promise<void>): Handler =>
  async (request) => {
    await ready;
    if (api.faults.delayMs > 0) await api.host.sleep(api.faults.delayMs);
    const [path = '', query = ''] = request.url.split('?');
    const location = movedTo(api, path);
    if (location !== undefined) return { status: 308, headers: { location } };
    const prefix = api.form.prefixes.find((one) => path.startsWith(`${one}/`));
    if (prefix === undefined) return atPlainPath(api, path, query, request);
    const call = path.slice(prefix.length);
    const rpc = routes[call] ?? (isLeftOut(call) ? leftOut(path) : undefined);
    if (rpc === undefined) return noSuchCall(api);
    if (request.method !== 'POST') return wrongMethod(api);
    countClient(api);
    return gateway(api, call, rpc, request);
  };

type Routes = Readonly<Record<string, Rpc>>;
/** The responses of each version below its gateway prefix (spec/store#measured-versions). */
export const routesOf = (form: Form): Routes => ({
  '/kv/put': put,
  '/kv/range': range,
  '/kv/deleterange': deleteRange,
  '/kv/txn': txn,
  '/watch': watch,
  '/kv/compaction': compaction,
  '/lease/grant': grant,
  '/lease/keepalive': keepAlive,
  '/kv/lease/revoke': revoke,
  '/kv/lease/timetolive': timeToLive,
  '/maintenance/status': status,
  '/maintenance/alarm': alarm,
  '/maintenance/hash': hash,
  '/maintenance/defragment': defragment,
  '/maintenance/snapshot': snapshot,
  '/cluster/member/list': memberList,
  '/cluster/member/add': memberAdd,
  '/cluster/member/update': memberUpdate,
  '/cluster/member/remove': memberRemove,
  ...(form.has.learners ? { '/cluster/member/promote': memberPromote } : {}),
  '/auth/authenticate': authenticate,
  '/auth/enable': authEnable,
  '/auth/disable': authDisable,
  '/auth/user/add': userAdd,
  ...(form.has.leases ? { '/kv/lease/leases': leases } : {}),
  ...(form.has.newLeasePaths
    ? { '/lease/leases': leases, '/lease/revoke': revoke, '/lease/timetolive': timeToLive }
    : {}),
  ...(form.has.transferLeader ? { '/maintenance/transfer-leadership': transferLeader } : {}),
  ...(form.has.hashKv ? { '/maintenance/hashkv': hashKv, '/maintenance/downgrade': downgrade } : {}),
  ...(form.has.authStatus ? { '/auth/status': authStatus } : {}),
});
/** Responses that all versions share: gRPC has calls that the gateway does not have. */
const clientRoutes: Routes = routesOf(everyForm);

const HEAD = 5;
/** A message behind its flag and length, as gRPC puts it into the body. */
const frame = (message: Buffer): Buffer => {
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};
const lengthIn = (pending: Buffer, most: number): number => {
  if (pending[0] !== 0) throw new RpcError(12, 'grpc: Decompressor is not installed for grpc-encoding');
  const length = pending.readUInt32BE(1);
  if (length > most) throw new RpcError(8, `grpc: received message larger than max (${length} vs. ${most})`);
  return length;
};
/** Yields the messages of a body, each with at most the given size, as soon as they are complete. */
export async function* framesOf(body: AsyncIterable<Bytes>, most: number): AsyncGenerator<Buffer> {
  let pending = Buffer.alloc(0);
  for await (const chunk of body) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= HEAD && pending.length >= HEAD + lengthIn(pending, most)) {
      const end = HEAD + lengthIn(pending, most);
      yield pending.subarray(HEAD, end);
      pending = pending.subarray(end);
    }
  }
  if (pending.length > 0) throw new RpcError(13, 'unexpected EOF');
}

export const isGrpcCall = ({ headers }: Incoming): boolean =>
  (headers['content-type'] ?? '').startsWith('application/grpc');
/** Headers may only hold printable ASCII: the rest is percent-encoded (gRPC over HTTP/2, "Status-Message"). */
const percentEncode = (message: string): string =>
  message.replace(/[^\x20-\x24\x26-\x7e]/gu, (one) => encodeURIComponent(one));
const methodAt = (api: Api, path: string): { readonly row: EtcdMethod; readonly rpc: Rpc } => {
  const row = Object.hasOwn(etcdMethods, path) ? etcdMethods[path] : undefined;
  const rpc = row === undefined ? undefined : clientRoutes[row.path];
  if (row !== undefined && rpc !== undefined && compareMinors(row.since, api.form.minor) <= 0)
    return { row, rpc };
  const [, service = '', method = ''] = path.split('/');
  throw new RpcError(12, `unknown method ${method} for service ${service} (a simulated member)`);
};
/** The pieces of a stream are lines of the gateway's JSON. */
async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Body> {
  for await (const line of stream) {
    const { result, error } = JSON.parse(Buffer.from(line).toString('utf8')) as {
      result?: Body;
      error?: { grpc_code: number; message: string };
    };
    if (error !== undefined) throw new RpcError(error.grpc_code, error.message);
    if (result !== undefined) yield result;
  }
}
async function* messagesFor(api: Api, request: Incoming): AsyncGenerator<Buffer> {
  const { row, rpc } = methodAt(api, request.url);
  countClient(api, request.headers['client-api-version']);
  const token = request.headers['token'] ?? request.headers['authorization'];
  for await (const message of framesOf(request.body(), transportBytes(api))) {
    const body = decode(row.request, message);
    refuseForLearner(api, row.path, body);
    const result = await rpc(api, { body, token });
    if (!('stream' in result)) yield frame(encode(row.response, result));
    else
      for await (const one of linesOf(result.stream as AsyncIterable<Uint8Array>))
        yield frame(encode(row.response, one));
  }
}
/** The JSON responses of the gateway, for ordinary ctl programs and client libraries. */
export const grpcHandler =
  (api: Api, ready: Promise<void>): Handler =>
  async (request) => {
    await ready;
    if (api.faults.delayMs > 0) await api.host.sleep(api.faults.delayMs);
    let failure: RpcError | undefined;
    const body = (async function* () {
      try {
        yield* messagesFor(api, request);
      } catch (error) {
        failure = error instanceof RpcError ? error : new RpcError(2, messageOf(error));
      }
    })();
    return {
      status: 200,
      headers: { 'content-type': 'application/grpc' },
      body,
      trailers: (): Record<string, string> =>
        failure === undefined
          ? { 'grpc-status': '0' }
          : { 'grpc-status': String(failure.code), 'grpc-message': percentEncode(failure.message) },
    };
  };
