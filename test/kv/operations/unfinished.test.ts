import { describe, expect, it } from 'vitest';
import { operationLine, operationToResume, buildPlan } from '../../../src/kv/operations/plan.ts';
import {
  type OperationEntry,
  type OperationKind,
  type OperationPlan,
  unfinishedOperation,
} from '../../../src/kv/operations/journal.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { clusterOf, observationOf } from './observed.ts';
import { naming } from '../../support/facts.ts';

const observation = observationOf(3);
const cluster = clusterOf(observation);
const at = '2026-11-22T08:00:00.000Z';
const minute = 60_000;
const planOf = (operation: OperationKind, subject?: string): OperationPlan =>
  buildPlan({
    id: '20261122T080000Z-0001',
    operation,
    ...(subject === undefined ? {} : { subject }),
    command: `opsctl kv ${operation}${subject === undefined ? '' : ` ${subject}`}`,
    steps: [{ id: 'n1.stop', kind: 'stop', title: 'stop it' }],
    notes: [],
    findings: [],
    values: {},
    observation,
  }) as OperationPlan;
/** A machine with this journal, `ms` after its last line. */
const interrupted = (plan: OperationPlan, more: readonly object[], ms = minute) => {
  const entries = [
    { kind: 'opened', at, run: plan.id, plan, owner: { host: 'h', pid: 1 } },
    ...more.map((entry) => ({ at, ...entry })),
  ] as OperationEntry[];
  const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
  return fakeHost({
    now: Date.parse(at) + ms,
    files: { [`/state/test/operations/${plan.id}/journal.jsonl`]: text },
  });
};
it('the newest operation of a cluster is unfinished until its journal is closed as done', async () => {
  const plan = planOf('replace-member', 'n1');
  const found = (more: readonly object[]) => unfinishedOperation(interrupted(plan, more), '/state', 'test');
  expect(await found([])).toMatchObject({ plan: { id: plan.id } });
  expect(await found([{ kind: 'closed', outcome: 'done', message: 'x' }])).toBeUndefined();
});
const begun = { kind: 'begin', step: 'n1.stop' };
const stopped = { kind: 'closed', outcome: 'stopped', message: 'x' };
const resume = (host: ReturnType<typeof fakeHost>, operation: OperationKind, subject?: string) =>
  operationToResume(host, '/state', cluster, { operation, ...(subject === undefined ? {} : { subject }) });

describe('an operation that was interrupted', () => {
  it('the same command resumes an interrupted operation, and status reports it', async () => {
    const plan = planOf('replace-member', 'n2');
    const host = interrupted(plan, [begun], 400 * 60 * minute);
    expect((await resume(host, 'replace-member', 'n2'))?.id).toBe(plan.id);
    expect((await operationLine(host, '/state', 'test'))?.text).toEqual(
      naming(
        '20261122T080000Z-0001',
        'replace-member',
        '1',
        'stop it',
        'opsctl kv replace-member n2',
        'unfinished',
      ),
    );
  });
  it('no other operation starts while a member is missing', async () => {
    const host = interrupted(planOf('replace-member', 'n2'), [begun, stopped]);
    for (const [operation, subject] of [['defrag'], ['replace-member', 'n3'], ['member-add', 'n4']] as const)
      await expect(resume(host, operation, subject)).rejects.toMatchObject({
        category: 'unsafe',
        detail: { code: 'UNFINISHED_OPERATION', tryThis: ['opsctl kv replace-member n2'] },
      });
  });
  it.each([
    ['it was done', planOf('defrag'), [begun, { kind: 'closed', outcome: 'done', message: '' }], minute],
    ['nothing was begun', planOf('defrag'), [], minute],
    ['it was an hour ago', planOf('defrag'), [begun], 61 * minute],
    ['the store was still full', planOf('recover-space'), [begun, stopped], minute],
    ['it was one change', planOf('compact'), [begun], minute],
  ])('the operation starts again when %s', async (_, plan, more, ms) => {
    const host = interrupted(plan, more, ms);
    expect(await resume(host, plan.operation)).toBeUndefined();
  });
  it.each([
    ['defrag', [begun, stopped]],
    ['recover-space', [begun]],
  ] as const)('%s goes on within the hour', async (operation, more) => {
    const plan = planOf(operation);
    expect((await resume(interrupted(plan, more), operation))?.id).toBe(plan.id);
  });
});
