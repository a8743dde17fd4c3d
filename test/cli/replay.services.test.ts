/** The trace of one run provides the responses of a later run, without the network and without a secret. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { harOf, tracedHost, traceLines, type Exchange } from '../../src/cli/trace.ts';
import { type Host, type HttpReply, withRequest } from '../../src/platform/host.ts';
import { fakeHost } from '../support/fake-host.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

const token = 'planted-secret-4711';
let home: string;
let trace: string;
beforeAll(() => {
  home = makeDirectory();
  trace = join(home, 'trace.json');
});
const run = (line: string, env: Record<string, string> = {}) => opsctl(line.split(' '), { home, env });

describe('--record and --replay', () => {
  it('a replay returns the same response without a service, a setting or a token', async () => {
    const first = await run(`tracker labels list --record ${trace} -o json`);
    const other = makeDirectory();
    const again = await opsctl(['tracker', 'labels', 'list', '--replay', trace, '-o', 'json'], {
      home: other,
    });
    expect([again.code, again.stdout]).toEqual([0, first.stdout]);
    expect(again.stderr).not.toContain('embedded mock');
    expect(existsSync(join(other, 'cache'))).toBe(false);
  });
  it('an unrecorded request is rejected, and no request is sent', async () => {
    const { code, stderr } = await run(`tracker epics list --replay ${trace}`);
    expect([code, stderr]).toEqual([11, expect.stringContaining('GET /api/v3/epics')]);
  });
  it('names are looked up again, so that the trace is whole', async () => {
    const file = join(home, 'named.json');
    const first = await run(`tracker labels get onboarding --record ${file} -o json`);
    const again = await run(`tracker labels get onboarding --replay ${file} -o json`);
    expect([again.code, again.json()]).toEqual([0, first.json()]);
  });
  it('a failure is replayed unchanged, and the trace contains no secret', async () => {
    const file = join(home, 'failed.json');
    const env = { OPSCTL_TRACKER_URL: 'http://127.0.0.1:9', OPSCTL_TRACKER_TOKEN: token };
    expect((await run(`tracker labels create --name ${token} --record ${file}`, env)).code).toBe(11);
    expect(readFileSync(file, 'utf8')).not.toContain(token);
    expect((await run(`tracker labels create --name x --replay ${file}`)).code).toBe(11);
  });
  it('a replay never acts on the machine: no program is started', async () => {
    const { code, stderr } = await run(`version --check --replay ${trace}`);
    expect([code, stderr]).toEqual([11, expect.stringContaining('the program npm is not in the trace')]);
  });
  it.each([
    ['no file', 'missing.json', undefined, 'does not exist'],
    ['no JSON', 'text.json', 'hello', 'JSON'],
    [
      'an address that is none',
      'address.json',
      '{"format":"opsctl-trace/1","version":"1","command":["tracker","labels","list"],"services":{"tracker":{"baseUrl":"http://127.0.0.1:9-"}},"exchanges":[]}',
      'http://127.0.0.1:9-',
    ],
    ['another format', 'har.json', '{"log":{}}', 'its format must be opsctl-trace/1'],
    [
      'a damaged one',
      'bad.json',
      '{"format":"opsctl-trace/1","version":"1","command":[],"services":{},"exchanges":[{"url":5}]}',
      'is damaged: exchanges[0]',
    ],
  ])('%s is refused', async (_, name, text, says) => {
    if (text !== undefined) writeFileSync(join(home, name), text);
    const { code, stderr } = await run(`tracker labels list --replay ${join(home, name)}`);
    expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
  });
  it('--record and --replay together are rejected', async () => {
    expect((await run(`tracker labels list --replay ${trace} --record x`)).code).toBe(2);
  });
});

describe('a body that breaks off', () => {
  const broken = (): { host: Host; seen: Exchange[] } => {
    const seen: Exchange[] = [];
    const host = fakeHost({ reply: () => ({ status: 200, body: { a: 1 } }) });
    const request: Host['network']['request'] = async (given) => ({
      ...(await host.network.request(given)),
      bytes: async () => {
        throw new Error('the connection was reset');
      },
      async *stream() {
        yield new TextEncoder().encode('[1,');
        throw new Error('the connection was reset');
      },
    });
    return { host: tracedHost(withRequest(host, request), (one) => void seen.push(one)), seen };
  };
  const readers: [string, (reply: HttpReply) => Promise<unknown>][] = [
    ['bytes', (reply) => reply.bytes()],
    ['text', (reply) => reply.text()],
    [
      'stream',
      async (reply) => {
        for await (const chunk of reply.stream()) expect(chunk).toHaveLength(3);
      },
    ],
  ];
  it.each(readers)('%s: the exchange has its status and its error', async (_, read) => {
    const { host, seen } = broken();
    const ask = () => host.network.request({ method: 'GET', url: 'http://127.0.0.1/x' });
    await expect(read(await ask())).rejects.toThrow('the connection was reset');
    expect(seen).toMatchObject([{ status: 200, error: 'the connection was reset', attempt: 1 }]);
    const lines = seen.flatMap(traceLines).join('\n');
    expect(lines).toContain('< 200 in ');
    expect(lines).toContain('< the connection was reset after ');
    expect(JSON.parse(harOf(seen, '1')).log.entries[0].response).toMatchObject({
      status: 200,
      statusText: 'the connection was reset',
    });
    await expect(read(await ask())).rejects.toThrow();
    expect(seen.at(-1)?.attempt).toBe(2);
  });
});

it.each([
  ['none', undefined, '', 200],
  ['part', '{"name":"sent"}', '{"name":"received"}', 200],
] as const)('a trace with bodies %s keeps only what it needs', async (bodies, request, response, status) => {
  const seen: Exchange[] = [];
  const reply = () => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: { name: 'received' },
  });
  const host = tracedHost(fakeHost({ reply }), (one) => void seen.push(one), { bodies });
  const headers = { 'content-type': 'application/json' };
  const sent = { method: 'POST', url: 'http://127.0.0.1/x', headers, body: '{"name":"sent"}' };
  expect(await (await host.network.request(sent)).text()).toBe('{"name":"received"}');
  for await (const chunk of (await host.network.request(sent)).stream())
    expect(chunk.length).toBeGreaterThan(0);
  for (const one of seen)
    expect([one.requestBody, one.responseBody, one.status]).toEqual([request, response, status]);
  expect(seen).toHaveLength(2);
});

it('a repeated request contains the number of its attempt', async () => {
  const seen: Exchange[] = [];
  const host = tracedHost(
    fakeHost({ reply: (_, count) => ({ status: count < 3 ? 503 : 200, body: {} }) }),
    (one) => void seen.push(one),
  );
  for (let i = 0; i < 4; i += 1)
    await (await host.network.request({ method: 'GET', url: 'http://127.0.0.1/x' })).bytes();
  const heads = seen.map((one) => traceLines(one)[0]);
  expect(heads.filter((head) => /\(try \d\)/.test(head ?? '')).length).toBeGreaterThan(0);
  expect(seen.map(({ attempt }) => attempt).at(-1)).toBe(1);
});

it.each([
  ['application/x-www-form-urlencoded', '***'],
  ['application/json', 482_913],
])('--debug and --har show the numeric code in the answer to %s as %j', async (type, shown) => {
  const seen: Exchange[] = [];
  const reply = () => ({ headers: { 'content-type': 'application/json' }, body: '{"code":482913,"id":7}' });
  const host = tracedHost(fakeHost({ reply }), (one) => void seen.push(one));
  const request = { method: 'POST', url: 'https://auth.example/otp', headers: { 'Content-Type': type } };
  await (await host.network.request({ ...request, body: '' })).text();
  const body = JSON.stringify({ code: shown, id: 7 });
  expect(seen.flatMap(traceLines)).toContainEqual(`< ${body}`);
  expect(JSON.parse(harOf(seen, '1')).log.entries[0].response.content.text).toBe(body);
});
