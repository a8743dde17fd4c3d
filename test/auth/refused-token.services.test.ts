/** A service rejects a stored token with 401: each command requests one new token and sends its request again. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let home: string;
let server: Server;
let origin: string;
/** The received requests: `POST /token`, and each API request with its token. */
const seen: string[] = [];
const rejected = new Set<string>();
let issued = 0;
const api = () => seen.filter((line) => !line.includes('/token'));
const tokens = () => seen.filter((line) => line.includes('/token')).length;
beforeEach(async () => {
  home = makeDirectory();
  seen.length = 0;
  rejected.clear();
  issued = 0;
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://host');
    const token = (request.headers.authorization ?? '').replace('Bearer ', '');
    seen.push(`${request.method} ${pathname} ${token}`.trim());
    request.resume().on('end', () => {
      const reply = (status: number, body: unknown): void => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      };
      if (pathname === '/token')
        return reply(200, { access_token: `at-${++issued}`, token_type: 'Bearer', expires_in: 3600 });
      if (rejected.has(token) || rejected.has('*')) return reply(401, { error: { message: 'no' } });
      return reply(200, pathname.endsWith('/labels') ? { labels: [] } : { items: [{ id: 'x' }] });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
const run = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  opsctl(argv, {
    home,
    env: {
      OPSCTL_AUTH_METHOD: 'client-credentials',
      OPSCTL_TOKEN_URL: `${origin}/token`,
      OPSCTL_CLIENT_ID: 'c',
      OPSCTL_CLIENT_SECRET: 's',
      OPSCTL_API_URL: origin,
      OPSCTL_LABELS_URL: origin,
      OPSCTL_KEYCHAIN: 'never',
      CI: 'true',
      ...env,
    },
  });

const commands: readonly (readonly [string, readonly string[]])[] = [
  ['media get', ['media', 'get', '/media/v3/channels']],
  ['api GET', ['api', 'api', 'GET', '/media/v3/channels']],
  ['api POST', ['api', 'api', 'POST', '/media/v3/channels', '--body', '{}']],
  ['api --paginate', ['api', 'api', 'GET', '/media/v3/channels', '--paginate']],
  ['api labels', ['api', 'labels', 'GET', '/labels']],
  ['labels list', ['labels', 'list']],
];
describe.each(commands)('%s', (_, argv) => {
  test('gets a new token for a kept token that the service rejects', async () => {
    const first = await run(argv);
    expect(first.code, first.stderr).toBe(0);
    expect([tokens(), new Set(api().map((line) => line.split(' ')[2]))]).toEqual([1, new Set(['at-1'])]);
    const usual = api().length;
    rejected.add('at-1');
    const second = await run(argv);
    expect(second.code, second.stderr).toBe(0);
    expect([tokens(), api().length]).toEqual([2, 2 * usual + 1]);
    // The new token replaced the stored token.
    expect((await run(argv)).code).toBe(0);
    expect(tokens()).toBe(2);
  });

  test('tries twice and not more at a service that rejects every token', async () => {
    rejected.add('*');
    const ended = await run(argv);
    expect(ended.code).toBe(4);
    expect([tokens(), api().length]).toEqual([2, 2]);
    expect(ended.stderr).not.toContain('try: opsctl login');
  });

  test('does not replace a token that the user gave', async () => {
    rejected.add('*');
    expect((await run(argv, { OPSCTL_ACCESS_TOKEN: 'own' })).code).toBe(4);
    expect([tokens(), api().length]).toEqual([0, 1]);
  });
});

test('an Authorization header of the command line is not replaced', async () => {
  rejected.add('own');
  const line = ['api', 'api', 'GET', '/media/v3/channels', '--header', 'authorization: Bearer own'];
  expect((await run(line)).code).toBe(4);
  expect(seen).toEqual(['GET /media/v3/channels own']);
});

test('client credentials with a token endpoint alone go to that endpoint', async () => {
  expect((await run(['auth', 'token'])).stdout).toContain('at-1');
  expect(seen).toEqual(['POST /token']);
});

describe('a CI job reads no hint that needs a browser', () => {
  test.each<[string, readonly string[], Readonly<Record<string, string>>, string]>([
    ['no client', ['auth', 'token'], { OPSCTL_CLIENT_ID: '' }, 'OPSCTL_CLIENT_ID=ID'],
    ['a rejected token', ['media', 'get', 'x'], { OPSCTL_ACCESS_TOKEN: 'own' }, 'opsctl auth status'],
    ['no account', ['auth', 'token'], { OPSCTL_AUTH_METHOD: 'browser' }, 'OPSCTL_SERVICE_ACCOUNT_KEY'],
    [
      'no identity token',
      ['auth', 'token', '--id-token'],
      { OPSCTL_AUTH_METHOD: 'browser' },
      'OPSCTL_SERVICE_ACCOUNT_KEY',
    ],
    ['no label access', ['labels', 'list'], { OPSCTL_ACCESS_TOKEN: 'own' }, 'OPSCTL_LABELS_TOKEN'],
  ])('%s', async (_, argv, env, hint) => {
    rejected.add('*');
    const ended = await run(argv, env);
    expect(ended.code).not.toBe(0);
    expect(ended.stderr).toContain(`try: ${hint}`);
    expect(ended.stderr).not.toMatch(/try: opsctl login(?! --start)/);
  });
});
