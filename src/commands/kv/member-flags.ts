import type { Argument, Flag } from '../../cli/command.ts';
import { req, str } from '../../core/field.ts';

export const memberArgument = {
  name: 'member',
  field: req(str(undefined, { min: 1 })),
  summary: 'Name or hexadecimal id of the member',
  complete: 'kv-member',
} as const satisfies Argument;

export const peerUrlsFlag = {
  effects: [],
  field: req(str(undefined, { min: 1 })),
  required: true,
  summary: 'URLs at which the others call it, comma-separated',
  value: 'urls',
} as const satisfies Flag;
