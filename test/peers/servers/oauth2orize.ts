import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  followed,
  formOf,
  type Handler,
  isOk,
  type Load,
  listening,
  type PeerServer,
  recorded,
  sendJson,
} from './peer-server.ts';

type Done = (error: unknown, ...values: any[]) => void;
const opaque = (): string => randomBytes(16).toString('hex');

/** oauth2orize has no PKCE, metadata or revocation. The client authenticates by HTTP Basic. */
export const oauth2orizeServer = async (load: Load): Promise<PeerServer> => {
  const { default: oauth2orize } = await load('oauth2orize');
  const client = { id: 'opsctl', secret: 'secret-of-the-test' };
  const codes = new Map<string, string>();
  const [access, refresh] = [new Set<string>(), new Set<string>()];
  const issued: string[] = [];
  const issue = (done: Done): void => {
    const [token, next] = [opaque(), opaque()];
    access.add(token);
    refresh.add(next);
    done(null, token, next, { expires_in: 3600 });
  };
  const server = oauth2orize.createServer();
  server.grant(
    oauth2orize.grant.code(
      (_client: unknown, redirectUri: string, _user: unknown, _ares: unknown, done: Done) => {
        const code = opaque();
        codes.set(code, redirectUri);
        done(null, code);
      },
    ),
  );
  server.exchange(
    oauth2orize.exchange.code((_client: unknown, code: string, redirectUri: string, done: Done) => {
      const isRight = codes.get(code) === redirectUri;
      codes.delete(code);
      return isRight ? issue(done) : done(null, false);
    }),
  );
  server.exchange(
    oauth2orize.exchange.refreshToken((_client: unknown, token: string, done: Done) =>
      refresh.delete(token) ? issue(done) : done(null, false),
    ),
  );
  const authorize = server.authorization(
    (id: string, redirectUri: string, done: Done) =>
      done(null, id === client.id ? client : false, redirectUri),
    (_client: unknown, _user: unknown, done: Done) => done(null, true),
  );
  const [token, failed] = [server.token(), server.errorHandler()];
  let origin = '';
  const expected = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`;
  /** Functions that the surrounding web framework normally provides. */
  const framed = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', origin);
    const asked = Object.assign(request, {
      query: Object.fromEntries(url.searchParams),
      body: await formOf(request),
      session: {},
      user: { name: 'ada' } as object,
    });
    const answer = Object.assign(response, {
      redirect: (to: string) => response.writeHead(302, { location: to }).end(),
    });
    return { asked, answer, next: (error: unknown) => failed(error, asked, answer, () => undefined) };
  };
  const metadata = () => ({
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
  });
  const routes: Readonly<Record<string, Handler>> = {
    '/.well-known/openid-configuration': (_, response) => sendJson(response, 200, metadata()),
    '/authorize': async (request, response) => {
      const { asked, answer, next } = await framed(request, response);
      authorize(asked, answer, next);
    },
    '/token': async (request, response) => {
      if (request.headers.authorization !== expected)
        return sendJson(response, 401, { error: 'invalid_client' });
      const { asked, answer, next } = await framed(request, response);
      asked.user = client;
      token(asked, answer, next);
    },
    '/me': (request, response) =>
      sendJson(response, access.has((request.headers.authorization ?? '').slice(7)) ? 200 : 401, {}),
  };
  const at = await listening((request, response) => {
    recorded(response, issued);
    const handler = routes[new URL(request.url ?? '/', origin).pathname];
    return handler === undefined ? sendJson(response, 404, {}) : handler(request, response);
  });
  origin = at.origin;
  return {
    issuer: origin,
    client,
    scopes: ['read'],
    endsUsedTokens: true,
    revocation: 'none',
    signIn: followed,
    isAlive: (accessToken) => isOk(`${origin}/me`, accessToken),
    issued: async () => issued,
    close: at.close,
  };
};
