import { describe, expect, test } from 'vitest';
import { definitionSchema, schemaLine, schemaText } from '../../src/labels/read-files.ts';
import { labelsInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';

const described = (title: string, more = ''): string => `title: ${title}\ndescription: d\n${more}`;
const lint = async (files: Readonly<Record<string, string>>, ...more: string[]) => {
  const at = labelsInMemory(files);
  const ran = await at.run(['lint', '-f', 'labels', '-o', 'json', ...more]);
  const found = () => ran.json().findings.map((one: any) => `${one.lint} ${one.file ?? ''} ${one.path}`);
  return { ...ran, found };
};

describe('labels lint', () => {
  test('labels lint uses the built-in rules if the team has none of its rules', async () => {
    const good = await lint({ 'labels/a.yaml': described('A') });
    expect([good.code, good.json(), good.requests]).toEqual([0, { definitions: 1, findings: [] }, []]);
    const bad = await lint({
      'labels/a.yaml': 'title: A\n',
      'labels/b.yaml': described(
        '" B"',
        "permissions: [{role: EDITOR, email: e@x.example}]\nfields: [{name: S, choices: [{name: Pale, badge: '#fffff0'}]}]\n",
      ),
    });
    expect(bad.code).toBe(20);
    expect(bad.found()).toEqual([
      'description labels/a.yaml title',
      'name_pattern labels/b.yaml title',
      'badge_contrast labels/b.yaml fields[0].choices[0].badge',
    ]);
  });
  test('labels lint reads labels.lint.yaml next to the definitions, or the named file', async () => {
    const rules =
      'description: false\nname_pattern: ^[a-z]\nbadge_contrast: {min: 1}\neditors: ["@x.example"]\n';
    const files = {
      'labels/a.yaml':
        "title: A\npermissions: [{role: EDITOR, email: e@y.example}]\nfields: [{name: s, choices: [{name: p, badge: '#fffff0'}]}]\n",
    };
    const beside = await lint({ ...files, 'labels/labels.lint.yaml': rules });
    expect(beside.found()).toEqual([
      'name_pattern labels/a.yaml title',
      'editors labels/a.yaml permissions[0]',
    ]);
    const named = await lint({ ...files, 'team.yaml': rules }, '--rules', 'team.yaml');
    expect(named.found()).toEqual(beside.found());
    const piped = await labelsInMemory().run(['lint', '-f', '-', '-o', 'json'], { stdin: described('A') });
    expect([piped.code, piped.json().findings]).toEqual([0, []]);
    const one = labelsInMemory({ ...files, 'labels/labels.lint.yaml': rules });
    const file = await one.run(['lint', '-f', 'labels/a.yaml', '-o', 'json']);
    expect(file.json().findings).toHaveLength(2);
  });
  test('`true` is the standard, and an object changes what it names', async () => {
    const files = { 'labels/a.yaml': 'title: A\nfields: [{name: S, choices: [x]}]\n' };
    const found = async (rules: string) =>
      (await lint({ ...files, 'labels/labels.lint.yaml': rules })).found();
    const title = 'description labels/a.yaml title';
    const choice = 'description labels/a.yaml fields[0].choices[0]';
    expect(await found('description: true\n')).toEqual([title]);
    expect(await found('description: {choices: true}\n')).toEqual([title, choice]);
    expect(await found('description: {labels: false, choices: true}\n')).toEqual([choice]);
    expect(await found('editors: true\ndescription: false\n')).toEqual([]);
  });
  test.each([
    ['descriptions: true\n', 'descriptions', ['description']],
    ['zzzzzzzz: true\n', 'zzzzzzzz', ['description', 'name_pattern', 'badge_contrast', 'editors']],
    ['name_pattern: 3\n', 'name_pattern', []],
    ['editors: everybody\n', 'editors', []],
    ['badge_contrast: 3\n', 'badge_contrast', ['true', 'false']],
    ['description: yes please\n', 'description', ['true', 'false']],
  ])('refuses the rules %j', async (rules, path, values) => {
    const ran = await lint({ 'labels/a.yaml': described('A'), 'labels/labels.lint.yaml': rules });
    const [found] = ran.error().problems;
    expect([ran.code, found.path]).toEqual([2, path]);
    expect(`${found.path} ${found.message} ${found.hint ?? ''}`).toEqual(naming(path, ...values));
  });
  test('refuses rules that are not a map', async () => {
    const ran = await lint({ 'labels/a.yaml': described('A'), 'labels/labels.lint.yaml': '- description\n' });
    expect([ran.code, ran.error().message]).toEqual([2, naming('labels/labels.lint.yaml', 'map', 'rules')]);
  });
  test('a definition that the lock file does not have, and a record without one, are found', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': described('A'), 'labels/b.yaml': described('B') });
    await at.run(['apply', '-f', 'labels']);
    await at.run(['adopt', '-f', 'labels']);
    const run = async () => (await at.run(['lint', '-f', 'labels', '-o', 'json'])).json().findings;
    expect(await run()).toEqual([]);
    await at.remove('labels/b.yaml');
    await at.write('labels/c.yaml', described('C'));
    await at.write('labels/d.yaml', described('D', 'key: unknown\n'));
    expect(await run()).toMatchObject([
      { lint: 'orphans', file: 'labels/c.yaml', path: 'title', rule: 'rule' },
      { lint: 'orphans', file: 'labels/d.yaml', path: 'title', hint: 'opsctl labels adopt' },
      { lint: 'orphans', path: '', message: naming('b.yaml', 'lock', 'exist') },
    ]);
    const lock = at.read('labels/labels.lock.yaml') ?? '';
    await at.write('labels/labels.lock.yaml', lock.replace(/ +file: b.yaml\n|^ +file: "b.yaml"\n/m, ''));
    expect((await run()).at(-1)).toMatchObject({
      message: expect.stringContaining('entry b'),
      hint: expect.stringContaining('--forget b'),
    });
  });
  test('a finding is a line with the name of its rule', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n' });
    const { out } = await at.run(['lint', '-f', 'labels'], { tty: ['stdout'] });
    expect(out).toEqual(naming('labels/a.yaml:1:1', 'label A', 'description'));
    expect(out.trimEnd()).toMatch(/\[description\]$/);
  });
});

describe('the schema for editors', () => {
  const schema = definitionSchema();
  test('the schema describes every key and lists the required ones', () => {
    const { field, choice, badge, permission } = schema.$defs;
    expect([schema.required, field.required, choice.required, permission.required]).toEqual([
      ...[['title'], ['name'], ['name']],
      ['role'],
    ]);
    expect(Object.keys(schema.properties)).toEqual([
      ...['key', 'id', 'was', 'revision', 'title', 'type', 'description', 'learnMoreUri', 'state', 'protect'],
      ...['disabledPolicy', 'copyMode', 'enabledApps', 'permissions', 'fields'],
    ]);
    expect(schema.properties['title']).toEqual({
      description: 'Title of the label',
      type: ['string', 'number', 'boolean'],
    });
    expect(badge.anyOf.map((one: any) => one.type)).toEqual(['null', 'string', 'object']);
    expect((badge.anyOf[2] as any).required).toEqual([]);
  });
  test('allows no other member anywhere, as the reader refuses them', () => {
    const { field, choice, badge, permission } = schema.$defs;
    const policy = schema.properties['disabledPolicy'] as any;
    const all: any[] = [schema, field, choice, badge.anyOf[2], permission, policy];
    expect(all.map((one) => one.additionalProperties)).toEqual([false, false, false, false, false, false]);
    expect(field.properties['maxEntries']).toMatchObject({ minimum: 0, type: ['integer', 'null'] });
    expect(Object.keys(policy.properties)).toEqual(['hideInSearch', 'showInApply']);
  });
  test('the schema is a readable file, and the first line of each definition names it', async () => {
    expect(schemaText()).toMatch(
      /^\{\n {2}"\$schema": "http:\/\/json-schema.org\/draft-07\/schema#",\n[\s\S]*\n\}\n$/,
    );
    expect(schemaLine).toBe('# yaml-language-server: $schema=./labels.schema.json\n');
    const printed = await labelsInMemory().run(['schema']);
    expect(JSON.parse(printed.out)).toEqual(schema);
  });
});
