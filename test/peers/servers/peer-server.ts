import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An authorization server of another vendor, configured as its documentation describes. */
export type PeerServer = {
  readonly issuer: string;
  readonly client: { readonly id: string; readonly secret?: string };
  readonly scopes: readonly string[];
  /** Whether the server rejects a used refresh token. Every server issues a new refresh token. */
  readonly endsUsedTokens: boolean;
  /**
   * `published`: the metadata contains a revocation endpoint. `no-effect`: it returns 200 and the token stays valid. `none`: no endpoint.
   */
  readonly revocation: 'published' | 'no-effect' | 'none';
  /** Plays the user at the browser and returns the text of the last page. */
  signIn(url: URL): Promise<string>;
  /** Returns whether a resource of the server accepts the access token. */
  isAlive(accessToken: string): Promise<boolean>;
  /** Refresh tokens in the order in which they were issued. */
  issued(): Promise<readonly string[]>;
  close(): Promise<void>;
};
export type Load = (name: string) => Promise<any>;
export type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

export const listening = async (
  handle: Handler,
): Promise<{ readonly origin: string; close(): Promise<void> }> => {
  const server: Server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};

export const formOf = async (request: IncomingMessage): Promise<Record<string, string>> => {
  let text = '';
  for await (const part of request) text += String(part);
  return Object.fromEntries(new URLSearchParams(text));
};
export const sendJson = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};

/** For a server without prompts on its authorization page, a request that follows redirects replaces the browser. */
export const followed = async (url: URL): Promise<string> => (await fetch(url)).text();

/** Adds the refresh token of a token response to a list when the server sends it. */
export const recorded = (response: ServerResponse, issued: string[]): void => {
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  response.end = ((...args: unknown[]) => {
    const text = args[0] instanceof Uint8Array ? Buffer.from(args[0]).toString() : String(args[0] ?? '');
    const token = /"refresh_token":\s*"([^"]+)"/.exec(text)?.[1];
    if (token !== undefined) issued.push(token);
    return end(...args);
  }) as typeof response.end;
};

export const isOk = async (url: string, accessToken: string): Promise<boolean> =>
  (await fetch(url, { headers: { authorization: `Bearer ${accessToken}` } })).status === 200;
