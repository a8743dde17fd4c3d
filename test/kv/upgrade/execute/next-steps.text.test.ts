import { expect, it } from 'vitest';
import { nextSteps } from '../../../../src/kv/upgrade/execute/session.ts';
import { membersText } from '../../../../src/kv/upgrade/present/text.ts';
import type { Outcome } from '../../../../src/kv/engine/model.ts';
import { observed, planned, seen } from '../../../support/observations.ts';

const crossed = observed([seen('n1', { cluster_version: '3.4.0' })]);
it.each<[Outcome, boolean, boolean, string[]]>([
  ['done', false, true, ['opsctl kv advance updates the cluster file for restarts and the next upgrade']],
  ['held', false, false, ['opsctl kv resume', 'opsctl kv rollback']],
  ['failed', false, true, ['opsctl kv resume', 'opsctl kv restore']],
  ['rolled-back', false, false, ['opsctl kv resume', 'opsctl kv rollback']],
  ['rolled-back', true, false, ['opsctl kv upgrade']],
  ['stopped', true, false, ['opsctl kv resume', 'opsctl kv rollback']],
])(
  'the next command is named after %s (rollback %s, point of no return %s)',
  (outcome, isRollback, hasMoved, lines) => {
    const after = hasMoved ? crossed : observed();
    expect(nextSteps({ outcome, plan: planned(), isRollback, after })).toEqual(lines);
  },
);
it('every ending reports how each member was left', () => {
  expect(
    membersText([
      { name: 'n1', version_after: '3.4.23', state: 'up' },
      { name: 'n2', state: 'down' },
      { name: 'n3' },
    ]),
  ).toBe('n1 3.4.23 up · n2 down · n3 not checked');
});
