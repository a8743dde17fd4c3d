import { list, str } from '../../core/field.ts';
import { faultInput } from '../../mock-server/faults.ts';
import type { Flags } from '../../cli/command.ts';

const { fields } = faultInput;

export const faultFlags = {
  method: { field: fields.method, summary: fields.method.summary, complete: 'method' },
  path: { field: fields.path, summary: fields.path.summary, value: 'pattern' },
  status: { field: fields.status, summary: fields.status.summary },
  body: { effects: [], field: fields.body, summary: fields.body.summary },
  header: { field: list(str(1000)), summary: 'a header of the answer', repeat: true, value: 'name=value' },
  'content-type': { field: fields.content_type, summary: fields.content_type.summary },
  delay: {
    field: str(40, { min: 1 }),
    summary: 'wait this long first; 100ms..2s is a random time between the two',
    value: 'duration',
  },
  skip: { field: fields.skip, summary: fields.skip.summary },
  percent: { field: fields.percent, summary: fields.percent.summary },
  'bytes-per-second': { field: fields.bytes_per_second, summary: fields.bytes_per_second.summary },
  cut: { field: fields.cut, summary: fields.cut.summary },
  when: { field: fields.when, summary: fields.when.summary },
  count: { field: fields.count, summary: fields.count.summary },
} as const satisfies Flags;
