import { request } from 'node:http';
import { connect } from 'node:net';
import { signIn } from '../../src/auth/flow.ts';
import type { LoginPlan } from '../../src/auth/complete-login.ts';
import type { Account } from '../../src/auth/credential-store/account.ts';
import { makeAuthContext, type TestAuthContext } from './auth-context.ts';
import { type TokenServer, tokenServer } from './token-server.ts';

/** One login that waits for its redirect, with a dedicated token server. */
export type WaitingLogin = {
  readonly context: TestAuthContext;
  readonly tokens: TokenServer;
  /** The parts of the printed URL. */
  readonly state: string;
  readonly redirectUri: string;
  readonly port: number;
  readonly url: URL;
  readonly outcome: Promise<Account | Error>;
  isDone(): boolean;
  /** Follows the redirect as a browser does. */
  redirect(params?: Record<string, string>): Promise<Reply>;
  end(): Promise<void>;
};
export type Reply = {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
};

const planFor = (tokens: TokenServer, more: Partial<LoginPlan> = {}): LoginPlan => ({
  server: {
    endpoints: {
      authorize: `${tokens.url}/o/oauth2/v2/auth`,
      token: `${tokens.url}/token`,
      revoke: `${tokens.url}/revoke`,
    },
    key: tokens.url,
    isMock: false,
    clientId: 'client-1',
  },
  scopes: ['x/media.readonly'],
  port: 0,
  path: '',
  timeoutMs: 30_000,
  readsPaste: false,
  hasTerminal: false,
  ...more,
});

export const get = (
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { hostname, port, pathname, search } = new URL(url);
    const sent = request(
      {
        host: hostname.replace(/^\[|\]$/g, ''),
        port,
        path: pathname + search,
        method: options.method ?? 'GET',
        headers: options.headers,
        agent: false,
      },
      (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => (body += part));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        );
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(options.body);
  });

/** Sends the unchanged bytes and returns the data received until the peer closes the connection or `waitMs` elapses. */
export const raw = (port: number, bytes: string, waitMs = 1000, host = '127.0.0.1'): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(port, host);
    let text = '';
    const done = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text);
    };
    const timer = setTimeout(done, waitMs);
    socket.on('data', (part) => (text += part.toString('latin1')));
    socket.on('error', done);
    socket.on('close', done);
    socket.write(bytes, 'latin1');
  });

const printed = async (context: TestAuthContext): Promise<URL> => {
  for (;;) {
    const found = /https?:\/\/\S+code_challenge=\S+/.exec(context.said.text());
    if (found !== null) return new URL(found[0]);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};

export const waitingLogin = async (
  more: Partial<LoginPlan> = {},
  given: { tokens?: TokenServer; context?: TestAuthContext } = {},
): Promise<WaitingLogin> => {
  const tokens = given.tokens ?? (await tokenServer());
  const context = given.context ?? (await makeAuthContext());
  let isDone = false;
  const outcome = signIn(context, planFor(tokens, more)).then(
    (account) => account,
    (error: Error) => error,
  );
  void outcome.then(() => (isDone = true));
  const url = await Promise.race([printed(context), outcome.then((early) => Promise.reject(early))]);
  const redirectUri = url.searchParams.get('redirect_uri') ?? '';
  const state = url.searchParams.get('state') ?? '';
  return {
    context,
    tokens,
    state,
    redirectUri,
    port: Number(new URL(redirectUri).port),
    url,
    outcome,
    isDone: () => isDone,
    redirect: (params = { code: 'code-secret-1', state }) =>
      get(`${redirectUri}${redirectUri.split('/').length > 3 ? '' : '/'}?${new URLSearchParams(params)}`),
    end: async () => {
      context.abort.abort(new Error('end of the test'));
      await outcome;
      await tokens.close();
      await context.close();
    },
  };
};
