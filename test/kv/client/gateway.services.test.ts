import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accessWith } from '../../../src/kv/engine/access.ts';
import { errorIn, storeError } from '../../../src/kv/client/errors.ts';
import { jsonObjects } from '../../../src/kv/client/watch.ts';
import { saveSnapshot, trailerCheck } from '../../../src/kv/client/snapshot.ts';
import { healthFrom, openStore, putSizeBytes } from '../../../src/kv/client/etcd-client.ts';
import type { Endpoint } from '../../../src/kv/client/messages.ts';
import { realHost, type RealHost } from '../../support/real-host.ts';
import { covers } from '../../support/covers.ts';

type Answer = (request: IncomingMessage, reply: ServerResponse, body: string) => void;
let real: RealHost;
let server: Server | undefined;
let seen: { method: string; path: string; headers: IncomingMessage['headers']; body: string }[] = [];
beforeEach(async () => {
  real = await realHost();
  seen = [];
});
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

const serve = async (version: string, answer: Answer): Promise<string> => {
  server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      if (request.url === '/version')
        return reply.end(JSON.stringify({ kvserver: version, kvcluster: `${version.slice(0, 3)}.0` }));
      seen.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body });
      answer(request, reply, body);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${((server as Server).address() as { port: number }).port}`;
};
const store = (url: string, more: Partial<Endpoint> = {}) =>
  openStore(real.host, { url, timeoutMs: 20_000, ...more });

describe('requests on the wire', () => {
  it.each([
    ['3.2.32', '/v3alpha/kv/put'],
    ['3.3.27', '/v3beta/kv/put'],
    ['3.4.23', '/v3/kv/put'],
    ['3.5.16', '/v3/kv/put'],
  ])('%s: a put to %s with base64 texts', async (version, path) => {
    const url = await serve(version, (_, reply) => reply.end('{"header":{"revision":"7"}}'));
    expect(await store(url).put('schlüssel', 'wert')).toEqual({ revision: 7 });
    expect(seen[0]).toMatchObject({
      method: 'POST',
      path,
      body: JSON.stringify({ key: Buffer.from('schlüssel').toString('base64'), value: 'd2VydA==' }),
    });
  });
  it(
    'spec/store#interfaces: a redirect from /v3alpha to /v3beta is followed with method and body',
    covers('spec/store#interfaces-3', 'spec/program#choices-10'),
    async () => {
      const url = await serve('3.2.0', (request, reply) => {
        if (request.url?.startsWith('/v3alpha'))
          return reply.writeHead(308, { location: (request.url ?? '').replace('v3alpha', 'v3beta') }).end();
        reply.end('{"header":{"revision":"3"}}');
      });
      expect(await store(url).put('a', 'b')).toEqual({ revision: 3 });
      expect(seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
        'POST /v3alpha/kv/put',
        'POST /v3beta/kv/put',
      ]);
      expect(seen[1]?.body).toBe(seen[0]?.body);
    },
  );
  it('a redirect to another server is not followed', async () => {
    const url = await serve('3.3.0', (_, reply) =>
      reply.writeHead(308, { location: 'http://127.0.0.1:1/v3beta/kv/put' }).end(),
    );
    await expect(store(url).put('a', 'b')).rejects.toMatchObject({ detail: { httpStatus: 308 } });
  });
  it.each([
    ['3.2.32', 'grpc-metadata-token'],
    ['3.3.27', 'authorization'],
  ])(
    '%s: the token in %s, fetched once for calls at the same time',
    covers('spec/store#measured-versions-2'),
    async (version, header) => {
      const url = await serve(version, (request, reply) =>
        reply.end(request.url?.endsWith('/auth/authenticate') ? '{"token":"t.1"}' : '{"header":{}}'),
      );
      const one = store(url, { user: { name: 'root', password: 'pw' } });
      await Promise.all([one.put('a', '1'), one.put('b', '2'), one.range('c')]);
      expect(seen.filter(({ path }) => path.endsWith('authenticate'))).toHaveLength(1);
      expect(seen.filter(({ path }) => path.includes('/kv/')).map(({ headers }) => headers[header])).toEqual([
        't.1',
        't.1',
        't.1',
      ]);
    },
  );
  it(
    'a token that its member lost is requested again, once',
    covers('spec/store#measured-answers-3'),
    async () => {
      let [logins, puts] = [0, 0];
      const url = await serve('3.3.27', (request, reply) => {
        if (request.url?.endsWith('authenticate')) {
          logins += 1;
          return reply.end(`{"token":"t.${logins}"}`);
        }
        puts += 1;
        if (request.headers.authorization === 't.1')
          return reply.writeHead(401).end('{"error":"etcdserver: invalid auth token","code":16}');
        reply.end('{"header":{"revision":"2"}}');
      });
      const one = store(url, { user: { name: 'root', password: 'pw' } });
      expect(await one.put('a', '1')).toEqual({ revision: 2 });
      expect([logins, puts]).toEqual([2, 2]);
      expect(await one.put('a', '1')).toEqual({ revision: 2 });
      expect(logins).toBe(2);
    },
  );
  it('a user is accepted if authentication is disabled', async () => {
    const url = await serve('3.3.27', (request, reply) => {
      if (request.url?.endsWith('authenticate'))
        return reply.writeHead(412).end('{"error":"etcdserver: authentication is not enabled","code":9}');
      reply.end('{"header":{}}');
    });
    await accessWith(real.host, undefined, { name: 'root', password: 'pw' }).store(url).range('a');
    expect(seen.at(-1)?.headers.authorization).toBeUndefined();
  });
});

describe('health and version in every form (spec/store#interfaces, spec/store#measured-versions)', () => {
  it.each([
    [200, '{"health": "true"}', true],
    [200, '{"health":"true","reason":""}', true],
    [200, '{"health":true,"errors":[]}', true],
    [503, '{"health":"false"}\n', false],
    [503, '{"health":"false","reason":"RAFT NO LEADER"}', false],
    [200, '{"health":"false"}', false],
    [200, 'true', false],
    [200, '', false],
    [503, '{"health":"true"}', false],
  ])('%i %s', covers('spec/store#interfaces-1'), (status, text, isHealthy) => {
    expect(healthFrom(status, text).is_healthy).toBe(isHealthy);
  });
  it(
    'both name sets of /version are read, and a URL without a store is an error',
    covers('spec/store#interfaces-2', 'spec/program#settings-7'),
    async () => {
      server = createServer((_, reply) => reply.end('{"etcdserver":"3.4.23","etcdcluster":"3.4.0"}'));
      await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
      expect(await store(url).versions()).toEqual({ server: '3.4.23', cluster: '3.4.0' });
      server.removeAllListeners('request').on('request', (_, reply: ServerResponse) => reply.end('<html>'));
      await expect(store(url).versions()).rejects.toMatchObject({ detail: { code: 'NOT_A_STORE' } });
      const plainToTls = (_: unknown, reply: ServerResponse) =>
        reply.writeHead(400).end('Client sent an HTTP request to an HTTPS server.\n');
      server.removeAllListeners('request').on('request', plainToTls);
      await expect(store(url).versions()).rejects.toMatchObject({
        message: expect.stringContaining('it uses TLS; write https:// in its URL'),
        detail: { code: 'TLS' },
      });
    },
  );
});

describe('errors of the store', () => {
  it.each<[number, unknown, string, string]>([
    [400, { error: 'etcdserver: request is too large', code: 3 }, 'refused', 'REQUEST_TOO_LARGE'],
    [
      403,
      { error: 'grpc: received message larger than max (2100010 vs. 2097152)', code: 8 },
      'refused',
      'RESOURCE_EXHAUSTED',
    ],
    [
      403,
      { error: 'x', message: 'etcdserver: mvcc: database space exceeded', code: 8 },
      'refused',
      'NO_SPACE',
    ],
    [503, { code: 14, message: 'etcdserver: request timed out' }, 'network', 'DEADLINE_EXCEEDED'],
    [500, { error: 'context deadline exceeded', code: 2 }, 'network', 'DEADLINE_EXCEEDED'],
    [400, { error: 'etcdserver: user name is empty', code: 3 }, 'auth', 'USER_NEEDED'],
    [
      400,
      { error: 'etcdserver: authentication failed, invalid user ID or password', code: 3 },
      'auth',
      'WRONG_PASSWORD',
    ],
    [401, { error: 'etcdserver: invalid auth token', code: 16 }, 'auth', 'UNAUTHENTICATED'],
    [404, { error: 'etcdserver: requested lease not found', code: 5 }, 'not-found', 'LEASE_NOT_FOUND'],
    [412, { error: 'etcdserver: not leader', code: 9 }, 'refused', 'NOT_LEADER'],
    [404, undefined, 'network', 'NO_GATEWAY'],
    [404, { error: '404 page not found\n' }, 'network', 'NO_GATEWAY'],
    [502, undefined, 'network', 'HTTP_502'],
  ])('%i %j is %s %s', (status, body, category, code) => {
    expect(storeError('http://a:1', status, body)).toMatchObject({
      category,
      detail: { code, httpStatus: status },
    });
  });
  it('the error of a stream is inside', () => {
    expect(errorIn({ error: { grpc_code: 3, message: 'etcdserver: user name is empty' } })).toEqual({
      message: 'etcdserver: user name is empty',
      code: 3,
    });
  });
  it(
    'an unreachable and an unresponsive member: spec/store#errors dial time-out is deadline exceeded',
    covers('spec/store#errors-3'),
    async () => {
      await expect(store('http://127.0.0.1:1').range('a')).rejects.toMatchObject({
        category: 'network',
        detail: { code: 'UNAVAILABLE' },
      });
      const url = await serve('3.3.0', () => {});
      await expect(store(url, { timeoutMs: 150 }).range('a')).rejects.toMatchObject({
        category: 'network',
        detail: { code: 'DEADLINE_EXCEEDED' },
      });
    },
  );
  it('the size of a put is counted as the store counts it', () => {
    expect(putSizeBytes('k', 'x'.repeat(100))).toBe(3 + 102);
    expect(putSizeBytes('k', 'x'.repeat(200))).toBe(3 + 203);
    expect(putSizeBytes('k', '')).toBe(3);
    expect(putSizeBytes('ü', '')).toBe(4);
  });
});

async function* pieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const collect = async (text: string, size: number): Promise<unknown[]> => {
  const found: unknown[] = [];
  for await (const object of jsonObjects(pieces(text, size))) found.push(object);
  return found;
};

describe('objects of a stream', () => {
  const objects = [
    { result: { blob: 'AAA=', remaining_bytes: '5' } },
    { a: 'x}{"y\\', b: { c: [{}] } },
    { result: { blob: '' } },
  ];
  const forms = { 'back to back (3.2)': '', 'one on a line': '\n', 'blank lines': ' \n\n' };
  it.each(Object.entries(forms))(
    '%s, cut anywhere',
    covers('spec/store#measured-snapshots-1'),
    async (_, between) => {
      const text = objects.map((object) => JSON.stringify(object)).join(between) + between;
      for (let size = 1; size < 40; size += 1) expect(await collect(text, size)).toEqual(objects);
    },
  );
  it('an end in the middle is an error', async () => {
    await expect(collect('{"a":1}{"b"', 3)).rejects.toThrow('in the middle');
  });
});

describe('snapshots', () => {
  const content = Buffer.alloc(4096, 7);
  const whole = Buffer.concat([content, createHash('sha256').update(content).digest()]);
  const line = (bytes: Buffer, more: Record<string, unknown> = {}): string =>
    JSON.stringify({ result: { blob: bytes.toString('base64'), ...more } });
  const stream = (bytes: Buffer, between = '\n'): string =>
    line(bytes.subarray(0, 1000), { remaining_bytes: '3096' }) +
    between +
    line(bytes.subarray(1000, 4096), { remaining_bytes: '0' }) +
    between +
    line(bytes.subarray(4096));
  const directory = (): string[] => readdirSync(real.directory);

  it.each([[''], ['\n']])(
    'a stream with %j between its objects becomes a verified file of mode 0600',
    covers('spec/store#measured-snapshots-1'),
    async (between) => {
      const url = await serve('3.3.27', (_, reply) => reply.end(stream(whole, between)));
      const path = join(real.directory, 's.db');
      const verified = await saveSnapshot(real.host, store(url), path);
      expect(verified.size_bytes).toBe(4128);
      expect(Buffer.from((await real.host.files.readBytes(path)) as Uint8Array).equals(whole)).toBe(true);
      expect(((await real.host.files.info(path))?.mode ?? 0) & 0o777).toBe(0o600);
      expect(verified.file_sha256).toBe(createHash('sha256').update(whole).digest('hex'));
    },
  );
  it.each<[string, (url: string) => Answer, Partial<{ code: string }>]>([
    [
      'a byte changed on the way',
      () => (_, reply) => reply.end(stream(Buffer.concat([Buffer.alloc(1), whole.subarray(1)]))),
      { code: 'SNAPSHOT_DAMAGED' },
    ],
    ['the trailer is missing', () => (_, reply) => reply.end(line(content)), { code: 'SNAPSHOT_DAMAGED' }],
    [
      'cut off between objects',
      () => (_, reply) => reply.end(line(whole.subarray(0, 1000))),
      { code: 'SNAPSHOT_DAMAGED' },
    ],
    ['nothing at all', () => (_, reply) => reply.end(), { code: 'SNAPSHOT_EMPTY' }],
    [
      'an error inside the stream',
      () => (_, reply) =>
        reply.end(
          `${line(content.subarray(0, 100))}\n{"error":{"grpc_code":3,"message":"etcdserver: user name is empty"}}`,
        ),
      { code: 'USER_NEEDED' },
    ],
  ])('%s: an error, and no file', async (_, answer, detail) => {
    const url = await serve('3.3.27', answer(''));
    await expect(saveSnapshot(real.host, store(url), join(real.directory, 's.db'))).rejects.toMatchObject({
      detail,
    });
    expect(directory()).toEqual([]);
  });
  it('the connection is cut: an error, and no file', async () => {
    const url = await serve('3.3.27', (_, reply) => {
      reply.write(line(content.subarray(0, 2000)));
      setTimeout(() => reply.destroy(), 20);
    });
    await expect(saveSnapshot(real.host, store(url), join(real.directory, 's.db'))).rejects.toMatchObject({
      category: 'network',
    });
    expect(directory()).toEqual([]);
  });
  it(
    'spec/store#errors: cancelled is canceled, silence is deadline exceeded',
    covers('spec/store#errors-4'),
    async () => {
      const url = await serve('3.3.27', (_, reply) => void reply.write(line(content.subarray(0, 2000))));
      const stop = new AbortController();
      const cancelled = saveSnapshot(
        real.host,
        store(url, { signal: stop.signal }),
        join(real.directory, 'a.db'),
      );
      setTimeout(() => stop.abort(), 50);
      await expect(cancelled).rejects.toMatchObject({
        category: 'interrupted',
        detail: { code: 'CANCELED' },
      });
      await expect(
        saveSnapshot(real.host, store(url, { timeoutMs: 150 }), join(real.directory, 'b.db')),
      ).rejects.toMatchObject({
        detail: { code: 'DEADLINE_EXCEEDED' },
      });
      expect(directory()).toEqual([]);
    },
  );
  it('the trailer is found however the bytes arrive', () => {
    for (const size of [1, 7, 31, 32, 33, 512, 5000]) {
      const check = trailerCheck();
      for (let at = 0; at < whole.length; at += size) check.add(whole.subarray(at, at + size));
      expect(check.finish('x').size_bytes).toBe(4128);
    }
  });
});
