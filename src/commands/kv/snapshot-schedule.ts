import { defineCommand } from '../../cli/command.ts';
import { parseDuration } from '../../core/duration.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { rawResult } from '../../core/result.ts';
import { calendarOf, everyProblem } from '../../kv/snapshots/every.ts';
import { retentionOf } from './retention-flags.ts';
import { emitted } from './snapshot-emit.ts';
import { snapshotOnce } from './schedule.ts';
import { repeated } from './snapshot-repeated.ts';
import { scheduleArgs, scheduleFlags } from './snapshot-schedule-flags.ts';

export const snapshotSchedule = defineCommand({
  path: ['kv', 'snapshot', 'schedule'],
  noDryRun: 'opsctl kv snapshot prune --dry-run shows what the rules would remove; --emit only prints',
  summary: 'Take snapshots again and again: verified, stored, and pruned by rules',
  about:
    'Each run reads a snapshot from a healthy follower, verifies it, stores it as CLUSTER-TIME-rREVISION.db with a manifest beside it, and prunes when a rule is given. ' +
    'A scheduler is better at this than a process that nobody watches: --emit prints what it needs. Credentials of a bucket come from the environment only.',
  args: scheduleArgs,
  flags: scheduleFlags,
  examples: [
    {
      line: 'opsctl kv snapshot schedule s3://backups/etcd --cluster cluster.yaml --keep-last 8 --keep-daily 14 --emit systemd',
      says: 'a service and a timer, every 6 hours',
    },
    {
      line: 'opsctl kv snapshot schedule /var/backups/etcd --every 1h --keep-last 48',
      says: 'in the foreground',
    },
  ],
  check: (values) => [
    ...(values.every === undefined || everyProblem(values.every) === undefined
      ? []
      : [
          problem(
            '--every',
            'min',
            `${everyProblem(values.every)}; got ${values.every}`,
            'write it like 30m, 6h or 1d',
          ),
        ]),
    ...(values.emit === 'kubernetes' && values.image === undefined
      ? [problem('--image', 'required', 'must name the image that the CronJob runs')]
      : []),
  ],
  run: async (context, values) => {
    retentionOf(values);
    const everyMs = parseDuration(values.every ?? '6h', '--every');
    if (values.emit !== undefined) {
      const calendar = calendarOf(everyMs, values.name ?? values.cluster ?? '');
      if (calendar === undefined)
        throw invalidArguments([
          problem(
            '--every',
            'rule',
            'no calendar says that: it must divide an hour or a day',
            'like 15m, 1h, 6h or 1d',
          ),
        ]);
      return rawResult(await emitted(context, values, calendar));
    }
    if (values.once !== true) return repeated(context, values, everyMs);
    const row = await snapshotOnce(context, values);
    return { kind: 'record', data: row, view: { text: `stored ${row.place}`, name: 'place' } };
  },
});
