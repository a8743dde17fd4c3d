import type { Argument } from '../../cli/command.ts';
import { req, str } from '../../core/field.ts';

export const fileArgument = {
  name: 'file',
  effects: ['reads'],
  field: req(str(undefined, { min: 1 })),
  summary: 'The snapshot file',
  complete: 'file',
} as const satisfies Argument;
