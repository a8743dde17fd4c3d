// spec/labels#labels names the methods; spec/labels#schemas gives the schemas: small values used everywhere.
import { bool, help, oneOf, out, str } from '../../core/field.ts';
import { float, int32, int64, schema } from './wire.ts';

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
    'Must equal the latest revision id, else the write is refused with HTTP 400',
  ),
});
export const lockStatus = schema('LockStatus', {
  locked: out(help(bool(), 'True = direct target of a lock; implicit locks leave it false')),
});
export const lifecycleDisabledPolicy = schema('LifecycleDisabledPolicy', {
  hideInSearch: help(bool(), 'True = hide in search'),
  showInApply: help(bool(), 'True = show greyed out in the apply menu'),
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
  soloColor: out(help(badgeColor, 'Text colour without background')),
});
export const badgeConfig = schema('BadgeConfig', {
  color: help(badgeColor, 'Badge colour; unset = no badge; server maps to the nearest supported colour'),
  priorityOverride: help(int64(), 'Int64 as string; 0 = default heuristic'),
});
