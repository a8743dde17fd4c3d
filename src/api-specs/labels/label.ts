import { bool, datetime, help, list, oneOf, out, req, str } from '../../core/field.ts';
import {
  badgeColors,
  badgeConfig,
  calendarDate,
  copyMode,
  fieldMask,
  int32,
  int64,
  labelView,
  lifecycle,
  lifecycleDisabledPolicy,
  lockStatus,
  requireField,
  markInputOnly,
  openEnum,
  optionMembers,
  ownLabelTypes,
  schema,
  userInfo,
  writeControl,
} from './wire.ts';

// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: fields of a label and the choices of a selection field.

const fieldAppliedCapabilities = schema('FieldAppliedCapabilities', {
  canRead: help(bool(), 'Caller may read applied values'),
  canSearch: help(bool(), 'Caller may search by it'),
  canWrite: help(bool(), 'Caller may set it on items'),
});
const fieldSchemaCapabilities = schema('FieldSchemaCapabilities', {
  canDelete: help(bool(), 'Caller has the right and the object can be deleted (disabled)'),
  canDisable: help(bool(), 'Caller has the right and it is not disabled yet'),
  canEnable: help(bool(), 'Caller has the right and it is disabled'),
  canUpdate: help(bool(), 'Caller may edit it'),
});
const fieldDisplayHints = schema('FieldDisplayHints', {
  disabled: help(bool(), 'Show grayed out'),
  hiddenInSearch: help(bool(), 'Hide in the search menu'),
  required: help(bool(), 'Mark as mandatory'),
  shownInApply: help(bool(), 'Offer in the apply menu'),
});
const fieldListOptions = schema('FieldListOptions', {
  maxEntries: help(int32(), 'Maximum number of values'),
});
export const fieldProperties = schema('FieldProperties', {
  displayName: requireField(help(str(), 'Name shown to users; required')),
  insertBeforeField: markInputOnly(help(str(), 'Input only; insert before this field ID, empty = end')),
  required: help(bool(), 'Mark as mandatory'),
});
export const fieldTextOptions = schema('FieldTextOptions', {
  maxLength: out(help(int32(), 'Maximum length in characters')),
  minLength: out(help(int32(), 'Minimum length in characters')),
});
export const fieldIntegerOptions = schema('FieldIntegerOptions', {
  maxValue: out(help(int64(), 'Int64 as string')),
  minValue: out(help(int64(), 'Int64 as string')),
});
export const fieldDateOptions = schema('FieldDateOptions', {
  dateFormat: out(help(str(), 'ICU pattern derived from the type')),
  dateFormatType: help(
    oneOf('DATE_FORMAT_UNSPECIFIED', 'LONG_DATE', 'SHORT_DATE'),
    'Short or long rendering',
  ),
  maxValue: out(help(calendarDate, 'Latest valid date')),
  minValue: out(help(calendarDate, 'Earliest valid date')),
});
export const fieldUserOptions = schema('FieldUserOptions', {
  listOptions: help(
    fieldListOptions,
    'If present, several values are allowed; fixed after the field is published',
  ),
});
const choiceAppliedCapabilities = schema('FieldSelectionOptionsChoiceAppliedCapabilities', {
  canRead: help(bool(), 'Caller may read applied values'),
  canSearch: help(bool(), 'Caller may search by it'),
  canSelect: help(bool(), 'Caller may choose it on an item'),
});
const choiceSchemaCapabilities = schema('FieldSelectionOptionsChoiceSchemaCapabilities', {
  canDelete: help(bool(), 'Caller has the right and the object can be deleted (disabled)'),
  canDisable: help(bool(), 'Caller has the right and it is not disabled yet'),
  canEnable: help(bool(), 'Caller has the right and it is disabled'),
  canUpdate: help(bool(), 'Caller may edit it'),
});
const choiceDisplayHints = schema('FieldSelectionOptionsChoiceDisplayHints', {
  badgeColors: help(badgeColors, 'Light-mode badge colors'),
  badgePriority: help(int64(), 'Int64 as string; lower shows first; 0 = no badge'),
  darkBadgeColors: help(badgeColors, 'Dark-mode badge colors'),
  disabled: help(bool(), 'Show grayed out'),
  hiddenInSearch: help(bool(), 'Hide in the search menu'),
  shownInApply: help(bool(), 'Offer in the apply menu'),
});
export const choiceProperties = schema('FieldSelectionOptionsChoiceProperties', {
  badgeConfig: help(badgeConfig, 'If set, the label counts as badged'),
  description: help(str(), 'Help text'),
  displayName: requireField(help(str(), 'Name shown to users; required')),
  insertBeforeChoice: markInputOnly(help(str(), 'Input only; insert before this choice ID, empty = end')),
});
export const choice = schema('FieldSelectionOptionsChoice', {
  appliedCapabilities: out(help(choiceAppliedCapabilities, 'Caller rights on applied metadata')),
  createTime: out(help(datetime(), 'Creation time (RFC 3339, UTC, Z)')),
  creator: out(help(userInfo, 'User who created it')),
  disableTime: out(help(datetime(), 'Time of disabling; meaningless unless disabled')),
  disabler: out(help(userInfo, 'User who disabled it; meaningless unless disabled')),
  displayHints: out(help(choiceDisplayHints, 'UI hints, derived by the server')),
  id: help(str(), '([a-zA-Z0-9_])+; generated if absent'),
  lifecycle: out(help(lifecycle, 'State of this component')),
  lockStatus: out(help(lockStatus, 'Whether a lock targets this component directly')),
  properties: help(choiceProperties, 'Name, order, badge, description'),
  publishTime: out(help(datetime(), 'Publication time')),
  publisher: out(help(userInfo, 'User who published it')),
  schemaCapabilities: out(help(choiceSchemaCapabilities, 'Caller rights when editing the definition')),
  updateTime: out(help(datetime(), 'Time of the last change')),
  updater: out(help(userInfo, 'User who last changed it')),
});
export const fieldSelectionOptions = schema('FieldSelectionOptions', {
  choices: help(list(choice), 'Choices in display order'),
  listOptions: help(
    fieldListOptions,
    'If present, several values are allowed; fixed after the field is published',
  ),
});
export const labelField = schema(
  'Field',
  {
    appliedCapabilities: out(help(fieldAppliedCapabilities, 'Caller rights on applied metadata')),
    createTime: out(help(datetime(), 'Creation time (RFC 3339, UTC, Z)')),
    creator: out(help(userInfo, 'User who created it')),
    dateOptions: help(fieldDateOptions, 'Marks a date field'),
    disableTime: out(help(datetime(), 'Time of disabling; meaningless unless disabled')),
    disabler: out(help(userInfo, 'User who disabled it; meaningless unless disabled')),
    displayHints: out(help(fieldDisplayHints, 'UI hints, derived by the server')),
    id: out(help(str(), 'Key that the server generates, ([a-zA-Z0-9])+, unique in the label')),
    integerOptions: help(fieldIntegerOptions, 'Marks an integer field'),
    lifecycle: out(help(lifecycle, 'State of this component')),
    lockStatus: out(help(lockStatus, 'Whether a lock targets this component directly')),
    properties: help(fieldProperties, 'Name, order, required flag'),
    publisher: out(help(userInfo, 'User who published it')),
    queryKey: out(help(str(), 'Key to use in item searches')),
    schemaCapabilities: out(help(fieldSchemaCapabilities, 'Caller rights when editing the definition')),
    selectionOptions: help(fieldSelectionOptions, 'Marks a selection field'),
    textOptions: help(fieldTextOptions, 'Marks a text field'),
    updateTime: out(help(datetime(), 'Time of the last change')),
    updater: out(help(userInfo, 'User who last changed it')),
    userOptions: help(fieldUserOptions, 'Marks a user field'),
  },
  [optionMembers],
);

// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: the label, and the bodies of its methods.

const labelAppliedCapabilities = schema('LabelAppliedCapabilities', {
  canApply: help(bool(), 'Caller may apply the label'),
  canRead: help(bool(), 'Caller may read applied values'),
  canRemove: help(bool(), 'Caller may remove the label from items'),
});
const labelSchemaCapabilities = schema('LabelSchemaCapabilities', {
  canDelete: help(bool(), 'Caller has the right and the object can be deleted (disabled)'),
  canDisable: help(bool(), 'Caller has the right and it is not disabled yet'),
  canEnable: help(bool(), 'Caller has the right and it is disabled'),
  canUpdate: help(bool(), 'Caller may edit it'),
});
const labelDisplayHints = schema('LabelDisplayHints', {
  disabled: help(bool(), 'Show grayed out'),
  hiddenInSearch: help(bool(), 'Hide in the search menu'),
  priority: help(int64(), 'Int64 as string; list order'),
  shownInApply: help(bool(), 'Offer in the apply menu'),
});
const labelAppliedLabelPolicy = schema('LabelAppliedLabelPolicy', {
  copyMode: help(copyMode, 'What happens to applied values when an item is copied'),
});
const labelEnabledAppSettingsEnabledApp = schema('LabelEnabledAppSettingsEnabledApp', {
  app: help(openEnum('APP_UNSPECIFIED', 'FILES', 'MAIL'), 'App name'),
});
const labelEnabledAppSettings = schema('LabelEnabledAppSettings', {
  enabledApps: help(list(labelEnabledAppSettingsEnabledApp), 'List of apps'),
});
export const labelProperties = schema('LabelProperties', {
  description: help(str(), 'Description'),
  title: requireField(help(str(), 'Title; required')),
});
export const label = schema('Label', {
  appliedCapabilities: out(help(labelAppliedCapabilities, 'Caller rights on applied metadata')),
  appliedLabelPolicy: out(help(labelAppliedLabelPolicy, 'Copy behavior')),
  createTime: out(help(datetime(), 'Creation time (RFC 3339, UTC, Z)')),
  creator: out(help(userInfo, 'User who created it')),
  customer: out(help(str(), 'Owner, customers/<id>')),
  disableTime: out(help(datetime(), 'Time of disabling; meaningless unless disabled')),
  disabler: out(help(userInfo, 'User who disabled it; meaningless unless disabled')),
  displayHints: out(help(labelDisplayHints, 'UI hints, derived by the server')),
  enabledAppSettings: help(labelEnabledAppSettings, 'Apps where the label may be used'),
  fields: help(list(labelField), 'Fields, most important first'),
  id: out(help(str(), '([a-zA-Z0-9])+, same in every revision')),
  labelType: requireField(
    help(
      openEnum('LABEL_TYPE_UNSPECIFIED', ...ownLabelTypes, 'PROVIDER_APP'),
      'Kind of label; required on create',
    ),
  ),
  learnMoreUri: help(str(), 'Help link'),
  lifecycle: out(help(lifecycle, 'State of this component')),
  lockStatus: out(help(lockStatus, 'Whether a lock targets this component directly')),
  name: out(help(str(), 'labels/<id> or labels/<id>@<revision>')),
  properties: requireField(help(labelProperties, 'Title and description; title required')),
  publishTime: out(help(datetime(), 'Publication time')),
  publisher: out(help(userInfo, 'User who published it')),
  revisionCreateTime: out(help(datetime(), 'When this revision was created')),
  revisionCreator: out(help(userInfo, 'User who created this revision')),
  revisionId: out(help(str(), '([a-zA-Z0-9])+; decimal counter as string, starts at 1')),
  schemaCapabilities: out(help(labelSchemaCapabilities, 'Caller rights when editing the definition')),
});
export const listLabelsResponse = schema('ListLabelsResponse', {
  labels: help(list(label), 'Labels'),
  nextPageToken: help(str(), 'Token for the next page; absent/empty on the last page'),
});
export const disableLabelRequest = schema('DisableLabelRequest', {
  disabledPolicy: help(lifecycleDisabledPolicy, 'Presentation of the disabled label'),
  languageCode: help(
    str(),
    'BCP-47 tag that selects localized names in the response; default language if unset',
  ),
  updateMask: help(
    fieldMask(),
    'Comma-separated fields to write, relative to the implied root; * = all; at least one entry',
  ),
  useAdminAccess: help(
    bool(),
    'True = act with admin rights; the server checks that the caller is an admin of the label',
  ),
  writeControl: help(writeControl, 'Optional revision guard; unset = last write wins'),
});
export const enableLabelRequest = schema('EnableLabelRequest', {
  languageCode: help(
    str(),
    'BCP-47 tag that selects localized names in the response; default language if unset',
  ),
  useAdminAccess: help(
    bool(),
    'True = act with admin rights; the server checks that the caller is an admin of the label',
  ),
  writeControl: help(writeControl, 'Optional revision guard; unset = last write wins'),
});
export const publishLabelRequest = schema('PublishLabelRequest', {
  languageCode: help(
    str(),
    'BCP-47 tag that selects localized names in the response; default language if unset',
  ),
  useAdminAccess: help(
    bool(),
    'True = act with admin rights; the server checks that the caller is an admin of the label',
  ),
  writeControl: help(writeControl, 'Optional revision guard; unset = last write wins'),
});
export const updateLabelCopyModeRequest = schema('UpdateLabelCopyModeRequest', {
  copyMode: req(help(copyMode, 'New copy mode; required')),
  languageCode: help(
    str(),
    'BCP-47 tag that selects localized names in the response; default language if unset',
  ),
  useAdminAccess: help(
    bool(),
    'True = act with admin rights; the server checks that the caller is an admin of the label',
  ),
  view: help(labelView, 'Fields that the response contains'),
});
export const updateLabelEnabledAppSettingsRequest = schema('UpdateLabelEnabledAppSettingsRequest', {
  enabledAppSettings: req(help(labelEnabledAppSettings, 'New setting; required')),
  languageCode: help(
    str(),
    'BCP-47 tag that selects localized names in the response; default language if unset',
  ),
  useAdminAccess: help(
    bool(),
    'True = act with admin rights; the server checks that the caller is an admin of the label',
  ),
  view: help(labelView, 'Fields that the response contains'),
});
