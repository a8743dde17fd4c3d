import { argumentName } from '../../core/flag.ts';
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

/**
 * The kind of record that a field refers to, and its short flag. `label` of `labels` creates inputs, not IDs.
 */
export type Reference = { readonly kind: string; readonly alias?: string };
/** Fields of bodies and queries, by name. */
export const fieldReferences: Readonly<Record<string, Reference>> = {
  author_id: { kind: 'member', alias: 'author' },
  default_workflow_id: { kind: 'workflow' },
  epic_id: { kind: 'epic', alias: 'epic' },
  epic_ids: { kind: 'epic' },
  epic_state_id: { kind: 'epic-state', alias: 'epic-state' },
  follower_ids_add: { kind: 'member' },
  follower_ids_remove: { kind: 'member' },
  follower_ids: { kind: 'member', alias: 'follower' },
  group_id: { kind: 'group', alias: 'group' },
  group_ids: { kind: 'group', alias: 'group' },
  iteration_id: { kind: 'iteration', alias: 'iteration' },
  iteration_ids: { kind: 'iteration' },
  label_ids: { kind: 'label', alias: 'label' },
  member_ids: { kind: 'member', alias: 'member' },
  milestone_id: { kind: 'objective', alias: 'milestone' },
  objective_ids: { kind: 'objective', alias: 'objective' },
  owner_id: { kind: 'member' },
  owner_ids_add: { kind: 'member' },
  owner_ids_remove: { kind: 'member' },
  owner_ids: { kind: 'member', alias: 'owner' },
  project_id: { kind: 'project', alias: 'project' },
  project_ids: { kind: 'project' },
  requested_by_id: { kind: 'member', alias: 'requested-by' },
  uploader_id: { kind: 'member', alias: 'uploader' },
  workflow_ids: { kind: 'workflow' },
  workflow_state_id: { kind: 'workflow-state', alias: 'workflow-state' },
};
/** Path parameters: `{label-public-id}` is a label. */
export const paramKind = (param: string): string | undefined => {
  const word = argumentName(param);
  const kind = { milestone: 'objective', repo: 'repository' }[word] ?? word;
  return [
    'category',
    'custom-field',
    'entity-template',
    'epic',
    'group',
    'iteration',
    'label',
    'member',
    'objective',
    'project',
    'repository',
  ].includes(kind)
    ? kind
    : undefined;
};
