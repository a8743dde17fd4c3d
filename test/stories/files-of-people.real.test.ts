/**
 * Files as people, spreadsheets and other tools write them, given to the built program next to the mock server. Each row states
 * the exit code, the code of the error, and every change that reached the service: a file with two meanings changes nothing.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { program } from '../support/built-program.ts';

type Files = Readonly<Record<string, string | Uint8Array>>;
type Sent = readonly [method: string, path: string, body?: unknown];
type Step = {
  /** The command line after `opsctl`; a list where a word has spaces. */
  readonly run: string | readonly string[];
  readonly exit?: number;
  /** The code of the error, or of the first row that failed. */
  readonly code?: string;
  readonly category?: string;
  /** Values that the error or the failed rows contain: the text of the file, its line, the next command. */
  readonly names?: readonly string[];
  /** Everything that was sent and changes a record, in any order. */
  readonly sent?: readonly Sent[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Values of stdout. */
  readonly shows?: readonly string[];
};
type Scene = { readonly files?: Files; readonly steps: readonly Step[] };
const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const notUtf8 = (run: string): Step => ({ run, exit: 2, code: 'NOT_UTF8', names: ['iconv'] });
const epic = (body: object): Sent => ['POST', '/api/v3/epics', body];
const label = (body: object): Sent => ['POST', '/api/v3/labels', body];
const createEpics = 'tracker bulk -f a.csv --resource epics --op create --create-labels';
const none = { OPSCTL_TRACKER_URL: undefined, OPSCTL_TRACKER_TOKEN: undefined };

const scenes: Readonly<Record<string, Scene>> = {
  'repeated columns of a list are joined': {
    files: { 'a.csv': 'name,labels,labels,labels\nFirst,alpha,beta,\n' },
    steps: [
      { run: createEpics, sent: [epic({ name: 'First', labels: [{ name: 'alpha' }, { name: 'beta' }] })] },
    ],
  },
  'a repeated column, key or flag of one value is refused': {
    files: { 'a.csv': 'name,description,name\nA,b,C\n', 'r.ndjson': '{"name":"1","n\\u0061me":"2"}\n' },
    steps: [
      { run: createEpics, exit: 2, code: 'MALFORMED_CSV', names: ['column 3 repeats', '"line":1'] },
      {
        run: 'tracker bulk -f r.ndjson --resource labels --op create',
        exit: 2,
        code: 'INVALID_ROW',
        names: ['given twice'],
      },
      { run: 'tracker labels create --name a --name b', exit: 2, code: 'USAGE', names: ['given 2 times'] },
    ],
  },
  'bytes that are not UTF-8 are refused in each format': {
    files: {
      'a.csv': latin1('name,description\ncaf\xe9,d\xfcr\n'),
      'a.ndjson': latin1('{"op":"create","resource":"labels","name":"caf\xe9"}\n'),
      'a.yaml': latin1('title: Caf\xe9\nstate: published\n'),
      'w.yaml': latin1('labels:\n  - name: caf\xe9\n'),
      'u.csv': Buffer.from('\uFEFFname\tcolor\r\na\t\r\n', 'utf16le'),
    },
    steps: [
      notUtf8('tracker bulk -f a.csv --resource labels --op create'),
      notUtf8('tracker bulk -f a.ndjson'),
      notUtf8('labels validate -f a.yaml'),
      notUtf8('labels apply -f a.yaml'),
      { run: 'tracker diff -f w.yaml', exit: 2, code: 'USAGE', names: ['iconv', 'w.yaml'] },
      notUtf8('tracker sync -f u.csv --resource labels'),
    ],
  },
  'a scalar of YAML that reads otherwise is refused with its source': {
    files: {
      'l.yaml':
        'title: 0042\nfields:\n  - name: 007\n    type: text\n  - name: L\n    type: selection\n    choices: [010, 1e3, 0x1F, 5319e7, 1.10]\n',
      'w.yaml': 'labels:\n  - name: 007\n  - name: 5319e7\n    color: 5319e7\n',
    },
    steps: [
      ...['labels apply -f l.yaml', 'labels validate -f l.yaml'].map((run) => ({
        ...{ run, exit: 2, code: 'USAGE' },
        names: ['0042', '007', '010', '1e3', '0x1F', '5319e7', '1.10', '"line":3'],
      })),
      { run: 'tracker diff -f w.yaml', exit: 2, code: 'USAGE', names: ['007', '5319e7', '"line":2'] },
    ],
  },
  'digits with leading zeros are a name': {
    steps: [
      { run: 'tracker labels create --name victim', sent: [label({ name: 'victim' })] },
      { run: 'tracker labels create --name 0112', sent: [label({ name: '0112' })] },
      { run: 'tracker labels delete 0112 --yes', sent: [['DELETE', '/api/v3/labels/113']], names: ['113'] },
      { run: 'tracker labels get victim', shows: ['"id":112'] },
      { run: 'tracker labels delete 007 --yes', exit: 6, code: 'NO_SUCH_NAME', names: ['007'] },
    ],
  },
  'an empty variable, and a job of CI without a service, change nothing': {
    steps: [
      {
        run: 'tracker labels create --name x',
        env: { OPSCTL_TRACKER_URL: '', OPSCTL_TRACKER_TOKEN: '', CI: '1' },
        ...{ exit: 3, code: 'EMPTY_VARIABLE', category: 'config', names: ['OPSCTL_TRACKER_URL'] },
      },
      {
        run: 'tracker labels create --name x',
        env: { ...none, OPSCTL_LABELS_URL: undefined, CI: '1' },
        ...{ exit: 3, code: 'MOCK_IN_CI', category: 'config' },
      },
    ],
  },
  'stories with an external ID are created once and addressed by it': {
    files: {
      's.ndjson':
        '{"op":"upsert","resource":"stories","name":"I1","external_id":"P-1","workflow_state_id":"Ready"}\n',
      'u.ndjson': '{"op":"update","resource":"stories","id":"external:P-1","name":"New"}\n',
    },
    steps: [
      {
        run: 'tracker bulk -f s.ndjson',
        sent: [['POST', '/api/v3/stories', { name: 'I1', external_id: 'P-1', workflow_state_id: 11 }]],
      },
      { run: 'tracker bulk -f s.ndjson', shows: ['"unchanged"'] },
      { run: 'tracker bulk -f u.ndjson', sent: [['PUT', '/api/v3/stories/112', { name: 'New' }]] },
    ],
  },
  'a time without a zone is UTC in a raw request and in a flag': {
    steps: [
      {
        run: ['api', 'tracker', 'POST', '/epics', '--body', '{"name":"x","deadline":"2026-11-01T00:00:00"}'],
        sent: [epic({ name: 'x', deadline: '2026-11-01T00:00:00' })],
        shows: ['2026-11-01T00:00:00Z'],
      },
      {
        run: 'tracker epics create --name x --deadline 2026-11-01T00:00:00',
        sent: [epic({ name: 'x', deadline: '2026-11-01T00:00:00Z' })],
      },
      {
        run: 'tracker epics create --name x --deadline 2026-02-30',
        ...{ exit: 2, code: 'USAGE', names: ['2026-02-30', 'a day that exists'] },
      },
    ],
  },
  'a title that differs only in case renames nothing': {
    files: {
      '1.yaml': 'title: Sap flow\ndescription: tree juice\nfields: [{name: F, type: text}]\n',
      '2.yaml': 'title: SAP Flow\ndescription: another label\nfields: [{name: G, type: text}]\n',
    },
    steps: [
      {
        run: 'labels apply -f 1.yaml',
        sent: [
          [
            'POST',
            '/v2beta/labels',
            {
              labelType: 'SHARED',
              properties: { title: 'Sap flow', description: 'tree juice' },
              fields: [{ properties: { displayName: 'F', required: false }, textOptions: {} }],
            },
          ],
        ],
      },
      {
        run: 'labels apply -f 2.yaml',
        ...{ exit: 10, code: 'SIMILAR_TITLE', category: 'unsafe', names: ['Sap flow', 'was:'] },
      },
    ],
  },
  'an empty key deletes nothing': {
    files: {
      'w.yaml': 'labels:\n  # - name: all rows are comments\nepics:\n',
      'e.yaml': '',
      'c.yaml': '# x\n',
    },
    steps: [
      {
        run: 'tracker apply -f w.yaml --prune --force --yes',
        ...{ exit: 2, code: 'USAGE', names: ['"line":1', '"line":3', 'labels: []'] },
      },
      ...['e.yaml', 'c.yaml'].map((name) => ({
        run: `tracker apply -f ${name} --prune --force --yes`,
        ...{ exit: 2, code: 'USAGE', names: ['no content'] },
      })),
    ],
  },
  'a value that YAML reads as a comment, and a key without a value, change nothing': {
    files: {
      'w.yaml': 'labels:\n  - name: onboarding\n    color: #112233\n    description:\n',
      't.yaml': 'labels:\n  - name: C #sharp\n',
      'l.yaml': 'title: A\ndescription: see issue #12 for more\n',
    },
    steps: [
      {
        run: 'tracker apply -f w.yaml --yes',
        ...{ exit: 2, code: 'USAGE', names: ['#112233', '"line":3', '"line":4', 'w.yaml'] },
      },
      { run: 'tracker apply -f t.yaml --yes', exit: 2, code: 'USAGE', names: ['C #sharp', '"line":2'] },
      {
        run: 'labels apply -f l.yaml',
        exit: 2,
        code: 'USAGE',
        names: ['see issue #12 for more', '"line":2'],
      },
    ],
  },
  'an alias in its own value, a placeholder and a key given twice are refused with their lines': {
    files: {
      'w.yaml': 'labels: &a\n  - *a\n',
      'p.yaml': 'title: {{ title }}\n',
      'k.yaml': 'labels:\n  - name: a\n    name: b\n',
      'e.yaml': 'labels:\n  - {name: a, external_id: K}\n  - {name: b, external_id: K}\n',
    },
    steps: [
      { run: 'tracker apply -f w.yaml --yes', exit: 2, code: 'USAGE', names: ['alias', '"line":2'] },
      { run: 'labels apply -f p.yaml', exit: 2, code: 'NOT_YAML', names: ['in quotes', 'p.yaml'] },
      { run: 'tracker apply -f k.yaml --yes', exit: 2, code: 'USAGE', names: ['given twice', '"line":3'] },
      { run: 'tracker apply -f e.yaml --yes', exit: 2, code: 'USAGE', names: ['external_id', '"line":3'] },
    ],
  },
  'the first apply of a directory writes its lock file': {
    files: { 'd/one.yaml': 'title: One\n' },
    steps: [
      {
        run: 'labels apply -f d',
        sent: [['POST', '/v2beta/labels', { labelType: 'SHARED', properties: { title: 'One' }, fields: [] }]],
        names: ['labels.lock.yaml'],
      },
      { run: 'labels apply -f d' },
    ],
  },
  'an export reports its header once, and its ready map reads it': {
    files: {
      'jira.csv':
        '\uFEFFSummary,Issue key,Issue Type,Status,Assignee,Labels,Labels,Due Date,Description,Comment,Comment\r\n"A ""q"", b",P-1,Bug,In Progress,ana,backend,team/1,15/Dec/26 12:00 AM,"one\r\n```sh\r\necho ""1""\r\n```\r\nend",02/Nov/26 9:30 AM;ana;at 9;30,\r\n',
    },
    steps: [
      {
        run: 'tracker bulk -f jira.csv --resource stories --op create --dry-run',
        ...{ exit: 2, code: 'UNKNOWN_COLUMNS', names: ['--map', '--ignore-unknown'] },
      },
      {
        run: 'tracker bulk -f jira.csv --from jira --dry-run',
        shows: ['"would"', '"P-1"'],
        names: ['Comment'],
      },
    ],
  },
  'a day is a time in each format': {
    files: {
      'a.csv': 'name,deadline\nx,2026-12-01\n',
      'a.ndjson': '{"op":"create","resource":"epics","name":"x","deadline":"2026-12-01"}\n',
      'w.yaml': 'epics:\n  - name: Ep1\n    deadline: 2026-12-01\n',
    },
    steps: [
      { run: createEpics, sent: [epic({ name: 'x', deadline: '2026-12-01T00:00:00Z' })] },
      { run: 'tracker bulk -f a.ndjson', sent: [epic({ name: 'x', deadline: '2026-12-01T00:00:00Z' })] },
      {
        run: 'tracker apply -f w.yaml --yes',
        sent: [epic({ name: 'Ep1', deadline: '2026-12-01T00:00:00Z' })],
      },
    ],
  },
  'booleans and lists of spreadsheets are read': {
    files: {
      'b.csv': 'id,archived\nonboarding,TRUE\n',
      'a.csv': 'name,labels\nT1,"bug, ops"\nT2,bug;ops\nT3,"""a;b"";c"\n',
    },
    steps: [
      {
        run: 'tracker bulk -f b.csv --resource labels --op update',
        sent: [['PUT', '/api/v3/labels/105', { archived: true }]],
      },
      {
        run: createEpics,
        sent: [
          epic({ name: 'T1', labels: [{ name: 'bug' }, { name: 'ops' }] }),
          epic({ name: 'T2', labels: [{ name: 'bug' }, { name: 'ops' }] }),
          epic({ name: 'T3', labels: [{ name: 'a;b' }, { name: 'c' }] }),
        ],
      },
    ],
  },
  'merge keys and blocks of a workspace file are read, and two documents are refused': {
    files: {
      'm.yaml':
        'x-defaults: &base {color: "#112233", description: shared}\nlabels:\n  - {<<: *base, name: one}\n  - <<: *base\n    name: two\n',
      'd.yaml': 'labels: [{name: m1}]\n---\nlabels: [{name: m2}]\n',
    },
    steps: [
      {
        run: 'tracker apply -f m.yaml --yes',
        sent: ['one', 'two'].map((name) => label({ name, color: '#112233', description: 'shared' })),
      },
      { run: 'tracker diff -f d.yaml', exit: 2, code: 'USAGE', names: ['several documents', '"line":2'] },
    ],
  },
  'an archived label is attached with a warning': {
    files: {
      'a.ndjson': '{"op":"create","resource":"epics","name":"E","labels":["old"]}\n',
      'w.yaml': 'epics:\n  - name: E2\n    labels: [old]\n',
    },
    steps: [
      { run: 'tracker labels create --name old', sent: [label({ name: 'old' })] },
      {
        run: 'tracker labels update old --archived',
        sent: [['PUT', '/api/v3/labels/112', { archived: true }]],
      },
      {
        run: 'tracker bulk -f a.ndjson',
        ...{ names: ['"old" is archived'], sent: [epic({ name: 'E', labels: [{ name: 'old' }] })] },
      },
      {
        run: 'tracker apply -f w.yaml --yes',
        ...{ names: ['"old" is archived'], sent: [epic({ name: 'E2', labels: [{ name: 'old' }] })] },
      },
    ],
  },
  'a title that looks like an ID has its own form': {
    files: { 'l.yaml': 'title: labels/x\n' },
    steps: [
      {
        run: 'labels apply -f l.yaml',
        sent: [
          ['POST', '/v2beta/labels', { labelType: 'SHARED', properties: { title: 'labels/x' }, fields: [] }],
        ],
      },
      { run: 'labels get title:labels/x', shows: ['"labels/x"'] },
      { run: 'labels get labels/x', exit: 6, code: 'NOT_FOUND' },
    ],
  },
};

const home = program();
let server: { url: string; env: Readonly<Record<string, string>> };
beforeAll(async () => {
  const { tracker, labels } = await home.start([
    ...['mock', 'serve', '--ephemeral', '--rate-limit', 'off', '-o', 'json'],
  ]).first;
  const url = new URL(tracker.base_url).origin;
  server = {
    url,
    env: {
      OPSCTL_TRACKER_URL: url,
      OPSCTL_TRACKER_TOKEN: tracker.token,
      OPSCTL_LABELS_URL: new URL(labels.base_url).origin,
      OPSCTL_LABELS_TOKEN: labels.token ?? 'any',
      OPSCTL_RATE_PER_MINUTE: 'off',
    },
  };
});
afterAll(() => home.close());

const control = (method: string, path: string, body?: object): Promise<Response> =>
  fetch(`${server.url}/__opsctl/${path}`, { method, ...(body && { body: JSON.stringify(body) }) });
const takeWrites = async (): Promise<Sent[]> => {
  const seen = (await (await control('GET', 'requests?limit=1000')).json()) as {
    readonly method: string;
    readonly path: string;
    readonly body?: unknown;
  }[];
  await control('DELETE', 'requests');
  return seen
    .filter(({ method, path }) => method !== 'GET' && !path.endsWith('/search'))
    .map(({ method, path, body }) => (body === undefined ? [method, path] : [method, path, body]));
};
const wordsOf = (run: Step['run']): readonly string[] => (typeof run === 'string' ? run.split(' ') : run);
const parsed = (text: string): any => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
/** The code and the category of the error, or of the first row that failed. */
const errorOf = ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => {
  const rows = parsed(stdout);
  const failed = Array.isArray(rows) ? rows.find(({ error }) => error !== undefined)?.error : undefined;
  return parsed(stderr.trim().split('\n').at(-1) ?? '')?.code === undefined
    ? failed
    : parsed(stderr.trim().split('\n').at(-1) ?? '');
};
const sorted = (sent: readonly Sent[]): string[] =>
  sent.map((one) => JSON.stringify(one, (_, value: unknown) => sortedKeys(value))).toSorted();
const sortedKeys = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;

test.each(Object.entries(scenes))('%s', async (_, { files = {}, steps }) => {
  const client = program();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(client.home, name)), { recursive: true });
    writeFileSync(join(client.home, name), content);
  }
  await control('POST', 'reset', { kind: 'demo' });
  await control('DELETE', 'requests');
  for (const { run, exit = 0, code, category, names = [], sent = [], env = {}, shows = [] } of steps) {
    const ran = await client.run([...wordsOf(run), '-o', 'json'], { env: { ...server.env, ...env } });
    const error = errorOf(ran);
    expect([run, ran.code, error?.code, ran.code === exit ? '' : ran.stderr]).toEqual([run, exit, code, '']);
    if (category !== undefined) expect([run, error?.category]).toEqual([run, category]);
    const said = `${ran.stderr}${JSON.stringify(error ?? '')}`;
    for (const name of names) expect([run, said.includes(name) ? name : said]).toEqual([run, name]);
    const shown = JSON.stringify(parsed(ran.stdout) ?? ran.stdout);
    for (const text of shows) expect([run, shown.includes(text) ? text : shown]).toEqual([run, text]);
    expect([run, ...sorted(await takeWrites())]).toEqual([run, ...sorted(sent)]);
  }
});

test('--quiet prints no result', async () => {
  const client = program();
  writeFileSync(join(client.home, 'l.yaml'), 'title: Quiet\n');
  writeFileSync(join(client.home, 'w.yaml'), 'labels:\n  - name: quiet\n');
  for (const run of ['labels apply -f l.yaml -q', 'tracker apply -f w.yaml --yes -q']) {
    const ran = await client.run(run.split(' '), { env: server.env });
    expect([run, ran.code, ran.stdout, ran.stderr]).toEqual([run, 0, '', '']);
  }
});

test('a run that lost its connection in row 101 ends with one record for each row, and does not start again', async () => {
  const client = program();
  const row = (i: number): object => ({ name: `I${i}`, external_id: `P-${i}`, workflow_state_id: 'Ready' });
  const rows = Array.from({ length: 300 }, (_, i) => JSON.stringify(row(i + 1)));
  writeFileSync(join(client.home, 'rows.ndjson'), `${rows.join('\n')}\n`);
  await control('POST', 'reset', { kind: 'demo' });
  const cut = { method: 'POST', path: '/api/v3/stories', cut: true, when: 'after', skip: 100, count: 1 };
  await control('POST', 'faults', cut);
  const run = 'tracker bulk -f rows.ndjson --resource stories --op create -o json'.split(' ');
  const first = await client.run(run, { env: server.env });
  const second = await client.run(run, { env: server.env });
  await control('DELETE', 'faults');
  expect([first.code, second.code, errorOf(second)?.category]).toEqual([0, 10, 'unsafe']);
  expect(errorOf(second)?.hints[0]).toContain('--restart');
  const search = ['api', 'tracker', 'POST', '/stories/search', '--body', '{"archived":false}'];
  const keys = (await client.json(search, { env: server.env }))
    .map(({ external_id: key }: { readonly external_id: string | null }) => key)
    .filter((key: string | null) => key?.startsWith('P-'));
  expect([keys.length, new Set(keys).size]).toEqual([300, 300]);
});

/** Runs a command next to a service that answers like this, and returns its end. */
const runAgainst = async (answer: RequestListener, run: string) => {
  const service = createServer(answer);
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const { port } = service.address() as AddressInfo;
  const env = { OPSCTL_TRACKER_URL: `http://127.0.0.1:${port}`, OPSCTL_TRACKER_TOKEN: 'x' };
  const ran = await program().run(run.split(' '), { env });
  service.closeAllConnections();
  await new Promise((resolve) => service.close(resolve));
  return ran;
};
const answerWith =
  (text: string): RequestListener =>
  (_, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(text);

test('a list that contradicts its total is an error with both numbers', async () => {
  const row = { id: 1, name: 'E1', entity_type: 'epic', archived: false, labels: [], label_ids: [] };
  const page = answerWith(JSON.stringify({ data: [row], next: null, total: 25 }));
  const ran = await runAgainst(page, 'tracker epics paginated -o json');
  const error = errorOf(ran);
  expect([ran.code, error?.code, /\b1 row\b.*\b25\b/.test(error?.message)]).toEqual([
    11,
    'LIST_CHANGED',
    true,
  ]);
});

const endings: Readonly<Record<string, RequestListener>> = {
  cut: (request, response) => void request.resume().on('end', () => response.destroy()),
  'a page with status 500': (_, response) =>
    void response.writeHead(500, { 'content-type': 'text/html' }).end('<html>oops</html>'),
  'an empty 201': (_, response) => void response.writeHead(201).end(),
};
test.each(Object.entries(endings))('a create whose answer is %s is not retryable', async (_, ending) => {
  const answer: RequestListener = (request, response) =>
    request.method === 'POST' ? ending(request, response) : answerWith('[]')(request, response);
  const ran = await runAgainst(answer, 'tracker labels create --name x -o json');
  const error = errorOf(ran);
  expect([ran.code, error?.retryable, error?.outcome]).toEqual([11, false, 'unknown']);
  expect(error?.hints[0]).toContain('check whether the change was applied');
});

test.each(['', '-o json', '-o ndjson', '-o yaml', '-o csv', '--jq .[0].id'])(
  'a number above 2^53 is printed as it came (%s)',
  async (flags) => {
    const list = answerWith('[{"id":9007199254740993,"name":"big"}]');
    const ran = await runAgainst(list, `api tracker GET /labels ${flags}`.trim());
    expect([ran.code, /\b9007199254740993\b/.test(ran.stdout)]).toEqual([0, true]);
  },
);
