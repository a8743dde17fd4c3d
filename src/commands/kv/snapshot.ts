import { resolve } from 'node:path';
import { req, str } from '../../core/field.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import type { MemberSpec } from '../../kv-upgrade/types.ts';
import { defineCommand, type Argument, type Command, type Context } from '../../cli/command.ts';
import { timeoutOf } from './ask.ts';
import { endpointFlags, openCluster } from './cluster.ts';
import type { Opened } from './cluster.ts';
import { snapshotList, snapshotPrune } from './snapshot-list.ts';
import { snapshotSchedule } from './snapshot-schedule.ts';
import { snapshotVerify } from './snapshot-verify.ts';

const fileArgument = {
  name: 'file',
  field: req(str(undefined, { min: 1 })),
  summary: 'The snapshot file',
  complete: 'file',
} as const satisfies Argument;
const silenceMs = 30_000;

/** From one member, never from "one of them": the named one, else the leader, because nobody is ahead of it. */
const sourceOf = async (
  context: Context,
  opened: Opened,
  { member }: { readonly member?: string | undefined },
): Promise<MemberSpec> => {
  const { cluster, access, file } = opened;
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
        'must name one member: a snapshot is taken from one',
        'or name a --member of a cluster file',
      ),
    ]);
  const { observe } = await import('../../kv-upgrade/observe/observe.ts');
  const { members } = await observe({ host: context.host, cluster, access });
  const best =
    members.find(({ is_leader }) => is_leader) ??
    members
      .filter(({ is_reachable }) => is_reachable)
      .sort((a, b) => (b.raft_index ?? 0) - (a.raft_index ?? 0))[0];
  if (best === undefined)
    throw new AppError('network', `no member answers: ${members[0]?.error ?? 'unknown'}`, {
      code: 'UNAVAILABLE',
      tryThis: ['opsctl kv status'],
    });
  if (!best.is_leader) context.log.warn(`no leader: the snapshot of ${best.name} may be behind`);
  return cluster.members.find(({ name }) => name === best.name) as MemberSpec;
};

/** spec/store#errors: a snapshot read with an expired deadline is a deadline-exceeded error, a cancelled one a canceled error. */
const withDeadline = async <T>(
  context: Context,
  limitMs: number | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const [over, expired] = [new AbortController(), new AbortController()];
  const both = AbortSignal.any([context.signal, expired.signal]);
  const ticking =
    limitMs === undefined
      ? Promise.resolve()
      : context.host.sleep(limitMs, over.signal).then(
          () => expired.abort(),
          () => {},
        );
  try {
    return await work(both);
  } catch (error) {
    if (!expired.signal.aborted) throw error;
    throw new AppError(
      'network',
      `context deadline exceeded: no whole snapshot within ${(limitMs ?? 0) / 1000} s; nothing was written`,
      {
        code: 'DEADLINE_EXCEEDED',
        retryable: true,
        tryThis: ['--timeout with more time'],
        cause: error,
      },
    );
  } finally {
    over.abort();
    await ticking;
  }
};

const save = defineCommand({
  path: ['kv', 'snapshot', 'save'],
  noDryRun: 'opsctl kv status shows the size of the store',
  summary: 'Save a snapshot of the v3 data into a file, verified while it arrives',
  about:
    'Nothing is left of a snapshot that is cut off or does not fit its checksum. v2 data is not part of a snapshot.',
  args: [fileArgument],
  flags: {
    ...endpointFlags,
    member: {
      field: str(undefined, { min: 1 }),
      summary: 'Member of the cluster file to take it from (default: the leader)',
      value: 'name',
      complete: 'kv-member',
    },
  },
  examples: [
    {
      line: 'opsctl kv snapshot save backup.db --endpoints localhost:2379',
      says: 'Snapshot saved at backup.db',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const source = await sourceOf(context, opened, values);
    const [{ openStore }, { saveSnapshot }] = await Promise.all([
      import('../../etcd-client/etcd-client.ts'),
      import('../../etcd-client/snapshot.ts'),
    ]);
    const limit = context.settings.get('timeout') === undefined ? undefined : await timeoutOf(context);
    const began = context.host.elapsed();
    const path = resolve(context.host.cwd, values.file);
    const saved = await withDeadline(context, limit, async (signal) => {
      const store = openStore(context.host, {
        url: source.client_url,
        tls: opened.access.tls,
        user: opened.access.user,
        timeoutMs: silenceMs,
        signal,
      });
      const { revision, raft_index } = await store.status();
      return { ...(await saveSnapshot(context.host, store, path)), revision, raft_index };
    });
    const data = {
      member: source.name,
      path,
      ...saved,
      duration_ms: Math.round(context.host.elapsed() - began),
    };
    return recordResult(data, {
      text: `Snapshot saved at ${values.file}`,
      name: 'path',
      message: `verified: ${saved.size_bytes} bytes, revision ${saved.revision}, sha256 ${saved.trailer_sha256}`,
    });
  },
});

const status = defineCommand({
  path: ['kv', 'snapshot', 'status'],
  summary: 'Show what a snapshot file holds',
  about: 'hash is the value that the tools of 3.3 and later print; compare only values from one tool.',
  args: [fileArgument],
  examples: [{ line: 'opsctl kv snapshot status backup.db', says: 'Revision, keys, size and hash' }],
  run: async (context, values) => {
    const path = resolve(context.host.cwd, values.file);
    const { verifySnapshot } = await import('../../etcd-client/snapshot.ts');
    const { snapshotContent } = await import('../../etcd-client/snapshot-content.ts');
    const { withSnapshot } = await import('../../etcd-client/snapshot-file.ts');
    const { trailer_sha256 } = await verifySnapshot(context.host, path);
    const content = withSnapshot(context.host.files, path, snapshotContent);
    return recordResult(
      { ...content, hash_hex: content.hash.toString(16), trailer_sha256 },
      { columns: ['hash_hex', 'revision', 'total_key', 'total_size'], name: 'revision' },
    );
  },
});

export const snapshotCommands: readonly Command[] = [
  save,
  status,
  snapshotVerify,
  snapshotSchedule,
  snapshotList,
  snapshotPrune,
];
