import { AppError } from '../../core/problem.ts';
import { NetworkError } from '../../platform/host.ts';
import type { Bytes, Host, HttpReply, HttpRequest } from '../../platform/host.ts';
import { defaultRow, rowOf, versionFields } from '../../api-specs/etcd/versions.ts';
import type { VersionRow } from '../../api-specs/etcd/versions.ts';
import { callDirect, isGatewaysOwn, isSwitchedOff } from './direct.ts';
import type { PastGateway } from './grpc-call.ts';
import type { Credentials, Endpoint, Json, Versions, Connection } from './endpoint.ts';
import { grpcFrame } from './grpc.ts';
import { hostOf, networkFailure, receiveLimitError, storeError } from './errors.ts';
import { needStoreAnswer } from './store-answer.ts';
import { answersPlainToTls, wantsHttps } from './tls-failure.ts';
import { asTlsFailure } from './tls-probe.ts';

const maxInt32 = 2 ** 31 - 1;

/** spec/store#interfaces: /version has `kvserver` and `kvcluster`; real servers use another prefix. Both are understood. */
const versionsIn = (text: string): Versions | undefined => {
  const body = parsed(text) as Record<string, unknown> | undefined;
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

export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const versionsFrom = async (base: string, get: Connection['get']): Promise<Versions> => {
  const { status, text } = await get('/version');
  if (answersPlainToTls(status, text))
    throw new AppError('network', `${hostOf(base)}: ${wantsHttps}`, { code: 'TLS', httpStatus: status });
  const found = versionsIn(text);
  if (found === undefined)
    throw new AppError(
      'network',
      `${base}/version answered ${status} and no version: is this the client URL of a store?`,
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
      const reply = await followed(host, { ...common, ...request, url: `${base}${request.path}` });
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
  const get: Connection['get'] = async (path) => {
    const reply = await send({ method: 'GET', path });
    return { status: reply.status, text: await textOf(base, reply, endpoint) };
  };
  const versions = async (): Promise<Versions> => {
    const seen = await versionsFrom(base, get);
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

/** Requests of the gateway: one response, or a stream of them. */
const callsOn = (
  base: string,
  parts: Parts,
  ways: Ways,
  past: PastGateway,
): Pick<Connection, 'call' | 'stream'> => {
  const post = (path: string, body: Json) => authorized(parts, path, body);
  return {
    call: async (path, body) => {
      const found = typeof path === 'string' ? path : path(await parts.row.get());
      if (found === undefined)
        throw new AppError('refused', `${base}: this version of the store cannot do that`, {
          code: 'UNIMPLEMENTED',
        });
      return ways.firstOrPast(
        async () => answerIn(base, parts.endpoint, found, await post(found, body)),
        () => callDirect(past, found, body),
      );
    },
    stream: async (path, body) => {
      const reply = await post(path, body);
      if (reply.status !== 200) throw storeError(base, reply.status, parsed(await reply.text()));
      return reply;
    },
  };
};

const answerIn = async (base: string, endpoint: Endpoint, path: string, reply: HttpReply): Promise<Json> => {
  const text = await textOf(base, reply, endpoint);
  // Not every refusal is JSON; a 404 that is not is none of the store's.
  const plain = reply.status === 404 ? undefined : { message: text.trim().slice(0, 300) };
  if (reply.status !== 200) throw storeError(base, reply.status, parsed(text) ?? plain);
  return needStoreAnswer(base, path, parsed(text), text);
};

const isNoStore = (error: unknown): boolean =>
  error instanceof AppError && (error.category === 'network' || error.detail.code === 'UNIMPLEMENTED');
/** Through the gateway, or past it: from the first refusal on that is the gateway's alone. */
const waysIn = (endpoint: Endpoint, send: Parts['send']) => {
  let isPast = false;
  return {
    sendPast: (method: string, message: Bytes = new Uint8Array(), token?: string): Promise<HttpReply> => {
      const headers = {
        'content-type': 'application/grpc',
        te: 'trailers',
        ...(token === undefined ? {} : { token }),
      };
      return send({ method: 'POST', path: method, headers, body: grpcFrame(message), transport: 'http2' });
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
/** Single flight: a failed attempt is forgotten, a good one is kept. spec/store#measured-clients: a log-in per failed request takes a cluster down. */
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
          await send({ method: 'POST', path: `${prefix}${path}`, body: JSON.stringify(user) }),
        ),
      () => callDirect(nobody, path, user),
    );
    return answer['token'] as string | undefined;
  } catch (error) {
    // A user is given but authentication is off: nothing to log in to.
    if (error instanceof AppError && /authentication is not enabled/.test(error.message)) return undefined;
    throw error;
  }
};

/** A token dies with its member's process (spec/store#measured-answers): one new log-in on 401, then the answer stands. */
const authorized = async (parts: Parts, path: string, body: Json): Promise<HttpReply> => {
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
  // The member was replaced by another version since: its prefix may be another one.
  if (parsed(answer) !== undefined) return { ...reply, text: async () => answer };
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

/** spec/store#interfaces: requests to /v3alpha redirect to /v3beta. Only within the same server, with method and body. */
const followed = async (host: Host, request: HttpRequest): Promise<HttpReply> => {
  const reply = await host.network.request(request);
  const location = reply.headers['location'];
  if ((reply.status !== 307 && reply.status !== 308) || location === undefined) return reply;
  const target = new URL(location, request.url);
  if (target.origin !== new URL(request.url).origin) return reply;
  await reply.bytes();
  return host.network.request({ ...request, url: target.href });
};
