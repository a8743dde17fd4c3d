import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { storeError } from '../../../src/kv/client/errors.ts';
import { refuseFailure, directCalls } from '../../../src/kv/client/messages.ts';
import { oldestRevision, openStore } from '../../../src/kv/client/etcd-client.ts';
import { decode, encode, type Shape } from '../../../src/core/protobuf.ts';
import { watchMessages } from '../../../src/kv/client/watch.ts';
import { AppError } from '../../../src/core/problem.ts';
import { realHost, type RealHost } from '../../support/real-host.ts';
import { covers } from '../../support/covers.ts';

let real: RealHost;
let server: Server | undefined;
let seen: { path: string; body: unknown }[] = [];
beforeEach(async () => {
  real = await realHost();
  seen = [];
});
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A server of the given version that returns the same text for every request. */
const storeOf = async (version: string, answer: string) => {
  server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/version')
        return reply.end(JSON.stringify({ etcdserver: version, etcdcluster: '3.5.0' }));
      seen.push({ path: request.url ?? '', body: JSON.parse(Buffer.concat(chunks).toString()) });
      reply.end(answer);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = (server as Server).address() as { port: number };
  return openStore(real.host, { url: `http://127.0.0.1:${port}`, timeoutMs: 20_000 });
};

describe('maintenance and membership through the gateway', () => {
  it('sends what the store expects', async () => {
    const store = await storeOf('3.5.16', '{"member":{"ID":"7","peerURLs":["http://a:1"],"isLearner":true}}');
    expect(await store.addMember(['http://a:1'], true)).toMatchObject({
      id: '7',
      is_learner: true,
      name: '',
    });
    await store.removeMember('7');
    await store.updateMember('7', ['http://b:1']);
    await store.promoteMember('7');
    await store.compact(12, true);
    await store.defragment();
    expect(seen).toEqual([
      { path: '/v3/cluster/member/add', body: { peerURLs: ['http://a:1'], isLearner: true } },
      { path: '/v3/cluster/member/remove', body: { ID: '7' } },
      { path: '/v3/cluster/member/update', body: { ID: '7', peerURLs: ['http://b:1'] } },
      { path: '/v3/cluster/member/promote', body: { ID: '7' } },
      { path: '/v3/kv/compaction', body: { revision: '12', physical: true } },
      { path: '/v3/maintenance/defragment', body: {} },
    ]);
  });
  it('3.3 supports no learners: no request is sent', async () => {
    const store = await storeOf('3.3.25', '{}');
    await expect(store.addMember(['http://a:1'], true)).rejects.toMatchObject({
      detail: { code: 'UNIMPLEMENTED' },
    });
    await expect(store.promoteMember('7')).rejects.toMatchObject({ detail: { code: 'UNIMPLEMENTED' } });
    expect(seen).toEqual([]);
  });
  it('past the gateway the messages carry the same fields', () => {
    const sent = { peerURLs: ['http://a:1', 'http://b:2'], isLearner: true };
    const shape = directCalls['/cluster/member/add']?.request;
    expect(shape).toBeDefined();
    expect(decode(shape as Shape, encode(shape as Shape, sent))).toEqual(sent);
  });
});

describe('watch', () => {
  it('gives the events with texts, and why it was canceled', async () => {
    const [key, value] = ['app/a', 'x'].map((text) => Buffer.from(text).toString('base64'));
    const lines = [
      { result: { header: { revision: '4' }, created: true } },
      {
        result: {
          header: { revision: '5' },
          events: [{ kv: { key, value, mod_revision: '5', version: '1' } }],
        },
      },
      { result: { header: { revision: '6' }, events: [{ type: 'DELETE', kv: { key, mod_revision: '6' } }] } },
      { result: { header: { revision: '6' }, canceled: true, compact_revision: '3', cancel_reason: 'gone' } },
    ];
    const store = await storeOf('3.5.16', lines.map((line) => JSON.stringify(line)).join('\n'));
    const messages = [];
    for await (const message of watchMessages(store.connection, {
      key: 'app/',
      rangeEnd: 'app0',
      startRevision: 5,
      withPrevious: true,
      filters: ['NODELETE'],
    }))
      messages.push(message);
    expect(messages.map(({ is_created }) => is_created)).toEqual([true, false, false, false]);
    expect(messages[1]?.events[0]).toMatchObject({ type: 'PUT', kv: { key: 'app/a', value: 'x' } });
    expect(messages[2]?.events[0]).toMatchObject({ type: 'DELETE', kv: { key: 'app/a', mod_revision: 6 } });
    expect(messages[3]).toMatchObject({ is_canceled: true, compact_revision: 3, cancel_reason: 'gone' });
    expect(seen[0]?.body).toMatchObject({
      create_request: { start_revision: '5', prev_kv: true, filters: ['NODELETE'], progress_notify: true },
    });
  });
  it('an error in the stream is the store’s error', async () => {
    const store = await storeOf(
      '3.5.16',
      '{"error":{"grpc_code":16,"message":"etcdserver: invalid auth token"}}',
    );
    const first = watchMessages(store.connection, { key: 'a' }).next();
    await expect(first).rejects.toMatchObject({ detail: { code: 'UNAUTHENTICATED' } });
  });
});

it('the oldest readable revision is found by halving', async () => {
  for (const [compacted, newest] of [
    [0, 1],
    [0, 900],
    [1, 900],
    [2, 900],
    [637, 900],
    [900, 900],
  ] as const) {
    let reads = 0;
    const range = async (_: string | Uint8Array, { revision = 0 } = {}) => {
      reads += 1;
      if (revision < compacted)
        throw new AppError('refused', 'etcdserver: mvcc: required revision has been compacted');
      return { kvs: [], count: 0, revision: newest };
    };
    expect(await oldestRevision({ range }, newest)).toBe(Math.max(1, compacted));
    expect(reads).toBeLessThan(12);
  }
});

describe('responses that do not come from a store', () => {
  it.each(['', 'null', '"x"', '5', '[]', '{}', '{"login":"/"}', '<html>Sign in to WiFi'])(
    '%j confirms no change, and does not mean an empty result',
    covers('defect/D3-4'),
    async (answer) => {
      const store = await storeOf('3.5.16', answer);
      const asked = {
        put: () => store.put('k', 'v'),
        del: () => store.del('k'),
        range: () => store.range('k'),
        create: () => store.create('k', 'v', '0'),
        compact: () => store.compact(5, false),
        grant: () => store.grant(60),
        revoke: () => store.revoke('7'),
        members: () => store.members(),
        add: () => store.addMember(['http://a:1']),
        remove: () => store.removeMember('7'),
        update: () => store.updateMember('7', ['http://a:1']),
        promote: () => store.promoteMember('7'),
      };
      for (const [what, ask] of Object.entries(asked))
        await expect(ask(), what).rejects.toMatchObject({
          category: 'network',
          detail: { code: 'NOT_PROVEN' },
        });
    },
  );
  it.each(['', 'null', '[]', '<html>'])(
    '%j proves no defragmentation and no move of the leader',
    covers('defect/D3-5'),
    async (answer) => {
      const store = await storeOf('3.5.16', answer);
      await expect(store.defragment()).rejects.toMatchObject({ detail: { code: 'NOT_PROVEN' } });
      await expect(store.moveLeader('7')).rejects.toMatchObject({ detail: { code: 'NOT_PROVEN' } });
      await expect(store.alarms()).rejects.toMatchObject({ detail: { code: 'NOT_PROVEN' } });
    },
  );
  it('a status other than success is a network error', () => {
    expect(storeError('http://a:1', 304, undefined).category).toBe('network');
    expect(storeError('http://a:1', 400, undefined).category).toBe('refused');
  });
});

it('a message with invalid percent encoding is shown unchanged', covers('defect/D7-3'), () => {
  const fields = { 'grpc-status': '5', 'grpc-message': 'full to 100%' };
  expect(() => refuseFailure('http://a:1', fields)).toThrow(/full to 100%/);
});
