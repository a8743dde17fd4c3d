// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: locks, limits and capabilities.
import { bool, datetime, help, list, oneOf, out, str } from '../../core/field.ts';
import { calendarDate, userInfo } from './values.ts';
import { int32, int64, schema } from './wire.ts';

const labelLockCapabilities = schema('LabelLockCapabilities', {
  canViewPolicy: help(bool(), 'Caller may see the policy behind the lock'),
});
const labelLock = schema('LabelLock', {
  capabilities: out(help(labelLockCapabilities, 'Caller rights on the lock')),
  choiceId: help(str(), 'Locked choice; needs fieldId'),
  createTime: out(help(datetime(), 'When it was created (RFC 3339, UTC, Z)')),
  creator: out(help(userInfo, 'User behind the lock; absent when none')),
  deleteTime: out(help(datetime(), 'When removal was scheduled; only in DELETING')),
  fieldId: help(str(), 'Locked field; empty = whole label'),
  name: out(help(str(), 'Resource name')),
  state: out(help(oneOf('STATE_UNSPECIFIED', 'ACTIVE', 'DELETING'), 'Lock state')),
});
export const listLabelLocksResponse = schema('ListLabelLocksResponse', {
  labelLocks: help(list(labelLock), 'Locks'),
  nextPageToken: help(str(), 'Token for the next page; absent/empty on the last page'),
});
const listLimits = schema('ListLimits', {
  maxEntries: help(int32(), 'How many values at most'),
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
  maxLength: help(int32(), 'Longest allowed value, characters'),
  minLength: help(int32(), 'Shortest allowed value, characters'),
});
const longTextLimits = schema('LongTextLimits', {
  maxLength: help(int32(), 'Longest allowed value, characters'),
  minLength: help(int32(), 'Shortest allowed value, characters'),
});
const selectionLimits = schema('SelectionLimits', {
  listLimits: help(listLimits, 'Limits of the multi-value variant'),
  maxChoices: help(int32(), 'Choices per field'),
  maxDeletedChoices: help(int32(), 'Deleted choices kept'),
  maxDisplayNameLength: help(int32(), 'Longest choice name'),
  maxIdLength: help(int32(), 'Longest choice id'),
});
const userLimits = schema('UserLimits', {
  listLimits: help(listLimits, 'Limits of the multi-value variant'),
});
const fieldLimits = schema('FieldLimits', {
  dateLimits: help(dateLimits, 'Limits of date fields'),
  integerLimits: help(integerLimits, 'Limits of integer fields'),
  longTextLimits: help(longTextLimits, 'Limits of long text'),
  maxDescriptionLength: help(int32(), 'Longest field help text'),
  maxDisplayNameLength: help(int32(), 'Longest field name'),
  maxIdLength: help(int32(), 'Longest field id'),
  selectionLimits: help(selectionLimits, 'Limits of selection fields'),
  textLimits: help(textLimits, 'Limits of text fields'),
  userLimits: help(userLimits, 'Limits of user fields'),
});
export const labelLimits = schema('LabelLimits', {
  fieldLimits: help(fieldLimits, 'Limits of fields'),
  maxDeletedFields: help(int32(), 'How many published fields may be deleted'),
  maxDescriptionLength: help(int32(), 'Longest description'),
  maxDraftRevisions: help(int32(), 'Drafts kept before old ones go'),
  maxFields: help(int32(), 'Fields per label'),
  maxTitleLength: help(int32(), 'Longest title'),
  name: help(str(), 'Always limits/label'),
});
export const userCapabilities = schema('UserCapabilities', {
  canAccessLabelManager: out(help(bool(), 'Caller may open the label manager')),
  canAdministrateLabels: out(help(bool(), 'Caller administers shared labels')),
  canCreateAdminLabels: out(help(bool(), 'Caller may create ADMIN labels')),
  canCreateSharedLabels: out(help(bool(), 'Caller may create SHARED labels')),
  name: out(help(str(), 'users/<id>/capabilities')),
});
