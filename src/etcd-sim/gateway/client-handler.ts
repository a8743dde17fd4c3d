import { messageOf } from '../../core/error-message.ts';
import { type Handler, type Incoming, NetworkError, type Outgoing } from '../../platform/host.ts';
import { requestIn } from './go-json.ts';
import { transportBytes } from './kv.ts';
import { health, metrics, readiness, v2Keys, v2Members, v2Missing, v2Stats, version } from './plain.ts';
import { refuseForLearner } from './membership.ts';
import { type Api, type Rpc, RpcError, errorText, httpCode, spaced } from './rpc.ts';

const json = { 'content-type': 'application/json', 'x-simulated': 'a rehearsal, not a database' };
const plain = { 'content-type': 'text/plain; charset=utf-8', 'x-simulated': 'a rehearsal, not a database' };
const notFound: Outgoing = { status: 404, headers: plain, body: '404 page not found\n' };
const notAllowed: Outgoing = { status: 405, headers: plain, body: 'Method Not Allowed\n' };

const tokenOf = (api: Api, request: Incoming): string | undefined =>
  api.form.tokenHeaders
    .map((name) => request.headers[name])
    .find((value) => value !== undefined && value !== '')
    ?.replace(api.form.isGateway2 ? /^Bearer / : /^$/, '');

/** Base64 takes a third more, names and brackets the rest; what is larger is no request that a member could take. */
const bodyBytes = (api: Api): number => 2 * transportBytes(api);

/** What the transport behind the gateway would say. */
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
const isLeftOut = (path: string): boolean => /^\/auth\/(user|role)\/[a-z]+$/.test(path);
const leftOut =
  (path: string): Rpc =>
  async () => {
    throw new RpcError(12, `a simulated member is a rehearsal and does not carry out ${path}`);
  };

/** spec/program#choices: spec/store says that requests to /v3alpha redirect; 308 keeps method and body. */
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

/** Everything a member says to its clients. `ready` is fulfilled once it has joined the cluster; requests wait for it. */
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
    return request.method === 'POST' ? gateway(api, call, rpc, request) : wrongMethod(api);
  };
