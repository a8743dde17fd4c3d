import { resolve } from 'node:path';
import { str } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import { versionRows } from '../../api-specs/etcd/versions.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import type { Restored, Restoring } from '../../kv-upgrade/restore/execute.ts';
import type { Locking } from '../../kv-upgrade/locks/take-locks.ts';
import type { ClusterFile, SnapshotRecord } from '../../kv-upgrade/types.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { isBucketUrl } from '../../kv-snapshots/bucket-url.ts';
import { bucketFlags, bucketOptions } from './snapshot-flags.ts';
import { clusterFlags } from './cluster-flags.ts';
import { driverFor } from './driver-for.ts';
import { openCluster, type Opened } from './open-cluster.ts';
import { confirmStart } from './confirm-start.ts';

const flags = {
  ...clusterFlags,
  snapshot: {
    field: str(undefined, { min: 1 }),
    summary: 'Snapshot: a file or s3://BUCKET/PREFIX/NAME (default: the newest one of the last run)',
    value: 'file',
    complete: 'file',
  },
  to: {
    field: str(16, { pattern: '^\\d+\\.\\d+$' }),
    summary: 'Version to rebuild (default: the one before the last run)',
    value: 'minor',
    suggest: versionRows.map(({ minor }) => minor),
  },
  ...bucketFlags,
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

type Source = {
  readonly snapshot: SnapshotRecord;
  readonly to: Minor;
  readonly run: string;
  /** A copy of what is in a bucket, to be removed when the work is done. */
  readonly copy?: string;
};

type Chosen = Pick<Source, 'to' | 'run'> & { readonly place: string; readonly member: string };
/** The newest snapshot of the last run, or the one that was named. */
const chosen = async ({ host, settings }: Context, values: Given, cluster: string): Promise<Chosen> => {
  const [{ findRuns }, { newestSnapshot }] = await Promise.all([
    import('../../kv-upgrade/journal/journal.ts'),
    import('../../kv-upgrade/restore/plan.ts'),
  ]);
  const [run] = (await findRuns(host, settings.directories.clusters, cluster)).filter(({ entries }) =>
    entries.some(({ kind }) => kind === 'snapshot'),
  );
  const opened = run?.entries[0];
  const recorded = newestSnapshot(
    run?.entries.flatMap((entry) => (entry.kind === 'snapshot' ? [entry.snapshot] : [])) ?? [],
  );
  const to = values.to ?? (opened?.kind === 'opened' ? opened.plan.from : undefined);
  const named = values.snapshot;
  const place =
    named === undefined || isBucketUrl(named) ? (named ?? recorded?.path) : resolve(host.cwd, named);
  if (place === undefined || to === undefined) {
    throw new AppError('not-found', 'no run of this cluster with snapshots is known here', {
      code: 'NO_SNAPSHOT',
      tryThis: ['--snapshot FILE --to MINOR'],
    });
  }
  const member = recorded?.path === place ? recorded.member : 'a file';
  return { place, member, to: to as Minor, run: run?.run ?? 'by-hand' };
};

/** The chosen snapshot as a file of this machine, verified again now. */
const sourceOf = async (context: Context, values: Given, { name, s3 }: ClusterFile): Promise<Source> => {
  const { host, settings } = context;
  const { place, member, to, run } = await chosen(context, values, name);
  const [{ asLocalFile }, { verifySnapshot }, { snapshotRevision }, { withSnapshot }] = await Promise.all([
    import('../../kv-snapshots/fetch.ts'),
    import('../../etcd-client/snapshot.ts'),
    import('../../etcd-client/snapshot-content.ts'),
    import('../../etcd-client/snapshot-file.ts'),
  ]);
  const isStored = isBucketUrl(place);
  const bucket = { ...s3, ...bucketOptions(values), directory: `${settings.directories.state}/snapshots` };
  const path = isStored ? await asLocalFile(host, place, bucket) : place;
  const verified = await verifySnapshot(host, path);
  const revision = withSnapshot(host.files, path, snapshotRevision);
  return {
    snapshot: { duration_ms: 0, member, path, ...verified, revision },
    to,
    run,
    ...(isStored ? { copy: path } : {}),
  };
};

/** Nobody else may be at work on the members meanwhile. The store is away in the middle, so its own lock is a warning to others, no more. */
const underLock = async <T>(
  context: Context,
  locking: Pick<Locking, 'cluster' | 'access' | 'run'>,
  act: () => Promise<T>,
): Promise<T> => {
  const { takeLocks } = await import('../../kv-upgrade/locks/take-locks.ts');
  const { host, settings, log } = context;
  const lock = await takeLocks({ host, state: settings.directories.clusters, ...locking, warn: log.warn });
  try {
    return await act();
  } finally {
    await lock.release();
  }
};

const carriedOut = async (
  context: Context,
  parts: Pick<Restoring, 'cluster' | 'access' | 'plan'>,
): Promise<Restored> => {
  const { host, settings, log } = context;
  const [{ restore: carryOut }, { shellsOf }, { runDirectory }] = await Promise.all([
    import('../../kv-upgrade/restore/execute.ts'),
    import('../../kv-upgrade/supervisors/open.ts'),
    import('../../kv-upgrade/journal/journal.ts'),
  ]);
  const [driver, shellFor] = await Promise.all([
    driverFor(context, parts.cluster),
    shellsOf(host, parts.cluster, settings.directories.state),
  ]);
  const directory = runDirectory(settings.directories.clusters, parts.cluster.name, parts.plan.run);
  const { openRestore } = await import('../../kv-upgrade/restore/restore-journal.ts');
  const progress = await openRestore(host, settings.directories.clusters, parts.plan);
  return carryOut({ ...parts, host, driver, shellFor, directory, progress, log: log.info });
};

const rebuilt = async (context: Context, { cluster, access }: Opened, source: Source): Promise<Result> => {
  const [{ observe }, { restorePlan, restoreText }] = await Promise.all([
    import('../../kv-upgrade/observe/observe.ts'),
    import('../../kv-upgrade/restore/plan.ts'),
  ]);
  const driver = await driverFor(context, cluster);
  const observation = await observe({ host: context.host, cluster, access, driver });
  const plan = restorePlan({ cluster, observation, ...source });
  if (context.isDryRun) return recordResult(plan, { text: restoreText(plan) });
  context.log.warn(restoreText(plan));
  await confirmStart(context, cluster.name, `Rebuild ${cluster.name} on ${plan.to}?`);
  const { revision, kept } = await underLock(context, { cluster, access, run: source.run }, () =>
    carriedOut(context, { cluster, access, plan }),
  );
  const message = `${cluster.name} runs ${plan.to} again, at revision ${revision}`;
  const clients = [
    'restart every client that watches or caches: revisions went back, and a watch waits for one that it has seen',
    'clients with a user have to log in again; leases start anew with their whole time',
    ...(plan.lost_revisions === 0 ? [] : ['what was written after the snapshot has to be written again']),
  ];
  return recordResult(
    { outcome: 'restored', revision, lost_revisions: plan.lost_revisions, members: kept, clients, message },
    { text: [message, 'Clients:', ...clients.map((line) => `  ${line}`)].join('\n') },
  );
};

const restored = async (context: Context, values: Given): Promise<Result> => {
  const opened = await openCluster(context, values, 'upgrade');
  const source = await sourceOf(context, values, opened.cluster);
  try {
    return await rebuilt(context, opened, source);
  } finally {
    if (source.copy !== undefined) await context.host.files.remove(source.copy);
  }
};

export const restore = defineCommand({
  path: ['kv', 'restore'],
  summary: 'Rebuild the cluster on its old version from a verified snapshot',
  about:
    'Rebuilds the cluster from its snapshots, after the point of no return too. Says first how many revisions would be lost, and asks. The present data directories are kept aside. ' +
    'Needs ctl_binary in the cluster file: the ctl program of the old version, on the host of every member.',
  flags,
  examples: [
    { line: 'opsctl kv restore --cluster cluster.yaml --dry-run', says: 'what would be done and lost' },
  ],
  run: async (context, values) => restored(context, values),
});
