import type { Flags, ValuesOf } from '../../cli/command.ts';
import { bool, str } from '../../core/field.ts';
import { planFlags } from './plan-flags.ts';

const { 'hold-last': _, 'hold-after': __, ...rehearsalFlags } = planFlags;

export const rehearseFlags = {
  ...rehearsalFlags,
  snapshot: {
    effects: ['reads'],
    field: str(undefined, { min: 1 }),
    summary: 'Snapshot to restore (default: a fresh one of a follower)',
    value: 'file',
    complete: 'file',
  },
  simulated: { field: bool(), summary: 'Use simulated servers even where real ones are possible' },
  real: { field: bool(), summary: 'Fail when real servers are not possible' },
  keep: { field: bool(), summary: 'Keep the directory of the private copy' },
} as const satisfies Flags;

export type RehearseValues = ValuesOf<typeof rehearseFlags>;
