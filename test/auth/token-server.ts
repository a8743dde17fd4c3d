import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Asked = {
  readonly method: string;
  readonly url: string;
  readonly form: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
};
export type TokenResponse = {
  readonly status?: number;
  readonly body?: unknown;
  readonly type?: string;
  readonly headers?: Record<string, string>;
  readonly cut?: true;
  readonly delayMs?: number;
};
export type TokenServer = {
  readonly url: string;
  readonly asked: Asked[];
  /** Sets the response of the next requests; a function receives the request. */
  answer(with_: TokenResponse | ((asked: Asked) => TokenResponse | Promise<TokenResponse>)): void;
  close(): Promise<void>;
};

export const goodTokens: TokenResponse = {
  body: {
    access_token: 'at-secret-1',
    expires_in: 3599,
    refresh_token: 'rt-secret-1',
    scope: 'x/media.readonly',
    token_type: 'Bearer',
  },
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const part of request) text += String(part);
  return text;
};

const write = async (
  response: ServerResponse,
  { status = 200, body = '', type = 'application/json', headers = {}, cut, delayMs }: TokenResponse,
): Promise<void> => {
  if (delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, delayMs));
  if (response.destroyed) return;
  if (cut) return void response.destroy();
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body));
};

/** Starts a token endpoint that returns the responses of the test, over real HTTP on loopback. */
export const tokenServer = async (
  first: TokenResponse | ((asked: Asked) => TokenResponse | Promise<TokenResponse>) = goodTokens,
): Promise<TokenServer> => {
  const asked: Asked[] = [];
  let current = first;
  const server: Server = createServer(async (request, response) => {
    const one = {
      method: request.method ?? '',
      url: request.url ?? '',
      form: new URLSearchParams(await bodyOf(request)),
      headers: request.headers,
    };
    asked.push(one);
    await write(response, typeof current === 'function' ? await current(one) : current);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer: (next) => {
      current = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};
