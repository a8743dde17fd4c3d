import { execFile } from 'node:child_process';
import { cp, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { type LabelServer, labelServer } from '../support/labels-server.ts';
import { type Ran, opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

/** Two deployments of the label service, and one git directory with its definitions. */
let servers: { staging: LabelServer; production: LabelServer };
let home: string;
let clone: string;
let second: string;
type Where = keyof typeof servers;

beforeAll(async () => {
  servers = { staging: await labelServer(), production: await labelServer() };
  home = makeDirectory();
  clone = join(home, 'clone');
  second = join(home, 'second');
});

/** Requests that could change data. */
let writes = 0;
const counted = (host: Host): Host => ({
  ...host,
  network: {
    ...host.network,
    request: (request) => {
      if (request.method !== 'GET') writes += 1;
      return host.network.request(request);
    },
  },
});
const run = (where: Where, cwd: string, ...argv: string[]): Promise<Ran> =>
  opsctl(['labels', ...argv], {
    home,
    cwd,
    host: counted,
    env: { OPSCTL_LABELS_URL: servers[where].mock.origin, OPSCTL_LABELS_TOKEN: 'any-token' },
  });
const done = async (where: Where, cwd: string, ...argv: string[]): Promise<Ran> => {
  const ran = await run(where, cwd, ...argv);
  expect({ argv, code: ran.code, stderr: ran.code === 0 ? '' : ran.stderr }).toEqual({
    argv,
    code: 0,
    stderr: '',
  });
  return ran;
};
const execute = promisify(execFile);
const git = async (cwd: string, ...argv: string[]): Promise<string> => {
  const identity = ['-c', 'user.name=Ana', '-c', 'user.email=ana@example.com', '-c', 'commit.gpgsign=false'];
  const env = { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1' };
  return (await execute('git', [...identity, ...argv], { cwd, env })).stdout;
};
const commit = async (cwd: string, message: string): Promise<void> => {
  await git(cwd, 'add', '-A');
  await git(cwd, 'commit', '-qm', message);
};
const edit = async (file: string, ...pairs: readonly [string, string][]): Promise<void> => {
  let text = await readFile(file, 'utf8');
  for (const [from, to] of pairs) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  await writeFile(file, text);
};
const labelsOf = async (where: Where): Promise<any[]> =>
  (await servers[where].send('GET', '/labels?view=LABEL_VIEW_FULL&pageSize=200')).json.labels ?? [];
const oneOf = async (where: Where, title: string): Promise<any> => {
  const found = (await labelsOf(where)).filter((label) => label.properties.title === title);
  expect({ where, title, count: found.length }).toEqual({ where, title, count: 1 });
  return found[0];
};
/** The properties of a label, without the numbers that each deployment assigns. */
const shapeOf = (label: any) => ({
  title: label.properties.title,
  description: label.properties.description,
  state: label.lifecycle.state,
  pending: label.lifecycle.hasUnpublishedChanges ?? false,
  fields: label.fields.map((field: any) => ({
    name: field.properties.displayName,
    state: field.lifecycle.state,
    choices: (field.selectionOptions?.choices ?? []).map((choice: any) => [
      choice.properties.displayName,
      choice.lifecycle.state,
    ]),
  })),
});
const areEqual = async (title: string): Promise<void> =>
  expect(shapeOf(await oneOf('production', title))).toEqual(shapeOf(await oneOf('staging', title)));
const file = (cwd: string, name: string): string => join(cwd, 'labels', name);

test('export and adopt: the files are what the service has, and the lock file is clean', async () => {
  for (const title of ['Contract', 'Invoice', 'Retention'])
    await servers.staging.send('POST', '/labels', {
      labelType: 'SHARED',
      properties: { title, description: `About ${title}` },
      fields: [
        { properties: { displayName: 'Note' }, textOptions: {} },
        {
          properties: { displayName: 'Status' },
          selectionOptions: {
            choices: [{ properties: { displayName: 'Open' } }, { properties: { displayName: 'Signed' } }],
          },
        },
      ],
    });
  for (const label of await labelsOf('staging'))
    await servers.staging.send('POST', `/labels/${label.id}:publish`, {});
  await execute('git', ['init', '-q', '-b', 'main', clone]);
  await done('staging', clone, 'export', '--all', '-f', 'labels');
  expect((await readFile(file(clone, 'contract.yaml'), 'utf8')).split('\n')[0]).toBe(
    '# yaml-language-server: $schema=./labels.schema.json',
  );
  const adopted = await done('staging', clone, 'adopt', '-f', 'labels', '-o', 'json');
  expect(adopted.json().map((one: any) => [one.key, one.status])).toEqual([
    ['contract', 'adopted'],
    ['invoice', 'adopted'],
    ['retention', 'adopted'],
  ]);
  await commit(clone, 'labels: adopt');
  const diff = await done('staging', clone, 'diff', '-f', 'labels', '-o', 'json');
  expect(diff.json().labels.map((one: any) => one.status)).toEqual(['same', 'same', 'same']);
});

test('the second edit is not mistaken for another user’s edit', async () => {
  for (const [from, to] of [
    ['About Contract', 'Agreements of all kinds'],
    ['Agreements of all kinds', 'Agreements with customers'],
  ] as const) {
    await edit(file(clone, 'contract.yaml'), [from, to]);
    const applied = await done('staging', clone, 'apply', '-f', 'labels', '-o', 'json');
    expect(applied.json().map((one: any) => one.action)).toEqual(['update', 'none', 'none']);
  }
  expect((await oneOf('staging', 'Contract')).properties.description).toBe('Agreements with customers');
  await commit(clone, 'labels: describe contracts');
});

test('promote: the first time the labels are made, with their state', async () => {
  const diff = await run('production', clone, 'diff', '-f', 'labels', '-o', 'json');
  expect([diff.code, diff.json().labels.map((one: any) => one.status)]).toEqual([20, ['new', 'new', 'new']]);
  await done('production', clone, 'apply', '-f', 'labels');
  for (const title of ['Contract', 'Invoice', 'Retention']) await areEqual(title);
  await commit(clone, 'labels: promote');
});

test('a label, a field and a choice are renamed, and the renames reach production', async () => {
  const before = await oneOf('production', 'Contract');
  await edit(
    file(clone, 'contract.yaml'),
    ['title: Contract', 'title: Agreement'],
    ['name: Note', 'name: Remark'],
    ['name: Signed', 'name: Closed'],
  );
  await done('staging', clone, 'apply', '-f', 'labels');
  await done('production', clone, 'apply', '-f', 'labels');
  await areEqual('Agreement');
  const after = await oneOf('production', 'Agreement');
  expect(await labelsOf('production')).toHaveLength(3);
  expect([after.id, after.fields.map((one: any) => one.id)]).toEqual([
    before.id,
    before.fields.map((one: any) => one.id),
  ]);
  expect(after.fields[1].selectionOptions.choices[1].id).toBe(
    before.fields[1].selectionOptions.choices[1].id,
  );
  // An export from this clone moves the file and makes no other changes.
  const moved = await done('staging', clone, 'export', 'Agreement', '-f', 'labels', '-o', 'json');
  expect(moved.json()).toMatchObject([{ file: 'labels/agreement.yaml', moved_from: 'labels/contract.yaml' }]);
  expect((await readdir(join(clone, 'labels'))).sort()).toEqual([
    'agreement.yaml',
    'invoice.yaml',
    'labels.lock.yaml',
    'labels.schema.json',
    'retention.yaml',
  ]);
  expect((await done('production', clone, 'apply', '-f', 'labels', '-o', 'json')).json()).toMatchObject([
    { action: 'none', sent: 0 },
    { action: 'none', sent: 0 },
    { action: 'none', sent: 0 },
  ]);
  await commit(clone, 'labels: contracts become agreements');
});

const changedByHand = async (title: string, properties: object): Promise<void> => {
  const { id } = await oneOf('production', title);
  const updateMask = Object.keys(properties).join(',');
  await servers.production.send('POST', `/labels/${id}:delta`, {
    requests: [{ updateLabel: { properties, updateMask } }],
  });
  await servers.production.send('POST', `/labels/${id}:publish`, {});
};

test('a manual change in production is drift: diff reports it, apply refuses, --take decides', async () => {
  await changedByHand('Invoice', { description: 'Changed by hand' });
  const diff = await run('production', clone, 'diff', '-f', 'labels', '-o', 'json');
  const invoice = diff.json().labels.find((one: any) => one.title === 'Invoice');
  expect([diff.code, invoice.status]).toEqual([20, 'drifted']);
  expect(invoice.drift).toEqual([
    { what: 'description of the label', was: 'About Invoice', is: 'Changed by hand', undone_by_file: true },
  ]);
  const refused = await run('production', clone, 'apply', '-f', 'labels');
  expect([refused.code, refused.stderr]).toEqual([
    10,
    expect.stringContaining('would undo: description of the label'),
  ]);
  expect((await oneOf('production', 'Invoice')).properties.description).toBe('Changed by hand');
  await done('production', clone, 'apply', '-f', 'labels', '--take', 'theirs');
  expect(await readFile(file(clone, 'invoice.yaml'), 'utf8')).toContain('description: Changed by hand');
  await done('staging', clone, 'apply', '-f', 'labels');
  await areEqual('Invoice');
  await changedByHand('Invoice', { description: 'Changed by hand again' });
  expect((await run('production', clone, 'apply', '-f', 'labels')).code).toBe(10);
  await done('production', clone, 'apply', '-f', 'labels', '--take', 'ours');
  await areEqual('Invoice');
  await commit(clone, 'labels: resolve drift');
});

test('disable, and promote the state; a label that is disabled by hand is drift', async () => {
  await edit(file(clone, 'retention.yaml'), ['state: published', 'state: disabled']);
  await edit(file(clone, 'invoice.yaml'), ['disabled: false', 'disabled: true']);
  await done('staging', clone, 'apply', '-f', 'labels');
  await done('production', clone, 'apply', '-f', 'labels');
  expect((await oneOf('production', 'Retention')).lifecycle.state).toBe('DISABLED');
  expect((await oneOf('production', 'Invoice')).fields[0].lifecycle.state).toBe('DISABLED');
  await areEqual('Retention');
  await areEqual('Invoice');
  const { id } = await oneOf('production', 'Agreement');
  await servers.production.send('POST', `/labels/${id}:disable`, {});
  const diff = await run('production', clone, 'diff', '-f', 'labels', '-o', 'json');
  expect(diff.json().labels[0]).toMatchObject({
    status: 'drifted',
    drift: [{ what: 'state of the label', was: 'PUBLISHED', is: 'DISABLED' }],
  });
  await done('production', clone, 'apply', '-f', 'labels', '--take', 'ours');
  await areEqual('Agreement');
  await commit(clone, 'labels: disable retention');
});

test('two clones edit different labels: git merges the lock file, and the final apply sends no request', async () => {
  await git(home, 'clone', '-q', clone, second);
  await edit(file(clone, 'agreement.yaml'), ['Agreements with customers', 'Agreements with anybody']);
  await done('staging', clone, 'apply', '-f', 'labels');
  await commit(clone, 'labels: anybody');
  await edit(file(second, 'retention.yaml'), ['About Retention', 'How long we keep it']);
  await done('staging', second, 'apply', '-f', file(second, 'retention.yaml'));
  await commit(second, 'labels: retention');
  await git(second, 'pull', '-q', '--no-rebase', '--no-edit', 'origin', 'main');
  await done('production', second, 'apply', '-f', 'labels');
  for (const title of ['Agreement', 'Invoice', 'Retention']) await areEqual(title);
  for (const where of ['staging', 'production'] as const) {
    writes = 0;
    const applied = await done(where, second, 'apply', '-f', 'labels', '-o', 'json');
    expect(applied.json().map((one: any) => one.requests)).toEqual([0, 0, 0]);
    expect(writes).toBe(0);
  }
  await cp(file(second, 'labels.lock.yaml'), join(home, 'before.yaml'));
  await git(second, 'add', '-A');
  expect(await git(second, 'diff', '--cached', '--stat', '--', 'labels/agreement.yaml')).toBe('');
});

const pull = (cwd: string, from: string): Promise<string> =>
  git(cwd, 'pull', '-q', '--no-rebase', '--no-edit', from, 'main');
const hasMarkers = async (path: string): Promise<boolean> => /^<{7} /m.test(await readFile(path, 'utf8'));
const sendsNothing = async (cwd: string): Promise<void> => {
  for (const where of ['staging', 'production'] as const) {
    writes = 0;
    const applied = await done(where, cwd, 'apply', '-f', 'labels', '-o', 'json');
    expect(applied.json().map((one: any) => one.requests)).toEqual([0, 0, 0]);
    expect(writes).toBe(0);
  }
};

test('two clones edit one label: the second takes the first’s change, and a conflict in the lock file is resolved', async () => {
  await commit(second, 'labels: merged');
  await pull(clone, second);
  await edit(file(clone, 'agreement.yaml'), ['Agreements with anybody', 'Agreements with everybody']);
  await done('staging', clone, 'apply', '-f', 'labels');
  await commit(clone, 'labels: everybody');
  await edit(file(second, 'agreement.yaml'), ['name: Remark', 'name: Comment']);
  const refused = await run('staging', second, 'apply', '-f', 'labels');
  expect([refused.code, refused.stderr]).toEqual([
    10,
    expect.stringContaining('would undo: description of the label'),
  ]);
  await done('staging', second, 'apply', '-f', 'labels', '--take', 'theirs');
  const staged = await oneOf('staging', 'Agreement');
  expect([staged.properties.description, staged.fields[0].properties.displayName]).toEqual([
    'Agreements with everybody',
    'Comment',
  ]);
  await commit(second, 'labels: comments');
  await expect(pull(second, clone)).rejects.toThrow();
  expect(await hasMarkers(file(second, 'labels.lock.yaml'))).toBe(true);
  expect(await hasMarkers(file(second, 'agreement.yaml'))).toBe(false);
  // The lock file keeps both sides, with the newer revision of each deployment first. No changes and no drift remain.
  const merged = await done('staging', second, 'diff', '-f', 'labels', '-o', 'json');
  expect(merged.json().labels.map((one: any) => one.status)).toEqual(['same', 'same', 'same']);
  await done('staging', second, 'adopt', '-f', 'labels');
  expect(await hasMarkers(file(second, 'labels.lock.yaml'))).toBe(false);
  await done('production', second, 'apply', '-f', 'labels');
  await areEqual('Agreement');
  await sendsNothing(second);
  await commit(second, 'labels: merge everybody and comments');
});

test('two clones edit one line of a label: the conflict is rejected by line, and after a decision apply continues', async () => {
  await pull(clone, second);
  await edit(file(clone, 'agreement.yaml'), ['Agreements with everybody', 'Agreements of one kind']);
  await done('staging', clone, 'apply', '-f', 'labels');
  await commit(clone, 'labels: one kind');
  await edit(file(second, 'agreement.yaml'), ['Agreements with everybody', 'Agreements of another kind']);
  await commit(second, 'labels: another kind');
  await expect(pull(second, clone)).rejects.toThrow();
  expect(await hasMarkers(file(second, 'agreement.yaml'))).toBe(true);
  writes = 0;
  const refused = await run('staging', second, 'apply', '-f', 'labels');
  expect([refused.code, refused.stderr, writes]).toEqual([
    2,
    expect.stringMatching(/agreement\.yaml:\d+.*conflict/s),
    0,
  ]);
  const text = await readFile(file(second, 'agreement.yaml'), 'utf8');
  await writeFile(
    file(second, 'agreement.yaml'),
    text.replace(/^<{7}[\s\S]*?^>{7}.*\n/m, 'description: Agreements of both kinds\n'),
  );
  await done('staging', second, 'apply', '-f', 'labels');
  await done('production', second, 'apply', '-f', 'labels');
  expect((await oneOf('production', 'Agreement')).properties.description).toBe('Agreements of both kinds');
  await areEqual('Agreement');
  await sendsNothing(second);
});
