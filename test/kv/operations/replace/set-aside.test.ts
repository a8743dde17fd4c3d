import { expect, it } from 'vitest';
import { replaceActs } from '../../../../src/kv/operations/replace.ts';
import type { Operation, OperationStep } from '../../../../src/kv/operations/journal.ts';
import type { Driver, Shell } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { clusterFile } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { partlyMade } from '../../../support/context.ts';

/** Returns the grace periods of the stop calls before the data was moved, and the time limits of the moves. */
const timesOf = async (state: 'running' | 'gone') => {
  const graces: number[] = [];
  const limits: unknown[] = [];
  const driver: Partial<Driver> = {
    process: async () => ({ state }),
    stop: async (_, graceMs) => graces.push(graceMs) > 0,
  };
  const cluster = clusterFile(3, { timeouts: { stop_seconds: 7 } });
  const checking = runOn(fakeHost(), { cluster }, driver);
  const shell = partlyMade<Shell>({
    run: async (_script: string, options: { readonly timeoutMs?: number }) => {
      limits.push(options.timeoutMs);
      return { code: 0, signal: null, stdout: '/data/n2.kept', stderr: '', timedOut: false };
    },
  });
  const holdLock = async (): Promise<void> => {};
  const operation = { cluster, checking, plan: { id: 'r', values: {} }, holdLock, say: () => {} };
  const act = replaceActs(() => shell)['set-aside'];
  const done = await act?.(operation as unknown as Operation, { member: 'n2' } as OperationStep);
  expect(done).toEqual({ kept: ['/data/n2.kept'] });
  return { graces, limits };
};

it('a process that was started in the meantime gets the configured stop timeout, and a move one minute', async () => {
  expect(await timesOf('running')).toEqual({ graces: [7000], limits: [60_000] });
  expect(await timesOf('gone')).toEqual({ graces: [], limits: [60_000] });
});
