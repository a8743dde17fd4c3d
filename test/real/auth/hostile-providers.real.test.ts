/** Authorization servers that answer as no honest server does: nothing is trusted, nothing hangs, and no secret is printed. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { program } from '../../support/built-program.ts';

const SECRET = 'marker-client-secret-9f3a';
const TOKEN = 'marker-access-token-77c1';
type Reply = (response: ServerResponse, at: { readonly origin: string; readonly other: string }) => void;
type Provider = { readonly metadata?: Reply; readonly token?: Reply; readonly codes?: readonly number[] };

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});
const listen = async (
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => handle(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
const send = (response: ServerResponse, body: unknown, status = 200, headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
};
const metadataOf = (origin: string) => ({
  issuer: origin,
  authorization_endpoint: `${origin}/auth`,
  token_endpoint: `${origin}/token`,
});
const tokens = { access_token: TOKEN, token_type: 'Bearer', expires_in: 3600 };
/** As much as the client reads, without an end. */
const endless = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const piece = Buffer.alloc(65_536, '[');
  const write = (): void => {
    if (response.destroyed) return;
    if (response.write(piece)) setImmediate(write);
    else response.once('drain', write);
  };
  write();
};

const providers: Readonly<Record<string, Provider>> = {
  'sends metadata without an end': { metadata: endless },
  'sends tokens without an end': { token: endless },
  'never completes its metadata': {
    metadata: (response) => void response.writeHead(200).write(' '),
    // The server is slow, and its address may be right.
    codes: [11],
  },
  'names another issuer': {
    metadata: (response, { origin }) =>
      send(response, { ...metadataOf(origin), issuer: 'https://accounts.example' }),
  },
  'names a token endpoint without TLS on another host': {
    metadata: (response, { origin }) =>
      send(response, { ...metadataOf(origin), token_endpoint: 'http://attacker.example/token' }),
  },
  'names endpoints that are not web addresses': {
    metadata: (response, { origin }) =>
      send(response, { ...metadataOf(origin), token_endpoint: 'file:///etc/passwd' }),
  },
  'redirects its metadata': {
    metadata: (response, { other }) => void response.writeHead(302, { location: `${other}/metadata` }).end(),
  },
  'redirects a token request': {
    token: (response, { other }) => void response.writeHead(307, { location: `${other}/token` }).end(),
  },
  'repeats a key in its metadata': {
    metadata: (response, { origin, other }) =>
      send(response, JSON.stringify(metadataOf(origin)).replace('{', `{"token_endpoint":"${other}/token",`)),
  },
  'repeats a key in its tokens': {
    token: (response) =>
      send(response, `{"access_token":"a","access_token":"${TOKEN}","token_type":"Bearer"}`),
  },
  'sends values of other types': {
    token: (response) =>
      send(response, { access_token: { a: TOKEN }, token_type: ['Bearer'], expires_in: '1e309' }),
  },
  'sends a number as its token': {
    token: (response) => send(response, { ...tokens, access_token: 1234567890 }),
  },
  'sends a token that is not UTF-8': {
    token: (response) =>
      send(response, Buffer.from(JSON.stringify({ ...tokens, access_token: `${TOKEN}\xff` }), 'latin1')),
  },
  'sends a token with a line break': {
    token: (response) => send(response, { ...tokens, access_token: `${TOKEN}\r\nX-Other: 1` }),
  },
  'sends its tokens in __proto__': {
    token: (response) => send(response, `{"__proto__":${JSON.stringify(tokens)}}`),
  },
  'sends a response that grows when it is unpacked': {
    token: (response) =>
      send(response, gzipSync(Buffer.alloc(50 << 20, ' ')), 200, { 'content-encoding': 'gzip' }),
  },
  'sends many levels': { token: (response) => send(response, `{"a":${'['.repeat(200_000)}`) },
  'commands the terminal and the runner, and repeats the secret': {
    token: (response) =>
      send(
        response,
        { error: 'invalid_client\u001b[31m', error_description: `\n::set-output name=x::${SECRET}` },
        400,
      ),
  },
};
const run = async ({ metadata, token }: Provider) => {
  const seen: string[] = [];
  const other = await listen((request, response) => {
    seen.push(String(request.url));
    send(response, tokens);
  });
  const origin: string = await listen(({ url = '' }, response) => {
    const reply = url.startsWith('/token') ? token : metadata;
    if (reply !== undefined) reply(response, { origin, other });
    else send(response, url.startsWith('/token') ? tokens : metadataOf(origin));
  });
  const { run: call } = program();
  const env = {
    OPSCTL_ISSUER: origin,
    OPSCTL_AUTH_METHOD: 'client-credentials',
    OPSCTL_CLIENT_ID: 'c',
    OPSCTL_CLIENT_SECRET: SECRET,
    GITHUB_ACTIONS: 'true',
  };
  return { ...(await call(['auth', 'token'], { env })), seen };
};

test('a token of an honest server is printed', async () => {
  const { code, stdout } = await run({});
  expect([code, stdout]).toEqual([0, `${TOKEN}\n`]);
});
test.each(Object.entries(providers))('no token of a server that %s is used', async (_, provider) => {
  const { code, stdout, stderr, seen } = await run(provider);
  expect(provider.codes ?? [3, 5, 11]).toContain(code);
  expect([stdout, seen]).toEqual(['', []]);
  expect(stderr).not.toContain('\u001b');
  expect(stderr).not.toMatch(/marker-|^::/m);
});
