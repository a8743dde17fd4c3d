/**
 * TLS services on loopback: a git repository behind Basic, the login of a container registry, and the API of a cluster. Each
 * accepts one bearer or password.
 */
import { spawn } from 'node:child_process';
import { createServer, type Server } from 'node:https';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pair } from './certificates.ts';

export type CredentialServer = {
  readonly host: string;
  /** Header values in the order of the requests. */
  readonly seen: readonly string[];
  close(): Promise<void>;
};
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const serve = async (pair: Pair, answer: Answer): Promise<CredentialServer> => {
  const seen: string[] = [];
  const server: Server = createServer(pair, (request, response) => {
    if (request.headers.authorization !== undefined) seen.push(request.headers.authorization);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};

const basic = (request: IncomingMessage): string =>
  Buffer.from((request.headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString();

/** git's own CGI program behind a password. `accepts` checks the password of each request. */
export const gitServer = (
  pair: Pair,
  repositories: string,
  accepts: (password: string) => boolean,
): Promise<CredentialServer> =>
  serve(pair, (request, response) => {
    const [user, ...password] = basic(request).split(':');
    if (user === '' || !accepts(password.join(':'))) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' });
      return void response.end();
    }
    const url = new URL(request.url ?? '/', 'https://host');
    const child = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: repositories,
        GIT_HTTP_EXPORT_ALL: '1',
        REMOTE_USER: user,
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method ?? 'GET',
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
    });
    request.pipe(child.stdin);
    const parts: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => parts.push(part));
    child.on('close', () => {
      const all = Buffer.concat(parts);
      const end = all.indexOf('\r\n\r\n');
      const headers = all.subarray(0, end).toString().split('\r\n');
      const status = Number(/^Status: (\d+)/m.exec(headers.join('\n'))?.[1] ?? 200);
      const fields = headers
        .filter((line) => !line.startsWith('Status:'))
        .map((line) => line.split(': ') as [string, string]);
      response.writeHead(status, Object.fromEntries(fields));
      response.end(all.subarray(end + 4));
    });
  });

/** Returns `{}` for requests with the bearer token, and 401 for other requests. */
export const bearerServer = (
  pair: Pair,
  accepts: (token: string) => boolean,
  body: unknown = {},
): Promise<CredentialServer> =>
  serve(pair, (request, response) => {
    const isRight = accepts((request.headers.authorization ?? '').replace(/^Bearer /, ''));
    response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isRight ? body : { kind: 'Status', status: 'Failure', code: 401 }));
  });

/** The part of a container daemon that a pull uses. It stores the registry credentials that the client sends. */
export const dockerDaemon = async () => {
  let auth = '';
  const daemon = createHttpServer((request, response) => {
    if (request.url?.includes('/images/create')) auth = String(request.headers['x-registry-auth'] ?? '');
    response.writeHead(200, { 'content-type': 'application/json', 'api-version': '1.41', ostype: 'linux' });
    response.end(request.url?.endsWith('/_ping') ? 'OK' : '{"status":"done"}\n');
  });
  await new Promise<void>((resolve) => daemon.listen(0, '127.0.0.1', resolve));
  const { port } = daemon.address() as AddressInfo;
  return {
    address: `tcp://127.0.0.1:${port}`,
    auth: () => auth,
    close: () =>
      new Promise<void>((resolve) => {
        daemon.closeAllConnections();
        daemon.close(() => resolve());
      }),
  };
};
