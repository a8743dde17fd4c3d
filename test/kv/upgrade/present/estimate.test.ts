import { expect, it } from 'vitest';
import {
  estimateLines,
  estimateMs,
  waitsMs,
  planText,
} from '../../../../src/kv/upgrade/present/plan-text.ts';
import { clusterFile, observed, planned, planOptions, seen } from '../../../support/observations.ts';
import { covers } from '../../../support/covers.ts';

const plan = planned(observed(), clusterFile(), planOptions({ stable_before_last_seconds: 10 }));

it('without history the plan shows sizes, and the share of the waits', () => {
  const [sizes, duration] = estimateLines(plan, []);
  expect(sizes).toBe('Databases: n2 20 KiB, n3 20 KiB, n1 20 KiB; 60 KiB of snapshots in total');
  expect(duration).toBe('Duration: known after the first member; 15.0 s of it is waiting time');
  expect(planText(plan).split('\n').slice(1, 3)).toEqual([sizes, duration]);
});
it('with history it shows the remaining members, and the waits', covers('defect/U-61'), () => {
  expect(estimateMs(plan, plan.order, [10_000, 20_000])).toBe(3 * 15_000 + 15_000);
  expect(planText(plan, { tookMs: [10_000, 20_000] })).toContain(
    'Duration: about 1 min 00 s, based on 15.0 s per member in earlier runs',
  );
  expect(estimateMs(plan, ['n1'], [])).toBeUndefined();
});
it('waits for v2 data count only for members that have one', () => {
  const host = { ...seen('n1').host, v2_bytes: 60_000_000 };
  const members = ['n1', 'n2', 'n3'].map((name) => seen(name, { host }));
  const settling = planned(observed(members), clusterFile(), planOptions({ accept: ['v2-backup'] }));
  const own = settling.steps.filter(({ kind }) => kind === 'settle').length;
  expect(own).toBe(2);
  expect(waitsMs(settling, settling.order)).toBe(2 * 120_000 + 5000);
  expect(waitsMs(settling, ['n1'])).toBe(5000);
});

it('the wait for the cluster version depends on the target, and a restart has none', () => {
  const alone = { ...planned(), steps: [] };
  expect(waitsMs(alone, ['n1'])).toBe(5000);
  expect(waitsMs({ ...alone, to: '3.6' }, ['n1'])).toBe(4000);
  expect(waitsMs(alone, [])).toBe(0);
  expect(waitsMs({ ...alone, kind: 'restart' }, ['n1'])).toBe(0);
});
it('a database of unknown size is omitted, and snapshots are mentioned only if some are taken', () => {
  const unknown = seen('n2', { db_size_bytes: undefined as never });
  const of = (members: Parameters<typeof observed>[0], patch: object = {}) =>
    estimateLines({ ...planned(), observation: observed(members), ...patch }, [])[0];
  expect(of([seen('n1', { db_size_bytes: 30_720 }), unknown, seen('n3')])).toBe(
    'Databases: n3 20 KiB, n1 30 KiB; 50 KiB of snapshots in total',
  );
  expect(of([seen('n1')], { steps: [] })).toBe('Databases: n1 20 KiB');
  expect(of([unknown])).toMatch(/^Duration/);
  expect(estimateLines({ ...planned(), order: [] }, [])).toEqual([]);
});
