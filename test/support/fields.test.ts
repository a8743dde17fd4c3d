import { expect, test } from 'vitest';
import { bodyOf, pairsOf, typedValue } from '../../src/support/raw-requests.ts';

test('fields are the values that they look like', () => {
  expect(['true', 'null', '12', '-3', '007', '1.5', '12345678901234567890', 'x'].map(typedValue)).toEqual([
    true,
    null,
    12,
    -3,
    '007',
    1.5,
    '12345678901234567890',
    'x',
  ]);
});

test('brackets reach into records and lists', () => {
  expect(
    bodyOf([
      ['name', 'v2'],
      ['labels[][name]', 'bug'],
      ['labels[][color]', '#ff0000'],
      ['labels[][name]', 'ui'],
      ['owner_ids[]', 'a'],
      ['owner_ids[]', 'b'],
      ['stats[deep][er]', 1],
    ]),
  ).toEqual({
    name: 'v2',
    labels: [{ name: 'bug', color: '#ff0000' }, { name: 'ui' }],
    owner_ids: ['a', 'b'],
    stats: { deep: { er: 1 } },
  });
});

test.each<[string, [string, unknown][]]>([
  ['a[b', [['a[b', 1]]],
  ['__proto__[x]', [['__proto__[x]', 1]]],
  [
    'a[x] is given as two kinds',
    [
      ['a', 1],
      ['a[x]', 1],
    ],
  ],
  [
    'a[] is given as two kinds',
    [
      ['a[x]', 1],
      ['a[]', 1],
    ],
  ],
])('%s is refused', (what, pairs) => {
  expect(() => bodyOf(pairs)).toThrow(expect.objectContaining({ category: 'usage' }));
  try {
    bodyOf(pairs);
  } catch (error) {
    expect(JSON.stringify((error as { detail: unknown }).detail)).toContain(what);
  }
});

test('a pair without = names its flag', () => {
  expect(() => pairsOf(['name'], 'field')).toThrow(expect.objectContaining({ category: 'usage' }));
  expect(pairsOf(['a=b=c'], 'field')).toEqual([['a', 'b=c']]);
});
