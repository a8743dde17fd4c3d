import {
  any,
  bool,
  type Field,
  type Fields,
  help,
  int,
  list,
  num,
  obj,
  type ObjectField,
  oneOf,
  out,
  req,
  str,
} from '../../core/field.ts';
import type { Method } from '../../core/operation.ts';

/** spec/labels#schemas: the kinds of a field; each has an option member named after it (`textOptions`). */
export const fieldKinds = ['text', 'integer', 'date', 'selection', 'user'] as const;
export type FieldKind = (typeof fieldKinds)[number];
export const optionsOf = (kind: FieldKind) => `${kind}Options` as const;
/** At most one of them is set in a field. */
export const optionMembers = fieldKinds.map(optionsOf);
/** spec/labels#permissions-2, lowest first: each role implies the ones before it. */
export const labelRoles = ['READER', 'APPLIER', 'ORGANIZER', 'EDITOR'] as const;
/** What happens to the values of a label when an item is copied. */
export const copyModes = ['DO_NOT_COPY', 'ALWAYS_COPY', 'COPY_APPLIABLE'] as const;
/** Types of labels that can be created. */
export const ownLabelTypes = ['SHARED', 'ADMIN'] as const;
/** Whom a permission is for: an address, or a principal. */
export const principalMembers = ['person', 'group', 'audience'] as const;

/**
 * A named JSON object. Any key may be absent, even in a response (spec/labels#errors: defaults may be left
 * out, `fields` narrows).
 */
export const schema = <const O extends Fields>(
  name: string,
  fields: O,
  exclusive?: ObjectField['exclusive'],
) =>
  obj(fields, exclusive === undefined ? { name } : { name, exclusive }) as {
    type: 'object';
    fields: O;
    name: string;
  };
export const int32 = () => int({ format: 'int32' });
const float = () => num({ format: 'float' });
/** spec/labels#errors: 64-bit numbers are strings in responses; requests accept strings or numbers. */
export const int64 = () => str(undefined, { format: 'int64' });
/** spec/labels#parameters: `title,description`, or `*` for every field. */
export const fieldMask = () => str(undefined, { format: 'fieldmask' });
/** Real deployments have more words than the documents; unknown ones pass through. */
export const openEnum = <const E extends readonly string[]>(...values: E) =>
  str(undefined, { enum: values, open: true });
export const markInputOnly = <const F extends Field>(field: F) =>
  ({ ...field, inputOnly: true }) as F & { inputOnly: true };
export const requireField = <const F extends Field>(field: F) =>
  ({ ...field, needed: true }) as F & { needed: true };
export const labelView = oneOf('LABEL_VIEW_BASIC', 'LABEL_VIEW_FULL');
export const copyMode = oneOf('COPY_MODE_UNSPECIFIED', ...copyModes);
/** spec/labels#parameters, path parameter patterns. */
const name = (pattern: string, summary: string) => req(help(str(undefined, { pattern }), summary));
export const labelName = name(
  '^labels/[^/]+$',
  'The label: labels/<id>, labels/<id>@latest, @published or @<revision>',
);
export const revisionName = name(
  '^labels/[^/]+/revisions/[^/]+$',
  'The revision: labels/<id>/revisions/<revision>',
);
export const permissionName = name(
  '^labels/[^/]+/permissions/[^/]+$',
  'The permission: labels/<id>/permissions/<id>',
);
export const revisionPermissionName = name(
  '^labels/[^/]+/revisions/[^/]+/permissions/[^/]+$',
  'The permission: labels/<id>/revisions/<revision>/permissions/<id>',
);
export const capabilitiesName = name(
  '^users/[^/]+/capabilities$',
  'users/me/capabilities, or users/<id>/capabilities',
);
/** spec/labels#parameters, query parameters shared by several methods. */
export const adminQuery = {
  useAdminAccess: help({ type: 'boolean', default: false } as const, 'Act with admin rights on the label'),
};
export const languageQuery = { languageCode: help(str(), 'BCP-47 tag of the names in the response') };
export const viewQuery = {
  view: help({ ...labelView, default: 'LABEL_VIEW_BASIC' } as const, 'Fields that the response contains'),
};
export const pageQuery = (standard: number) => ({
  pageSize: help(
    { type: 'integer', format: 'int32', min: 0, default: standard } as const,
    `Entries per page (default ${standard}), at most 200`,
  ),
  pageToken: help(str(), 'Page token from the previous response'),
});

// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: small values used everywhere.

const badgeColor = schema('Color', {
  alpha: help(float(), '0..1, unset = opaque'),
  blue: help(float(), '0..1'),
  green: help(float(), '0..1'),
  red: help(float(), '0..1'),
});
export const calendarDate = schema('Date', {
  day: help(int32(), '1..31, 0 = no day'),
  month: help(int32(), '1..12, 0 = no month'),
  year: help(int32(), '1..9999, 0 = no year'),
});
export const empty = schema('Empty', {});
export const userInfo = schema('UserInfo', {
  person: help(str(), 'people/<id>'),
});
export const writeControl = schema('WriteControl', {
  requiredRevisionId: help(
    str(),
    'Must equal the latest revision ID; otherwise the write fails with HTTP 400',
  ),
});
export const lockStatus = schema('LockStatus', {
  locked: out(help(bool(), 'True = direct target of a lock; implicit locks do not set it')),
});
export const lifecycleDisabledPolicy = schema('LifecycleDisabledPolicy', {
  hideInSearch: help(bool(), 'True = hide in search'),
  showInApply: help(bool(), 'True = show grayed out in the apply menu'),
});
export const lifecycle = schema('Lifecycle', {
  disabledPolicy: help(lifecycleDisabledPolicy, 'How the object is shown while disabled'),
  hasUnpublishedChanges: out(help(bool(), 'True = a draft newer than the published revision exists')),
  state: out(
    help(oneOf('STATE_UNSPECIFIED', 'UNPUBLISHED_DRAFT', 'PUBLISHED', 'DISABLED', 'DELETED'), 'State'),
  ),
});
export const badgeColors = schema('BadgeColors', {
  backgroundColor: out(help(badgeColor, 'Badge background')),
  foregroundColor: out(help(badgeColor, 'Badge foreground')),
  soloColor: out(help(badgeColor, 'Text color without background')),
});
export const badgeConfig = schema('BadgeConfig', {
  color: help(badgeColor, 'Badge color; unset = no badge; the server selects the nearest supported color'),
  priorityOverride: help(int64(), 'Int64 as string; 0 = default heuristic'),
});

/**
 * spec/labels#scopes: reads accept any of the four scopes, writes accept two; admin calls need a scope that
 * starts with `admin.`.
 */
const readScopes = ['labels', 'labels.readonly', 'admin.labels', 'admin.labels.readonly'] as const;
const writeScopes = ['labels', 'admin.labels'] as const;
/** Names of the scopes of which one is enough for a call. */
export const scopesFor = (method: Method | string, isAdminCall = false): readonly string[] =>
  (method === 'GET' ? readScopes : writeScopes).filter((name) => !isAdminCall || name.startsWith('admin.'));

/** spec/labels#parameters "system parameters": every method accepts them. */
export const systemQuery = {
  '$.xgafv': help(oneOf('1', '2'), 'Format of the errors: 1 is the older format'),
  access_token: help(str(), 'Access token, if it is not in the Authorization header'),
  alt: help({ ...oneOf('json', 'media', 'proto'), default: 'json' } as const, 'Format of the response'),
  callback: help(str(), 'Name of the callback function for the response'),
  fields: help(str(), 'Fields of the response to include: labels(id,properties/title),nextPageToken'),
  key: help(str(), 'Key of the calling project'),
  oauth_token: help(str(), 'Same as access_token'),
  prettyPrint: help(
    { ...bool(), default: true } as const,
    'Return the response with line breaks and indentation',
  ),
  quotaUser: help(str(), 'User whose quota is charged, at most 40 characters'),
  uploadType: help(str(), 'For uploads, which this service does not support'),
  upload_protocol: help(str(), 'For uploads, which this service does not support'),
} as const;

/** spec/labels#errors: the statuses of a refusal, and the body of each. */
export const refusals = {
  meanings: {
    400: 'The request is invalid (INVALID_ARGUMENT), or the state of the label does not allow it (FAILED_PRECONDITION)',
    401: 'The access token is missing or no longer valid (UNAUTHENTICATED)',
    403: 'The token lacks a scope, or the caller lacks a role (PERMISSION_DENIED)',
    404: 'The label, revision, permission or method does not exist (NOT_FOUND)',
    409: 'The record already exists (ALREADY_EXISTS)',
    429: 'The quota is exhausted; the request was not processed (RESOURCE_EXHAUSTED)',
  },
  body: obj(
    {
      error: obj({ code: int32(), message: str(), status: str(), details: list(any()) }, { name: 'Status' }),
    },
    { name: 'ErrorBody' },
  ),
} as const;
