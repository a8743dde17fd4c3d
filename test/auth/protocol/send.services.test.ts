import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { HttpResponse } from '../../../src/auth/protocol/token-client.ts';
import { sendCode, sendWithRetry } from '../../../src/auth/protocol/send.ts';
import { type TestAuthContext, makeAuthContext } from '../auth-context.ts';
import { type TokenResponse, tokenServer } from '../token-server.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** The time limit of a whole response. Only this sleep waits in real time. */
const limitMs = 30_000;
type Outcome = {
  readonly read: HttpResponse | { readonly code: unknown };
  readonly asked: number;
  readonly waits: readonly number[];
  readonly context: TestAuthContext;
};
/** Sends one request to a server that returns these responses in order and repeats the last one. Waits return immediately. */
const sent = async (
  how: typeof sendCode,
  answers: readonly TokenResponse[],
  query = '',
): Promise<Outcome> => {
  let turn = 0;
  const server = await tokenServer(() => answers[Math.min(turn++, answers.length - 1)] ?? {});
  const waits: number[] = [];
  const context = await makeAuthContext({
    host: (host) => ({
      ...host,
      sleep: (ms, signal) => (ms === limitMs ? host.sleep(ms, signal) : Promise.resolve(void waits.push(ms))),
    }),
  });
  closers.push(server.close, context.close);
  const request = { method: 'POST' as const, url: `${server.url}/token${query}`, headers: {}, body: 'x=1' };
  const read = await how(context, 'refresh', request).catch((error) => ({ code: error.detail.code }));
  return { read, asked: server.asked.length, waits, context };
};
const good: TokenResponse = { body: { ok: true } };
const busy = (headers: Record<string, string> = {}, status = 503): TokenResponse => ({
  status,
  body: 'busy',
  type: 'text/plain',
  headers,
});

test.each([
  ['a 503 that names 2 s', [busy({ 'retry-after': '2' }), good], 200, 2, [2000]],
  ['a 429 that names 1 s', [busy({ 'retry-after': '1' }, 429), good], 200, 2, [1000]],
  ['an outage that stays', [busy()], 503, 3, [200, 400]],
  ['a 500', [busy({}, 500), good], 200, 2, [200]],
  ['a wait that nobody sits through', [busy({ 'retry-after': '7200' }), good], 503, 1, []],
  ['a refusal', [{ status: 400, body: { error: 'invalid_grant' } }, good], 400, 1, []],
])('a refresh after %s', async (_, answers, status, asked, waits) => {
  const outcome = await sent(sendWithRetry, answers);
  expect(outcome).toMatchObject({ read: { status }, asked, waits });
});

test('a Retry-After that is a date', async () => {
  const at = new Date(Date.now() + 9000).toUTCString();
  const { read, waits } = await sent(sendWithRetry, [busy({ 'retry-after': at }), good]);
  expect(read).toMatchObject({ status: 200 });
  expect(waits[0]).toBeGreaterThan(5000);
  expect(waits[0]).toBeLessThanOrEqual(9000);
});

test('--verbose names each request without its query', async () => {
  const { context } = await sent(sendWithRetry, [busy({}, 500), good], '?token=secret-1');
  const [first, second, third, fourth] = context.said.lines;
  expect([first, second, third, fourth].map((line) => line?.replace(/http\S+:\d+/, ''))).toEqual([
    'POST /token',
    '500 POST /token',
    'POST /token',
    '200 POST /token',
  ]);
  expect(context.said.text()).not.toContain('secret-1');
});

test('a long wait is reported, a short one is not', async () => {
  const long = await sent(sendWithRetry, [busy({ 'retry-after': '2' }), good]);
  expect(long.context.said.text()).toContain('refresh: the service returned 503; trying again in 2.0 s');
  expect((await sent(sendWithRetry, [busy(), good])).context.said.text()).not.toContain('trying again');
});

test.each([
  ['503', [busy(), good], { status: 200 }, 2],
  ['429', [busy({}, 429), good], { status: 200 }, 2],
  ['500', [busy({}, 500), good], { status: 500 }, 1],
  ['502', [busy({}, 502), good], { status: 502 }, 1],
  ['a cut line', [{ cut: true as const }, good], { code: 'RESET' }, 1],
])(
  'RFC 6749 4.1.2: a code after %s is sent again only if no server can have read it',
  async (_, answers, read, asked) => {
    expect(await sent(sendCode, answers)).toMatchObject({ read, asked });
  },
);

test('a lost connection during a refresh causes one retry', async () => {
  expect(await sent(sendWithRetry, [{ cut: true }, good])).toMatchObject({ read: { status: 200 }, asked: 2 });
  expect(await sent(sendWithRetry, [{ cut: true }])).toMatchObject({ read: { code: 'RESET' }, asked: 2 });
});

test.each([
  ['is never begun', false],
  ['drips for ever', true],
])('a response that %s fails at the configured timeout', async (_, drips) => {
  const server = createServer((request, reply) => {
    request.resume();
    if (!drips) return;
    reply.writeHead(200, { 'content-type': 'application/json' });
    const drip = setInterval(() => reply.write(' '), 20);
    reply.on('close', () => clearInterval(drip));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const context = await makeAuthContext({ settings: { timeout: '200ms' } });
  closers.push(
    context.close,
    async () => void server.closeAllConnections(),
    async () => void server.close(),
  );
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  const asked = sendWithRetry(context, 'refresh', { method: 'POST', url, headers: {}, body: 'x=1' });
  await expect(asked).rejects.toMatchObject({
    category: 'network',
    detail: { code: 'TIMEOUT' },
    message: expect.stringContaining('within 0.2 s'),
  });
});

test('Ctrl-C during a slow response is an interruption, not a timeout', async () => {
  const context = await makeAuthContext({ settings: { timeout: '20s' } });
  const server = createServer((request) => {
    request.resume();
    context.abort.abort(new Error('stopped'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(
    context.close,
    async () => void server.closeAllConnections(),
    async () => void server.close(),
  );
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  await expect(
    sendWithRetry(context, 'refresh', { method: 'POST', url, headers: {}, body: 'x=1' }),
  ).rejects.toMatchObject({ code: 'ABORTED' });
});
