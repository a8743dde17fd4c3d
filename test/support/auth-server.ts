import { createHash, generateKeyPairSync } from 'node:crypto';
import { request as send } from 'node:http';
import { request as sendTls } from 'node:https';
import {
  type MockOptions,
  type ServiceEntry,
  type Environment,
  defaultOptions,
} from '../../src/mock-server/service-set.ts';
import { type RunningMock, startMock } from '../../src/mock-server/server.ts';
import { Store } from '../../src/mock-server/store.ts';
import { makeAuth } from '../../src/mock-server/oauth/service.ts';
import { type SigningKey, collectionsOf } from '../../src/mock-server/oauth/state.ts';
import { type RealHost, realHost } from './real-host.ts';
import { closeAtEnd } from './closing.ts';

export type Reply = {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  readonly json: any;
};
export type AuthServer = {
  readonly origin: string;
  readonly mock: RunningMock;
  readonly env: Environment;
  readonly real: RealHost;
  /** Advances the clock of the service. */
  advance(ms: number): void;
  close(): Promise<void>;
};

const entry: ServiceEntry = {
  name: 'auth',
  claims: (path) => !path.startsWith('/__opsctl/') || path.startsWith('/__opsctl/oauth'),
  load: async () => makeAuth,
};

let key: SigningKey | undefined;
/** One RSA key pair for all servers of a process, because generating a pair takes longer than most tests. */
const storeWithKey = (): Store => {
  if (key === undefined) {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'test', alg: 'RS256', use: 'sig' };
    key = { kid: 'test', alg: 'RS256', pem, jwk };
  }
  const [store, made] = [new Store(), key];
  store.transact(() => collectionsOf(store).keys.put(made.alg, made));
  return store;
};

/** Only the authorization service, over real HTTP on a free port, with a clock that the test controls. */
export const authServer = async (
  options: Partial<MockOptions> & {
    readonly seed?: 'demo' | 'empty';
    readonly store?: Store;
    readonly tls?: { cert: string; key: string };
    readonly others?: readonly ServiceEntry[];
  } = {},
): Promise<AuthServer> => {
  const real = await realHost();
  const { seed, store, tls, others = [], ...rest } = options;
  // The clock moves only when a test advances it, so a busy machine does not affect the result.
  let now = real.host.now();
  const host = { ...real.host, now: () => now };
  const mock = await startMock({
    host,
    options: { ...defaultOptions, ...rest },
    services: [...others, entry],
    documents: {},
    store: store ?? storeWithKey(),
    seed: seed ?? 'demo',
    port: 0,
    ...(tls === undefined ? {} : { tls }),
    onFailure: (error) => {
      throw error;
    },
  });
  await raw(`${mock.origin}/.well-known/openid-configuration`);
  return closeAtEnd<AuthServer>({
    origin: mock.origin,
    mock,
    env: mock.env,
    real,
    advance: (ms) => {
      now += ms;
    },
    async close() {
      await mock.close();
      await real.close();
    },
  });
};

export type Sent = {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
};
/** Sends one raw request and does not follow redirects. */
export const raw = (url: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const asked = (url.startsWith('https:') ? sendTls : send)(
      url,
      {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
          ...headers,
        },
        agent: false,
        rejectUnauthorized: false,
      },
      (reply) => {
        const chunks: Buffer[] = [];
        reply.on('data', (chunk: Buffer) => chunks.push(chunk));
        reply.on('error', reject);
        reply.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          let json: unknown;
          try {
            json = JSON.parse(text);
          } catch {
            json = undefined;
          }
          resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text, json });
        });
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });

export const form = (fields: Record<string, string | undefined>): string =>
  new URLSearchParams(
    Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined),
  ).toString();
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
export const post = (
  url: string,
  fields: Record<string, string | undefined> | string,
  headers: Record<string, string> = {},
): Promise<Reply> =>
  raw(url, {
    method: 'POST',
    headers: { ...FORM, ...headers },
    body: typeof fields === 'string' ? fields : form(fields),
  });

/** Calls the control API. */
export const control = (
  server: { origin: string },
  method: string,
  path: string,
  body?: unknown,
): Promise<Reply> =>
  raw(`${server.origin}/__opsctl/oauth${path}`, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

export const verifier = 'a'.repeat(10) + 'B'.repeat(10) + '0'.repeat(10) + '-._~'.repeat(4);
export const challenge = createHash('sha256').update(verifier).digest('base64url');
export const scopes = {
  media: 'https://scopes.opsctl.example/auth/media',
  readonly: 'https://scopes.opsctl.example/auth/media.readonly',
  upload: 'https://scopes.opsctl.example/auth/media.upload',
} as const;

/** Clients of the demo seed. They are listed explicitly so that a test detects a change of the seed. */
export const clients = {
  desktop: '417000000001-demodesktop000000000000000000000.apps.opsctl.example',
  withSecret: '417000000001-demosecret0000000000000000000000.apps.opsctl.example',
  mobileA: '417000000001-demomobilea000000000000000000000.apps.opsctl.example',
  mobileB: '417000000001-demomobileb000000000000000000000.apps.opsctl.example',
  universal: '417000000001-demouniversal0000000000000000000.apps.opsctl.example',
  extension: '417000000001-demoextension0000000000000000000.apps.opsctl.example',
} as const;
export const secret = 'OCS-demo-secret-that-protects-nothing';
export const ada = { email: 'ada@demo.example', password: 'ada-demo', sub: '100001000000000000001' } as const;
export const bob = { email: 'bob@demo.example', password: 'bob-demo', sub: '100002000000000000002' } as const;
export const redirect = 'http://127.0.0.1:4567/callback';

export type Asked = Record<string, string | undefined>;
export const request = (more: Asked = {}): Asked => ({
  client_id: clients.desktop,
  redirect_uri: redirect,
  response_type: 'code',
  scope: scopes.readonly,
  code_challenge: challenge,
  code_challenge_method: 'S256',
  state: 'state-of-the-test',
  ...more,
});
export const authorizeUrl = (server: { origin: string }, more: Asked = {}): string =>
  `${server.origin}/o/oauth2/v2/auth?${form(request(more))}`;
/** Returns the first page or redirect of an authorization request. */
export const ask = (
  server: { origin: string },
  more: Asked = {},
  headers: Record<string, string> = {},
): Promise<Reply> => raw(authorizeUrl(server, more), { headers });

export const location = (reply: Reply): URL => new URL(String(reply.headers.location));
/** Returns the code of an `[OAuth error]` page from its title. */
export const pageError = (reply: Reply): string =>
  /<title>Error \d+: ([a-z_]+)<\/title>/.exec(reply.text)?.[1] ?? `no error page (${reply.status})`;

const unescaped = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
/** Parses the first form of a page: its target, hidden fields and checkboxes. */
export const formOf = (
  page: string,
): {
  readonly action: string;
  readonly hidden: Record<string, string>;
  readonly boxes: readonly string[];
} => {
  const inputs = [...page.matchAll(/<input\b[^>]*>/g)].map(
    ([tag]) =>
      (name: string) =>
        unescaped(new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? ''),
  );
  return {
    action: unescaped(/<form[^>]*action="([^"]*)"/.exec(page)?.[1] ?? ''),
    hidden: Object.fromEntries(
      inputs.filter((get) => get('type') === 'hidden').map((get) => [get('name'), get('value')]),
    ),
    boxes: inputs.filter((get) => get('type') === 'checkbox').map((get) => get('value')),
  };
};

/** A browser without scripts. It stores cookies and follows only redirects inside the server. */
export class Browser {
  readonly #origin: string;
  #cookies = new Map<string, string>();
  page: Reply = { status: 0, headers: {}, text: '', json: undefined };
  constructor(server: { origin: string }) {
    this.#origin = server.origin;
  }
  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }
  set cookie(text: string) {
    this.#cookies = new Map(text.split('; ').map((pair) => pair.split('=') as [string, string]));
  }
  async #send(url: string, sent: Sent): Promise<Reply> {
    const reply = await raw(url, {
      ...sent,
      headers: { ...sent.headers, ...(this.#cookies.size > 0 ? { cookie: this.cookie } : {}) },
    });
    for (const line of [reply.headers['set-cookie'] ?? []].flat()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=');
      this.#cookies.set(name, value);
    }
    this.page = reply;
    const to = reply.headers.location;
    return typeof to === 'string' && to.startsWith('/')
      ? this.#send(this.#origin + to, { method: 'GET' })
      : reply;
  }
  open(url: string): Promise<Reply> {
    return this.#send(url, {});
  }
  ask(more: Asked = {}): Promise<Reply> {
    return this.open(authorizeUrl({ origin: this.#origin }, more));
  }
  /** Submits the form of the page with these values and its hidden fields. A list repeats the name. */
  submit(
    values: Record<string, string | readonly string[]>,
    change: Record<string, string> = {},
  ): Promise<Reply> {
    const { action, hidden } = formOf(this.page.text);
    const pairs = Object.entries({ ...hidden, ...change, ...values }).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : value.map((one) => [name, one]),
    );
    return this.#send(this.#origin + action, {
      method: 'POST',
      headers: FORM,
      body: new URLSearchParams(pairs as [string, string][]).toString(),
    });
  }
  signIn(user: { email: string; password: string } = ada): Promise<Reply> {
    return this.submit({ email: user.email, password: user.password, decision: 'signin' });
  }
  /** Grants these scopes, or all scopes that have a checkbox. */
  allow(
    scope: readonly string[] = formOf(this.page.text).boxes,
    more: Record<string, string> = {},
  ): Promise<Reply> {
    return this.submit({ scope, decision: 'allow', ...more });
  }
}

/** Signs in through the pages and returns the code. */
export const codeFor = async (
  server: { origin: string },
  more: Asked = {},
  user: { email: string; password: string } = ada,
  browser = new Browser(server),
): Promise<string> => {
  await browser.ask(more);
  if (browser.page.text.includes('name="password"')) await browser.signIn(user);
  const reply = await browser.allow();
  const code = location(reply).searchParams.get('code');
  if (code === null)
    throw new Error(`no code: ${reply.status} ${String(reply.headers.location)} ${reply.text.slice(0, 300)}`);
  return code;
};
export const exchange = (server: { origin: string }, code: string, more: Asked = {}): Promise<Reply> =>
  post(`${server.origin}/token`, {
    client_id: clients.desktop,
    code,
    code_verifier: verifier,
    grant_type: 'authorization_code',
    redirect_uri: redirect,
    ...more,
  });
export const refresh = (server: { origin: string }, token: string, more: Asked = {}): Promise<Reply> =>
  post(`${server.origin}/token`, {
    client_id: clients.desktop,
    grant_type: 'refresh_token',
    refresh_token: token,
    ...more,
  });
/** Returns the tokens of a complete sign-in. */
export const tokensFor = async (
  server: { origin: string },
  more: Asked = {},
  user?: { email: string; password: string },
): Promise<any> => {
  const reply = await exchange(server, await codeFor(server, more, user), {
    client_id: more.client_id ?? clients.desktop,
    redirect_uri: more.redirect_uri ?? redirect,
    ...(more.client_id === clients.withSecret ? { client_secret: secret } : {}),
  });
  if (reply.status !== 200) throw new Error(`no tokens: ${reply.status} ${reply.text}`);
  return reply.json;
};
export const channels = (
  server: { origin: string },
  token: string,
  query = 'part=id&mine=true',
): Promise<Reply> =>
  raw(`${server.origin}/media/v3/channels?${query}`, { headers: { authorization: `Bearer ${token}` } });
