import type { Dispatcher } from 'undici';
import type { Bytes, Tls } from '../host.ts';
import {
  type Attempt,
  ChunkQueue,
  flatHeaders,
  hasNoBody,
  headersWithLength,
  isStream,
  emptyBytes,
  type PreparedRequest,
  type Progress,
  tlsOptions,
  type Transport,
  selectAuthorities,
  usualAuthorities,
  type Wire,
} from './transport.ts';
import { ProxyAgent } from 'undici';

// Plain requests are forwarded, as every proxy allows; only TLS goes through a tunnel.
const makeAgent = (tls: Tls | undefined, proxy: string): Dispatcher =>
  new ProxyAgent({
    headersTimeout: 0,
    bodyTimeout: 0,
    uri: proxy,
    proxyTunnel: false,
    requestTls: tlsOptions(tls, usualAuthorities),
    proxyTls: selectAuthorities(tls, usualAuthorities),
  });

async function* countBytes(body: AsyncIterable<Bytes>, progress: Progress): AsyncGenerator<Bytes> {
  for await (const chunk of body) {
    progress.onMoved();
    yield chunk;
  }
}

const makeDeferred = <T>() => {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
};

/**
 * One active request: converts undici's callbacks into one reply with a body that is read at the speed of its
 * consumer.
 */
const receiver = (method: string, progress: Progress) => {
  let controller: Dispatcher.DispatchController | undefined;
  let reason: Error | undefined;
  const body = new ChunkQueue({ resume: () => controller?.resume(), abort: (why) => controller?.abort(why) });
  const { promise: reply, resolve, reject } = makeDeferred<Wire>();
  const fail = (error: Error): void => {
    reject(error);
    controller?.abort(error);
    body.fail(error);
  };
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(given) {
      controller = given;
      if (reason !== undefined) given.abort(reason);
      else progress.onConnected();
    },
    onResponseStart(_, status, raw) {
      if (status < 200) return;
      const headers = flatHeaders(raw);
      const isEmpty = hasNoBody(method, status, headers);
      resolve({ status, headers, body: isEmpty ? emptyBytes : body.chunks });
    },
    onResponseData: (given, chunk) => (body.push(chunk) ? undefined : given.pause()),
    onResponseEnd: () => body.end(),
    onResponseError: (_, error) => fail(error),
  };
  const destroy = (why: Error): void => {
    reason = why;
    fail(why);
  };
  return { handler, reply, destroy };
};

const dispatch = (agent: Dispatcher, { request, to }: PreparedRequest, progress: Progress): Attempt => {
  const { method, body } = request;
  const { handler, reply, destroy } = receiver(method, progress);
  agent.dispatch(
    {
      origin: to.origin,
      path: to.path,
      method: method as Dispatcher.HttpMethod,
      headers: headersWithLength(request),
      body: (isStream(body) ? countBytes(body, progress) : body) as never,
    },
    handler,
  );
  return { reply, destroy };
};

/** undici, for requests that go through a proxy. */
export const proxiedTransport = (): Transport => {
  const agents = new Map<string, Dispatcher>();
  const agentFor = (tls: Tls | undefined, proxy: string): Dispatcher => {
    const key = tls === undefined ? proxy : JSON.stringify([proxy, tls]);
    const known = agents.get(key) ?? makeAgent(tls, proxy);
    agents.set(key, known);
    return known;
  };
  return {
    start: (prepared, progress) =>
      dispatch(agentFor(prepared.request.tls, prepared.to.proxy ?? ''), prepared, progress),
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
      agents.clear();
    },
  };
};
