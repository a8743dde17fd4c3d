import { connect } from 'node:http2';
import { beforeAll, describe, expect, it } from 'vitest';
import { type TestCluster, type TestMember, testCluster } from './members.ts';
import { covers } from '../support/covers.ts';

type Called = { readonly status: string; readonly message: string; readonly frames: string[] };

/** One call over HTTP/2 with prior knowledge, with raw bytes as its input and output. */
const call = (
  url: string,
  path: string,
  hex: string[],
  headers: Record<string, string> = {},
): Promise<Called> =>
  new Promise((resolve, reject) => {
    const session = connect(url);
    session.on('error', reject);
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    const chunks: Buffer[] = [];
    let trailers: Record<string, unknown> = {};
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('trailers', (found) => (trailers = found));
    stream.on('error', reject);
    stream.on('close', () => {
      session.close();
      const all = Buffer.concat(chunks);
      const frames: string[] = [];
      for (let at = 0; at < all.length; at += 5 + all.readUInt32BE(at + 1))
        frames.push(all.subarray(at + 5, at + 5 + all.readUInt32BE(at + 1)).toString('hex'));
      resolve({
        status: String(trailers['grpc-status']),
        message: String(trailers['grpc-message'] ?? ''),
        frames,
      });
    });
    for (const one of hex) {
      const head = Buffer.alloc(5);
      head.writeUInt32BE(one.length / 2, 1);
      stream.write(Buffer.concat([head, Buffer.from(one, 'hex')]));
    }
    stream.end();
  });

describe('the own interface of a simulated member (spec/store#interfaces)', () => {
  let cluster: TestCluster;
  let member: TestMember;
  beforeAll(async () => {
    cluster = await testCluster(['3.4.23']);
    member = cluster.member('n1');
  });

  it('puts and reads with the numbers of rpc.proto', covers('defect/U-42'), async () => {
    // PutRequest: key (1) "gk", value (2) "v".
    expect((await call(member.url, '/etcdserverpb.KV/Put', ['0a02676b120176'])).status).toBe('0');
    const { status, frames } = await call(member.url, '/etcdserverpb.KV/Range', ['0a02676b']);
    expect(status).toBe('0');
    // RangeResponse: header (1), kvs (2) { key (1) "gk", …, version (4) 1, value (5) "v" }, count (4) 1.
    expect(frames).toHaveLength(1);
    expect(frames[0]).toMatch(/12\w\w0a02676b10\w\w18\w\w20012a01762001$/);
  });
  it('gRPC accesses the same store as the gateway, on the same port', async () => {
    const { json } = await member.post('/v3/kv/range', { key: Buffer.from('gk').toString('base64') });
    expect(json.count).toBe('1');
  });
  it('streams a snapshot in pieces and ends it with its sha256', async () => {
    const { status, frames } = await call(member.url, '/etcdserverpb.Maintenance/Snapshot', ['']);
    expect(status).toBe('0');
    // Only a blob (3) of 32 bytes.
    expect(frames.at(-1)).toMatch(/^1a20\w{64}$/);
    expect(frames.length).toBeGreaterThan(1);
  });
  it('gRPC renews a lease repeatedly in one call', async () => {
    // LeaseGrantRequest: TTL (1) 60, ID (2) 7.
    expect((await call(member.url, '/etcdserverpb.Lease/LeaseGrant', ['083c1007'])).status).toBe('0');
    const { status, frames } = await call(member.url, '/etcdserverpb.Lease/LeaseKeepAlive', ['0807', '0807']);
    expect([status, frames.length]).toEqual(['0', 2]);
    for (const one of frames) expect(one).toMatch(/1007183c$/);
  });
  it.each([
    ['a refusal of the store', '/etcdserverpb.KV/Put', '', '3', 'etcdserver: key is not provided'],
    ['a call that it does not carry out', '/etcdserverpb.Watch/Watch', '', '12', 'unknown method Watch'],
    ['a call of a later version', '/etcdserverpb.Auth/AuthStatus', '', '12', 'unknown method AuthStatus'],
    ['a message that is cut off', '/etcdserverpb.KV/Put', '0a05', '2', 'cut off'],
  ])('%s has its status after the body', async (_, path, hex, code, text) => {
    const { status, message } = await call(member.url, path, [hex]);
    expect(status).toBe(code);
    expect(message).toContain(text);
  });
  it('gRPC rejects a compressed message, because no compression was negotiated', async () => {
    const session = connect(member.url);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/etcdserverpb.KV/Range',
      'content-type': 'application/grpc',
    });
    const trailers = new Promise<Record<string, unknown>>((resolve) => stream.on('trailers', resolve));
    stream.end(Buffer.from('0100000000', 'hex'));
    stream.resume();
    expect((await trailers)['grpc-status']).toBe('12');
    session.close();
  });
});
