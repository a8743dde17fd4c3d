import type { Incoming } from '../platform/host.ts';

type Headers = Incoming['headers'];

/** A page in a browser must not be able to steer the mock: browsers name the page's origin, programs do not. Pure. */
export const isFromPage = (headers: Headers): boolean =>
  headers.origin !== undefined || headers['sec-fetch-site'] === 'cross-site';

/** Another site's page: browsers name its origin in every request that is no plain GET. Pure. */
const isFromOtherSite = (headers: Headers): boolean =>
  headers['sec-fetch-site'] === 'cross-site' ||
  (headers.origin !== undefined && !headers.origin.endsWith(`://${headers.host}`));

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A change that a page of another site asks for. Pure. */
export const isCrossSiteWrite = (method: string, headers: Headers): boolean =>
  !READS.has(method) && isFromOtherSite(headers);
