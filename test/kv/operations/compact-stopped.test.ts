import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/core/problem.ts';
import type { Operation, OperationStep } from '../../../src/kv/operations/journal.ts';
import { compact, compactPlan } from '../../../src/kv/operations/space.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { clusterFile } from '../../support/observations.ts';
import { observationOf } from './observed.ts';
import { partlyMade } from '../../support/context.ts';

/** Runs the step of a compaction whose request ends because of the given reason. */
const compactAborted = (reason: unknown): Promise<unknown> => {
  const stopping = new AbortController();
  const refused = (): Promise<never> => Promise.reject(new Error('no response'));
  const store = new Proxy({}, { get: (_, name) => (name === 'compact' ? interrupted : refused) });
  const interrupted = (): Promise<never> => {
    stopping.abort(reason);
    return Promise.reject(new Error('the request was aborted'));
  };
  const host = fakeHost({});
  const access = { store: () => store };
  return compact(
    partlyMade<Operation>({
      ...{ host, cluster: clusterFile(1), checking: { access }, signal: stopping.signal },
      plan: { values: { revision: 7 } },
      say: () => {},
    }),
    {} as OperationStep,
  );
};

describe('a compaction whose request was aborted', () => {
  it('reports the lost lock, if that is the reason', async () => {
    const lost = new AppError('stopped', 'another process holds the lock', { code: 'LOCKED' });
    await expect(compactAborted(lost)).rejects.toBe(lost);
  });
  it('reports the interruption by the operator', async () =>
    expect(compactAborted(new Error('SIGINT'))).rejects.toMatchObject({ detail: { code: 'STOPPED' } }));
});

describe('the plan of a compaction accepts or refuses', () => {
  const guardsOf = (away: readonly string[], leader: string | undefined): string[] => {
    const { leader: _, ...seen } = observationOf(3, (one) => ({
      ...one,
      is_reachable: !away.includes(one.name),
    }));
    const observation = leader === undefined ? seen : { ...seen, leader };
    const made = compactPlan(observation, { id: 'c', oldest: 1, newest: 10, revision: 5, waitMs: 0 });
    return 'refused' in made ? made.refused.map(({ guard }) => guard) : [];
  };
  it.each([
    ['every member responds', [], 'n1', []],
    ['one member does not respond', ['n3'], 'n1', []],
    ['no member responds', ['n1', 'n2', 'n3'], 'n1', ['store-answers']],
    ['no member is the leader', [], undefined, ['store-answers']],
  ] as const)('when %s', (_, away, leader, guards) => {
    expect(guardsOf(away, leader)).toEqual(guards);
  });
});
