import type { Host } from '../platform/host.ts';
import { etcdRateStore } from './rate-stores.ts';
import type { RateStore } from '../api/rate-store.ts';
import { redisRateStore } from './redis-store.ts';

/** The store of a `redis://`, `rediss://` or `etcd://` address; settings.ts has refused any other. */
export const openRateStore = async (host: Host, url: URL): Promise<RateStore> =>
  url.protocol === 'etcd:' ? etcdRateStore(host, url) : redisRateStore(host, url);
