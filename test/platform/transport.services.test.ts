import { createSecureServer, createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, type Server, type Socket, createServer } from 'node:net';
import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type Address,
  type Bytes,
  type Handler,
  type Host,
  type HttpReply,
  type HttpRequest,
  NetworkError,
} from '../../src/platform/host.ts';
import { nodeHost } from '../../src/platform/node/host.ts';
import { makeIdentity } from '../../src/mock-server/local-authority.ts';
import { type CertificateOptions, makeAuthority } from '../support/certificates.ts';
import { covers } from '../support/covers.ts';

/** A row of a bulk run uses the connections of every other request. */
const transports = [undefined, 'bulk'] as const;
type Via = Pick<HttpRequest, 'transport'>;
const via = (transport: HttpRequest['transport']): Via => (transport === undefined ? {} : { transport });
const identity = makeIdentity(Date.now(), (count) => randomBytes(count));
const closers: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const makeHost = (env: Record<string, string> = {}): Host => {
  const host = nodeHost({ env });
  closers.push(() => host.network.close());
  return host;
};
const serve = async (host: Host, handler: Handler, more: Partial<Address> = {}): Promise<string> => {
  const listener = await host.network.listen(handler, { host: '127.0.0.1', port: 0, ...more });
  closers.push(() => listener.close());
  return `${more.tls ? 'https' : 'http'}://127.0.0.1:${listener.port}`;
};
/** Starts a server that sends the bytes of the test, for responses that an HTTP library would not send. */
const rawServer = async (onConnection: (socket: Socket) => void): Promise<string> => {
  const sockets: Socket[] = [];
  const server: Server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
const failure = async (promise: Promise<unknown>): Promise<NetworkError> => {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(NetworkError);
  return error as NetworkError;
};
async function* chunks(...texts: string[]): AsyncGenerator<Bytes> {
  for (const text of texts) yield Buffer.from(text);
}

/** Returns the first reply whose head arrives in time. On a busy machine, the head may need longer than the tested limit. */
const begun = async (ask: (timeoutMs: number) => Promise<HttpReply>): Promise<HttpReply> => {
  for (let timeoutMs = 60; ; timeoutMs *= 2) {
    const reply = await ask(timeoutMs).catch((error: NetworkError) => error);
    if (!(reply instanceof NetworkError)) return reply;
    if (reply.code !== 'TIMEOUT' || timeoutMs > 10_000) throw reply;
  }
};

describe('the HTTP/1.1 transport', () => {
  const ask = (host: Host, request: Partial<HttpRequest> & { url: string }) =>
    host.network.request({ method: 'GET', ...request });

  test('never looks up a name below localhost, and sends it as the host', async () => {
    const host = makeHost();
    const url = await serve(host, async (request) => ({
      status: 200,
      headers: { 'x-host': String(request.headers['host']) },
    }));
    const named = url.replace('127.0.0.1', 'api.does-not-exist.localhost');
    const reply = await ask(host, { url: `${named}/` });
    expect(reply.headers['x-host']).toBe(new URL(named).host);
  });
  test('carries method, path, query, headers and body, and brings back status, headers and body', async () => {
    const host = makeHost();
    const url = await serve(host, async (request) => ({
      status: 201,
      headers: {
        'X-Seen': `${request.method} ${request.url} ${request.headers['x-mine']}`,
        'x-many': ['a', 'b'],
      },
      body: (await request.read(100)).toString(),
    }));
    const reply = await ask(host, {
      method: 'POST',
      url: `${url}/a%2Fb?q=1&q=2`,
      headers: { 'X-Mine': 'yes' },
      body: 'grüße',
    });
    expect(reply.status).toBe(201);
    expect(reply.headers['x-seen']).toBe('POST /a%2Fb?q=1&q=2 yes');
    expect(reply.headers['x-many']).toBe('a, b');
    expect(await reply.text()).toBe('grüße');
  });

  test('bytes come back unchanged, whole or as a stream', async () => {
    const host = makeHost();
    const sent = randomBytes(300_000);
    const url = await serve(host, async (request) => ({ status: 200, body: await request.read(1e6) }));
    expect(Buffer.compare(await (await ask(host, { method: 'POST', url, body: sent })).bytes(), sent)).toBe(
      0,
    );
    const parts: Bytes[] = [];
    for await (const part of (await ask(host, { method: 'POST', url, body: sent })).stream())
      parts.push(part);
    expect(parts.length).toBeGreaterThan(1);
    expect(Buffer.compare(Buffer.concat(parts), sent)).toBe(0);
  });

  test('requests one after the other use one connection', async () => {
    const host = makeHost();
    const url = await serve(host, () => ({ status: 200, body: 'x' }));
    const connections: number[] = [];
    const counting = await rawServer((socket) => {
      connections.push(socket.remotePort ?? 0);
      socket.on('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=60\r\ncontent-length: 1\r\n\r\nx'),
      );
    });
    for (let i = 0; i < 5; i++) expect(await (await ask(host, { url: counting })).text()).toBe('x');
    expect(connections).toHaveLength(1);
    expect(await (await ask(host, { url })).text()).toBe('x');
  });

  test('a response without a body releases the connection', async () => {
    const host = makeHost();
    const url = await serve(host, (request) => ({ status: request.method === 'HEAD' ? 200 : 204 }));
    for (const method of ['DELETE', 'HEAD', 'DELETE']) {
      const reply = await ask(host, { method, url });
      expect((await reply.bytes()).length).toBe(0);
    }
  });

  test.each([
    ['POST', '0'],
    ['PUT', '0'],
    ['PATCH', '0'],
    ['GET', undefined],
    ['DELETE', undefined],
  ])('%s without a body has content-length %s', async (method, length) => {
    const host = makeHost();
    const url = await serve(host, (request) => ({
      status: 200,
      body: String(request.headers['content-length']),
    }));
    expect(await (await ask(host, { method, url })).text()).toBe(String(length));
  });

  describe('failures', () => {
    test('a closed port causes REFUSED, and no request is sent', async () => {
      const host = makeHost();
      const url = await serve(host, () => ({ status: 200 }));
      await closers.pop()?.();
      const error = await failure(ask(host, { url: `${url}/secret?token=abc` }));
      expect(error).toMatchObject({ code: 'REFUSED', sent: false });
      expect(error.message).toContain(url);
      expect(error.message).not.toContain('token');
    });

    test('an unknown name causes DNS, and no request is sent', async () => {
      expect(await failure(ask(makeHost(), { url: 'http://no-such-host.invalid/' }))).toMatchObject({
        code: 'DNS',
        sent: false,
      });
    });

    test.each(['ftp://127.0.0.1/', 'nonsense', ''])('%j is not a URL for a request', async (url) => {
      expect(await failure(ask(makeHost(), { url }))).toMatchObject({ code: 'OTHER', sent: false });
    });

    test.each(['bad\nvalue', 'bad\u0000value', 'smile 😀'])(
      'a header that cannot be sent is named, without its value: %j',
      async (value) => {
        const host = makeHost();
        const url = await serve(host, () => ({ status: 200 }));
        const error = await failure(ask(host, { url, headers: { 'x-token': value } }));
        expect(error).toMatchObject({ code: 'OTHER', sent: false });
        expect(error.message).toMatch(/x-token/i);
        expect(error.message).not.toContain('value');
      },
    );

    test('a missing response causes TIMEOUT after the request was sent', async () => {
      const host = makeHost();
      const url = await serve(host, () => new Promise(() => {}));
      const error = await failure(ask(host, { url, timeoutMs: 60 }));
      expect(error).toMatchObject({ code: 'TIMEOUT', sent: true });
      expect(error.message).toContain('--timeout');
    });

    test('a response that arrived while the process was suspended is accepted after the timeout', async () => {
      const host = makeHost();
      const url = await rawServer((socket) =>
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood');
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
        }),
      );
      expect(await (await ask(host, { url, timeoutMs: 500 })).text()).toBe('good');
    });

    test('a response that stops in the middle causes TIMEOUT', async () => {
      const host = makeHost();
      const url = await rawServer((socket) =>
        socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf')),
      );
      const reply = await begun((timeoutMs) => ask(host, { url, timeoutMs }));
      expect(await failure(reply.text())).toMatchObject({ code: 'TIMEOUT', sent: true });
    });

    test(
      'an endless response is aborted, even if bytes keep arriving',
      covers('defect/D11-1', 'defect/R-13'),
      async () => {
        const host = makeHost();
        const url = await rawServer((socket) =>
          socket.once('data', () => {
            socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n');
            const drip = setInterval(() => socket.write('x'), 10);
            socket.once('close', () => clearInterval(drip));
          }),
        );
        const reply = await begun((timeoutMs) => ask(host, { url, timeoutMs }));
        expect(await failure(reply.text())).toMatchObject({ code: 'TIMEOUT', sent: true });
      },
    );

    test('a slow response that progresses does not time out', async () => {
      const host = makeHost();
      async function* slowly(): AsyncGenerator<Bytes> {
        for (const text of ['a', 'b', 'c', 'd']) {
          await host.sleep(40);
          yield Buffer.from(text);
        }
      }
      const url = await serve(host, () => ({ status: 200, body: slowly() }));
      expect(await (await ask(host, { url, timeoutMs: 20_000 })).text()).toBe('abcd');
    });

    test('a connection cut before the response causes RESET after the request was sent', async () => {
      const host = makeHost();
      const url = await serve(host, () => ({ status: 200, cut: true }));
      expect(await failure(ask(host, { method: 'POST', url, body: 'x' }))).toMatchObject({
        code: 'RESET',
        sent: true,
      });
    });

    test('a connection cut in the middle of the response causes RESET without a partial response', async () => {
      const host = makeHost();
      const url = await serve(host, () => ({ status: 200, body: '{"a":[1,2,3,4,5,6,7,8]}', cut: true }));
      const error = await failure(ask(host, { url }).then((reply) => reply.text()));
      expect(error).toMatchObject({ code: 'RESET', sent: true });
    });

    test('a failing source on the server cuts its response', async () => {
      const host = makeHost();
      async function* failing(): AsyncGenerator<Bytes> {
        yield Buffer.from('half');
        throw new Error('disk gone');
      }
      const url = await serve(host, () => ({ status: 200, body: failing() }));
      expect(await failure(ask(host, { url }).then((reply) => reply.text()))).toMatchObject({
        code: 'RESET',
      });
    });

    test('a server that does not speak HTTP causes an error', async () => {
      const url = await rawServer((socket) => socket.end('220 mail ready\r\n'));
      expect((await failure(ask(makeHost(), { url }))).code).toMatch(/OTHER|RESET/);
    });

    test('a response over the limit causes TOO_LARGE; a stream has no limit', async () => {
      const host = makeHost();
      const url = await serve(host, () => ({ status: 200, body: 'x'.repeat(5000) }));
      const reply = await ask(host, { url, maxReplyBytes: 4999 });
      expect(await failure(reply.text())).toMatchObject({ code: 'TOO_LARGE' });
      expect((await (await ask(host, { url, maxReplyBytes: 5000 })).bytes()).length).toBe(5000);
      let size = 0;
      for await (const part of (await ask(host, { url, maxReplyBytes: 10 })).stream()) size += part.length;
      expect(size).toBe(5000);
    });
  });

  describe('abort', () => {
    test('an abort before the start sends no request', async () => {
      const host = makeHost();
      let served = 0;
      const url = await serve(host, () => ({ status: 200, body: String(served++) }));
      expect(await failure(ask(host, { url, signal: AbortSignal.abort() }))).toMatchObject({
        code: 'ABORTED',
        sent: false,
      });
      expect(served).toBe(0);
    });

    test('an abort during the wait for the response reaches the server', async () => {
      const host = makeHost();
      const controller = new AbortController();
      let gone: Promise<unknown> = Promise.resolve();
      const url = await serve(host, (request) => {
        gone = new Promise((resolve) => request.signal.addEventListener('abort', resolve));
        controller.abort();
        return new Promise(() => {});
      });
      expect(await failure(ask(host, { url, signal: controller.signal }))).toMatchObject({
        code: 'ABORTED',
        sent: true,
      });
      await gone;
    });

    test('an abort during the response stops it', async () => {
      const host = makeHost();
      const controller = new AbortController();
      async function* endless(): AsyncGenerator<Bytes> {
        for (;;) {
          yield Buffer.from('x');
          await host.sleep(5);
        }
      }
      const url = await serve(host, () => ({ status: 200, body: endless() }));
      const reply = await ask(host, { url, signal: controller.signal });
      const error = await failure(
        (async () => {
          for await (const _ of reply.stream()) controller.abort();
        })(),
      );
      expect(error).toMatchObject({ code: 'ABORTED', sent: true });
    });

    test('a reader that stops early closes the connection', async () => {
      const host = makeHost();
      let ended: () => void = () => {};
      const isEnded = new Promise<void>((resolve) => {
        ended = resolve;
      });
      async function* endless(): AsyncGenerator<Bytes> {
        try {
          for (;;) {
            yield Buffer.alloc(10_000);
            await host.sleep(1);
          }
        } finally {
          ended();
        }
      }
      const url = await serve(host, () => ({ status: 200, body: endless() }));
      for await (const _ of (await ask(host, { url })).stream()) break;
      await expect(isEnded).resolves.toBeUndefined();
    });
  });

  describe('streamed upload', () => {
    test('an upload works with and without a known length', async () => {
      const host = makeHost();
      const url = await serve(host, async (request) => ({
        status: 200,
        body: `${request.headers['content-length']} ${request.headers['transfer-encoding']} ${await request.read(100)}`,
      }));
      expect(await (await ask(host, { method: 'POST', url, body: chunks('ab', 'cd') })).text()).toBe(
        'undefined chunked abcd',
      );
      const known = await ask(host, {
        method: 'POST',
        url,
        body: chunks('ab', 'cd'),
        headers: { 'content-length': '4' },
      });
      expect(await known.text()).toBe('4 undefined abcd');
    });

    test('an upload is sent at the speed of the server', async () => {
      const host = makeHost();
      let made = 0;
      async function* endless(): AsyncGenerator<Bytes> {
        for (; made < 2000; made++) yield Buffer.alloc(64 * 1024);
      }
      let atFirst = 0;
      const url = await serve(host, async (request) => {
        await host.sleep(200);
        atFirst = made;
        let size = 0;
        for await (const part of request.body()) size += part.length;
        return { status: 200, body: String(size) };
      });
      const reply = await ask(host, { method: 'POST', url, body: endless() });
      expect(await reply.text()).toBe(String(2000 * 64 * 1024));
      expect(atFirst).toBeLessThan(1000);
    });

    test('an upload may continue after an early response, which is read to its end', async () => {
      const host = makeHost();
      async function* slowly(count: number): AsyncGenerator<Bytes> {
        for (let i = 0; i < count; i++) {
          await host.sleep(100);
          yield Buffer.from('x');
        }
      }
      const url = await serve(host, () => ({ status: 200, body: slowly(25) }));
      const reply = await ask(host, { method: 'POST', url, body: slowly(5), timeoutMs: 2000 });
      expect(await reply.text()).toBe('x'.repeat(25));
    });

    test('a failing source aborts the request and states the reason', async () => {
      const host = makeHost();
      async function* failing(): AsyncGenerator<Bytes> {
        yield Buffer.from('ab');
        throw new Error('cannot read file');
      }
      const url = await serve(host, async (request) => ({ status: 200, body: await request.read(10) }));
      const error = await failure(ask(host, { method: 'POST', url, body: failing() }));
      expect(error.message).toContain('cannot read file');
    });

    test.each(['3', '5'])(
      'a body of 4 bytes announced as %s fails instead of corrupting the connection',
      async (length) => {
        const host = makeHost();
        const url = await serve(host, async (request) => ({ status: 200, body: await request.read(10) }));
        const error = await failure(
          ask(host, {
            method: 'POST',
            url,
            body: chunks('ab', 'cd'),
            headers: { 'content-length': length },
            timeoutMs: 300,
          }),
        );
        expect(error.code).toMatch(/OTHER|RESET|TIMEOUT/);
      },
    );
  });

  describe('TLS', () => {
    const tls = { cert: identity.cert, key: identity.key };

    test(
      'an unknown authority is rejected with a hint, and no request is sent',
      covers('setting/ca_file'),
      async () => {
        const host = makeHost();
        const url = await serve(host, () => ({ status: 200 }), { tls });
        const error = await failure(ask(host, { url }));
        expect(error).toMatchObject({ code: 'TLS', sent: false });
        expect(error.message).toContain('NODE_EXTRA_CA_CERTS');
        expect(error.message).toContain('ca_file');
      },
    );

    test.each(['ca', 'extraCa'] as const)('%s makes it trusted', async (name) => {
      const host = makeHost();
      const url = await serve(host, (request) => ({ status: 200, body: `tls ${request.isTls}` }), { tls });
      expect(await (await ask(host, { url, tls: { [name]: identity.ca } })).text()).toBe('tls true');
    });

    test('a long body is read completely by a slow reader, and the connection is reused', async () => {
      const host = makeHost();
      const sent = randomBytes(3_000_000);
      const url = await serve(host, () => ({ status: 200, body: sent }), { tls });
      for (let round = 0; round < 2; round++) {
        const parts: Bytes[] = [];
        for await (const part of (await ask(host, { url, tls: { ca: identity.ca } })).stream()) {
          if (parts.push(part) % 20 === 0) await host.sleep(2);
        }
        expect(Buffer.compare(Buffer.concat(parts), sent)).toBe(0);
      }
    });

    test('trust of one request is not the trust of the next', async () => {
      const host = makeHost();
      const url = await serve(host, () => ({ status: 200, body: 'x' }), { tls });
      await (await ask(host, { url, tls: { ca: identity.ca } })).text();
      expect(await failure(ask(host, { url }))).toMatchObject({ code: 'TLS', sent: false });
    });

    test('a certificate for another name is refused', async () => {
      const host = makeHost();
      const url = await serve(host, () => ({ status: 200 }), { tls });
      expect(
        await failure(ask(host, { url, tls: { ca: identity.ca, serverName: 'other.example.com' } })),
      ).toMatchObject({
        code: 'TLS',
        sent: false,
      });
    });

    test('a plain server behind https, and a TLS server behind http', async () => {
      const host = makeHost();
      const plain = await serve(host, () => ({ status: 200 }));
      expect(await failure(ask(host, { url: plain.replace('http:', 'https:') }))).toMatchObject({
        code: 'TLS',
        sent: false,
        message: expect.stringContaining('it does not speak TLS'),
      });
      const secure = await serve(host, () => ({ status: 200 }), { tls });
      expect((await failure(ask(host, { url: secure.replace('https:', 'http:') }))).code).toMatch(
        /RESET|OTHER/,
      );
    });
  });

  test('many concurrent requests succeed', async () => {
    const host = makeHost();
    const url = await serve(host, async (request) => ({ status: 200, body: `${request.url}` }));
    const texts = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => (await ask(host, { url: `${url}/${i}` })).text()),
    );
    expect(texts).toEqual(Array.from({ length: 40 }, (_, i) => `/${i}`));
  });

  test.each([
    ['without a keep-alive time', '', 1000],
    ['with keep-alive: timeout=2', 'keep-alive: timeout=2\r\n', 1000],
    ['with keep-alive: timeout=1', 'keep-alive: timeout=1\r\n', 0],
  ])('a server %s gets no request on a connection that it may be closing', async (_, keepAlive, idleMs) => {
    const host = makeHost();
    let connections = 0;
    const url = await rawServer((socket) => {
      connections += 1;
      socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\n${keepAlive}content-length: 1\r\n\r\nx`));
    });
    for (const method of ['GET', 'POST'])
      for (const time of ['first', 'second']) {
        await (await ask(host, { method, url })).text();
        if (time === 'first') await new Promise((resolve) => setTimeout(resolve, idleMs + 50));
      }
    // Three connections: the second request of each method came too late for the connection of the first.
    expect(connections).toBeGreaterThanOrEqual(3);
  });

  test('close lets go of idle connections, and the next request opens a new one', async () => {
    const host = makeHost();
    const url = await serve(host, () => ({ status: 200, body: 'x' }));
    await (await ask(host, { url })).text();
    await host.network.close();
    expect(await (await ask(host, { url })).text()).toBe('x');
  });
});

test.each([...transports, 'http2'] as const)(
  'an abort between the head and the first read is the error of that read: %s transport',
  async (transport) => {
    const host = makeHost();
    const controller = new AbortController();
    async function* silent(): AsyncGenerator<Bytes> {
      yield Buffer.from('x');
      await new Promise(() => {});
    }
    const server = createHttp2Server((_, response) => response.write('x'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => server.close());
    const url =
      transport === 'http2'
        ? `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
        : await serve(host, () => ({ status: 200, body: silent() }));
    const reply = await host.network.request({
      method: 'GET',
      url,
      signal: controller.signal,
      ...via(transport),
    });
    const uncaught: unknown[] = [];
    const note = (error: unknown): unknown => uncaught.push(error);
    process.on('uncaughtException', note);
    try {
      controller.abort();
      // An error event without a listener is an uncaught exception in one of the next turns of the loop.
      await host.sleep(10);
      expect(await failure(reply.bytes())).toMatchObject({ code: 'ABORTED', sent: true });
    } finally {
      process.off('uncaughtException', note);
    }
    expect(uncaught).toEqual([]);
  },
);

test('an HTTP/2 request never looks up a name below localhost, and sends it as the host', async () => {
  const host = makeHost();
  const server = createHttp2Server((request, response) => {
    response.setHeader('x-host', String(request.headers[':authority']));
    response.end('x');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  const named = `http://store.does-not-exist.localhost:${(server.address() as AddressInfo).port}`;
  const reply = await host.network.request({ method: 'GET', url: `${named}/`, transport: 'http2' });
  expect(reply.headers['x-host']).toBe(new URL(named).host);
  const probed = await host.network.probe(`${named}/`, 5000);
  expect(probed.answer).toBeDefined();
});

test.each([
  [200, 'accepted'],
  [421, 'rejected'],
  [404, undefined],
  [503, undefined],
])('status %i to a request for another host name is %s', async (status, expected) => {
  const { network } = makeHost();
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket.once('data', (chunk) => {
      asked.push(String(chunk));
      socket.end(`HTTP/1.1 ${status} Text\r\nContent-Length: 0\r\n\r\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/version`;
  expect((await network.probe(url, 5000, 'opsctl.invalid')).answer).toBe(expected);
  expect(asked).toEqual([expect.stringContaining('\r\nHost: opsctl.invalid\r\n')]);
});

describe('whose certificate is the trouble', () => {
  const authority = makeAuthority();
  const secure = async (served: { cert: string; key: string }): Promise<string> => {
    const server = createSecureServer({
      ...served,
      ca: authority.cert,
      requestCert: true,
      rejectUnauthorized: true,
      allowHTTP1: true,
    });
    server.on('request', (_, response) => response.end('x'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  };
  const issue = (options: CertificateOptions = {}) => authority.issue({ hosts: ['127.0.0.1'], ...options });
  const mine = { ca: authority.cert, ...authority.issue({ uses: ['client'] }) };
  test('an HTTP/2 request that is aborted during the connection fails without stopping the program', async () => {
    const url = await secure(issue());
    for (let ms = 0; ms < 12; ms += 0.25) {
      const host = nodeHost({ env: {} });
      const asked = host.network.request({ method: 'GET', url, tls: mine, transport: 'http2' }).then(
        (reply) => reply.status,
        (error: unknown) => error,
      );
      for (const end = performance.now() + ms; performance.now() < end; )
        await new Promise((resolve) => setImmediate(resolve));
      await host.network.close();
      expect([200, 'failed']).toContain((await asked) instanceof NetworkError ? 'failed' : await asked);
    }
  });
  test.each([...transports, 'http2'] as const)('%s', async (transport) => {
    const host = makeHost();
    const troubleWith = async (url: string, tls: HttpRequest['tls']) =>
      (
        await failure(
          host.network.request({ method: 'GET', url, tls, ...via(transport) }).then((reply) => reply.bytes()),
        )
      ).trouble;
    const good = await secure(issue());
    expect(
      await (await host.network.request({ method: 'GET', url: good, tls: mine, ...via(transport) })).text(),
    ).toBe('x');
    // As with curl and etcdctl, the file may contain only the certificate of the server.
    const leaf = issue();
    const [own, pinned] = [await secure(leaf), { ...mine, ca: `${issue().cert}${leaf.cert}` }];
    expect(
      await (await host.network.request({ method: 'GET', url: own, tls: pinned, transport })).text(),
    ).toBe('x');
    expect(await troubleWith(good, pinned)).toMatchObject({ kind: 'untrusted' });
    for (const name of ['test authority', 'another']) {
      expect(await troubleWith(good, { ...mine, ca: makeAuthority(name).cert })).toMatchObject({
        kind: 'untrusted',
      });
    }
    const refused = { kind: 'client-certificate', reason: 'tlsv13 alert certificate required' };
    expect(await troubleWith(good, { ca: authority.cert })).toEqual(refused);
    expect(await troubleWith(await secure(issue({ from: -48, until: -24 })), mine)).toMatchObject({
      kind: 'expired',
    });
    expect(await troubleWith(await secure(issue({ from: 12 })), mine)).toMatchObject({ kind: 'too-early' });
    const other = await secure(issue({ hosts: ['kv.example', '10.9.8.7'] }));
    expect(await troubleWith(other, mine)).toMatchObject({ kind: 'name', names: ['kv.example', '10.9.8.7'] });
    expect(
      await (
        await host.network.request({
          method: 'GET',
          url: other,
          tls: { ...mine, serverName: 'kv.example' },
          ...via(transport),
        })
      ).text(),
    ).toBe('x');
  });
});

test('a slow connection causes CONNECT_TIMEOUT, and no request is sent', async () => {
  // The TLS handshake never completes, since the peer sends no data.
  const url = (await rawServer(() => {})).replace('http:', 'https:');
  for (const transport of transports) {
    const error = await failure(
      makeHost().network.request({ method: 'GET', url, connectTimeoutMs: 80, ...via(transport) }),
    );
    expect(error).toMatchObject({ code: 'CONNECT_TIMEOUT', sent: false });
  }
});
