import { AGAIN_MS, CALL_MS, LEASE_MS, type RateStore } from '../api/rate.ts';
import { randomShare } from '../core/shape.ts';
import { openStore, type Store } from '../kv/client/etcd-client.ts';
import type { Host } from '../platform/host.ts';

const seconds = (ms: number): number => Math.ceil(ms / 1000);
/** The key behind the last one with this prefix. */
const endOf = (prefix: string): string =>
  prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
const connectStore = (host: Host, url: URL): Store =>
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
  const store = connectStore(host, url);
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
    release: async (_key, place, ms) => {
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

/**
 * Places of a key are the members of a sorted set, each with the time at which it is free again, by the clock of the store.
 * One script is one step for all machines.
 */
const TAKE = `
local t = redis.call('TIME'); local now = t[1] * 1000 + math.floor(t[2] / 1000)
local blocked = redis.call('PTTL', KEYS[2])
if blocked > 0 then return blocked end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[1]) then
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[2])
  redis.call('PEXPIRE', KEYS[1], 2 * tonumber(ARGV[3]))
  return 0
end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return math.max(1, math.min(tonumber(first[2]) - now, tonumber(ARGV[4])))`;
const ANSWERED = `
local t = redis.call('TIME'); local now = t[1] * 1000 + math.floor(t[2] / 1000)
return redis.call('ZADD', KEYS[1], 'XX', now + tonumber(ARGV[2]) + 1, ARGV[1])`;
const BLOCK = `redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]); return 1`;
/** The longest wait between two checks. A place with an active request becomes free before its lease ends. */
const LOOK_MS = 4 * AGAIN_MS;
export const redisRateStore = async (host: Host, url: URL): Promise<RateStore> => {
  const run = await host.redis(url.href, CALL_MS);
  const nonce = Buffer.from(host.random(8)).toString('hex');
  let count = 0;
  const places = (key: string): string => `opsctl:rate:{${key}}`;
  const blockedKey = (key: string): string => `${places(key)}:blocked`;
  return {
    take: async (key, limit) => {
      count += 1;
      const place = `${nonce}-${count}`;
      const waitMs = await run(TAKE, [places(key), blockedKey(key)], [limit, place, LEASE_MS, LOOK_MS]);
      return waitMs === 0 ? { place } : { waitMs };
    },
    release: async (key, place, ms) => void (await run(ANSWERED, [places(key)], [place, ms])),
    block: async (key, ms) => void (await run(BLOCK, [blockedKey(key)], [Math.ceil(ms)])),
  };
};

/** The store of a `redis://`, `rediss://` or `etcd://` address; settings.ts has refused any other. */
export const openRateStore = async (host: Host, url: URL): Promise<RateStore> =>
  url.protocol === 'etcd:' ? etcdRateStore(host, url) : redisRateStore(host, url);
