import { type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';

/** A server that answers as servers do on a bad day. */
let answer: (reply: ServerResponse, count: number) => void;
let got: string[] = [];
let server: Server;
let opsctl: Program;
beforeAll(async () => {
  server = createServer((request, reply) => {
    got.push(`${request.method} ${request.url}`);
    answer(reply, got.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  opsctl = program({ OPSCTL_TRACKER_URL: url, OPSCTL_TRACKER_TOKEN: 'bad-day-tok3n' });
});
beforeEach(() => {
  got = [];
});
afterAll(async () => {
  await opsctl.close();
  server.close();
});
const json = { 'content-type': 'application/json' };
const cut = (reply: ServerResponse): void => {
  reply.writeHead(200, { ...json, 'content-length': '100' });
  reply.write('[{"id":1', () => reply.destroy());
};

test('a read whose answer breaks off is asked for again; a write is not', async () => {
  answer = (reply, count) => (count === 1 ? cut(reply) : reply.writeHead(200, json).end('[{"id":7,"name":"bug"}]'));
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
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([11, '', expect.stringContaining('GET /api/v3/labels: the answer (200) is empty')]);
});

test('an error names the record that was asked for; a page instead of JSON points at the base URL', async () => {
  answer = (reply) => reply.writeHead(404, json).end('{"message":"Resource not found."}');
  const gone = await opsctl.run(['tracker', 'labels', 'get', '4711']);
  expect([gone.code, gone.stderr]).toEqual([6, expect.stringContaining('GET /api/v3/labels/4711: Resource not found.')]);
  answer = (reply) => reply.writeHead(404, { 'content-type': 'text/html' }).end('<html>nothing here</html>');
  const page = await opsctl.run(['tracker', 'labels', 'list']);
  expect([page.code, page.stderr]).toEqual([6, expect.stringContaining('check the base URL')]);
});

test.each(['bulk', 'diff', 'apply'])('tracker %s without its file says so, and nothing is sent', async (verb) => {
  const ran = await opsctl.run(['tracker', verb]);
  expect([ran.code, ran.stderr, got]).toEqual([2, expect.stringContaining('--file is required'), []]);
});
