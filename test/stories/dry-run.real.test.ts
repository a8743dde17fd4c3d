import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';

type Seen = {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, unknown>;
  readonly body: string;
};
let opsctl: Program;
let server: Server;
let url: string;
const seen: Seen[] = [];

beforeAll(async () => {
  opsctl = await program();
  server = createServer(async (request, reply) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    const isList = request.method === 'GET' || request.url?.endsWith('/search');
    const id = Number(/\/(\d+)$/.exec(request.url ?? '')?.[1] ?? 1);
    reply
      .setHeader('content-type', 'application/json')
      .end(isList ? '[]' : JSON.stringify({ id, name: 'x' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
});

/** Headers that belong to the connection, not to the request. */
const TRANSPORT = ['host', 'connection', 'content-length', 'keep-alive', 'transfer-encoding'];
const own = (headers: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !TRANSPORT.includes(name.toLowerCase())));
const lower = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

test.each<[string[]]>([
  [['labels', 'create', '--name', "it's", '--color', '#112233']],
  [['labels', 'update', '7', '--unset', 'color', '--description', 'ünï']],
  [['labels', 'list', '--slim', 'true']],
  [['labels', 'delete', '7', '--yes']],
  [
    [
      'epics',
      'create',
      '--name',
      'e',
      '--objective-ids',
      '1,2',
      '--labels',
      '[{"name":"bug"}]',
      '--create-labels',
    ],
  ],
  [['stories', 'search', '--epic-ids', '3']],
])('a dry run of tracker %j is the request that the server gets', async (args) => {
  const env = { OPSCTL_TRACKER_URL: url, OPSCTL_TRACKER_TOKEN: 'secret-token-1' };
  seen.length = 0;
  const shown = await opsctl.json(['tracker', ...args, '--dry-run'], { env });
  expect(seen).toEqual([]);
  const ran = await opsctl.run(['tracker', ...args], { env });
  expect(ran.code, ran.stderr).toBe(0);
  // opsctl reads the values before a change replaces them, for opsctl undo.
  const got = seen.at(-1);
  expect(seen.slice(0, -1).filter(({ method }) => method !== 'GET')).toEqual([]);
  expect([shown.method, shown.url]).toEqual([got?.method, `${url}${got?.url}`]);
  expect(shown.body).toEqual(got?.body === '' ? undefined : JSON.parse(got?.body ?? ''));
  const sent = own(got?.headers ?? {});
  expect(sent['tracker-token']).toBe('secret-token-1');
  expect(lower(shown.headers)).toEqual({ ...sent, 'tracker-token': '***' });
  expect(JSON.stringify(shown)).not.toContain('secret-token-1');
});

test('the curl line of a dry run makes the same request', async () => {
  const { execFileSync } = await import('node:child_process');
  const env = { OPSCTL_TRACKER_URL: url, OPSCTL_TRACKER_TOKEN: 'secret-token-1' };
  const shown = await opsctl.json(['tracker', 'labels', 'create', '--name', "it's $HOME `x`", '--dry-run'], {
    env,
  });
  // A shell parses the line as if a user had pasted it. The test only checks the arguments.
  const words = execFileSync('sh', ['-c', `set -- ${shown.curl}; printf '%s\\n' "$@"`], {
    encoding: 'utf8',
  }).split('\n');
  expect(words.slice(0, 4)).toEqual(['curl', '-X', 'POST', `${url}/api/v3/labels`]);
  expect(words[words.indexOf('--data-raw') + 1]).toBe('{"name":"it\'s $HOME `x`"}');
});
