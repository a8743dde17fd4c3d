import { describe, expect, test } from 'vitest';
import { definitionFrom } from '../../src/labels/read-files.ts';

const definition = (value: object) => definitionFrom({ title: 'T', ...value }).definition;
const wrong = (value: unknown) =>
  definitionFrom(value).problems.map(({ path, rule, message, hint }) =>
    [path, rule, message, ...(hint === undefined ? [] : [hint])].join(' | '),
  );
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
    [null, ' | type | must be a label: title, type, fields'],
    [['x'], ' | type | must be a label: title, type, fields'],
    ['x', ' | type | must be a label: title, type, fields'],
    [{}, 'title | required | is required'],
    [{ title: ' ' }, 'title | required | is required'],
    [{ title: null }, 'title | required | is required'],
    [{ title: { a: 1 } }, 'title | type | must be text'],
    [{ title: ['a'] }, 'title | type | must be text'],
  ])('%j', (value, said) => {
    expect(wrong(value)).toEqual([said]);
  });
  test.each([
    [{ state: 'gone' }, 'state | enum | must be one of draft, published, disabled; got gone'],
    [{ copyMode: 'NEVER' }, expect.stringMatching(/^copyMode \| enum \| must be one of .*; got NEVER$/)],
    [{ enabledApps: 'MAIL' }, 'enabledApps | type | must be a list of app names, for example [FILES, MAIL]'],
    [{ enabledApps: ['MAIL', 3] }, expect.stringMatching(/^enabledApps \| type/)],
    [{ disabledPolicy: {} }, 'disabledPolicy | rule | belongs to `state: disabled`'],
    [{ state: 'published', disabledPolicy: {} }, expect.stringMatching(/^disabledPolicy \| rule/)],
    [
      { state: 'disabled', disabledPolicy: true },
      'disabledPolicy | type | must be {hideInSearch, showInApply}',
    ],
    [
      { state: 'disabled', disabledPolicy: { hideInSearch: 'yes' } },
      'disabledPolicy.hideInSearch | type | must be true or false',
    ],
    [
      { state: 'disabled', disabledPolicy: { hideInSerch: true } },
      expect.stringMatching(/^disabledPolicy\.hideInSerch \| unknown .* \| did you mean hideInSearch\?$/),
    ],
    [{ zzzzzz: 1 }, expect.stringMatching(/^zzzzzz \| unknown \| is not a known key \(key, id, [^|]*$/)],
    [{ description: ['x'] }, 'description | type | must be text'],
    [{ fields: 'x' }, 'fields | type | must be a list'],
    [{ permissions: {} }, 'permissions | type | must be a list'],
    [
      {
        permissions: [
          { role: 'READER', email: 'a@x' },
          { role: 'EDITOR', email: 'A@X' },
        ],
      },
      'permissions[1] | rule | names A@X a second time',
    ],
    [{ permissions: [{ role: 'READER' }] }, expect.stringMatching(/^permissions\[0\] \| required/)],
  ])('%j', (value, said) => {
    expect(wrongIn(value)).toEqual([said]);
  });
  test.each([
    [{}, 'type | enum | must be one of text, integer, date, selection, user; got nothing'],
    [{ type: 'txt' }, 'type | enum | must be one of text, integer, date, selection, user; got txt'],
    [
      { type: 'text', maxEntries: 2 },
      'maxEntries | rule | belongs to selection and user fields, this is a text field',
    ],
    [{ type: 'text', required: 'yes' }, 'required | type | must be true or false'],
    [{ type: 'text', disabled: 'yes' }, expect.stringMatching(/^disabled \| type/)],
    [{ type: 'text', disabled: { hide: true } }, expect.stringMatching(/^disabled\.hide \| unknown/)],
    [{ type: 'user', maxEntries: '3' }, 'maxEntries | type | must be a whole number'],
    [{ type: 'date', dateFormat: 'iso' }, 'dateFormat | enum | must be SHORT_DATE or LONG_DATE'],
    [{ choices: 'x' }, 'choices | type | must be a list'],
    [{ choices: [true] }, 'choices[0] | type | must be a name or an object'],
    [{ choices: [{ name: '' }] }, 'choices[0].name | required | is required'],
    [
      { choices: [{ name: 'x', id: 'a-b' }] },
      'choices[0].id | format | must consist of letters, digits and _; got a-b | or leave it out',
    ],
    [{ choices: [{ name: 'x', badge: 7 }] }, expect.stringMatching(/^choices\[0\]\.badge \| type/)],
    [
      { choices: [{ name: 'x', badge: 'red' }] },
      'choices[0].badge.color | format | must be a colour such as #1a2b3c; got red',
    ],
    [
      { choices: [{ name: 'x', badge: { priority: 'a1' } }] },
      'choices[0].badge.priority | format | must be a whole number',
    ],
    [
      { choices: ['x', 'y', 'x'] },
      'choices[2].name | rule | repeats the name "x" | names or IDs identify the entries',
    ],
    [
      {
        choices: [
          { name: 'x', id: 'a' },
          { name: 'y', id: 'a' },
        ],
      },
      'choices[1].id | rule | repeats the id "a"',
    ],
    [
      {
        choices: [
          { name: 'x', key: 'a' },
          { name: 'y', key: 'a' },
        ],
      },
      'choices[1].key | rule | repeats the key "a"',
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
      expect(twins(a, b)).toEqual([expect.stringContaining('fields[1].name | rule | repeats the name "F"')]);
    expect(
      wrongIn({
        fields: [
          { name: '', type: 'text' },
          { name: '', type: 'text' },
        ],
      }),
    ).toEqual(['fields[0].name | required | is required', 'fields[1].name | required | is required']);
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
