import { describe, expect, it } from 'vitest';
import { confirm, noteCrossing } from '../../../../src/kv/upgrade/execute/confirm.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { Plan, PlanKind, Step } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { planned } from '../../../support/observations.ts';
import { type SmallCluster, smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

const step = { id: 'confirm', kind: 'confirm' } as Step;
const all = ['n1', 'n2', 'n3'];
const confirmed = async (prepare: (small: SmallCluster) => void, patch: Partial<Run> = {}) => {
  const small = smallCluster();
  const plan = await small.plan();
  prepare(small);
  const { host, cluster, access } = small;
  const run = runOn(host, { cluster, access, plan, ...patch }, small.driver);
  const began = host.elapsed();
  const ended = await confirm(run, step).catch((error: unknown) => error);
  return { small, run, ended, ms: host.elapsed() - began };
};
const upgraded = (small: SmallCluster): void => {
  for (const name of all) small.members(name).which = 'new';
};

describe('the end of an upgrade', () => {
  it('the end of an upgrade is detected immediately if every member reports it, and recorded', async () => {
    const { ended, run, ms } = await confirmed(upgraded);
    expect([ended, ms < 100]).toEqual([{ cluster_version: '3.5.0' }, true]);
    expect(run.written).toMatchObject([{ kind: 'crossed', cluster_version: '3.5.0' }]);
  });
  it(
    'the end of an upgrade is awaited, because the leader checks every few seconds',
    covers('spec/store#measured-upgrade-2', 'spec/store#procedure-5'),
    async () => {
      const { ended, ms } = await confirmed((small) => {
        upgraded(small);
        small.state.hasNoMonitor = true;
        void small.host.sleep(4000).then(() => {
          small.state.hasNoMonitor = false;
        });
      });
      expect(ended).toEqual({ cluster_version: '3.5.0' });
      expect([ms >= 3900, ms < 4300]).toEqual([true, true]);
    },
  );
  it('a missing end after half a minute names the members that lag or do not respond', async () => {
    const { ended, ms, run } = await confirmed((small) => {
      for (const name of ['n1', 'n2']) small.members(name).which = 'new';
      small.end('n3');
      small.state.answerMs = 200;
    });
    expect(ended).toMatchObject({
      ...{
        category: 'stopped',
        message: naming('3.5', 'n1', '3.4.0', 'n2', 'n3', 'member', 'cluster', 'response'),
      },
      detail: { code: 'NOT_CONFIRMED', tryThis: ['opsctl kv status', 'opsctl kv resume'] },
    });
    expect([ms > 30_000, ms < 40_000, run.written]).toEqual([true, true, []]);
  });
  it('the end of an upgrade is not awaited if a member has exited, even if every check is slow', async () => {
    const reason = new Error('n2 has ended');
    const small = smallCluster();
    const members = { ...runOn(small.host).members, signal: () => AbortSignal.abort(reason) };
    const { ended, ms } = await confirmed(
      ({ state }) => {
        state.answerMs = 400;
      },
      { members },
    );
    expect(ended).toBe(reason);
    expect(ms).toBeLessThan(15_000);
    const quick = await confirmed(() => {}, { members });
    expect([quick.ended, quick.ms < 200]).toEqual([reason, true]);
  });
});

describe('the point of no return', () => {
  const noted = (kind: PlanKind, versions: readonly (string | undefined)[], before = 0): number => {
    const run = runOn(fakeHost(), { plan: { ...planned(), kind } as Plan });
    for (let i = 0; i < before; i += 1) run.journal.tell({ kind: 'crossed', cluster_version: '3.4.0' });
    noteCrossing(run, {
      members: versions.map((cluster_version) => (cluster_version === undefined ? {} : { cluster_version })),
    });
    return run.written.length;
  };
  it('the point of no return is recorded once, when the first member reports the new version', () => {
    expect(noted('upgrade', ['3.3.0', undefined, '3.4.0'])).toBe(1);
    expect(noted('upgrade', ['3.3.0', undefined])).toBe(0);
    expect(noted('upgrade', ['3.4.0'], 1)).toBe(1);
    expect(noted('downgrade', ['3.4.0'])).toBe(0);
    expect(noted('restart', ['3.4.0'])).toBe(0);
  });
});
