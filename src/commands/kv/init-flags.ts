import { namePattern } from '../../kv/upgrade/cluster/cluster-fields.ts';
import type { Flags } from '../../cli/command.ts';
import { str, oneOf } from '../../core/field.ts';
import { driverKinds } from '../../kv/upgrade/cluster/drivers.ts';
import { addressFlags } from './flags.ts';

export const initFlags = {
  ...addressFlags,
  out: {
    effects: ['writes'],
    field: str(undefined, { min: 1 }),
    summary: 'File to write (default: standard output)',
    value: 'file',
    complete: 'file',
  },
  name: {
    field: str(128, { pattern: namePattern }),
    summary: 'Name of the cluster',
    value: 'name',
  },
  driver: {
    field: oneOf(...driverKinds),
    summary: 'How members are stopped and started',
    value: 'driver',
  },
  'new-binary': {
    effects: ['reads', 'runs'],
    field: str(undefined, { min: 1 }),
    summary: 'Server program of the version to go to',
    value: 'file',
    complete: 'file',
  },
  'old-binary': {
    effects: ['reads', 'runs'],
    field: str(undefined, { min: 1 }),
    summary: 'Server program of the running version',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
