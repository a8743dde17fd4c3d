import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Surrounding, surrounding } from './around.ts';
import { covers } from '../../support/covers.ts';

let at: Surrounding;
beforeEach(async () => {
  at = await surrounding({ seed: 'demo' });
});
afterEach(() => at.close());

const printed = async (...argv: string[]): Promise<string> => {
  const { code, stdout, stderr } = await at.run(...argv);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
};
const edit = JSON.stringify([
  { createField: { field: { properties: { displayName: 'Due' }, dateOptions: {} } } },
  { updateLabel: { properties: { title: 'Renamed' }, updateMask: 'title' } },
]);

test('-o name prints resource names everywhere, and a write that is done is never called invalid arguments', async () => {
  const name = (await printed('create', '--label-type', 'SHARED', '--title', 'Mine', '-o', 'name')).trim();
  expect(name).toMatch(/^labels\/\w+$/);
  expect(await printed('get', 'Mine', '-o', 'name')).toBe(`${name}\n`);
  expect(await printed('delta', 'Mine', '--requests', edit, '-o', 'name')).toBe(`${name}\n`);
  expect(await printed('publish', name, '--yes', '-o', 'name')).toBe(`${name}\n`);
  expect(await printed('diff', name, '-o', 'name')).toBe(`${name}\n`);
  expect(await printed('disable', name, '-o', 'name')).toBe(`${name}\n`);
  expect(await printed('limits', 'get', '-o', 'name')).toBe('limits/label\n');
  const permission = await printed(
    'permissions',
    'create',
    name,
    '--email',
    'a@x.com',
    '--role',
    'READER',
    '-o',
    'name',
  );
  expect(permission).toMatch(new RegExp(`^${name}/permissions/\\w+\n$`));
  const more = JSON.stringify([{ labelPermission: { email: 'b@x.com', role: 'EDITOR' } }]);
  expect(await printed('permissions', 'batch-update', name, '--requests', more, '-o', 'name')).toMatch(
    new RegExp(`^${name}/permissions/\\w+\n$`),
  );
  expect(await printed('permissions', 'delete', name, 'A@x.com', '--yes', '-o', 'name')).toBe('');
  const file = await at.file('l.yaml', 'title: New one\n');
  expect(await printed('apply', '-f', file, '--dry-run', '-o', 'name')).toBe('New one\n');
  expect(await printed('apply', '-f', file, '-o', 'name')).toMatch(/^labels\/\w+\n$/);
  expect(await printed('delete', name, '--yes', '-o', 'name')).toBe('');
  expect((await at.run('get', name)).code).toBe(6);
});

test('an edit on a terminal shows what was made and the label, not pages of JSON', async () => {
  await printed('create', '--label-type', 'SHARED', '--title', 'Mine');
  const drawn = await printed('delta', 'Mine', '--requests', edit, '-o', 'table');
  expect(drawn).toMatch(
    /^ {2}createField: \w+, position 1\n {2}updateLabel\nRenamed {2}labels\/\w+\n {2}SHARED, draft, revision 2\n {2}Due {2}date/,
  );
});

test('rows of a batch are rows', async () => {
  const requests = JSON.stringify([
    { labelPermission: { email: 'b@x.com', role: 'EDITOR' } },
    { labelPermission: { group: 'groups/1', role: 'READER' } },
  ]);
  const csv = await printed('permissions', 'batch-update', 'Retention', '--requests', requests, '-o', 'csv');
  expect(csv.split('\n')).toHaveLength(4);
  expect(
    JSON.parse(
      await printed('permissions', 'batch-update', 'Retention', '--requests', requests, '-o', 'json'),
    ).permissions,
  ).toHaveLength(2);
});

test('--fields narrows a read, and never ends a list early', async () => {
  const all = JSON.parse(
    await printed('list', '--fields', 'labels(id,properties/title)', '--page-size', '2', '-o', 'json'),
  );
  expect(all).toHaveLength(8);
  expect(Object.keys(all[0])).toEqual(['id', 'properties']);
  expect(
    JSON.parse(
      await printed(
        'get',
        'Contract',
        '--fields',
        'id,lifecycle/state',
        '--view',
        'LABEL_VIEW_FULL',
        '-o',
        'json',
      ),
    ),
  ).toEqual({
    id: await at.id('Contract'),
    lifecycle: { state: 'PUBLISHED' },
  });
  expect(await at.run('list', '--fields', 'labels/colour')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('Invalid field selection colour'),
  });
});

test('all missing values for a new label are reported together', async () => {
  const { code, stderr } = await at.run('create');
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/--title is required[^\n]*\n {2}--label-type is required/),
  ]);
});

test('the error states that an unpublished label has no published form', async () => {
  expect(await at.run('export', 'Sensitivity', '--published')).toMatchObject({
    code: 6,
    stderr: expect.stringMatching(
      /label Sensitivity was never published\n {2}try: opsctl labels export labels\/\w+\n/,
    ),
  });
  expect((await at.run('export', 'Contract', '--published')).code).toBe(0);
});

test('a missing flag is reported under the typed name, before a title is looked up', async () => {
  expect(await at.run('update-copy-mode', 'No such label')).toMatchObject({
    code: 2,
    stderr:
      'error: opsctl labels update-copy-mode: invalid arguments\n  --copy-mode is required\n  try: opsctl labels update-copy-mode --help\n',
  });
  expect((await at.run('revisions', 'permissions', 'batch-update', 'Contract')).stderr).toContain(
    'opsctl labels revisions permissions batch-update: invalid arguments\n  --requests is required',
  );
});

test('a permission is selected by its principal; an unknown one is not found', async () => {
  expect(await at.run('permissions', 'delete', 'Retention', 'nobody@x.com', '--yes')).toMatchObject({
    code: 6,
    stderr: expect.stringContaining('nobody@x.com'),
  });
});

test(
  'a permission whose name has two segments is deleted by a batch',
  covers('spec/program#choices-8'),
  async () => {
    await printed('permissions', 'create', 'Retention', '--person', 'people/7', '--role', 'READER');
    const id = await at.id('Retention');
    const name = `labels/${id}/permissions/people/7`;
    expect(await at.run('permissions', 'delete', name)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`Delete ${name}?`),
    });
    await printed('permissions', 'delete', name, '--yes');
    expect(JSON.parse(await printed('permissions', 'list', 'Retention', '-o', 'json'))).toEqual([]);
  },
);

test('permissions go out as a table and come back; a file with two documents is refused', async () => {
  const table = await printed('permissions', 'list', 'Contract', '-o', 'csv');
  const file = await at.file('p.csv', table.replace('APPLIER', 'READER'));
  const synced = JSON.parse(await printed('permissions', 'sync', 'Contract', '-f', file, '-o', 'json'));
  expect(synced).toMatchObject({
    added: [],
    removed: [],
    changed: [{ from: 'APPLIER', to: { role: 'READER', audience: 'audiences/default' } }],
  });
  expect(JSON.parse(await printed('permissions', 'sync', 'Contract', '-f', file, '-o', 'json')).sent).toBe(
    false,
  );
  const bad = await at.file('bad.csv', 'email,role\na@x.com,OWNER\n');
  expect(await at.run('permissions', 'sync', 'Contract', '-f', bad)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('bad.csv:2: role must be one of'),
  });
  const two = await at.file(
    'two.yaml',
    '- {email: a@x.com, role: READER}\n---\n- {email: b@x.com, role: READER}\n',
  );
  expect(await at.run('permissions', 'sync', 'Contract', '-f', two)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('several documents'),
  });
});
