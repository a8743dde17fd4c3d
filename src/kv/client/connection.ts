import { defaultRow, rowOf, versionFields, type VersionRow } from '../../api-specs/etcd/versions.ts';
import { cutText, AppError } from '../../core/problem.ts';
import { decode, encode } from '../../core/protobuf.ts';
import { isRecord } from '../../core/shape.ts';
import { excerptOf } from '../../core/redact-secrets.ts';
import {
  type Bytes,
  type Host,
  type HttpReply,
  type HttpRequest,
  NetworkError,
} from '../../platform/host.ts';
import {
  type Connection,
  type Credentials,
  type Endpoint,
  type Json,
  type Versions,
  directCalls,
  grpcCall,
  grpcFrame,
  type PastGateway,
} from './messages.ts';
import { hostOf, networkFailure, receiveLimitError, storeError } from './errors.ts';
import { answersPlainToTls, wantsHttps, asTlsFailure } from './certificates.ts';

/** Makes a gateway call through the gRPC API instead and returns the same response. */
export const callDirect = async (connection: PastGateway, path: string, body: Json): Promise<Json> => {
  const { url, maxReceiveBytes = Number.POSITIVE_INFINITY } = connection.endpoint;
  const row = directCalls[path];
  if (row === undefined)
    throw new AppError('refused', `${url}: ${path} is not a call of etcd`, {
      code: 'UNIMPLEMENTED',
    });
  const answer = await grpcCall(connection, `/etcdserverpb.${row.method}`, encode(row.request, body));
  if (answer.length > maxReceiveBytes) throw receiveLimitError(maxReceiveBytes);
  return decode(row.answer, answer);
};
/**
 * Returns whether the gateway is switched off (404 without an etcd error body). The server may also not be
 * etcd at all. Then the first error is more useful than the second.
 */
const isSwitchedOff = (error: unknown): boolean =>
  error instanceof AppError && error.detail.code === 'NO_GATEWAY';
/**
 * Returns whether only the gateway caused the error, so that the gRPC API may still work. Real servers return
 * these errors with `--client-cert-auth`: the gateway calls its own member with the member's certificate,
 * which may not be valid for clients or may belong to another user. From 3.4 on the gateway rejects client
 * certificates with a Common Name while authentication is on. The server has not executed the request.
 */
export const isGatewaysOwn = (error: unknown, { url, tls, user, isGatewayOnly }: Endpoint): boolean => {
  // 3.4 switches the gateway off if its configuration file does not set the option.
  if (isSwitchedOff(error)) return true;
  if (!(error instanceof AppError) || !url.startsWith('https:') || isGatewayOnly === true) return false;
  const { code } = error.detail;
  if (code === 'GATEWAY_CERTIFICATE' || code === 'CERTIFICATE_NAME') return true;
  // On 3.2 the user of a certificate overrides a token, and the gateway uses the member's own certificate.
  return (
    tls?.cert !== undefined &&
    (code === 'PERMISSION_DENIED' || (user === undefined && code === 'USER_NEEDED'))
  );
};

/** Paths whose successful response includes a header with the member and cluster id (spec/store#errors). */
const WITH_HEADER =
  /\/(kv\/(put|range|deleterange|txn|compaction)|(kv\/)?lease\/(grant|revoke|leases)|cluster\/member\/\w+)$/;
const isOfStore = (path: string, { header, member, members }: Json): boolean =>
  !WITH_HEADER.test(path) || [header, member].some(isRecord) || Array.isArray(members);
/**
 * Returns the response if etcd sent it. A proxy, a sign-in page or another service may also return 200. Such
 * a response does not prove that a key was written or that a key does not exist.
 */
const needStoreAnswer = (base: string, path: string, value: unknown, text: string): Json => {
  if (isRecord(value) && isOfStore(path, value)) return value;
  const got = text.trim() === '' ? 'is empty' : `reads ${excerptOf(text)}`;
  throw new AppError('network', `${hostOf(base)}: unexpected response to ${path}: it ${got}`, {
    code: 'NOT_PROVEN',
    httpStatus: 200,
    tryThis: [
      'check the endpoint: a proxy or another service may have responded',
      'check whether a change was made before you send it again',
    ],
  });
};

const maxInt32 = 2 ** 31 - 1;
/**
 * Parses the response of /version. The spec uses `kvserver` and `kvcluster` (spec/store#interfaces), and real
 * servers use another prefix. opsctl accepts both.
 */
const versionsIn = (text: string): Versions | undefined => {
  const body = parseJson(text) as Record<string, unknown> | undefined;
  const first = (names: readonly string[]): string | undefined =>
    names.map((name) => body?.[name]).find((value) => typeof value === 'string') as string | undefined;
  const server = first(versionFields.server);
  if (server === undefined) return undefined;
  const storage = first(versionFields.storage);
  return {
    server,
    cluster: first(versionFields.cluster) ?? 'not_decided',
    ...(storage === undefined ? {} : { storage }),
  };
};
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
const versionsFrom = async (
  base: string,
  { contactMs }: Endpoint,
  get: Connection['get'],
): Promise<Versions> => {
  const { status, text } = await get('/version', { limitMs: contactMs });
  if (answersPlainToTls(status, text))
    throw new AppError('network', `${hostOf(base)}: ${wantsHttps}`, { code: 'TLS', httpStatus: status });
  const found = versionsIn(text);
  if (found === undefined)
    throw new AppError(
      'network',
      `${base}/version returned ${status} without a version: check that this is the client URL of a member`,
      {
        code: 'NOT_A_STORE',
        httpStatus: status,
      },
    );
  return found;
};
const senderTo = (host: Host, base: string, endpoint: Endpoint): Parts['send'] => {
  const { tls, timeoutMs, signal, maxReceiveBytes = maxInt32 } = endpoint;
  const common = { tls, timeoutMs, connectTimeoutMs: timeoutMs, signal, maxReplyBytes: maxReceiveBytes };
  let hasAnswered = false;
  return async (request) => {
    try {
      const reply = await followRedirect(host, { ...common, ...request, url: `${base}${request.path}` });
      hasAnswered = true;
      return reply;
    } catch (error) {
      throw (
        (hasAnswered ? undefined : await asTlsFailure(host, base, tls, error)) ?? networkFailure(base, error)
      );
    }
  };
};
export const connect = (host: Host, endpoint: Endpoint): Connection => {
  const base = endpoint.url.replace(/\/+$/, '');
  const send = senderTo(host, base, endpoint);
  const get: Connection['get'] = async (path, { method = 'GET', limitMs } = {}) => {
    const limits = limitMs === undefined ? {} : { timeoutMs: limitMs, connectTimeoutMs: limitMs };
    const reply = await send({ method, path, ...limits });
    return { status: reply.status, text: await textOf(base, reply, endpoint) };
  };
  const versions = async (): Promise<Versions> => {
    const seen = await versionsFrom(base, endpoint, get);
    row.keep(rowOf(seen.server) ?? defaultRow);
    return seen;
  };
  const row: Once<VersionRow> = once(async () => rowOf((await versions()).server) ?? defaultRow);
  const ways = waysIn(endpoint, send);
  const token = once(async () =>
    endpoint.user === undefined ? undefined : logIn(base, endpoint.user, row, send, ways),
  );
  const past: PastGateway = {
    endpoint,
    grpc: async (method, message) => ways.sendPast(method, message, await token.get()),
    forgetToken: token.forget,
  };
  return {
    ...past,
    get,
    versions,
    row: row.get,
    ...callsOn(base, { row, token, endpoint, send }, ways, past),
  };
};
/** Gateway requests with a single response or a stream. */
const callsOn = (
  base: string,
  parts: Parts,
  ways: Ways,
  past: PastGateway,
): Pick<Connection, 'call' | 'stream'> => {
  const post = (path: string, body: Json) => sendAuthorized(parts, path, body);
  return {
    call: async (path, body) => {
      const found = typeof path === 'string' ? path : path(await parts.row.get());
      if (found === undefined)
        throw new AppError('refused', `${base}: this version of etcd does not support the call`, {
          code: 'UNIMPLEMENTED',
        });
      return ways.firstOrPast(
        async () => answerIn(base, parts.endpoint, found, await post(found, body)),
        () => callDirect(past, found, body),
      );
    },
    stream: async (path, body) => {
      const reply = await post(path, body);
      if (reply.status !== 200) throw storeError(base, reply.status, parseJson(await reply.text()));
      return reply;
    },
  };
};
const answerIn = async (base: string, endpoint: Endpoint, path: string, reply: HttpReply): Promise<Json> => {
  const text = await textOf(base, reply, endpoint);
  // Some errors are not JSON. A 404 that is not JSON does not come from etcd.
  const plain = reply.status === 404 ? undefined : { message: cutText(text.trim(), 300) };
  if (reply.status !== 200) throw storeError(base, reply.status, parseJson(text) ?? plain);
  return needStoreAnswer(base, path, parseJson(text), text);
};
const isNoStore = (error: unknown): boolean =>
  error instanceof AppError && (error.category === 'network' || error.detail.code === 'UNIMPLEMENTED');
/**
 * Sends requests through the gateway until an error that only the gateway causes. Then it uses the gRPC API.
 */
const waysIn = (endpoint: Endpoint, send: Parts['send']) => {
  let isPast = false;
  return {
    sendPast: (method: string, message: Bytes = new Uint8Array(), token?: string): Promise<HttpReply> => {
      const headers = {
        'content-type': 'application/grpc',
        te: 'trailers',
        ...(token === undefined ? {} : { token }),
      };
      return send({
        method: 'POST',
        path: method,
        headers,
        body: grpcFrame(message),
        transport: 'http2',
        // Only this message contains a password. All other requests send a token in their headers.
        ...(method.endsWith('/Authenticate') ? { needsTls: true } : {}),
      });
    },
    firstOrPast: async (first: () => Promise<Json>, past: () => Promise<Json>): Promise<Json> => {
      if (isPast) return past();
      try {
        return await first();
      } catch (error) {
        if (!isGatewaysOwn(error, endpoint)) throw error;
        const answer = await past().catch((second: unknown) => {
          isPast = !isSwitchedOff(error) || !isNoStore(second);
          throw isPast ? second : error;
        });
        isPast = true;
        return answer;
      }
    },
  };
};
type Once<T> = { get(): Promise<T>; keep(value: T): void; forget(): void };
/**
 * Runs one attempt at a time and keeps only a successful result. A login for each failed request can overload
 * a cluster (spec/store#measured-clients).
 */
const once = <T>(make: () => Promise<T>): Once<T> => {
  let made: Promise<T> | undefined;
  return {
    get: () => {
      made ??= make().catch((error: unknown) => {
        made = undefined;
        throw error;
      });
      return made;
    },
    keep: (value) => {
      made = Promise.resolve(value);
    },
    forget: () => {
      made = undefined;
    },
  };
};
type Parts = {
  readonly row: Once<VersionRow>;
  readonly token: Once<string | undefined>;
  readonly endpoint: Endpoint;
  readonly send: (request: Omit<HttpRequest, 'url'> & { path: string }) => Promise<HttpReply>;
};
type Ways = ReturnType<typeof waysIn>;
const logIn = async (
  base: string,
  user: Credentials,
  row: Once<VersionRow>,
  send: Parts['send'],
  ways: Ways,
): Promise<string | undefined> => {
  const path = '/auth/authenticate';
  const nobody: PastGateway = { endpoint: { url: base }, grpc: ways.sendPast, forgetToken: () => {} };
  try {
    const { prefix } = await row.get();
    const answer = await ways.firstOrPast(
      async () =>
        answerIn(
          base,
          { url: base },
          path,
          await send({
            method: 'POST',
            path: `${prefix}${path}`,
            body: JSON.stringify(user),
            needsTls: true,
          }),
        ),
      () => callDirect(nobody, path, user),
    );
    return answer['token'] as string | undefined;
  } catch (error) {
    // A user is configured, but authentication is off, so no login is needed.
    if (error instanceof AppError && /authentication is not enabled/.test(error.message)) return undefined;
    throw error;
  }
};
/**
 * Logs in again once after a 401. A token becomes invalid when its member restarts
 * (spec/store#measured-answers).
 */
const sendAuthorized = async (parts: Parts, path: string, body: Json): Promise<HttpReply> => {
  const attempt = async (): Promise<HttpReply> => {
    const [row, token] = [await parts.row.get(), await parts.token.get()];
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (token !== undefined) headers[row.authHeader] = token;
    return parts.send({ method: 'POST', path: `${row.prefix}${path}`, body: JSON.stringify(body), headers });
  };
  const reply = await attempt();
  if (reply.status === 401 && parts.endpoint.user !== undefined) {
    await reply.bytes();
    parts.token.forget();
    return attempt();
  }
  if (reply.status !== 404) return reply;
  const answer = await reply.text();
  // The member may have changed its version, and the path prefix depends on the version.
  if (parseJson(answer) !== undefined) return { ...reply, text: async () => answer };
  parts.row.forget();
  return attempt();
};
const textOf = async (base: string, reply: HttpReply, endpoint: Endpoint): Promise<string> => {
  try {
    return await reply.text();
  } catch (error) {
    if (error instanceof NetworkError && error.code === 'TOO_LARGE')
      throw receiveLimitError(endpoint.maxReceiveBytes ?? maxInt32);
    throw networkFailure(base, error);
  }
};
/**
 * Follows the redirect from /v3alpha to /v3beta (spec/store#interfaces), within the same origin and with the
 * same method and body.
 */
const followRedirect = async (host: Host, request: HttpRequest): Promise<HttpReply> => {
  const reply = await host.network.request(request);
  const location = reply.headers['location'];
  if ((reply.status !== 307 && reply.status !== 308) || location === undefined) return reply;
  const target = new URL(location, request.url);
  if (target.origin !== new URL(request.url).origin) return reply;
  await reply.bytes();
  return host.network.request({ ...request, url: target.href });
};
