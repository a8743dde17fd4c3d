import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Bound, type Exchange, casesFrom, differences, filled } from '../support/exchanges.ts';
import { type LabelServer, labelServer } from '../support/labels-server.ts';

// Written only from docs/spec/labels.md, by a different author than the operation rows and labels-exchanges.
// Two short forms in addition to the forms of casesFrom: `200= {…}` allows no other keys ("*" for any value), and
// `400 NAME path, path` is the whole error body of that status: these violations in this order; `~text` is text somewhere in it.
// `4xx path` accepts 400 or 404 for an unknown part of a label, because the documents do not specify the status.
const HTTP_OF: Record<string, number> = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
};
const directory = new URL('./labels-second-hand/', import.meta.url);
const longForm = (line: string): string => {
  const exact = /^(\d{3})= (.*)$/.exec(line);
  if (exact) return `${exact[1]} {"exactly":${exact[2]}}`;
  const either = /^4xx (.*)$/.exec(line);
  if (either) return `499 ${JSON.stringify({ names: either[1] })}`;
  const refusal = /^(\d{3}) ([A-Z_]+)(?: (.*))?$/.exec(line);
  return refusal ? `${refusal[1]} ${JSON.stringify({ refusal: refusal[2], names: refusal[3] ?? '' })}` : line;
};
const textOf = (file: string): string =>
  readFileSync(new URL(file, directory), 'utf8').split('\n').map(longForm).join('\n');
const files = readdirSync(directory).map((file) => ({ file, cases: casesFrom(textOf(file)) }));

type Reply = Awaited<ReturnType<LabelServer['send']>>;
const members = (value: unknown, path = ''): string[] =>
  typeof value !== 'object' || value === null
    ? [path]
    : [path, ...Object.entries(value).flatMap(([key, inner]) => members(inner, `${path}.${key}`))];

const wrongRefusal = (reply: Reply, { refusal, names }: { refusal?: string; names: string }): string[] => {
  const error = reply.json?.error ?? {};
  const details: any[] = error.details ?? [];
  const bad = details.find((one) => String(one['@type']).endsWith('/google.rpc.BadRequest'));
  const paths = (bad?.fieldViolations ?? []).map((one: any) => one.field);
  const wanted = names.startsWith('~') || names === '' ? [] : names.split(', ');
  const found = [
    error.code === reply.status ? '' : `error.code is ${error.code}`,
    typeof error.message === 'string' && error.message !== '' ? '' : 'no message',
    refusal === undefined || error.status === refusal ? '' : `error.status is ${error.status}`,
    Object.keys(reply.json ?? {}).join() === 'error' ? '' : 'members beside error',
    Object.keys(error).every((key) => ['code', 'message', 'status', 'details', 'errors'].includes(key))
      ? ''
      : 'unknown members of error',
    reply.headers.get('content-type') === 'application/json; charset=UTF-8'
      ? ''
      : `content-type ${reply.headers.get('content-type')}`,
    wanted.length === 0 || wanted.join() === paths.join() ? '' : `violations at ${paths.join() || 'nothing'}`,
    !names.startsWith('~') || JSON.stringify(error).replaceAll('\\"', '"').includes(names.slice(1))
      ? ''
      : `nothing says ${names.slice(1)}`,
    reply.status !== 401 || /^Bearer/.test(reply.headers.get('www-authenticate') ?? '')
      ? ''
      : 'no WWW-Authenticate',
  ].filter((one) => one !== '');
  return found.length === 0 ? [] : [...found, reply.text];
};
const wrongWith = (reply: Reply, expected: any, bound: Bound): string[] => {
  if (expected?.names !== undefined)
    return wrongRefusal(reply, { ...expected, names: filled(expected.names, bound) });
  const literal = expected?.exactly ?? expected ?? {};
  const wrong = differences(reply.json, literal, bound);
  const surplus =
    expected?.exactly === undefined
      ? []
      : members(reply.json).filter((path) => !members(literal).includes(path));
  return [
    ...wrong,
    ...surplus.map((path) => `${path} was not expected`),
    ...(wrong.length + surplus.length === 0 ? [] : [reply.text]),
  ];
};
const statusHolds = (expected: number, status: number): boolean =>
  expected === 499 ? status === 400 || status === 404 : expected === status;

const run = async (server: LabelServer, exchange: Exchange, bound: Bound): Promise<string[]> => {
  const body = exchange.body === undefined ? undefined : filled(exchange.body, bound);
  const reply = await server.send(exchange.method, filled(exchange.path, bound), body, exchange.headers);
  const wrong = statusHolds(exchange.status, reply.status)
    ? wrongWith(reply, exchange.expected, bound)
    : [`status ${reply.status} instead of ${exchange.status}: ${reply.text}`];
  return wrong.length === 0
    ? []
    : [`${exchange.line} ${exchange.method} ${filled(exchange.path, bound)} ${body ?? ''}`, ...wrong];
};

// source: harness
test('there are at least 300 exchanges, and every refusal has the status of its name', () => {
  const exchanges = files.flatMap(({ cases }) => cases.flatMap((one) => one.exchanges));
  expect(exchanges.length).toBeGreaterThanOrEqual(300);
  for (const { status, expected } of exchanges) {
    const { refusal } = (expected ?? {}) as { refusal?: string };
    if (refusal !== undefined) expect(`${refusal} ${status}`).toBe(`${refusal} ${HTTP_OF[refusal]}`);
  }
});

for (const { file, cases } of files) {
  describe(file, () => {
    test.each(cases)('$title', async ({ options, exchanges }) => {
      const server = await labelServer(options as Parameters<typeof labelServer>[0]);
      const bound: Bound = new Map();
      try {
        const wrong: string[] = [];
        for (const exchange of exchanges) wrong.push(...(await run(server, exchange, bound)));
        expect(wrong).toEqual([]);
      } finally {
        await server.close();
      }
    });
  });
}

// spec/labels#limits: what is not published is chosen, returned by the read, and exactly that is enforced.
// source: document, choice
describe('every limit of the read holds at n and not at n + 1', () => {
  const long = (n: number): string => 'ä'.repeat(n);
  const choices = (n: number) =>
    Array.from({ length: n }, (_, i) => ({ id: `c${i}`, properties: { displayName: `c${i}` } }));
  const selection = (choice: object, more: object = {}) => ({
    fields: [{ properties: { displayName: 's' }, selectionOptions: { ...more, choices: [choice] } }],
  });
  const named = { properties: { displayName: 'c' } };
  test.each<[string, (n: number) => object]>([
    ['maxTitleLength', (n) => ({ properties: { title: long(n) } })],
    ['maxDescriptionLength', (n) => ({ properties: { title: 't', description: long(n) } })],
    [
      'maxFields',
      (n) => ({
        fields: Array.from({ length: n }, (_, i) => ({
          properties: { displayName: `f${i}` },
          textOptions: {},
        })),
      }),
    ],
    [
      'fieldLimits.maxDisplayNameLength',
      (n) => ({ fields: [{ properties: { displayName: long(n) }, textOptions: {} }] }),
    ],
    [
      'fieldLimits.selectionLimits.maxChoices',
      (n) => ({ fields: [{ properties: { displayName: 's' }, selectionOptions: { choices: choices(n) } }] }),
    ],
    [
      'fieldLimits.selectionLimits.maxDisplayNameLength',
      (n) => selection({ properties: { displayName: long(n) } }),
    ],
    ['fieldLimits.selectionLimits.maxIdLength', (n) => selection({ id: 'i'.repeat(n), ...named })],
    [
      'fieldLimits.selectionLimits.listLimits.maxEntries',
      (n) => selection(named, { listOptions: { maxEntries: n } }),
    ],
    [
      'fieldLimits.userLimits.listLimits.maxEntries',
      (n) => ({
        fields: [{ properties: { displayName: 'u' }, userOptions: { listOptions: { maxEntries: n } } }],
      }),
    ],
  ])('%s', async (path, body) => {
    const server = await labelServer();
    try {
      const limits = (await server.send('GET', '/limits/label')).json;
      const limit = path.split('.').reduce((value, name) => value[name], limits);
      const create = (n: number) =>
        server.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 't' }, ...body(n) });
      expect(limit).toBeGreaterThan(0);
      expect((await create(limit)).status).toBe(200);
      const refused = await create(limit + 1);
      expect([refused.status, refused.json.error.status]).toEqual([400, 'INVALID_ARGUMENT']);
      expect((await server.send('GET', '/labels')).json.labels).toHaveLength(1);
    } finally {
      await server.close();
    }
  });
});
