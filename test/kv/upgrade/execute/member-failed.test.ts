import { expect, it } from 'vitest';
import { memberFailed } from '../../../../src/kv/upgrade/execute/rollback.ts';
import { AppError } from '../../../../src/core/problem.ts';
import { MemberFailure } from '../../../../src/kv/upgrade/run.ts';
import type { Driver } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { PlanKind } from '../../../../src/kv/engine/model.ts';
import { inShort, smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';

/** n2 has failed on its new version. The driver determines the result of its revert. */
const failed = async (driver: Partial<Driver>, kind: PlanKind = 'upgrade') => {
  const small = smallCluster(kind);
  const plan = await small.plan();
  small.members('n2').which = 'new';
  const { host, cluster, access } = small;
  const run = runOn(host, { cluster, access, plan }, { ...small.driver, ...driver });
  const ending = await memberFailed(run, new MemberFailure('n2', 'why'));
  return { run, ending, written: inShort(run.written), told: run.told };
};
const noStart = { start: () => Promise.reject(new Error('exit code 1')) };
/** The old version wrote this line after the last line before its start. */
const said = (line: string): Partial<Driver> => {
  let looks = 0;
  return {
    ...noStart,
    logTail: async () => {
      looks += 1;
      return looks === 1 ? ['before'] : ['before', line];
    },
  };
};
const refusal =
  'cluster cannot be downgraded (current version: 3.4.45 is lower than determined cluster version: 3.5)';

it('a member that failed gets its old version back', async () => {
  const { ending, written } = await failed({});
  expect(ending).toMatchObject({
    ...{ outcome: 'rolled-back', message: naming('why', 'n2', '3.4', 'member', 'changed') },
  });
  expect(written).toEqual(['reverting n2', 'log-marked n2', 'reverted n2']);
});
it('objections to the rollback end the run', async () => {
  const error = new AppError('stopped', 'no ssh', { code: 'X' });
  const { ending } = await failed({ stop: () => Promise.reject(error) });
  expect(ending).toEqual({ outcome: 'failed', message: 'no ssh', category: 'stopped', error });
});
it('an old version that does not start is reported with the end of its log', async () => {
  const { ending, written } = await failed(said('panic: no space left on device'));
  expect(ending).toMatchObject({
    ...{ outcome: 'failed', error: { detail: { code: 'REVERT_FAILED' } } },
    message:
      'why; its automatic rollback to 3.4 also failed: n2 could not be started: exit code 1 (the end of its log: panic: no space left on device)',
  });
  expect(written).toEqual(['reverting n2', 'log-marked n2']);
});
it('an old version that reports a newer cluster is not restored: the run checks again', async () => {
  const { ending, run, written, told } = await failed(said(refusal));
  expect(ending).toBeUndefined();
  expect(written).toEqual(['reverting n2', 'log-marked n2', 'crossed', 'revert-dropped n2']);
  expect(run.written).toMatchObject([
    {},
    { kind: 'log-marked' },
    { kind: 'crossed', cluster_version: '3.5.0' },
    { kind: 'revert-dropped', member: 'n2', reason: 'why' },
  ]);
  expect(told.at(-1)).toEqual({
    ...{ event: 'note', level: 'warn' },
    text: 'n2 can no longer run 3.4: the cluster is already 3.5; starting it with 3.5 again',
  });
});
it('the log message about a newer cluster is ignored in a downgrade', async () => {
  const { ending, written } = await failed(said(refusal), 'downgrade');
  expect(ending).toMatchObject({ outcome: 'failed', error: { detail: { code: 'REVERT_FAILED' } } });
  expect(written).toEqual(['reverting n2', 'log-marked n2']);
});
