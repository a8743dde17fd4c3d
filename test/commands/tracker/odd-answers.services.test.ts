import { readFileSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { formatNames } from '../../../src/core/format.ts';
import { limits } from '../../../src/core/limits.ts';
import { type Ran, opsctl } from '../../support/program.ts';
import { covers } from '../../support/covers.ts';
import { makeDirectory } from '../../support/directory.ts';
import { errorOf } from '../../support/facts.ts';

type Answer = (request: IncomingMessage, reply: ServerResponse, count: number) => void;
let answer: Answer;
let got: { readonly line: string; readonly token: unknown }[] = [];
let home: string;
const servers: Server[] = [];
const started = async (): Promise<string> => {
  const server = createServer((request, reply) => {
    got.push({ line: `${request.method} ${request.url}`, token: request.headers['tracker-token'] });
    request.resume().once('end', () => answer(request, reply, got.length));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
let base: string;
let elsewhere: string;
beforeAll(async () => {
  home = makeDirectory();
  [base, elsewhere] = [await started(), await started()];
});
beforeEach(() => {
  got = [];
});
afterAll(() => {
  for (const server of servers) server.close();
});
const run = (...argv: string[]): Promise<Ran> =>
  opsctl(['tracker', ...argv], {
    home,
    env: { OPSCTL_TRACKER_URL: base, OPSCTL_TRACKER_TOKEN: 'odd-t0ken', OPSCTL_RATE_PER_MINUTE: 'off' },
  });
const json =
  (body: unknown, status = 200): Answer =>
  (_, reply) =>
    reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const file = (name: string): string => {
  writeFileSync(join(home, name), name);
  return join(home, name);
};

test('a search whose page leads back to itself ends, and so does one without data', async () => {
  answer = json({ stories: { data: [{ id: 1 }], next: '/api/v3/search?next=again', total: 9 } });
  const circle = await run('search', 'x', '--all', '-o', 'ndjson');
  expect([circle.code, circle.stdout, errorOf(circle).code]).toEqual([11, '{"id":1}\n', 'LIST_CHANGED']);
  answer = json({ stories: { total: 0 } });
  expect((await run('search', 'x')).stderr).toContain('the group stories has no list of data');
  answer = json({ stories: { data: [{ id: 1 }], total: 1 } });
  expect([(await run('search', 'x', '-o', 'name')).stdout, got.length]).toEqual(['1\n', 4]);
});

test('the second page of a search may be a sign-in page', async () => {
  answer = (request, reply, count) =>
    count === 1
      ? json({ stories: { data: [{ id: 1 }], next: '/api/v3/search?next=n', total: 2 } })(
          request,
          reply,
          count,
        )
      : reply.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
  const ran = await run('search', 'x', '--all', '-o', 'ndjson');
  expect([ran.code, ran.stderr]).toEqual([11, expect.stringContaining('(text/html)')]);
});

test('pages of epics that repeat stop the list, for any value of next', async () => {
  answer = json({ data: [{ id: 1 }], next: 1, total: 1 });
  expect((await run('epics', 'paginated', '-o', 'ndjson')).stderr).toContain(
    'after page 1 the service names page 1',
  );
  answer = json({ data: [{ id: 1 }], total: 1 });
  expect([(await run('epics', 'paginated', '-o', 'name')).stdout, got.length]).toEqual(['1\n', 2]);
  answer = json({ error: 'weird' });
  expect((await run('epics', 'paginated')).stderr).toContain('has no list of data');
});

test('an upload checks all paths first, and reports finished uploads when the rest fails', async () => {
  const paths = ['a', 'b', 'c', 'd', 'e'].map(file);
  const missing = await run('files', 'upload', ...paths, join(home, 'nope'));
  expect([missing.code, missing.stderr, got]).toEqual([
    2,
    expect.stringContaining('nope does not exist'),
    [],
  ]);
  answer = json({ id: 5, name: 'a' }, 201);
  expect((await run('files', 'upload', paths[0] ?? '', '-o', 'name')).stdout).toBe('5\n');
  got = [];
  answer = (request, reply, count) =>
    json(count === 1 ? [1, 2, 3, 4].map((id) => ({ id })) : { message: 'full' }, count === 1 ? 201 : 422)(
      request,
      reply,
      count,
    );
  const half = await run('files', 'upload', ...paths, '-o', 'json');
  expect(half.code).toBe(9);
  expect(errorOf(half)).toMatchObject({
    message: '4 of 5 files are up, then: POST /files: full',
    data: { files: [{ id: 1 }, {}, {}, { id: 4 }] },
  });
  answer = (_, reply) => reply.writeHead(302, { location: 'https://sign-in.example/' }).end();
  expect((await run('files', 'upload', paths[0] ?? '')).stderr).toContain(
    'redirects to https://sign-in.example/',
  );
});

test('a download follows to where the content is kept; the token stays behind', async () => {
  answer = (request, reply, count) => {
    if (request.url === '/api/v3/files/7')
      return json({ id: 7, filename: 'kept.txt', url: `${base}/content/7` })(request, reply, count);
    if (request.url === '/content/7')
      return reply.writeHead(302, { location: `${elsewhere}/bucket/7?sig=1` }).end();
    return reply.writeHead(200).end('the content');
  };
  const target = join(home, 'down.txt');
  expect((await run('files', 'download', '7', '--to', target)).code).toBe(0);
  expect(readFileSync(target, 'utf8')).toBe('the content');
  expect(got).toEqual([
    { line: 'GET /api/v3/files/7', token: 'odd-t0ken' },
    { line: 'GET /content/7', token: 'odd-t0ken' },
    { line: 'GET /bucket/7?sig=1', token: undefined },
  ]);
  answer = (request, reply, count) => {
    if (request.url === '/api/v3/files/7')
      return json({ id: 7, filename: 'kept.txt', url: `${base}/round` })(request, reply, count);
    return reply.writeHead(302, { location: '/round' }).end();
  };
  const round = await run('files', 'download', '7', '--to', join(home, 'round.txt'));
  expect([round.code, round.stderr]).toEqual([11, expect.stringContaining('more than 5 redirects')]);
});

test.each([
  [{ id: 7, filename: 'x', url: 'http://[' }, 11, 'the url of file 7: "http://["'],
  [{ id: 7, filename: 'x', url: 'javascript:alert(1)' }, 11, '"javascript:alert(1)"'],
  [{ id: 7, filename: 'x', url: 'file:///etc/passwd' }, 11, '"file:///etc/passwd"'],
  [{ id: 7, filename: 'x', url: 5 }, 11, 'GET /5: '],
  [{ id: 7, filename: 'x' }, 6, 'has no content to download'],
])('a file with an invalid URL: %j', covers('defect/D7-2'), async (record, code, words) => {
  answer = (request, reply, count) =>
    request.url === '/api/v3/files/7' ? json(record)(request, reply, count) : reply.writeHead(304).end();
  const ran = await run('files', 'download', '7');
  expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(words)]);
});
test("a redirect that leads nowhere is the network's affair", async () => {
  answer = (request, reply, count) =>
    request.url === '/api/v3/files/7'
      ? json({ id: 7, filename: 'x', url: `${base}/content` })(request, reply, count)
      : reply.writeHead(302, { location: 'http://[' }).end();
  const ran = await run('files', 'download', '7');
  expect([ran.code, ran.stderr]).toEqual([11, expect.stringContaining('GET /content redirects: "http://["')]);
});

test('--limit and a lookup by name stop in an endless list and report it', async () => {
  const rows = '{"id":1,"name":"a"},'.repeat(5_000);
  answer = (_, reply) => {
    reply.writeHead(200, { 'content-type': 'application/json' }).write('[');
    const go = (): void => {
      while (!reply.destroyed && reply.write(rows));
    };
    reply.on('drain', go);
    go();
  };
  const first = await run('labels', 'list', '--limit', '2', '-o', 'name');
  expect([first.code, first.stdout]).toEqual([0, 'a\na\n']);
  expect(first.stderr).toMatch(/2 of more than \d{7} shown; leave --limit out for all/);
  const named = await run('labels', 'get', 'b', '-o', 'json');
  expect([named.code, errorOf(named)]).toEqual([
    11,
    expect.objectContaining({
      code: 'TOO_MANY_ROWS',
      message: `GET /labels: the list has more than ${limits.heldRows} rows`,
    }),
  ]);
});

const BIG = '9007199254740993';
const FRACTION = '0.12345678901234567891';
const repeatedRow = (id: string): string =>
  `{"id":${id},"name":"a","name":"b","entity_type":"label","color":${BIG},"external_id":${FRACTION}}`;
const outputs = [
  ...formatNames.filter((format) => format !== 'name').map((format) => ['-o', format, '--all-fields']),
  ['--jq', 'if type == "array" then .[] else . end | [.id, .color, .external_id, .name]'],
  ['--template', '{{id}} {{color}} {{external_id}} {{name}}'],
  ['-o', 'json', '--columns', 'id,name,color,external_id'],
  ['-o', 'csv', '--columns', 'id,name,color,external_id'],
  [],
];
const places = [
  ['tracker', 'labels', 'list'],
  ['tracker', 'labels', 'get', '5'],
  ['api', 'tracker', 'GET', '/labels'],
  ['api', 'tracker', 'GET', '/labels/5'],
];
test.each(outputs.flatMap((output) => places.map((place) => ({ output, place }))))(
  '$place with $output shows exact numbers and reports repeated keys',
  async ({ output, place }) => {
    answer = ({ url = '' }, reply) => {
      const text = url.endsWith('/5') ? repeatedRow('5') : `[${repeatedRow('5')},${repeatedRow(BIG)}]`;
      reply.writeHead(200, { 'content-type': 'application/json' }).end(text);
    };
    const isTable = output.some((word) => word === 'table' || word === 'wide');
    const given = isTable ? [...output, '--columns', 'id,name,color,external_id'] : output;
    const ran = await opsctl([...place, ...given.filter((word) => !isTable || word !== '--all-fields')], {
      home,
      env: { OPSCTL_TRACKER_URL: base, OPSCTL_TRACKER_TOKEN: 't', OPSCTL_RATE_PER_MINUTE: 'off' },
    });
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stdout).toContain(BIG);
    expect(ran.stdout).toContain(FRACTION);
    if (ran.stdout.includes('"name":"a","name":"b"')) expect(ran.stderr).not.toContain('twice');
    else expect(ran.stderr).toContain('the service returned the key "name" twice in one object');
  },
);
