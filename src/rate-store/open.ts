import type { Host } from '../platform/host.ts';
import { etcdRateStore } from './etcd-store.ts';
import type { RateStore } from './rate-store.ts';
import { redisRateStore } from './redis-store.ts';

/** The store of a `redis://`, `rediss://` or `etcd://` address; settings.ts has refused any other. */
export const openRateStore = async (host: Host, url: URL): Promise<RateStore> =>
  url.protocol === 'etcd:' ? etcdRateStore(host, url) : redisRateStore(host, url);
