import { expect, test } from 'vitest';
import { changesPermissions, listLostDrift, type PlannedLabel } from '../../src/labels/prepare.ts';

const withPlan = (counts: readonly [number, number, number] | undefined): PlannedLabel => {
  const [added, changed, removed] = (counts ?? []).map((count) => Array.from({ length: count }));
  return {
    drift: [{ isLost: true }, { isLost: false }],
    ...(counts === undefined ? {} : { permissions: { live: [], plan: { added, changed, removed } } }),
  } as unknown as PlannedLabel;
};

test.each([
  [undefined, false],
  [[0, 0, 0], false],
  [[1, 0, 0], true],
  [[0, 1, 0], true],
  [[0, 0, 1], true],
  [[1, 1, 0], true],
] as const)('permissions with %j added, changed and removed: a change is %s', (counts, changes) => {
  expect(changesPermissions(withPlan(counts))).toBe(changes);
});

test('only remote changes that this apply would overwrite are lost', () => {
  expect(listLostDrift(withPlan(undefined))).toEqual([{ isLost: true }]);
});
