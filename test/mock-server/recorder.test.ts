import { expect, test } from 'vitest';
import { makeRecorder } from '../../src/mock-server/cassette/cassette.ts';
import type { HttpReply, HttpRequest, Incoming } from '../../src/platform/host.ts';
import { fakeHost } from '../support/fake-host.ts';

/** One request through a recorder: the headers that the service receives, the answer of the recorder, and the cassette. */
const record = async (headers: Readonly<Record<string, string>>, answered: Record<string, string>) => {
  const base = fakeHost();
  const sent: HttpRequest[] = [];
  const request = async (one: HttpRequest): Promise<HttpReply> => {
    sent.push(one);
    const body = Buffer.from('{"id":1}');
    async function* stream() {
      yield body;
    }
    return {
      ...{ status: 200, headers: answered, stream },
      ...{ bytes: async () => body, text: async () => body.toString() },
    };
  };
  const host = { ...base, network: { ...base.network, request } };
  const recorder = makeRecorder(host, 'https://service.example', base.files.append('/c.ndjson', 0o600));
  const incoming: Incoming = {
    ...{ method: 'GET', url: '/labels?page=2', headers, remoteAddress: '127.0.0.1', isTls: false },
    signal: new AbortController().signal,
    body: async function* () {},
    receive: async () => {},
    read: async () => new Uint8Array(),
  };
  const reply = await recorder.handle(incoming);
  recorder.close();
  return { sent: sent[0], reply, cassette: base.files.readNow('/c.ndjson') ?? '' };
};
const ofTheHop = { connection: 'keep-alive', host: '127.0.0.1:9', 'transfer-encoding': 'chunked' };

test('a recorder passes the headers of a request on, except those of the connection', async () => {
  const { sent } = await record(
    { ...ofTheHop, authorization: 'Bearer secret-token', 'x-trace': '7', 'accept-encoding': 'br' },
    { 'content-type': 'application/json' },
  );
  expect(sent?.url).toBe('https://service.example/labels?page=2');
  expect(sent?.headers).toEqual({
    authorization: 'Bearer secret-token',
    'x-trace': '7',
    // A cassette keeps plain bodies.
    'accept-encoding': 'identity',
  });
});

test('a recorder passes the headers of an answer back, except those of the connection, and keeps no credential', async () => {
  const { reply, cassette } = await record(
    { authorization: 'Bearer secret-token' },
    { connection: 'close', 'content-type': 'application/json', etag: '"1"' },
  );
  expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json', etag: '"1"' } });
  expect(reply.headers).not.toHaveProperty('connection');
  expect(String(reply.body)).toBe('{"id":1}');
  expect(cassette).toContain('/labels');
  expect(cassette).not.toContain('secret-token');
});
