import { int, map, maybe, oneOf, record, str } from '../../core/field.ts';
import type { ServiceInfo } from '../../core/operation.ts';

/** spec/tracker#errors-4: one common body for all errors without a specific name. */
const errorBody = record('Error', {
  message: str(),
  /** Problems of the values, by field of the request. */
  errors: maybe(map(str())),
  tag: maybe(str()),
});
/** spec/tracker#errors: what each status of a refusal means. */
const refusals = {
  meanings: {
    400: 'The request does not match the schema',
    401: 'The token is missing or invalid',
    403: 'The token does not have the permission',
    404: 'The resource does not exist',
    422: 'The request cannot be processed',
    429: 'Too many requests; the request was not processed',
  },
  body: errorBody,
} as const;
/** spec/tracker#errors: the named errors with their status and body. */
const namedErrors = {
  DisabledFeatureError: {
    status: 403,
    meaning: 'The feature is disabled in this workspace',
    body: record('DisabledFeatureError', { feature_tag: str(), message: str() }),
  },
  UnusableEntitlementError: {
    status: 403,
    meaning: 'The plan of the workspace does not include this feature',
    body: record('UnusableEntitlementError', {
      reason_tag: oneOf('entitlement-violation'),
      entitlement_tag: str(),
      message: str(),
    }),
  },
  DataConflictError: {
    status: 409,
    meaning: 'Another request changed the record at the same time',
    body: record('DataConflictError', { error: oneOf('data-conflict-error'), message: str() }),
  },
  MaximumResultsExceeded: {
    status: 400,
    meaning: 'The search matches more results than paging supports',
    body: record('MaxSearchResultsExceededError', {
      error: oneOf('maximum-results-exceeded'),
      message: str(),
      'maximum-results': int(),
    }),
  },
} as const;

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
