import type { ServiceInfo } from '../../core/operation.ts';
import { namedErrors, refusals } from './errors.ts';

/** spec/tracker: base path, token header and rate limit of the tracker, apart from its endpoints. */
export const trackerInfo = {
  name: 'tracker',
  title: 'Work-Tracking REST API',
  version: '3',
  basePath: '/api/v3',
  tokenHeader: { name: 'Tracker-Token', prefix: '' },
  ratePerMinute: 200,
  refusals,
  namedErrors,
} as const satisfies ServiceInfo;
