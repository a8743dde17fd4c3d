import { afterAll, beforeAll, expect, test } from 'vitest';
import { commands } from '../../../src/commands/labels/commands.ts';
import { operations } from '../../../src/core/operation.ts';
import { labelsService } from '../../../src/api-specs/labels/labels.ts';
import { type Surrounding, answering, surrounding } from './around.ts';

let at: Surrounding;
beforeAll(async () => {
  at = await surrounding({ seed: 'demo' });
});
afterAll(() => at.close());

const row = (method: string, path: string) =>
  commands.filter((c) => c.operation?.operation.method === method && c.operation.operation.path === path);

test('every one of the 26 rows has a command with unique words', () => {
  for (const { operation } of operations(labelsService.table))
    expect(row(operation.method, operation.path).map((c) => c.path.join(' '))).toHaveLength(1);
  const words = commands.map((c) => c.path.join(' '));
  expect(new Set(words).size).toBe(words.length);
  expect(words).toHaveLength(26 + 13);
});

test('list reads every page; --limit stops it; the output is never truncated silently', async () => {
  for (let i = 0; i < 7; i++)
    await at.server.send('POST', '/labels', { labelType: 'SHARED', properties: { title: `Many ${i}` } });
  const all = (await at.run('list', '--page-size', '2', '-o', 'json')).json();
  expect(all).toHaveLength(15);
  expect(new Set(all.map((l: { id: string }) => l.id)).size).toBe(15);
  expect((await at.run('list', '--page-size', '2', '--limit', '3', '-o', 'json')).json()).toHaveLength(3);
  expect((await at.run('locks', 'list', 'Contract', '--page-size', '1', '-o', 'json')).json()).toHaveLength(
    3,
  );
  expect((await at.run('list', '--dry-run', '-o', 'json')).json()).toMatchObject({
    dry_run: true,
    method: 'GET',
  });
});

test('a label is named by id, labels/<id>, title, title in other case, and with a revision', async () => {
  const id = await at.id('Project phase');
  for (const typed of [id, `labels/${id}`, 'Project phase', 'project PHASE']) {
    expect((await at.run('get', typed, '-o', 'json')).json()).toMatchObject({ id, revisionId: '3' });
  }
  expect((await at.run('get', 'Project phase@published', '-o', 'json')).json()).toMatchObject({
    revisionId: '2',
  });
  expect((await at.run('get', `${id}@2`, '-o', 'json')).json()).toMatchObject({ revisionId: '2' });
  expect((await at.run('get', 'Retention', '-o', 'json')).json()).toMatchObject({
    properties: { title: 'Retention' },
  });
});

test('an unknown title suggests the nearest one; an ambiguous title lists both labels', async () => {
  expect(await at.run('get', 'Project phas')).toMatchObject({
    code: 6,
    stderr: expect.stringContaining('Project phase'),
  });
  const { json: one } = await at.server.send('POST', '/labels', {
    labelType: 'SHARED',
    properties: { title: 'Twice told' },
  });
  const { json: two } = await at.server.send('POST', '/labels', {
    labelType: 'ADMIN',
    properties: { title: 'Twice told' },
  });
  const ran = await at.run('get', 'Twice told');
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain(`labels/${one.id} (SHARED), labels/${two.id} (ADMIN)`);
});

test('a column beyond the short view asks for the full one, in every format', async () => {
  const named = await at.run(
    'list',
    '-o',
    'csv',
    '--no-header',
    '--columns',
    'properties.title,lifecycle.state',
  );
  expect([named.stdout.split('\n').includes('Retention,DISABLED'), named.stderr]).toEqual([true, '']);
  expect((await at.run('get', 'Retention', '-o', 'json', '--columns', 'lifecycle.state')).json()).toEqual({
    'lifecycle.state': 'DISABLED',
  });
  const short = await at.run(
    'list',
    '-o',
    'ndjson',
    '--columns',
    'lifecycle.state',
    '--view',
    'LABEL_VIEW_BASIC',
  );
  expect(short.stderr).toMatch(/--columns.*`lifecycle\.state`/);
});

test('the life of a label through the derived commands', async () => {
  const made = (
    await at.run(
      'create',
      '--label-type',
      'SHARED',
      '--title',
      'Lifetime',
      '--description',
      'short',
      '-o',
      'json',
    )
  ).json();
  expect(made).toMatchObject({ properties: { title: 'Lifetime', description: 'short' }, revisionId: '1' });
  const requests = JSON.stringify([
    { createField: { field: { properties: { displayName: 'F' }, textOptions: {} } } },
  ]);
  expect(
    (await at.run('delta', 'Lifetime', '--requests', requests, '--revision', '1', '-o', 'json')).json(),
  ).toMatchObject({
    responses: [{ createField: {} }],
    updatedLabel: { revisionId: '2' },
  });
  expect(await at.run('delta', 'Lifetime', '--requests', requests, '--revision', '1')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('not the latest revision'),
  });
  expect((await at.run('publish', 'Lifetime', '--yes', '-o', 'json')).json()).toMatchObject({
    revisionId: '3',
  });
  expect((await at.run('disable', 'Lifetime', '-o', 'json')).json()).toMatchObject({
    lifecycle: { state: 'DISABLED' },
  });
  expect((await at.run('enable', 'Lifetime', '--admin', '-o', 'json')).json()).toMatchObject({
    lifecycle: { state: 'PUBLISHED' },
  });
  expect(
    (
      await at.run(
        'update-copy-mode',
        'Lifetime',
        '--copy-mode',
        'ALWAYS_COPY',
        '--view',
        'LABEL_VIEW_FULL',
        '-o',
        'json',
      )
    ).json(),
  ).toMatchObject({ appliedLabelPolicy: { copyMode: 'ALWAYS_COPY' } });
  const apps = JSON.stringify({ enabledApps: [{ app: 'FILES' }] });
  expect(
    (await at.run('update-enabled-app-settings', 'Lifetime', '--enabled-app-settings', apps, '-o', 'json'))
      .code,
  ).toBe(0);
  expect(await at.run('delete', 'Lifetime', '--revision', '1', '--yes')).toMatchObject({ code: 5 });
  expect(await at.runOn(answering({ confirm: () => true }), 'delete', 'Lifetime')).toMatchObject({ code: 0 });
  expect((await at.run('get', 'Lifetime')).code).toBe(6);
});

test('permissions are available by label and by revision', async () => {
  const made = (
    await at.run(
      'permissions',
      'create',
      'Retention',
      '--email',
      'reader@example.com',
      '--role',
      'READER',
      '-o',
      'json',
    )
  ).json();
  expect(made).toMatchObject({ role: 'READER', person: 'people/100000000000000000003' });
  expect(
    (
      await at.run(
        'permissions',
        'update',
        'Retention',
        '--email',
        'reader@example.com',
        '--role',
        'EDITOR',
        '-o',
        'json',
      )
    ).json(),
  ).toMatchObject({ role: 'EDITOR', name: made.name });
  expect(
    (await at.run('revisions', 'permissions', 'list', 'Retention', 'latest', '-o', 'json')).json(),
  ).toMatchObject([{ email: 'reader@example.com' }]);
  expect(
    (await at.run('revisions', 'locks', 'list', 'Contract', 'published', '-o', 'json')).json(),
  ).toHaveLength(3);
  expect((await at.run('permissions', 'delete', 'Retention', 'reader@example.com', '--yes')).code).toBe(0);
  expect((await at.run('permissions', 'list', 'Retention', '-o', 'json')).json()).toEqual([]);
  expect(await at.run('permissions', 'delete', 'Retention', '--yes')).toMatchObject({ code: 2 });
});

test('limits and capabilities', async () => {
  expect((await at.run('limits', 'get', '-o', 'json')).json()).toMatchObject({ maxFields: 10 });
  expect((await at.run('capabilities', 'get', '-o', 'json')).json()).toMatchObject({
    name: 'users/me/capabilities',
  });
  expect((await at.run('capabilities', 'get', 'colleague@example.com', '-o', 'json')).json()).toMatchObject({
    canCreateAdminLabels: false,
  });
});

test.each([
  [[], undefined],
  [['--use-admin-access'], true],
])(
  'a permission with a name of two segments is deleted by a batch with the requested rights: %j',
  async (flags, admin) => {
    const name = 'labels/L1/permissions/people/1';
    const shown = await at.run('permissions', 'delete', name, ...flags, '--dry-run', '-o', 'json');
    expect(shown.json()).toMatchObject({ method: 'POST', body: { requests: [{ name }] } });
    expect(shown.json().body.useAdminAccess).toBe(admin);
  },
);
