import { describe, expect, it } from 'vitest';
import { revertMember } from '../../../../src/kv/upgrade/execute/rollback.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { Driver } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { ClusterFile, PlanKind } from '../../../../src/kv/engine/model.ts';
import { inShort, smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';

type Small = ReturnType<typeof smallCluster>;
type Given = {
  readonly kind?: PlanKind;
  readonly file?: Partial<ClusterFile>;
  readonly patch?: Partial<Run>;
  readonly driver?: Partial<Driver>;
  readonly prepare?: (small: Small) => void;
};
/**
 * Reverts n2 from the new version. Returns the error, the grace periods of the stops, the removed watches and
 * the duration.
 */
const returned = async ({ kind = 'upgrade', file, patch, driver, prepare = () => {} }: Given = {}) => {
  const small = smallCluster(kind, file);
  const plan = await small.plan();
  small.members('n2').which = 'new';
  prepare(small);
  const graces: number[] = [];
  const { host, cluster, access } = small;
  const removed: string[] = [];
  const states: (string | undefined)[] = [];
  const own: Partial<Driver> = {
    stop: async (spec, grace) => {
      graces.push(grace);
      states.push(run.state.replacing.get('n2'));
      return small.driver.stop(spec, grace);
    },
  };
  const run = runOn(host, { cluster, access, plan, ...patch }, { ...small.driver, ...own, ...driver });
  const members = { ...run.members, remove: (name: string) => void removed.push(name) };
  const began = host.elapsed();
  const error = await revertMember({ ...run, members }, 'n2', 'why').catch((thrown: unknown) => thrown);
  return { small, run, error, graces, removed, states, ms: host.elapsed() - began };
};

describe('a member that gets its old version back', () => {
  it('leaves the watch, is stopped, started with its old version and proved', async () => {
    let shared = 0;
    const shareProgress = async () => {
      shared += 1;
    };
    const { small, run, error, removed, states, ms } = await returned({ patch: { shareProgress } });
    expect(error).toBeUndefined();
    expect([removed, shared, states]).toEqual([['n2'], 1, ['changing']]);
    expect(small.done).toEqual(['stop n2', 'activate n2 old', 'start n2 old']);
    expect(run.written).toMatchObject([
      { kind: 'reverting', member: 'n2', reason: 'why' },
      { kind: 'log-marked', member: 'n2' },
      { kind: 'reverted', member: 'n2' },
    ]);
    expect(run.told[0]).toEqual({ event: 'reverting', member: 'n2', reason: 'why' });
    expect(run.told.at(-1)).toEqual({ event: 'reverted', member: 'n2', duration_ms: ms });
    expect(ms).toBeGreaterThan(0);
    expect(run.state.replacing.size).toBe(0);
  });
  it('a reverted member is not stopped if the record of its placement is damaged', async () => {
    const prepare = ({ host }: Small) => void host.files.replace('/state/placements/n2.json', 'null');
    const { small, run, error } = await returned({ prepare });
    expect(error).toMatchObject({
      category: 'config',
      message: expect.stringContaining('/state/placements/n2.json is damaged'),
    });
    expect([small.done, run.written]).toEqual([[], []]);
  });
  it('a reverted member has the usual time to exit; an unresponsive one has at most 15 seconds', async () => {
    const answering = { timeouts: { gate_seconds: 3, stop_seconds: 40 } };
    expect((await returned({ file: answering })).graces).toEqual([40_000]);
    const silent = (small: Small) => small.end('n2');
    expect((await returned({ file: answering, prepare: silent })).graces).toEqual([15_000]);
    const short = { timeouts: { gate_seconds: 3, stop_seconds: 4 } };
    expect((await returned({ file: short, prepare: silent })).graces).toEqual([4000]);
  });
  it('a reverted member is killed only if it does not exit', async () => {
    expect((await returned()).small.done).not.toContain('kill n2');
    const stuck = await returned({
      prepare: (small) => {
        small.members('n2').ignoresStop = true;
      },
    });
    expect(stuck.small.done.slice(0, 2)).toEqual(['stop n2', 'kill n2']);
  });
  it('cannot once the cluster has moved, and is not touched then', async () => {
    const { error, small, run } = await returned({
      prepare: ({ state }) => {
        state.hasMoved = true;
      },
    });
    expect(error).toMatchObject({
      ...{ category: 'stopped', message: 'why. The cluster is 3.5: n2 can no longer run 3.4' },
      detail: {
        code: 'PAST_POINT_OF_NO_RETURN',
        tryThis: ['fix n2 on 3.5, then opsctl kv resume', expect.toRead('opsctl kv restore')],
      },
    });
    expect([small.done, run.written]).toEqual([[], []]);
  });
  it('the refusal of a revert comes before the read of the placement', async () => {
    const { error, small } = await returned({
      prepare: ({ state, host }) => {
        state.hasMoved = true;
        void host.files.replace('/state/placements/n2.json', 'null');
      },
    });
    expect(error).toMatchObject({ detail: { code: 'PAST_POINT_OF_NO_RETURN' } });
    expect(small.done).toEqual([]);
  });
  it('a revert of a downgrade is possible for any state of the cluster', async () => {
    const { error, run } = await returned({
      kind: 'downgrade',
      prepare: ({ state }) => {
        state.downgradeTo = '3.5.0';
      },
    });
    expect(error).toBeUndefined();
    expect(inShort(run.written)).toEqual(['reverting n2', 'log-marked n2', 'reverted n2']);
  });
  it('an unhealthy member is stopped for a revert even without a majority, because it does not contribute to it', async () => {
    const { error, small } = await returned({
      prepare: (cluster) => {
        cluster.members('n2').sick = 'new';
        cluster.members('n3').isHealthy = false;
      },
    });
    expect(error).toBeUndefined();
    expect(small.done).toContain('stop n2');
    const needed = await returned({
      prepare: (cluster) => {
        cluster.members('n3').isHealthy = false;
      },
    });
    expect(needed.error).toMatchObject({
      detail: { code: 'QUORUM', tryThis: [naming('opsctl kv resume', 'members')] },
    });
    expect(needed.small.done).toEqual([]);
  });
  it('an already reverted member is only checked', async () => {
    const { small, run } = await returned({
      prepare: ({ members }) => {
        members('n2').which = 'old';
      },
    });
    expect([small.done, inShort(run.written)]).toEqual([[], ['reverted n2']]);
    expect(run.told.at(-1)).toMatchObject({ event: 'reverted' });
  });
});
