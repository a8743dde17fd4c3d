import { str } from '../../kernel/field.ts';
import type { Flag } from '../command.ts';

export const accountFlag: Flag = {
  field: str(80, { min: 1 }),
  value: 'name',
  summary: 'Account to use instead of the current one',
  complete: 'account',
};
