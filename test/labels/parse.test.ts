import { describe, expect, test } from 'vitest';
import { definitionFrom } from '../../src/labels/read-files.ts';
import { problemFacts } from '../support/facts.ts';

const definition = (value: object) => definitionFrom({ title: 'T', ...value }).definition;
const wrong = (value: unknown) => definitionFrom(value).problems.map(problemFacts);
const wrongIn = (value: object) => wrong({ title: 'T', ...value });
const field = (value: object) => definition({ fields: [{ name: 'F', ...value }] }).fields?.[0];

describe('parsing of a definition', () => {
  test('the parser returns exactly the keys of the file', () => {
    expect(definition({})).toEqual({ title: 'T' });
    const all = {
      ...{ key: 'k', id: 'i', was: 'W', revision: '3', title: 'T', type: 'ADMIN', description: 'd' },
      ...{
        learnMoreUri: 'https://x.example',
        state: 'draft',
        copyMode: 'ALWAYS_COPY',
        enabledApps: ['MAIL'],
      },
    } as const;
    expect(definition(all)).toEqual(all);
    expect(definition({ title: 2024, description: true, key: 7 })).toEqual({
      ...{ title: '2024', description: 'true', key: '7' },
    });
  });
  test('each invalid entry of a list is one problem', () => {
    const choices = [true, null, 'a'];
    const found = wrongIn({ fields: [{ name: 'F', type: 'selection', choices }] });
    expect(found.map((text) => text.split(' | ')[0])).toEqual([
      'fields[0].choices[0]',
      'fields[0].choices[1]',
    ]);
  });
  test('the parser distinguishes null from a missing key', () => {
    expect(
      definition({ description: null, enabledApps: null, permissions: null, fields: null, type: null }),
    ).toEqual({ title: 'T', description: null, enabledApps: [], permissions: [], fields: [] });
  });
  test('the parser returns fields and choices; a bare name is a choice', () => {
    expect(
      field({ choices: ['x', 7, { name: 'y', description: null, badge: null, disabled: null }] }),
    ).toEqual({
      name: 'F',
      type: 'selection',
      choices: [{ name: 'x' }, { name: '7' }, { name: 'y', description: null, badge: null, disabled: false }],
    });
    expect(field({ type: 'date', dateFormat: 'short', required: true })).toEqual({
      ...{ name: 'F', type: 'date', dateFormat: 'SHORT_DATE', required: true },
    });
    expect(field({ type: 'date', dateFormat: 'long', required: null })).toMatchObject({
      ...{ dateFormat: 'LONG_DATE', required: false },
    });
    expect(field({ type: 'user', maxEntries: null })).toEqual({ name: 'F', type: 'user', maxEntries: null });
    expect(field({ type: 'user', maxEntries: 0 })).toEqual({ name: 'F', type: 'user', maxEntries: 0 });
    expect(field({ choices: null })?.choices).toEqual([]);
  });
  test('the parser returns badges by their color, or by color and priority', () => {
    const badge = (value: unknown) => field({ choices: [{ name: 'x', badge: value }] })?.choices?.[0]?.badge;
    expect(badge('#AABBCC')).toEqual({ color: '#aabbcc' });
    expect(badge({ color: '#aabbcc80', priority: -3 })).toEqual({ color: '#aabbcc80', priority: '-3' });
    expect(badge({ priority: '12' })).toEqual({ priority: '12' });
    expect(badge({})).toBeNull();
    expect(badge({ priority: 0 })).toBeNull();
  });
  test('the parser returns the policy of a disabled label', () => {
    expect(definition({ state: 'disabled', disabledPolicy: { hideInSearch: true } })).toEqual({
      title: 'T',
      state: 'disabled',
      disabledPolicy: { hideInSearch: true, showInApply: false },
    });
    expect(definition({ state: 'disabled', disabledPolicy: null })).toEqual({
      title: 'T',
      state: 'disabled',
    });
  });
});

describe('problems of a definition', () => {
  test.each([
    [null, ' | type'],
    [['x'], ' | type'],
    ['x', ' | type'],
    [{}, 'title | required'],
    [{ title: ' ' }, 'title | required'],
    [{ title: null }, 'title | required'],
    [{ title: { a: 1 } }, 'title | type'],
    [{ title: ['a'] }, 'title | type'],
  ])('%j', (value, said) => {
    expect(wrong(value)).toEqual([said]);
  });
  test.each([
    [{ state: 'gone' }, 'state | enum'],
    [{ copyMode: 'NEVER' }, 'copyMode | enum'],
    [{ enabledApps: 'MAIL' }, 'enabledApps | type'],
    [{ enabledApps: ['MAIL', 3] }, expect.stringMatching(/^enabledApps \| type/)],
    [{ disabledPolicy: {} }, 'disabledPolicy | rule | `state: disabled`'],
    [{ state: 'published', disabledPolicy: {} }, expect.stringMatching(/^disabledPolicy \| rule/)],
    [{ state: 'disabled', disabledPolicy: true }, 'disabledPolicy | type'],
    [{ state: 'disabled', disabledPolicy: { hideInSearch: 'yes' } }, 'disabledPolicy.hideInSearch | type'],
    [{ state: 'disabled', disabledPolicy: { hideInSerch: true } }, 'disabledPolicy.hideInSerch | unknown'],
    [{ zzzzzz: 1 }, 'zzzzzz | unknown'],
    [{ description: ['x'] }, 'description | type'],
    [{ fields: 'x' }, 'fields | type'],
    [{ permissions: {} }, 'permissions | type'],
    [
      {
        permissions: [
          { role: 'READER', email: 'a@x' },
          { role: 'EDITOR', email: 'A@X' },
        ],
      },
      'permissions[1] | rule',
    ],
    [{ permissions: [{ role: 'READER' }] }, expect.stringMatching(/^permissions\[0\] \| required/)],
  ])('%j', (value, said) => {
    expect(wrongIn(value)).toEqual([said]);
  });
  test('an unknown key gets the similar key as a hint', () => {
    const [found] = definitionFrom({
      title: 'T',
      state: 'disabled',
      disabledPolicy: { hideInSerch: true },
    }).problems;
    expect(found?.hint).toContain('hideInSearch');
  });
  test.each([
    [{}, 'type | enum'],
    [{ type: 'txt' }, 'type | enum'],
    [{ type: 'text', maxEntries: 2 }, 'maxEntries | rule'],
    [{ type: 'text', required: 'yes' }, 'required | type'],
    [{ type: 'text', disabled: 'yes' }, expect.stringMatching(/^disabled \| type/)],
    [{ type: 'text', disabled: { hide: true } }, expect.stringMatching(/^disabled\.hide \| unknown/)],
    [{ type: 'user', maxEntries: 2 ** 60 }, 'maxEntries | type | 0 | 9007199254740991'],
    [{ type: 'user', maxEntries: '3' }, 'maxEntries | type | 0 | 9007199254740991'],
    [{ type: 'date', dateFormat: 'iso' }, 'dateFormat | enum'],
    [{ choices: 'x' }, 'choices | type'],
    [{ choices: [true] }, 'choices[0] | type'],
    [{ choices: [{ name: '' }] }, 'choices[0].name | required'],
    [{ choices: [{ name: 'x', id: 'a-b' }] }, 'choices[0].id | format'],
    [{ choices: [{ name: 'x', badge: 7 }] }, expect.stringMatching(/^choices\[0\]\.badge \| type/)],
    [{ choices: [{ name: 'x', badge: 'red' }] }, 'choices[0].badge.color | format | #1a2b3c'],
    [{ choices: [{ name: 'x', badge: { priority: 'a1' } }] }, 'choices[0].badge.priority | format'],
    [{ choices: ['x', 'y', 'x'] }, 'choices[2].name | rule | "x"'],
    [
      {
        choices: [
          { name: 'x', id: 'a' },
          { name: 'y', id: 'a' },
        ],
      },
      'choices[1].id | rule | "a"',
    ],
    [
      {
        choices: [
          { name: 'x', key: 'a' },
          { name: 'y', key: 'a' },
        ],
      },
      'choices[1].key | rule | "a"',
    ],
  ])('a problem of a field: %j', (value, said) => {
    const [only, ...more] = wrongIn({ fields: [{ name: 'F', ...value }] });
    expect([only?.replace(/^fields\[0\]\./, ''), more]).toEqual([said, []]);
    expect(only).toMatch(/^fields\[0\]\./);
  });
  test('entries with the same name are distinguished by their IDs if both have one', () => {
    const twins = (a: object, b: object) =>
      wrongIn({
        fields: [
          { name: 'F', type: 'text', ...a },
          { name: 'F', type: 'text', ...b },
        ],
      });
    expect(twins({ id: 'a' }, { id: 'b' })).toEqual([]);
    for (const [a, b] of [
      [{}, {}],
      [{ id: 'a' }, {}],
      [{}, { id: 'b' }],
    ] as const)
      expect(twins(a, b)).toEqual([expect.stringContaining('fields[1].name | rule | "F"')]);
    expect(
      wrongIn({
        fields: [
          { name: '', type: 'text' },
          { name: '', type: 'text' },
        ],
      }),
    ).toEqual(['fields[0].name | required', 'fields[1].name | required']);
  });
});

describe("the service's own JSON", () => {
  const wire = (value: object) => definitionFrom({ properties: { title: 'T' }, ...value });
  test("the service's own JSON is a definition, and missing keys stay unchanged in the service", () => {
    expect(wire({}).definition).toEqual({ title: 'T' });
    expect(wire({ id: 'L', labelType: 'ADMIN', revisionId: '4' }).definition).toEqual({
      ...{ id: 'L', title: 'T', type: 'ADMIN', revision: '4' },
    });
    expect(wire({ appliedLabelPolicy: {}, enabledAppSettings: {} }).definition).toEqual({
      ...{ title: 'T', copyMode: 'DO_NOT_COPY', enabledApps: [] },
    });
  });
  test('the full view reports an empty description and no fields; other views omit them', () => {
    expect(wire({ lifecycle: { state: 'PUBLISHED' } }).definition).toEqual({
      ...{ title: 'T', description: null, fields: [] },
    });
    expect(definitionFrom({ properties: { title: 'T', description: 'd' } }).definition).toEqual({
      ...{ title: 'T', description: 'd' },
    });
    expect(wire({ fields: [] }).definition).toEqual({ title: 'T', fields: [] });
    expect(wire({ fields: [], zzz: 1 }).problems).toEqual([]);
  });
});
