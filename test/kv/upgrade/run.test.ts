import { expect, it } from 'vitest';
import { identityOf, stopReason } from '../../../src/kv/upgrade/run.ts';
import type { JournalEntry, JournalStepId } from '../../../src/kv/engine/model.ts';
import { planned } from '../../support/observations.ts';
import { naming } from '../../support/facts.ts';

const reasonAfter = (...ended: JournalStepId[]) => {
  const entries = ended.map((step): JournalEntry => ({ kind: 'end', at: '2026-01-01T00:00:00.000Z', step }));
  const { message, detail } = stopReason({
    signal: AbortSignal.abort(),
    plan: planned(),
    journal: { entries } as never,
  });
  return [message, ...(detail.tryThis ?? [])];
};

it('the operator who stopped a run sees the position of the cluster, and both next commands', () => {
  expect(reasonAfter('n2.snapshot')).toEqual([
    naming('3.3', 'stopped', 'requested', 'member'),
    'opsctl kv resume',
    naming('opsctl kv abort', 'abandon'),
  ]);
  expect(reasonAfter('n2.snapshot', 'n2.gate')).toEqual([
    naming('n2', '3.4', '3.3', 'stopped', 'requested', 'rest'),
    'opsctl kv resume',
    naming('opsctl kv rollback', '3.3', 'member'),
  ]);
});

it('a member is whom the run last saw before it was stopped, and else whom it planned', () => {
  const begun = (step: JournalStepId, member_id?: string): JournalEntry => ({
    ...{ kind: 'begin', at: '2026-01-01T00:00:00.000Z', step },
    ...(member_id === undefined ? {} : { note: { member_id } }),
  });
  const idAfter = (...entries: readonly JournalEntry[]) =>
    identityOf({ plan: planned(), journal: { entries } as never }, 'n2');
  expect(idAfter()).toEqual({ member_id: '1002', cluster_id: '77' });
  expect(idAfter(begun('n2.stop'))).toEqual({ member_id: '1002', cluster_id: '77' });
  expect(idAfter(begun('n1.stop', '9001'), begun('n2.snapshot', '9001')).member_id).toBe('1002');
  expect(idAfter(begun('n2.stop', '9001'), begun('n2.stop', '9002'), begun('n2.stop')).member_id).toBe(
    '9002',
  );
});
