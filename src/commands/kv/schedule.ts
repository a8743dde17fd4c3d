import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import type { MemberSpec } from '../../kv/engine/types.ts';
import type { Context } from '../../cli/command.ts';
import { openCluster } from './open-cluster.ts';
import type { Opened } from './open-cluster.ts';
import { retentionOf } from './retention-flags.ts';
import { withDestination } from './snapshot-flags.ts';
import type { ScheduleValues } from './snapshot-schedule-flags.ts';

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
    import('../../kv/upgrade/observe/snapshot-source.ts'),
  ]);
  const observation = await observe({ host: context.host, cluster, access });
  const best = snapshotSource(observation);
  if (best === undefined)
    throw new AppError('network', `no member answers: ${observation.members[0]?.error ?? 'unknown'}`, {
      code: 'UNAVAILABLE',
      retryable: true,
      tryThis: ['opsctl kv status'],
    });
  if (!best.is_healthy)
    context.log.warn(`no healthy member: the snapshot of ${best.name} may be behind the cluster`);
  return cluster.members.find(({ name }) => name === best.name) as MemberSpec;
};

/** One run: a snapshot of a healthy follower, verified, stored; then what the rules do not keep is removed. */
export const snapshotOnce = async (context: Context, values: ScheduleValues) => {
  const { host } = context;
  const opened = await openCluster(context, values);
  const source = await sourceOf(context, opened, values.member);
  const [{ openStore }, { takeStored }, { prunePlan, removeSnapshots }] = await Promise.all([
    import('../../kv/client/etcd-client.ts'),
    import('../../kv/snapshots/take.ts'),
    import('../../kv/snapshots/catalogue.ts'),
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
