import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type Bucket, makeBucket } from './rate.ts';
import { send } from './send.ts';
import type { RateStore } from './rate-store.ts';
import type { RateStoreSetting } from './rate-setting.ts';
import { storeBucket } from './shared-rate.ts';
import type { Context, Target } from '../cli/command.ts';
import type { HttpReply, HttpRequest } from '../platform/host.ts';

export type Pace = Pick<Context, 'host' | 'settings' | 'log' | 'signal'> & {
  readonly timeoutMs: number | undefined;
  /** Requests a minute that all processes of this profile may send together; undefined is no limit. */
  readonly ratePerMinute: number | undefined;
  /** Nobody set that limit, so the service may say that it has none. */
  readonly isRateDefault: boolean;
  /** Where that limit is shared with other machines. */
  readonly rateStore?: RateStoreSetting | undefined;
  /** Opens the store of `rateStore`: it is loaded only where one is set. */
  readonly openRateStore: (url: URL) => Promise<RateStore>;
};

/** Machines share a rate by the service and the token: neither can be read out of the key. */
const sharedKey = ({ baseUrl, headers }: Target): string =>
  createHash('sha256')
    .update(JSON.stringify([baseUrl, Object.entries(headers).sort()]))
    .digest('hex')
    .slice(0, 24);

const bucketsFor = (pace: Pace) => {
  const { host, settings, log, signal, ratePerMinute, rateStore, openRateStore } = pace;
  const buckets = new Map<string, Bucket>();
  const onMachine = (key: string, limit: number): Bucket =>
    makeBucket(host, join(settings.directories.state, 'rate'), key, limit, { signal });
  const onStore = (to: Target, key: string, limit: number, { url, share }: RateStoreSetting): Bucket => {
    const own = Math.max(1, Math.floor(limit / share));
    return storeBucket(host, {
      open: () => openRateStore(url),
      key: sharedKey(to),
      limit,
      signal,
      // Its own file: these tickets are of another limit than those of runs that name no store.
      own: () => onMachine(`${key}-share`, own),
      onLost: (why) =>
        log.warn(
          `the rate store ${url.protocol}//${url.host} cannot be reached (${why}): this machine keeps to its share, ${own} of ${limit} requests a minute; OPSCTL_RATE_SHARE changes the share`,
        ),
    });
  };
  return (to: Target): Bucket | undefined => {
    const { rateKey } = to;
    if (rateKey === undefined || ratePerMinute === undefined) return undefined;
    const found =
      buckets.get(rateKey) ??
      (rateStore === undefined
        ? onMachine(rateKey, ratePerMinute)
        : onStore(to, rateKey, ratePerMinute, rateStore));
    buckets.set(rateKey, found);
    return found;
  };
};

/** What is sent to one service. */
export type Sender = (request: HttpRequest) => Promise<HttpReply>;

/** Waits for a place in the shared rate window, sends, and tells all other processes when the service says no. */
export const makeRateLimited = (pace: Pace): ((to: Target) => Sender) => {
  const { host, log, signal, timeoutMs, ratePerMinute } = pace;
  const bucketOf = bucketsFor(pace);
  const onWait = (ms: number): void =>
    log.info(`waiting ${(ms / 1000).toFixed(0)} s for the rate limit (${ratePerMinute} requests a minute)`);
  return (to) => {
    const bucket = bucketOf(to);
    const onRetry = (delayMs: number, why: string): void => {
      if (why === 'answer 429') bucket?.block(host.now() + delayMs);
      log.info(`${why}; trying again in ${(delayMs / 1000).toFixed(1)} s`);
    };
    const options = { signal, onRetry, ...(bucket ? { admit: () => bucket.admit(onWait) } : {}) };
    const sent: Sender = (request) =>
      send(host, timeoutMs === undefined ? request : { ...request, timeoutMs }, options);
    if (bucket === undefined || !pace.isRateDefault) return sent;
    return async (request) => {
      const reply = await sent(request);
      // Ours is a default for services that do not say; one that a user set is kept.
      if (reply.headers['x-ratelimit-limit'] === 'off') bucket.open();
      return reply;
    };
  };
};
