// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: fields of a label and the choices of a selection field.
import { bool, datetime, help, list, oneOf, out, str } from '../../core/field.ts';
import { badgeColors, badgeConfig, calendarDate, lifecycle, lockStatus, userInfo } from './values.ts';
import { int32, int64, needed, onlyIn, schema } from './wire.ts';
import { optionMembers } from './words.ts';

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
  displayName: needed(help(str(), 'Name shown to users; required')),
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
  displayName: needed(help(str(), 'Name shown to users; required')),
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
