import { describe, expect, it } from 'vitest';
import { rollBack } from '../../../../src/kv/upgrade/execute/rollback.ts';
import { AppError } from '../../../../src/core/problem.ts';
import { accessWith } from '../../../../src/kv/engine/access.ts';
import { type Host, NetworkError } from '../../../../src/platform/host.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { Driver } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { JournalEntry, PlanKind } from '../../../../src/kv/engine/model.ts';
import { inShort, smallCluster } from '../../../support/small-cluster.ts';
import { type FakeRun, runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';

const at = '2026-01-01T00:00:00.000Z';
const begun = (...names: string[]): JournalEntry[] =>
  names.flatMap((name) => [
    { kind: 'begin', at, step: `${name}.stop` },
    { kind: 'begin', at, step: `${name}.start` },
    { kind: 'end', at, step: `${name}.gate` },
  ]);
type Patch = (run: FakeRun) => Partial<Run>;
/** These members run the new version when the rollback starts. */
const rolledBack = async (
  kind: PlanKind,
  switched: readonly string[],
  prepare: (small: ReturnType<typeof smallCluster>) => Partial<Driver> | void = () => {},
  patch: Patch = () => ({}),
) => {
  const small = smallCluster(kind);
  const plan = await small.plan();
  for (const name of switched) small.members(name).which = 'new';
  const driver = { ...small.driver, ...prepare(small) };
  const { host, cluster, access } = small;
  const base = runOn(host, { cluster, access, plan }, driver);
  base.written.push(...begun(...switched));
  const run = { ...base, ...patch(base) };
  const before = base.written.length;
  small.done.length = 0;
  const ending = await rollBack(run);
  return { small, run, ending, written: inShort(base.written.slice(before)), told: base.told };
};
const back = (name: string): string[] => [`stop ${name}`, `activate ${name} old`, `start ${name} old`];
const failure = (message: string): AppError =>
  new AppError('stopped', message, { code: 'X', tryThis: ['make room'] });

describe('a rollback', () => {
  it('touches no member that runs the old version, and counts each member once', async () => {
    const { small, ending, told } = await rolledBack('upgrade', ['n2']);
    expect(small.done).toEqual(back('n2'));
    expect(ending).toEqual({
      ...{ outcome: 'rolled-back', category: 'rolled-back' },
      message: naming('3.4', '1', 'member', 'rolled'),
    });
    expect(told.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['member-down', 'reverting', 'member-up', 'reverted']),
    );
    expect(told[0]).toMatchObject({ event: 'member-down', member: 'n2', was_leader: false });
  });
  it('a rollback without upgraded members is over immediately', async () => {
    const { small, ending } = await rolledBack('upgrade', []);
    expect([small.done, ending.message]).toEqual([[], naming('3.4', '0', 'member', 'rolled')]);
  });
  it('a rollback of the leader reports that it led', async () => {
    const { told } = await rolledBack('upgrade', ['n1', 'n2'], (small) => {
      small.state.hasNoMonitor = true;
    });
    const downs = told.filter(({ event }) => event === 'member-down');
    expect(downs).toMatchObject([
      { member: 'n2', was_leader: false },
      { member: 'n1', was_leader: true },
    ]);
  });
  it('a rollback of a restart reverts exactly the restarted members', async () => {
    const { small, ending, written } = await rolledBack('restart', ['n2', 'n3']);
    expect(small.done).toEqual([...back('n2'), ...back('n3')]);
    expect(ending.message).toEqual(naming('2', 'member', 'configuration', 'rolled'));
    expect(written).toEqual([
      'reverting n2',
      'log-marked n2',
      'reverted n2',
      'reverting n3',
      'log-marked n3',
      'reverted n3',
    ]);
  });
  it('a rollback of a restart leaves a member outside the plan unchanged', async () => {
    const { small, ending } = await rolledBack('restart', ['n2', 'n3'], undefined, ({ plan }) => ({
      plan: { ...plan, order: ['n2', 'n1'] },
    }));
    expect(small.done).toEqual(back('n2'));
    expect(ending.outcome).toBe('rolled-back');
  });
  it('a rollback that crashed during a revert checks that member first, without another stop', async () => {
    const { small, written } = await rolledBack('upgrade', ['n3'], undefined, (run) => {
      run.written.push({ kind: 'reverting', at, member: 'n2', reason: 'why' });
      return {};
    });
    expect(written).toEqual(['reverted n2', 'reverting n3', 'log-marked n3', 'reverted n3']);
    expect(small.done).toEqual(back('n3'));
  });
  it('ends before the next member when the journal cannot be written', async () => {
    const error = failure('the disk is full');
    const { small, ending } = await rolledBack('upgrade', ['n2'], undefined, ({ journal }) => ({
      journal: { ...journal, failure: () => error },
    }));
    expect(small.done).toEqual([]);
    expect(ending).toMatchObject({
      ...{ outcome: 'stopped', category: 'stopped', message: 'the disk is full' },
      error: { category: 'stopped', detail: { code: 'ROLLBACK_STOPPED', tryThis: ['make room'] } },
    });
  });
  it('stops no member that the majority needs, but starts one that is down', async () => {
    const { small, ending } = await rolledBack('upgrade', ['n2'], (cluster) => cluster.end('n3'));
    expect(small.done.slice(0, 2)).toEqual(['stop n3', 'activate n3 old']);
    expect(ending.outcome).toBe('rolled-back');
    const sick = await rolledBack('upgrade', ['n2'], (cluster) => {
      cluster.members('n3').isHealthy = false;
    });
    // The refusal comes before the run reports the member as down.
    expect([sick.small.done, sick.told]).toEqual([[], []]);
    expect(sick.ending).toMatchObject({
      message: expect.stringContaining('without n2 only 1 of 3'),
      error: { detail: { tryThis: [naming('opsctl kv resume', 'members')] } },
    });
  });
  it('a rollback asks before each member if requested, and checks again after the reply', async () => {
    const asked: string[] = [];
    const window = {
      ...{ probes: [], pauseAtMostMs: 1, earlierMs: [] },
      confirmEach: async (name: string) => {
        asked.push(name);
        return asked.length < 2;
      },
    };
    const { small, ending } = await rolledBack('upgrade', ['n2', 'n3'], undefined, () => ({ window }));
    expect([asked, small.done]).toEqual([['n2', 'n3'], back('n2')]);
    expect(ending).toMatchObject({ outcome: 'held', heldFor: 'operator' });
  });
  it('a rollback with a failed member lists the next commands', async () => {
    const unknown = await rolledBack('upgrade', ['n2'], () => ({
      start: () => Promise.reject(new Error('no disk')),
    }));
    expect(unknown.ending).toMatchObject({
      message: naming('n2', 'no disk'),
      error: { detail: { tryThis: ['opsctl kv resume', naming('log of the member')] } },
    });
    const known = await rolledBack('upgrade', ['n2'], () => ({
      stop: () => Promise.reject(failure('no ssh')),
    }));
    expect(known.ending.error?.detail.tryThis).toEqual(['make room']);
    const bare = await rolledBack('upgrade', ['n2'], () => ({
      stop: () => Promise.reject(new AppError('stopped', 'no ssh')),
    }));
    expect(bare.ending.error?.detail.tryThis).toEqual([]);
  });
  it('a stopped rollback reports its position', async () => {
    const { small, ending } = await rolledBack('upgrade', ['n2'], undefined, () => ({
      signal: AbortSignal.abort(new Error('Ctrl-C')),
    }));
    expect(small.done).toEqual([]);
    expect(ending).toMatchObject({
      message: naming('stopped', 'n2', '3.5', '3.4', 'requested', 'rest'),
      error: { detail: { tryThis: ['opsctl kv resume', expect.toRead('opsctl kv rollback')] } },
    });
  });
  it.each([
    { kind: 'upgrade', code: 'USER', done: back('n2'), outcome: 'rolled-back' },
    { kind: 'restart', code: 'USER', done: back('n2'), outcome: 'rolled-back' },
    { kind: 'upgrade', code: 'LOCK_LOST', done: back('n2'), outcome: 'stopped' },
    { kind: 'downgrade', code: 'USER', done: back('n2'), outcome: 'stopped' },
  ] as const)(
    'a rollback of a $kind reports $outcome after a stop ($code) at its last member',
    async ({ kind, code, done, outcome }) => {
      const stop = new AbortController();
      const { small, ending } = await rolledBack(
        kind,
        ['n2'],
        ({ driver }) => ({
          start: (...words) => {
            stop.abort(new AppError('stopped', 'the reason of the stop', { code }));
            return driver.start(...words);
          },
        }),
        () => ({ signal: stop.signal }),
      );
      expect(small.done).toEqual(done);
      expect(ending).toMatchObject({ outcome, ...(outcome === 'stopped' ? {} : { category: outcome }) });
      if (outcome === 'rolled-back') expect(ending.error).toBeUndefined();
    },
  );
  it('a rollback of a downgrade holds its lock when it cancels it in the store; others hold none of it', async () => {
    let holds = 0;
    const holdLock = async () => {
      holds += 1;
    };
    const down = await rolledBack(
      'downgrade',
      ['n2'],
      (small) => {
        small.state.downgradeTo = '3.5.0';
      },
      () => ({ holdLock }),
    );
    expect([down.small.done, holds]).toEqual([[...back('n2'), 'downgrade CANCEL'], 1]);
    expect(down.written.slice(-2)).toEqual(['begin cancel-downgrade', 'end cancel-downgrade']);
    const up = await rolledBack('upgrade', ['n2'], undefined, () => ({ holdLock }));
    expect([up.written.at(-1), holds]).toEqual(['reverted n2', 1]);
  });
  it('a cancellation that fails has no end in the journal', async () => {
    const written: string[] = [];
    const failed = rolledBack(
      'downgrade',
      ['n2'],
      (small) => {
        small.state.downgradeTo = '3.5.0';
      },
      (run) => {
        const request: Host['network']['request'] = async (one) => {
          if (one.url.includes('/maintenance/downgrade') || one.url.endsWith('/Downgrade'))
            throw new NetworkError('RESET', 'the connection was closed', true);
          return run.host.network.request(one);
        };
        const host = { ...run.host, network: { ...run.host.network, request } };
        const note = (entry: object): void => {
          run.journal.write(entry as never);
          written.push(...inShort([entry as never]));
        };
        return {
          ...{ host, access: accessWith(host, undefined, undefined), holdLock: async () => {} },
          journal: { ...run.journal, write: note, tell: note },
        };
      },
    );
    await failed.catch(() => {});
    expect(written.at(-1)).toBe('begin cancel-downgrade');
  });
});
