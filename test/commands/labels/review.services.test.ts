import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Surrounding, surrounding } from './around.ts';
import { errorOf } from '../../support/facts.ts';

let at: Surrounding;
beforeEach(async () => {
  at = await surrounding();
  await mkdir(join(at.directory, 'labels'));
});
afterEach(() => at.close());

const write = (name: string, text: string): Promise<string> => at.file(`labels/${name}`, text);
const live = async (title: string): Promise<any> =>
  (await at.server.send('GET', `/labels/${await at.id(title)}?view=LABEL_VIEW_FULL`)).json;
const done = async (...argv: string[]) => {
  const ran = await at.run(...argv);
  expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, '']);
  return ran;
};
const contract =
  'title: Contract\ndescription: d\nstate: published\nfields:\n  - {name: Note, type: text}\n  - {name: Status, type: selection, choices: [Open, Done]}\n';

test('a missing key is untouched; null and [] clear it', async () => {
  const file = await write('contract.yaml', `${contract}enabledApps: [FILES]\ncopyMode: ALWAYS_COPY\n`);
  await done('apply', '-f', file);
  const before = await live('Contract');
  await write('contract.yaml', 'title: Contract\n');
  expect((await done('apply', '-f', file, '-o', 'json')).json()).toMatchObject([
    { action: 'none', requests: 0 },
  ]);
  expect(await live('Contract')).toEqual(before);
  await write('contract.yaml', 'title: Contract\ndescription: null\nenabledApps: []\nfields: []\n');
  await done('apply', '-f', file);
  const after = await live('Contract');
  expect(after.properties).toEqual({ title: 'Contract' });
  expect(after.enabledAppSettings?.enabledApps ?? []).toEqual([]);
  expect(after.fields.map((one: any) => one.lifecycle.state)).toEqual(['DISABLED', 'DISABLED']);
});

test('a file without `type` fits a label of any type', async () => {
  await at.server.send('POST', '/labels', { labelType: 'ADMIN', properties: { title: 'By admins' } });
  await write('admins.yaml', 'title: By admins\ndescription: Said later\n');
  const ran = await at.run('apply', '-f', 'labels/admins.yaml', '-o', 'json');
  expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, '']);
  expect(ran.json()).toMatchObject([{ action: 'update' }]);
});

test('--publish on a disabled label is refused before anything is sent; `state: published` enables it', async () => {
  const file = await write('contract.yaml', contract);
  await done('apply', '-f', file);
  await at.server.send('POST', `/labels/${await at.id('Contract')}:disable`, {});
  const before = await live('Contract');
  await write(
    'contract.yaml',
    contract.replace('state: published\n', '').replace('description: d', 'description: e'),
  );
  const refused = await at.run('apply', '-f', file, '--publish');
  expect([refused.code, refused.stderr]).toEqual([10, expect.stringContaining('label Contract is disabled')]);
  expect((await live('Contract')).revisionId).toBe(before.revisionId);
  await write('contract.yaml', contract.replace('description: d', 'description: e'));
  await done('apply', '-f', file);
  expect((await live('Contract')).lifecycle).toMatchObject({ state: 'PUBLISHED' });
  await write('contract.yaml', contract.replace('state: published', 'state: draft'));
  const never = await at.run('apply', '-f', file);
  expect([never.code, never.stderr]).toEqual([10, expect.stringContaining('cannot become a draft again')]);
});

test('a plan is applied once as reviewed; a changed label or an edited plan is rejected', async () => {
  await write('contract.yaml', contract);
  await done('plan', '-f', 'labels', '--out', 'plan.json');
  expect((await at.server.send('GET', '/labels')).json).toEqual({ labels: [] });
  // Later changes of the files do not affect the plan.
  await write('contract.yaml', contract.replace('description: d', 'description: later'));
  await done('apply', '--plan', 'plan.json');
  expect((await live('Contract')).properties.description).toBe('d');
  expect((await done('apply', '--plan', 'plan.json', '-o', 'json')).json()).toMatchObject([{ requests: 0 }]);
  await done('plan', '-f', 'labels', '--out', 'plan.json');
  await at.server.send('POST', `/labels/${await at.id('Contract')}:delta`, {
    requests: [{ updateLabel: { properties: { description: 'theirs' }, updateMask: 'description' } }],
  });
  const late = await at.run('apply', '--plan', 'plan.json', '-o', 'json');
  expect([late.code, late.stderr]).toEqual([10, expect.stringContaining('PLAN_OUT_OF_DATE')]);
  expect((await live('Contract')).properties.description).toBe('theirs');
  const plan = join(at.directory, 'plan.json');
  await writeFile(plan, (await readFile(plan, 'utf8')).replaceAll('later', 'evil'));
  const edited = await at.run('apply', '--plan', 'plan.json');
  expect([edited.code, edited.stderr]).toEqual([
    2,
    expect.stringContaining('was changed after it was written'),
  ]);
});

test('the same id twice is an error that names both places', async () => {
  await write('a.yaml', 'id: abc\ntitle: A\n');
  await write('b.yaml', '# moved\ntitle: B\nid: abc\n');
  const ran = await at.run('validate', '-f', 'labels', '-o', 'json');
  expect(ran.code).toBe(2);
  expect(errorOf(ran).problems).toMatchObject([
    { file: 'labels/b.yaml', line: 3, column: 1, message: expect.stringContaining('labels/a.yaml:1:1') },
  ]);
});

test('lint: each rule of the team, with its place, and turned off', async () => {
  await write(
    'contract.yaml',
    "title: contract\npermissions: [{email: x@example.com, role: EDITOR}]\nfields:\n  - {name: S, type: selection, choices: [{name: A, badge: '#ffffff'}]}\n",
  );
  const rules = "name_pattern: '^[A-Z]'\neditors: ['@admins.example.com']\ndescription: {choices: true}\n";
  await write('labels.lint.yaml', rules);
  const found = await at.run('lint', '-f', 'labels', '-o', 'json');
  expect(found.code).toBe(20);
  expect(found.json().findings.map((one: any) => [one.lint, one.line, one.column, one.path])).toEqual([
    ['description', 1, 1, 'title'],
    ['description', 4, 42, 'fields[0].choices[0]'],
    ['name_pattern', 1, 1, 'title'],
    ['badge_contrast', 4, 52, 'fields[0].choices[0].badge'],
    ['editors', 2, 15, 'permissions[0]'],
  ]);
  await write(
    'labels.lint.yaml',
    'description: false\nname_pattern: false\nbadge_contrast: false\neditors: false\n',
  );
  expect((await at.run('lint', '-f', 'labels')).code).toBe(0);
  await write('labels.lint.yaml', 'descripton: false\n');
  expect((await at.run('lint', '-f', 'labels')).stderr).toContain('did you mean description?');
});

test('permissions of the file are applied, their drift is found, and a removal is confirmed', async () => {
  const file = (...who: string[]) => write('contract.yaml', `${contract}permissions: [${who.join(', ')}]\n`);
  const reader = '{email: reader@example.com, role: READER}';
  await file(reader);
  await done('adopt', '-f', 'labels');
  await done('apply', '-f', 'labels');
  const all = async (): Promise<string[]> =>
    (
      (await at.server.send('GET', `/labels/${await at.id('Contract')}/permissions`)).json.labelPermissions ??
      []
    ).map((one: any) => `${one.email} ${one.role}`);
  expect(await all()).toEqual(['reader@example.com READER']);
  await at.server.send('POST', `/labels/${await at.id('Contract')}/permissions`, {
    email: 'new@example.com',
    role: 'EDITOR',
  });
  const drifted = await at.run('apply', '-f', 'labels', '--yes');
  expect([drifted.code, drifted.stderr]).toEqual([
    10,
    expect.stringContaining('permission of new@example.com'),
  ]);
  expect((await at.run('apply', '-f', 'labels', '--take', 'ours')).code).toBe(2);
  await done('apply', '-f', 'labels', '--take', 'ours', '--yes');
  expect(await all()).toEqual(['reader@example.com READER']);
});

test('a lock file with conflict markers is read as both sides, and adopt writes the result', async () => {
  await write('contract.yaml', contract);
  await done('apply', '-f', 'labels');
  await done('adopt', '-f', 'labels', '--deployment', 'here');
  const path = join(at.directory, 'labels', 'labels.lock.yaml');
  const text = await readFile(path, 'utf8');
  const line = text.split('\n').find((one) => one.includes('revision:')) ?? '';
  const ours = line.replace(/"\d+"/, '"1"');
  await writeFile(path, text.replace(line, `<<<<<<< HEAD\n${ours}\n=======\n${line}\n>>>>>>> theirs`));
  await done('diff', '-f', 'labels', '--deployment', 'here');
  await done('adopt', '-f', 'labels', '--deployment', 'here');
  expect(await readFile(path, 'utf8')).toBe(text);
  await writeFile(path, 'version: 7\n');
  const broken = await at.run('apply', '-f', 'labels');
  expect([broken.code, broken.stderr]).toEqual([
    2,
    expect.stringContaining('is not a lock file of version 1'),
  ]);
});

test('the schema accepts what the reader accepts, and exported files name it on the first line', async () => {
  const schema = (await done('schema')).json();
  expect(schema.required).toEqual(['title']);
  expect(Object.keys(schema.properties)).toContain('state');
  await write('contract.yaml', contract);
  await done('apply', '-f', 'labels');
  await done('export', '--all', '-f', 'out');
  expect(JSON.parse(await readFile(join(at.directory, 'out', 'labels.schema.json'), 'utf8'))).toEqual(schema);
});

test('diff as Markdown is a table with the changes', async () => {
  await write('contract.yaml', contract);
  const ran = await at.run('diff', '-f', 'labels', '--summary', 'markdown');
  expect(ran.code).toBe(20);
  expect(ran.stdout).toMatch(/^### Labels: 1 new\n/);
  expect(ran.stdout).toContain('| Contract | labels/contract.yaml | new |');
  expect(ran.stdout).toContain('+ field Note added: text');
});
