import fc from 'fast-check';
import { expect, test } from 'vitest';
import { check, checkFields } from '../../src/core/check.ts';
import {
  bool,
  color,
  date,
  datetime,
  int,
  list,
  map,
  obj,
  oneOf,
  orNull,
  record,
  ref,
  req,
  str,
  url,
  uuid,
  type Field,
} from '../../src/core/field.ts';
import { naming } from '../support/facts.ts';

const rules = (field: Field, value: unknown) => check(field, value, 'x').map(({ rule }) => rule);

test.each<[string, Field, unknown, string[]]>([
  ['text of the longest length', str(3), 'abc', []],
  ['text one over', str(3), 'abcd', ['max']],
  ['characters are code points, not UTF-16 units', str(3), '💥💥💥', []],
  ['four of them', str(3), '💥💥💥💥', ['max']],
  ['empty where one is needed', str(3, { min: 1 }), '', ['min']],
  ['a number for text', str(3), 5, ['type']],
  ['null where it is not allowed', str(3), null, ['null']],
  ['null where it is', orNull(str(3)), null, []],
  ['a colour', color(), '#0aF9bc', []],
  ['a colour by name', color(), 'red', ['format']],
  ['a color of three digits', color(), '#fff', ['format']],
  ['a color of eight digits', color(), '#11223344', ['format']],
  ['a color of five digits', color(), '#11223', ['format']],
  ['a color of seven digits', color(), '#1122334', ['format']],
  ['a date', date(), '2024-02-29', []],
  ['a day that is not there', date(), '2023-02-29', ['format']],
  ['a time', datetime(), '2016-12-31T12:30:00Z', []],
  ['a time with an offset and fractions', datetime(), '2016-12-31T12:30:00.123+02:00', []],
  ['a date for a time', datetime(), '2016-12-31', ['format']],
  ['a time on a day that is not there', datetime(), '2023-02-29T00:00:00Z', ['format']],
  ['an offset of 99 hours', datetime(), '2023-01-01T00:00:00+99:99', ['format']],
  ['an offset of 25 hours', datetime(), '2023-01-01T00:00:00+2500', ['format']],
  ['an offset without a colon', datetime(), '2023-01-01T00:00:00+0530', []],
  ['a time that is not in year 9999 in UTC', datetime(), '9999-12-31T23:59:59-23:59', ['format']],
  ['a time that is not in year 0 in UTC', datetime(), '0000-01-01T00:00:00+23:59', ['format']],
  ['hour 24', datetime(), '2023-01-01T24:00:00Z', ['format']],
  ['a uuid', uuid(), '12345678-9012-3456-7890-123456789012', []],
  ['a uuid of 35 characters', uuid(), '12345678-9012-3456-7890-12345678901', ['format']],
  ['a URL', url(), 'https://example.com/x', []],
  ['a URL of another scheme', url(), 'ftp://example.com', ['format']],
  ['one of', oneOf('a', 'b'), 'a', []],
  ['none of', oneOf('a', 'b'), 'c', ['enum']],
  ['a whole number', int({ min: 1, max: 250 }), 250, []],
  ['below', int({ min: 1, max: 250 }), 0, ['min']],
  ['above', int({ min: 1, max: 250 }), 251, ['max']],
  ['a fraction', int(), 1.5, ['type']],
  ['a number in quotes', int(), '1', ['type']],
  ['a truth', bool(), false, []],
  ['a word for a truth', bool(), 'true', ['type']],
  ['a list', list(int()), [1, 2], []],
  ['two wrong entries', list(int()), ['a', 2, null], ['type', 'null']],
  ['an object for a list', list(int()), {}, ['type']],
  ['a map', map(int()), { a: 1 }, []],
  ['a wrong value in a map', map(int()), { a: 'b' }, ['type']],
])('%s', (_, field, value, expected) => {
  expect(rules(field, value)).toEqual(expected);
});

const comment = record('Comment', {
  text: req(str(5)),
  comments: list(ref('Comment', (): Field => comment)),
});
test('a record that contains itself is checked to any depth, with the whole path', () => {
  const value = { text: 'a', comments: [{ text: 'b', comments: [{ text: 'toolong', comments: [] }] }] };
  expect(check(comment, value)).toEqual([
    { path: 'comments[0].comments[0].text', rule: 'max', message: naming('5', '7', 'characters') },
  ]);
});

test('the check reports all problems of a body: unknown, missing, exclusive and invalid keys', () => {
  const fields = { name: req(str(3)), colour: color(), a: int(), b: int() };
  const found = checkFields(fields, { colour: 'red', nam: 'x', a: 1, b: 2 }, '', [['a', 'b']]);
  expect(found.map(({ path, rule }) => [path, rule])).toEqual([
    ['colour', 'format'],
    ['nam', 'unknown'],
    ['name', 'required'],
    ['b', 'exclusive'],
  ]);
  expect(found[1]?.hint).toEqual(naming('mean', 'name?'));
});

test('a name of Object.prototype is unknown like any other', () => {
  expect(checkFields({ name: str() }, { constructor: 1, toString: 2 }).map(({ rule }) => rule)).toEqual([
    'unknown',
    'unknown',
  ]);
  expect(
    checkFields({ inner: obj({ a: int() }) }, { inner: { ['__proto__x']: 1 } }).map(({ path }) => path),
  ).toEqual(['inner.__proto__x']);
});

test('any JSON value gives problems, never an exception', () => {
  const field = obj({ a: list(obj({ b: req(oneOf('x', 'y')), c: orNull(int()) })), d: map(str(2)) });
  fc.assert(fc.property(fc.jsonValue(), (value) => Array.isArray(check(field, value))));
});
