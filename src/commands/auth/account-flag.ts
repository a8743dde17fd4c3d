import { str } from '../../core/field.ts';
import type { Flag } from '../../cli/command.ts';

export const accountFlag = {
  effects: [],
  field: str(80, { min: 1 }),
  value: 'name',
  summary: 'Account to use instead of the current one',
  complete: 'sign-in',
} as const satisfies Flag;
