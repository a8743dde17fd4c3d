import { resolve } from 'node:path';
import { invalidArguments, problem } from '../../core/problem.ts';
import { isBucketUrl } from '../../kv/snapshots/bucket-url.ts';
import { scheduleText, type Scheduler } from '../../kv/snapshots/schedule.ts';
import type { Calendar } from '../../kv/snapshots/every.ts';
import type { Context } from '../../cli/command.ts';
import type { ScheduleValues } from './snapshot-schedule-flags.ts';

const pathFlags = ['cluster', 'password-file', 'cacert', 'cert', 'key'] as const;
const plainFlags = [
  'endpoints',
  'user',
  'server-name',
  'member',
  'name',
  'keep-last',
  'keep-daily',
  'keep-weekly',
  'max-age',
  's3-endpoint',
  's3-region',
  's3-addressing',
] as const;

/** What the scheduler runs: the same command with --once. It starts elsewhere, so paths are absolute. */
const wordsOf = ({ host }: Context, values: ScheduleValues, isInImage: boolean): string[] => {
  const path = (value: string): string => resolve(host.cwd, value);
  const mounted = (name: string, value: string): string =>
    isInImage && name === 'cluster' ? '/etc/opsctl/cluster.yaml' : path(value);
  const where = isBucketUrl(values.destination) ? values.destination : path(values.destination);
  return [
    ...['kv', 'snapshot', 'schedule', where, '--once'],
    ...pathFlags.flatMap((name) =>
      values[name] === undefined ? [] : [`--${name}`, mounted(name, values[name])],
    ),
    ...plainFlags.flatMap((name) => (values[name] === undefined ? [] : [`--${name}`, String(values[name])])),
  ];
};

const clusterOf = async (context: Context, values: ScheduleValues): Promise<string> => {
  if (values.name !== undefined) return values.name;
  const { openCluster } = await import('./open-cluster.ts');
  return (await openCluster(context, values)).cluster.name;
};

export const emitted = async (
  context: Context,
  values: ScheduleValues,
  calendar: Calendar,
): Promise<string> => {
  if (values.cluster === undefined && values.endpoints === undefined)
    throw invalidArguments([
      problem('--cluster', 'required', 'or --endpoints must be given: the scheduler knows no default'),
    ]);
  const isInImage = values.emit === 'kubernetes';
  return scheduleText(values.emit as Scheduler, {
    cluster: await clusterOf(context, values),
    words: wordsOf(context, values, isInImage),
    calendar,
    program: context.host.self,
    image: values.image,
  });
};
