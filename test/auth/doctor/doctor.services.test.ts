import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { probeFor } from '../../../src/auth/probe.ts';
import {
  browserFinding,
  credentialStoreFinding,
  keychainFinding,
  portFindings,
  serverFindings,
} from '../../../src/auth/doctor.ts';
import { type TestAuthContext, type AuthContextOptions, makeAuthContext } from '../auth-context.ts';
import { type TokenResponse, type Asked, tokenServer } from '../token-server.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
const context = async (options: AuthContextOptions = {}): Promise<TestAuthContext> => {
  const made = await makeAuthContext(options);
  closers.push(made.close);
  return made;
};

test('free ports are fine; a taken one is named with the way to its holder', async () => {
  const run = await context();
  expect((await portFindings(run, 0))[0]).toMatchObject({ state: 'pass' });
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  closers.push(() => new Promise((resolve) => server.close(() => resolve())));
  expect((await portFindings(run, port))[0]).toMatchObject({
    state: 'fail',
    found: 'EADDRINUSE',
    remedy: expect.stringContaining(String(port)),
  });
});

test.each([
  ['a desktop', { DISPLAY: ':0' }, true, 'pass', ''],
  ['no terminal', { DISPLAY: ':0' }, false, 'warn', '--no-browser'],
  [
    'SSH',
    { SSH_CONNECTION: '1 2 10.0.0.9 22', USER: 'ada' },
    true,
    'warn',
    'ssh -N -L 8400:127.0.0.1:8400 ada@10.0.0.9',
  ],
])('browser on %s', async (_, env, hasTerminal, state, remedy) => {
  const found = await browserFinding(await context({ env }), hasTerminal);
  expect(found.state).toBe(state);
  expect(found.remedy).toContain(remedy);
});

test('an unresponsive keychain has a workaround', async () => {
  const dead = {
    get: () => Promise.reject(new Error('no answer within 3 s')),
    set: async () => undefined,
    remove: async () => undefined,
  };
  const run = await context({
    env: { OPSCTL_KEYCHAIN: undefined },
    host: (host) => ({ ...host, hostname: host.hostname, keychain: dead }),
  });
  expect(await keychainFinding(run)).toMatchObject({ state: 'warn', found: 'no answer within 3 s' });
});

test('a credential store that cannot be trusted is a failure with the remedy', async () => {
  const run = await context();
  expect(await credentialStoreFinding(run)).toMatchObject({ state: 'pass' });
  await writeFile(join(run.directory, 'credentials.json'), '{}', { mode: 0o644 });
  expect(await credentialStoreFinding(run)).toMatchObject({
    state: 'fail',
    remedy: expect.stringContaining('chmod 600'),
  });
});

const findings = async (answer: TokenResponse | ((asked: Asked) => TokenResponse)) => {
  const server = await tokenServer(answer);
  const run = await context();
  closers.push(server.close);
  const endpoints = {
    authorize: `${server.url}/auth`,
    token: `${server.url}/token`,
    revoke: `${server.url}/revoke`,
  };
  const probe = probeFor(
    run.host,
    { endpoints, key: 'k', isMock: false, clientId: 'c' },
    ['x'],
    '',
    run.signal,
  );
  return Object.fromEntries((await serverFindings(run, probe)).map((finding) => [finding.check, finding]));
};
const tokenError: TokenResponse = { status: 400, body: { error: 'invalid_request' } };

test('a correct server passes the checks', async () => {
  const found = await findings(({ url }) =>
    url === '/token'
      ? tokenError
      : { status: 302, body: '', headers: { location: 'http://127.0.0.1:49152?error=login_required' } },
  );
  expect(Object.values(found).map(({ state }) => state)).toEqual(Object.values(found).map(() => 'pass'));
});

test.each([
  ['redirect_uri_mismatch', 'register http://127.0.0.1'],
  ['deleted_client', 'restore the client'],
  ['invalid_client', '--client-id'],
])('the doctor reports that the authorization page returns %s', async (code, remedy) => {
  const found = await findings(({ url }) =>
    url === '/token' ? tokenError : { status: 400, body: `<p>Error: ${code}</p>`, type: 'text/html' },
  );
  expect(found['redirect URI']).toMatchObject({
    state: 'fail',
    found: expect.stringContaining(code),
    remedy: expect.stringContaining(remedy),
  });
});

test.each([
  [10, 'pass'],
  [120, 'warn'],
  [4000, 'fail'],
])('a clock that is %i s off: %s', async (seconds, state) => {
  const found = await findings({
    ...tokenError,
    headers: { date: new Date(Date.now() - seconds * 1000).toUTCString() },
  });
  expect(found.clock?.state).toBe(state);
});

test('a web page is not a token endpoint', async () => {
  expect(
    (await findings({ status: 200, body: '<html>', type: 'text/html' }))['token endpoint'],
  ).toMatchObject({
    state: 'fail',
    remedy: 'check --token-url',
  });
});

test('a server that sends no Date leaves the clock unjudged', async () => {
  const server = createServer((_, reply) => {
    reply.sendDate = false;
    reply.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_request"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => server.close(() => resolve())));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const run = await context();
  const endpoints = { authorize: `${url}/auth`, token: `${url}/token`, revoke: `${url}/revoke` };
  const probe = probeFor(
    run.host,
    { endpoints, key: 'k', isMock: false, clientId: 'c' },
    ['x'],
    '',
    run.signal,
  );
  const clock = (await serverFindings(run, probe)).find(({ check }) => check === 'clock');
  expect(clock).toMatchObject({ state: expect.stringMatching(/warn/), found: 'the server sends no Date' });
});
