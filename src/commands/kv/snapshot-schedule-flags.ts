import { bool, oneOf, str } from '../../core/field.ts';
import { schedulers } from '../../kv/snapshots/schedule.ts';
import type { ValuesOf } from '../../cli/command.ts';
import { endpointFlags } from './flags.ts';
import { bucketFlags, destinationArgument, nameFlag } from './snapshot-flags.ts';
import { retentionFlags } from './retention-flags.ts';

export const scheduleFlags = {
  every: {
    field: str(32, { min: 1 }),
    summary: 'Time from one snapshot to the next (default 6h)',
    value: 'duration',
  },
  once: { field: bool(), summary: 'Take one snapshot, prune, and end: what a timer runs' },
  emit: {
    field: oneOf(...schedulers),
    summary: 'Print what makes a scheduler run it instead: systemd units, a cron line, a CronJob',
    value: 'systemd|cron|kubernetes',
  },
  image: {
    field: str(1024, { min: 1 }),
    summary: 'With --emit kubernetes: image with opsctl as its entry point',
    value: 'image',
  },
  member: {
    field: str(255, { min: 1 }),
    summary: 'Member to take it from (default: a healthy follower)',
    value: 'name',
    complete: 'kv-member',
  },
  ...nameFlag,
  ...retentionFlags,
  ...bucketFlags,
  ...endpointFlags,
};
export const scheduleArgs = [destinationArgument] as const;
export type ScheduleValues = ValuesOf<typeof scheduleFlags, typeof scheduleArgs>;
