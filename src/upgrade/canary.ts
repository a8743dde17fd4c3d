import type { Host } from '../host/host.ts';
import type { Access } from './access.ts';
import { canaryKey } from './own-keys.ts';
import type { CanaryReport, ClusterFile, Unstamped } from './types.ts';

const everyMs = 50;
export type Canary = { stop(): Promise<CanaryReport> };

const quantile = (sorted: readonly number[], share: number): number | undefined =>
  sorted.length === 0 ? undefined : Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number) * 10) / 10;

/** Writes all the time, like a client that knows every member: what users of the cluster see during the window. */
export const startCanary = (host: Host, cluster: ClusterFile, access: Access, run: string, emit: (event: Unstamped) => void): Canary => {
  const stores = cluster.members.map(({ name, client_url }) => ({ name, store: access.store(client_url) }));
  const latencies: number[] = [];
  let [writes, failed, longestGapMs, at, isOver] = [0, 0, 0, 0, false];
  const key = canaryKey(run);
  const writeOnce = async (): Promise<void> => {
    const began = host.elapsed();
    let message = '';
    for (let tries = 0; tries < stores.length; tries += 1) {
      const { name, store } = stores[at] as (typeof stores)[number];
      try {
        await store.put(key, String(writes));
        const latency_ms = Math.round((host.elapsed() - began) * 10) / 10;
        latencies.push(latency_ms);
        return emit({ event: 'canary', ok: true, latency_ms, member: name });
      } catch (error) {
        message = error instanceof Error ? error.message : String(error);
        at = (at + 1) % stores.length;
      }
    }
    failed += 1;
    emit({ event: 'canary', ok: false, latency_ms: Math.round(host.elapsed() - began), member: stores[at]?.name ?? '', error: message });
  };
  const work = (async () => {
    let last = host.elapsed();
    while (!isOver) {
      const before = failed;
      await writeOnce();
      writes += 1;
      if (failed === before) {
        longestGapMs = Math.max(longestGapMs, host.elapsed() - last);
        last = host.elapsed();
      }
      await host.sleep(everyMs);
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await work;
      await stores[at]?.store.del(key).catch(() => {});
      const sorted = latencies.toSorted((a, b) => a - b);
      return { writes, failed, longest_gap_ms: Math.round(longestGapMs), median_ms: quantile(sorted, 0.5), p99_ms: quantile(sorted, 0.99) };
    },
  };
};
