import { type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { errorOf } from '../support/facts.ts';

/** A server that returns faulty responses. */
let answer: (reply: ServerResponse, count: number) => void;
let got: string[] = [];
let server: Server;
let opsctl: Program;
let base: string;
beforeAll(async () => {
  server = createServer((request, reply) => {
    got.push(`${request.method} ${request.url}`);
    answer(reply, got.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  opsctl = program({ OPSCTL_TRACKER_URL: base, OPSCTL_TRACKER_TOKEN: 'bad-day-tok3n' });
});
beforeEach(() => {
  got = [];
});
afterAll(() => {
  server.close();
});
const json = { 'content-type': 'application/json' };
const cut = (reply: ServerResponse): void => {
  reply.writeHead(200, { ...json, 'content-length': '100' });
  reply.write('[{"id":1', () => reply.destroy());
};

test('an interrupted read is repeated; an interrupted write is not', async () => {
  answer = (reply, count) =>
    count === 1 ? cut(reply) : reply.writeHead(200, json).end('[{"id":7,"name":"bug"}]');
  expect(await opsctl.json(['tracker', 'labels', 'list'])).toEqual([{ id: 7, name: 'bug' }]);
  expect(got).toHaveLength(2);
  got = [];
  answer = cut;
  expect((await opsctl.run(['tracker', 'labels', 'create', '--name', 'x'])).code).toBe(11);
  expect(got).toEqual(['POST /api/v3/labels']);
});

test('a list that comes back empty of everything is an error, not a success without rows', async () => {
  answer = (reply) => reply.writeHead(200).end();
  const ran = await opsctl.run(['tracker', 'labels', 'list']);
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([
    11,
    '',
    expect.stringMatching(/GET \/api\/v3\/labels: .*\(200\)/),
  ]);
});

test('an error names the requested record; a page instead of JSON suggests the base URL', async () => {
  answer = (reply) => reply.writeHead(404, json).end('{"message":"Resource not found."}');
  const gone = await opsctl.run(['tracker', 'labels', 'get', '4711']);
  expect([gone.code, gone.stderr]).toEqual([
    6,
    expect.stringContaining('GET /api/v3/labels/4711: Resource not found.'),
  ]);
  answer = (reply) => reply.writeHead(404, { 'content-type': 'text/html' }).end('<html>nothing here</html>');
  const page = await opsctl.run(['tracker', 'labels', 'list']);
  expect([page.code, page.stderr]).toEqual([6, expect.stringContaining('check the base URL')]);
});

test.each(['bulk', 'diff', 'apply'])(
  'tracker %s without its file reports that, and sends no request',
  async (verb) => {
    const ran = await opsctl.run(['tracker', verb]);
    expect([ran.code, ran.stderr, got]).toEqual([2, expect.stringMatching(/--file .*required/), []]);
  },
);

const reply = (status: number, body: unknown) => {
  answer = (to) => to.writeHead(status, json).end(JSON.stringify(body));
};

test('an error has a hint; JSON of another shape is not a success', async () => {
  reply(401, { message: 'Unauthorized', tag: 'unauthorized' });
  const refused = await opsctl.run(['tracker', 'labels', 'get', '4711']);
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('OPSCTL_TRACKER_TOKEN=…')]);
  const raw = await opsctl.run(['api', 'tracker', 'GET', '/labels', '-o', 'json']);
  expect([raw.code, errorOf(raw).hint]).toEqual([4, expect.stringContaining('OPSCTL_TRACKER_TOKEN=…')]);
  reply(200, { error: 'weird' });
  const ran = await opsctl.run(['tracker', 'labels', 'list']);
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([
    11,
    '',
    expect.stringMatching(/GET \/api\/v3\/labels: .* an object, not the list/),
  ]);
});

test('api takes a whole address below the base URL, and sends the token nowhere else', async () => {
  reply(200, []);
  expect((await opsctl.run(['api', 'tracker', 'GET', `${base}/api/v3/labels`])).code).toBe(0);
  expect(got).toEqual(['GET /api/v3/labels']);
  const elsewhere = await opsctl.run(['api', 'tracker', 'GET', 'http://127.0.0.1:9/api/v3/labels']);
  expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining(`below ${base}`)]);
});

test.each<[NodeJS.Signals, number]>([
  ['SIGINT', 130],
  ['SIGTERM', 143],
])('%s during a request exits with code %i', async (signal, code) => {
  let waiting: ServerResponse | undefined;
  const asked = new Promise<void>((resolve) => {
    answer = (to) => {
      waiting = to;
      resolve();
    };
  });
  const running = opsctl.start(['tracker', 'labels', 'create', '--name', `x of ${signal}`]);
  await asked;
  running.kill(signal);
  expect(await running.ended).toMatchObject({ code, signal: null, stdout: '' });
  waiting?.destroy();
});
