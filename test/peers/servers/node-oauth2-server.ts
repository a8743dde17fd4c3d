import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  followed,
  formOf,
  isOk,
  type Load,
  listening,
  type PeerServer,
  recorded,
  sendJson,
} from './peer-server.ts';

type Kept = Record<string, any>;

/** @node-oauth/oauth2-server: PKCE, rotation, and a secret by HTTP Basic. The application provides the pages, metadata and revocation. */
export const nodeOauth2Server = async (load: Load): Promise<PeerServer> => {
  const { default: OAuth2Server } = await load('@node-oauth/oauth2-server');
  const { Request, Response } = OAuth2Server;
  const client = {
    id: 'opsctl',
    secret: 'secret of the test: 100%+',
    grants: ['authorization_code', 'refresh_token'],
    redirectUris: ['http://127.0.0.1'],
  };
  const [codes, access, refresh] = [
    new Map<string, Kept>(),
    new Map<string, Kept>(),
    new Map<string, Kept>(),
  ];
  const issued: string[] = [];
  const drop = (token: Kept | undefined): void => {
    refresh.delete(token?.['refreshToken']);
    for (const [key, kept] of access) if (kept['family'] === token?.['family']) access.delete(key);
  };
  const model = {
    getClient: (id: string, secret: string | null) =>
      id === client.id && (secret === null || secret === client.secret) ? client : false,
    validateRedirectUri: (uri: string) => new URL(uri).hostname === '127.0.0.1',
    validateScope: (_user: unknown, _client: unknown, scope: string[]) => scope,
    saveAuthorizationCode: (code: Kept, _: unknown, user: Kept) => {
      const kept = { ...code, client, user, family: code['authorizationCode'] };
      codes.set(code['authorizationCode'], kept);
      return kept;
    },
    getAuthorizationCode: (code: string) => codes.get(code),
    revokeAuthorizationCode: (code: Kept) => codes.delete(code['authorizationCode']),
    saveToken: (token: Kept, _: unknown, user: Kept) => {
      const kept = { ...token, client, user, family: user['name'] };
      access.set(token['accessToken'], kept);
      refresh.set(token['refreshToken'], kept);
      return kept;
    },
    getAccessToken: (token: string) => access.get(token),
    getRefreshToken: (token: string) => refresh.get(token),
    revokeToken: (token: Kept) => refresh.delete(token['refreshToken']),
  };
  const oauth = new OAuth2Server({ model });
  let origin = '';
  const answered = (response: ServerResponse, made: any): void => {
    // Express would add the content type.
    response.writeHead(made.status, { 'content-type': 'application/json', ...made.headers });
    response.end(made.status === 302 ? '' : JSON.stringify(made.body));
  };
  const asked = async (request: IncomingMessage) => {
    const url = new URL(request.url ?? '/', origin);
    return new Request({
      method: request.method,
      headers: request.headers,
      query: Object.fromEntries(url.searchParams),
      body: await formOf(request),
    });
  };
  const revoke = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { token = '' } = (await asked(request)).body;
    drop(refresh.get(token) ?? access.get(token));
    sendJson(response, 200, {});
  };
  const metadata = () => ({
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    revocation_endpoint: `${origin}/forget`,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['client_secret_post'],
  });
  /** Calls an endpoint as the documentation of the library shows. The library creates the response, including errors. */
  const by = async (work: (request: unknown, made: any) => Promise<unknown>, request: IncomingMessage) => {
    const made = new Response();
    await work(await asked(request), made).catch((error: any) => {
      made.status = error.code ?? 500;
      made.body = { error: error.name, error_description: error.message };
    });
    return made;
  };
  const user = { authenticateHandler: { handle: () => ({ name: 'ada' }) } };
  const server = await listening(async (request, response) => {
    recorded(response, issued);
    const { pathname } = new URL(request.url ?? '/', origin);
    if (pathname === '/.well-known/oauth-authorization-server') return sendJson(response, 200, metadata());
    if (pathname === '/authorize')
      return answered(response, await by((ask, made) => oauth.authorize(ask, made, user), request));
    if (pathname === '/token')
      return answered(response, await by((ask, made) => oauth.token(ask, made), request));
    if (pathname === '/me')
      return answered(response, await by((ask, made) => oauth.authenticate(ask, made), request));
    if (pathname === '/forget') return revoke(request, response);
    return sendJson(response, 404, {});
  });
  origin = server.origin;
  return {
    issuer: origin,
    client,
    scopes: ['read'],
    endsUsedTokens: true,
    revocation: 'published',
    signIn: followed,
    isAlive: (token) => isOk(`${origin}/me`, token),
    issued: async () => issued,
    close: server.close,
  };
};
