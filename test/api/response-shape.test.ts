import type { AppError } from '../../src/core/problem.ts';
import { expect, test } from 'vitest';
import { expectShape } from '../../src/api/response.ts';
import { labels } from '../../src/api-specs/tracker/labels.ts';
import { int, obj, orNull } from '../../src/core/field.ts';
import { op } from '../../src/core/operation.ts';
import { errorWith } from '../support/facts.ts';

test.each([
  [labels.list, null, ['null', 'list']],
  [labels.list, { error: 'weird' }, ['an object', 'list']],
  [labels.get, [{ id: 1 }], ['list', 'the object']],
  [labels.get, 'soon', ['value', 'the object']],
])('JSON of another shape is not a success: %#', (operation, value, what) => {
  expect(() => expectShape(operation, value, 'http://t.example/x')).toThrow(
    errorWith('OTHER_SHAPE', 'GET', '/x', ...what),
  );
});

test("a response of the row's type passes with any content; the response to a change is not checked", () => {
  expectShape(labels.list, [], 'http://t.example/x');
  expectShape(labels.list, [{ brand_new: true }], 'http://t.example/x');
  expectShape(labels.get, {}, 'http://t.example/x');
  expectShape(labels.update, undefined, 'http://t.example/x');
  expectShape(labels.create, [], 'http://t.example/x');
  expect(expectShape(labels.delete, 'anything', 'http://t.example/x')).toBeUndefined();
});

test('an object that came instead is kept for the message; anything else is not', () => {
  const dataOf = (value: unknown): unknown => {
    try {
      return expectShape(labels.list, value, 'http://t.example/x');
    } catch (error) {
      return (error as AppError).detail.data;
    }
  };
  expect(dataOf({ error: 'weird' })).toEqual({ error: 'weird' });
  expect(dataOf('soon')).toBeUndefined();
});

const base = { path: '/x', summary: 's', cites: 'spec/tracker#labels' } as const;
const read = op({ ...base, method: 'GET', ok: 200, returns: obj({ id: int() }) });
const passes = (operation: Parameters<typeof expectShape>[0], value: unknown): boolean => {
  try {
    expectShape(operation, value, 'http://t.example/x');
    return true;
  } catch {
    return false;
  }
};

test('null passes only for a nullable row, and any value for a row without a list or an object', () => {
  expect(passes(read, null)).toBe(false);
  expect(passes(op({ ...read, returns: orNull(obj({ id: int() })) }), null)).toBe(true);
  expect(passes(op({ ...read, returns: orNull(obj({ id: int() })) }), [])).toBe(false);
  expect(passes(op({ ...read, returns: int() }), 'soon')).toBe(true);
  expect(passes(op({ ...base, method: 'GET', ok: 200 }), [])).toBe(true);
  expect(passes(read, undefined)).toBe(true);
  expect(passes(op({ ...read, method: 'POST' }), [])).toBe(true);
});
