import { AppError } from '../../../core/problem.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { progressOf } from '../../engine/progress.ts';
import { crosses } from '../plan-kind.ts';
import { endingOf } from './downgrade-over.ts';
import { observe } from '../observe/observe.ts';
import { versionsSeen, type VersionsSeen } from '../observe/see-member.ts';
import type { Act, Run } from '../run.ts';
import type { MemberSeen } from '../../engine/types.ts';

const withinMs = 30_000;
const pollMs = 100;
/** Between two whole looks at the cluster only the versions are asked: they are what is awaited. */
const wholeLookMs = 1000;

/** From here on the old version cannot start any more: a crash after this line knows it without a member that answers. */
export const noteCrossing = (
  run: Run,
  { members }: { readonly members: readonly Pick<MemberSeen, 'cluster_version'>[] },
): void => {
  const moved = members.find(({ cluster_version }) => minorOf(cluster_version) === run.plan.to);
  if (!crosses(run.plan) || moved === undefined || progressOf(run.journal.entries).hasCrossed) return;
  run.journal.tell({ kind: 'crossed', cluster_version: moved.cluster_version as string });
};

const allVersions = ({ access, cluster }: Run): Promise<VersionsSeen[]> =>
  Promise.all(
    cluster.members.map(({ client_url }) => versionsSeen(access.store(client_url)).catch(() => ({}))),
  );

/** The leader's monitor runs every five seconds (spec/store#measured-upgrade): one look at the end would see the old version. A process that ends meanwhile breaks the wait off. */
const hasArrived = (
  { cluster_version, storage_version, server_version }: VersionsSeen,
  to: string,
): boolean =>
  minorOf(server_version) === to &&
  minorOf(cluster_version) === to &&
  (storage_version === undefined || minorOf(storage_version) === to);

const versionsArrive = async (run: Run, untilMs: number, ended: AbortSignal): Promise<void> => {
  while (run.host.elapsed() < untilMs) {
    const members = await allVersions(run);
    noteCrossing(run, { members });
    if (members.every((member) => hasArrived(member, run.plan.to))) return;
    ended.throwIfAborted();
    await run.host.sleep(pollMs, ended).catch(() => {});
  }
};

export const confirm: Act = async (run) => {
  const { host, cluster, access, plan, members: watch } = run;
  const until = host.elapsed() + withinMs;
  const ended = watch.signal();
  const ending = endingOf(run);
  let wholeAt = host.elapsed();
  for (;;) {
    await versionsArrive(run, wholeAt, ended);
    wholeAt = host.elapsed() + wholeLookMs;
    const observation = await observe({ host, cluster, access });
    noteCrossing(run, observation);
    const behind = observation.members.filter((member) => !hasArrived(member, plan.to));
    const isOver = (behind.length === 0 || crosses(plan)) && (await ending.isOver(observation));
    if (behind.length === 0 && isOver) return { cluster_version: observation.members[0]?.cluster_version };
    ended.throwIfAborted();
    if (host.elapsed() > until) {
      const names = behind
        .map(({ name, cluster_version }) => `${name} (${cluster_version ?? 'no answer'})`)
        .join(', ');
      const message =
        behind.length === 0
          ? `every member reports cluster ${plan.to} ${ending.what}`
          : `not every member reports cluster ${plan.to}: ${names}`;
      throw new AppError('stopped', message, {
        code: 'NOT_CONFIRMED',
        tryThis: ['opsctl kv status', 'opsctl kv resume'],
      });
    }
    await host.sleep(pollMs, ended).catch(() => {});
  }
};
