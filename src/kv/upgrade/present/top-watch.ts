import type { Host } from '../../../platform/host.ts';
import { findRuns } from '../../engine/journal.ts';
import { whoIsAt } from '../../engine/machine-lock.ts';
import type { Access } from '../../engine/access.ts';
import { observe } from '../observe/observe.ts';
import type { ClusterFile } from '../../engine/types.ts';
import { startCanary } from '../watch/canary.ts';
import type { TopCanary, TopState } from './top.ts';

export type TopWatched = {
  readonly host: Host;
  /** Directory of the runs of this machine. */
  readonly state: string;
  readonly cluster: ClusterFile;
  readonly access: Access;
};

/** The newest run of this machine, and who works on it. */
const runOf = async ({ host, state, cluster }: TopWatched): Promise<Pick<TopState, 'run' | 'worker'>> => {
  const [run] = await findRuns(host, state, cluster.name).catch(() => []);
  const held = await whoIsAt(host, state, cluster.name).catch(() => undefined);
  return {
    ...(run === undefined ? {} : { run }),
    ...(held === undefined ? {} : { worker: `in progress on ${held.owner.host}, process ${held.owner.pid}` }),
  };
};

/** Its writes are counted from the first one on. */
const countedCanary = ({ host, cluster, access }: TopWatched) => {
  let seen: TopCanary = { writes: 0, failed: 0, lastMs: 0, longestMs: 0 };
  const canary = startCanary(
    host,
    cluster,
    access,
    `top-${host.pid}`,
    (event) => {
      if (event.event !== 'canary') return;
      seen = {
        writes: seen.writes + 1,
        failed: seen.failed + (event.ok ? 0 : 1),
        lastMs: event.latency_ms,
        longestMs: Math.max(seen.longestMs, event.latency_ms),
      };
    },
    () => 1000,
  );
  return { now: () => seen, stop: () => canary.stop() };
};

export type TopWatch = { readonly look: () => Promise<TopState>; readonly stop: () => Promise<unknown> };

/** Looks at the members and at the run; with a canary, writes while it is not stopped. */
export const topWatch = (watched: TopWatched, withCanary: boolean): TopWatch => {
  const canary = withCanary ? countedCanary(watched) : undefined;
  return {
    look: async () => ({
      observation: await observe(watched),
      ...(await runOf(watched)),
      ...(canary === undefined ? {} : { canary: canary.now() }),
    }),
    stop: async () => canary?.stop(),
  };
};

/** One look as data. */
export const topData = ({ observation, run, worker, canary }: TopState) => ({
  ...observation,
  last_run: run === undefined ? null : { run: run.run, entries: run.entries.length, worker: worker ?? null },
  ...(canary === undefined ? {} : { canary }),
});
