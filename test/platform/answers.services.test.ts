import { type AddressInfo, type Server, type Socket, createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type Host, NetworkError } from '../../src/platform/host.ts';
import { nodeHost } from '../../src/platform/node/host.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
const makeHost = (): Host => {
  const host = nodeHost({ env: {} });
  closers.push(() => host.network.close());
  return host;
};
/** Starts a server that sends these bytes as its response to each request; `count` is the number of its connections. */
const answering = async (
  answer: (socket: Socket, request: string, connection: number) => void,
): Promise<{ url: string; count: () => number }> => {
  const sockets: Socket[] = [];
  const server: Server = createServer((socket) => {
    sockets.push(socket);
    const connection = sockets.length;
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (bytes) => answer(socket, bytes.toString('latin1'), connection));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, count: () => sockets.length };
};
const failure = async (promise: Promise<unknown>): Promise<NetworkError> => {
  const error = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NetworkError);
  return error as NetworkError;
};
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

describe('the HTTP/1.1 transport', () => {
  const ask = (host: Host, url: string, method = 'GET') => host.network.request({ method, url });
  const text = async (host: Host, url: string): Promise<string> => (await ask(host, url)).text();

  test('the transport returns the same response for every split of its bytes', async () => {
    const whole =
      'HTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx-a: b\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n';
    let cut = 0;
    const { url } = await answering((socket) => {
      socket.write(whole.slice(0, cut));
      setImmediate(() => socket.write(whole.slice(cut)));
    });
    const host = makeHost();
    for (cut = 1; cut < whole.length; cut++) {
      const reply = await ask(host, url);
      expect([reply.status, reply.headers['x-a'], reply.headers.link, await reply.text()]).toEqual([
        200,
        'b',
        undefined,
        'abcde',
      ]);
    }
  });

  test('a body without a length ends with the connection', async () => {
    const { url, count } = await answering((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nto the end'));
    const host = makeHost();
    for (let i = 0; i < 3; i++) expect(await text(host, url)).toBe('to the end');
    expect(count()).toBe(3);
  });

  test('the transport supports an old server, and a server that closes each connection', async () => {
    const host = makeHost();
    for (const head of ['HTTP/1.0 200 OK', 'HTTP/1.1 200 OK\r\nconnection: close']) {
      const { url, count } = await answering((socket) =>
        socket.end(`${head}\r\ncontent-length: 2\r\n\r\nok`),
      );
      for (let i = 0; i < 3; i++) expect(await text(host, url)).toBe('ok');
      expect(count()).toBe(3);
    }
  });

  test('a body that ends before its length, or in the middle of its chunks: RESET', async () => {
    const host = makeHost();
    for (const body of [
      'content-length: 9\r\n\r\nhalf',
      'transfer-encoding: chunked\r\n\r\n9\r\nhalf',
      'transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n',
    ]) {
      const { url } = await answering((socket) => socket.end(`HTTP/1.1 200 OK\r\n${body}`));
      expect(await failure(text(host, url))).toMatchObject({ code: 'RESET', sent: true });
    }
  });

  test('the transport rejects a response that is not HTTP', async () => {
    const host = makeHost();
    for (const answer of [
      'hello\r\n\r\n',
      'HTTP/1.1 200 OK\r\nno colon\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n',
    ]) {
      const { url } = await answering((socket) => socket.end(answer));
      expect((await failure(text(host, url))).code).toMatch(/OTHER|RESET/);
    }
  });

  test('the transport aborts a head that never ends', async () => {
    const { url } = await answering((socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(200_000)}`));
    expect((await failure(text(makeHost(), url))).code).toMatch(/OTHER|RESET/);
  });

  test('a long unread response does not block the next request', async () => {
    const long = 'x'.repeat(2_000_000);
    const { url } = await answering((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${long.length}\r\n\r\n${long}`),
    );
    const host = makeHost();
    await ask(host, url);
    expect(await text(host, url)).toHaveLength(long.length);
  });

  test('a received unread response does not block the next request', async () => {
    // The body is slightly larger than the buffer that fills before the reader pauses the sender.
    const long = 'x'.repeat(65_700);
    const { url } = await answering((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${long.length}\r\n\r\n${long}`),
    );
    const host = makeHost();
    const first = await ask(host, url);
    for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(await text(host, url)).toHaveLength(long.length);
    expect(await first.text()).toHaveLength(long.length);
  });

  test('HEAD has headers and no body', async () => {
    const { url, count } = await answering((socket, request) =>
      socket.write(request.startsWith('HEAD') ? 'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n' : OK),
    );
    const host = makeHost();
    const reply = await ask(host, url, 'HEAD');
    expect([reply.headers['content-length'], await reply.text()]).toEqual(['12', '']);
    expect(await text(host, url)).toBe('ok');
    expect(count()).toBe(1);
  });
});

describe('connections of the HTTP/1.1 transport', () => {
  const ask = (host: Host, url: string, signal?: AbortSignal) =>
    host.network.request({
      method: 'POST',
      url,
      body: 'x',
      ...(signal ? { signal } : {}),
    });

  test('a connection that the server keeps only briefly is not reused', async () => {
    const { url, count } = await answering((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok'),
    );
    const host = makeHost();
    for (let i = 0; i < 3; i++) expect(await (await ask(host, url)).text()).toBe('ok');
    expect(count()).toBe(3);
  });

  test('a connection with unrequested data is not reused', async () => {
    const { url, count } = await answering((socket) => socket.write(`${OK}${OK}`));
    const host = makeHost();
    for (let i = 0; i < 3; i++) expect(await (await ask(host, url)).text()).toBe('ok');
    expect(count()).toBe(3);
  });

  test('an idle connection that the server closes is not reused', async () => {
    const closed: Promise<void>[] = [];
    const { url, count } = await answering((socket) => {
      closed.push(new Promise((resolve) => socket.once('close', () => resolve())));
      socket.write(OK, () => socket.end());
    });
    const host = makeHost();
    for (let i = 0; i < 3; i++) {
      expect(await (await ask(host, url)).text()).toBe('ok');
      await closed[i];
    }
    expect(count()).toBe(3);
  });

  test('the transport rejects a response in another protocol', async () => {
    const { url } = await answering((socket) => socket.write('HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n'));
    expect(await failure(ask(makeHost(), url))).toMatchObject({ code: 'OTHER', sent: true });
  });

  test('a request that is aborted after its response leaves the connection to the next request', async () => {
    const long = 'x'.repeat(65_700);
    const { url } = await answering((socket, request, connection) => {
      const body = /^POST \/long/.test(request) ? long : `${connection}`;
      if (!/^POST \/held/.test(request))
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      else {
        controller.abort();
        setImmediate(() => socket.write(OK));
      }
    });
    const controller = new AbortController();
    const host = makeHost();
    const first = await ask(host, `${url}long`, controller.signal);
    // The pool reuses the first connection after its complete response has arrived; then each connection receives a request.
    const many = (path: string, size: number) =>
      Promise.all(Array.from({ length: size }, async () => (await ask(host, url + path)).text()));
    let size = 1;
    while (!(await many('which', size)).includes('1')) size += 1;
    expect(await many('held', size)).toEqual(Array.from({ length: size }, () => 'ok'));
    expect(await first.text()).toBe(long);
  });

  test('one signal aborts all active requests, each with its own connection', async () => {
    let asked = 0;
    let allAsked: () => void = () => {};
    const reached = new Promise<void>((resolve) => {
      allAsked = resolve;
    });
    const { url } = await answering(() => {
      asked += 1;
      if (asked === 20) allAsked();
    });
    const host = makeHost();
    const controller = new AbortController();
    const errors = Promise.all(Array.from({ length: 20 }, () => failure(ask(host, url, controller.signal))));
    await reached;
    controller.abort();
    expect((await errors).map(({ code, sent }) => [code, sent])).toEqual(
      Array.from({ length: 20 }, () => ['ABORTED', true]),
    );
  });
});
