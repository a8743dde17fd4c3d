import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { type Ran, opsctl } from '../support/program.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';

/** A service with endless pages. */
let server: Server;
let home: string;
let base: string;
let asked = 0;
/** The response to the n-th request. */
let answer: (n: number) => unknown;
beforeAll(async () => {
  home = makeDirectory();
  server = createServer((_, reply) => {
    asked += 1;
    const next = answer(asked);
    reply.writeHead(200, { 'content-type': 'application/json' });
    if (typeof next !== 'function') return reply.end(JSON.stringify(next));
    const drops = setInterval(() => reply.write(next()), 20);
    reply.on('close', () => clearInterval(drops));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
});

const run = (...argv: string[]): Promise<Ran> =>
  opsctl(argv, {
    home,
    env: {
      ...{ OPSCTL_LABELS_URL: base, OPSCTL_LABELS_TOKEN: 't0ken-again' },
      ...{ OPSCTL_TRACKER_URL: base, OPSCTL_TRACKER_TOKEN: 't0ken-again', OPSCTL_RATE_PER_MINUTE: 'off' },
    },
  });

test.each([
  [['labels', 'list', '-o', 'ndjson']],
  [['labels', 'export', '--all']],
  [['api', 'labels', 'GET', '/labels', '--paginate', '-o', 'ndjson']],
])('%j fails when a page token is repeated', covers('defect/D4-1', 'defect/R-5'), async (argv) => {
  asked = 0;
  answer = (n) => ({ labels: [{ id: `l${n}` }], nextPageToken: 'again' });
  const ran = await run(...argv);
  expect([ran.code, asked, ran.stderr]).toEqual([
    11,
    2,
    expect.stringMatching(/ (nextPageToken again|page .*) twice/),
  ]);
});

/** Pages in a cycle of three tokens. */
const round = (member: string) => (n: number) => ({
  [member]: [{ id: `r${n}`, name: `labels/a/x/${n}` }],
  nextPageToken: `t${n % 3}`,
});
test.each([
  ['labels list', ['labels', 'list', '-o', 'ndjson'], round('labels')],
  ['permissions', ['labels', 'permissions', 'list', 'a', '-o', 'ndjson'], round('labelPermissions')],
  ['locks', ['labels', 'locks', 'list', 'a', '-o', 'ndjson'], round('labelLocks')],
  ['api', ['api', 'labels', 'GET', '/labels', '--paginate', '-o', 'ndjson'], round('labels')],
  [
    'api with offset',
    ['api', 'tracker', 'GET', '/groups/g/stories?limit=2', '--paginate', '-o', 'ndjson'],
    () => [{ id: 1 }, { id: 2 }],
  ],
  [
    'stories of a group',
    ['tracker', 'groups', 'stories', '0a0a0a0a-0a0a-4a0a-8a0a-0a0a0a0a0a0a', '-o', 'ndjson'],
    () => Array.from({ length: 1000 }, (_, id) => ({ id })),
  ],
  [
    'search',
    ['tracker', 'search', 'x', '--all', '-o', 'ndjson'],
    (n: number) => ({ stories: { data: [{ id: n }], next: `/api/v3/search?next=${n % 3}`, total: 9 } }),
  ],
])('%s ends when the pages go round in a circle', covers('defect/D4-2'), async (_, argv, pages) => {
  asked = 0;
  answer = pages;
  const ran = await run(...argv);
  expect([ran.code, ran.stderr]).toEqual([11, expect.stringMatching(/GET \/.* twice/)]);
  expect(asked).toBeLessThan(6);
});

test.each([
  ['labels', ['labels', 'list'], (n: number) => ({ labels: [], nextPageToken: `t${n}` })],
  [
    'api',
    ['api', 'labels', 'GET', '/labels', '--paginate'],
    (n: number) => ({ labels: [], nextPageToken: `t${n}` }),
  ],
  ['epics', ['tracker', 'epics', 'paginated'], (n: number) => ({ data: [], next: n + 1, total: 1 })],
])('%s: pages without a row end after a thousand', covers('defect/D4-3'), async (_, argv, pages) => {
  asked = 0;
  answer = pages;
  const ran = await run(...argv, '-o', 'ndjson');
  expect([ran.code, ran.stderr, asked]).toEqual([
    11,
    expect.stringContaining(`${limits.emptyPages + 1} pages without a row`),
    limits.emptyPages + 1,
  ]);
});

test.each([
  [{ labels: [{ id: 'a' }], nextPageToken: null }, 0, /^$/],
  [{ labels: null }, 0, /^$/],
  [{ labels: [{ id: 'a' }], nextPageToken: { a: 1 } }, 11, /nextPageToken/],
  [{ labels: 5 }, 11, /`labels` is not a list/],
  [{ labels: [null] }, 11, /`labels\[0\]` is not an object/],
])('the body %j is not mistaken for a page', covers('defect/D4-4'), async (page, code, words) => {
  answer = () => page;
  const ran = await run('labels', 'list', '-o', 'ndjson');
  expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(words)]);
});

test.each([
  ['an object', ['api', 'labels', 'GET', '/labels'], '{"a":"'],
  ['blanks', ['api', 'labels', 'GET', '/labels'], ' '],
  ['an object in place of a list', ['tracker', 'labels', 'list'], '{"a":"'],
])(
  'an endless response to %s is aborted, even if bytes keep arriving',
  covers('defect/D11-2'),
  async (_, argv, first) => {
    let text = first;
    const drop = (): string => {
      const [byte = ''] = text;
      text = text.length > 1 ? text.slice(1) : first.at(-1) === ' ' ? ' ' : 'x';
      return byte;
    };
    answer = () => drop;
    const ran = await run(...argv, '--timeout', '200ms');
    expect([ran.code, ran.stderr]).toEqual([11, expect.stringContaining('2 s')]);
  },
);
