import { bool, datetime, help, list, oneOf, out, req, str } from '../../core/field.ts';
import { op, type Resource, type Service } from '../../core/operation.ts';
import { deltaUpdateLabelRequest, deltaUpdateLabelResponse } from './delta.ts';
import {
  disableLabelRequest,
  enableLabelRequest,
  label,
  listLabelsResponse,
  publishLabelRequest,
  updateLabelCopyModeRequest,
  updateLabelEnabledAppSettingsRequest,
} from './label.ts';
import {
  adminQuery,
  calendarDate,
  capabilitiesName,
  empty,
  int32,
  int64,
  labelName,
  labelRoles,
  languageQuery,
  pageQuery,
  revisionName,
  schema,
  userInfo,
  viewQuery,
  refusals,
  scopesFor,
  systemQuery,
} from './wire.ts';
import { permissions, revisionPermissions } from './permissions.ts';

const params = { name: labelName };
const columns = ['id', 'properties.title', 'labelType', 'lifecycle.state', 'revisionId'];
/** spec/labels#labels. */
export const labels = {
  create: op({
    method: 'POST',
    path: '/labels',
    id: 'labels.create',
    summary: 'Create a label',
    cites: 'spec/labels#labels',
    query: { ...languageQuery, ...adminQuery },
    body: {
      ...label.fields,
      labelType: req(label.fields.labelType),
      properties: req(label.fields.properties),
    },
    bodyName: 'Label',
    ok: 200,
    returns: label,
    cli: { columns, examples: ['opsctl labels create --label-type SHARED --title Invoice'] },
  }),
  list: op({
    method: 'GET',
    path: '/labels',
    id: 'labels.list',
    summary: 'List labels',
    cites: 'spec/labels#labels',
    query: {
      customer: help(str(), "Owner of the labels: customers/<id>; default: the caller's own"),
      ...languageQuery,
      minimumRole: help(
        {
          ...oneOf('LABEL_ROLE_UNSPECIFIED', ...labelRoles),
          default: 'READER',
        } as const,
        'Only labels on which the caller has this role',
      ),
      ...pageQuery(50),
      publishedOnly: help(
        { ...bool(), default: false } as const,
        'Published revisions, including disabled labels; current revisions otherwise',
      ),
      ...adminQuery,
      ...viewQuery,
    },
    ok: 200,
    returns: listLabelsResponse,
    cli: { columns, examples: ['opsctl labels list --view LABEL_VIEW_FULL -o json'] },
  }),
  get: op({
    method: 'GET',
    path: '/{name=labels/*}',
    id: 'labels.get',
    summary: 'Show a label',
    cites: 'spec/labels#labels',
    params,
    query: { ...languageQuery, ...adminQuery, ...viewQuery },
    ok: 200,
    returns: label,
    cli: {
      columns,
      examples: [
        'opsctl labels get Contract',
        {
          line: "opsctl labels get 'Project phase@published' -o yaml",
          says: 'Show the published revision as YAML',
        },
      ],
    },
  }),
  delete: op({
    method: 'DELETE',
    path: '/{name=labels/*}',
    id: 'labels.delete',
    summary: 'Permanently delete a label and its values on items',
    cites: 'spec/labels#labels',
    params,
    query: {
      ...adminQuery,
      'writeControl.requiredRevisionId': help(str(), 'Fail unless this is the latest revision'),
    },
    ok: 200,
    returns: empty,
    cli: {
      confirm: 'Delete {name}? This permanently removes the label and its values from every item.',
      examples: ['opsctl labels delete Sensitivity --yes'],
    },
  }),
  delta: op({
    method: 'POST',
    path: '/{name=labels/*}:delta',
    id: 'labels.delta',
    summary: 'Apply edits atomically, which creates a draft revision',
    cites: 'spec/labels#labels',
    params,
    body: deltaUpdateLabelRequest.fields,
    bodyName: 'DeltaUpdateLabelRequest',
    ok: 200,
    returns: deltaUpdateLabelResponse,
    cli: {
      examples: [
        `opsctl labels delta Contract --requests '[{"updateLabel": {"properties": {"title": "Agreement"}, "updateMask": "title"}}]'`,
      ],
    },
  }),
  publish: op({
    method: 'POST',
    path: '/{name=labels/*}:publish',
    id: 'labels.publish',
    summary: 'Publish all draft changes of a label',
    cites: 'spec/labels#labels',
    params,
    body: publishLabelRequest.fields,
    bodyName: 'PublishLabelRequest',
    ok: 200,
    returns: label,
    cli: { columns },
  }),
  disable: op({
    method: 'POST',
    path: '/{name=labels/*}:disable',
    id: 'labels.disable',
    summary: 'Disable a published label',
    cites: 'spec/labels#labels',
    params,
    body: disableLabelRequest.fields,
    bodyName: 'DisableLabelRequest',
    ok: 200,
    returns: label,
    cli: {
      columns,
      examples: [`opsctl labels disable 'Project phase' --disabled-policy '{"showInApply": true}'`],
    },
  }),
  enable: op({
    method: 'POST',
    path: '/{name=labels/*}:enable',
    id: 'labels.enable',
    summary: 'Enable a disabled label in its published state',
    cites: 'spec/labels#labels',
    params,
    body: enableLabelRequest.fields,
    bodyName: 'EnableLabelRequest',
    ok: 200,
    returns: label,
    cli: { columns, examples: ['opsctl labels enable Retention'] },
  }),
  updateLabelCopyMode: op({
    method: 'POST',
    path: '/{name=labels/*}:updateLabelCopyMode',
    id: 'labels.updateLabelCopyMode',
    summary: 'Set the copy behavior of a label (effective immediately)',
    cites: 'spec/labels#labels',
    params,
    body: updateLabelCopyModeRequest.fields,
    bodyName: 'UpdateLabelCopyModeRequest',
    ok: 200,
    returns: label,
    cli: {
      verb: 'update-copy-mode',
      columns,
      examples: ['opsctl labels update-copy-mode Contract --copy-mode DO_NOT_COPY'],
    },
  }),
  updateLabelEnabledAppSettings: op({
    method: 'POST',
    path: '/{name=labels/*}:updateLabelEnabledAppSettings',
    id: 'labels.updateLabelEnabledAppSettings',
    summary: 'Set the apps that may use a label (effective immediately)',
    cites: 'spec/labels#labels',
    params,
    body: updateLabelEnabledAppSettingsRequest.fields,
    bodyName: 'UpdateLabelEnabledAppSettingsRequest',
    ok: 200,
    returns: label,
    cli: {
      verb: 'update-enabled-app-settings',
      columns,
      examples: [
        `opsctl labels update-enabled-app-settings Contract --enabled-app-settings '{"enabledApps": [{"app": "FILES"}]}'`,
      ],
    },
  }),
} as const satisfies Resource;

// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: locks, limits and capabilities.

const labelLockCapabilities = schema('LabelLockCapabilities', {
  canViewPolicy: help(bool(), 'Caller may see the policy behind the lock'),
});
const labelLock = schema('LabelLock', {
  capabilities: out(help(labelLockCapabilities, 'Caller rights on the lock')),
  choiceId: help(str(), 'Locked choice; needs fieldId'),
  createTime: out(help(datetime(), 'When it was created (RFC 3339, UTC, Z)')),
  creator: out(help(userInfo, 'User who owns the lock; absent if there is no user')),
  deleteTime: out(help(datetime(), 'When removal was scheduled; only in DELETING')),
  fieldId: help(str(), 'Locked field; empty = whole label'),
  name: out(help(str(), 'Resource name')),
  state: out(help(oneOf('STATE_UNSPECIFIED', 'ACTIVE', 'DELETING'), 'Lock state')),
});
const listLabelLocksResponse = schema('ListLabelLocksResponse', {
  labelLocks: help(list(labelLock), 'Locks'),
  nextPageToken: help(str(), 'Token for the next page; absent/empty on the last page'),
});
const listLimits = schema('ListLimits', {
  maxEntries: help(int32(), 'Maximum number of values'),
});
const dateLimits = schema('DateLimits', {
  maxValue: help(calendarDate, 'Latest allowed date'),
  minValue: help(calendarDate, 'Earliest allowed date'),
});
const integerLimits = schema('IntegerLimits', {
  maxValue: help(int64(), 'Int64 as string'),
  minValue: help(int64(), 'Int64 as string'),
});
const textLimits = schema('TextLimits', {
  maxLength: help(int32(), 'Maximum length in characters'),
  minLength: help(int32(), 'Minimum length in characters'),
});
const longTextLimits = schema('LongTextLimits', {
  maxLength: help(int32(), 'Maximum length in characters'),
  minLength: help(int32(), 'Minimum length in characters'),
});
const selectionLimits = schema('SelectionLimits', {
  listLimits: help(listLimits, 'Limits of the multi-value variant'),
  maxChoices: help(int32(), 'Choices per field'),
  maxDeletedChoices: help(int32(), 'Number of deleted choices kept'),
  maxDisplayNameLength: help(int32(), 'Maximum length of a choice name'),
  maxIdLength: help(int32(), 'Maximum length of a choice ID'),
});
const userLimits = schema('UserLimits', {
  listLimits: help(listLimits, 'Limits of the multi-value variant'),
});
const fieldLimits = schema('FieldLimits', {
  dateLimits: help(dateLimits, 'Limits of date fields'),
  integerLimits: help(integerLimits, 'Limits of integer fields'),
  longTextLimits: help(longTextLimits, 'Limits of long text'),
  maxDescriptionLength: help(int32(), 'Maximum length of field help text'),
  maxDisplayNameLength: help(int32(), 'Maximum length of a field name'),
  maxIdLength: help(int32(), 'Maximum length of a field ID'),
  selectionLimits: help(selectionLimits, 'Limits of selection fields'),
  textLimits: help(textLimits, 'Limits of text fields'),
  userLimits: help(userLimits, 'Limits of user fields'),
});
const labelLimits = schema('LabelLimits', {
  fieldLimits: help(fieldLimits, 'Limits of fields'),
  maxDeletedFields: help(int32(), 'Maximum number of deleted published fields'),
  maxDescriptionLength: help(int32(), 'Maximum length of a description'),
  maxDraftRevisions: help(int32(), 'Number of drafts kept'),
  maxFields: help(int32(), 'Maximum number of fields per label'),
  maxTitleLength: help(int32(), 'Maximum length of a title'),
  name: help(str(), 'Always limits/label'),
});
const userCapabilities = schema('UserCapabilities', {
  canAccessLabelManager: out(help(bool(), 'Caller may open the label manager')),
  canAdministrateLabels: out(help(bool(), 'Caller administers shared labels')),
  canCreateAdminLabels: out(help(bool(), 'Caller may create ADMIN labels')),
  canCreateSharedLabels: out(help(bool(), 'Caller may create SHARED labels')),
  name: out(help(str(), 'users/<id>/capabilities')),
});

const locksColumns = ['name', 'fieldId', 'choiceId', 'state', 'createTime'];
/** spec/labels#locks. */
export const locks = {
  list: op({
    method: 'GET',
    path: '/{parent=labels/*}/locks',
    id: 'labels.locks.list',
    summary: 'List the locks of a label',
    cites: 'spec/labels#locks',
    params: { parent: labelName },
    query: pageQuery(100),
    ok: 200,
    returns: listLabelLocksResponse,
    cli: { columns: locksColumns, examples: ['opsctl labels locks list Contract'] },
  }),
} as const satisfies Resource;
export const revisionLocks = {
  list: op({
    method: 'GET',
    path: '/{parent=labels/*/revisions/*}/locks',
    id: 'labels.revisions.locks.list',
    summary: 'List the locks of a label revision',
    cites: 'spec/labels#locks',
    params: { parent: revisionName },
    query: pageQuery(100),
    ok: 200,
    returns: listLabelLocksResponse,
    cli: { columns: locksColumns, examples: ['opsctl labels revisions locks list Contract published'] },
  }),
} as const satisfies Resource;

/** spec/labels#limits. */
export const limits = {
  get: op({
    method: 'GET',
    path: '/limits/label',
    id: 'limits.getLabel',
    summary: 'Show the structural limits of labels',
    cites: 'spec/labels#limits',
    query: { name: help(str(), 'limits/label; the path already contains it') },
    ok: 200,
    returns: labelLimits,
    cli: {
      examples: ['opsctl labels limits get'],
      columns: [
        'name',
        'maxTitleLength',
        'maxDescriptionLength',
        'maxFields',
        'maxDeletedFields',
        'maxDraftRevisions',
      ],
    },
  }),
} as const satisfies Resource;
/** spec/labels#capabilities. */
export const capabilities = {
  get: op({
    method: 'GET',
    path: '/{name=users/*/capabilities}',
    id: 'users.getCapabilities',
    summary: "Show a user's capabilities for labels",
    cites: 'spec/labels#capabilities',
    params: { name: capabilitiesName },
    query: { customer: help(str(), "customers/<id>; default: the caller's own") },
    ok: 200,
    returns: userCapabilities,
    cli: {
      examples: ['opsctl labels capabilities get me'],
      columns: [
        'name',
        'canAccessLabelManager',
        'canAdministrateLabels',
        'canCreateAdminLabels',
        'canCreateSharedLabels',
      ],
    },
  }),
} as const satisfies Resource;

/** spec/labels: label-management service. */
export const labelsService = {
  name: 'labels',
  title: 'Label-Management Service',
  version: 'v2beta',
  basePath: '/v2beta',
  refusals,
  everywhere: systemQuery,
  scopes: scopesFor,
  tokenHeader: { name: 'Authorization', prefix: 'Bearer ' },
  table: { labels, permissions, locks, revisionPermissions, revisionLocks, limits, capabilities },
} as const satisfies Service;
