import { isLoopbackHost, parseUrl, permitRequest, hostWithoutBrackets } from '../../core/external-url.ts';
import { AppError, problem } from '../../core/problem.ts';
import { redactedUrl } from '../../core/redact-secrets.ts';
import { type HttpReply, type HttpRequest, NetworkError } from '../host.ts';
import { builtin } from './builtin.ts';
import { exchanges } from './exchange.ts';
import { http1Transport } from './http1.ts';
import type { TransportTarget, Transport } from './transport.ts';

type Env = Readonly<Record<string, string | undefined>>;
const pick = (env: Env, name: string): string | undefined =>
  env[name.toLowerCase()] || env[name.toUpperCase()] || undefined;
/** One entry of NO_PROXY: `*`, `example.com` (and below it), `.example.com`, `10.0.0.5`, each with an optional `:port`. */
const excludes = (entry: string, hostname: string, port: string): boolean => {
  if (entry === '*') return true;
  const at = /^(\[[^\]]*\]|[^:]*|[^[].*:.*:.*?)(?::(\d+))?$/.exec(entry);
  const name = hostWithoutBrackets(at?.[1] ?? entry).replace(/^\*?\.+/, '');
  const host = hostWithoutBrackets(hostname);
  if (name === '' || (at?.[2] !== undefined && at[2] !== port)) return false;
  return host === name || host.endsWith(`.${name}`);
};
/**
 * Returns the proxy that the environment configures, if any. Requests to this machine never use a proxy,
 * because the proxy would look up the service on its own host. Lower-case names win, as in curl. Pure.
 */
export const proxyFor = (url: URL, env: Env): string | undefined => {
  const secure = url.protocol === 'https:';
  const proxy = pick(env, secure ? 'https_proxy' : 'http_proxy') ?? pick(env, 'all_proxy');
  if (proxy === undefined || isLoopbackHost(url.hostname)) return undefined;
  const port = url.port || (secure ? '443' : '80');
  const excluded = (pick(env, 'no_proxy') ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '');
  if (excluded.some((entry) => excludes(entry, url.hostname.toLowerCase(), port))) return undefined;
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
};

/** The variable with this proxy. A proxy may contain a password, so that the message does not repeat it. */
const proxyVariable = (proxy: string, env: Env): string =>
  ['https_proxy', 'http_proxy', 'all_proxy']
    .flatMap((name) => [name, name.toUpperCase()])
    .find((name) => env[name] === proxy || `http://${env[name]}` === proxy) ?? 'HTTPS_PROXY';
const checkProxy = (proxy: string, env: Env): void => {
  if (/^https?:$/.test(parseUrl(proxy)?.protocol ?? '')) return;
  const name = proxyVariable(proxy, env);
  const why = 'must be an http:// or https:// URL';
  throw new AppError('config', `${name} ${why}; no request was sent`, {
    code: 'PROXY_SETTING',
    problems: [problem(name, 'format', why)],
    tryThis: [`${name}=http://HOST:PORT`, `unset ${name}`],
  });
};
const KNOWN_PLACES = 200;
/** Where requests go, by their URL. A run that asks the same place thousands of times reads the URL and the environment once. */
const places = (env: Readonly<Record<string, string | undefined>>): ((url: string) => TransportTarget) => {
  const known = new Map<string, TransportTarget>();
  const read = (text: string): TransportTarget => {
    const url = parseUrl(text);
    if (url === undefined || !/^https?:$/.test(url.protocol)) {
      throw new NetworkError(
        'OTHER',
        `cannot send a request to \`${redactedUrl(text)}\`: it is not an http or https URL`,
        false,
      );
    }
    const proxy = proxyFor(url, env);
    if (proxy !== undefined) checkProxy(proxy, env);
    const path = `${url.pathname}${url.search}`;
    return { url, origin: url.origin, host: url.host, path, proxy };
  };
  return (url) => {
    const found = known.get(url);
    if (found !== undefined) return found;
    const place = read(url);
    if (known.size >= KNOWN_PLACES) known.clear();
    known.set(url, place);
    return place;
  };
};
const makers = {
  proxied: async () => (await import('./proxy-transport.ts')).proxiedTransport(),
  http2: async () => (await import('./http2.ts')).http2Transport(),
} as const;
/** All transports behind one function. Unused transports are not loaded. */
export const outgoing = (env: Readonly<Record<string, string | undefined>>) => {
  const placeOf = places(env);
  const exchange = exchanges();
  const http1 = http1Transport();
  const made = new Map<keyof typeof makers, Promise<Transport>>();
  const loaded = new Map<keyof typeof makers, Transport>();
  const load = async (name: keyof typeof makers): Promise<Transport> => {
    const making = made.get(name) ?? makers[name]();
    made.set(name, making);
    const transport = await making;
    // While it was made, `close` may have closed it.
    if (made.get(name) === making) loaded.set(name, transport);
    return transport;
  };
  return {
    async request(request: HttpRequest): Promise<HttpReply> {
      const to = placeOf(request.url);
      const prepared = permitRequest({ to, request }, env);
      if (typeof prepared === 'string') throw new NetworkError('PLAIN_HTTP', prepared, false);
      const other = to.proxy !== undefined ? 'proxied' : request.transport === 'http2' ? 'http2' : undefined;
      const transport = other === undefined ? http1 : (loaded.get(other) ?? (await load(other)));
      return exchange(transport, prepared);
    },
    async close(): Promise<void> {
      await http1.close();
      const transports = [...made.values()];
      made.clear();
      loaded.clear();
      for (const transport of transports) await (await transport).close();
    },
  };
};
export const canConnect = (host: string, port: number, timeoutMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = builtin.net.connect({ host, port });
    const finishWith = (answer: boolean) => (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, finishWith(false));
    socket.once('connect', finishWith(true));
    socket.once('error', finishWith(false));
  });
