import { expect, it } from 'vitest';
import { stopReason } from '../../src/kv-upgrade/run.ts';
import type { JournalEntry } from '../../src/kv-upgrade/types.ts';
import { planned } from '../support/observations.ts';

const reasonAfter = (...ended: string[]) => {
  const entries = ended.map((step): JournalEntry => ({ kind: 'end', at: '2026-01-01T00:00:00.000Z', step }));
  const { message, detail } = stopReason({
    signal: AbortSignal.abort(),
    plan: planned(),
    journal: { entries } as never,
  });
  return [message, ...(detail.tryThis ?? [])];
};

it('who stopped a run reads where the cluster is, and both ways on', () => {
  expect(reasonAfter('n2.snapshot')).toEqual([
    'stopped after the current step, as asked: every member runs 3.3 still',
    'opsctl kv resume',
    'opsctl kv abort, to give it up',
  ]);
  expect(reasonAfter('n2.snapshot', 'n2.gate')).toEqual([
    'stopped after the current step, as asked: n2 on 3.4, the rest on 3.3',
    'opsctl kv resume',
    'opsctl kv rollback, to bring all back to 3.3',
  ]);
});
