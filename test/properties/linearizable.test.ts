import { expect, test } from 'vitest';
import { type RegisterCall, brokenRegisters, withoutOrder } from '../support/linearizable.ts';

const write = (value: string, called: number, returned: number): RegisterCall => ({
  kind: 'write',
  value,
  called,
  returned,
});
const read = (value: string | undefined, called: number, returned: number): RegisterCall => ({
  kind: 'read',
  value,
  called,
  returned,
});
const unknown = Number.POSITIVE_INFINITY;

test.each<[string, RegisterCall[]]>([
  ['nothing', []],
  ['a read before the first write', [read(undefined, 0, 1), write('a', 2, 3)]],
  ['a read during a write sees the old value', [write('a', 0, 1), write('b', 2, 6), read('a', 3, 4)]],
  ['or the new one', [write('a', 0, 1), write('b', 2, 6), read('b', 3, 4)]],
  [
    'a write without an answer is seen late',
    [write('a', 0, 1), write('b', 2, unknown), read('a', 3, 4), read('b', 8, 9)],
  ],
  ['or never', [write('a', 0, 1), write('b', 2, unknown), read('a', 8, 9)]],
  ['two writers at once', [write('a', 0, 5), write('b', 0, 5), read('a', 6, 7)]],
])('linearizable: %s', (_, calls) => {
  expect(withoutOrder(calls)).toBeUndefined();
});

test.each<[string, RegisterCall[]]>([
  ['a stale read', [write('a', 0, 1), write('b', 2, 3), read('a', 4, 5)]],
  ['a lost write', [write('a', 0, 1), read(undefined, 2, 3)]],
  ['a read of what nobody wrote', [read('x', 0, 1)]],
  ['two readers that disagree', [write('a', 0, 1), write('b', 2, 9), read('b', 3, 4), read('a', 5, 6)]],
  [
    'a write that comes and goes',
    [write('a', 0, 1), write('b', 2, unknown), read('b', 3, 4), read('a', 5, 6)],
  ],
])('the checker rejects a history that is not linearizable: %s', (_, calls) => {
  expect(withoutOrder(calls)).toHaveLength(calls.length);
});

test('registers are checked separately', () => {
  const good = [write('a', 0, 1), read('a', 2, 3)];
  const bad = [write('a', 0, 1), read('b', 2, 3)];
  expect(
    brokenRegisters(
      new Map([
        ['good', good],
        ['bad', bad],
      ]),
    ).map(([key]) => key),
  ).toEqual(['bad']);
});
