import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { Host } from '../../../src/platform/host.ts';
import { type TestAuthContext, makeAuthContext } from '../auth-context.ts';
import { goodTokens, tokenServer } from '../token-server.ts';
import { get, raw, type WaitingLogin, waitingLogin } from '../waiting-login.ts';
import { attacks } from './attacks.ts';
import { covers } from '../../support/covers.ts';

const open: WaitingLogin[] = [];
const start = async (context?: TestAuthContext): Promise<WaitingLogin> => {
  // Only the code of the real redirect is valid: PKCE makes the code of an attacker useless.
  const tokens = await tokenServer(({ form }) =>
    form.get('code') === 'code-secret-1' ? goodTokens : { status: 400, body: { error: 'invalid_grant' } },
  );
  const login = await waitingLogin({}, { tokens, context });
  open.push(login);
  return login;
};
afterEach(async () => {
  for (const login of open.splice(0)) await login.end();
});

/** Characters that control a terminal. The line ends come from opsctl. */
const acts = /(?!\n)[\p{Cc}\p{Cf}]/u;

describe(`${attacks.length} attacks, each on a fresh login`, () => {
  test('there are at least 30 of them', () => {
    expect(attacks.length).toBeGreaterThanOrEqual(30);
    expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length);
  });

  test.each(attacks)('$name', covers('spec/program#choices-1'), async ({ run, closed }) => {
    const login = await start();
    await run(login).catch(() => undefined);
    expect(login.context.said.text()).not.toMatch(acts);
    if (closed) {
      expect(await login.outcome).toBeInstanceOf(Error);
      return;
    }
    expect(login.isDone()).toBe(false);
    expect(login.tokens.asked).toEqual([]);
    const page = await login.redirect();
    expect(page.body).toContain('You are signed in');
    expect(await login.outcome).toMatchObject({ accessToken: 'at-secret-1' });
    expect(login.tokens.asked).toHaveLength(1);
  });
});

test('a repeated redirect has no effect and gets a page', async () => {
  const login = await start();
  const pages = await Promise.all(
    [login.redirect(), login.redirect(), login.redirect()].map((page) => page.catch(() => undefined)),
  );
  expect(pages.filter((page) => page?.body.includes('You are signed in'))).toHaveLength(1);
  await login.outcome;
  expect(login.tokens.asked).toHaveLength(1);
});

test('the login survives 1,000 concurrent connections', async () => {
  const login = await start();
  const sockets: Socket[] = [];
  await Promise.all(
    Array.from(
      { length: 1000 },
      () =>
        new Promise<void>((resolve) => {
          const socket = connect(login.port, '127.0.0.1');
          sockets.push(socket);
          socket.on('error', () => resolve());
          socket.on('connect', () => {
            socket.write('GET /');
            resolve();
          });
          socket.on('close', () => resolve());
        }),
    ),
  );
  for (const socket of sockets) socket.destroy();
  let page = '';
  for (let attempt = 0; attempt < 200 && !page.includes('You are signed in'); attempt++) {
    page = await login.redirect().then(
      ({ body }) => body,
      () => '',
    );
  }
  expect(page).toContain('You are signed in');
  expect(await login.outcome).toMatchObject({ accessToken: 'at-secret-1' });
});

test('slow senders are cut off after 5 s, and the login continues', async () => {
  const given: (number | undefined)[] = [];
  const inATenth = (host: Host): Host => ({
    ...host,
    network: {
      ...host.network,
      listen: (handler, at) => {
        given.push(at.requestTimeoutMs);
        return host.network.listen(handler, {
          ...at,
          requestTimeoutMs: (at.requestTimeoutMs ?? 60_000) / 10,
        });
      },
    },
  });
  const login = await start(await makeAuthContext({ host: inATenth }));
  expect(new Set(given)).toEqual(new Set([5000]));
  const slow = Array.from({ length: 60 }, () =>
    raw(login.port, `GET /?code=evil HTTP/1.1\r\nHost: 127.0.0.1:${login.port}\r\nX-Slow: `, 15_000),
  );
  const cut = await Promise.all(slow);
  expect(cut.every((text) => text === '' || text.includes('408'))).toBe(true);
  expect(login.isDone()).toBe(false);
  expect((await login.redirect()).body).toContain('You are signed in');
  await login.outcome;
});

test('the terminal reports the unused requests with reasons, without their parameters', async () => {
  const login = await start();
  await get(`http://127.0.0.1:${login.port}/?code=stolen-code&state=wrong-state`);
  await get(`http://127.0.0.1:${login.port}/callback?code=stolen-code`);
  await get(`http://127.0.0.1:${login.port}/favicon.ico`);
  const text = login.context.said.text();
  expect(text).toContain('GET /: ignored, the state belongs to another login');
  expect(text).toContain('GET /callback: ignored, this is not the path of the redirect');
  expect(text).not.toContain('favicon');
  expect(text).not.toContain('stolen-code');
  expect(text).not.toContain('wrong-state');
});

test('a flood of strangers does not flood the terminal', async () => {
  const login = await start();
  for (let i = 0; i < 60; i++) await get(`http://127.0.0.1:${login.port}/x${i}`);
  const lines = login.context.said.lines.filter((line) => line.includes('ignored'));
  expect(lines.length).toBeLessThanOrEqual(21);
  expect(login.context.said.text()).toContain('no longer listed');
});

test('every page is safe: no framing, no loaded resources, no caching, escaped parameters', async () => {
  const login = await start();
  const evil = '%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E';
  const pages = [
    await get(`http://127.0.0.1:${login.port}/${evil}`),
    await get(`http://127.0.0.1:${login.port}/?code=x`),
    await get(`http://127.0.0.1:${login.port}/`, { method: 'POST', body: 'x' }),
    await login.redirect({
      error: `<script>alert(1)</script>`,
      error_description: '"><img src=x onerror=alert(1)>',
      state: login.state,
    }),
  ];
  for (const { headers, body } of pages) {
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'(; script-src 'sha256-[^']+'; worker-src 'self')?; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
    });
    expect(body).not.toContain('<img');
    expect(body).not.toContain('<script>alert');
    expect(headers['access-control-allow-origin']).toBeUndefined();
  }
});
