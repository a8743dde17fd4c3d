import { expect, test } from 'vitest';
import { type Shape, fittingJson, misfit } from '../../src/core/shape.ts';
import { naming } from '../support/facts.ts';

const shape: Shape = {
  id: 'number',
  names: ['text'],
  at: { line: 'number?' },
  is_done: 'flag',
  more: 'list?',
};
const whole = { id: 1, names: ['a'], at: {}, is_done: false, unknown: null };

test.each<[unknown, string | undefined]>([
  [whole, undefined],
  [{ ...whole, more: [1] }, undefined],
  [null, naming('object', 'hold')],
  [[], naming('object', 'hold')],
  [{ ...whole, id: undefined }, '`id` is missing'],
  [{ ...whole, id: '1' }, '`id` must be a number'],
  [{ ...whole, names: 'a' }, '`names` must be a list'],
  [{ ...whole, names: ['a', null] }, '`names[1]` must be text'],
  [{ ...whole, at: [] }, '`at` must be an object'],
  [{ ...whole, at: { line: '1' } }, '`at.line` must be a number'],
  [{ ...whole, is_done: 0 }, naming('`is_done`', 'true', 'false')],
  [{ ...whole, more: {} }, '`more` must be a list'],
])('%j: %s', (value, wrong) => {
  expect(misfit(value, shape)).toEqual(wrong);
});

test('a list at the top', () => {
  expect(misfit({}, [shape])).toEqual(naming('list', 'hold'));
  expect(misfit([whole, 5], [shape])).toEqual(naming('`[1]`', 'object'));
});

test('a text with invalid JSON or another shape yields undefined', () => {
  expect(fittingJson(JSON.stringify(whole), shape)).toEqual(whole);
  for (const text of [undefined, '', '{', 'null', '{}']) expect(fittingJson(text, shape)).toBeUndefined();
});
