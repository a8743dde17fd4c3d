import { AppError } from '../../core/problem.ts';
import { type FoundRun, findRuns } from '../engine/journal.ts';
import type { Host } from '../../platform/host.ts';
import { findOperations } from './journal.ts';

/** An operation with its journal file. */
export type StoredOperation = Awaited<ReturnType<typeof findOperations>>[number];

type Found =
  | { readonly kind: 'run'; readonly run: string; readonly found: FoundRun }
  | { readonly kind: 'operation'; readonly run: string; readonly found: StoredOperation };

/** Upgrades, downgrades, restarts and operations, newest first: their names begin with the time. */
const allRuns = async (host: Host, state: string, cluster: string): Promise<Found[]> => {
  const [runs, operations] = await Promise.all([
    findRuns(host, state, cluster),
    findOperations(host, state, cluster),
  ]);
  return [
    ...runs.map((found): Found => ({ kind: 'run', run: found.run, found })),
    ...operations.map((found): Found => ({ kind: 'operation', run: found.plan.id, found })),
  ].toSorted((a, b) => (a.run < b.run ? 1 : -1));
};

/** The run or operation of that name; without one the newest. */
export const foundRun = async (
  host: Host,
  state: string,
  cluster: string,
  run: string | undefined,
): Promise<Found> => {
  const all = await allRuns(host, state, cluster);
  const found = run === undefined ? all[0] : all.find((one) => one.run === run);
  if (found !== undefined) return found;
  const newest = all.slice(0, 5).map((one) => one.run);
  throw new AppError(
    'not-found',
    run === undefined
      ? `there is no run of cluster ${cluster} here`
      : `there is no run ${run} of cluster ${cluster}`,
    {
      code: 'NO_RUN',
      tryThis: newest.length === 0 ? ['opsctl kv upgrade'] : [`one of ${newest.join(', ')}`],
    },
  );
};
