import { next } from '../../core/next.ts';
import { resolve } from 'node:path';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, oneOf, req, str } from '../../core/field.ts';
import type { Argument, Flags, ValuesOf } from '../../core/flag.ts';
import { parseDuration } from '../../core/format.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { recordResult, rowsResult } from '../../core/result.ts';
import type { MemberSpec } from '../../kv/engine/model.ts';
import type { BucketOptions, Destination, Retention, StoredSnapshot } from '../../kv/snapshots/catalog.ts';
import type { Verification, Verifying } from '../../kv/snapshots/trial-restore.ts';
import { namePattern } from '../../kv/upgrade/cluster/drivers.ts';
import { clusterFlags, endpointFlags } from './flags.ts';
import { givenTimeout, openCluster, type Opened } from './prepare.ts';

export const destinationArgument = {
  name: 'destination',
  effects: ['reads', 'writes'],
  field: req(str(4096, { min: 1 })),
  summary: 'Directory, or s3://BUCKET/PREFIX',
  complete: 'file',
} as const satisfies Argument;
/** Credentials have no flag: they come from the environment or the profile, role or instance that the client library finds. */
export const bucketFlags = {
  's3-endpoint': {
    effects: ['sends'],
    field: str(2048, { min: 1, pattern: '^https?://' }),
    summary: 'URL of an S3-compatible service (default: AWS_ENDPOINT_URL_S3, or AWS)',
    value: 'url',
  },
  's3-region': {
    effects: ['sends'],
    field: str(64, { min: 1 }),
    summary: 'Region of the bucket (default: AWS_REGION)',
    value: 'region',
  },
  's3-addressing': {
    effects: [],
    field: oneOf('path', 'virtual'),
    summary:
      'Put the bucket into the path or the host name (default: path with an endpoint, otherwise virtual)',
    value: 'path|virtual',
  },
} as const satisfies Flags;
export type BucketValues = ValuesOf<typeof bucketFlags>;
export const nameFlag = {
  name: {
    effects: [],
    field: str(128, { min: 1, pattern: namePattern }),
    summary: 'Cluster name in snapshot names (default: from the cluster file)',
    value: 'name',
  },
} as const satisfies Flags;
/** Only explicit values, because the cluster file may contain the others. */
export const bucketOptions = (values: BucketValues): BucketOptions => ({
  ...(values['s3-endpoint'] === undefined ? {} : { endpoint: values['s3-endpoint'] }),
  ...(values['s3-region'] === undefined ? {} : { region: values['s3-region'] }),
  ...(values['s3-addressing'] === undefined ? {} : { addressing: values['s3-addressing'] }),
});
/** The destination of a command; it is closed when the work is done. */
export const withDestination = async <T>(
  { host, settings }: Pick<Context, 'host' | 'settings'>,
  where: string,
  values: BucketValues,
  work: (destination: Destination) => Promise<T>,
): Promise<T> => {
  const { openDestination } = await import('../../kv/snapshots/destination.ts');
  const workDirectory = `${settings.directories.state}/snapshots`;
  const destination = await openDestination(host, where, { ...bucketOptions(values), workDirectory });
  try {
    return await work(destination);
  } finally {
    destination.close();
  }
};

const args = [
  {
    name: 'file',
    effects: ['reads'],
    field: req(str(4096, { min: 1 })),
    summary: 'Snapshot: a file, or s3://BUCKET/PREFIX/NAME',
    complete: 'file',
  },
] as const;
const program = (summary: string) =>
  ({ effects: ['runs'], field: str(4096, { min: 1 }), summary, value: 'program', complete: 'file' }) as const;
const flags = {
  restore: {
    effects: ['runs'] as const,
    field: bool(),
    summary: 'Also rebuild a private member from the snapshot and compare its content',
  },
  ctl: program('With --restore: etcdctl or etcdutl (default: ctl_binary of the cluster file, or etcdctl)'),
  server: program('With --restore: the server (default: old_binary of the cluster file, or etcd)'),
  ...endpointFlags,
  ...bucketFlags,
};
type Given = ValuesOf<typeof flags, typeof args>;
/** Programs of the cluster file and a member for comparison, if a cluster is named. */
const trialOf = async (context: Context, values: Given): Promise<Verifying['trial']> => {
  if (values.restore !== true) return undefined;
  const isNamed = values.cluster !== undefined || values.endpoints !== undefined;
  const opened = isNamed ? await openCluster(context, values) : undefined;
  const [member] = opened?.cluster.members ?? [];
  const at = (path: string | undefined): string | undefined =>
    path?.includes('/') === true ? resolve(context.host.cwd, path) : path;
  return {
    ctl: at(values.ctl) ?? opened?.cluster.ctl_binary ?? 'etcdctl',
    server: at(values.server) ?? member?.old_binary ?? 'etcd',
    user: opened?.access.user,
    live: member === undefined ? undefined : opened?.access.store(member.client_url),
  };
};
/** The file passed its own checks. A rebuilt member can contain other data than the file or the cluster. */
const verdictOf = (file: string, { ok }: Pick<Verification, 'ok'>): string =>
  ok
    ? `${file} is valid`
    : `the checksum of ${file} is valid, but the member that was rebuilt from it contains different data`;
const textOf = (file: string, done: Verification): string =>
  (done.comparisons ?? [])
    .map(({ check, ok, detail }) => `${check}: ${ok === null ? '' : ok ? 'same, ' : 'DIFFERENT, '}${detail}`)
    .join('\n') || verdictOf(file, done);
export const snapshotVerify = defineCommand({
  path: ['kv', 'snapshot', 'verify'],
  summary: 'Verify a snapshot by checksum, manifest and trial restore',
  about:
    'Exits with code 20 if the snapshot is corrupted, is not the stored file, or a member rebuilt from it contains different data. The trial restore requires --restore; the other checks require no additional program.',
  args,
  flags,
  examples: [
    { line: 'opsctl kv snapshot verify backup.db', says: 'Verify the checksum of the whole file' },
    {
      line: 'opsctl kv snapshot verify s3://backups/etcd/prod-20261122T040000Z-r1234.db --restore --cluster cluster.yaml',
      says: 'Rebuild a private member, compare revision, keys and hash, and remove it',
    },
  ],
  run: async (context, values) => {
    const { verifyStored } = await import('../../kv/snapshots/trial-restore.ts');
    const trial = await trialOf(context, values);
    const done = await verifyStored({
      host: context.host,
      place: values.file,
      bucket: bucketOptions(values),
      signal: context.signal,
      ...(trial === undefined ? {} : { trial }),
    });
    return recordResult(
      done,
      { text: textOf(values.file, done), message: verdictOf(values.file, done) },
      done.ok ? undefined : 'no',
    );
  },
});

const fileArgument = {
  name: 'file',
  effects: ['reads'],
  field: req(str(undefined, { min: 1 })),
  summary: 'Snapshot file',
  complete: 'file',
} as const satisfies Argument;

/**
 * Uses one specific member: the named one, otherwise the leader, because no member is ahead of the leader.
 */
const snapshotMember = async (
  { host, log }: Context,
  { cluster, access, file }: Opened,
  member: string | undefined,
): Promise<MemberSpec> => {
  if (member !== undefined) {
    const found = cluster.members.find(({ name }) => name === member);
    if (found === undefined)
      throw invalidArguments([
        problem('--member', 'enum', `must be one of ${cluster.members.map(({ name }) => name).join(', ')}`),
      ]);
    return found;
  }
  if (cluster.members.length === 1) return cluster.members[0] as MemberSpec;
  if (file === undefined)
    throw invalidArguments([
      problem(
        '--endpoints',
        'max',
        'must name exactly one member',
        'or specify a --member of a cluster file',
      ),
    ]);
  const [{ observe }, { mostCurrent }] = await Promise.all([
    import('../../kv/upgrade/observe/observe.ts'),
    import('../../kv/upgrade/observe/observe.ts'),
  ]);
  const { members } = await observe({ host, cluster, access });
  const best = mostCurrent(members);
  if (best === undefined)
    throw new AppError('network', `no member responded: ${members[0]?.error ?? 'unknown'}`, {
      code: 'UNAVAILABLE',
      tryThis: [next(['kv', 'status'])],
    });
  if (!best.is_leader) log.warn(`no leader: the snapshot of ${best.name} may be out of date`);
  return cluster.members.find(({ name }) => name === best.name) as MemberSpec;
};

const silenceMs = 30_000;
export const snapshotSave = defineCommand({
  path: ['kv', 'snapshot', 'save'],
  noDryRun: 'opsctl kv status shows the size of the store',
  summary: 'Save a verified snapshot of the v3 data',
  about:
    'Verifies the snapshot while it arrives, and removes the file if the transfer is interrupted or the checksum differs. A snapshot does not contain v2 data.',
  args: [fileArgument],
  flags: {
    ...endpointFlags,
    member: {
      field: str(undefined, { min: 1 }),
      summary: 'Source member in the cluster file (default: the leader)',
      value: 'name',
      complete: 'kv-member',
    },
  },
  examples: [
    {
      line: 'opsctl kv snapshot save backup.db --endpoints localhost:2379',
      says: 'Save a snapshot as backup.db',
    },
  ],
  run: async (context, values) => {
    const { host } = context;
    const opened = await openCluster(context, values);
    const source = await snapshotMember(context, opened, values.member);
    const [{ openStore }, { saveSnapshot }, { withDeadline }] = await Promise.all([
      import('../../kv/client/etcd-client.ts'),
      import('../../kv/client/snapshot.ts'),
      import('../../kv/client/snapshot.ts'),
    ]);
    const limitMs = await givenTimeout(context);
    const began = host.elapsed();
    const path = resolve(host.cwd, values.file);
    const saved = await withDeadline(host, { signal: context.signal, limitMs }, async (signal) => {
      const store = openStore(host, {
        url: source.client_url,
        tls: opened.access.tls,
        user: opened.access.user,
        timeoutMs: silenceMs,
        signal,
      });
      const { revision, raft_index } = await store.status();
      return { ...(await saveSnapshot(host, store, path)), revision, raft_index };
    });
    const data = {
      member: source.name,
      path,
      ...saved,
      duration_ms: Math.round(host.elapsed() - began),
    };
    return recordResult(data, {
      text: `Snapshot saved at ${values.file}`,
      name: 'path',
      message: `verified: ${saved.size_bytes} bytes, revision ${saved.revision}, sha256 ${saved.trailer_sha256}`,
    });
  },
});

export const snapshotStatus = defineCommand({
  path: ['kv', 'snapshot', 'status'],
  summary: 'Show the content summary of a snapshot file',
  about: 'hash is the value that the tools of 3.3 and later print; compare only values of the same tool.',
  args: [fileArgument],
  examples: [{ line: 'opsctl kv snapshot status backup.db', says: 'Show revision, keys, size and hash' }],
  run: async (context, values) => {
    const path = resolve(context.host.cwd, values.file);
    const { verifySnapshot } = await import('../../kv/client/snapshot.ts');
    const { readContent } = await import('../../kv/client/snapshot-content.ts');
    const { readSnapshot } = await import('../../kv/client/snapshot.ts');
    const { trailer_sha256 } = await verifySnapshot(context.host, path, context.signal);
    const content = await readSnapshot(context.host, path, readContent, context.signal);
    return recordResult(
      { ...content, hash_hex: content.hash.toString(16), trailer_sha256 },
      { columns: ['hash_hex', 'revision', 'total_key', 'total_size'], name: 'revision' },
    );
  },
});

const row = ({ manifest, ...seen }: StoredSnapshot, place: string) => ({
  ...seen,
  hash: manifest?.hash ?? null,
  file_sha256: manifest?.file_sha256 ?? null,
  total_key: manifest?.total_key ?? null,
  member: manifest?.member ?? null,
  verified_at: manifest?.verified_at ?? null,
  verified_by: manifest?.verified_by ?? null,
  place,
});
export const snapshotList = defineCommand({
  path: ['kv', 'snapshot', 'list'],
  summary: 'List the snapshots of a directory or a bucket, oldest first',
  about: 'If VERIFIED BY is empty, the snapshot has no manifest and was not verified.',
  args: [destinationArgument],
  flags: { ...nameFlag, ...bucketFlags },
  examples: [
    {
      line: 'opsctl kv snapshot list /var/backups/etcd',
      says: 'List size, revision, hash, and times of creation and verification',
    },
  ],
  run: async (context, values) => {
    const { catalogue } = await import('../../kv/snapshots/catalog.ts');
    const rows = await withDestination(context, values.destination, values, async (destination) =>
      (await catalogue(destination, values.name)).map((one) => row(one, destination.placeOf(one.name))),
    );
    return rowsResult(rows, {
      columns: ['name', 'taken_at', 'revision', 'size_bytes', 'verified_by', 'hash', 'verified_at'],
      name: 'place',
    });
  },
});

const count = (summary: string) => ({ field: int({ min: 1, max: 10_000 }), summary, value: 'n' }) as const;
export const retentionFlags = {
  'keep-last': count('Keep the newest N snapshots'),
  'keep-daily': count('Keep the newest snapshot of each of the last N days (UTC) that have one'),
  'keep-weekly': count('Keep the newest snapshot of each of the last N weeks (UTC) that have one'),
  'max-age': {
    field: str(32, { min: 1 }),
    summary: 'Maximum age, such as 90d; the newest verified snapshot is always kept',
    value: 'duration',
  },
} as const satisfies Flags;
export type RetentionValues = ValuesOf<typeof retentionFlags>;
const longestAgeMs = 100 * 366 * 86_400_000;
/** Undefined without these flags: no snapshot is pruned. */
export const retentionOf = (values: RetentionValues): Retention | undefined => {
  const names = ['keep-last', 'keep-daily', 'keep-weekly', 'max-age'] as const;
  if (names.every((name) => values[name] === undefined)) return undefined;
  const age = values['max-age'];
  return {
    keepLast: values['keep-last'],
    keepDaily: values['keep-daily'],
    keepWeekly: values['keep-weekly'],
    ...(age === undefined ? {} : { maxAgeMs: parseDuration(age, '--max-age', longestAgeMs) }),
  };
};

const pruneFlags = { ...clusterFlags, ...nameFlag, ...retentionFlags, ...bucketFlags };
type SnapshotPruneGiven = ValuesOf<typeof pruneFlags, readonly [typeof destinationArgument]>;
const pruneSnapshots = async (context: Context, values: SnapshotPruneGiven) => {
  const retention = retentionOf(values);
  if (retention === undefined)
    throw invalidArguments([
      problem('--keep-last', 'required', 'or --keep-daily, --keep-weekly or --max-age is required'),
    ]);
  const cluster = values.name ?? (await openCluster(context, values)).cluster.name;
  const { prunePlan, removeSnapshots } = await import('../../kv/snapshots/catalog.ts');
  return withDestination(context, values.destination, values, async (destination) => {
    const { keep, prune } = await prunePlan(destination, cluster, retention, context.host.now());
    const names = prune.map(({ name }) => name);
    const kept = keep.map(({ snapshot: { name }, why }) => ({ name, why }));
    const count = `${names.length} of ${names.length + kept.length} snapshots of ${cluster}`;
    const data = {
      destination: destination.where,
      cluster,
      keep: kept,
      prune: names,
      is_dry_run: context.isDryRun,
    };
    const lines = [
      ...kept.map(({ name, why }) => `keep   ${name} (${why})`),
      ...names.map((name) => `remove ${name}`),
    ];
    if (context.isDryRun)
      return recordResult(data, { text: [`would remove ${count}`, ...lines].join('\n'), isProse: true });
    if (names.length > 0) {
      context.log.info(lines.join('\n'));
      await context.confirm(`Remove ${count} in ${destination.where}?`);
      await removeSnapshots(destination, prune);
    }
    const unfinished = await destination.discardUnfinished();
    return recordResult(
      { ...data, unfinished_uploads: unfinished ?? null },
      { text: `removed ${count}`, isProse: true },
    );
  });
};
export const snapshotPrune = defineCommand({
  path: ['kv', 'snapshot', 'prune'],
  summary: 'Remove old snapshots of a cluster by retention rules',
  about:
    'Keeps a snapshot if a rule selects it and it is not older than --max-age. Always keeps the newest verified snapshot. Ignores files that are not snapshots of this cluster. Discards uploads that were interrupted more than a day ago.',
  args: [destinationArgument],
  flags: pruneFlags,
  examples: [
    {
      line: 'opsctl kv snapshot prune s3://backups/etcd --name prod --keep-last 8 --keep-daily 14 --keep-weekly 8 --dry-run',
      says: 'Show which snapshots would be kept or removed, and why',
    },
  ],
  run: pruneSnapshots,
});
