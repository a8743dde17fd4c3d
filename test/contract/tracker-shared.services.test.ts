import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { MockOptions } from '../../src/mock-server/service-set.ts';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});
const start = async (options: Partial<MockOptions> = {}): Promise<TrackerServer> => {
  const server = await startTracker(options, 'empty');
  open.push(() => server.close());
  return server;
};
const steer = async ({ mock }: TrackerServer, method: string, path: string, body?: object) => {
  const reply = await fetch(`${mock.origin}/__opsctl/${path}`, {
    method,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: reply.status, body: JSON.parse((await reply.text()) || 'null') };
};

test('the limit is in a header only on request', async () => {
  const plain = await start({ ratePerMinute: 5 });
  expect((await plain.ask('GET', '/labels')).headers.get('x-ratelimit-limit')).toBeNull();
  for (const [ratePerMinute, text] of [
    [5, '5'],
    [undefined, 'off'],
  ] as const) {
    const { ask } = await start({ ratePerMinute, rateHeaders: true });
    expect((await ask('GET', '/labels')).headers.get('x-ratelimit-limit')).toBe(text);
    expect((await ask('GET', '/nothing')).headers.get('x-ratelimit-limit')).toBe(text);
  }
});

describe('a workspace for each token (spec/tracker#authentication-7)', () => {
  const as = (token: string) => ({ 'Tracker-Token': token });
  test('records of one token are not those of another', async () => {
    const { ask } = await start({ workspacePerToken: true });
    for (const token of ['a', 'b', TOKEN])
      expect((await ask('POST', '/labels', { name: 'same' }, as(token))).status).toBe(201);
    await ask('POST', '/labels', { name: 'more' }, as('a'));
    const names = async (token: string) =>
      (await ask('GET', '/labels', undefined, as(token))).body.map(({ name }: { name: string }) => name);
    expect([await names('a'), await names('b'), await names('new')]).toEqual([
      ['same', 'more'],
      ['same'],
      [],
    ]);
    expect((await ask('GET', '/labels', undefined, { 'Tracker-Token': '' })).status).toBe(401);
  });
  test('a reset clears all workspaces; requests are separated by their token', async () => {
    const server = await start({ workspacePerToken: true });
    await server.ask('POST', '/labels', { name: 'x' }, as('a'));
    await server.ask('GET', '/labels', undefined, as('b'));
    const found = await steer(server, 'GET', 'requests/match?token=a');
    expect(found.body).toMatchObject({
      matched: 1,
      rows: [{ method: 'POST', headers: { 'tracker-token': '***' } }],
    });
    await steer(server, 'POST', 'reset', { kind: 'empty' });
    expect((await server.ask('GET', '/labels', undefined, as('a'))).body).toEqual([]);
  });
  test('without the switch another token is rejected', async () => {
    const { ask } = await start();
    expect((await ask('GET', '/labels', undefined, as('a'))).status).toBe(401);
  });
  test('at most 1,000 workspaces exist at a time', async () => {
    const { ask } = await start({ workspacePerToken: true });
    for (let i = 0; i < 1000; i++) await ask('GET', '/labels?slim=true', undefined, as(`t${i}`));
    expect((await ask('GET', '/labels', undefined, as('one more'))).status).toBe(403);
    expect((await ask('GET', '/labels', undefined, as('t0'))).status).toBe(200);
  });
});

describe('deliveries to webhooks (spec/tracker#webhooks-6)', () => {
  const receiver = async (status: () => number) => {
    const bodies: string[] = [];
    const http = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        bodies.push(text);
        response.writeHead(status()).end();
      });
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    open.push(() => new Promise((resolve) => http.close(resolve)));
    return { bodies, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/in` };
  };
  test('deliveries are listed, sent again byte for byte, and sent without a change', async () => {
    const server = await start();
    const { bodies, url } = await receiver(() => 200);
    expect((await steer(server, 'POST', 'webhooks/trigger', { event: 'story.update' })).status).toBe(404);
    await server.ask('POST', '/integrations/webhook', { webhook_url: url, secret: 's' });
    await server.ask('POST', '/stories', { name: 'one' });
    await expect.poll(() => bodies.length).toBe(1);
    const listed = async () => (await steer(server, 'GET', 'webhooks/deliveries')).body;
    await expect.poll(async () => (await listed())[0].status).toBe('delivered');
    expect(await listed()).toMatchObject([
      { number: 1, event: 'story.create', url, attempts: 1, answer: '200', body: bodies[0] },
    ]);
    await steer(server, 'POST', 'webhooks/resend', { number: 1 });
    await expect.poll(() => bodies.length).toBe(2);
    expect(bodies[1]).toBe(bodies[0]);
    expect((await listed())[1]).toMatchObject({ number: 2, resend_of: 1 });
    await steer(server, 'POST', 'webhooks/trigger', { event: 'epic.create' });
    await expect.poll(() => bodies.length).toBe(3);
    expect(JSON.parse(bodies[2] ?? '')).toMatchObject({
      actions: [{ entity_type: 'epic', action: 'create' }],
    });
    expect((await server.ask('GET', '/epics')).body).toEqual([]);
    expect((await steer(server, 'GET', 'webhooks')).body).toMatchObject([
      { webhook_url: url, has_secret: true },
    ]);
    expect(JSON.stringify((await steer(server, 'GET', 'webhooks')).body)).not.toContain('"s"');
  });
  test('a wrong event, an unknown record and an unknown delivery are refused', async () => {
    const server = await start();
    const { url } = await receiver(() => 200);
    await server.ask('POST', '/integrations/webhook', { webhook_url: url });
    expect((await steer(server, 'POST', 'webhooks/trigger', { event: 'label.create' })).status).toBe(400);
    expect((await steer(server, 'POST', 'webhooks/trigger', { event: 'story.create', id: 5 })).status).toBe(
      404,
    );
    expect((await steer(server, 'POST', 'webhooks/resend', { number: 9 })).status).toBe(404);
  });
});
