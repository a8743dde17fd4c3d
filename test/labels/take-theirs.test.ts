import { describe, expect, test } from 'vitest';
import { documentsIn } from '../../src/labels/read-files.ts';
import { type LabelsInMemory, labelsInMemory } from '../support/in-memory.ts';

const FILE = 'labels/a.yaml';
const text = `# by legal
title: A
description: ours # said so
state: published
copyMode: DO_NOT_COPY
enabledApps: []
fields:
  - name: Note # first
    type: text
    required: false
  - {name: Status, type: selection, choices: [Open, {name: Done, description: ours}, Void]}
  - {name: Who, type: user, maxEntries: 3}
`;
type Part = { readonly id: string; readonly properties: { readonly displayName: string } };
/** The changes of another user: edits of one delta, by the names of the parts. */
type Edits = (id: (name: string) => string) => readonly object[];

/** Applies and adopts a label, changes it as another user, and runs `--take theirs` on the file of that time. */
const taken = async (
  edits: Edits,
  options: {
    readonly file?: string;
    readonly before?: string;
    readonly also?: (at: LabelsInMemory) => void;
  } = {},
) => {
  const at = labelsInMemory({ [FILE]: options.before ?? text });
  await at.run(['apply', '-f', 'labels', '--yes']);
  await at.run(['adopt', '-f', 'labels']);
  const { fields } = at.label('A');
  const parts: Part[] = fields.flatMap((field: any) => [field, ...(field.selectionOptions?.choices ?? [])]);
  const id = (name: string): string =>
    parts.find(({ properties }) => properties.displayName === name)?.id ?? '';
  const requests = edits(id);
  if (requests.length > 0) at.send('POST', `/labels/${at.id('A')}:delta`, { requests });
  options.also?.(at);
  if (options.file !== undefined) await at.write(FILE, options.file);
  const ran = await at.run(['apply', '-f', 'labels', '--take', 'theirs', '--yes', '-o', 'json']);
  const after = at.read(FILE) ?? '';
  const [document] = documentsIn(FILE, after);
  return { at, ran, after, value: document?.value as any };
};
const namesOf = (parts: readonly (string | { readonly name: string })[]): string[] =>
  parts.map((part) => (typeof part === 'string' ? part : part.name));
const field = (displayName: string, before?: string) => ({
  createField: {
    field: {
      properties: { displayName, ...(before === undefined ? {} : { insertBeforeField: before }) },
      textOptions: {},
    },
  },
});
const choice = (fieldId: string, displayName: string, before?: string) => ({
  createSelectionChoice: {
    fieldId,
    choice: { properties: { displayName, ...(before === undefined ? {} : { insertBeforeChoice: before }) } },
  },
});
const updateChoice = (fieldId: string, id: string, properties: object) => ({
  updateSelectionChoiceProperties: { fieldId, id, properties, updateMask: Object.keys(properties).join() },
});
const updateField = (id: string, properties: object) => ({
  updateField: { id, properties, updateMask: Object.keys(properties).join() },
});

describe('--take theirs of a label', () => {
  test('takes its texts and its settings, and keeps the comments', async () => {
    const { ran, after, at } = await taken(
      () => [{ updateLabel: { properties: { description: 'theirs' }, updateMask: 'description' } }],
      {
        also: (label) => {
          const path = `/labels/${label.id('A')}`;
          label.send('POST', `${path}:updateLabelCopyMode`, { copyMode: 'ALWAYS_COPY' });
          label.send('POST', `${path}:updateLabelEnabledAppSettings`, {
            enabledAppSettings: { enabledApps: [{ app: 'MAIL' }] },
          });
        },
      },
    );
    expect(ran.code).toBe(0);
    expect(after).toBe(
      text
        .replace('description: ours #', 'description: theirs #')
        .replace('copyMode: DO_NOT_COPY', 'copyMode: ALWAYS_COPY')
        .replace('enabledApps: []', 'enabledApps:\n  - MAIL'),
    );
    expect(at.label('A').properties.description).toBe('theirs');
  });
  test('takes a title, and a description that is gone', async () => {
    const { value, ran } = await taken(() => [
      { updateLabel: { properties: { title: 'A', description: '' }, updateMask: 'title,description' } },
    ]);
    expect([ran.code, value.description]).toEqual([0, null]);
    const renamed = await taken(() => [{ updateLabel: { properties: { title: 'B' }, updateMask: 'title' } }]);
    expect([renamed.ran.code, renamed.value.title]).toEqual([0, 'B']);
  });
  test('takes the state; that of a newer draft is still published', async () => {
    const disabled = await taken(() => [], {
      also: (at) => at.send('POST', `/labels/${at.id('A')}:disable`, {}),
    });
    expect([disabled.ran.code, disabled.value.state]).toEqual([0, 'disabled']);
    const off = await taken(() => [], {
      before: text.replace('state: published', 'state: disabled'),
      also: (at) => {
        at.send('POST', `/labels/${at.id('A')}:enable`, {});
        at.edit('A', { title: 'A' });
      },
    });
    expect([off.ran.code, off.value.state]).toEqual([0, 'published']);
  });
  test('--take theirs accepts all permissions', async () => {
    const before = `${text}permissions: [{role: EDITOR, email: e@example.com}]\n`;
    const { ran, value } = await taken(() => [], {
      before,
      also: (at) =>
        void at.send('POST', `/labels/${at.id('A')}/permissions`, { role: 'READER', email: 'r@example.com' }),
    });
    expect([ran.code, value.permissions]).toEqual([
      0,
      [
        { role: 'EDITOR', email: 'e@example.com' },
        { role: 'READER', email: 'r@example.com' },
      ],
    ]);
  });
});

describe('--take theirs of fields', () => {
  test('takes their names and members', async () => {
    const { ran, value, after } = await taken((id) => [
      updateField(id('Note'), { displayName: 'Remark', required: true }),
      updateField(id('Who'), { displayName: 'People' }),
    ]);
    expect([ran.code, namesOf(value.fields), value.fields[0].required]).toEqual([
      0,
      ['Remark', 'Status', 'People'],
      true,
    ]);
    expect(after).toContain('name: Remark # first');
    // The run publishes only the pending change in the service, as the file requires.
    expect(ran.writes.map(({ path }) => path.split(':')[1])).toEqual(['publish']);
  });
  test('--take theirs inserts new fields at their position in the service', async () => {
    const of = async (...edits: readonly Edits[]) =>
      namesOf((await taken((id) => edits.flatMap((edit) => edit(id)))).value.fields);
    expect(await of((id) => [field('N', id('Note'))])).toEqual(['N', 'Note', 'Status', 'Who']);
    expect(await of((id) => [field('N', id('Status'))])).toEqual(['Note', 'N', 'Status', 'Who']);
    expect(await of(() => [field('N')])).toEqual(['Note', 'Status', 'Who', 'N']);
    expect(await of((id) => [field('N', id('Who')), field('M', id('Note'))])).toEqual([
      ...['M', 'Note', 'Status', 'N', 'Who'],
    ]);
  });
  test('--take theirs removes deleted fields, and keeps fields that only the file has', async () => {
    const gone: Edits = (id) => [
      { disableField: { id: id('Note'), disabledPolicy: {}, updateMask: '*' } },
      { deleteField: { id: id('Note') } },
    ];
    expect(namesOf((await taken(gone)).value.fields)).toEqual(['Status', 'Who']);
    const file = text.replace('  - {name: Who,', '  - {name: Mine, type: text}\n  - {name: Who,');
    const { ran, value } = await taken(gone, { file });
    expect([ran.code, namesOf(value.fields)]).toEqual([0, ['Status', 'Mine', 'Who']]);
    expect(ran.json()[0].changes).toMatchObject([
      { kind: 'added', what: 'field Mine' },
      { kind: 'published' },
    ]);
  });
  test('--take theirs removes the only field that the service had', async () => {
    const { ran, value } = await taken(
      (id) => [
        { disableField: { id: id('N'), disabledPolicy: {}, updateMask: '*' } },
        { deleteField: { id: id('N') } },
      ],
      { before: 'title: A\nstate: published\nfields: [{name: N, type: text}]\n' },
    );
    expect([ran.code, value.fields]).toEqual([0, []]);
  });
  test('takes the order', async () => {
    const { ran, value } = await taken((id) => [updateField(id('Who'), { insertBeforeField: id('Note') })]);
    expect([ran.code, namesOf(value.fields)]).toEqual([0, ['Who', 'Note', 'Status']]);
    const more = await taken((id) => [updateField(id('Who'), { insertBeforeField: id('Note') }), field('N')]);
    expect(namesOf(more.value.fields)).toEqual(['Who', 'Note', 'Status', 'N']);
  });
  test('--take theirs accepts a disabled field, and creates a missing list', async () => {
    const { value } = await taken(
      (id) => [{ disableField: { id: id('Who'), disabledPolicy: { hideInSearch: true }, updateMask: '*' } }],
      { before: text.replace('maxEntries: 3}', 'maxEntries: 3, disabled: false}') },
    );
    expect(value.fields[2].disabled).toEqual({ hideInSearch: true });
    const none = await taken(() => [field('N')], { before: 'title: A\nstate: published\nfields: null\n' });
    expect([none.ran.code, namesOf(none.value.fields)]).toEqual([0, ['N']]);
  });
});

describe('--take theirs of choices', () => {
  const choicesOf = async (...given: Parameters<typeof taken>) => {
    const { ran, value } = await taken(...given);
    expect([ran.code, ran.code === 0 ? '' : ran.err]).toEqual([0, '']);
    return value.fields[1].choices;
  };
  test('--take theirs accepts names and keys of choices, including a bare name', async () => {
    expect(
      await choicesOf((id) => [
        updateChoice(id('Status'), id('Open'), { displayName: 'Opened' }),
        updateChoice(id('Status'), id('Done'), { description: 'theirs' }),
      ]),
    ).toEqual([{ name: 'Opened' }, { name: 'Done', description: 'theirs' }, 'Void']);
    expect(await choicesOf((id) => [updateChoice(id('Status'), id('Done'), { description: '' })])).toEqual([
      ...['Open', { name: 'Done', description: null }],
      'Void',
    ]);
  });
  test('--take theirs inserts new choices, removes deleted ones, and accepts the order', async () => {
    expect(namesOf(await choicesOf((id) => [choice(id('Status'), 'N', id('Done'))]))).toEqual([
      ...['Open', 'N', 'Done', 'Void'],
    ]);
    expect(namesOf(await choicesOf((id) => [choice(id('Status'), 'N')]))).toEqual([
      'Open',
      'Done',
      'Void',
      'N',
    ]);
    const gone: Edits = (id) => [
      {
        disableSelectionChoice: {
          ...{ fieldId: id('Status'), id: id('Open'), disabledPolicy: {}, updateMask: '*' },
        },
      },
      { deleteSelectionChoice: { fieldId: id('Status'), id: id('Open') } },
    ];
    expect(namesOf(await choicesOf(gone))).toEqual(['Done', 'Void']);
    expect(
      namesOf(
        await choicesOf((id) => [updateChoice(id('Status'), id('Void'), { insertBeforeChoice: id('Open') })]),
      ),
    ).toEqual(['Void', 'Open', 'Done']);
  });
  test('--take theirs updates the correct one of two fields, even after fields were added before them', async () => {
    const before = text.replace(
      '{name: Who,',
      '{name: Kind, type: selection, choices: [Big]}\n  - {name: Who,',
    );
    const { value } = await taken(
      (id) => [field('N', id('Note')), choice(id('Kind'), 'Small'), choice(id('Status'), 'New')],
      { before },
    );
    expect(namesOf(value.fields)).toEqual(['N', 'Note', 'Status', 'Kind', 'Who']);
    expect([namesOf(value.fields[2].choices), namesOf(value.fields[3].choices)]).toEqual([
      ['Open', 'Done', 'Void', 'New'],
      ['Big', 'Small'],
    ]);
  });
});

test('--take theirs updates the correct document of a file, and the others stay unchanged', async () => {
  const files =
    'title: A\ndescription: ours\n---\n# second\ntitle: B\n---\nnull\n---\ntitle: C\ndescription: ours\n';
  const at = labelsInMemory({ 'all.yaml': files });
  await at.run(['apply', '-f', 'all.yaml']);
  await at.run(['adopt', '-f', 'all.yaml']);
  at.edit('C', { description: 'theirs' });
  const ran = await at.run(['apply', '-f', 'all.yaml', '--take', 'theirs', '--yes']);
  expect([ran.code, at.read('all.yaml')]).toEqual([0, files.replace(/ours\n$/, 'theirs\n')]);
});

test('flow style keeps its spaces as the file has them', async () => {
  for (const fields of [
    '[{name: N, type: text, required: false}]',
    '[ { name: N, type: text, required: false } ]',
  ]) {
    const before = `title: A\nstate: published\nfields: ${fields}\n`;
    const { after } = await taken((id) => [updateField(id('N'), { required: true })], { before });
    expect(after).toBe(before.replace('required: false', 'required: true'));
  }
});
