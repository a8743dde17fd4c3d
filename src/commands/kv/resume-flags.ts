import { bool } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../cli/command.ts';
import { clusterFlags } from './flags.ts';
import { planFlags } from './plan-flags.ts';
import { crossingFlags, runFlags } from './run-flags.ts';

export const resumeFlags = {
  ...clusterFlags,
  ...runFlags,
  ...crossingFlags,
  'past-hold': { field: bool(), summary: 'With --yes: go on with a run that holds' },
  'hold-last': {
    field: bool(),
    summary: 'Stop before the last member, also when the run has held there already',
  },
  'hold-after': { ...planFlags['hold-after'], summary: 'Stop again after so many more members' },
} as const satisfies Flags;
type Given = ValuesOf<typeof resumeFlags>;

/** Whether a flag says that the hold of the run is known. */
export const namesHold = (values: Given): boolean =>
  (['past-hold', 'accept-point-of-no-return', 'hold-after'] as const).some(
    (name) => values[name] !== undefined && values[name] !== false,
  );
