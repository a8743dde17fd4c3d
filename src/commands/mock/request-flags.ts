import { bool, int, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../cli/command.ts';

export const requestFlags = {
  method: {
    effects: [],
    field: str(10, { min: 1 }),
    summary: 'Only requests with this method',
    complete: 'method',
  },
  path: {
    effects: [],
    field: str(500, { min: 1 }),
    summary: 'Only paths like this; * stands for text without a slash, ** for any text',
    value: 'pattern',
  },
  status: { field: int({ min: 100, max: 599 }), summary: 'Only requests answered with this status' },
  service: {
    effects: [],
    field: str(20, { min: 1 }),
    summary: 'Only requests of this service: tracker, labels or auth',
  },
  token: {
    effects: [],
    field: str(200, { min: 1 }),
    summary: 'Only requests with this tracker token',
    value: 'token',
  },
  body: {
    effects: [],
    field: str(16_384, { min: 1 }),
    summary: 'Only bodies that contain this JSON (objects may have more members) or this text',
    value: 'json|text',
  },
  expect: {
    effects: [],
    field: str(12, { pattern: '^[0-9]{1,9}([+]|-[0-9]{1,9})?$' }),
    summary: 'Exit with 20 unless this many match: 2, 1+ (at least one), 1-3',
    value: 'count',
  },
  wait: {
    effects: [],
    field: str(20, { min: 1 }),
    summary: 'Wait this long for the expected number',
    value: 'duration',
  },
  limit: {
    field: int({ min: 1, max: 10_000 }),
    summary: 'Rows to print, the newest (default 100)',
    value: 'number',
  },
  clear: { effects: ['writes'], field: bool(), summary: 'Forget all requests' },
} as const satisfies Flags;
export type AskedRequests = ValuesOf<typeof requestFlags>;
