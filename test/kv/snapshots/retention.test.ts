import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import {
  parseName,
  retain,
  type Retention,
  type SnapshotManifest,
  snapshotName,
  type StoredSnapshot,
} from '../../../src/kv/snapshots/catalog.ts';

const hour = 3_600_000;
const start = Date.parse('2026-11-01T01:00:00Z');
const snapshot = (ms: number, isVerified = true): StoredSnapshot => {
  const name = snapshotName('prod', ms, 7);
  const taken_at = new Date(ms).toISOString();
  const manifest = { taken_at, ...(isVerified ? { verified_at: taken_at } : {}) } as SnapshotManifest;
  return { name, cluster: 'prod', taken_at, revision: 7, size_bytes: 1, manifest };
};
/** One snapshot every six hours for four weeks. */
const many = Array.from({ length: 4 * 28 }, (_, i) => snapshot(start + i * 6 * hour));
const now = start + 28 * 24 * hour;
const kept = (rule: Retention, snapshots = many) =>
  retain(snapshots, rule, now).keep.map(
    ({ snapshot: { taken_at }, why }) => `${taken_at.slice(0, 13)} ${why}`,
  );

describe('selection of retained snapshots', () => {
  it('the newest ones', () => {
    expect(kept({ keepLast: 2 })).toEqual(['2026-11-28T19 last', '2026-11-28T13 last']);
  });
  it('the newest of each day and of each week', () => {
    expect(kept({ keepDaily: 3 })).toEqual([
      '2026-11-28T19 daily',
      '2026-11-27T19 daily',
      '2026-11-26T19 daily',
    ]);
    // Weeks start on Monday: 2026-11-22 and 2026-11-15 are Sundays.
    expect(kept({ keepWeekly: 3 })).toEqual([
      '2026-11-28T19 weekly',
      '2026-11-22T19 weekly',
      '2026-11-15T19 weekly',
    ]);
  });
  it('a snapshot is retained by any of the rules', () => {
    expect(kept({ keepLast: 1, keepDaily: 2, keepWeekly: 2 })).toEqual([
      '2026-11-28T19 last',
      '2026-11-27T19 daily',
      '2026-11-22T19 weekly',
    ]);
  });
  it('snapshots beyond the age are removed; without other rules all newer ones stay', () => {
    expect(kept({ keepWeekly: 4, maxAgeMs: 8 * 24 * hour })).toEqual([
      '2026-11-28T19 weekly',
      '2026-11-22T19 weekly',
    ]);
    expect(kept({ maxAgeMs: 12 * hour })).toEqual(['2026-11-28T19 age', '2026-11-28T13 age']);
  });
  it('the newest verified snapshot stays under all rules', () => {
    const [first, second] = [snapshot(start), snapshot(start + hour, false)];
    expect(kept({ keepLast: 1 }, [first, second])).toEqual([
      '2026-11-01T02 last',
      '2026-11-01T01 last verified',
    ]);
    expect(kept({ maxAgeMs: hour }, [first, second])).toEqual(['2026-11-01T01 last verified']);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 5000 }), fc.boolean()), { minLength: 1, maxLength: 30 }),
        fc.record({
          keepLast: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
          maxAgeMs: fc.option(
            fc.integer({ min: 0, max: 1000 }).map((h) => h * hour),
            { nil: undefined },
          ),
        }),
        (times, rule) => {
          const all = times.map(([h, isVerified]) => snapshot(start + h * hour, isVerified));
          const { keep, prune } = retain(all, rule, start + 5000 * hour);
          expect(keep.length + prune.length).toBe(all.length);
          const newest = all
            .filter(({ manifest }) => manifest?.verified_at !== undefined)
            .map(({ taken_at }) => taken_at)
            .sort()
            .at(-1);
          if (newest !== undefined)
            expect(keep.some(({ snapshot: { taken_at } }) => taken_at === newest)).toBe(true);
        },
      ),
    );
  });
});

describe('the name of a snapshot', () => {
  it('the name of a snapshot contains cluster, time and revision, for any cluster name', () => {
    for (const cluster of ['prod', 'a-b', '20261101T010000Z-r1', 'x.db'])
      expect(parseName(snapshotName(cluster, start, 42))).toEqual({
        cluster,
        taken_at: '2026-11-01T01:00:00.000Z',
        revision: 42,
      });
  });
  it('other files are neither listed nor removed', () => {
    for (const name of [
      'prod.db',
      'prod-20261101T010000Z-r1.db.json',
      'prod-20261301T010000Z-r1.db',
      'prod-n1-20261101T010000Z-ab12.db',
      ...['a/b', '..\\c', 'a b', 'a\nb', '\u001b[31ma', 'a\u202e', '=cmd|x', 'a\0', 'ä'].map(
        (cluster) => `${cluster}-20261101T010000Z-r1.db`,
      ),
      `prod-20261101T010000Z-r${'9'.repeat(20)}.db`,
    ])
      expect(parseName(name), name).toBeUndefined();
  });
});
