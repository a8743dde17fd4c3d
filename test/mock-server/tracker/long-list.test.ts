import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LongList, type ShownRecord } from '../../../src/mock-server/tracker/state.ts';

type Row = { readonly n: number };
const shown = (record: Row): ShownRecord => ({ record, seen: [] });
const jsonOf = (list: LongList): string => Buffer.concat([...list.body()]).toString();

test('the text matches the rows after any changes, and its length is known', () => {
  const change = fc.record({
    at: fc.nat(2000),
    remove: fc.nat(3),
    insert: fc.nat(3),
  });
  fc.assert(
    fc.property(
      fc.nat(1500),
      fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 5 }),
      (size, rounds) => {
        const list = new LongList();
        let next = 0;
        const row = (): Row => ({ n: next++ });
        const rows = Array.from({ length: size }, row);
        for (const [version, changes] of [[], ...rounds].entries()) {
          for (const { at, remove, insert } of changes)
            rows.splice(at % (rows.length + 1), remove, ...Array.from({ length: insert }, row));
          list.update(version, rows.map(shown), (i) => JSON.stringify({ ...rows[i], text: 'é' }));
          const text = jsonOf(list);
          expect(JSON.parse(text)).toEqual(rows.map((one) => ({ ...one, text: 'é' })));
          expect(list.length).toBe(Buffer.byteLength(text));
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('a change of one row rebuilds one segment, and rows that show the changed record', () => {
  const rows = Array.from({ length: 5000 }, (_, n): Row => ({ n }));
  const label = { name: 'a' };
  let seen: readonly unknown[] = [label];
  const list = new LongList();
  let made = 0;
  const update = (version: number): number => {
    made = 0;
    list.update(
      version,
      rows.map((record) => ({ record, seen: record.n === 7 ? seen : [] })),
      (i) => {
        made += 1;
        return JSON.stringify(rows[i]);
      },
    );
    return made;
  };
  expect(update(1)).toBe(5000);
  expect(update(2)).toBe(0);
  rows[3000] = { n: 3000 };
  expect(update(3)).toBeLessThanOrEqual(256);
  rows.splice(100, 1);
  expect(update(4)).toBeLessThanOrEqual(256);
  rows.push({ n: 9999 });
  expect(update(5)).toBeLessThanOrEqual(256);
  seen = [{ name: 'b' }];
  expect(update(6)).toBeGreaterThan(0);
});
