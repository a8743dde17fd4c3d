/** OTEL_TRACES_EXPORTER: spans of commands, requests and steps reach a collector over OTLP/HTTP. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openLines } from '../../src/kv/engine/journal.ts';
import { makeRedactor } from '../../src/output/redact.ts';
import { nodeHost } from '../../src/platform/node/host.ts';
import type { Host, HttpReply, HttpRequest, StepMark } from '../../src/platform/host.ts';
import { opsctl } from '../support/program.ts';
import { startTracker, TOKEN, type TrackerServer } from '../support/tracker-server.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf } from '../support/facts.ts';

// Loaded by the tests that need them, so that one test can state that a run does not load them.
const loads = vi.hoisted(() => ({ count: 0 }));
vi.mock('@opentelemetry/sdk-trace', async (importOriginal) => {
  loads.count++;
  return importOriginal();
});
const telemetryModule = () => import('../../src/cli/telemetry.ts');

type Received = { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: Buffer };
type Collector = {
  readonly url: string;
  readonly received: Received[];
  /** Statuses of the next responses; then 200. Zero: the collector never responds. */
  readonly statuses: number[];
  close(): Promise<void>;
};
const startCollector = async (): Promise<Collector> => {
  const received: Received[] = [];
  const statuses: number[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) });
      const status = statuses.shift() ?? 200;
      if (status > 0) response.writeHead(status).end('{}');
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    statuses,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
};
type SpanData = {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly status: { readonly code?: number };
  readonly attributes: Readonly<Record<string, unknown>>;
};
const plain = (attributes: readonly { key: string; value: Record<string, unknown> }[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
const spansIn = ({ received }: Collector): SpanData[] =>
  received.flatMap(({ body }) =>
    JSON.parse(body.toString()).resourceSpans.flatMap((resource: any) =>
      resource.scopeSpans.flatMap(({ spans }: any) =>
        spans.map((span: any) => ({ ...span, attributes: plain(span.attributes) })),
      ),
    ),
  );

let home = '';
let tracker: TrackerServer;
let collector: Collector;
beforeAll(async () => {
  home = makeDirectory();
  tracker = await startTracker();
});
beforeEach(async () => {
  collector = await startCollector();
});
afterEach(() => collector.close());

const base = () => ({
  OPSCTL_TRACKER_URL: tracker.mock.origin,
  OPSCTL_TRACKER_TOKEN: TOKEN,
  OTEL_TRACES_EXPORTER: 'otlp',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
});
const run = (line: string, env: Readonly<Record<string, string | undefined>> = {}) =>
  opsctl(line.split(' '), { home, env: { ...base(), ...env } });

describe('a run without traces', () => {
  it.each([
    { OTEL_TRACES_EXPORTER: undefined },
    { OTEL_TRACES_EXPORTER: '' },
    { OTEL_TRACES_EXPORTER: ' none ' },
    { OTEL_SDK_DISABLED: 'True' },
  ])('sends no request and loads no package of OpenTelemetry: %j', async (env) => {
    const before = loads.count;
    expect((await run('tracker labels list', env)).code).toBe(0);
    expect(collector.received).toEqual([]);
    expect(loads.count).toBe(before);
  });
});

describe('spans', () => {
  it('a command and its requests are one trace', async () => {
    const ran = await run('tracker labels list -o name');
    expect(ran.code, ran.stderr).toBe(0);
    expect(collector.received.map(({ url }) => url)).toEqual(['/v1/traces']);
    const spans = spansIn(collector);
    const root = spans.find(({ name }) => name === 'opsctl tracker labels list');
    expect(root?.attributes).toMatchObject({
      'opsctl.command': 'tracker labels list',
      'process.exit.code': 0,
    });
    expect(root?.parentSpanId).toBeUndefined();
    const request = spans.find(({ name }) => name === 'GET');
    expect(request).toMatchObject({ traceId: root?.traceId, parentSpanId: root?.spanId });
    expect(request?.attributes).toMatchObject({
      'http.request.method': 'GET',
      'url.full': `${tracker.base}/labels`,
      'server.address': '127.0.0.1',
      'http.response.status_code': 200,
    });
  });
  it('a failed command has its exit code and its error code, and the failed request its status', async () => {
    const ran = await run('tracker labels get 99999');
    expect(ran.code).toBe(6);
    const spans = spansIn(collector);
    expect(spans.find(({ name }) => name.startsWith('opsctl'))).toMatchObject({
      attributes: { 'process.exit.code': 6, 'error.type': 'NOT_FOUND' },
      status: { code: 2 },
    });
    expect(spans.find(({ name }) => name === 'GET')?.attributes).toMatchObject({ 'error.type': '404' });
  });
  it('the span of the caller is the parent', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await run('tracker labels list', { TRACEPARENT: traceparent });
    const root = spansIn(collector).find(({ name }) => name.startsWith('opsctl'));
    expect(root).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
    });
  });
  it('the lines of a journal become spans of steps', async () => {
    const real = nodeHost({ env: { ...process.env, ...base() }, cwd: home });
    const warnings: string[] = [];
    const surrounding = {
      host: real,
      redactor: makeRedactor(),
      warn: (text: string) => void warnings.push(text),
    };
    const { startTelemetry } = await telemetryModule();
    const telemetry = startTelemetry(surrounding, 'kv upgrade');
    if (telemetry === undefined) throw new Error('no traces');
    const journal = await openLines<StepMark>(
      telemetry.host,
      join(home, 'steps', 'journal.jsonl'),
      (line) => line as StepMark,
    );
    journal.write({ kind: 'begin', step: 'n1.stop' });
    journal.tell({ kind: 'end', step: 'n1.stop' });
    journal.write({ kind: 'begin', step: 'n1.start' });
    journal.tell({ kind: 'failed', step: 'n1.start' });
    journal.write({ kind: 'begin', step: 'n1.gate' });
    journal.close();
    await telemetry.end({ category: 'stopped' });
    expect(warnings).toEqual([]);
    const steps = spansIn(collector).filter(({ name }) => name.startsWith('kv step'));
    expect(steps.map(({ name, status }) => [name, status.code]).sort()).toEqual([
      ['kv step n1.gate', 0],
      ['kv step n1.start', 2],
      ['kv step n1.stop', 0],
    ]);
    const root = spansIn(collector).find(({ name }) => name === 'opsctl kv upgrade');
    expect(new Set(steps.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([root?.spanId]));
    expect(root?.attributes).toMatchObject({ 'process.exit.code': 8 });
  });
  it('a look-up for a prompt exports no trace of its own', async () => {
    const attended = (host: Host): Host => {
      const { stdin, stderr, prompts } = host.terminal;
      const terminal = {
        ...host.terminal,
        stdin: { ...stdin, isTty: true },
        stderr: Object.create(stderr, { isTty: { value: true } }),
        prompts: { ...prompts, select: async () => 'onboarding' },
      };
      return { ...host, terminal };
    };
    const env = { ...base(), CI: '' };
    const ran = await opsctl(['tracker', 'labels', 'get'], { home, env, host: attended });
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain('opsctl tracker labels get onboarding');
    const roots = spansIn(collector).filter(({ parentSpanId }) => parentSpanId === undefined);
    expect(roots.map(({ name }) => name)).toEqual(['opsctl tracker labels get']);
  });
  it('no span contains a secret, an argument or a message', async () => {
    const marks = ['mark-header', 'mark-token', 'mark-query', 'mark-name', 'mark-password'];
    const address = tracker.mock.origin.replace('http://', 'http://user:mark-password@');
    await run('tracker labels create --name mark-name --description mark-name', {
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=mark-header',
    });
    await run('api tracker GET /labels?token=mark-query', { OPSCTL_TRACKER_TOKEN: 'mark-token' });
    await run('tracker labels list', { OPSCTL_TRACKER_URL: address });
    const sent = collector.received.map(({ body }) => body.toString()).join('\n');
    expect(spansIn(collector).length).toBeGreaterThan(3);
    expect(marks.filter((mark) => sent.includes(mark))).toEqual([]);
    expect(collector.received[0]?.headers['x-api-key']).toBe('mark-header');
  });
});

describe('export', () => {
  it('the default protocol is protobuf, and gzip compresses it', async () => {
    await run('tracker labels list', { OTEL_EXPORTER_OTLP_PROTOCOL: undefined });
    await run('tracker labels list', {
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip',
    });
    const [first, second] = collector.received as [Received, Received];
    expect(first.headers['content-type']).toBe('application/x-protobuf');
    expect(first.body.includes('opsctl tracker labels list')).toBe(true);
    expect(second.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(second.body).includes('opsctl tracker labels list')).toBe(true);
  });
  it('the variables of traces win, and their endpoint is used as it is', async () => {
    await run('tracker labels list', {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/custom`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-from=all',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-from=traces,x-more=a%20b',
      OTEL_SERVICE_NAME: 'deploy',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging',
    });
    expect(collector.received[0]).toMatchObject({
      url: '/custom',
      headers: { 'x-from': 'traces', 'x-more': 'a b' },
    });
    const resource = plain(
      JSON.parse(String(collector.received[0]?.body)).resourceSpans[0].resource.attributes,
    );
    expect(resource).toMatchObject({ 'service.name': 'deploy', 'deployment.environment.name': 'staging' });
  });
  it('a response that allows another try gets one', async () => {
    collector.statuses.push(503, 429);
    const ran = await run('tracker labels list');
    expect([ran.code, ran.stderr]).toEqual([0, expect.not.stringContaining('traces')]);
    expect(collector.received).toHaveLength(3);
  });
  it.each<readonly [string, Readonly<Record<string, string>>, readonly number[], string]>([
    ['no collector', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }, [], 'refused'],
    ['a rejected export', {}, [400], 'the collector returned 400'],
    ['a collector that never responds', { OTEL_EXPORTER_OTLP_TIMEOUT: '50' }, [0], 'http://127.0.0.1'],
    [
      'an unknown exporter',
      { OTEL_TRACES_EXPORTER: 'zipkin' },
      [],
      'OTEL_TRACES_EXPORTER must be otlp or none',
    ],
    ['an unsupported protocol', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, [], 'http/protobuf or http/json'],
    [
      'a damaged endpoint',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
      [],
      'OTEL_EXPORTER_OTLP_ENDPOINT',
    ],
    ['damaged headers', { OTEL_EXPORTER_OTLP_HEADERS: 'mark-header' }, [], 'OTEL_EXPORTER_OTLP_HEADERS'],
    [
      'a name that HTTP does not allow for a header',
      { OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x key=mark-header' },
      [],
      'OTEL_EXPORTER_OTLP_TRACES_HEADERS must start with the name of a header',
    ],
    [
      'a header that opsctl writes',
      { OTEL_EXPORTER_OTLP_HEADERS: 'content-length=mark-header' },
      [],
      'OTEL_EXPORTER_OTLP_HEADERS cannot set content-length',
    ],
    ['a line end in a header', { OTEL_EXPORTER_OTLP_HEADERS: 'x-key=mark-header%0Ay' }, [], 'line ends'],
    ['a damaged timeout', { OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' }, [], 'milliseconds'],
    [
      'headers over plain HTTP',
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://192.0.2.1:4318',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-key=mark-header',
      },
      [],
      'not encrypted',
    ],
  ])('%s does not change the result', async (_, env, statuses, reason) => {
    collector.statuses.push(...statuses);
    const good = await run('tracker labels list -o name', env);
    expect(good.code).toBe(0);
    expect(good.stdout).toMatch(/^onboarding$/m);
    expect(good.stderr).toContain('traces were not sent');
    expect(good.stderr).toContain(reason);
    expect(good.stderr).not.toContain('mark-header');
    collector.statuses.push(...statuses);
    const bad = await run('tracker labels get 99999 -o json', env);
    expect(bad.code).toBe(6);
    const error = errorOf(bad);
    expect(error.notes.join('\n')).toContain(reason);
    expect((await run('tracker labels list -q', env)).stderr).toBe('');
  });
});

describe('the end of a command', () => {
  type Machine = {
    readonly request: (request: HttpRequest) => Promise<Pick<HttpReply, 'status' | 'bytes'>>;
    readonly more?: Partial<Host>;
    readonly env?: Readonly<Record<string, string>>;
    readonly clean?: (text: string) => string;
  };
  const reply = (status: number) => ({ status, bytes: async () => new Uint8Array() });
  /** Telemetry whose collector is a function, with the warnings that it prints. */
  const started = async ({ request, more = {}, env = {}, clean }: Machine) => {
    const real = nodeHost({ env: { ...process.env, ...base(), ...env }, cwd: home });
    const network = { ...real.network, request } as Host['network'];
    const warnings: string[] = [];
    const redactor = { ...makeRedactor(), ...(clean === undefined ? {} : { clean }) };
    const { startTelemetry } = await telemetryModule();
    const telemetry = startTelemetry(
      { host: { ...real, network, ...more }, redactor, warn: (text) => void warnings.push(text) },
      'kv upgrade',
    );
    if (telemetry === undefined) throw new Error('no traces');
    return { telemetry, warnings };
  };
  /** Ends as many spans as one batch contains, so that the library sends them during the run. */
  const fillBatch = ({ observeStep }: Host): void => {
    const at = new Date().toISOString();
    for (let count = 0; count < 512; count++)
      for (const kind of ['begin', 'end'] as const) observeStep?.({ kind, step: `s${count}`, at });
  };
  it('waits for the spans that are being sent', async () => {
    const done: string[] = [];
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let count = 0;
    const { telemetry, warnings } = await started({
      request: async () => {
        if (++count === 1) {
          await released;
          done.push('during the run');
        } else {
          done.push('at the end');
          setTimeout(release, 20);
        }
        return reply(200);
      },
    });
    fillBatch(telemetry.host);
    expect(count).toBe(1);
    await telemetry.end({ category: 'done' });
    expect([done, warnings]).toEqual([['at the end', 'during the run'], []]);
  });
  it('warns if the spans that were sent during the run were rejected', async () => {
    const statuses = [400, 200];
    const { telemetry, warnings } = await started({ request: async () => reply(statuses.shift() ?? 0) });
    fillBatch(telemetry.host);
    await telemetry.end({ category: 'done' });
    expect(warnings).toEqual(['traces were not sent: the collector returned 400']);
  });
  it('waits at most for the timeout, even if it is longer than the one of the library', async () => {
    const waits: number[] = [];
    const { telemetry, warnings } = await started({
      request: () => new Promise(() => {}),
      more: { sleep: async (ms) => void waits.push(ms) },
      env: { OTEL_EXPORTER_OTLP_TIMEOUT: '90000' },
    });
    await telemetry.end({ category: 'done' });
    expect(waits).toEqual([90_000]);
    expect(warnings).toEqual([`traces were not sent: ${collector.url} did not accept them within 90000 ms`]);
  });
  it('the timeout spans all tries and the pauses between them', async () => {
    let elapsedMs = 0;
    const timeouts: unknown[] = [];
    const { telemetry, warnings } = await started({
      request: async ({ timeoutMs, connectTimeoutMs }) => {
        timeouts.push([timeoutMs, connectTimeoutMs]);
        elapsedMs += 400;
        return reply(503);
      },
      more: {
        elapsed: () => elapsedMs,
        sleep: (ms) => {
          if (ms === 1000) return new Promise(() => {});
          elapsedMs += ms;
          return Promise.resolve();
        },
      },
      env: { OTEL_EXPORTER_OTLP_TIMEOUT: '1000' },
    });
    await telemetry.end({ category: 'done' });
    expect(timeouts).toEqual([
      [1000, 1000],
      [350, 350],
    ]);
    expect(warnings).toEqual(['traces were not sent: the collector returned 503']);
  });
  it('warns if the library fails', async () => {
    const { telemetry, warnings } = await started({
      request: async () => reply(200),
      clean: () => {
        throw new Error('no redaction');
      },
    });
    await telemetry.end({ category: 'done' });
    expect(warnings).toEqual(['traces were not sent: no redaction']);
  });
});

describe('variables', () => {
  it('the endpoint of all signals gets the path of traces', async () => {
    const { exportTarget } = await telemetryModule();
    const url = (endpoint?: string) =>
      exportTarget({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })?.url;
    expect([url(), url('http://c:4318'), url('https://c/otlp/')]).toEqual([
      'http://localhost:4318/v1/traces',
      'http://c:4318/v1/traces',
      'https://c/otlp/v1/traces',
    ]);
  });
});
