import { describe, expect, it } from 'vitest';
import { guardsAgain } from '../../../../src/kv/upgrade/execute/loop.ts';
import type { JournalEntry, PlanKind, PlanOptions } from '../../../../src/kv/engine/model.ts';
import { type SmallCluster, smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';

type Given = {
  readonly kind?: PlanKind;
  readonly options?: Partial<PlanOptions>;
  readonly signal?: AbortSignal;
  readonly prepare?: (small: SmallCluster) => void;
  /** Additional host facts of n2. */
  readonly facts?: object;
};
const asked = async ({ kind, options, signal, prepare, facts = {} }: Given = {}) => {
  const small = smallCluster(kind);
  const plan = await small.plan(options);
  prepare?.(small);
  const wanted: unknown[] = [];
  const driver = {
    facts: async (...given: Parameters<typeof small.driver.facts>) => {
      wanted.push(given[1]);
      return { ...(await small.driver.facts(...given)), ...(given[0].name === 'n2' ? facts : {}) };
    },
  };
  const { host, cluster, access } = small;
  const patch = { host, cluster, access, plan, ...(signal === undefined ? {} : { signal }) };
  const run = runOn(host, patch, { ...small.driver, ...driver });
  const entries: JournalEntry[] = [{ kind: 'end', at: '', step: 'n2.gate' }];
  run.written.push(...entries);
  host.requests.length = 0;
  const began = host.elapsed();
  const failures = await guardsAgain(run);
  const paths = new Set(host.requests.map(({ url }) => new URL(url).pathname));
  return { found: failures.map(({ guard }) => guard), wanted, paths, ms: host.elapsed() - began };
};
/** Responses are slow, so ten seconds pass after a few observations. */
const sick = (name: string) => (small: SmallCluster) => {
  small.members(name).isHealthy = false;
  small.state.answerMs = 100;
};

describe('the guards that a resume asks again', () => {
  it('the repeated guards find no problem in a healthy cluster with one check', async () => {
    const { found, wanted, ms } = await asked();
    const each = { sizes: false, minor: expect.any(Function) };
    expect([found, wanted, ms < 200]).toEqual([[], Array(3).fill(each), true]);
  });
  it('the repeated guards check everything, including sizes if data will be copied', async () => {
    const { wanted, paths } = await asked({ options: { copy_data: true } });
    expect(wanted[0]).toMatchObject({ sizes: true });
    expect([...paths].some((path) => path.endsWith('/lease/leases') || path.endsWith('/leases'))).toBe(true);
  });
  it('give what time may fix ten seconds, and what it may not none', async () => {
    const patient = await asked({ prepare: sick('n3') });
    expect(patient.found).toContain('all-members-healthy');
    expect([patient.ms > 10_000, patient.ms < 20_000]).toEqual([true, true]);
    const apart = await asked({
      prepare: (small) => {
        small.state.answerMs = 100;
        small.members('n3').reachesNot = ['n1'];
      },
    });
    expect(apart.found).toEqual(['peer-links']);
    expect([apart.ms > 10_000, apart.ms < 20_000]).toEqual([true, true]);
    const both = await asked({
      prepare: (small) => {
        sick('n3')(small);
        small.state.alarms.push({ memberID: '1003', alarm: 'NOSPACE' });
      },
    });
    expect(both.found).toContain('no-alarms');
    expect(both.ms).toBeLessThan(10_000);
    const stopped = await asked({ prepare: sick('n3'), signal: AbortSignal.abort() });
    expect([stopped.found.length > 0, stopped.ms < 10_000]).toEqual([true, true]);
  });
  it('want no new program of a member that runs it already', async () => {
    const facts = { new_binary_version: undefined };
    expect((await asked({ facts })).found).toContain('binaries-are-right');
    const upgraded = (small: SmallCluster) => {
      small.members('n2').which = 'new';
    };
    expect((await asked({ facts, prepare: upgraded })).found).toEqual([]);
    // A finding about any member also applies here.
    expect((await asked({ prepare: (small) => [upgraded(small), sick('n2')(small)] })).found).not.toEqual([]);
  });
  it('take a downgrade under way for what it is', async () => {
    const mixed = (small: SmallCluster) => {
      small.state.downgradeTo = '3.5.0';
      small.members('n2').which = 'new';
    };
    expect((await asked({ kind: 'downgrade', prepare: mixed })).found).toEqual([]);
  });
});
