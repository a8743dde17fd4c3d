import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { makeDirectory } from '../support/directory.ts';

let opsctl: Program;
let directory: string;
beforeAll(async () => {
  opsctl = await program();
  directory = makeDirectory();
  await opsctl.start(['mock', 'serve', '-o', 'json', '--rate-limit', 'off']).first;
});
const file = (name: string, text: string): string => {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
};
/** Returns the writes that the server received since the last call of `clear`. */
const requests = async (): Promise<{ method: string; path: string }[]> =>
  opsctl.json(['mock', 'requests', '--limit', '500']);
const writes = async (): Promise<number> =>
  (await requests()).filter(({ method }) => method !== 'GET').length;

test('names instead of ids, null apart from absent, and a dry run that shows what would be sent', async () => {
  const made = await opsctl.json(['tracker', 'labels', 'create', '--name', 'bug', '--color', '#cc0000']);
  const epic = await opsctl.json([
    'tracker',
    'epics',
    'create',
    '--name',
    'Q4',
    '--label',
    'bug',
    '--owner',
    '@ana',
  ]);
  expect(epic.label_ids).toEqual([made.id]);
  expect(epic.owner_ids).toHaveLength(1);
  const changed = await opsctl.json(['tracker', 'labels', 'update', 'bug', '--unset', 'color']);
  expect(changed).toMatchObject({ id: made.id, color: null, name: 'bug' });
  const shown = await opsctl.json(['tracker', 'labels', 'update', 'bug', '--color', 'null', '--dry-run']);
  expect(shown).toMatchObject({ dry_run: true, method: 'PUT', body: { color: null } });
  expect(shown.url).toMatch(new RegExp(`/api/v3/labels/${made.id}$`));
  expect(shown.headers['tracker-token']).toBe('***');
});

test('an unknown and an ambiguous name are explained', async () => {
  const unknown = await opsctl.run(['tracker', 'labels', 'get', 'bugg']);
  expect([unknown.code, unknown.stderr]).toEqual([6, expect.stringContaining('did you mean bug?')]);
  for (const name of ['Twin', 'Twin']) await opsctl.json(['tracker', 'epics', 'create', '--name', name]);
  const twin = await opsctl.run(['tracker', 'epics', 'get', 'Twin']);
  expect([twin.code, twin.stderr]).toEqual([
    2,
    expect.stringMatching(/2 epics are called "Twin": \d+ \(Twin\); \d+ \(Twin\)/),
  ]);
});

test('ensure and upsert create once, and change only differences', async () => {
  const first = await opsctl.json(['tracker', 'labels', 'ensure', '--name', 'once', '--color', '#112233']);
  const again = await opsctl.json(['tracker', 'labels', 'ensure', '--name', 'once', '--color', '#445566']);
  expect([again.id, again.color]).toEqual([first.id, '#112233']);
  const before = await writes();
  expect(
    (await opsctl.json(['tracker', 'labels', 'upsert', '--name', 'once', '--color', '#112233'])).id,
  ).toBe(first.id);
  expect(await writes()).toBe(before);
  expect(
    (await opsctl.json(['tracker', 'labels', 'upsert', '--name', 'once', '--color', '#445566'])).color,
  ).toBe('#445566');
});

test('bulk: a dry run sends no request, valid rows are applied, invalid ones are named by line, resume skips finished ones', async () => {
  const rows = [
    { op: 'create', resource: 'labels', name: 'b1' },
    { op: 'create', resource: 'labels', nam: 'b2' },
    { op: 'create', resource: 'stories', name: 's1', labels: ['b1'], owner_ids: ['@ben'] },
  ];
  const path = file('rows.ndjson', rows.map((row) => JSON.stringify(row)).join('\n'));
  const before = await writes();
  const dry = await opsctl.run(['tracker', 'bulk', '-f', path, '--dry-run', '-o', 'ndjson']);
  expect([dry.code, await writes()]).toEqual([9, before]);
  expect(dry.stderr).toContain('dry run: 2 rows valid, 1 invalid');
  const run = await opsctl.run(['tracker', 'bulk', '-f', path, '-o', 'ndjson', '--concurrency', '1']);
  expect(run.code).toBe(9);
  const outcomes = run.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(outcomes.map(({ line, status }) => [line, status])).toEqual([
    [1, 'done'],
    [2, 'failed'],
    [3, 'done'],
  ]);
  expect(outcomes[1].error.message).toContain('did you mean name?');
  const again = await opsctl.run(['tracker', 'bulk', '-f', path, '-o', 'ndjson', '--resume']);
  expect(again.stdout.match(/"skipped"/g)).toHaveLength(2);
  writeFileSync(path, JSON.stringify({ op: 'create', resource: 'labels', name: 'other' }));
  const changed = await opsctl.run(['tracker', 'bulk', '-f', path, '--resume']);
  expect([changed.code, changed.stderr]).toEqual([10, expect.stringContaining('line 1 is not what it was')]);
});

test('bulk from CSV on standard input', async () => {
  const done = await opsctl.run(
    [
      'tracker',
      'bulk',
      '-f',
      '-',
      '--input-format',
      'csv',
      '--resource',
      'labels',
      '--op',
      'create',
      '-o',
      'ndjson',
    ],
    {
      input: 'name,color,description\ncsv1,#112233,"one, two"\ncsv2,,\n',
    },
  );
  expect([done.code, done.stderr]).toEqual([0, expect.stringContaining('2 done, 0 failed')]);
  expect(await opsctl.json(['tracker', 'labels', 'get', 'csv1'])).toMatchObject({
    color: '#112233',
    description: 'one, two',
  });
});

test('export, change, diff, apply: the second apply sends no request', async () => {
  const exported = await opsctl.run(['tracker', 'export']);
  const path = file('workspace.yaml', exported.stdout);
  expect((await opsctl.run(['tracker', 'diff', '-f', path])).code).toBe(0);
  writeFileSync(
    path,
    exported.stdout
      .replaceAll('name: onboarding', 'name: welcome')
      .replaceAll('- onboarding', '- welcome')
      .replace('labels:\n', 'labels:\n  - name: declared\n    color: "#0a0b0c"\n'),
  );
  expect((await opsctl.run(['tracker', 'diff', '-f', path])).code).toBe(20);
  const refused = await opsctl.run(['tracker', 'apply', '-f', path]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  expect((await opsctl.run(['tracker', 'apply', '-f', path, '--yes'])).code).toBe(0);
  const labels: { name: string }[] = await opsctl.json(['tracker', 'labels', 'list']);
  expect(labels.map(({ name }) => name)).toEqual(expect.arrayContaining(['welcome', 'declared']));
  expect(labels.map(({ name }) => name)).not.toContain('onboarding');
  const before = await writes();
  expect((await opsctl.run(['tracker', 'apply', '-f', path, '--yes'])).code).toBe(0);
  expect(await writes()).toBe(before);
});

test('prune keeps used records and names their users', async () => {
  const path = file('few.yaml', 'labels: []\n');
  const refused = await opsctl.run(['tracker', 'apply', '-f', path, '--prune', '--yes']);
  expect([refused.code, refused.stderr]).toEqual([
    10,
    expect.stringMatching(/welcome is used by \d stories and is not pruned/),
  ]);
});

test.each<[string, string]>([
  ['labels:\n  - nam: x\n', 'labels[0].nam is not a known field (did you mean name?)'],
  ['lables: []\n', 'did you mean labels?'],
  ['labels:\n  - name: x\n    color: red\n', 'labels[0].color must be a hexadecimal color'],
  ['labels: [\n', 'is not YAML'],
])('a wrong workspace file is explained: %j', async (text, message) => {
  const wrong = await opsctl.run(['tracker', 'diff', '-f', file('wrong.yaml', text)]);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(message)]);
});

test('five files go up in two requests and come down byte for byte', async () => {
  const bytes = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * 7) % 256));
  writeFileSync(join(directory, 'raw.bin'), bytes);
  const paths = [join(directory, 'raw.bin'), ...[1, 2, 3, 4].map((n) => file(`é ${n}.txt`, `text ${n}`))];
  const made: { id: number; filename: string }[] = await opsctl.json([
    'tracker',
    'files',
    'upload',
    ...paths,
  ]);
  expect(made.map(({ filename }) => filename)).toEqual([
    'raw.bin',
    'é 1.txt',
    'é 2.txt',
    'é 3.txt',
    'é 4.txt',
  ]);
  const target = join(directory, 'down.bin');
  await opsctl.json(['tracker', 'files', 'download', String(made[0]?.id), '--to', target]);
  expect(readFileSync(target).equals(bytes)).toBe(true);
  const again = await opsctl.run(['tracker', 'files', 'download', String(made[0]?.id), '--to', target]);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('--force')]);
});

test('search pages to the end and never cuts silently', async () => {
  const rows = Array.from({ length: 60 }, (_, i) =>
    JSON.stringify({ op: 'create', resource: 'stories', name: `needle ${i}` }),
  ).join('\n');
  expect(
    (await opsctl.run(['tracker', 'bulk', '-f', '-', '--concurrency', '8', '-o', 'ndjson'], { input: rows }))
      .code,
  ).toBe(0);
  const some = await opsctl.run(['tracker', 'search', 'needle', '--type', 'story', '-o', 'name']);
  expect([some.stdout.trim().split('\n').length, some.stderr]).toEqual([
    25,
    expect.stringContaining('25 of 60 shown'),
  ]);
  const every = await opsctl.run(['tracker', 'search', 'needle', '--type', 'story', '--all', '-o', 'name']);
  expect(new Set(every.stdout.trim().split('\n')).size).toBe(60);
});

test('deprecated things warn once on stderr with the replacement', async () => {
  const old = await opsctl.run(['tracker', 'milestones', 'list']);
  expect(old.stderr.match(/deprecated/g)).toHaveLength(1);
  expect(old.stderr).toContain('objectives');
});

test('webhooks listen: a good delivery is a line, a forged one is refused', async () => {
  const secret = file('secret', 's3cret\n');
  const listening = opsctl.start([
    'tracker',
    'webhooks',
    'listen',
    '--secret-file',
    secret,
    '--count',
    '1',
    '-o',
    'ndjson',
  ]);
  const [, url = ''] = await listening.said(/listening on (http:\S+)/);
  const body = '{"id":"e1","version":"v1","actions":[]}';
  const deliver = async (signature: string) =>
    (await fetch(url, { method: 'POST', body, headers: { 'payload-signature': signature } })).status;
  expect(await deliver('0'.repeat(64))).toBe(401);
  expect(await deliver(createHmac('sha256', 's3cret').update(body).digest('hex'))).toBe(200);
  const { code, stdout, stderr } = await listening.ended;
  expect([code, JSON.parse(stdout).id]).toEqual([0, 'e1']);
  expect(stderr).toContain('the signature does not fit the body');
});

test('webhooks listen without a secret refuses what a web page sends', async () => {
  const listening = opsctl.start(['tracker', 'webhooks', 'listen', '--count', '1', '-o', 'ndjson']);
  const [, url = ''] = await listening.said(/listening on (http:\S+)/);
  const deliver = async (id: string, headers: Record<string, string>) => {
    const body = JSON.stringify({ id, version: 'v1', actions: [] });
    return (await fetch(url, { method: 'POST', body, headers })).status;
  };
  expect(await deliver('page', { origin: 'https://evil.example' })).toBe(403);
  expect(await deliver('null', { origin: 'null' })).toBe(403);
  expect(await deliver('service', {})).toBe(200);
  const { code, stdout } = await listening.ended;
  expect([code, JSON.parse(stdout).id]).toEqual([0, 'service']);
});

test('a derived list accepts --limit and prints the total', async () => {
  for (const name of ['cut-1', 'cut-2']) await opsctl.json(['tracker', 'labels', 'ensure', '--name', name]);
  const all: unknown[] = await opsctl.json(['tracker', 'labels', 'list']);
  const some = await opsctl.run(['tracker', 'labels', 'list', '--limit', '1', '-o', 'name']);
  expect([some.code, some.stdout.trim().split('\n').length, some.stderr]).toEqual([
    0,
    1,
    expect.stringContaining(`1 of ${all.length} shown`),
  ]);
  const enough = await opsctl.run(['tracker', 'labels', 'list', '--limit', String(all.length), '-o', 'name']);
  expect([enough.stdout.trim().split('\n').length, enough.stderr]).toEqual([
    all.length,
    expect.not.stringContaining('shown'),
  ]);
  const wrong = await opsctl.run(['tracker', 'labels', 'list', '--limit', '0']);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--limit must be at least 1')]);
});

test('an interrupted bulk run exits with 8 and its resume command; the resumed run sends each row once', async () => {
  const count = 2500;
  const path = file(
    'many rows.ndjson',
    Array.from({ length: count }, (_, i) => JSON.stringify({ name: `many ${i}` })).join('\n'),
  );
  const what = ['--resource', 'labels', '--op', 'create'];
  const running = opsctl.start([
    'tracker',
    'bulk',
    '-f',
    path,
    ...what,
    '-o',
    'ndjson',
    '--concurrency',
    '2',
  ]);
  await running.first;
  running.kill('SIGINT');
  const { code, stderr } = await running.ended;
  expect([code, stderr]).toEqual([
    8,
    expect.stringContaining(`opsctl tracker bulk -f '${path}' --resource labels --op create --resume`),
  ]);
  const resumed = await opsctl.run([
    'tracker',
    'bulk',
    '-f',
    path,
    ...what,
    '-o',
    'ndjson',
    '--resume',
    '--concurrency',
    '16',
  ]);
  expect([resumed.code, resumed.stderr]).toEqual([0, expect.not.stringContaining('Warning')]);
  const labels: { name: string }[] = await opsctl.json(['tracker', 'labels', 'list']);
  const names = labels.map(({ name }) => name).filter((name) => name.startsWith('many '));
  expect([names.length, new Set(names).size]).toEqual([count, count]);
});

test.each<[string, string[], number, string]>([
  ['a directory as rows', ['bulk', '-f', '.'], 2, '--file names ., which is a directory'],
  ['a directory as workspace', ['diff', '-f', '.'], 2, '--file names ., which is a directory'],
  ['a journal that is a device', ['bulk', '-f', '-', '--journal', '/dev/null'], 2, 'is not a plain file'],
  [
    'a journal in a directory that is not there',
    ['bulk', '-f', '-', '--journal', 'nowhere/journal'],
    3,
    'cannot be written',
  ],
])('%s is explained', async (_, args, code, message) => {
  const wrong = await opsctl.run(['tracker', ...args], { input: '{}' });
  expect([wrong.code, wrong.stderr]).toEqual([code, expect.stringContaining(message)]);
});

test('mention names may be given with commas, and an empty text of a workspace file is an empty text', async () => {
  const epic = await opsctl.json([
    'tracker',
    'epics',
    'create',
    '--name',
    'both',
    '--owner-ids',
    '@ana,@ben',
  ]);
  expect(epic.owner_ids).toHaveLength(2);
  const path = file('empty-text.yaml', 'labels:\n  - name: "ünï"\n    description: null\n');
  expect((await opsctl.run(['tracker', 'apply', '-f', path, '--yes'])).code).toBe(0);
  expect((await opsctl.run(['tracker', 'diff', '-f', path])).code).toBe(0);
});
