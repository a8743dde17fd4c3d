import { type Server, createServer } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { Outgoing } from '../../src/platform/host.ts';
import { addHttp2 } from '../../src/platform/node/listen.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close();
});

type Give = (outgoing: Outgoing) => void;
const ok: Outgoing = { status: 200, body: 'two' };
const serve = async (idleMs?: number, answer: (give: Give) => void = (give) => give(ok)): Promise<Server> => {
  const server = createServer((_, response) => response.end('one'));
  addHttp2(server, (_message, _response, give) => answer(give), idleMs);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return server;
};
const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const socketTo = (server: Server): Socket => {
  const socket = connect(portOf(server), '127.0.0.1');
  socket.on('error', () => {});
  closers.push(() => void socket.destroy());
  return socket;
};
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const held = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
/** Waits without a time limit; the time limit of the test applies. */
const untilHeld = async (server: Server, count: number): Promise<void> => {
  await expect.poll(async () => (await held(server)) !== count, { interval: 5 }).toBe(false);
};

const frame = (type: number, stream: number, payload = ''): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, Buffer.from(payload)]);
};
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const [DATA, SETTINGS] = [0, 4];
const begun = Buffer.concat([PREFACE, frame(SETTINGS, 0)]);

test.each<[string, Buffer]>([
  ['nothing', Buffer.alloc(0)],
  ['the first byte of both protocols', Buffer.from('P')],
  ['half a preface', PREFACE.subarray(0, 10)],
  ['a preface', PREFACE],
  ['a preface and settings', begun],
])('a client that sent %s and disconnects leaves no open socket', async (_, said) => {
  const server = await serve();
  const socket = socketTo(server);
  await untilHeld(server, 1);
  if (said.length > 0) await new Promise<void>((resolve) => socket.write(said, () => resolve()));
  await pause(20);
  socket.end();
  await untilHeld(server, 0);
});

test('a client that broke the protocol before leaves no open socket', async () => {
  const server = await serve(100);
  const socket = socketTo(server);
  await untilHeld(server, 1);
  socket.write(Buffer.concat([begun, frame(DATA, 1, 'x')]));
  await pause(20);
  socket.destroy();
  await untilHeld(server, 0);
});

test('close waits for an active call, however long it takes', async () => {
  const server = await serve(100, (give) => void setTimeout(() => give(ok), 1500));
  const session = connectHttp2(`http://127.0.0.1:${portOf(server)}`);
  closers.push(() => session.destroy());
  const stream = session.request({ ':path': '/' });
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) text += chunk;
  expect(text).toBe('two');
});

test('a request of HTTP/1.1 that arrives byte by byte is recognized', async () => {
  const server = await serve();
  const socket = socketTo(server);
  let said = '';
  socket.on('data', (chunk) => (said += chunk));
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await untilHeld(server, 1);
  for (const byte of 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n') {
    socket.write(byte);
    await pause(2);
  }
  await closed;
  expect(said).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*one/);
});
