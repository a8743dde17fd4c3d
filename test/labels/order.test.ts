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
])('ordering %s from %s moves only %j', (wanted, live, said) => {
  expect(moved([...wanted], live)).toBe(said);
});

test('every part moves before the next existing one; a new part is never moved', () => {
  expect(placesFrom(['a', undefined, 'b', undefined], ['b', 'a'])).toEqual([
    { before: 'b', isMoved: false },
    { before: 'b', isMoved: false },
    { before: '', isMoved: true },
    { before: '', isMoved: false },
  ]);
  expect(placesFrom([], ['a'])).toEqual([]);
});

test('sending the moves from last to first produces the desired order', () => {
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
