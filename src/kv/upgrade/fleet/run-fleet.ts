import type { Fleet } from './fleet-file.ts';

export type ClusterOutcome = 'done' | 'failed' | 'not started';
export type FleetRow<T> = { readonly cluster: string; readonly outcome: ClusterOutcome; readonly detail?: T };
export type Upgraded<T> = { readonly ok: boolean; readonly detail: T };

/** The canary, then the others in their order. Pure. */
export const orderOf = ({ canary, clusters }: Pick<Fleet, 'canary' | 'clusters'>): string[] => [
  canary,
  ...clusters.filter((cluster) => cluster !== canary),
];

/**
 * Upgrades the canary alone, then so many at once. After the first failure nothing new begins; what is in work goes to its end.
 * Rows come in the order in which clusters end; those that were not started come last.
 */
export async function* runFleet<T>(
  fleet: Fleet,
  upgrade: (cluster: string) => Promise<Upgraded<T>>,
  mayBegin: () => boolean,
): AsyncGenerator<FleetRow<T>> {
  const waiting = orderOf(fleet);
  const running = new Map<string, Promise<FleetRow<T>>>();
  let [hasFailed, isCanaryDone] = [false, false];
  const begin = (cluster: string): void => {
    const row = upgrade(cluster).then(
      ({ ok, detail }): FleetRow<T> => ({ cluster, outcome: ok ? 'done' : 'failed', detail }),
    );
    running.set(cluster, row);
  };
  for (;;) {
    const most = isCanaryDone ? fleet.atOnce : 1;
    while (!hasFailed && mayBegin() && running.size < most && waiting.length > 0)
      begin(waiting.shift() as string);
    if (running.size === 0) break;
    const row = await Promise.race(running.values());
    running.delete(row.cluster);
    isCanaryDone = true;
    hasFailed ||= row.outcome === 'failed';
    yield row;
  }
  for (const cluster of waiting) yield { cluster, outcome: 'not started' };
}
