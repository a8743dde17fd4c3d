import fc from 'fast-check';
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

/** Tries every order. The check is correct by definition but feasible only for a few calls. */
const hasOrder = (calls: readonly RegisterCall[], value: string | undefined = undefined): boolean =>
  calls.every(({ kind, returned }) => kind === 'write' && returned === unknown) ||
  calls.some((call) => {
    const others = calls.filter((other) => other !== call);
    if (others.some(({ returned }) => returned < call.called)) return false;
    if (call.kind === 'read' && call.value !== value) return false;
    return hasOrder(others, call.kind === 'write' ? call.value : value);
  });
const times = fc.tuple(fc.nat(12), fc.nat(6));
const histories = fc
  .tuple(
    fc.array(fc.tuple(times, fc.boolean()), { maxLength: 4 }),
    fc.array(fc.tuple(times, fc.nat(4)), { maxLength: 4 }),
  )
  .map(([writes, reads]) => [
    ...writes.map(([[called, took], isAnswered], i) =>
      write(String(i), called, isAnswered ? called + took : unknown),
    ),
    ...reads.map(([[called, took], i]) => read(i === 4 ? undefined : String(i), called, called + took)),
  ]);

test('the checker agrees with a search through all orders of a few calls', () => {
  const found = { linearizable: 0, not: 0 };
  fc.assert(
    fc.property(histories, (calls) => {
      const isLinearizable = hasOrder(calls);
      found[isLinearizable ? 'linearizable' : 'not'] += 1;
      expect(withoutOrder(calls) === undefined).toBe(isLinearizable);
    }),
    { numRuns: 2_000 },
  );
  expect(Math.min(found.linearizable, found.not)).toBeGreaterThan(100);
});

test('a thousand writes without an answer are checked immediately', () => {
  const calls = Array.from({ length: 1_000 }, (_, i) => [
    write(`lost ${i}`, i * 10, unknown),
    write(`kept ${i}`, i * 10 + 1, i * 10 + 2),
    read(`kept ${i}`, i * 10 + 3, i * 10 + 4),
  ]).flat();
  expect(withoutOrder(calls)).toBeUndefined();
  expect(withoutOrder([...calls, read('kept 3', 20_000, 20_001)])).toHaveLength(calls.length + 1);
});
