import { bool, str } from '../../core/field.ts';
import type { Argument, Flag } from '../../cli/command.ts';
import { TITLES } from '../../label-definitions/titles.ts';

export const labelArgument = {
  name: 'label',
  field: str(),
  summary: 'Title, id or labels/<id>',
  complete: TITLES,
} as const satisfies Argument;
export const adminFlag = {
  field: bool(),
  summary: 'Act with admin rights (useAdminAccess)',
} as const satisfies Flag;
