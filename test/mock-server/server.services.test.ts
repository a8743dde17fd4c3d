import { connect } from 'node:net';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { defaultOptions, type ServiceEntry } from '../../src/mock-server/service-set.ts';
import type { MockSetup } from '../../src/mock-server/server.ts';
import { openState } from '../../src/mock-server/journal.ts';
import { makeIdentity } from '../../src/mock-server/local-authority.ts';
import { fakeHost } from '../support/fake-host.ts';
import { type Small, document, notesService, smallMock } from '../support/small-mock.ts';
import { covers } from '../support/covers.ts';

let small: Small;
const begin = async (more: Partial<MockSetup> = {}): Promise<Small> => {
  small = await smallMock(more);
  return small;
};

const texts = async () =>
  ((await small.ask('GET', '/notes')).body as { text: string }[]).map(({ text }) => text);

describe('the server', () => {
  it(
    'the server responds on both loopback addresses at one port',
    covers('spec/program#mock-server-1'),
    async () => {
      const { mock, machine } = await begin();
      const reply = await machine.host.network.request({
        method: 'GET',
        url: `http://[::1]:${mock.port}/notes`,
      });
      expect(reply.status).toBe(200);
      expect(mock.origin).toBe(`http://127.0.0.1:${mock.port}`);
      expect(await machine.host.network.canConnect('127.0.0.1', mock.port, 1000)).toBe(true);
    },
  );

  it('the server reports no failure for a client that disconnects in the middle of its request', async () => {
    const failures: unknown[] = [];
    const { ask, mock } = await begin({ onFailure: (error) => failures.push(error) });
    const client = connect(mock.port, '127.0.0.1');
    const head = [
      'POST /notes HTTP/1.1',
      'Host: 127.0.0.1',
      'Content-Type: application/json',
      'Content-Length: 100',
    ];
    await new Promise((sent) => client.write(`${head.join('\r\n')}\r\n\r\n{"te`, sent));
    client.destroy();
    const posts = async () =>
      ((await ask('GET', '/__opsctl/requests')).body as { method: string; status?: number }[]).filter(
        (one) => one.method === 'POST',
      );
    await expect.poll(posts).toMatchObject([{ status: 400 }]);
    expect([failures, await texts()]).toEqual([[], []]);
  });

  it('the server rejects every name that a page of another site could point here', async () => {
    const { ask, mock } = await begin();
    const foreign = { host: `evil.example:${mock.port}` };
    for (const path of ['/notes', '/__opsctl/status', '/nowhere']) {
      const reply = await ask('GET', path, undefined, foreign);
      expect(reply.status).toBe(421);
      expect(reply.body.message).toContain('--allow-host');
    }
    expect((await ask('POST', '/notes', 'x', foreign)).status).toBe(421);
    expect(await texts()).toEqual([]);
    expect((await ask('GET', '/v2beta/labels', undefined, foreign)).body.error).toMatchObject({ code: 421 });
    const noted = (await ask('GET', '/__opsctl/requests')).body;
    expect(JSON.stringify(noted)).toContain('"status":421');
  });

  it('the server accepts a configured name', async () => {
    const { ask } = await begin({ options: { ...defaultOptions, allowHosts: ['mock.company.example'] } });
    expect((await ask('GET', '/notes', undefined, { host: 'Mock.Company.example:8080' })).status).toBe(200);
    expect((await ask('GET', '/notes', undefined, { host: 'other.example' })).status).toBe(421);
  });

  it('the server adds a different request ID to every response', async () => {
    const { ask } = await begin();
    const ids = [
      await ask('GET', '/notes'),
      await ask('GET', '/nowhere'),
      await ask('GET', '/__opsctl/clock'),
      await ask('GET', '/notes/fail'),
    ];
    const seen = new Set(ids.map(({ headers }) => headers['x-request-id']));
    expect(seen.size).toBe(4);
    expect(seen.has(undefined as unknown as string)).toBe(false);
  });

  it('a control request without JSON is rejected as such', async () => {
    const { ask } = await begin();
    const reply = await ask('PUT', '/__opsctl/clock', 'tomorrow');
    expect([reply.status, reply.body.message]).toEqual([400, 'the body is not JSON']);
  });

  it('features that are set before the first request outlast the start of their service', async () => {
    const late: ServiceEntry = {
      name: 'late',
      claims: (path) => path.startsWith('/late'),
      load: async () => (env) => ({
        ...notesService(env),
        ...{ name: 'late', owns: (path: string) => path.startsWith('/late') },
        seed: () =>
          env.store.transact(() => env.store.collection<boolean>('tracker.features').put('iterations', true)),
      }),
    };
    const { ask } = await begin({ services: [late] });
    const set = await ask('PUT', '/__opsctl/features', { iterations: false });
    expect([set.status, set.body.iterations]).toEqual([200, false]);
    expect((await ask('GET', '/__opsctl/features')).body.iterations).toBe(false);
  });

  it('the server reports a missing path', async () => {
    const { ask } = await begin();
    expect(await ask('GET', '/nowhere')).toMatchObject({
      status: 404,
      body: { message: 'no service of this server has the path /nowhere' },
    });
    expect(await ask('GET', '/__opsctl/nothing')).toMatchObject({ status: 404 });
    const wrong = await ask('POST', '/__opsctl/status');
    expect([wrong.status, wrong.headers.allow]).toEqual([405, 'GET']);
  });

  it('the server returns 500 with the request ID when a service fails, and reports the error', async () => {
    const { ask, failures } = await begin();
    const { status, body, headers } = await ask('GET', '/notes/fail');
    expect(status).toBe(500);
    expect(body.message).toContain(headers['x-request-id']);
    expect(failures.map(String)).toEqual(['Error: on purpose']);
  });

  it('the server handles HEAD like GET without the body', async () => {
    const { ask } = await begin();
    await ask('POST', '/notes', 'hello');
    const get = await ask('GET', '/notes');
    const head = await ask('HEAD', '/notes');
    expect([head.status, head.text, head.headers['content-length']]).toEqual([
      200,
      '',
      String(get.text.length),
    ]);
  });

  it('refuses a body over the limit with 413, sent with or without its length', async () => {
    const { mock } = await begin();
    const piece = Buffer.alloc(1024 * 1024, 'x');
    const send = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve) => {
        const sent = request(
          `${mock.origin}/notes`,
          { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
          (reply) => {
            reply.resume();
            resolve(reply.statusCode);
          },
        );
        sent.on('error', () => {});
        for (let i = 0; i < 17; i++) sent.write(piece);
        sent.end();
      });
    expect(await send({})).toBe(413);
    expect(await send({ 'content-length': String(17 * 1024 * 1024) })).toBe(413);
  });

  it('the server serves documents that are created on demand', async () => {
    const { ask, mock } = await begin({ documents: { '/openapi.json': document } });
    expect(await ask('GET', '/openapi.json')).toMatchObject({ status: 200, body: { at: mock.origin } });
    expect((await ask('POST', '/openapi.json')).status).toBe(404);
  });

  it('the server waits for background work when it stops', async () => {
    const { ask, mock, store } = await begin();
    await ask('POST', '/notes/later', '');
    await mock.close();
    expect([...store.collection<{ text: string }>('notes').values()].map(({ text }) => text)).toEqual([
      'later',
    ]);
  });

  it('the server uses TLS only on request', covers('spec/program#choices-2'), async () => {
    const { machine, mock } = await begin({
      tls: makeIdentity(Date.now(), (bytes) => new Uint8Array(bytes).fill(7)),
    });
    expect(mock.origin).toMatch(/^https:/);
    const plain = machine.host.network.request({
      method: 'GET',
      url: mock.origin.replace('https:', 'http:'),
    });
    await expect(plain).rejects.toMatchObject({ name: 'NetworkError' });
  });

  it('the server reports an occupied port', async () => {
    const { mock } = await begin();
    await expect(smallMock({ port: mock.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

describe('the state of a server', () => {
  it('the state is filled once, at the first request of its service', async () => {
    const { ask } = await begin({ seed: 'demo' });
    expect(await texts()).toEqual(['from the seed']);
    await ask('DELETE', '/notes/1');
    expect(await texts()).toEqual([]);
  });

  it('can be reset, emptied, saved and restored', async () => {
    const { ask } = await begin({ seed: 'demo' });
    await ask('POST', '/notes', 'mine');
    const saved = (await ask('GET', '/__opsctl/state')).text;
    expect((await ask('POST', '/__opsctl/reset', {})).body.records).toEqual({ notes: 1 });
    expect(await texts()).toEqual(['from the seed']);
    await ask('POST', '/__opsctl/reset', { kind: 'empty' });
    expect(await texts()).toEqual([]);
    expect((await ask('PUT', '/__opsctl/state', saved)).status).toBe(200);
    expect(await texts()).toEqual(['from the seed', 'mine']);
    const made = (await ask('POST', '/notes', 'after')).body;
    expect(made.id).toBe(3);
  });

  it('a reset and a restoration leave no earlier record in the files', async () => {
    const { files } = fakeHost();
    const { store, journal } = await openState(files, '/mock', 1_000_000);
    const { ask } = await begin({ store, journal });
    const stored = () => Object.values(files.all()).join('\n');
    await ask('POST', '/notes', 'the earlier note');
    expect(stored()).toContain('the earlier note');
    await ask('POST', '/__opsctl/reset', { kind: 'empty' });
    expect([stored().includes('opsctl-mock'), stored().includes('the earlier note')]).toEqual([true, false]);
    await ask('POST', '/notes', 'the next note');
    const saved = { opsctl_state: 1, collections: { notes: [[7, { id: 7, text: 'restored' }]] } };
    expect((await ask('PUT', '/__opsctl/state', saved)).status).toBe(200);
    expect([stored().includes('restored'), stored().includes('the next note')]).toEqual([true, false]);
  });

  it.each([
    '',
    '{',
    '[]',
    '{"opsctl_state":2,"collections":{}}',
    '{"opsctl_state":1,"collections":{"notes":[1]}}',
    '{"opsctl_state":1,"collections":{"notes":[[1,{}],[2]]}}',
    '{"opsctl_state":1,"collections":{"notes":[[null,{}]]}}',
    '{"opsctl_state":1,"collections":{"notes":[[1,{}]],"others":7}}',
  ])('the state is not replaced by %j', async (text) => {
    const { ask } = await begin({ seed: 'demo' });
    const reply = await ask('PUT', '/__opsctl/state', text);
    expect([reply.status, reply.body.message]).toEqual([
      400,
      'this is not a saved state: `opsctl mock state` writes one',
    ]);
    expect(await texts()).toEqual(['from the seed']);
  });
});

describe('the control interface', () => {
  it('the control interface does not serve web pages', covers('spec/program#mock-server-5'), async () => {
    const { ask } = await begin();
    expect((await ask('POST', '/__opsctl/reset', {}, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await ask('GET', '/__opsctl/status', undefined, { 'sec-fetch-site': 'cross-site' })).status).toBe(
      403,
    );
  });

  it('sets the clock', covers('spec/program#mock-server-6'), async () => {
    const { ask } = await begin({ clockMs: Date.parse('2030-01-01T00:00:00Z') });
    expect((await ask('POST', '/notes', 'x')).body.at).toBeGreaterThanOrEqual(
      Date.parse('2030-01-01T00:00:00Z'),
    );
    const frozen = (await ask('PUT', '/__opsctl/clock', { time: '2026-03-01T00:00:00Z', frozen: true })).body;
    expect(frozen).toMatchObject({ time: '2026-03-01T00:00:00.000Z', frozen: true });
    await ask('PUT', '/__opsctl/clock', { advance_ms: 86_400_000 });
    expect((await ask('POST', '/notes', 'y')).body.at).toBe(Date.parse('2026-03-02T00:00:00Z'));
    expect((await ask('DELETE', '/__opsctl/clock')).body).toMatchObject({ offset_ms: 0, frozen: false });
    const both = await ask('PUT', '/__opsctl/clock', { time: '2026-03-01T00:00:00Z', advance_ms: 1 });
    expect(both).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'advance_ms', rule: 'exclusive' }] },
    });
    expect((await ask('PUT', '/__opsctl/clock', { time: 'tomorrow' })).status).toBe(400);
    expect((await ask('PUT', '/__opsctl/clock', 'not json')).status).toBe(400);
  });

  it('makes identifiers repeatable', covers('spec/program#mock-server-6'), async () => {
    const made = async () => {
      await begin({ idSeed: 'golden' });
      const { uuid } = (await small.ask('POST', '/notes', 'x')).body;
      await small.close();
      return uuid;
    };
    expect(await made()).toBe(await made());
    await begin();
  });

  it('the control interface lists the requests, newest last, with masked secrets', async () => {
    const { ask } = await begin();
    await ask(
      'POST',
      '/notes?token=abc&n=1',
      { secret: 's', name: 'x' },
      { authorization: 'Bearer t', 'content-type': 'application/json' },
    );
    await ask('POST', '/notes', 'client_secret=s&a=b', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    await ask('GET', '/nowhere');
    const { body, text } = await ask('GET', '/__opsctl/requests?limit=3');
    expect(body).toMatchObject([
      {
        method: 'POST',
        path: '/notes',
        query: 'token=***&n=1',
        status: 201,
        service: 'notes',
        headers: { authorization: '***' },
        body: { secret: '***', name: 'x' },
      },
      { method: 'POST', body: 'client_secret=***&a=b' },
      { method: 'GET', path: '/nowhere', status: 404 },
    ]);
    expect(text).not.toMatch(/Bearer|abc/);
    expect((await ask('GET', '/__opsctl/requests?limit=1')).body.length).toBe(1);
    expect((await ask('GET', '/__opsctl/requests?limit=no')).status).toBe(400);
    await ask('DELETE', '/__opsctl/requests');
    expect((await ask('GET', '/__opsctl/requests')).body).toEqual([]);
  });

  it('keeps the last thousand requests and counts large bodies instead of keeping them', async () => {
    const { ask } = await begin();
    await ask('POST', '/notes', 'x'.repeat(5000));
    expect((await ask('GET', '/__opsctl/requests')).body[0].body).toBe('5000 bytes');
    for (let i = 0; i < 1005; i++) await ask('GET', `/notes?i=${i}`);
    const { body } = await ask('GET', '/__opsctl/requests?limit=1000');
    expect([body.length, body[0].query, body[999].query]).toEqual([1000, 'i=5', 'i=1004']);
    expect((await ask('GET', '/__opsctl/status')).body.requests).toBe(1006);
  });

  it('asks for the end', async () => {
    const { ask, mock } = await begin();
    expect((await ask('POST', '/__opsctl/shutdown')).status).toBe(204);
    await mock.shutdownAsked;
    expect((await ask('GET', '/notes')).status).toBe(200);
  });
});

describe('faults', () => {
  const add = async (fault: object) => (await small.ask('POST', '/__opsctl/faults', fault)).body;

  it(
    'faults replace the response of the service for the configured number of requests',
    covers('spec/program#mock-server-6'),
    async () => {
      const { ask } = await begin();
      await add({ method: 'POST', path: '/notes', status: 503, headers: { 'retry-after': '2' }, count: 2 });
      const replies = [
        await ask('POST', '/notes', 'a'),
        await ask('POST', '/notes', 'b'),
        await ask('POST', '/notes', 'c'),
      ];
      expect(replies.map(({ status }) => status)).toEqual([503, 503, 201]);
      expect(replies[0]?.headers['retry-after']).toBe('2');
      expect(await texts()).toEqual(['c']);
      expect((await ask('GET', '/__opsctl/faults')).body).toEqual([]);
    },
  );

  it('meet only what their pattern names', async () => {
    const { ask } = await begin();
    await add({ path: '/notes/*', status: 418 });
    await add({ path: '/deep/**', status: 419 });
    const statuses = async (...paths: string[]) =>
      Promise.all(paths.map(async (path) => (await ask('GET', path)).status));
    expect(await statuses('/notes', '/notes/1', '/notes/1/2', '/deep/a/b', '/deepest')).toEqual([
      200, 418, 200, 419, 404,
    ]);
  });

  it('cut the connection before the service is asked', async () => {
    const { ask } = await begin();
    await add({ method: 'POST', cut: true, count: 1 });
    await expect(ask('POST', '/notes', 'a')).rejects.toMatchObject({ code: 'RESET' });
    expect(await texts()).toEqual([]);
  });

  it('faults drop the response after the work is done', async () => {
    const { ask } = await begin();
    await add({ method: 'POST', cut: true, when: 'after', count: 1 });
    await expect(ask('POST', '/notes', 'a').then(({ text }) => text)).rejects.toMatchObject({
      code: 'RESET',
    });
    await add({ method: 'POST', status: 500, when: 'after', count: 1 });
    expect((await ask('POST', '/notes', 'b')).status).toBe(500);
    expect(await texts()).toEqual(['a', 'b']);
  });

  it("faults change the content type or the body of the service's response", async () => {
    const { ask } = await begin();
    await add({ content_type: 'text/html', count: 1 });
    const html = await ask('GET', '/notes');
    expect([html.status, html.headers['content-type'], html.text]).toEqual([200, 'text/html', '[]']);
    await add({ content_type: 'text/html', body: '<p>', count: 1 });
    expect(await ask('GET', '/notes')).toMatchObject({ status: 200, text: '<p>' });
    await add({ body: 'not json', count: 1 });
    expect(await ask('GET', '/notes')).toMatchObject({ status: 200, text: 'not json' });
  });

  it('delay', async () => {
    const { ask, machine } = await begin();
    await add({ delay_ms: 80, count: 1 });
    const since = machine.host.elapsed();
    expect((await ask('GET', '/notes')).status).toBe(200);
    expect(machine.host.elapsed() - since).toBeGreaterThan(75);
  });

  it('faults count their hits and can be removed', async () => {
    const { ask } = await begin();
    const { id } = await add({ path: '/notes', status: 500 });
    await ask('GET', '/notes');
    expect((await ask('GET', '/__opsctl/faults')).body).toEqual([
      { id, path: '/notes', status: 500, hits: 1 },
    ]);
    expect((await ask('DELETE', `/__opsctl/faults/${id}`)).status).toBe(204);
    expect((await ask('DELETE', `/__opsctl/faults/${id}`)).status).toBe(404);
    await add({ status: 500 });
    await add({ status: 501 });
    await ask('DELETE', '/__opsctl/faults');
    expect((await ask('GET', '/notes')).status).toBe(200);
  });

  it.each([{ status: 99 }, { status: 'x' }, { delay_ms: -1 }, { when: 'never' }, { colour: 1 }])(
    'invalid faults are rejected: %j',
    async (fault) => {
      const { ask } = await begin();
      const { status, body } = await ask('POST', '/__opsctl/faults', fault);
      expect([status, body.problems.length]).toEqual([400, 1]);
    },
  );

  it('do not touch the control interface', async () => {
    const { ask } = await begin();
    await add({ status: 500 });
    expect((await ask('GET', '/__opsctl/clock')).status).toBe(200);
  });
});

it('does not lose its head over garbage on the socket', async () => {
  const { mock, ask } = await begin();
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(mock.port, '127.0.0.1', () => socket.end('NOT HTTP AT ALL\r\n\r\n'));
    let text = '';
    socket.on('data', (chunk) => (text += chunk)).on('close', () => resolve(text));
  });
  expect(answer).toContain('400');
  expect((await ask('GET', '/notes')).status).toBe(200);
});
