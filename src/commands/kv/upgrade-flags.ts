import type { Flags } from '../../cli/command.ts';
import { str } from '../../core/field.ts';
import { planFlags } from './plan-flags.ts';
import { crossingFlags, runFlags } from './run-flags.ts';

export const upgradeFlags = {
  ...planFlags,
  ...runFlags,
  ...crossingFlags,
  plan: {
    effects: ['reads'],
    field: str(undefined, { min: 1 }),
    summary: 'Carry out this plan; refused when the cluster no longer matches it',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
