import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { NetworkError, type Host } from '../../src/platform/host.ts';
import { tokenHostWarning } from '../../src/auth/complete-login.ts';
import { makeAuthority } from '../support/certificates.ts';
import { makeAuthContext } from './auth-context.ts';
import { goodTokens, tokenServer } from './token-server.ts';
import { waitingLogin } from './waiting-login.ts';
import { covers } from '../support/covers.ts';

let closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers) await close();
  closers = [];
});

const authority = makeAuthority();
/** Starts a token host over TLS with the clock offset of the test. */
const tokenHost = async (clockOffMs = 0): Promise<string> => {
  const pair = authority.issue({ hosts: ['127.0.0.1'] });
  const server: Server = createServer(pair, (_, response) => {
    response.writeHead(404, { date: new Date(Date.now() + clockOffMs).toUTCString() });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  );
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
};

/** The machine trusts the certificate authority of the test, as with `ca_file`. */
const trusting = (host: Host): Host => ({
  ...host,
  hostname: host.hostname,
  network: {
    ...host.network,
    request: (request) => host.network.request({ ...request, tls: { extraCa: authority.cert } }),
  },
});
const contextOn = async (change: (host: Host) => Host) => {
  const context = await makeAuthContext({ host: change });
  closers.push(() => context.close());
  return context;
};
const warning = async (endpoint: string, change: (host: Host) => Host): Promise<string | undefined> =>
  tokenHostWarning(await contextOn(change), endpoint);
const asItIs = (host: Host): Host => host;

test('a token host in order is not mentioned', async () => {
  expect(await warning(await tokenHost(), trusting)).toBeUndefined();
});

test('a certificate that is not trusted: what would fail, and the setting that helps', async () => {
  const found = await warning(await tokenHost(), asItIs);
  expect(found).toContain('not trusted');
  expect(found).toContain('could not be exchanged');
  expect(found).toContain('ca_file');
});

test.each([
  [10 * 60_000, 'The clock of this machine is 10 min behind'],
  [-3_600_000, 'The clock of this machine is 60 min ahead of'],
])('a clock that is off by %i ms', async (off, says) => {
  expect(await warning(await tokenHost(off), trusting)).toContain(says);
});

test('an unreachable token host names the flag', covers('setting/auth.token_url'), async () => {
  const endpoint = await tokenHost();
  await closers.pop()?.();
  const found = await warning(endpoint, trusting);
  expect(found).toContain('The token host is not usable from this machine');
  expect(found).toContain('--token-url');
});

test('the warning appears while the browser is open, and the login continues', async () => {
  const endpoint = await tokenHost();
  const tokens = await tokenServer();
  const context = await contextOn(asItIs);
  const server = {
    endpoints: { authorize: `${tokens.url}/auth`, token: endpoint, revoke: `${tokens.url}/revoke` },
    key: tokens.url,
    isMock: false,
    clientId: 'client-1',
  };
  const login = await waitingLogin({ server }, { tokens, context });
  while (!context.said.text().includes('The token host is not usable from this machine'))
    await new Promise((resolve) => setImmediate(resolve));
  expect(login.isDone()).toBe(false);
  expect((await login.redirect()).body).toContain('Sign-in did not complete');
  expect(await login.outcome).toMatchObject({ category: 'network' });
  await tokens.close();
});

test.each([
  ['DNS', false, 1],
  ['REFUSED', false, 1],
  ['RESET', true, 0],
] as const)(
  'a code whose exchange failed with %s (sent: %s) is exchanged again only when it never left',
  async (code, sent, reached) => {
    const tokens = await tokenServer(goodTokens);
    let tries = 0;
    const context = await contextOn((host) => ({
      ...host,
      hostname: host.hostname,
      network: {
        ...host.network,
        request: async (request) => {
          if (request.method === 'POST' && tries++ === 0)
            throw new NetworkError(code, 'the line failed', sent);
          return host.network.request(request);
        },
      },
    }));
    const login = await waitingLogin({}, { tokens, context });
    await login.redirect();
    const outcome = await login.outcome;
    expect(tokens.asked).toHaveLength(reached);
    expect(outcome instanceof Error).toBe(reached === 0);
    if (reached > 0) expect(tokens.asked[0]?.form.get('code')).toBe('code-secret-1');
    await tokens.close();
  },
);
