import { type Socket, connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { Address, Handler, Listener } from '../../src/platform/host.ts';
import { nodeHost } from '../../src/platform/node/host.ts';

const host = nodeHost({ env: {} });
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  await host.network.close();
});
const serve = async (handler: Handler, more: Partial<Address> = {}): Promise<Listener> => {
  const listener = await host.network.listen(handler, { host: '127.0.0.1', port: 0, ...more });
  closers.push(() => listener.close());
  return listener;
};
const ok: Handler = () => ({ status: 200, body: 'ok' });
const socketTo = ({ port }: Listener): Socket => {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  closers.push(() => void socket.destroy());
  return socket;
};
/** Returns all output of the server until it closes the connection. */
const conversation = (listener: Listener, text: string): Promise<string> =>
  new Promise((resolve) => {
    const socket = socketTo(listener);
    let said = '';
    socket.on('data', (chunk) => (said += chunk));
    socket.on('close', () => resolve(said));
    socket.write(text);
  });
const get = (listener: Listener, path: string) =>
  host.network.request({ method: 'GET', url: `http://127.0.0.1:${listener.port}${path}` });

test('a URL over the limit is 414 and never reaches the handler', async () => {
  const seen: string[] = [];
  const handler: Handler = (request) => {
    seen.push(request.url);
    return { status: 200 };
  };
  const listener = await serve(handler, { maxUrlBytes: 50 });
  expect((await get(listener, `/${'a'.repeat(49)}`)).status).toBe(200);
  expect((await get(listener, `/${'a'.repeat(50)}`)).status).toBe(414);
  expect(seen).toHaveLength(1);
});

test('a long URL that is allowed is not refused for its headers', async () => {
  const listener = await serve((request) => ({ status: 200, body: String(request.url.length) }), {
    maxUrlBytes: 60_000,
  });
  expect(await (await get(listener, `/${'a'.repeat(50_000)}`)).text()).toBe('50001');
});

test('a client that never finishes its request receives 408', async () => {
  const listener = await serve(ok, { requestTimeoutMs: 100 });
  expect(await conversation(listener, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc')).toMatch(
    /408/,
  );
  expect(await conversation(listener, 'GET / HTTP/1.1\r\nho')).toMatch(/408/);
});

test.each([
  ['garbage', 'nonsense\r\n\r\n', /400/],
  ['no host header', 'GET / HTTP/1.1\r\n\r\n', /400/],
  ['a header that is too long', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(70_000)}\r\n\r\n`, /431/],
  ['two lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na', /400/],
])('%s is refused', async (_, text, expected) => {
  expect(await conversation(await serve(ok), text)).toMatch(expected);
});

test('connections over the limit are not served', async () => {
  const listener = await serve(ok, { maxConnections: 1 });
  const first = socketTo(listener);
  await new Promise((resolve) => first.once('connect', resolve));
  expect(await conversation(listener, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n')).toBe('');
});

test('read rejects a body over its limit, announced or not, and the response still arrives', async () => {
  const listener = await serve(async (request) => {
    try {
      return { status: 200, body: await request.read(5) };
    } catch (error) {
      return { status: 413, body: (error as { code: string }).code };
    }
  });
  const post = (body: string | AsyncIterable<Uint8Array>) =>
    host.network.request({ method: 'POST', url: `http://127.0.0.1:${listener.port}/`, body });
  async function* streamed(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < 10; i++) yield Buffer.from('xx');
  }
  expect((await post('12345')).status).toBe(200);
  for (const body of ['123456', streamed()]) {
    const reply = await post(body);
    expect(reply.status).toBe(413);
    expect(await reply.text()).toBe('TOO_LARGE');
  }
});

const HEAD = 'POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n';
const readsTen: Handler = (request) =>
  request.read(10).then(
    (body) => ({ status: 200, body: `read ${Buffer.from(body).toString()}.` }),
    (error: { code: string }) => ({ status: 400, body: `failed ${error.code}.` }),
  );
test.each([
  ['with its head', [`${HEAD}content-length: 5\r\n\r\nabcde`], 'read abcde.'],
  ['after its head', [`${HEAD}content-length: 5\r\n\r\n`, 'abcde'], 'read abcde.'],
  ['half with its head', [`${HEAD}content-length: 5\r\n\r\nab`, 'c', 'de'], 'read abcde.'],
  ['empty', [`${HEAD}content-length: 0\r\n\r\n`], 'read .'],
  [
    'in chunks, with its head',
    [`${HEAD}transfer-encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n`],
    'read abcde.',
  ],
  [
    'in chunks, too long, with its head',
    [`${HEAD}transfer-encoding: chunked\r\n\r\nb\r\nabcdefghijk\r\n0\r\n\r\n`],
    'failed TOO_LARGE.',
  ],
])('a body that comes %s', async (_, pieces, expected) => {
  const listener = await serve(readsTen);
  const socket = socketTo(listener);
  let said = '';
  socket.on('data', (chunk) => (said += chunk));
  const closed = new Promise((resolve) => socket.on('close', resolve));
  for (const [i, piece] of pieces.entries()) {
    if (i > 0) await host.turn();
    await new Promise((resolve) => socket.write(piece, resolve));
  }
  await closed;
  expect(said.split('\r\n\r\n')[1]).toBe(expected);
});

test('requests that come in one packet each get their own body', async () => {
  const listener = await serve(readsTen);
  const one = (body: string, more = '') =>
    `POST / HTTP/1.1\r\nhost: x\r\n${more}content-length: ${body.length}\r\n\r\n${body}`;
  const said = await conversation(listener, `${one('a')}${one('bc')}${one('def', 'connection: close\r\n')}`);
  expect(said.match(/read \w+/g)).toEqual(['read a', 'read bc', 'read def']);
});

test.each([
  ['chunks break in the packet of its head', 'transfer-encoding: chunked\r\n\r\n2\r\nab\r\nnonsense\r\n'],
  ['client goes before it is complete', 'content-length: 9\r\n\r\nabc'],
])('the server does not wait for a body with %s, now or later', async (_, rest) => {
  const failures: string[] = [];
  let done: () => void = () => {};
  const isDone = new Promise<void>((resolve) => {
    done = resolve;
  });
  const listener = await serve(async (request) => {
    socket.end();
    for (let i = 0; i < 2; i++) {
      await request.read(100).catch((error: { code: string }) => failures.push(error.code));
      await host.turn();
    }
    done();
    return { status: 200 };
  });
  const socket = socketTo(listener);
  socket.write(`${HEAD}${rest}`);
  await isDone;
  expect(failures).toEqual(['RESET', 'RESET']);
});

test('a handler that throws causes a 500, and the server continues', async () => {
  let count = 0;
  const listener = await serve(async () => {
    if (count++ === 0) throw new Error('secret detail');
    return { status: 200, body: 'fine' };
  });
  const reply = await get(listener, '/');
  expect(reply.status).toBe(500);
  expect(await reply.text()).not.toContain('secret');
  expect(await (await get(listener, '/')).text()).toBe('fine');
});

test.each([async () => {}, () => {}])(
  'a response with an invalid header becomes a 500, and the server continues',
  async (before) => {
    const listener = await serve((request) => {
      const outgoing = { status: 302, headers: { location: request.url === '/bad' ? 'line\nend' : 'fine' } };
      return before() === undefined ? outgoing : Promise.resolve(outgoing);
    });
    expect((await get(listener, '/bad')).status).toBe(500);
    expect((await get(listener, '/')).status).toBe(302);
  },
);

test('responses have a length, repeated headers, and no length without a body', async () => {
  const listener = await serve((request) =>
    request.url === '/cookies'
      ? { status: 200, headers: { 'set-cookie': ['a=1', 'b=2'] }, body: 'é' }
      : { status: 204, body: 'ignored' },
  );
  const said = await conversation(
    listener,
    'GET /cookies HTTP/1.1\r\nhost: x\r\n\r\nDELETE / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
  );
  expect(said).toMatch(/set-cookie: a=1\r\nset-cookie: b=2\r\ncontent-length: 2/);
  expect(said).not.toContain('ignored');
  expect(said.slice(said.indexOf('204'))).not.toMatch(/content-length|transfer-encoding/i);
});

test('listening on an occupied port rejects with EADDRINUSE', async () => {
  const listener = await serve(ok);
  await expect(host.network.listen(ok, { host: '127.0.0.1', port: listener.port })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
});

test('close stops the listener, even with a connection kept alive', async () => {
  const listener = await serve(ok);
  await (await get(listener, '/')).text();
  expect(await host.network.canConnect('127.0.0.1', listener.port, 1000)).toBe(true);
  await listener.close();
  expect(await host.network.canConnect('127.0.0.1', listener.port, 1000)).toBe(false);
});

test('close waits for an active response', async () => {
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let arrived: () => void = () => {};
  const isThere = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const listener = await serve(async () => {
    arrived();
    await held;
    return { status: 200, body: 'done' };
  });
  const reply = get(listener, '/');
  await isThere;
  const closing = listener.close();
  release();
  expect(await (await reply).text()).toBe('done');
  await closing;
});
