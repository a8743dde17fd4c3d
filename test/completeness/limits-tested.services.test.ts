/** A test reaches each row of the table of limits, at n and at n + 1 if memory allows. */
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { peerHandler } from '../../src/etcd-sim/member/bootstrap.ts';
import { NetworkError } from '../../src/platform/host.ts';
import { Reply } from '../../src/platform/node/exchange.ts';
import { makePlayer, makeRecorder } from '../../src/mock-server/cassette/cassette.ts';
import { makeRoom } from '../../src/mock-server/server.ts';
import { fakeHost } from '../support/fake-host.ts';
import { TOKEN, startTracker } from '../support/tracker-server.ts';
import { realHost } from '../support/real-host.ts';
import { covers } from '../support/covers.ts';

const statusOf = async (path: string, header: string): Promise<string> => {
  const { host, close } = await realHost();
  const at = { host: '127.0.0.1', port: 0 };
  const listener = await host.network.listen(async () => ({ status: 200 }), at);
  const text = await new Promise<string>((done) => {
    const socket = connect(listener.port, at.host);
    let said = '';
    socket.on('data', (chunk) => (said += chunk));
    socket.on('error', () => {}).on('close', () => done(said));
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: ${header}\r\n\r\n`);
  });
  await listener.close();
  await close();
  return text.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
};

test('a URL: n bytes and n + 1', covers('limit/urlBytes'), async () => {
  expect(await statusOf('/'.padEnd(limits.urlBytes, 'a'), '')).toBe('200');
  expect(await statusOf('/'.padEnd(limits.urlBytes + 1, 'a'), '')).toBe('414');
});

test(
  'headers up to the limit fit next to a URL, larger ones do not',
  covers('limit/headerBytes'),
  async () => {
    expect(await statusOf('/', 'a'.repeat(limits.headerBytes))).toBe('200');
    expect(await statusOf('/', 'a'.repeat(limits.headerBytes + limits.urlBytes + 1))).toBe('431');
  },
);

/** Sends only the head of a POST. Node requests the body first, regardless of its size; a rejection follows immediately. */
const announce = (origin: string, path: string, size: number) => {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  let said = '';
  const asked = new Promise((resolve) => socket.once('data', resolve));
  const ended = new Promise((resolve) => socket.once('end', resolve));
  socket.on('data', (chunk) => (said += chunk)).on('error', () => {});
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\ntracker-token: ${TOKEN}\r\ncontent-type: image/png\r\ncontent-length: ${size}\r\nexpect: 100-continue\r\n\r\n`,
  );
  return { asked, ended, said: () => said, leave: () => socket.destroy() };
};
const wanted = 'HTTP/1.1 100 Continue\r\n\r\n';
const checkAnnounced = async (origin: string, path: string, limit: number): Promise<void> => {
  const tooLarge = announce(origin, path, limit + 1);
  await tooLarge.ended;
  expect(tooLarge.said().replace(wanted, '').slice(0, 'HTTP/1.1 413'.length)).toBe('HTTP/1.1 413');
  const fits = announce(origin, path, limit);
  await fits.asked;
  // The server sends its complete output for this request before it responds to a later request.
  await announce(origin, path, limit + 1).ended;
  expect(fits.said()).toBe(wanted);
  fits.leave();
};

test('an upload to the mock server: n bytes and n + 1', covers('limit/uploadBytes'), async () => {
  const server = await startTracker({}, 'empty');
  await checkAnnounced(new URL(server.base).origin, '/api/v3/files', limits.uploadBytes);
  await server.close();
});

test('a request to a recorder and to a player: n bytes and n + 1', async () => {
  const { host, close } = await realHost();
  const file = fakeHost().files.append('/cassette.ndjson', 0o600);
  const recorder = makeRecorder(host, 'http://127.0.0.1:1', file);
  const player = makePlayer({ upstream: 'http://127.0.0.1:1', exchanges: [] });
  for (const { handle } of [recorder, player]) {
    const listener = await host.network.listen(handle, { host: '127.0.0.1', port: 0 });
    await checkAnnounced(`http://127.0.0.1:${listener.port}`, '/', limits.cassetteBytes);
    await listener.close();
  }
  await close();
});

test('received uploads in memory are limited to n bytes', covers('limit/uploadsAtOnceBytes'), async () => {
  const room = makeRoom(limits.uploadsAtOnceBytes);
  const half = limits.uploadsAtOnceBytes / 2;
  const inside: string[] = [];
  let leave = (): void => {};
  const stay = new Promise<void>((end) => {
    leave = end;
  });
  const enter = (name: string, bytes: number): Promise<void> =>
    room(bytes, () => {
      inside.push(name);
      return stay;
    });
  const all = [enter('a', half), enter('b', half), enter('one byte', 1)];
  await new Promise((turn) => setImmediate(turn));
  expect(inside).toEqual(['a', 'b']);
  leave();
  await Promise.all(all);
  expect(inside).toEqual(['a', 'b', 'one byte']);
});

test('a response that is read completely is limited to n bytes', covers('limit/replyBytes'), async () => {
  const asked = { where: 'x', over: () => {}, limitWhole: () => {} };
  const replyOf = (size: number): Reply =>
    new Reply({ status: 200, headers: {}, body: new Uint8Array(size) }, asked as never);
  expect((await replyOf(limits.replyBytes).bytes()).length).toBe(limits.replyBytes);
  await expect(replyOf(limits.replyBytes + 1).bytes()).rejects.toMatchObject({ code: 'TOO_LARGE' });
});

test('a message between simulated members: n bytes and n + 1', covers('limit/memberBytes'), async () => {
  const asked = (size: number) => ({
    ...{ url: '/raft/lease', method: 'POST', headers: {} },
    read: async (limit: number) => {
      if (size > limit) throw new NetworkError('TOO_LARGE', 'larger', true);
      return Buffer.alloc(0);
    },
  });
  const lessor = { remainingSeconds: async () => 1 };
  const node = { machine: { membership: { wasRemoved: () => false } } };
  const member = peerHandler({ faults: {}, lessor, node } as never, async () => {});
  expect(await member(asked(limits.memberBytes) as never)).toMatchObject({ status: 200 });
  await expect(member(asked(limits.memberBytes + 1) as never)).rejects.toMatchObject({ code: 'TOO_LARGE' });
});
