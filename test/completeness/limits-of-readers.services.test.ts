/** The limits of readers that need no server, each tested at n and at n + 1. */
import { trustCall } from '../../src/core/program-call.ts';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Document, parseDocument } from 'yaml';
import { expect, test } from 'vitest';
import { JsonRows, openAnswer } from '../../src/api/list-rows.ts';
import { binaryVersion } from '../../src/kv/upgrade/supervisors/local.ts';
import { formRules } from '../../src/mock-server/oauth/rules/token-client.ts';
import { textOf } from '../../src/kv/snapshots/destination.ts';
import { deliveredIn } from '../../src/auth/events/receiver.ts';
import { credentialInput } from '../../src/auth/programs/credential-protocols.ts';
import { readTrace } from '../../src/cli/tracing.ts';
import { limits } from '../../src/core/limits.ts';
import { decode } from '../../src/core/protobuf.ts';
import { refuseLongSecret } from '../../src/core/field.ts';
import { yamlValue } from '../../src/core/yaml.ts';
import { requestIn } from '../../src/etcd-sim/gateway/rpc.ts';
import { callTool } from '../../src/cli/mcp/call.ts';
import { readCassette } from '../../src/mock-server/cassette/cassette.ts';
import { Answer, Chunked } from '../../src/platform/node/http1-answer.ts';
import type { Files, Host, HttpReply } from '../../src/platform/host.ts';
import { contentOf } from '../../src/tracker/files.ts';
import { fakeHost } from '../support/fake-host.ts';
import { realHost } from '../support/real-host.ts';
import { covers } from '../support/covers.ts';
import { contextWith, partlyMade } from '../support/context.ts';

test('a secret: n bytes and n + 1', covers('limit/secretBytes'), () => {
  refuseLongSecret('usage', '--token', 'é'.repeat(limits.secretBytes / 2));
  expect(() => refuseLongSecret('usage', '--token', `${'é'.repeat(limits.secretBytes / 2)}x`)).toThrow(
    `--token has ${limits.secretBytes + 1} bytes; a secret has at most ${limits.secretBytes}`,
  );
});

test('a row of a list: n bytes and n + 1', covers('limit/rowBytes'), () => {
  const rowsOf = (size: number): number => {
    const rows = new JsonRows('GET /x');
    const found = [
      ...rows.push(Buffer.from('["')),
      ...rows.push(Buffer.alloc(size - 2, 'x')),
      ...rows.push(Buffer.from('"]')),
    ];
    rows.end();
    return found.length;
  };
  expect(rowsOf(limits.rowBytes)).toBe(1);
  expect(() => rowsOf(limits.rowBytes + 1)).toThrow(`is larger than ${limits.rowBytes} bytes`);
});

test('a response that is not a list is limited to n bytes', covers('limit/besideRowsBytes'), async () => {
  const read = async (size: number) => {
    const body = async function* () {
      yield Buffer.from('{"a":"');
      yield Buffer.alloc(size - '{"a":""}'.length, 'x');
      yield Buffer.from('"}');
    };
    const reply = partlyMade<HttpReply>({ status: 200, headers: {}, stream: body });
    return openAnswer(reply, 'GET /x');
  };
  const found = await read(limits.besideRowsBytes);
  expect(found.text?.length).toBe(limits.besideRowsBytes);
  await expect(read(limits.besideRowsBytes + 1)).rejects.toMatchObject({ detail: { code: 'TOO_LARGE' } });
});

test('the head of a response is limited to n bytes', covers('limit/replyHeadBytes'), () => {
  const push = (size: number): void => {
    const answer = new Answer('GET', undefined as never);
    answer.reply.catch(() => undefined);
    answer.push(Buffer.from('HTTP/1.1 200 OK\r\nx: '.padEnd(size, 'a')));
  };
  push(limits.replyHeadBytes);
  expect(() => push(limits.replyHeadBytes + 1)).toThrow('its head does not end');
});

test('a size line in a chunked response is limited to n bytes', covers('limit/chunkLineBytes'), () => {
  const push = (size: number): void =>
    void new Chunked().push(Buffer.from('5;x='.padEnd(size, 'a')), () => undefined);
  push(limits.chunkLineBytes);
  expect(() => push(limits.chunkLineBytes + 1)).toThrow('its chunks have no sizes');
});

test('the output of a program is limited to n bytes', covers('limit/programBytes'), async () => {
  const { host, close } = await realHost();
  const print = (size: number) =>
    host.processes.run(
      ...trustCall([process.execPath, '-e', `process.stdout.write('x'.repeat(${size}))`]),
      {},
    );
  expect((await print(limits.programBytes)).stdout.length).toBe(limits.programBytes);
  expect(await print(limits.programBytes + 1)).toMatchObject({ isCut: true, code: null });
  await close();
});

test(
  "output limit and timeout of a tool's command are passed to its process",
  covers('limit/toolReplyBytes', 'limit/toolMs'),
  async () => {
    let given: unknown;
    const host = fakeHost({
      run: ({ options }) => {
        given = { bytes: options.maxBytes, ms: options.timeoutMs };
        return { isCut: true, code: null };
      },
    });
    const tool = {
      ...{ name: 'x', isReading: true, command: { path: ['x'], flags: {} }, offered: [], fixed: {} },
      inputSchema: { required: [] },
    } as never;
    const caller = { host, approvals: undefined as never, always: [], sharedFlags: [], directories: [] };
    const answer = await callTool(caller, [tool], 'x', {});
    expect(given).toEqual({ bytes: limits.toolReplyBytes, ms: limits.toolMs });
    expect(answer).toMatchObject({ isError: true });
    expect(answer.content[0]?.text).toContain(`more than ${limits.toolReplyBytes} bytes`);
  },
);

/** Files whose readers check only the size before the read. */
const sized = (sizeBytes: number, text: string): Files =>
  partlyMade<Files>({
    info: async () => ({ kind: 'file', sizeBytes }),
    readBytes: async () => Buffer.from(text),
  });

test('a trace: n bytes and n + 1', covers('limit/traceBytes'), async () => {
  const read = (size: number) => readTrace({ files: sized(size, '{}') } as Host, '/t.json');
  await expect(read(limits.traceBytes)).rejects.toMatchObject({
    detail: { problems: [{ message: expect.stringContaining('opsctl-trace/1') }] },
  });
  await expect(read(limits.traceBytes + 1)).rejects.toMatchObject({
    detail: { problems: [{ message: expect.stringContaining(`at most ${limits.traceBytes} are read`) }] },
  });
});

test('a cassette: n bytes and n + 1', covers('limit/cassetteBytes'), async () => {
  const text = '{"opsctl_cassette":1,"upstream":"http://127.0.0.1:1"}\n';
  expect((await readCassette(sized(limits.cassetteBytes, text), '/c')).exchanges).toEqual([]);
  await expect(readCassette(sized(limits.cassetteBytes + 1, text), '/c')).rejects.toThrow(
    `a cassette has at most ${limits.cassetteBytes} bytes`,
  );
});

test('a request of git or docker: n bytes and n + 1', covers('limit/credentialRequestBytes'), async () => {
  const read = (size: number) => credentialInput(fakeHost({ stdin: 'x'.repeat(size) }));
  expect((await read(limits.credentialRequestBytes)).length).toBe(limits.credentialRequestBytes);
  await expect(read(limits.credentialRequestBytes + 1)).rejects.toThrow(
    `more than ${limits.credentialRequestBytes} bytes`,
  );
});

test('messages in messages of the store: n deep and n + 1', covers('limit/messageDepth'), () => {
  const shape: { inner?: unknown } = {};
  shape.inner = [1, { shape }];
  const nested = (depth: number): Buffer => {
    let bytes: Buffer = Buffer.alloc(0);
    for (let i = 0; i < depth; i += 1) {
      const length = bytes.length;
      const size = length < 128 ? [length] : [(length & 0x7f) | 0x80, length >> 7];
      bytes = Buffer.concat([Buffer.from([0x0a, ...size]), bytes]);
    }
    return bytes;
  };
  expect(decode(shape as never, nested(limits.messageDepth))).toHaveProperty('inner');
  expect(() => decode(shape as never, nested(limits.messageDepth + 1))).toThrow(
    `nested more than ${limits.messageDepth} deep`,
  );
});

test('lists in lists of a request to the gateway: n deep and n + 1', covers('limit/gatewayDepth'), () => {
  const lists = (depth: number): string => '['.repeat(depth + 1) + ']'.repeat(depth + 1);
  const read = (depth: number) => requestIn(lists(depth), false);
  expect(() => read(limits.gatewayDepth)).not.toThrow('exceeded max depth');
  expect(() => read(limits.gatewayDepth + 1)).toThrow('exceeded max depth');
});

test('aliases of YAML: n and n + 1', covers('limit/yamlAliases'), () => {
  const withAliases = (count: number): Document =>
    parseDocument(`a: &a [x]\nlist:\n${'  - *a\n'.repeat(count)}`);
  expect(yamlValue(withAliases(limits.yamlAliases))).toHaveProperty('value');
  expect(yamlValue(withAliases(limits.yamlAliases + 1))).toMatchObject({
    problem: expect.stringContaining('alias'),
  });
});

test('redirects of a download: n and n + 1', covers('limit/redirects'), async () => {
  const server = createServer((request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end('content');
    else response.writeHead(302, { location: `/${left - 1}` }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { host, close } = await realHost();
  const context = contextWith({ host, signal: new AbortController().signal });
  const follow = (count: number) =>
    contentOf(context, new URL(`/${count}`, baseUrl), { baseUrl, headers: {} } as never);
  expect(await (await follow(limits.redirects)).text()).toBe('content');
  await expect(follow(limits.redirects + 1)).rejects.toThrow(`more than ${limits.redirects} redirects`);
  await close();
  server.close();
});

test('the manifest of a stored snapshot: n bytes and n + 1', covers('limit/manifestBytes'), async () => {
  const read = (size: number) =>
    textOf(
      (async function* () {
        yield Buffer.alloc(size, 'x');
      })(),
    );
  expect(await read(limits.manifestBytes)).toHaveLength(limits.manifestBytes);
  expect(await read(limits.manifestBytes + 1)).toBeUndefined();
});

test(
  'the output limit of a version query is passed to its process; cut output is not a version',
  covers('limit/versionTextBytes'),
  async () => {
    let given: number | undefined;
    const host = fakeHost({
      run: ({ options }) => {
        given = options.maxBytes;
        return { isCut: true, stdout: 'etcd Version: 3.5.21\n' };
      },
    });
    expect((await binaryVersion(host, '/etcd')).version).toBeUndefined();
    expect(given).toBe(limits.versionTextBytes);
  },
);

test('a form for the authorization server: n bytes and n + 1', covers('limit/formBytes'), () => {
  const send = (size: number): void => {
    const request = {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: Buffer.alloc(size, 'x'),
    };
    const params = { count: 1, isWellFormed: true, repeated: [] };
    for (const rule of formRules)
      rule({ request, params, auth: { env: { origin: () => 'http://x' } } } as never);
  };
  send(limits.formBytes);
  expect(() => send(limits.formBytes + 1)).toThrow(`at most ${limits.formBytes} bytes`);
});

test('a security event: n bytes and n + 1', covers('limit/securityEventBytes'), async () => {
  const deliver = (size: number) =>
    deliveredIn({
      method: 'POST',
      headers: { 'content-type': 'application/secevent+jwt' },
      read: async (most: number) => {
        if (size > most) throw new Error('too large');
        return Buffer.alloc(size, 'x');
      },
    } as never);
  expect(await deliver(limits.securityEventBytes)).toHaveProperty('token');
  expect(await deliver(limits.securityEventBytes + 1)).toMatchObject({ refusal: { status: 413 } });
});
