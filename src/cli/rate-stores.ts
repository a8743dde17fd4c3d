import { randomShare } from '../core/random-share.ts';
import { type Store, openStore } from '../kv/client/etcd-client.ts';
import type { Host } from '../platform/host.ts';
import { AGAIN_MS, CALL_MS, LEASE_MS, type RateStore } from '../api/rate-store.ts';

const seconds = (ms: number): number => Math.ceil(ms / 1000);
/** The key behind the last one with this prefix. */
const endOf = (prefix: string): string =>
  prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);

const connected = (host: Host, url: URL): Store =>
  openStore(host, {
    url: `${url.searchParams.get('tls') === 'true' ? 'https' : 'http'}://${url.host}`,
    timeoutMs: CALL_MS,
    ...(url.username === ''
      ? {}
      : { user: { name: decodeURIComponent(url.username), password: decodeURIComponent(url.password) } }),
  });

/** Free places, beginning anywhere, so that machines do not all try the same one. */
const freeOf = (host: Host, prefix: string, taken: ReadonlySet<string>, limit: number): string[] => {
  const all = Array.from({ length: limit }, (_, i) => `${prefix}${i}`);
  const free = all.filter((place) => !taken.has(place));
  const start = Math.floor(randomShare(host) * free.length);
  return [...free.slice(start), ...free.slice(0, start)];
};

/**
 * A place is a key with a lease: `create` succeeds for one machine only, and the store's own clock frees it. A lease ends when
 * its time is over or later, never before, so no window has more requests than places.
 */
export const etcdRateStore = (host: Host, url: URL): RateStore => {
  const store = connected(host, url);
  const root = url.pathname === '' || url.pathname === '/' ? '/opsctl-rate' : url.pathname;
  const under = (key: string): string => `${root}/${key}/`;
  const leases = new Map<string, string>();
  return {
    take: async (key, limit) => {
      const { kvs } = await store.range(under(key), { rangeEnd: endOf(under(key)), keysOnly: true });
      const taken = new Set(kvs.map((kv) => kv.key));
      const free = taken.has(`${under(key)}blocked`) ? [] : freeOf(host, under(key), taken, limit);
      if (free.length === 0) return { waitMs: AGAIN_MS };
      const lease = await store.grant(seconds(LEASE_MS));
      for (const place of free) {
        if (!(await store.create(place, host.hostname, lease))) continue;
        leases.set(place, lease);
        return { place };
      }
      await store.revoke(lease);
      return { waitMs: AGAIN_MS };
    },
    answered: async (_key, place, ms) => {
      // One second more: leases count in whole seconds.
      await store.put(place, host.hostname, await store.grant(seconds(ms) + 1));
      const held = leases.get(place);
      leases.delete(place);
      if (held !== undefined) await store.revoke(held);
    },
    block: async (key, ms) => {
      await store.put(`${under(key)}blocked`, host.hostname, await store.grant(seconds(ms)));
    },
  };
};
