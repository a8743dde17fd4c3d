import { expect, test } from 'vitest';
import { MAX_CACHED, createCompletionCache } from '../../src/api/list-rows.ts';
import type { Operation } from '../../src/core/operation.ts';

const list = { method: 'GET', path: '/labels' } as Operation;
const labels = (count: number) =>
  Array.from({ length: count }, (_, id) => ({ id, entity_type: 'label', name: `l${id}` }));

test('if a kind has too many records, the first are kept, and the list is not complete', () => {
  for (const [count, kept, isWhole] of [
    [MAX_CACHED - 1, MAX_CACHED - 1, true],
    [MAX_CACHED + 1, MAX_CACHED, false],
  ] as const) {
    const seen = createCompletionCache();
    seen.note(list, undefined, undefined, labels(count));
    const kind = seen.kinds.get('label');
    expect([kind?.known.size, kind?.isWhole]).toEqual([kept, isWhole]);
  }
});

test('a kept record is updated even if no more are added', () => {
  const seen = createCompletionCache();
  seen.note(list, undefined, undefined, labels(MAX_CACHED));
  seen.note(list, undefined, undefined, [{ id: 3, entity_type: 'label', name: 'renamed' }]);
  expect(seen.kinds.get('label')?.known.get('3')?.names).toEqual(['renamed']);
});
