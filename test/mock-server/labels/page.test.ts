import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pageOf } from '../../../src/mock-server/labels/permission-handlers.ts';
import { covers } from '../../support/covers.ts';

const items = (count: number) => Array.from({ length: count }, (_, i) => ({ seq: i + 1 }));

test.each([
  [{}, 50],
  [{ pageSize: 0 }, 50],
  [{ pageSize: 7 }, 7],
  [{ pageSize: 200 }, 200],
  [{ pageSize: 201 }, 200],
])('%j gives %d entries', covers('spec/labels#parameters-5'), (query, size) => {
  expect(pageOf(items(500), query, 50, 'x').items).toHaveLength(size);
});

test('a page that ends with the last entry has no token', covers('spec/labels#parameters-5'), () => {
  expect(pageOf(items(3), { pageSize: 3 }, 50, 'x').nextPageToken).toBeUndefined();
  expect(pageOf(items(0), {}, 50, 'x')).toEqual({ items: [] });
});

test('a token of another list, of other arguments, or a changed one is refused', () => {
  const { nextPageToken = '' } = pageOf(items(9), { pageSize: 2 }, 50, ['labels', { publishedOnly: true }]);
  const use = (pageToken: string, about: unknown) => () => pageOf(items(9), { pageToken }, 50, about);
  expect(use(nextPageToken, ['labels', { publishedOnly: true }])().items).toHaveLength(7);
  expect(use(nextPageToken, ['labels', {}])).toThrow('pageToken');
  expect(use(`${nextPageToken}x`, ['labels', { publishedOnly: true }])).toThrow('pageToken');
  expect(use('garbage', 'x')).toThrow('pageToken');
});

test('pages of any size show every stable label once and in order despite concurrent changes', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 60 }),
      fc.array(fc.record({ size: fc.integer({ min: 1, max: 9 }), goes: fc.nat(80), comes: fc.boolean() }), {
        minLength: 80,
        maxLength: 80,
      }),
      (count, steps) => {
        let all = items(count);
        let next = count;
        const gone = new Set<number>();
        const seen: number[] = [];
        let pageToken = '';
        for (const { size, goes, comes } of steps) {
          const page = pageOf(all, { pageSize: size, pageToken }, 50, 'x');
          seen.push(...page.items.map((item) => item.seq));
          if (page.nextPageToken === undefined) break;
          pageToken = page.nextPageToken;
          gone.add(goes);
          all = all.filter((item) => item.seq !== goes);
          if (comes) all.push({ seq: ++next });
        }
        expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
        expect(
          all.filter(({ seq }) => seq <= count && !gone.has(seq)).every(({ seq }) => seen.includes(seq)),
        ).toBe(true);
      },
    ),
  );
});
