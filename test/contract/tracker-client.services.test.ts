/** What the client sends to a tracker and accepts from it (`docs/spec/tracker.md`), against a server that only the test defines. */
import { writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { openApi, swagger } from '../../src/reference/openapi.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { type Ran, opsctl } from '../support/program.ts';
import { TOKEN, startTracker } from '../support/tracker-server.ts';
import { makeDirectory } from '../support/directory.ts';
import { covers } from '../support/covers.ts';
import { errorOf } from '../support/facts.ts';

type Seen = { readonly method: string; readonly url: string; readonly headers: IncomingHttpHeaders };
/** Starts a server that returns the same response to every request and records the requests. */
const startRecorder = async (status: number, body: unknown) => {
  const seen: Seen[] = [];
  const http = createServer((request, response) => {
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { seen, origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
};
const run = (origin: string, ...argv: string[]): Promise<Ran> =>
  opsctl(['tracker', ...argv], {
    home: makeDirectory(),
    env: { OPSCTL_TRACKER_URL: origin, OPSCTL_TRACKER_TOKEN: TOKEN, OPSCTL_RATE_PER_MINUTE: 'off' },
  });
/** Returns a document as a client receives it. */
const asSent = (document: unknown) => JSON.parse(JSON.stringify(document));
const label = {
  app_url: 'https://x.example/label/1',
  archived: false,
  color: null,
  created_at: '2026-03-05T10:00:00Z',
  description: null,
  entity_type: 'label',
  external_id: null,
  id: 1,
  name: 'bug',
  updated_at: '2026-03-05T10:00:00Z',
};

test(
  'every request has the token in its header and the content type application/json',
  covers('spec/tracker#authentication-6', 'spec/tracker#authentication-1', 'spec/tracker#every-endpoint-1'),
  async () => {
    const { seen, origin } = await startRecorder(201, label);
    expect((await run(origin, 'labels', 'create', '--name', 'bug')).code).toBe(0);
    const lists = await startRecorder(200, [label]);
    expect((await run(lists.origin, 'labels', 'list')).code).toBe(0);
    const requests = [...seen, ...lists.seen];
    expect(requests.map(({ method, url }) => `${method} ${url.split('?')[0]}`)).toEqual([
      'POST /api/v3/labels',
      'GET /api/v3/labels',
    ]);
    for (const { url, headers } of requests) {
      expect([headers['tracker-token'], headers['content-type']]).toEqual([TOKEN, 'application/json']);
      expect(url).not.toContain('token=');
    }
  },
);

test('the client ignores unknown fields of a response', covers('spec/tracker#versions-1'), async () => {
  const { seen, origin } = await startRecorder(200, { ...label, added_later: { by: 'the service' } });
  const read = await run(origin, 'labels', 'get', '1', '-o', 'json');
  expect([read.code, read.json().name]).toEqual([0, 'bug']);
  expect(seen[0]?.url).toMatch(/^\/api\/v3\/labels\/1/);
});

test.each(['http://tracker.example', 'http://10.0.0.1:8080'])(
  'plain HTTP to %s is refused before a request',
  covers('spec/tracker#authentication-4'),
  async (url) => {
    const refused = await run(url, 'labels', 'list', '-o', 'json');
    expect([refused.code, errorOf(refused).code]).toEqual([3, 'PLAIN_HTTP']);
  },
);
test('plain HTTP is accepted on loopback', covers('spec/tracker#authentication-4'), async () => {
  const { origin } = await startRecorder(200, [label]);
  expect((await run(origin, 'labels', 'list')).code).toBe(0);
});

test(
  'a base URL of version 2 is refused, and the error names the current one',
  covers('spec/tracker#versions-4'),
  async () => {
    const { seen, origin } = await startRecorder(200, [label]);
    const refused = await run(`${origin}/api/v2`, 'labels', 'list', '-o', 'json');
    const error = errorOf(refused);
    expect([refused.code, error.code, seen]).toEqual([3, 'PREVIOUS_API_VERSION', []]);
    expect(JSON.stringify(error)).toContain('/api/v3');
  },
);

test(
  'the service is described as OpenAPI and as Swagger, with the same paths',
  covers('spec/tracker#versions-2'),
  async () => {
    const documents = [openApi(tracker, 'http://127.0.0.1:1'), swagger(tracker, '127.0.0.1:1')].map(asSent);
    expect([documents[0].openapi, documents[1].swagger]).toEqual([expect.stringMatching(/^3\./), '2.0']);
    for (const { paths } of documents)
      expect(Object.keys(paths['/labels/{label-public-id}']).sort()).toEqual(['delete', 'get', 'put']);
    expect(Object.keys(documents[1].paths).sort()).toEqual(Object.keys(documents[0].paths).sort());
  },
);

test.each<[string, string, readonly string[] | undefined]>([
  ['Member', 'state', ['full', 'partial', 'disabled', 'imported']],
  ['Member', 'role', undefined],
  ['KeyResult', 'type', ['boolean', 'numeric', 'percent']],
])(
  'the description of %s.%s lists its closed set',
  covers('spec/tracker#enums-2', 'spec/tracker#enums-3'),
  (record, field, values) => {
    const { schemas } = asSent(openApi(tracker, 'http://127.0.0.1:1')).components;
    const { type, enum: listed } = schemas[record].properties[field];
    expect([type, listed === undefined ? undefined : [...listed].sort()]).toEqual([
      'string',
      values === undefined ? undefined : [...values].sort(),
    ]);
  },
);

test(
  'a workspace file contains no webhooks, stories or uploaded files',
  covers('spec/tracker#choices-13'),
  async () => {
    const server = await startTracker();
    const form = new FormData();
    form.set('file0', new Blob(['bytes']), 'upload.txt');
    await server.ask('POST', '/files', form);
    await server.ask('POST', '/integrations/webhook', { webhook_url: 'http://127.0.0.1:9/hook' });
    const { origin } = new URL(server.base);
    const exported = await run(origin, 'export');
    expect(exported.code).toBe(0);
    expect(Object.keys(parse(exported.stdout))).toEqual(expect.arrayContaining(['labels', 'epics']));
    for (const text of ['upload.txt', '127.0.0.1:9', 'Welcome e-mail arrives twice'])
      expect(exported.stdout).not.toContain(text);
    const path = join(makeDirectory(), 'workspace.yaml');
    for (const kind of ['webhooks', 'stories', 'files']) {
      writeFileSync(path, `${kind}: []\n`);
      const refused = await run(origin, 'diff', '-f', path, '-o', 'json');
      expect([kind, refused.code]).toEqual([kind, 2]);
    }
  },
);
