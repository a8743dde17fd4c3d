import { describe, expect, it } from 'vitest';
import type { HttpReply } from '../../../src/platform/host.ts';
import type { AppError } from '../../../src/core/problem.ts';
import { callDirect, isGatewaysOwn } from '../../../src/kv/client/connection.ts';
import type { Endpoint, Json, PastGateway } from '../../../src/kv/client/messages.ts';
import { storeError } from '../../../src/kv/client/errors.ts';

const reply = (
  bytes: string,
  trailers: Record<string, string> = { 'grpc-status': '0' },
  headers: Record<string, string> = {},
): HttpReply => ({
  status: 200,
  headers: { 'content-type': 'application/grpc', ...headers },
  bytes: async () => Buffer.from(bytes, 'hex'),
  text: async () => '',
  async *stream() {
    yield Buffer.from(bytes, 'hex');
  },
  trailers: () => trailers,
});
const call = async (path: string, body: Json, answer: HttpReply, more: Partial<Endpoint> = {}) => {
  const sent: [string, string][] = [];
  const connection: PastGateway = {
    endpoint: { url: 'https://a:1', ...more },
    forgetToken: () => void sent.push(['forget', '']),
    grpc: async (method, message = new Uint8Array()) => {
      sent.push([method, Buffer.from(message).toString('hex')]);
      return answer;
    },
  };
  return { json: await callDirect(connection, path, body).catch((error: unknown) => error), sent };
};

describe("a call of the store's own", () => {
  it("a gRPC call has the path of its service and one message, and returns the gateway's response", async () => {
    const { json, sent } = await call(
      '/lease/grant',
      { TTL: '60', ID: '0' },
      reply('0000000005' + '10b960' + '183c'),
    );
    expect(sent).toEqual([['/etcdserverpb.Lease/LeaseGrant', '083c' + '1000']]);
    expect(json).toEqual({ ID: '12345', TTL: '60' });
  });
  it.each([
    ['in the trailers', reply('', { 'grpc-status': '16', 'grpc-message': 'etcdserver: invalid auth token' })],
    [
      'in the headers',
      reply('', {}, { 'grpc-status': '16', 'grpc-message': 'etcdserver: invalid auth%20token' }),
    ],
  ])('a failure %s is an error of the store', async (_, answer) => {
    const { json, sent } = await call('/kv/range', { key: 'YQ==' }, answer);
    expect(json).toMatchObject({ category: 'auth', detail: { code: 'UNAUTHENTICATED' } });
    expect(sent).toHaveLength(1);
    // With a user, the client fetches a new token once.
    const again = await call('/kv/range', { key: 'YQ==' }, answer, { user: { name: 'a', password: 'b' } });
    expect(again.sent.map(([what]) => what)).toEqual([
      '/etcdserverpb.KV/Range',
      'forget',
      '/etcdserverpb.KV/Range',
    ]);
  });
  it('a path without a gRPC call is rejected', async () => {
    expect((await call('/nothing', {}, reply(''))).json).toMatchObject({
      message: expect.stringContaining('not a call of etcd'),
    });
  });
  it('a response over the size limit is rejected with the limit', async () => {
    const { json } = await call('/lease/grant', {}, reply('0000000005' + '10b960' + '183c'), {
      maxReceiveBytes: 4,
    });
    expect(json).toMatchObject({ detail: { code: 'RESOURCE_EXHAUSTED' } });
  });
});

describe("refusals that are the gateway's alone", () => {
  it('a gateway without its member causes no hint about certificates on a plain connection', () => {
    const body = { message: 'connection closed', code: 14 };
    expect(storeError('http://a:1', 503, body)).toMatchObject({
      message: 'a:1: connection closed',
      detail: { code: 'UNAVAILABLE' },
    });
    expect(storeError('https://a:1', 503, body).message).toContain('extended key usage clientAuth');
  });
  const https: Endpoint = { url: 'https://a:1' };
  const refusal = (message: string, code = 14): AppError => storeError('https://a:1', 503, { message, code });
  const closed = refusal('connection closed');
  it.each<[string, unknown, Endpoint, boolean]>([
    [
      'its member does not take its certificate (3.3)',
      refusal(
        'connection error: desc = "transport: authentication handshake failed: remote error: tls: bad certificate"',
      ),
      https,
      true,
    ],
    ['its member does not take its certificate (3.2)', refusal('transport is closing'), https, true],
    [
      'its member has just refused its certificate (3.2)',
      refusal('grpc: the connection is unavailable'),
      https,
      true,
    ],
    ['its member does not take its certificate (3.4)', closed, https, true],
    [
      'its member does not take its certificate (3.5)',
      refusal('connection error: desc = "error reading server preface: remote error: tls: bad certificate"'),
      https,
      true,
    ],
    [
      'a Common Name (3.4)',
      refusal(
        'CommonName of client sending a request against gateway will be ignored and not used as expected',
        2,
      ),
      https,
      true,
    ],
    [
      'no user, but a certificate may name one',
      refusal('etcdserver: user name is empty', 3),
      { ...https, tls: { cert: 'x', named: {} } },
      true,
    ],
    [
      'the user of the member may not',
      refusal('etcdserver: permission denied', 7),
      { ...https, tls: { cert: 'x', named: {} } },
      true,
    ],
    ['no user and no certificate', refusal('etcdserver: user name is empty', 3), https, false],
    [
      "a given user may not: on 3.2 it was the member's certificate that was asked",
      refusal('etcdserver: permission denied', 7),
      { ...https, tls: { cert: 'x', named: {} }, user: { name: 'a', password: 'b' } },
      true,
    ],
    [
      'a given user may not, and there is no certificate',
      refusal('etcdserver: permission denied', 7),
      { ...https, user: { name: 'a', password: 'b' } },
      false,
    ],
    [
      'switched off',
      storeError('http://a:1', 404, undefined),
      { url: 'http://a:1', isGatewayOnly: true },
      true,
    ],
    ['plain HTTP', closed, { url: 'http://a:1' }, false],
    ['only the gateway is meant', closed, { ...https, isGatewayOnly: true }, false],
    ['another error', new Error('x'), https, false],
    ['no leader', refusal('etcdserver: no leader'), https, false],
  ])('%s', (_, error, endpoint, expected) => {
    expect(isGatewaysOwn(error, endpoint)).toBe(expected);
  });
});
