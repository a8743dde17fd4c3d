import { str } from '../core/field.ts';
import type { Argument } from '../cli/command.ts';

export const keyArgument = {
  name: 'key',
  effects: [],
  field: str(),
  summary: 'Name of the setting, like tracker.url',
  complete: 'setting',
} as const satisfies Argument;
