import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { hasNoLimit } from '../../../src/commands/mock/has-no-limit.ts';
import { nodeHost } from '../../../src/platform/node/host.ts';
import { startMock } from '../../../src/testing.ts';
import { fakeHost } from '../../support/fake-host.ts';

const host = nodeHost();
const after: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of after.splice(0)) await end();
});

test('a mock without a limit says so, one with a limit does not', async () => {
  const [free, limited] = await Promise.all([startMock({ rateLimit: 'off' }), startMock({ rateLimit: 195 })]);
  after.push(free.close, limited.close);
  expect(await hasNoLimit(host, free.tracker.baseUrl)).toBe(true);
  expect(await hasNoLimit(host, limited.tracker.baseUrl)).toBe(false);
});

test('another server on this machine has a limit, whatever it answers', async () => {
  for (const body of ['{"per_minute":195}', '{}', 'null', 'no JSON']) {
    const server = createServer((_, reply) => reply.end(body)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    after.push(() => server.close());
    expect(await hasNoLimit(host, `http://127.0.0.1:${(server.address() as AddressInfo).port}`)).toBe(false);
  }
});

test('a server elsewhere is not asked', async () => {
  expect(await hasNoLimit(fakeHost(), 'https://api.example.com/api/v3')).toBe(false);
});
