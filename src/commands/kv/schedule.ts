import { next } from '../../core/next.ts';
import { resolve } from 'node:path';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, oneOf, str } from '../../core/field.ts';
import { childPath, pathPart } from '../../core/file-name.ts';
import type { ValuesOf } from '../../core/flag.ts';
import { parseDuration } from '../../core/format.ts';
import { AppError, type Category, invalidArguments, problem } from '../../core/problem.ts';
import { rawResult, type Result, rowsResult } from '../../core/result.ts';
import type { MemberSpec } from '../../kv/engine/model.ts';
import { isBucketUrl } from '../../kv/snapshots/catalog.ts';
import {
  type Calendar,
  calendarOf,
  containerDirectory,
  containerFiles,
  everyProblem,
  type Scheduler,
  schedulerFiles,
  schedulers,
  scheduleText,
} from '../../kv/snapshots/schedule.ts';
import { endpointFlags } from './flags.ts';
import { openCluster, type Opened } from './prepare.ts';
import {
  bucketFlags,
  destinationArgument,
  nameFlag,
  retentionFlags,
  retentionOf,
  withDestination,
} from './snapshot.ts';

const silenceMs = 30_000;
const sourceOf = async (
  context: Context,
  { cluster, access }: Opened,
  wanted: string | undefined,
): Promise<MemberSpec> => {
  const named = cluster.members.find(({ name }) => name === wanted);
  if (named !== undefined) return named;
  if (wanted !== undefined)
    throw invalidArguments([
      problem('--member', 'enum', `must be one of ${cluster.members.map(({ name }) => name).join(', ')}`),
    ]);
  const [{ observe }, { snapshotSource }] = await Promise.all([
    import('../../kv/upgrade/observe/observe.ts'),
    import('../../kv/upgrade/observe/observe.ts'),
  ]);
  const observation = await observe({ host: context.host, cluster, access });
  const best = snapshotSource(observation);
  if (best === undefined)
    throw new AppError('network', `no member responded: ${observation.members[0]?.error ?? 'unknown'}`, {
      code: 'UNAVAILABLE',
      retryable: true,
      tryThis: [next(['kv', 'status'])],
    });
  if (!best.is_healthy)
    context.log.warn(`no healthy member: the snapshot of ${best.name} may be behind the cluster`);
  return cluster.members.find(({ name }) => name === best.name) as MemberSpec;
};
/** One run: a snapshot of a healthy follower, verified, stored; then what the rules do not keep is removed. */
const snapshotOnce = async (context: Context, values: ScheduleValues) => {
  const { host } = context;
  const opened = await openCluster(context, values);
  const source = await sourceOf(context, opened, values.member);
  const [{ openStore }, { prunePlan, removeSnapshots, takeStored }] = await Promise.all([
    import('../../kv/client/etcd-client.ts'),
    import('../../kv/snapshots/catalog.ts'),
  ]);
  const cluster = values.name ?? opened.cluster.name;
  const { tls, user } = opened.access;
  const store = openStore(host, {
    url: source.client_url,
    tls,
    user,
    timeoutMs: silenceMs,
    signal: context.signal,
  });
  return withDestination(context, values.destination, values, async (destination) => {
    const { signal } = context;
    const taken = await takeStored({ host, cluster, member: source.name, store, destination, signal });
    const retention = retentionOf(values);
    const { prune } =
      retention === undefined ? { prune: [] } : await prunePlan(destination, cluster, retention, host.now());
    await removeSnapshots(destination, prune);
    const { format: _, ...manifest } = taken.manifest;
    return { name: taken.name, place: taken.place, ...manifest, pruned: prune.map(({ name }) => name) };
  });
};

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
/**
 * The command for the scheduler: the same command with --once. It starts in another directory, so paths are
 * absolute.
 */
const wordsOf = ({ host }: Context, values: ScheduleValues, isInImage: boolean): string[] => {
  const path = (value: string): string => resolve(host.cwd, value);
  const mountPath = (name: (typeof pathFlags)[number], value: string): string => {
    if (!isInImage) return path(value);
    return name === 'cluster' ? `${containerDirectory}/cluster.yaml` : `${containerFiles}/${name}`;
  };
  const where = isBucketUrl(values.destination) ? values.destination : path(values.destination);
  return [
    ...['kv', 'snapshot', 'schedule', where, '--once'],
    ...pathFlags.flatMap((name) =>
      values[name] === undefined ? [] : [`--${name}`, mountPath(name, values[name])],
    ),
    ...plainFlags.flatMap((name) => (values[name] === undefined ? [] : [`--${name}`, String(values[name])])),
  ];
};
/** The flags that replace a file of the cluster file. `--user` names another user, whose password is in another place. */
const replacedBy = {
  ca_file: ['cacert'],
  cert_file: ['cert'],
  key_file: ['key'],
  password_file: ['password-file', 'user'],
} as const;
/** The files that a cluster file names, and where the container reads them. */
const filesOfCluster = async ({ host }: Context, file: string, values: ScheduleValues) => {
  const { readAccessFiles } = await import('../../kv/upgrade/cluster/cluster-file.ts');
  const files = (await readAccessFiles(host, file, containerDirectory)).filter(
    ({ name }) => !replacedBy[name].some((flag) => values[flag] !== undefined),
  );
  // Kubernetes rejects two mounts at one path: a certificate and its key may be in one file.
  const byPath = new Map(files.map(({ name, path, pathOfCopy }) => [pathOfCopy, { name, path }]));
  return [...byPath].map(([mountPath, one]) => ({ ...one, mountPath }));
};
const clusterOf = async (context: Context, values: ScheduleValues) => {
  const { name, cluster: file } = values;
  if (name !== undefined && (file === undefined || values.emit !== 'kubernetes')) return { cluster: name };
  const { openCluster } = await import('./prepare.ts');
  const { cluster } = await openCluster(context, values);
  const clusterFiles =
    file === undefined ? [] : await filesOfCluster(context, resolve(context.host.cwd, file), values);
  return { cluster: name ?? cluster.name, clusterFiles };
};
const emitSchedule = async (
  context: Context,
  values: ScheduleValues,
  calendar: Calendar,
): Promise<Result> => {
  if (values.cluster === undefined && values.endpoints === undefined)
    throw invalidArguments([
      problem('--cluster', 'required', 'or --endpoints is required: a scheduler has no default cluster'),
    ]);
  const isInImage = values.emit === 'kubernetes';
  const { host } = context;
  const secretFiles = pathFlags.flatMap((name) =>
    name === 'cluster' || values[name] === undefined ? [] : [{ name, path: resolve(host.cwd, values[name]) }],
  );
  const isBucket = isBucketUrl(values.destination);
  const job = {
    ...{ ...(await clusterOf(context, values)), words: wordsOf(context, values, isInImage), calendar },
    ...{ program: host.self, image: values.image, secretFiles },
    ...(isBucket ? {} : { directory: resolve(host.cwd, values.destination) }),
    ...(values.cluster === undefined ? {} : { clusterPath: resolve(host.cwd, values.cluster) }),
  };
  if (values.out === undefined) return rawResult(await scheduleText(values.emit as Scheduler, job));
  const directory = resolve(host.cwd, values.out);
  await host.files.makeDirectory(directory);
  const rows = [];
  for (const { name, text } of await schedulerFiles(values.emit as Scheduler, job)) {
    const file = childPath(directory, pathPart(name));
    await host.files.replace(file, text, 0o644);
    rows.push({ file });
  }
  return rowsResult(rows, { columns: ['file'], name: 'file' });
};

/** Wrong flags and files are as wrong the next time; later they may have been right before (a key that is being replaced). */
const neverWorks = (error: AppError, isFirst: boolean): boolean =>
  error.category === 'unknown' || (isFirst && (error.category === 'usage' || error.category === 'config'));
/** Prints one row per run. A failed run also produces a row, and the schedule continues. */
const repeatSnapshots = (context: Context, values: ScheduleValues, everyMs: number): Result => {
  let category: Category | 'done' = 'done';
  let isFirst = true;
  const rows = async function* () {
    for (let next = context.host.elapsed(); !context.signal.aborted; ) {
      const row = await snapshotOnce(context, values).catch(async (thrown: unknown) => {
        const { appErrorFrom } = await import('../../output/error.ts');
        const error = appErrorFrom(thrown, context.host.env);
        if (neverWorks(error, isFirst) || context.signal.aborted) throw thrown;
        category = 'partial';
        context.log.warn(`no snapshot was stored: ${error.message}`);
        return { name: null, error: error.message, code: error.detail.code ?? null };
      });
      isFirst = false;
      yield row;
      next = Math.max(next + everyMs, context.host.elapsed());
      await context.host.sleep(next - context.host.elapsed(), context.signal).catch(() => undefined);
    }
  };
  return {
    kind: 'rows',
    rows: rows(),
    view: { columns: ['name', 'revision', 'size_bytes', 'hash', 'member'], name: 'place' },
    exit: () => category,
  };
};

const scheduleFlags = {
  every: {
    field: str(32, { min: 1 }),
    summary: 'Time between two snapshots (default 6h)',
    value: 'duration',
  },
  once: { field: bool(), summary: 'Save one snapshot, prune, and exit; for timers' },
  emit: {
    field: oneOf(...schedulers),
    summary: 'Print the configuration of a scheduler instead of running',
    value: 'systemd|cron|kubernetes|launchd',
    meanings: {
      systemd: 'a service and a timer',
      cron: 'a line of a crontab',
      kubernetes: 'a CronJob',
      launchd: 'a property list of macOS',
    },
  },
  out: {
    effects: ['writes'] as const,
    field: str(),
    summary: 'With --emit: write each file into this directory',
    value: 'directory',
    complete: 'file' as const,
  },
  image: {
    field: str(1024, { min: 1 }),
    summary: 'With --emit kubernetes: container image with opsctl as its entry point',
    value: 'image',
  },
  member: {
    field: str(255, { min: 1 }),
    summary: 'Source member (default: a healthy follower)',
    value: 'name',
    complete: 'kv-member',
  },
  ...nameFlag,
  ...retentionFlags,
  ...bucketFlags,
  ...endpointFlags,
};
const scheduleArgs = [destinationArgument] as const;
export type ScheduleValues = ValuesOf<typeof scheduleFlags, typeof scheduleArgs>;

export const snapshotSchedule = defineCommand({
  path: ['kv', 'snapshot', 'schedule'],
  noDryRun: 'opsctl kv snapshot prune --dry-run shows what the rules would remove; --emit only prints',
  summary: 'Save verified snapshots periodically and prune old ones',
  about:
    'Each run reads a snapshot from a healthy follower, verifies it, stores it as CLUSTER-TIME-rREVISION.db with a manifest, and prunes if a rule is set. For production use a scheduler; --emit prints its configuration. Bucket credentials come from the environment only.',
  args: scheduleArgs,
  flags: scheduleFlags,
  examples: [
    {
      line: 'opsctl kv snapshot schedule s3://backups/etcd --cluster cluster.yaml --keep-last 8 --keep-daily 14 --emit systemd',
      says: 'Print a service and a timer for every 6 hours',
    },
    {
      line: 'opsctl kv snapshot schedule /var/backups/etcd --cluster cluster.yaml --emit systemd --out units',
      says: 'Write the units as files',
    },
    {
      line: 'opsctl kv snapshot schedule /var/backups/etcd --every 1h --keep-last 48',
      says: 'Run in the foreground',
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
            'use a duration such as 30m, 6h or 1d',
          ),
        ]),
    ...(values.out !== undefined && values.emit === undefined
      ? [problem('--out', 'required', 'requires --emit')]
      : []),
    ...(values.emit === 'kubernetes' && values.image === undefined
      ? [problem('--image', 'required', 'is required: the image that the CronJob runs')]
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
            'cannot be expressed as a calendar schedule: must divide an hour or a day',
            'such as 15m, 1h, 6h or 1d',
          ),
        ]);
      return emitSchedule(context, values, calendar);
    }
    if (values.once !== true) return repeatSnapshots(context, values, everyMs);
    const row = await snapshotOnce(context, values);
    return { kind: 'record', data: row, view: { text: `stored ${row.place}`, name: 'place' } };
  },
});
