import { afterEach, expect, test } from 'vitest';
import type { Host, HttpReply, HttpRequest } from '../../../src/platform/host.ts';
import { discover } from '../../../src/auth/protocol/discovery.ts';
import { type TestAuthContext, makeAuthContext } from '../auth-context.ts';
import { partlyMade } from '../../support/context.ts';

const endpoints = {
  authorize: 'https://a.example/auth',
  token: 'https://t.example/token',
  revoke: 'https://t.example/revoke',
};
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const found = { issuer: 'https://a.example', token_endpoint: endpoints.token };
const answer = (body: unknown, status = 200): HttpReply =>
  partlyMade<HttpReply>({
    status,
    headers: {},
    bytes: async () => new TextEncoder().encode(JSON.stringify(body)),
  });
/** A server that never responds, regardless of the time limit. */
const silent = ({ signal }: HttpRequest): Promise<HttpReply> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('given up'))));
const asking = async (
  request: (asked: HttpRequest) => Promise<HttpReply>,
  sleep?: Host['sleep'],
): Promise<TestAuthContext> => {
  const context = await makeAuthContext({
    host: (host) => ({
      ...host,
      hostname: host.hostname,
      ...(sleep === undefined ? {} : { sleep }),
      network: { ...host.network, request },
    }),
  });
  closers.push(context.close);
  return context;
};

test('an unresponsive URL does not delay the responsive one, and is aborted', async () => {
  const asked: HttpRequest[] = [];
  const { host } = await asking((request) => {
    asked.push(request);
    return request.url === 'https://t.example/.well-known/oauth-authorization-server'
      ? Promise.resolve(answer(found))
      : silent(request);
  });
  expect(await discover(host, endpoints)).toMatchObject({ issuer: 'https://a.example' });
  expect(asked).toHaveLength(4);
  expect(asked.every(({ signal }) => signal?.aborted === true)).toBe(true);
});

test('when all are silent, a time limit for all of them ends it', async () => {
  const { host } = await asking(silent, () => Promise.resolve());
  expect(await discover(host, endpoints)).toBeUndefined();
});

test('Ctrl-C stops the discovery immediately', async () => {
  const stop = new AbortController();
  const { host } = await asking(silent);
  const running = discover(host, endpoints, stop.signal);
  stop.abort();
  expect(await running).toBeUndefined();
});

test.each([
  ['another token endpoint', answer({ ...found, token_endpoint: 'https://evil.example/token' })],
  ['a status that is not 200', answer(found, 203)],
  ['no issuer', answer({ token_endpoint: endpoints.token })],
  ['no object', answer(null)],
])('metadata with %s do not count', async (_, reply) => {
  const { host } = await asking(() => Promise.resolve(reply));
  expect(await discover(host, endpoints)).toBeUndefined();
});
