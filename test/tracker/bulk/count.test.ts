import { expect, test } from 'vitest';
import { type Counts, type Outcome, count, createCounts } from '../../../src/tracker/bulk/run.ts';

const failed = (code: string): Outcome => ({
  ...{ line: 1, status: 'failed', error: { code, message: 'no', problems: [] } },
});

test('each row counts once; invalid rows are counted in addition to failed ones', () => {
  const counts: Counts = createCounts();
  const rows: Outcome[] = [
    ...(['done', 'found', 'would', 'skipped'] as const).map((status) => ({ line: 1, status })),
    failed('INVALID_ROW'),
    failed('CONFLICT'),
  ];
  for (const row of rows) count(counts, row);
  expect(counts).toEqual({ ...createCounts(), done: 3, failed: 2, skipped: 1, invalid: 1 });
});
