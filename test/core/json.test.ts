import { expect, test } from 'vitest';
import { jsonOfAnyDepth } from '../../src/core/json.ts';

/** As deep as wanted, with everything that JSON knows at each level. */
const nested = (levels: number): unknown => {
  let value: unknown = [];
  for (let i = 0; i < levels; i++)
    value = {
      'a "key"': [value, null, undefined, true, 1.5, 'text\n'],
      gone: undefined,
      empty: {},
      none: [],
    };
  return value;
};

test('a value of usual depth is what JSON.stringify makes of it', () => {
  expect(jsonOfAnyDepth(nested(5))).toBe(JSON.stringify(nested(5)));
  expect(jsonOfAnyDepth(nested(5), 2)).toBe(JSON.stringify(nested(5), null, 2));
  expect(jsonOfAnyDepth(undefined)).toBe('null');
});

test('a value too deep for JSON.stringify comes out whole and can be read again', () => {
  const text = jsonOfAnyDepth(nested(50_000));
  let inner = JSON.parse(text);
  let levels = 0;
  for (; !Array.isArray(inner); levels++) {
    expect(Object.keys(inner)).toEqual(['a "key"', 'empty', 'none']);
    inner = inner['a "key"'][0];
  }
  expect(levels).toBe(50_000);
  expect(text.slice(0, 5)).toBe(JSON.stringify(nested(1)).slice(0, 5));
});

test('a circle stays an error', () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  expect(() => jsonOfAnyDepth(circle)).toThrow(TypeError);
});
