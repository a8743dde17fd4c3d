import { AppError } from '../core/problem.ts';

/** Where machines share a rate, and among how many of them the limit is divided when that cannot be reached. */
export type RateStoreSetting = { readonly url: URL; readonly share: number };
type Given = { readonly value: string; readonly origin: string };

const makeSettingError = (what: string, tryThis: string): AppError =>
  new AppError('config', what, { code: 'RATE_STORE', tryThis: [tryThis] });

/** The value is not repeated: it may hold a password. Pure. */
export const rateStoreSetting = (
  store: Given | undefined,
  share: Given | undefined,
): RateStoreSetting | undefined => {
  if (store === undefined) return undefined;
  const url = URL.canParse(store.value) ? new URL(store.value) : undefined;
  if (url === undefined || !['redis:', 'rediss:', 'etcd:'].includes(url.protocol) || url.hostname === '')
    throw makeSettingError(
      `rate_store (${store.origin}) must be the address of a Redis or etcd server`,
      'redis://HOST:6379, rediss://HOST:6379 or etcd://HOST:2379',
    );
  if (share !== undefined && !/^[1-9]\d{0,5}$/.test(share.value))
    throw makeSettingError(
      `rate_share must be a whole number from 1; got ${JSON.stringify(share.value)} (${share.origin})`,
      'the number of machines that use the token at the same time',
    );
  return { url, share: Number(share?.value ?? 10) };
};
