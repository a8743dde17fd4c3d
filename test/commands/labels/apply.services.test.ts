import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Surrounding, answering, everything, surrounding } from './around.ts';
import { errorOf } from '../../support/facts.ts';

let at: Surrounding;
beforeEach(async () => {
  at = await surrounding();
});
afterEach(() => at.close());

const label = async (title: string) =>
  (await at.server.send('GET', `/labels/${await at.id(title)}?view=LABEL_VIEW_FULL`)).json;
const applied = async (file: string, ...more: string[]) => {
  const ran = await at.run('apply', '-f', file, '-o', 'json', ...more);
  expect({ code: ran.code, stderr: ran.code === 0 ? '' : ran.stderr }).toEqual({ code: 0, stderr: '' });
  return ran.json();
};

test('a second apply of an export sends no request, for every kind of field', async () => {
  const file = await at.file('label.yaml', everything);
  expect(await applied(file, '--publish')).toMatchObject([
    { action: 'create', published: true, revision: '2' },
  ]);
  expect(await applied(file, '--publish')).toMatchObject([
    { action: 'none', sent: 0, published: false, revision: '2' },
  ]);
  const exported = await at.run('export', 'Everything');
  expect(exported.code).toBe(0);
  const again = await at.file('again.yaml', exported.stdout);
  expect(await applied(again, '--publish')).toMatchObject([
    { action: 'none', sent: 0, changes: [], revision: '2' },
  ]);
  expect((await at.run('export', 'Everything')).stdout).toBe(exported.stdout);
  const json = await label('Everything');
  expect(json.fields).toHaveLength(8);
  expect(json.fields[5].selectionOptions).toMatchObject({
    listOptions: { maxEntries: 4 },
    choices: [{}, {}, { properties: { displayName: '2024' } }],
  });
  expect(json.fields[7].userOptions).toEqual({ listOptions: { maxEntries: 10 } });
  expect(json).toMatchObject({
    appliedLabelPolicy: { copyMode: 'COPY_APPLIABLE' },
    enabledAppSettings: { enabledApps: [{ app: 'FILES' }, { app: 'MAIL' }] },
  });
});

test('export -o json is one list of the definitions, --jq sees it, and apply reads it back', async () => {
  for (const title of ['One', 'Two'])
    await at.run(
      'apply',
      '-f',
      await at.file(`${title}.yaml`, `title: ${title}\nfields: [{name: Note, type: text}]\n`),
    );
  const exported = await at.run('export', '--all', '-o', 'json');
  expect(exported.json()).toMatchObject([
    { title: 'One', fields: [{ name: 'Note', type: 'text' }] },
    { title: 'Two', fields: [{ name: 'Note', type: 'text' }] },
  ]);
  expect((await at.run('export', '--all', '--jq', '.[].title')).stdout).toBe('One\nTwo\n');
  expect((await at.run('export', 'One', '-o', 'yaml')).stdout).toMatch(/^# labels\//);
  const file = await at.file('all.json', exported.stdout);
  const applied = await at.run('apply', '-f', file, '-o', 'json');
  expect(
    applied.json().map(({ title, action }: { title: string; action: string }) => [title, action]),
  ).toEqual([
    ['One', 'none'],
    ['Two', 'none'],
  ]);
  const wrong = await at.run(
    'apply',
    '-f',
    await at.file('wrong.json', '[{"title": "One", "type": "SHARED", "fields": []}, {"fields": 3}]'),
  );
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('wrong.json: [1]') });
});

test('an exported label makes the same label in an empty service, with disabled parts as far as a draft allows', async () => {
  await applied(await at.file('label.yaml', everything), '--publish');
  const exported = (await at.run('export', 'Everything')).stdout;
  await at.server.send('DELETE', `/labels/${await at.id('Everything')}`);
  expect(await applied(await at.file('again.yaml', exported), '--publish')).toMatchObject([
    { action: 'create' },
  ]);
  const withoutIds = (text: string): string => text.replace(/^ *(id|revision): .*\n|^#.*\n/gm, '');
  expect(withoutIds((await at.run('export', 'Everything')).stdout)).toBe(withoutIds(exported));
});

test('one atomic delta adds, renames, moves, disables and deletes, and the plan lists the changes', async () => {
  await applied(await at.file('label.yaml', everything), '--publish');
  const next = `title: Everything else
was: Everything
type: SHARED
description: All kinds of fields
copyMode: ALWAYS_COPY
fields:
  - {name: Added, type: text}
  - {name: Remark, was: Note, type: text, required: false}
  - {name: Owner, type: user}
  - {name: Count, type: integer}
  - {name: Long day, type: date, dateFormat: long}
  - name: State
    type: selection
    required: true
    choices: [Void, {name: Finished, was: Done, badge: '#11aa44'}, New]
  - {name: Tags, type: selection, maxEntries: 6, choices: [A, B, 2024]}
  - {name: Readers, type: user, maxEntries: 10, disabled: {showInApply: true}}
`;
  const file = await at.file('next.yaml', next);
  const dry = await at.run('apply', '-f', file, '--dry-run', '-o', 'json');
  expect(dry.json()).toMatchObject([{ action: 'update', sent: 0, published: false }]);
  expect((await label('Everything')).revisionId).toBe('2');
  const [result] = await applied(file);
  expect(result).toMatchObject({ action: 'update', revision: '3', published: false });
  const said = result.changes.map(
    (c: { what: string; kind: string; detail?: string }) =>
      `${c.what} ${c.kind}${c.detail ? `: ${c.detail}` : ''}`,
  );
  expect(said).toEqual(
    expect.arrayContaining([
      'label Everything else renamed: from Everything',
      'field Added added: text',
      'field Remark renamed: from Note',
      'field Owner moved: before Count',
      'field Short day disabled: it is not in the file',
      'choice Finished of field State renamed: from Done',
      'choice Open of field State disabled: it is not in the file',
      'choice New of field State added',
      'field Tags changed: at most 6 values',
      'field Readers disabled',
    ]),
  );
  const json = await label('Everything else');
  expect(json.revisionId).toBe('3');
  expect(
    json.fields
      .filter((f: any) => f.lifecycle.state !== 'DISABLED')
      .map((f: any) => f.properties.displayName),
  ).toEqual(['Added', 'Remark', 'Owner', 'Count', 'Long day', 'State', 'Tags']);
  expect(await applied(file)).toMatchObject([{ action: 'none', sent: 0 }]);
  const gone = await at.run('apply', '-f', file, '--prune', '-o', 'json');
  expect(gone).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  expect(await applied(file, '--prune', '--yes')).toMatchObject([
    { changes: [{ kind: 'deleted' }, { kind: 'deleted' }] },
  ]);
});

test.each([
  ['a title that is too long', `title: ${'x'.repeat(101)}\n`, 'must have at most 100 characters, has 101'],
  [
    'too many fields',
    `title: T\nfields:\n${Array.from({ length: 11 }, (_, i) => `  - {name: f${i}, type: text}\n`).join('')}`,
    'at most 10 fields',
  ],
  ['too many values', 'title: T\nfields: [{name: f, type: user, maxEntries: 11}]\n', 'at most 10 values'],
])('%s is refused before anything is sent', async (_, text, said) => {
  const ran = await at.run('apply', '-f', await at.file('wrong.yaml', text), '-o', 'json');
  expect(ran.code).toBe(10);
  expect(ran.stderr).toContain(said);
  expect((await at.server.send('GET', '/labels')).json).toEqual({ labels: [] });
});

test.each([
  ['an unknown key', 'titel: x\n', 'did you mean title?'],
  [
    'a wrong type',
    'title: T\nfields: [{name: f, type: txt}]\n',
    'must be one of text, integer, date, selection, user',
  ],
  [
    'a member of another type',
    'title: T\nfields: [{name: f, type: text, choices: [a]}]\n',
    'belongs to selection fields',
  ],
  [
    'a colour name',
    'title: T\nfields: [{name: f, type: selection, choices: [{name: a, badge: red}]}]\n',
    '#1a2b3c',
  ],
  [
    'two fields of one name',
    'title: T\nfields: [{name: f, type: text}, {name: f, type: text}]\n',
    'repeats the name',
  ],
  ['broken YAML', 'title: [\n', 'YAML'],
  ['an empty file', '# nothing\n', 'the file has no content'],
])('%s is a usage error that names the place', async (_, text, said) => {
  const ran = await at.run('apply', '-f', await at.file('wrong.yaml', text), '-o', 'json');
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain(said);
});

test('the plan rejects changes of frozen values and names the rule', async () => {
  await applied(await at.file('label.yaml', everything), '--publish');
  const changed = everything
    .replace('{name: Count, type: integer}', '{name: Count, type: text}')
    .replace('maxEntries: 4', 'maxEntries: 2')
    .replace('{name: Owner, type: user}', '{name: Owner, type: user, maxEntries: 2}')
    .replace('type: SHARED', 'type: ADMIN');
  const ran = await at.run('apply', '-f', await at.file('changed.yaml', changed), '-o', 'json');
  expect(ran.code).toBe(10);
  for (const said of ['its type is frozen', 'it cannot shrink to 2', 'that is fixed', 'cannot become ADMIN'])
    expect(ran.stderr).toContain(said);
  expect((await label('Everything')).revisionId).toBe('2');
});

test('an export that the service rejects leaves no file behind', async () => {
  const out = join(at.directory, 'refused');
  const ran = await at.runWith({ OPSCTL_LABELS_URL: 'http://127.0.0.1:1' }, 'export', '--all', '-f', out);
  expect(ran.code).not.toBe(0);
  expect(await readdir(at.directory)).not.toContain('refused');
});
test('documents, files and a directory are applied one by one, and a failure does not stop the rest', async () => {
  const two = await at.file('two.yaml', 'title: One\n---\ntitle: Two\n');
  expect(await applied(two)).toMatchObject([{ title: 'One' }, { title: 'Two' }]);
  const out = join(at.directory, 'out');
  const exported = await at.run('export', '--all', '-f', out, '-o', 'json');
  expect(exported.json().map((row: { title: string }) => row.title)).toEqual(['One', 'Two']);
  expect(await readdir(out)).toEqual(['labels.schema.json', 'one.yaml', 'two.yaml']);
  expect(await readFile(join(out, 'one.yaml'), 'utf8')).toContain('title: One');
  expect(await applied(out)).toMatchObject([{ action: 'none' }, { action: 'none' }]);
});

test('an export to a .yaml name is one file with all labels, and its apply sends no request', async () => {
  await applied(await at.file('two.yaml', 'title: One\n---\ntitle: Two\n'));
  const file = join(at.directory, 'all.yaml');
  const exported = await at.run('export', 'One', 'Two', '-f', file, '-o', 'json');
  expect(exported.json().map((row: { file: string }) => row.file)).toEqual([file, file]);
  expect((await readFile(file, 'utf8')).match(/^title: .*$/gm)).toEqual(['title: One', 'title: Two']);
  expect(await applied(file)).toMatchObject([{ action: 'none' }, { action: 'none' }]);
  expect(
    (await at.run('export', 'One', '-f', join(at.directory, 'dry.yml'), '--dry-run', '-o', 'json')).code,
  ).toBe(0);
  expect(await readdir(at.directory)).not.toContain('dry.yml');
});

test("the service's own JSON is a definition as well", async () => {
  await applied(await at.file('label.yaml', everything), '--publish');
  const got = await at.run('get', 'Everything', '--view', 'LABEL_VIEW_FULL', '-o', 'yaml');
  expect(await applied(await at.file('wire.yaml', got.stdout))).toMatchObject([{ action: 'none', sent: 0 }]);
});

test('an edit between plan and delta is refused by the pin and explained', async () => {
  await applied(await at.file('label.yaml', everything));
  const id = await at.id('Everything');
  const meddle = answering({});
  const ran = await at.runOn(
    (host) => {
      const machine = meddle(host);
      const request = machine.network.request.bind(machine.network);
      const between = async (r: Parameters<typeof request>[0]) => {
        if (r.url.endsWith(':delta'))
          await at.server.send('POST', `/labels/${id}:delta`, {
            requests: [{ updateLabel: { properties: { description: 'theirs' }, updateMask: 'description' } }],
          });
        return request(r);
      };
      return { ...machine, network: { ...machine.network, request: between } };
    },
    'apply',
    '-f',
    await at.file('mine.yaml', everything.replace('All kinds of fields', 'mine')),
    '-o',
    'json',
  );
  expect(ran.code).toBe(10);
  const error = errorOf(ran);
  expect(error).toMatchObject({ code: 'CHANGED_MEANWHILE' });
  expect(error.message).toMatch(/revision 1,.*revision is 2/);
  expect(error.message).toContain('description');
  expect((await label('Everything')).properties.description).toBe('theirs');
});

test('a file from an older revision may add, but not undo', async () => {
  await applied(await at.file('label.yaml', everything));
  const id = await at.id('Everything');
  // Files of earlier versions contain the revision from which they were written.
  const mine = (await at.run('export', 'Everything')).stdout.replace('\ntitle:', '\nrevision: 1\ntitle:');
  await at.server.send('POST', `/labels/${id}:delta`, {
    requests: [{ updateLabel: { properties: { description: 'theirs' }, updateMask: 'description' } }],
  });
  const undoing = await at.run(
    'apply',
    '-f',
    await at.file('mine.yaml', mine.replace('name: Count', 'name: Number')),
    '-o',
    'json',
  );
  expect(undoing.code).toBe(10);
  expect(undoing.stderr).toContain('would undo: description of the label');
  const adding = mine.replace('name: Count', 'name: Number').replace('All kinds of fields', 'theirs');
  expect(await applied(await at.file('mine.yaml', adding))).toMatchObject([
    { changes: [{ kind: 'renamed' }] },
  ]);
  expect(await applied(await at.file('mine.yaml', mine), '--force')).toMatchObject([{ action: 'update' }]);
});

test('a draft may go back down to what is published, and not below it', async () => {
  const people = (maxEntries: number) =>
    at.file('p.yaml', `title: P\nfields:\n  - {name: Who, type: user, maxEntries: ${maxEntries}}\n`);
  await applied(await people(2), '--publish');
  await applied(await people(9));
  expect(await applied(await people(4))).toMatchObject([{ action: 'update', revision: '4' }]);
  const { code, stderr } = await at.run('apply', '-f', await people(1));
  expect([code, stderr]).toEqual([
    10,
    expect.stringContaining('was published with maxEntries 2; it cannot shrink to 1'),
  ]);
});

test('--publish reports in advance that it publishes pending changes', async () => {
  const file = await at.file('p.yaml', 'title: P\n');
  await applied(file);
  const ran = await at.run('apply', '-f', file, '--publish', '-o', 'json');
  expect(ran.stderr).toContain(
    'note: revision 1 has changes that are not published yet; they are published as well',
  );
  expect(ran.json()).toMatchObject([{ action: 'none', published: true, revision: '2' }]);
});
