import type { Flags, ValuesOf } from '../../cli/command.ts';
import { bool, int } from '../../core/field.ts';
import { outsideFlags } from './outside-flags.ts';
import { confirmFlags, windowFlags } from './window-flags.ts';

/** Of a rollback, which has no window: once begun it goes to its end. */
export const rollbackFlags = {
  ...confirmFlags,
  ...outsideFlags,
  canary: {
    field: bool(),
    negated: true,
    summary: 'Write nothing to the store to measure what its clients see',
  },
  'canary-rate': {
    field: int({ min: 1, max: 200 }),
    summary:
      'Canary writes a second while a member is replaced (default 50); 10 while it has to stay good, 1 otherwise',
    value: 'n',
  },
  'kill-after-grace': {
    field: bool(),
    summary: 'End a member with SIGKILL when it ignores the stop for the whole grace',
  },
} as const satisfies Flags;

export const runFlags = { ...rollbackFlags, ...windowFlags } as const satisfies Flags;

export type RunValues = ValuesOf<typeof runFlags> & CrossingValues;

export const crossingFlags = {
  'accept-point-of-no-return': {
    field: bool(),
    summary: 'Replace the last member of the old version without a question; --yes alone holds before it',
  },
} as const satisfies Flags;

export type CrossingValues = ValuesOf<typeof crossingFlags>;
