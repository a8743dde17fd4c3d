import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { checkFields } from '../../src/core/check.ts';
import { list, str } from '../../src/core/field.ts';
import {
  emptyKeys,
  inWordsOfFile,
  shownBelow,
  shownTexts,
  unclearValues,
} from '../../src/core/yaml-scalars.ts';
import { naming } from '../support/facts.ts';

const shown = (text: string) => Object.fromEntries(shownTexts(parseDocument(text, { merge: true }).contents));

describe('scalars that YAML reads as something else than the file shows', () => {
  test.each([
    ['1.10'],
    ['0x10'],
    ['1e3'],
    ['012'],
    ['+1'],
    ['.5'],
    ['.inf'],
    ['.NaN'],
    ['True'],
    ['~'],
    ['0o17'],
    ['-0'],
    ['53190000000000000001'],
    ['1.0'],
  ])('includes %s', (source) => {
    expect(shown(`title: ${source}\n`)).toEqual({ title: source });
  });
  test.each([
    ['42'],
    ['-7'],
    ['1.5'],
    ['true'],
    ['yes'],
    ['no'],
    ['off'],
    ['1_000'],
    ['2026-12-01'],
    ['22:22'],
    ['"007"'],
    ["'1e3'"],
    ['inf'],
    [''],
  ])('excludes %s', (source) => {
    expect(shown(`title: ${source}\n`)).toEqual({});
  });
  test('misread scalars have the paths of their values, through lists, maps and aliases', () => {
    expect(shown('a: &x 007\nb: [1, 1e3, {c: *x}]\n')).toEqual({ a: '007', 'b[1]': '1e3', 'b[2].c': '007' });
    const below = shownBelow(new Map([['[1].title', '007']]), '[1].');
    expect([...below]).toEqual([['title', '007']]);
  });
  test('misread scalars are reported in the original text if text is expected', () => {
    const problems = [...checkFields({ a: str() }, { a: 7 }), ...checkFields({ a: list(str()) }, { a: 7 })];
    expect(inWordsOfFile(problems, new Map([['a', '007']])).map(({ message }) => message)).toEqual([
      naming('text', '007', 'number', 'YAML'),
      naming('list', '7'),
    ]);
  });
});

test('a key without a value differs from null, from an empty text and from an empty entry', () => {
  const text = 'fields:\nother: null\ntext: ""\ntilde: ~\nlist:\n  - \n  - name:\n';
  expect(emptyKeys(parseDocument(text).contents)).toEqual(['fields', 'list[1].name']);
});

test.each([
  ['color: #112233', 'color'],
  ['description: see issue #12 for more', 'description'],
  ['list: [x]\nother:\n  - C #sharp', 'other[0]'],
  ['a:   #b', 'a'],
  ['a: &x b #c\nd: e', 'a'],
  ['a:', 'a'],
])('%j has a value that its reader would miss', (text, path) => {
  expect(unclearValues(parseDocument(text).contents, text).map((one) => one.path)).toEqual([path]);
});
test.each([
  'name: bug # the default',
  'name: bug#12',
  'name: "bug" #12',
  'name: bug\n#color: red',
  'name: bug ##',
  'state: published #todo',
  'n: 1 #b',
  'a: null #b',
  'x-team: infra #2',
  'a:\n  x-owner:',
  'text: |\n  see #12',
])('%j shows its values', (text) => {
  expect(unclearValues(parseDocument(text).contents, text)).toEqual([]);
});

test('a document may have more keys than a call accepts arguments', () => {
  const text = Array.from({ length: 200_000 }, (_, i) => `k${i}: 1`).join('\n');
  expect(shownTexts(parseDocument(text, { uniqueKeys: false }).contents).size).toBe(0);
});
