import { messageOf } from '../../core/error-message.ts';
import type { Handler, Incoming, Outgoing } from '../../platform/host.ts';
import { requestIn } from './go-json.ts';
import { health, metrics, v2Keys, v2Members, v2Missing, v2Stats, version } from './plain.ts';
import { type Api, type Rpc, RpcError, errorText, httpCode, spaced } from './rpc.ts';

/** Larger than any request a member takes; what is above ends the connection. */
const MOST_BYTES = 64 * 1024 * 1024;
const json = { 'content-type': 'application/json', 'x-simulated': 'a rehearsal, not a database' };
const plain = { 'content-type': 'text/plain; charset=utf-8', 'x-simulated': 'a rehearsal, not a database' };
const notFound: Outgoing = { status: 404, headers: plain, body: '404 page not found\n' };
const notAllowed: Outgoing = { status: 405, headers: plain, body: 'Method Not Allowed\n' };

const tokenOf = (api: Api, request: Incoming): string | undefined =>
  api.form.tokenHeaders
    .map((name) => request.headers[name])
    .find((value) => value !== undefined && value !== '');

const gateway = async (api: Api, rpc: Rpc, request: Incoming): Promise<Outgoing> => {
  try {
    const result = await rpc(api, {
      body: requestIn(Buffer.from(await request.read(MOST_BYTES)).toString('utf8'), api.form.takesNothing),
      token: tokenOf(api, request),
    });
    if ('stream' in result)
      return { status: 200, headers: json, body: result.stream as AsyncIterable<Uint8Array> };
    return { status: 200, headers: json, body: api.form.isSpaced ? spaced(result) : JSON.stringify(result) };
  } catch (error) {
    const known = error instanceof RpcError ? error : new RpcError(2, messageOf(error));
    return {
      status: httpCode(known.code, api.form),
      headers: json,
      body: errorText(api.form, known.code, known.message),
    };
  }
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
const probe: Page = ({ form }) => (form.has.readyz ? { status: 200, headers: plain, body: 'ok' } : notFound);

/** Paths of every version, outside the gateway. */
const pages: Readonly<Record<string, Page>> = {
  '': root,
  '/': root,
  '/health': getOnly((api) => health(api, plain)),
  '/version': getOnly((api) => ({ status: 200, headers: json, body: version(api) })),
  '/metrics': (api) => ({ status: 200, headers: plain, body: metrics(api) }),
  '/readyz': probe,
  '/livez': probe,
  '/config/local/log': ({ form }, { method }) => {
    if (form.minor === '3.5') return { status: 404, headers: plain };
    return { status: method === 'PUT' ? 204 : 405, headers: plain };
  },
};

/** The v2 API, as far as a member without v2 data has one. */
const atV2Path = (api: Api, path: string, query: string, { method }: Incoming): Outgoing => {
  if (path === '/v2/members') return { status: 200, headers: json, body: v2Members(api) };
  if (path.startsWith('/v2/stats/')) return { status: 200, headers: json, body: v2Stats(api, path) };
  if (!path.startsWith('/v2/keys')) return notFound;
  if (method !== 'GET')
    return {
      status: 501,
      headers: json,
      body: `${JSON.stringify({ message: 'a simulated member takes no v2 data; --v2-size makes some up' })}\n`,
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

/** Calls that real members carry out and a rehearsal does not: said in so many words, not as a path that does not exist. */
const isLeftOut = (path: string): boolean =>
  /^\/(watch|auth\/(user|role)\/[a-z]+|cluster\/member\/(add|remove|update))$/.test(path);
const leftOut =
  (path: string): Rpc =>
  async () => {
    throw new RpcError(12, `a simulated member is a rehearsal and does not carry out ${path}`);
  };

/** Everything a member says to its clients. `ready` is fulfilled once it has joined the cluster; requests wait for it. */
export const clientHandler =
  (api: Api, routes: Readonly<Record<string, Rpc>>, ready: Promise<void>): Handler =>
  async (request) => {
    await ready;
    if (api.faults.delayMs > 0) await api.host.sleep(api.faults.delayMs);
    const [path = '', query = ''] = request.url.split('?');
    for (const [from, to] of Object.entries(api.form.redirects)) {
      // spec/program#choices: spec/store says that requests to /v3alpha redirect; 308 keeps method and body.
      if (path.startsWith(`${from}/`))
        return { status: 308, headers: { location: `${to}${path.slice(from.length)}` } };
    }
    const prefix = api.form.prefixes.find((one) => path.startsWith(`${one}/`));
    if (prefix === undefined) return atPlainPath(api, path, query, request);
    const rpc = routes[path.slice(prefix.length)];
    if (rpc === undefined && !isLeftOut(path.slice(prefix.length)))
      return { status: 404, headers: plain, body: 'Not Found\n' };
    if (request.method !== 'POST') return notAllowed;
    return gateway(api, rpc ?? leftOut(path), request);
  };
