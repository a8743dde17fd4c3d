import { type IncomingHttpHeaders, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { covers } from '../support/covers.ts';

/** A deployment whose names differ from the documents. It supports only these requests and returns literals. */
const answers: Readonly<Record<string, unknown>> = {
  'GET /rest/9/labels': [{ id: 1, name: 'bug', color: null, archived: false }],
  'GET /rest/9/epics/7': { id: 7, name: 'Q4', acmeplan_id: null, acmeplan_url: 'https://plan.example.com/7' },
  'POST /rest/9/epics/7/unlink-acmeplan': { id: 7, acmeplan_id: null },
  'GET /rest/9/search/more': { hello: true },
};
let got: { line: string; headers: IncomingHttpHeaders }[] = [];
let server: Server;
let opsctl: Program;
let url: string;

beforeAll(async () => {
  server = createServer((request, reply) => {
    const line = `${request.method} ${request.url}`;
    got.push({ line, headers: request.headers });
    const answer = answers[line];
    reply
      .writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer ?? { message: 'no' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  opsctl = program({ OPSCTL_TRACKER_TOKEN: 'deployed-tok3n', OPSCTL_TRACKER_TOKEN_HEADER: 'X-Acme-Token' });
  for (const [key, value] of [
    ['tracker.url', url],
    ['tracker.base_path', 'rest/9/'],
    ['tracker.planning_word', 'acmeplan'],
  ] as const) {
    const { code, stderr } = await opsctl.run(['config', 'set', key, value, '--profile', 'work']);
    if (code !== 0) throw new Error(stderr);
  }
});
beforeEach(() => {
  got = [];
});
afterAll(() => {
  server.close();
});
const json = (args: readonly string[]) => opsctl.json([...args, '--profile', 'work']);

test(
  'path prefix and header name of the profile are used',
  covers('setting/tracker.base_path', 'spec/program#settings-6'),
  async () => {
    expect(await json(['tracker', 'labels', 'list'])).toEqual(answers['GET /rest/9/labels']);
    expect(got.map(({ line, headers }) => [line, headers['x-acme-token'], headers['tracker-token']])).toEqual(
      [['GET /rest/9/labels', 'deployed-tok3n', undefined]],
    );
  },
);

test(
  "the deployment's term for the planning tool is read as the documented term",
  covers('spec/program#settings-6'),
  async () => {
    expect(await json(['tracker', 'epics', 'get', '7'])).toEqual({
      id: 7,
      name: 'Q4',
      planningtool_id: null,
      planningtool_url: 'https://plan.example.com/7',
    });
  },
);

test(
  "the deployment's term is in the path of a request",
  covers('setting/tracker.planning_word', 'spec/program#settings-6'),
  async () => {
    await json(['tracker', 'epics', 'unlink-planningtool', '7', '--yes']);
    expect(got.map(({ line }) => line)).toEqual(['POST /rest/9/epics/7/unlink-acmeplan']);
    const shown = await json(['tracker', 'epics', 'unlink-planningtool', '7', '--dry-run']);
    expect(shown.url).toBe(`${url}/rest/9/epics/7/unlink-acmeplan`);
    expect(shown.headers['x-acme-token']).toBe('***');
  },
);

test.each(['/search/more', '/rest/9/search/more'])(
  'a raw request may leave the prefix out: %s',
  async (path) => {
    expect(await json(['api', 'tracker', 'GET', path])).toEqual({ hello: true });
  },
);
