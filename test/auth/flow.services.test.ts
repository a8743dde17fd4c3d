import { afterEach, describe, expect, test } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { limits } from '../../src/core/limits.ts';
import { AppError } from '../../src/core/problem.ts';
import { challengeFrom, relayMark } from '../../src/auth/callback.ts';
import { toleranceLine } from '../../src/auth/protocol/token-client.ts';
import { openCredentialStore } from '../../src/auth/credential-store/store.ts';
import { goodTokens } from './token-server.ts';
import { get, type WaitingLogin, waitingLogin } from './waiting-login.ts';
import type { Account } from '../../src/auth/credential-store/account.ts';
import { makeAuthContext } from './auth-context.ts';
import { covers } from '../support/covers.ts';

const open: WaitingLogin[] = [];
const start = async (...args: Parameters<typeof waitingLogin>): Promise<WaitingLogin> => {
  const login = await waitingLogin(...args);
  open.push(login);
  return login;
};
afterEach(async () => {
  for (const login of open.splice(0)) await login.end();
});

const failed = async (login: WaitingLogin): Promise<AppError> => {
  const outcome = await login.outcome;
  expect(outcome).toBeInstanceOf(AppError);
  return outcome as AppError;
};

test('address, redirect, exchange, store: spec/sign-in#service-3 flow (a) to (d)', async () => {
  const login = await start();
  expect(login.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const page = await login.redirect();
  expect(page.status).toBe(200);
  expect(page.body).toContain('You are signed in');
  const account = (await login.outcome) as Account;
  expect(account).toMatchObject({
    granted: ['x/media.readonly'],
    accessToken: 'at-secret-1',
    refreshToken: 'rt-secret-1',
    name: 'default',
  });
  const [exchange] = login.tokens.asked;
  expect(exchange?.headers['content-type']).toBe('application/x-www-form-urlencoded');
  const verifier = exchange?.form.get('code_verifier') ?? '';
  expect(challengeFrom(verifier)).toBe(login.url.searchParams.get('code_challenge'));
  expect(Object.fromEntries(exchange?.form ?? [])).toEqual({
    client_id: 'client-1',
    code: 'code-secret-1',
    code_verifier: verifier,
    grant_type: 'authorization_code',
    redirect_uri: login.redirectUri,
  });
  expect((await openCredentialStore(login.context).read()).accounts).toHaveLength(1);
});

test(
  'spec/sign-in#authorize-5 state in the fragment: the relay page moves it into the query, and goes round once',
  covers('spec/program#choices-1'),
  async () => {
    const login = await start();
    const relay = await login.redirect({ code: 'code-secret-1' });
    expect(relay.body).toContain('location.hash');
    expect(login.isDone()).toBe(false);
    const again = await login.redirect({ code: 'code-secret-1', [relayMark]: '1' });
    expect(again.status).toBe(400);
    expect(again.body).not.toContain('location.hash');
    const page = await login.redirect({ code: 'code-secret-1', state: login.state, [relayMark]: '1' });
    expect(page.body).toContain('You are signed in');
    expect(await login.outcome).not.toBeInstanceOf(Error);
  },
);

test('spec/sign-in#redirect: http://[::1]:<port> on request', async () => {
  const login = await start({ redirectHost: '[::1]' });
  expect(login.redirectUri).toBe(`http://[::1]:${login.port}`);
  expect((await login.redirect()).body).toContain('You are signed in');
  expect(login.tokens.asked[0]?.form.get('redirect_uri')).toBe(login.redirectUri);
});

test('a redirect to [::1] without IPv6 is reported before the sign-in', async () => {
  const context = await makeAuthContext({
    host: (host) => ({
      ...host,
      hostname: host.hostname,
      network: {
        ...host.network,
        listen: (handler, at) =>
          at.host === '::1'
            ? Promise.reject(Object.assign(new Error('no'), { code: 'EADDRNOTAVAIL' }))
            : host.network.listen(handler, at),
      },
    }),
  });
  const error = await waitingLogin({ redirectHost: '[::1]' }, { context }).catch((found: AppError) => found);
  expect(error).toMatchObject({ category: 'config', detail: { code: 'PORT_UNAVAILABLE' } });
  expect(context.said.text()).not.toContain('code_challenge');
  await context.close();
});

test('both address families respond on the same port', async () => {
  const login = await start();
  const page = await get(`http://[::1]:${login.port}/?code=code-secret-1&state=${login.state}`);
  expect(page.body).toContain('You are signed in');
});

test(
  'a code may fill the URL up to its limit of 8 KiB; a longer URL is rejected, and the login continues',
  covers('limit/callbackBytes'),
  async () => {
    const login = await start();
    const rest = `/?state=${login.state}&code=`.length;
    const longest = 'c'.repeat(limits.callbackBytes - rest);
    const over = await login.redirect({ state: login.state, code: `${longest}c` });
    expect(over.status).toBe(414);
    expect(login.isDone()).toBe(false);
    expect((await login.redirect({ state: login.state, code: longest })).body).toContain('You are signed in');
    expect(await login.outcome).not.toBeInstanceOf(Error);
    expect(login.tokens.asked[0]?.form.get('code')).toBe(longest);
  },
);

test('a denied consent exits with code 4, and the page shows the next step', async () => {
  const login = await start();
  const page = await login.redirect({ error: 'access_denied', state: login.state });
  expect(page.status).toBe(400);
  expect(page.body).toContain('Access was denied in the browser.');
  expect(await failed(login)).toMatchObject({ category: 'auth', detail: { code: 'ACCESS_DENIED' } });
  expect(login.tokens.asked).toEqual([]);
});

test('a partial consent is stored as granted', async () => {
  const login = await start({ scopes: ['x/media.readonly', 'x/media.upload'] });
  const page = await login.redirect();
  expect(page.body).toContain('not granted');
  expect(await login.outcome).toMatchObject({
    granted: ['x/media.readonly'],
    requested: ['x/media.readonly', 'x/media.upload'],
  });
});

test.each([
  [
    'invalid_grant',
    { status: 400, body: { error: 'invalid_grant', error_description: 'Malformed auth code.' } },
    'auth',
    'INVALID_GRANT',
  ],
  ['a wrong client', { status: 401, body: { error: 'invalid_client' } }, 'auth', 'INVALID_CLIENT'],
  ['a wrong client by 400', { status: 400, body: { error: 'invalid_client' } }, 'auth', 'INVALID_CLIENT'],
  [
    'a web page in place of JSON',
    { status: 200, body: '<html>proxy</html>', type: 'text/html' },
    'network',
    'NOT_JSON',
  ],
  ['an outage', { status: 500, body: 'down', type: 'text/plain' }, 'network', 'SERVER_ERROR'],
  ['broken JSON', { status: 200, body: '{"access_token":' }, 'network', 'NOT_JSON'],
  ['no access token', { status: 200, body: { token_type: 'Bearer' } }, 'refused', 'BAD_TOKEN_ANSWER'],
  [
    'another token type',
    { status: 200, body: { access_token: 'x', token_type: 'mac' } },
    'refused',
    'BAD_TOKEN_ANSWER',
  ],
  ['a cut line', { cut: true as const }, 'network', 'RESET'],
])('%s at the exchange fails closed, and the browser hears of it', async (_, answer, category, code) => {
  const login = await start();
  login.tokens.answer(answer);
  const page = await login.redirect();
  expect(page.status).toBe(400);
  expect(page.body).toContain('did not complete');
  expect(await failed(login)).toMatchObject({ category, detail: { code } });
  expect((await openCredentialStore(login.context).read()).accounts).toEqual([]);
  // A code is valid for one use, so there is no second attempt. opsctl revokes the tokens of a rejected response.
  expect(login.tokens.asked.filter(({ url }) => url.startsWith('/token'))).toHaveLength(1);
});

test('the same name at another server is another account, and no account is overwritten', async () => {
  const first = await start();
  await first.redirect();
  await first.outcome;
  const context = await makeAuthContext({ directory: first.context.directory });
  const second = await start({}, { context });
  await second.redirect();
  const name = `default@${new URL(second.tokens.url).host.replace(':', '-')}`;
  expect(await second.outcome).toMatchObject({ name, server: second.tokens.url });
  const { accounts, current } = await openCredentialStore(context).read();
  expect(accounts.map((each) => [each.name, each.server])).toEqual([
    ['default', first.tokens.url],
    [name, second.tokens.url],
  ]);
  expect(current).toBe(name);
});

test('a timeout prints the next command', async () => {
  const login = await start({ timeoutMs: 50 });
  const error = await failed(login);
  expect(error).toMatchObject({ category: 'auth', detail: { code: 'LOGIN_TIMEOUT' } });
  expect(error.detail.tryThis?.join()).toContain('--finish');
});

test('Ctrl-C', async () => {
  const login = await start();
  login.context.abort.abort(new AppError('interrupted', 'interrupted'));
  expect(await failed(login)).toMatchObject({ category: 'interrupted' });
});

test('Ctrl-C while the code is exchanged: the browser hears of it too', async () => {
  const login = await start();
  login.tokens.answer({ ...goodTokens, delayMs: 60_000 });
  const page = login.redirect();
  await expect.poll(() => login.tokens.asked.length === 0, { interval: 2 }).toBe(false);
  login.context.abort.abort(new AppError('interrupted', 'interrupted'));
  expect((await page).body).toContain('The sign-in was stopped in the terminal.');
  expect(await login.outcome).toBeInstanceOf(Error);
});

test('a service that repeats the code in its refusal does not bring it into the page', async () => {
  const login = await start();
  login.tokens.answer({
    status: 400,
    body: { error: 'invalid_grant', error_description: `no such code: code-secret-1, state ${login.state}` },
  });
  const page = await login.redirect();
  expect(page.body).toContain('Code exchange: invalid_grant (no such code: ***, state ***).');
  expect(page.body).toContain('What to do: opsctl login');
});

test('a port that another program has is named', async () => {
  const first = await start();
  const error = await waitingLogin({ port: first.port }).catch((found: AppError) => found);
  expect(error).toMatchObject({ category: 'config', detail: { code: 'PORT_UNAVAILABLE' } });
});

test('--port and --redirect-path set listener and redirect URI together', async () => {
  const probe = await start();
  await probe.redirect();
  await probe.outcome;
  const login = await start({ port: probe.port, path: '/callback' });
  expect(login.redirectUri).toBe(`http://127.0.0.1:${probe.port}/callback`);
  expect((await get(`http://127.0.0.1:${probe.port}/?code=x&state=${login.state}`)).status).toBe(404);
  expect((await login.redirect()).body).toContain('You are signed in');
});

test('a pasted address ends the wait; a wrong one is explained', async () => {
  const context = await makeAuthContext({
    host: (host) => ({
      ...host,
      hostname: host.hostname,
      terminal: {
        ...host.terminal,
        stdin: {
          isTty: true,
          async *bytes() {},
          async *lines() {
            yield 'http://127.0.0.1:1/?code=a&state=wrong';
            const state = new URL(
              /https?:\/\/\S+code_challenge=\S+/.exec(context.said.text())?.[0] ?? '',
            ).searchParams.get('state');
            yield `http://127.0.0.1:1/?code=code-secret-1#state=${state}`;
          },
        },
      },
    }),
  });
  const login = await start({ readsPaste: true }, { context });
  expect(await login.outcome).toMatchObject({ accessToken: 'at-secret-1' });
  expect(context.said.text()).toContain('The pasted line was not used: the state belongs to another login.');
});

test('the browser gets a loopback address that leads to the sign-in page until the response arrives', async () => {
  const opened: string[] = [];
  const context = await makeAuthContext({
    env: { DISPLAY: ':0' },
    host: (host) => ({
      ...host,
      hostname: host.hostname,
      openBrowser: async (url) => {
        opened.push(url);
        return true;
      },
    }),
  });
  const login = await start({ browser: true }, { context });
  await expect.poll(() => opened.length === 0, { interval: 5 }).toBe(false);
  const [launch = ''] = opened;
  expect(launch).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/go\/[\w-]{22}$/);
  const first = await get(launch);
  expect(first).toMatchObject({ status: 302, headers: { location: login.url.href } });
  expect(await get(launch)).toMatchObject({ status: 302, headers: { location: login.url.href } });
  await login.redirect();
  expect((await get(launch).catch(() => undefined))?.status).not.toBe(302);
});

describe('another user of this machine', () => {
  /** Changes the kernel's list of connections so that another user owns the client end of every connection. */
  const asStranger = (host: Host): Host => ({
    ...host,
    hostname: host.hostname,
    uid: 1000,
    openBrowser: async () => true,
    files: {
      ...host.files,
      readNow: (path) =>
        path.startsWith('/proc/net/tcp')
          ? host.files.readNow(path)?.replace(/^(.*01 .{17} .{11} .{8})\s+\d+/gm, '$1  4242')
          : path === '/.dockerenv'
            ? undefined
            : host.files.readNow(path),
      info: async (path) => (path === '/.dockerenv' ? undefined : host.files.info(path)),
      read: async (path) => (path === '/proc/1/cgroup' ? '0::/init' : host.files.read(path)),
    },
  });
  test.skipIf(process.platform !== 'linux')('cannot use the launch address', async () => {
    const opened: string[] = [];
    const context = await makeAuthContext({
      env: { DISPLAY: ':0' },
      host: (host) => ({
        ...asStranger(host),
        openBrowser: async (url) => opened.push(url) > 0,
      }),
    });
    const login = await start({ browser: true }, { context });
    await expect.poll(() => opened.length === 0, { interval: 5 }).toBe(false);
    expect((await get(opened[0] ?? '')).status).toBe(403);
    expect(await login.outcome).toMatchObject({ category: 'auth', detail: { code: 'OTHER_USER' } });
    expect(login.tokens.asked).toEqual([]);
  });
  test.skipIf(process.platform !== 'linux')(
    'another user cannot finish the login with a response',
    async () => {
      const context = await makeAuthContext({ env: { DISPLAY: ':0' }, host: asStranger });
      const login = await start({ browser: true }, { context });
      expect((await login.redirect({ code: 'evil', state: login.state })).status).toBe(403);
      expect(await login.outcome).toMatchObject({ detail: { code: 'OTHER_USER' } });
      expect(login.tokens.asked).toEqual([]);
    },
  );
  test.skipIf(process.platform !== 'linux')('another user may send requests without an effect', async () => {
    const context = await makeAuthContext({ env: { DISPLAY: ':0' }, host: asStranger });
    const login = await start({ browser: true }, { context });
    expect((await login.redirect({ code: 'evil', state: 'guessed' })).status).toBe(400);
    expect(login.isDone()).toBe(false);
  });
});

test('the response of a server may come as a form (response_mode=form_post)', async () => {
  const login = await start();
  const body = new URLSearchParams({ code: 'code-secret-1', state: login.state }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': `${body.length}` };
  await get(`${login.redirectUri}/`, { method: 'POST', body, headers });
  expect(await login.outcome).toMatchObject({ accessToken: 'at-secret-1' });
  expect(login.context.said.text()).toContain(toleranceLine('authorization', 'form-post'));
});

test('a launcher that fails is noticed', async () => {
  const context = await makeAuthContext({
    host: (host) => ({ ...host, hostname: host.hostname, openBrowser: async () => false }),
  });
  const login = await start({ browser: true }, { context });
  await login.redirect();
  await login.outcome;
  expect(context.said.text()).toContain('No browser could be started');
});

test('the output contains no secret, except for the URL itself', async () => {
  const login = await start();
  await login.redirect({ code: 'code-secret-9', state: 'wrong-state-secret' });
  await login.redirect();
  await login.outcome;
  const text = login.context.said.text().replace(login.url.href, '');
  const verifier = login.tokens.asked[0]?.form.get('code_verifier') ?? 'none';
  for (const secret of ['code-secret', 'at-secret', 'rt-secret', login.state, verifier, 'wrong-state-secret'])
    expect(text).not.toContain(secret);
  for (const secret of ['code-secret-1', 'at-secret-1', 'rt-secret-1', login.state, verifier])
    expect(login.context.said.hidden).toContain(secret);
});

test('an id_token without metadata is still checked for audience and nonce', async () => {
  const login = await start({ scopes: ['openid', 'x/media.readonly'] });
  const claims = (aud: string) => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    return `${part({ alg: 'RS256' })}.${part({ iss: 'https://i.example', aud, sub: 's1', nonce: login.url.searchParams.get('nonce'), iat: now, exp: now + 600, email: 'ada@example.com' })}.${part({})}`;
  };
  login.tokens.answer(({ url }) =>
    url === '/token'
      ? { body: { ...(goodTokens.body as object), id_token: claims('another-client') } }
      : { status: 404, body: {} },
  );
  await login.redirect();
  expect(await failed(login)).toMatchObject({ detail: { code: 'BAD_TOKEN_ANSWER' } });
});
