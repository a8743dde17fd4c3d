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
  onlyIn,
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
  canDelete: help(bool(), 'Caller has the right and the object is in a deletable state (disabled)'),
  canDisable: help(bool(), 'Caller has the right and it is not disabled yet'),
  canEnable: help(bool(), 'Caller has the right and it is disabled'),
  canUpdate: help(bool(), 'Caller may edit it'),
});
const fieldDisplayHints = schema('FieldDisplayHints', {
  disabled: help(bool(), 'Show greyed out'),
  hiddenInSearch: help(bool(), 'Leave out of the search menu'),
  required: help(bool(), 'Mark as mandatory'),
  shownInApply: help(bool(), 'Offer in the apply menu'),
});
const fieldListOptions = schema('FieldListOptions', {
  maxEntries: help(int32(), 'How many values at most'),
});
export const fieldProperties = schema('FieldProperties', {
  displayName: requireField(help(str(), 'Name shown to users; required')),
  insertBeforeField: onlyIn(help(str(), 'Input only; place before this field id, empty = end')),
  required: help(bool(), 'Mark as mandatory'),
});
export const fieldTextOptions = schema('FieldTextOptions', {
  maxLength: out(help(int32(), 'Longest allowed value, characters')),
  minLength: out(help(int32(), 'Shortest allowed value, characters')),
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
  listOptions: help(fieldListOptions, 'Present = several values allowed; fixed once the field is published'),
});
const choiceAppliedCapabilities = schema('FieldSelectionOptionsChoiceAppliedCapabilities', {
  canRead: help(bool(), 'Caller may read applied values'),
  canSearch: help(bool(), 'Caller may search by it'),
  canSelect: help(bool(), 'Caller may choose it on an item'),
});
const choiceSchemaCapabilities = schema('FieldSelectionOptionsChoiceSchemaCapabilities', {
  canDelete: help(bool(), 'Caller has the right and the object is in a deletable state (disabled)'),
  canDisable: help(bool(), 'Caller has the right and it is not disabled yet'),
  canEnable: help(bool(), 'Caller has the right and it is disabled'),
  canUpdate: help(bool(), 'Caller may edit it'),
});
const choiceDisplayHints = schema('FieldSelectionOptionsChoiceDisplayHints', {
  badgeColors: help(badgeColors, 'Light-mode badge colours'),
  badgePriority: help(int64(), 'Int64 as string; lower shows first; 0 = no badge'),
  darkBadgeColors: help(badgeColors, 'Dark-mode badge colours'),
  disabled: help(bool(), 'Show greyed out'),
  hiddenInSearch: help(bool(), 'Leave out of the search menu'),
  shownInApply: help(bool(), 'Offer in the apply menu'),
});
export const choiceProperties = schema('FieldSelectionOptionsChoiceProperties', {
  badgeConfig: help(badgeConfig, 'Set = the label counts as badged'),
  description: help(str(), 'Help text'),
  displayName: requireField(help(str(), 'Name shown to users; required')),
  insertBeforeChoice: onlyIn(help(str(), 'Input only; place before this choice id, empty = end')),
});
export const choice = schema('FieldSelectionOptionsChoice', {
  appliedCapabilities: out(help(choiceAppliedCapabilities, 'Caller rights on applied metadata')),
  createTime: out(help(datetime(), 'When it was created (RFC 3339, UTC, Z)')),
  creator: out(help(userInfo, 'User who created it')),
  disableTime: out(help(datetime(), 'When it was disabled; meaningless unless disabled')),
  disabler: out(help(userInfo, 'User who disabled it; meaningless unless disabled')),
  displayHints: out(help(choiceDisplayHints, 'UI hints, derived by the server')),
  id: help(str(), '([a-zA-Z0-9_])+; generated when absent'),
  lifecycle: out(help(lifecycle, 'State of this component')),
  lockStatus: out(help(lockStatus, 'Whether this component is the direct target of a lock')),
  properties: help(choiceProperties, 'Name, order, badge, description'),
  publishTime: out(help(datetime(), 'When it was published')),
  publisher: out(help(userInfo, 'User who published it')),
  schemaCapabilities: out(help(choiceSchemaCapabilities, 'Caller rights when editing the definition')),
  updateTime: out(help(datetime(), 'When it was last changed')),
  updater: out(help(userInfo, 'User who last changed it')),
});
export const fieldSelectionOptions = schema('FieldSelectionOptions', {
  choices: help(list(choice), 'Choices in display order'),
  listOptions: help(fieldListOptions, 'Present = several values allowed; fixed once the field is published'),
});
export const labelField = schema(
  'Field',
  {
    appliedCapabilities: out(help(fieldAppliedCapabilities, 'Caller rights on applied metadata')),
    createTime: out(help(datetime(), 'When it was created (RFC 3339, UTC, Z)')),
    creator: out(help(userInfo, 'User who created it')),
    dateOptions: help(fieldDateOptions, 'Set = date field'),
    disableTime: out(help(datetime(), 'When it was disabled; meaningless unless disabled')),
    disabler: out(help(userInfo, 'User who disabled it; meaningless unless disabled')),
    displayHints: out(help(fieldDisplayHints, 'UI hints, derived by the server')),
    id: out(help(str(), 'Server-made key, ([a-zA-Z0-9])+, unique in the label')),
    integerOptions: help(fieldIntegerOptions, 'Set = integer field'),
    lifecycle: out(help(lifecycle, 'State of this component')),
    lockStatus: out(help(lockStatus, 'Whether this component is the direct target of a lock')),
    properties: help(fieldProperties, 'Name, order, required flag'),
    publisher: out(help(userInfo, 'User who published it')),
    queryKey: out(help(str(), 'Key to use in item searches')),
    schemaCapabilities: out(help(fieldSchemaCapabilities, 'Caller rights when editing the definition')),
    selectionOptions: help(fieldSelectionOptions, 'Set = selection field'),
    textOptions: help(fieldTextOptions, 'Set = text field'),
    updateTime: out(help(datetime(), 'When it was last changed')),
    updater: out(help(userInfo, 'User who last changed it')),
    userOptions: help(fieldUserOptions, 'Set = user field'),
  },
  [optionMembers],
);

// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: the label, and the bodies of its methods.

const labelAppliedCapabilities = schema('LabelAppliedCapabilities', {
  canApply: help(bool(), 'Caller may apply the label'),
  canRead: help(bool(), 'Caller may read applied values'),
  canRemove: help(bool(), 'Caller may take the label off items'),
});
const labelSchemaCapabilities = schema('LabelSchemaCapabilities', {
  canDelete: help(bool(), 'Caller has the right and the object is in a deletable state (disabled)'),
  canDisable: help(bool(), 'Caller has the right and it is not disabled yet'),
  canEnable: help(bool(), 'Caller has the right and it is disabled'),
  canUpdate: help(bool(), 'Caller may edit it'),
});
const labelDisplayHints = schema('LabelDisplayHints', {
  disabled: help(bool(), 'Show greyed out'),
  hiddenInSearch: help(bool(), 'Leave out of the search menu'),
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
  appliedLabelPolicy: out(help(labelAppliedLabelPolicy, 'Copy behaviour')),
  createTime: out(help(datetime(), 'When it was created (RFC 3339, UTC, Z)')),
  creator: out(help(userInfo, 'User who created it')),
  customer: out(help(str(), 'Owner, customers/<id>')),
  disableTime: out(help(datetime(), 'When it was disabled; meaningless unless disabled')),
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
  lockStatus: out(help(lockStatus, 'Whether this component is the direct target of a lock')),
  name: out(help(str(), 'labels/<id> or labels/<id>@<revision>')),
  properties: requireField(help(labelProperties, 'Title and description; title required')),
  publishTime: out(help(datetime(), 'When it was published')),
  publisher: out(help(userInfo, 'User who published it')),
  revisionCreateTime: out(help(datetime(), 'When this revision was made')),
  revisionCreator: out(help(userInfo, 'Who made this revision')),
  revisionId: out(help(str(), '([a-zA-Z0-9])+; decimal counter as string, starts at 1')),
  schemaCapabilities: out(help(labelSchemaCapabilities, 'Caller rights when editing the definition')),
});
export const listLabelsResponse = schema('ListLabelsResponse', {
  labels: help(list(label), 'Labels'),
  nextPageToken: help(str(), 'Token for the next page; absent/empty on the last page'),
});
export const disableLabelRequest = schema('DisableLabelRequest', {
  disabledPolicy: help(lifecycleDisabledPolicy, 'How the disabled label is shown'),
  languageCode: help(
    str(),
    'BCP-47 tag used to pick localized names in the reply; default language when unset',
  ),
  updateMask: help(
    fieldMask(),
    'Comma list of fields to write, relative to the implied root; * = all; at least one entry',
  ),
  useAdminAccess: help(bool(), 'True = act with admin rights; server checks caller is admin of the label'),
  writeControl: help(writeControl, 'Optional revision guard; unset = last write wins'),
});
export const enableLabelRequest = schema('EnableLabelRequest', {
  languageCode: help(
    str(),
    'BCP-47 tag used to pick localized names in the reply; default language when unset',
  ),
  useAdminAccess: help(bool(), 'True = act with admin rights; server checks caller is admin of the label'),
  writeControl: help(writeControl, 'Optional revision guard; unset = last write wins'),
});
export const publishLabelRequest = schema('PublishLabelRequest', {
  languageCode: help(
    str(),
    'BCP-47 tag used to pick localized names in the reply; default language when unset',
  ),
  useAdminAccess: help(bool(), 'True = act with admin rights; server checks caller is admin of the label'),
  writeControl: help(writeControl, 'Optional revision guard; unset = last write wins'),
});
export const updateLabelCopyModeRequest = schema('UpdateLabelCopyModeRequest', {
  copyMode: req(help(copyMode, 'New copy mode; required')),
  languageCode: help(
    str(),
    'BCP-47 tag used to pick localized names in the reply; default language when unset',
  ),
  useAdminAccess: help(bool(), 'True = act with admin rights; server checks caller is admin of the label'),
  view: help(labelView, 'Which field set the reply carries'),
});
export const updateLabelEnabledAppSettingsRequest = schema('UpdateLabelEnabledAppSettingsRequest', {
  enabledAppSettings: req(help(labelEnabledAppSettings, 'New setting; required')),
  languageCode: help(
    str(),
    'BCP-47 tag used to pick localized names in the reply; default language when unset',
  ),
  useAdminAccess: help(bool(), 'True = act with admin rights; server checks caller is admin of the label'),
  view: help(labelView, 'Which field set the reply carries'),
});
