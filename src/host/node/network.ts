import { type HttpReply, type HttpRequest, NetworkError } from '../host.ts';
import { builtin } from './builtin.ts';
import { exchange } from './exchange.ts';
import { proxyFor } from './proxy.ts';
import { singleTransport } from './single.ts';
import type { Prepared, Transport } from './transport.ts';

const withLength = (request: HttpRequest): Record<string, string> => {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value;
  const { body } = request;
  if (typeof body === 'string') headers['content-length'] = String(Buffer.byteLength(body));
  else if (body instanceof Uint8Array) headers['content-length'] = String(body.length);
  else if (body === undefined && /^(POST|PUT|PATCH)$/.test(request.method)) headers['content-length'] = '0';
  return headers;
};

const prepare = (request: HttpRequest, proxyOf: (url: URL) => string | undefined): Prepared => {
  const url = URL.canParse(request.url) ? new URL(request.url) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new NetworkError('OTHER', `cannot send a request to \`${request.url.split('?')[0]}\`: it is not an http or https URL`, false);
  }
  return { url, method: request.method, headers: withLength(request), body: request.body, tls: request.tls, proxy: proxyOf(url) };
};

const checkProxy = (proxy: string): void => {
  if (!URL.canParse(proxy) || !/^https?:$/.test(new URL(proxy).protocol)) {
    throw new NetworkError('PROXY', 'the proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is not an http:// or https:// URL', false);
  }
};

/** Both transports behind one call; undici is loaded when a request asks for it or a proxy is in the way. */
export const outgoing = (env: Readonly<Record<string, string | undefined>>) => {
  const single = singleTransport();
  let pooled: Promise<Transport> | undefined;
  // Reading the environment is slow, and a bulk run asks thousands of times.
  const proxies = new Map<string, string | undefined>();
  const proxyOf = (url: URL): string | undefined => {
    if (!proxies.has(url.origin)) proxies.set(url.origin, proxyFor(url, env));
    return proxies.get(url.origin);
  };
  let http2: Promise<Transport> | undefined;
  const loadPooled = (): Promise<Transport> => (pooled ??= import('./pooled.ts').then((module) => module.pooledTransport()));
  const loadHttp2 = (): Promise<Transport> => (http2 ??= import('./http2.ts').then((module) => module.http2Transport()));
  return {
    async request(request: HttpRequest): Promise<HttpReply> {
      const prepared = prepare(request, proxyOf);
      if (prepared.proxy !== undefined) checkProxy(prepared.proxy);
      const isPooled = request.transport === 'pooled' || prepared.proxy !== undefined;
      const isHttp2 = request.transport === 'http2' && !isPooled;
      return exchange(isHttp2 ? await loadHttp2() : isPooled ? await loadPooled() : single, request, prepared);
    },
    async close(): Promise<void> {
      await single.close();
      await (await pooled)?.close();
      await (await http2)?.close();
      pooled = undefined;
      http2 = undefined;
    },
  };
};

export const canConnect = (host: string, port: number, timeoutMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = builtin.net.connect({ host, port });
    const done = (answer: boolean) => (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, done(false));
    socket.once('connect', done(true));
    socket.once('error', done(false));
  });
