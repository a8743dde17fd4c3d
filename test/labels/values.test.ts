import { describe, expect, test } from 'vitest';
import { labelsInMemory } from '../support/in-memory.ts';

const definition = ['title: Contract ${suffix}', 'description: ${text}', 'permissions: ${editors}', ''].join(
  '\n',
);
const files = (more: Readonly<Record<string, string>> = {}) => ({
  'labels/contract.yaml': definition,
  'labels/values/staging.yaml':
    'suffix: (staging)\ntext: For tests\neditors:\n  - {role: EDITOR, email: everyone@example.com}\n',
  'labels/values/production.yaml':
    'suffix: ""\ntext: null\neditors:\n  - {role: EDITOR, email: legal@example.com}\n',
  ...more,
});
const apply = (deployment: string): string[] => [
  'apply',
  '-f',
  'labels',
  '--deployment',
  deployment,
  '--yes',
  '-o',
  'json',
];
const labelOf = (at: ReturnType<typeof labelsInMemory>): any =>
  at.send('GET', '/labels?pageSize=200&view=LABEL_VIEW_FULL').labels[0];

describe('values of a deployment', () => {
  test('values fill texts and whole keys, and a second apply makes no changes', async () => {
    const at = labelsInMemory(files());
    expect((await at.run(apply('staging'))).code).toBe(0);
    const { properties, name } = labelOf(at);
    expect(properties).toMatchObject({ title: 'Contract (staging)', description: 'For tests' });
    expect(at.send('GET', `/${name}/permissions`).labelPermissions.map(({ email }: any) => email)).toContain(
      'everyone@example.com',
    );
    expect((await at.run(apply('staging'))).writes).toEqual([]);
  });

  test('come from a named file as well, and a saved plan contains them', async () => {
    const at = labelsInMemory(files({ 'other.yaml': 'suffix: X\ntext: T\neditors: []\n' }));
    const words = ['plan', '-f', 'labels', '--values', 'other.yaml', '--out', 'plan.json'];
    expect((await at.run(words)).code).toBe(0);
    await at.remove('other.yaml');
    expect((await at.run(['apply', '--plan', 'plan.json', '--yes'])).code).toBe(0);
    expect(labelOf(at).properties.title).toBe('Contract X');
  });

  test('a definition that uses one value needs a deployment', async () => {
    const definitions = [
      'title: A ${suffix}\ndescription: plain\n',
      'title: A\nfields: [{name: N, type: text, description: "${text}"}]\n',
    ];
    for (const definition of definitions) {
      const at = labelsInMemory(files({ 'labels/contract.yaml': definition }));
      const ran = await at.run(['apply', '-f', 'labels', '--yes', '-o', 'json']);
      expect([ran.code, ran.writes]).toEqual([2, []]);
    }
  });

  test.each([
    ['no deployment is named', ['apply', '-f', 'labels'], {}, '--deployment'],
    ['the deployment has no values', apply('test'), {}, 'production, staging'],
    [
      'a value is missing',
      apply('staging'),
      { 'labels/values/staging.yaml': 'suffix: x\neditors: []\n' },
      'text',
    ],
    [
      'a list is part of a text',
      apply('staging'),
      { 'labels/contract.yaml': 'title: A ${editors}\n' },
      'editors',
    ],
    [
      'a value reads like another',
      apply('staging'),
      { 'labels/values/staging.yaml': 'suffix: 007\n' },
      '007',
    ],
    [
      'a deployment has two values files',
      apply('staging'),
      { 'labels/values/staging.yml': 'suffix: x\ntext: y\neditors: []\n' },
      'labels/values/staging.yml',
    ],
    [
      'a value inside a text ends with a line end',
      apply('staging'),
      { 'labels/values/staging.yaml': 'suffix: |\n  x\ntext: y\neditors: []\n' },
      'ends with a line end',
    ],
    ['a value is empty', apply('staging'), { 'labels/values/staging.yaml': 'editors:\n' }, 'editors'],
  ])('values are rejected when %s', async (_, words, more, text) => {
    const at = labelsInMemory(files(more));
    const ran = await at.run(words);
    expect([ran.code, ran.writes, ran.err]).toEqual([2, [], expect.stringContaining(text)]);
  });

  test('validate checks the values for every deployment', async () => {
    const at = labelsInMemory(files());
    expect((await at.run(['validate', '-f', 'labels'])).code).toBe(0);
    await at.write('labels/values/production.yaml', 'suffix: x\n');
    expect((await at.run(['validate', '-f', 'labels'])).code).toBe(2);
  });

  test('--take theirs does not replace values', async () => {
    const at = labelsInMemory(files());
    await at.run(apply('staging'));
    at.edit('Contract (staging)', { description: 'edited' });
    const ran = await at.run([...apply('staging'), '--take', 'theirs']);
    expect([ran.code, at.read('labels/contract.yaml')]).toEqual([2, definition]);
  });
  test('--take theirs does not replace values if another field changed too', async () => {
    const text = `${definition}fields: [{name: Note, type: text}]\n`;
    const at = labelsInMemory(files({ 'labels/contract.yaml': text }));
    expect((await at.run(apply('staging'))).code).toBe(0);
    const { name, fields } = labelOf(at);
    const updateField = {
      ...{ id: fields[0].id, properties: { displayName: 'Memo' }, updateMask: 'displayName' },
    };
    at.send('POST', `/${name}:delta`, { requests: [{ updateField }] });
    at.edit('Contract (staging)', { description: 'theirs' });
    const ran = await at.run([...apply('staging'), '--take', 'theirs']);
    expect([ran.code, ran.error().problems[0].path, ran.written]).toEqual([2, 'description', []]);
  });

  test('a value that does not fit names the definition and the line of the values file', async () => {
    const at = labelsInMemory({
      'labels/a.yaml': 'title: A\nstate: ${state}\npermissions: ${people}\nodd: ${state}\n',
      'labels/values/staging.yaml': '# for tests\nstate: publishd\npeople:\n  - {role: READ}\n',
    });
    const ran = await at.run(['diff', '-f', 'labels', '--deployment', 'staging', '-o', 'json']);
    expect([ran.code, ran.requests]).toEqual([2, []]);
    const problems: readonly { path: string; message: string; line: number }[] = ran.error().problems;
    const places = problems.map(({ path, message, line }) => [
      path,
      line,
      /staging\.yaml:\d+$/.exec(message)?.[0],
    ]);
    expect(places).toContainEqual(['state', 2, 'staging.yaml:2']);
    expect(places).toContainEqual(['permissions[0].role', 3, 'staging.yaml:3']);
    // A key that is not known is a fault of the definition.
    expect(places).toContainEqual(['odd', 4, undefined]);
  });

  test('a value that no definition of the directory uses is reported', async () => {
    const values = 'suffix: x\ntext: t\neditors: []\nEditors: []\nx-base: 1\nold: 2\n';
    const at = labelsInMemory(files({ 'labels/values/staging.yaml': values }));
    const ran = await at.run(apply('staging'));
    expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('uses Editors, old\n')]);
    // Other directories may use a shared file. A named file of the directory is its own file.
    await at.write('shared.yaml', values);
    const shared = (file: string) => at.run(['plan', '-f', 'labels', '--values', file]);
    expect((await shared('shared.yaml')).err).not.toContain('no definition uses');
    expect((await shared('labels/values/staging.yaml')).err).toContain('uses Editors, old\n');
    // One file of the directory does not show which values the other files use.
    const one = ['plan', '-f', 'labels/contract.yaml', '--deployment', 'staging'];
    expect((await at.run(one)).err).not.toContain('no definition uses');
  });

  test('leave files without a values directory as they are, and $${name} is text', async () => {
    const plain = labelsInMemory({ 'labels/a.yaml': 'title: A ${x}\n' });
    const ran = await plain.run(['apply', '-f', 'labels']);
    expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('labels/a.yaml: ${x} stays text')]);
    expect(labelOf(plain).properties.title).toBe('A ${x}');
    const at = labelsInMemory(files({ 'labels/contract.yaml': 'title: A $${suffix}\n' }));
    expect((await at.run(apply('staging'))).code).toBe(0);
    expect(labelOf(at).properties.title).toBe('A ${suffix}');
  });
});
