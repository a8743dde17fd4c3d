import type { Argument } from '../../cli/command.ts';
import { req, str } from '../../core/field.ts';

export const leaseArgument = {
  name: 'lease-id',
  effects: [],
  field: req(str(undefined, { min: 1 })),
  summary: 'Hexadecimal id of the lease',
} as const satisfies Argument;
