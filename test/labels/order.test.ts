import fc from 'fast-check';
import { expect, test } from 'vitest';
import { placesFrom } from '../../src/labels/match.ts';

const moved = (wanted: readonly (string | undefined)[], live: string): string =>
  placesFrom(wanted, [...live])
    .flatMap(({ isMoved }, i) => (isMoved ? [wanted[i] ?? '?'] : []))
    .join('');

test.each([
  ['abc', 'abc', ''],
  ['dabc', 'abcd', 'd'],
  ['bcda', 'abcd', 'a'],
  ['ba', 'ab', 'a'],
  ['cab', 'abc', 'c'],
  ['edcba', 'abcde', 'dcba'],
  ['badc', 'abcd', 'ac'],
  ['acbd', 'abcd', 'b'],
  ['', 'abc', ''],
  ['a', 'abc', ''],
])('%s out of %s moves %j and nothing else', (wanted, live, said) => {
  expect(moved([...wanted], live)).toBe(said);
});

test('each part goes before the next one that exists; a new one is never moved', () => {
  expect(placesFrom(['a', undefined, 'b', undefined], ['b', 'a'])).toEqual([
    { before: 'b', isMoved: false },
    { before: 'b', isMoved: false },
    { before: '', isMoved: true },
    { before: '', isMoved: false },
  ]);
  expect(placesFrom([], ['a'])).toEqual([]);
});

test('to send the moves from the last to the first leads to the order that is wanted', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray([...'abcdefg'], { minLength: 7 }), (wanted) => {
      const order = [...'abcdefg'];
      const places = placesFrom(wanted, order);
      for (const [i, { before, isMoved }] of [...places.entries()].toReversed()) {
        if (!isMoved) continue;
        order.splice(order.indexOf(wanted[i] ?? ''), 1);
        order.splice(before === '' ? order.length : order.indexOf(before), 0, wanted[i] ?? '');
      }
      expect(order).toEqual(wanted);
    }),
  );
});
