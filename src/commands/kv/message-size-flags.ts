import type { Flag } from '../../cli/command.ts';
import { int } from '../../core/field.ts';

const maxInt32 = 2 ** 31 - 1;

/** spec/store#limits: client send size 2 MiB, receive size the largest 32-bit integer. */
export const sendFlag = {
  field: int({ min: 1, max: maxInt32 }),
  summary: 'Largest request to send (default: 2 MiB)',
  value: 'bytes',
} as const satisfies Flag;

export const receiveFlag = {
  field: int({ min: 1, max: maxInt32 }),
  summary: 'Largest answer to take (default 2147483647)',
  value: 'bytes',
} as const satisfies Flag;
