import { createHash } from 'node:crypto';
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer as createPlain } from 'node:http';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { grpcCall, grpcFrame, grpcMessages } from '../../../src/kv/client/messages.ts';
import { bytesField, numberField, numberMessage } from '../../../src/core/protobuf.ts';
import { saveSnapshot } from '../../../src/kv/client/snapshot.ts';
import { openStore } from '../../../src/kv/client/etcd-client.ts';
import { realHost, type RealHost } from '../../support/real-host.ts';

const frame = (message: Buffer, flags = 0): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags, 0);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
};
const length = (value: number): Buffer =>
  Buffer.from(
    value < 128
      ? [value]
      : value < 16_384
        ? [(value & 127) | 128, value >> 7]
        : [(value & 127) | 128, ((value >> 7) & 127) | 128, value >> 14],
  );
/** Field numbers of a snapshot response: header (1), remaining bytes (2), blob (3). */
const answer = (blob: Buffer, remaining = 300): Buffer =>
  Buffer.concat([
    Buffer.from([0x0a, 2, 0x08, 1, 0x10]),
    length(remaining),
    Buffer.from([0x1a]),
    length(blob.length),
    blob,
  ]);

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe('messages of a stream', () => {
  const blobs = [Buffer.from('abc'), Buffer.alloc(0), Buffer.alloc(20_000, 5)];
  const wire = Buffer.concat(blobs.map((blob) => frame(answer(blob))));
  it.each([1, 3, 5, 6, 100, 50_000])('cut into pieces of %i bytes', async (size) => {
    const found: Buffer[] = [];
    for await (const message of grpcMessages(pieces(wire, size)))
      found.push(Buffer.from(bytesField(message, 3) as Buffer));
    expect(found).toEqual(blobs);
  });
  it('an end in the middle and a compressed message are errors', async () => {
    const read = async (bytes: Buffer) => {
      for await (const _ of grpcMessages(pieces(bytes, 7)));
    };
    await expect(read(wire.subarray(0, 100))).rejects.toThrow('in the middle');
    await expect(read(frame(answer(Buffer.from('x')), 1))).rejects.toThrow('compressed');
  });
  it.each([0, 1, 127, 128, 300, 2 ** 32 - 1, 2 ** 40 + 5, Number.MAX_SAFE_INTEGER])(
    'the number %i is read back unchanged',
    (value) => {
      expect(numberField(numberMessage(3, value), 3)).toBe(value);
      expect(numberField(numberMessage(3, value), 2)).toBe(0);
    },
  );
  it('a negative number, which is ten bytes long, behind a field of bytes', () => {
    const message = Buffer.concat([
      Buffer.from([0x0a, 2, 0x18, 9, 0x18]),
      Buffer.alloc(9, 0xff),
      Buffer.from([1]),
    ]);
    expect(numberField(message, 3)).toBe(-1);
    expect(numberField(bytesField(message, 1) as Buffer, 3)).toBe(9);
  });
  it('a message is sent with its length before it', () => {
    expect([...grpcFrame(Buffer.from('ab'))]).toEqual([0, 0, 0, 0, 2, 97, 98]);
  });
  it('a field that is not there is undefined', () => {
    expect(bytesField(Buffer.from([0x10, 5]), 3)).toBeUndefined();
    expect(bytesField(Buffer.alloc(0), 3)).toBeUndefined();
  });
});

describe('a snapshot over the own interface of the store', () => {
  let real: RealHost;
  let server: Http2Server;
  let token: unknown;
  const content = Buffer.alloc(1024, 9);
  const whole = Buffer.concat([content, createHash('sha256').update(content).digest()]);
  beforeEach(async () => {
    real = await realHost();
  });
  afterEach(() => {
    server?.close();
  });
  const serve = async (work: (stream: ServerHttp2Stream) => void): Promise<string> => {
    server = createServer().on('stream', (stream, headers) => {
      token = headers['token'];
      stream.on('error', () => {});
      expect(headers[':path']).toBe('/etcdserverpb.Maintenance/Snapshot');
      work(stream);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  };
  const save = (url: string) =>
    saveSnapshot(real.host, openStore(real.host, { url, timeoutMs: 20_000 }), join(real.directory, 's.db'));
  const ok = { ':status': 200, 'content-type': 'application/grpc' };

  it('a snapshot over gRPC is verified and written like one of the gateway', async () => {
    const url = await serve((stream) => {
      stream.respond(ok, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.write(frame(answer(whole.subarray(0, 700))));
      stream.end(frame(answer(whole.subarray(700))));
    });
    expect((await save(url)).size_bytes).toBe(1056);
    expect(token).toBeUndefined();
  });
  it.each<[string, (stream: ServerHttp2Stream) => void, object]>([
    [
      'a refusal instead of an answer',
      (stream) =>
        stream.respond(
          { ...ok, 'grpc-status': '3', 'grpc-message': 'etcdserver: user name is empty' },
          { endStream: true },
        ),
      { detail: { code: 'USER_NEEDED' } },
    ],
    [
      'an error in the trailers',
      (stream) => {
        stream.respond(ok, { waitForTrailers: true });
        stream.on('wantTrailers', () =>
          stream.sendTrailers({ 'grpc-status': '14', 'grpc-message': 'etcdserver%3A stopped' }),
        );
        stream.end(frame(answer(whole.subarray(0, 700))));
      },
      { message: expect.stringContaining('etcdserver: stopped'), category: 'network' },
    ],
    [
      'a cut in the middle',
      (stream) => {
        stream.respond(ok);
        stream.write(frame(answer(whole.subarray(0, 700))));
        setTimeout(() => stream.session?.destroy(), 30);
      },
      { category: expect.stringMatching(/network|no/) },
    ],
    [
      'a changed byte',
      (stream) => {
        stream.respond(ok);
        stream.end(frame(answer(Buffer.concat([Buffer.alloc(1), whole.subarray(1)]))));
      },
      { detail: { code: 'SNAPSHOT_DAMAGED' } },
    ],
  ])('%s: an error, and no file', async (_, work, error) => {
    const url = await serve(work);
    await expect(save(url)).rejects.toMatchObject(error);
    expect(readdirSync(real.directory)).toEqual([]);
  });
  it('a server that only has the gateway is asked there', async () => {
    const plain = createPlain((request, reply) => {
      if (request.url === '/version') return reply.end('{"kvserver":"3.3.27","kvcluster":"3.3.0"}');
      reply.end(JSON.stringify({ result: { blob: whole.toString('base64') } }));
    });
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const verified = await save(`http://127.0.0.1:${(plain.address() as { port: number }).port}`);
    plain.closeAllConnections();
    plain.close();
    expect(verified.size_bytes).toBe(1056);
  });
});

describe('a question past the gateway', () => {
  let real: RealHost;
  let server: Http2Server;
  const tokens: unknown[] = [];
  beforeEach(async () => {
    real = await realHost();
    tokens.length = 0;
  });
  afterEach(() => {
    server?.close();
  });
  const ok = { ':status': 200, 'content-type': 'application/grpc' };
  const reply = Buffer.concat([
    Buffer.from([0x0a, 2, 0x18, 9, 0x10, 0xcd, 0x82, 0x83, 0x98, 0x04, 0x18]),
    Buffer.alloc(9, 0xff),
    Buffer.from([1]),
  ]);
  const serve = async (
    work: (stream: ServerHttp2Stream, body: Buffer, turn: number) => void,
  ): Promise<string> => {
    let turn = 0;
    server = createServer().on('stream', (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on('error', () => {});
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (headers[':path'] === '/etcdserverpb.Maintenance/HashKV') {
          tokens.push(headers['token']);
          turn += 1;
          return work(stream, Buffer.concat(chunks), turn);
        }
        stream.respond({ ':status': 404 });
        stream.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  };
  /** The fake gateway uses HTTP/1.1 on another port, so these tests check only the gRPC call. */
  const ask = (
    url: string,
    message = numberMessage(1, 300),
    given?: { user: { name: string; password: string }; tokens: string[] },
  ) => {
    const store = openStore(real.host, {
      url,
      timeoutMs: 20_000,
      ...(given === undefined ? {} : { user: given.user }),
    });
    const { connection } = store;
    const held = [...(given?.tokens ?? [])];
    const faked =
      given === undefined
        ? connection
        : {
            ...connection,
            forgetToken: () => void held.shift(),
            grpc: (method: string, body?: Uint8Array) =>
              real.host.network.request({
                method: 'POST',
                url: `${url}${method}`,
                headers: { 'content-type': 'application/grpc', te: 'trailers', token: held[0] as string },
                body: grpcFrame(body ?? new Uint8Array()),
                transport: 'http2',
              }),
          };
    return grpcCall(faked, '/etcdserverpb.Maintenance/HashKV', message);
  };

  it('sends the revision and reads hash, compaction and revision', async () => {
    let sent: Buffer | undefined;
    const url = await serve((stream, body) => {
      sent = body;
      stream.respond(ok, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(frame(reply));
    });
    const message = await ask(url);
    expect([...(sent as Buffer)]).toEqual([0, 0, 0, 0, 3, 8, 0xac, 2]);
    expect([numberField(message, 2), numberField(message, 3)]).toEqual([1124122957, -1]);
  });
  it('an expired token of gRPC is replaced once', async () => {
    const url = await serve((stream, _, turn) => {
      if (turn === 1)
        return stream.respond(
          { ...ok, 'grpc-status': '16', 'grpc-message': 'etcdserver: invalid auth token' },
          { endStream: true },
        );
      stream.respond(ok);
      stream.end(frame(reply));
    });
    await ask(url, undefined, { user: { name: 'root', password: 'x' }, tokens: ['dead', 'fresh'] });
    expect(tokens).toEqual(['dead', 'fresh']);
  });
  it.each<[string, (stream: ServerHttp2Stream) => void, object]>([
    [
      'a version that does not know the call',
      (stream) =>
        stream.respond(
          { ...ok, 'grpc-status': '12', 'grpc-message': 'unknown method HashKV' },
          { endStream: true },
        ),
      { detail: { code: 'UNIMPLEMENTED' }, message: expect.stringContaining('unknown method HashKV') },
    ],
    [
      'an error behind the headers',
      (stream) => {
        stream.respond(ok, { waitForTrailers: true });
        stream.on('wantTrailers', () =>
          stream.sendTrailers({
            'grpc-status': '11',
            'grpc-message': 'required revision has been compacted',
          }),
        );
        stream.end();
      },
      { detail: { code: 'OUT_OF_RANGE' }, message: expect.stringContaining('has been compacted') },
    ],
    [
      'an answer that is none',
      (stream) => (stream.respond({ ':status': 200, 'content-type': 'text/plain' }), stream.end('hello')),
      { detail: { code: 'UNIMPLEMENTED' } },
    ],
    ['an end without an answer', (stream) => (stream.respond(ok), stream.end()), { category: 'network' }],
    ['silence', () => {}, { detail: { code: 'DEADLINE_EXCEEDED' } }],
  ])('%s is a specific error', async (_, work, error) => {
    await expect(ask(await serve(work))).rejects.toMatchObject(error);
  });
});
