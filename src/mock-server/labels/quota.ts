import { makeRate, rateClock } from '../rate.ts';
import type { Environment } from '../service.ts';
import type { Caller } from './access.ts';
import { LabelError } from './errors.ts';

/** spec/labels#limits "requests": reads and writes of one user are counted apart; one over the quota is 429 and does nothing. */
export const quotaOf = (env: Environment): ((caller: Caller, method: string) => void) => {
  const { labelsQuota: quota, rateRetryAfter } = env.options;
  if (quota === undefined) return () => {};
  const clock = rateClock(env);
  const reads = makeRate(quota.reads, clock);
  const writes = makeRate(quota.writes, clock);
  return ({ person }, method) => {
    const isRead = method === 'GET';
    const over = (isRead ? reads : writes).take(person);
    if (over === undefined) return;
    const most = isRead
      ? `Read requests per minute: ${quota.reads}`
      : `Write requests per minute: ${quota.writes}`;
    throw new LabelError(
      'RESOURCE_EXHAUSTED',
      `Quota exceeded for quota metric '${most}' of the label service.`,
      {
        reason: 'RATE_LIMIT_EXCEEDED',
        metadata: {
          quota_limit_value: String(isRead ? quota.reads : quota.writes),
          quota_unit: '1/min/{project}/{user}',
        },
        ...(rateRetryAfter ? { retryAfter: Math.ceil(over.waitMs / 1000) } : {}),
      },
    );
  };
};
