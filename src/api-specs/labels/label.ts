// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: the label, and the bodies of its methods.
import { bool, datetime, help, list, out, req, str } from '../../core/field.ts';
import { lifecycle, lifecycleDisabledPolicy, lockStatus, userInfo, writeControl } from './values.ts';
import { labelField } from './field.ts';
import { copyMode, fieldMask, int64, labelView, needed, openEnum, schema } from './wire.ts';
import { ownLabelTypes } from './words.ts';

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
  title: needed(help(str(), 'Title; required')),
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
  labelType: needed(
    help(
      openEnum('LABEL_TYPE_UNSPECIFIED', ...ownLabelTypes, 'PROVIDER_APP'),
      'Kind of label; required on create',
    ),
  ),
  learnMoreUri: help(str(), 'Help link'),
  lifecycle: out(help(lifecycle, 'State of this component')),
  lockStatus: out(help(lockStatus, 'Whether this component is the direct target of a lock')),
  name: out(help(str(), 'labels/<id> or labels/<id>@<revision>')),
  properties: needed(help(labelProperties, 'Title and description; title required')),
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
