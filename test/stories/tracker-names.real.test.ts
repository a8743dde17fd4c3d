import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';

/** A URL addresses the server, as for a real server, because opsctl stores names between commands only in this case. */
let owner: Program;
let opsctl: Program;
let url: string;
const TOKEN = 'mock-tracker-token';
const elsewhere = async (method: string, path: string, body?: object): Promise<any> => {
  const answer = await fetch(`${url}/api/v3${path}`, {
    method,
    headers: { 'Tracker-Token': TOKEN },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return answer.status === 204 ? undefined : answer.json();
};
beforeAll(async () => {
  owner = program();
  const ready = await owner.start(['mock', 'serve', '-o', 'json', '--rate-limit', 'off', '--ephemeral'])
    .first;
  url = ready.tracker.base_url;
  opsctl = program({ OPSCTL_TRACKER_URL: url, OPSCTL_TRACKER_TOKEN: TOKEN });
});
const id = async (...args: string[]): Promise<number> =>
  (await opsctl.json(['tracker', 'labels', ...args])).id;

test('a name that was deleted and made again is the new record', async () => {
  const first = await id('create', '--name', 'again');
  expect(await id('get', 'again')).toBe(first);
  expect((await opsctl.run(['tracker', 'labels', 'delete', 'again', '--yes'])).code).toBe(0);
  const second = await id('create', '--name', 'again');
  expect(await id('get', 'again')).toBe(second);
});

test('a change never goes to a record that only had the name a while ago', async () => {
  const first = await id('create', '--name', 'old');
  expect(await id('get', 'old')).toBe(first);
  await elsewhere('PUT', `/labels/${first}`, { name: 'new' });
  const gone = await opsctl.run(['tracker', 'labels', 'delete', 'old', '--yes']);
  expect([gone.code, gone.stderr]).toEqual([6, expect.stringContaining('label not found: "old"')]);
  expect((await elsewhere('GET', `/labels/${first}`)).name).toBe('new');
});

test('a read of a deleted record resolves the name again', async () => {
  const first = await id('create', '--name', 'moved');
  expect(await id('get', 'moved')).toBe(first);
  await elsewhere('DELETE', `/labels/${first}`);
  const { id: second } = await elsewhere('POST', '/labels', { name: 'moved' });
  expect(await id('get', 'moved')).toBe(second);
});

test('bulk resolves names again, including after a row that renames', async () => {
  const first = await id('create', '--name', 'bulk-a');
  await id('get', 'bulk-a');
  await elsewhere('PUT', `/labels/${first}`, { name: 'bulk-b' });
  const rows = [
    { op: 'update', resource: 'labels', id: 'bulk-a', color: '#111111' },
    { op: 'update', resource: 'labels', id: 'bulk-b', name: 'bulk-c' },
    { op: 'delete', resource: 'labels', id: 'bulk-b' },
  ];
  const input = rows.map((row) => JSON.stringify(row)).join('\n');
  const run = await opsctl.run(['tracker', 'bulk', '-f', '-', '-o', 'ndjson', '--concurrency', '1'], {
    input,
  });
  const outcomes = run.stdout.trim().split('\n');
  expect(outcomes.map((line) => JSON.parse(line).status)).toEqual(['failed', 'done', 'failed']);
  expect((await elsewhere('GET', `/labels/${first}`)).name).toBe('bulk-c');
});

test('a missing value is named by its flag', async () => {
  const bare = await opsctl.run(['tracker', 'iterations', 'create', '--name', 'x']);
  expect([bare.code, bare.stderr]).toEqual([
    2,
    expect.stringMatching(/--start-date is required\n {2}--end-date is required/),
  ]);
});

test('a registered webhook prints its ID, although the service returns no body', async () => {
  const made = await opsctl.json(['tracker', 'webhooks', 'create', '--webhook-url', 'http://127.0.0.1:9/']);
  expect(await opsctl.json(['tracker', 'webhooks', 'get', String(made.id)])).toMatchObject({
    id: made.id,
    webhook_url: 'http://127.0.0.1:9/',
  });
});

test('ensure and upsert name missing values, and treat reordered lists and names as equal', async () => {
  for (const verb of ['ensure', 'upsert']) {
    const bare = await opsctl.run(['tracker', 'labels', verb, '--color', '#112233']);
    expect([bare.code, bare.stderr]).toEqual([
      2,
      expect.stringContaining(`opsctl tracker labels ${verb}: invalid arguments\n  --name is required`),
    ]);
  }
  const epic = async (...owners: string[]): Promise<string[]> => {
    const named = owners.flatMap((owner) => ['--owner', owner]);
    const { stderr } = await opsctl.run([
      'tracker',
      'epics',
      'upsert',
      '--name',
      'set',
      '--label',
      'onboarding',
      ...named,
      '-v',
    ]);
    return [...stderr.matchAll(/^(?:debug: )?(POST|PUT) /gm)].map(([, method = '']) => method);
  };
  expect(await epic('@ana', '@ben')).toEqual(['POST']);
  expect(await epic('@ben', '@ana')).toEqual([]);
  expect(await epic('@ben')).toEqual(['PUT']);
});

test('a long text comes from a file or from standard input', async () => {
  const text = 'First line\n\n@ben, 日本 🚀';
  const made = await opsctl.json(
    ['tracker', 'labels', 'create', '--name', 'from stdin', '--description-file', '-'],
    { input: `${text}\n` },
  );
  expect(made.description).toBe(text);
  writeFileSync(join(opsctl.home, 'text.md'), `${text}\r\n`);
  const comment = await opsctl.json(['tracker', 'epic-comments', 'create', '106', '--text-file', 'text.md']);
  expect(comment.text).toBe(text);
  for (const [args, message] of [
    [['--text-file', 'nowhere.md'], '--text-file names nowhere.md, which does not exist'],
    [['--text-file', '.'], '--text-file names ., which is a directory'],
    [['--text-file', 'text.md', '--text', 'x'], '--text-file cannot be given together with --text'],
    [[], '--text is required'],
  ] as const) {
    const wrong = await opsctl.run(['tracker', 'epic-comments', 'create', '106', ...args]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(message)]);
  }
});

test('names may be given with commas, and a name that has one is still a name', async () => {
  const owners = async (list: string): Promise<string[]> =>
    (await opsctl.json(['tracker', 'epics', 'create', '--name', 'o', '--owner', list])).owner_ids;
  expect(await owners('ana, ben')).toHaveLength(2);
  const wrong = await opsctl.run(['tracker', 'epics', 'create', '--name', 'o', '--owner', 'ana,nobody']);
  expect([wrong.code, wrong.stderr]).toEqual([6, expect.stringContaining('member not found: "nobody"')]);
  const { id: whole } = await opsctl.json(['tracker', 'objectives', 'create', '--name', 'Fast, safe']);
  expect(
    (await opsctl.json(['tracker', 'epics', 'create', '--name', 'o', '--objective', 'Fast, safe']))
      .objective_ids,
  ).toEqual([whole]);
});

test.each([
  [['labels', 'ls'], 'did you mean list?'],
  [['labels', 'show', '105'], 'did you mean get?'],
  [['labels', 'add'], 'did you mean create?'],
  [['labels', 'edit', '105'], 'did you mean update?'],
  [['labels', 'rm', '105'], 'did you mean delete?'],
  [['labels', 'list', '--json'], 'did you mean --output json?'],
  [['labels', 'list', '--format', 'json'], 'did you mean --output?'],
])('words of other programs: tracker %j', async (args, message) => {
  const wrong = await opsctl.run(['tracker', ...args]);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(message)]);
});

test('an unknown name suggests a list', async () => {
  const gone = await opsctl.run(['tracker', 'epics', 'get', 'nothing like it']);
  expect([gone.code, gone.stderr]).toEqual([
    6,
    expect.stringMatching(/names an epic that does not exist[\s\S]*opsctl tracker epics list/),
  ]);
});

test('a day where a time belongs is its first moment in UTC', async () => {
  expect(
    await opsctl.json(['tracker', 'epics', 'create', '--name', 'x', '--deadline', '2026-12-31']),
  ).toMatchObject({
    deadline: '2026-12-31T00:00:00Z',
  });
  const input = 'op,resource,name,deadline\ncreate,epics,from csv,2026-12-30\n';
  await opsctl.run(['tracker', 'bulk', '-f', '-', '--input-format', 'csv'], { input });
  expect(await opsctl.json(['tracker', 'epics', 'get', 'from csv'])).toMatchObject({
    deadline: '2026-12-30T00:00:00Z',
  });
  expect(
    (await opsctl.run(['tracker', 'epics', 'create', '--name', 'x', '--deadline', '2026-02-30'])).code,
  ).toBe(2);
});

test('a mistyped workflow state is rejected with a suggestion, and no request is sent', async () => {
  const { states } = (await elsewhere('GET', '/workflows'))[0];
  const name: string = states[0].name;
  const before = (await elsewhere('GET', '/search/stories?query=typed&page_size=1')).total;
  const words = ['tracker', 'stories', 'create', '--name', 'typed', '--workflow-state', `${name}x`];
  const run = await opsctl.run(words);
  expect([run.code, run.stdout]).toEqual([6, '']);
  expect(run.stderr).toContain(`workflow state not found: "${name}x"`);
  expect(run.stderr).toContain(`did you mean ${name}?`);
  expect((await elsewhere('GET', '/search/stories?query=typed&page_size=1')).total).toBe(before);
});
