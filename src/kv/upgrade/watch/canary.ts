import { messageOf } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import { canaryKey } from '../../client/etcd-client.ts';
import type { Access } from '../../engine/access.ts';
import type { ClusterFile, Unstamped } from '../../engine/model.ts';
import type { Replacing, Run } from '../run.ts';

/** Current interval between two writes, in milliseconds. */
export type Pace = () => number;
/**
 * Fast while a member is replaced, slower in its soak time, and slow while a run waits or prompts the
 * operator.
 */
const slowestMs = { changing: 0, proved: 100, none: 1000 } as const;
const defaultPerSecond = 50;
export const paceOf =
  (replacing: ReadonlyMap<string, Replacing>, perSecond = defaultPerSecond): Pace =>
  () => {
    const states = [...replacing.values()];
    const now = states.includes('changing') ? 'changing' : (states[0] ?? 'none');
    return Math.max(slowestMs[now], 1000 / perSecond);
  };
/**
 * The canary must not overload a busy store or machine: it pauses at least three times as long as a write
 * took, up to a limit.
 */
const restAfter = (tookMs: number): number => Math.min(3 * tookMs, 200);
/** How soon a change of the interval takes effect. */
const sliceMs = 50;
export type Canary = { stop(): Promise<void> };
const tenths = (ms: number): number => Math.round(ms * 10) / 10;
/**
 * Writes one key at a time to the member that accepted the last write, otherwise to the next member. Reports
 * each write.
 */
const writerThrough = (
  host: Host,
  cluster: ClusterFile,
  access: Access,
  key: string,
  emit: (event: Unstamped) => void,
) => {
  const stores = cluster.members.map(({ name, client_url }) => ({ name, store: access.store(client_url) }));
  let at = 0;
  const write = async (value: string): Promise<boolean> => {
    const began = host.elapsed();
    let message = '';
    for (let tries = 0; tries < stores.length; tries += 1) {
      const { name, store } = stores[at] as (typeof stores)[number];
      try {
        await store.put(key, value);
        emit({ event: 'canary', ok: true, latency_ms: tenths(host.elapsed() - began), member: name });
        return true;
      } catch (error) {
        message = messageOf(error);
        at = (at + 1) % stores.length;
      }
    }
    emit({
      event: 'canary',
      ok: false,
      latency_ms: Math.round(host.elapsed() - began),
      member: stores[at]?.name ?? '',
      error: message,
    });
    return false;
  };
  return { write, remove: async () => stores[at]?.store.del(key).catch(() => {}) };
};
/**
 * Writes continuously, like a client that knows every member, to measure the effect of a run on users. The
 * events are its only result.
 */
export const startCanary = (
  host: Host,
  cluster: ClusterFile,
  access: Access,
  run: string,
  emit: (event: Unstamped) => void,
  pace: Pace = () => 1000 / defaultPerSecond,
): Canary => {
  const { write, remove } = writerThrough(host, cluster, access, canaryKey(run), emit);
  let isOver = false;
  const work = (async () => {
    for (let count = 0; !isOver; count += 1) {
      const began = host.elapsed();
      const ok = await write(String(count));
      const wroteAt = host.elapsed();
      const pause = (): number => Math.max(pace(), ok ? restAfter(wroteAt - began) : 0);
      for (let left = pause(); left > 0 && !isOver; left = pause() - (host.elapsed() - wroteAt))
        await host.sleep(Math.min(left, sliceMs));
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await work;
      await remove();
    },
  };
};

const everyMs = 500;
export type LeaderWatch = { finish(): Promise<void> };
type Seen = { readonly leader: string; readonly term: number };
/** The leader according to the members with the newest term; undefined if no member names a leader. Pure. */
export const newestLeader = (seen: readonly (Seen | undefined)[]): string | undefined =>
  seen.flatMap((one) => one ?? []).sort((a, b) => b.term - a.term)[0]?.leader;
/** Reports a change of the leader: a graceful stop moves the leadership without a request of opsctl. */
export const watchLeader = (run: Run): LeaderWatch => {
  const names = new Map(run.plan.observation.members.map((member) => [member.member_id, member.name]));
  const over = new AbortController();
  let current = run.plan.observation.leader;
  const look = async (): Promise<void> => {
    const seen = run.cluster.members.map(async ({ client_url }): Promise<Seen | undefined> => {
      const status = await run.access
        .store(client_url)
        .status()
        .catch(() => undefined);
      const leader = names.get(status?.leader_id);
      return leader === undefined ? undefined : { leader, term: status?.raft_term ?? 0 };
    });
    const to = newestLeader(await Promise.all(seen));
    if (to === undefined || to === current) return;
    run.emit({ event: 'leader-changed', from: current, to });
    current = to;
  };
  const watching = (async () => {
    while (!over.signal.aborted) {
      await look();
      await run.host.sleep(everyMs, over.signal).catch(() => {});
    }
  })();
  return {
    finish: async () => {
      over.abort();
      await watching;
    },
  };
};
