import type { Host } from '../platform/host.ts';
import { AGAIN_MS, CALL_MS, LEASE_MS, type RateStore } from '../api/rate-store.ts';

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

/** The longest wait between two looks: a place whose request is under way becomes free earlier than its lease says. */
const LOOK_MS = 4 * AGAIN_MS;

export const redisRateStore = async (host: Host, url: URL): Promise<RateStore> => {
  const run = await host.redis(url.href, CALL_MS);
  const nonce = Buffer.from(host.random(8)).toString('hex');
  let count = 0;
  const places = (key: string): string => `opsctl:rate:{${key}}`;
  const blocked = (key: string): string => `${places(key)}:blocked`;
  return {
    take: async (key, limit) => {
      count += 1;
      const place = `${nonce}-${count}`;
      const waitMs = await run(TAKE, [places(key), blocked(key)], [limit, place, LEASE_MS, LOOK_MS]);
      return waitMs === 0 ? { place } : { waitMs };
    },
    answered: async (key, place, ms) => void (await run(ANSWERED, [places(key)], [place, ms])),
    block: async (key, ms) => void (await run(BLOCK, [blocked(key)], [Math.ceil(ms)])),
  };
};
