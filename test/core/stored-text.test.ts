import { describe, expect, test } from 'vitest';
import { storedLines, storedObject } from '../../src/core/text.ts';

const errorOf = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    const { category, message, detail } = error as {
      category: string;
      message: string;
      detail: { code: string };
    };
    return [category, detail.code, message];
  }
};

describe('lines', () => {
  test('the reader returns complete lines and reports an incomplete last line', () => {
    expect(storedLines('/f', '{"a":1}\n{"b":2}\n', [])).toEqual({
      values: [{ a: 1 }, { b: 2 }],
      isTorn: false,
    });
    expect(storedLines('/f', '{"a":1}\n{"b":', [])).toEqual({ values: [{ a: 1 }], isTorn: true });
    expect(storedLines('/f', '', [])).toEqual({ values: [], isTorn: false });
  });
  test.each(['{"a":1}\n{"b\n{"c":3}\n', '{"a":1}\n\0\0\0\n', '{"a":1}\n5\n', '{"a":1}\n\n'])(
    'damage in the middle names the file and the line: %j',
    (text) => {
      expect(errorOf(() => storedLines('/f', text, ['do this']))).toEqual([
        'config',
        'FILE_DAMAGED',
        expect.stringMatching(/^\/f:2 is damaged: /),
      ]);
    },
  );
});

describe('an object', () => {
  test('a valid object has every field', () => {
    expect(storedObject<{ a: number }>('/f', '{"a":1}', { a: 'number' }, [])).toEqual({ a: 1 });
  });
  test.each(['', '{"a":', '[]', 'null', '5', '{"b":1}', '{"a":"x"}'])(
    'an object with a problem causes an error that names the file: %j',
    (text) => {
      expect(errorOf(() => storedObject<{ a: number }>('/f', text, { a: 'number' }, []))).toEqual([
        'config',
        'FILE_DAMAGED',
        expect.stringMatching(/^\/f is damaged: /),
      ]);
    },
  );
});
