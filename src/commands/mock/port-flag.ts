import { int } from '../../core/field.ts';
import type { Flag } from '../../cli/command.ts';

export const portFlag = {
  field: int({ min: 0, max: 65_535 }),
  summary: 'Port on 127.0.0.1 and ::1; 0, the default, is a free one',
  value: 'port',
} as const satisfies Flag;
