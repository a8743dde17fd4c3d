import { type Advice, next } from '../../../core/next.ts';
import { minorOf, rowOf } from '../../../api-specs/etcd/versions.ts';
import { AppError } from '../../../core/problem.ts';
import type { Store } from '../../client/etcd-client.ts';
import type { MemberStatus, Observation } from '../../engine/model.ts';
import { progressOf } from '../../engine/progress.ts';
import { observe } from '../observe/observe.ts';
import { readVersions, type VersionReport } from '../observe/see-member.ts';
import { crosses, kindOf, isReadyFor, unreadyMembersText } from '../plan-kind.ts';
import type { StepHandler, Run } from '../run.ts';

/** Without a quorum the store responds after seven seconds. */
const answerMs = 10_000;
/** The leader checks every four seconds; measured 3.2 to 4.0 s. */
const withinMs = 30_000;
const pollMs = 100;
type Part = Pick<Run, 'host' | 'cluster' | 'access'>;
/** Selects only a member that supports downgrades: 3.5 returns an error, but enables the downgrade anyway. */
const ableStore = ({ access }: Part, { members }: Observation): Store | undefined => {
  const able = members.find(
    ({ is_reachable, server_version }) => is_reachable && rowOf(server_version)?.can.downgrade === true,
  );
  return able === undefined ? undefined : access.store(able.client_url, answerMs);
};
/** Observes only members: facts of their hosts do not matter here. */
const observeMembers = ({ host, cluster, access }: Part): Promise<Observation> =>
  observe({ host, cluster, access });
const makeStoppedError = (message: string, tryThis: readonly Advice[]): AppError =>
  new AppError('stopped', message, { code: 'NOT_READY', tryThis });
/** Waits until all members match the condition. */
const awaitMembers = async (
  part: Part & { readonly signal?: AbortSignal },
  isGood: (members: readonly MemberStatus[]) => boolean,
  message: (members: readonly MemberStatus[]) => string,
): Promise<void> => {
  const { host, cluster, access, signal } = part;
  const until = host.elapsed() + withinMs;
  for (;;) {
    const { members } = await observe({ host, cluster, access });
    if (members.every(({ is_reachable }) => is_reachable) && isGood(members)) return;
    if (host.elapsed() > until || signal?.aborted === true)
      throw makeStoppedError(message(members), [
        next(['kv', 'status']),
        next(['kv', 'resume']),
        next(['kv', 'rollback']),
      ]);
    await host.sleep(pollMs);
  }
};
/**
 * Validates and enables the downgrade, and waits. A member of the older version that starts before every
 * member reports the older version keeps the cluster at the newer version (spec/store#measured-later-8). The
 * store rejects a second ENABLE, so this function checks the current state first and can be repeated.
 */
export const enableDowngrade: StepHandler = async (run) => {
  const { to } = run.plan;
  const observation = await observeMembers(run);
  const isOn = observation.members.some(({ downgrade_to }) => minorOf(downgrade_to) === to);
  if (!isOn && !isReadyFor(to, observation.members)) {
    const store = ableStore(run, observation);
    if (store === undefined)
      throw makeStoppedError(`no member that can downgrade the cluster responds`, [
        next(['kv', 'status']),
        next(['kv', 'resume']),
      ]);
    await store.downgrade('VALIDATE', to);
    await store.downgrade('ENABLE', to);
  }
  await awaitMembers(
    run,
    (members) => isReadyFor(to, members),
    (members) =>
      `the cluster is not ready to run ${to}: ${unreadyMembersText(to, members)}; no member was stopped`,
  );
  return { cluster_version: `${to}.0` };
};
/** Cancels a downgrade that an earlier operation left enabled. */
const cancelStale = async ({ access }: Part, { client_url }: MemberStatus): Promise<void> =>
  access.store(client_url, answerMs).downgrade('CANCEL', '');
/** The store returns 200 in any case, so only the later reports of the members count. */
export const cancelDowngrade = async (part: Part, to: string): Promise<void> => {
  const observation = await observeMembers(part);
  const isBack = (members: readonly MemberStatus[]): boolean =>
    members.every(
      ({ downgrade_to, cluster_version }) => downgrade_to === undefined && minorOf(cluster_version) === to,
    );
  if (isBack(observation.members)) return;
  const store = ableStore(part, observation);
  if (store === undefined)
    throw makeStoppedError('no member that can cancel the downgrade responds', [next(['kv', 'status'])]);
  await store.downgrade('CANCEL', '');
  await awaitMembers(part, isBack, (members) => {
    const on = members.filter(({ downgrade_to }) => downgrade_to !== undefined).map(({ name }) => name);
    return on.length > 0
      ? `the downgrade is still enabled after opsctl canceled it: ${on.join(', ')}`
      : `the cluster has not returned to ${to}: ${unreadyMembersText(to, members)}`;
  });
};

const downgradeOverAnswerMs = 1000;
/**
 * The store checks every five seconds whether a downgrade is complete. If no member reports it, opsctl waits
 * twice as long and a margin.
 */
const blindMs = 12_000;
/** The status of 3.5 does not report whether a downgrade is enabled, but the peer interface does. */
const isOnAt = async ({ host, access }: Run, peerUrl: string): Promise<boolean | undefined> => {
  const request = {
    method: 'GET',
    url: `${peerUrl.replace(/\/+$/, '')}/downgrade/enabled`,
    timeoutMs: downgradeOverAnswerMs,
    connectTimeoutMs: downgradeOverAnswerMs,
    maxReplyBytes: 1024,
    ...(access.tls === undefined ? {} : { tls: access.tls }),
  };
  const text = await host.network
    .request(request)
    .then(async (reply) => (reply.status === 200 ? (await reply.text()).trim() : ''))
    .catch(() => '');
  return text === 'true' ? true : text === 'false' ? false : undefined;
};
export type Ending = { isOver(observation: Observation): Promise<boolean>; readonly what: string };
/**
 * Every member runs the older version, but the store treats the downgrade as unfinished until its next check.
 * An upgrade in the meantime would start members of 3.6 in a cluster that stays at 3.5
 * (spec/store#measured-later-12).
 */
const downgradeEnding = (run: Run): Ending => {
  let since: number | undefined;
  return {
    what: 'and the cluster still reports the downgrade as unfinished',
    isOver: async ({ listed }) => {
      since ??= run.host.elapsed();
      const urls = listed.flatMap(({ peer_urls }) => peer_urls.slice(0, 1));
      const answers = await Promise.all(urls.map((url) => isOnAt(run, url)));
      if (answers.includes(true)) return false;
      return answers.includes(false) || run.host.elapsed() - since >= blindMs;
    },
  };
};
/**
 * A downgrade that stays enabled keeps the cluster at its version, regardless of its members. A complete
 * upgrade cancels it.
 */
const upgradeEnding = (run: Run): Ending => {
  let isCancelled = false;
  return {
    what: '',
    isOver: async ({ members }) => {
      const left = members.find(({ downgrade_to }) => downgrade_to !== undefined);
      if (left === undefined) return true;
      if (isCancelled) return false;
      isCancelled = true;
      run.emit({
        event: 'note',
        level: 'warn',
        text: `canceling a downgrade to ${left.downgrade_to} that is still enabled and keeps the cluster at that version`,
      });
      await cancelStale(run, left);
      return false;
    },
  };
};
export const endingOf = (run: Run): Ending =>
  kindOf(run.plan) === 'downgrade' ? downgradeEnding(run) : upgradeEnding(run);

/** Between two full observations, opsctl reads only the versions, because the wait depends only on them. */
const wholeLookMs = 1000;
/**
 * From here on the old version cannot start. After a crash, this line proves it even if no member responds.
 */
export const noteCrossing = (
  run: Run,
  { members }: { readonly members: readonly Pick<MemberStatus, 'cluster_version'>[] },
): void => {
  const moved = members.find(({ cluster_version }) => minorOf(cluster_version) === run.plan.to);
  if (!crosses(run.plan) || moved === undefined || progressOf(run.journal.entries).hasCrossed) return;
  run.journal.tell({ kind: 'crossed', cluster_version: moved.cluster_version as string });
};
const allVersions = ({ access, cluster }: Run): Promise<VersionReport[]> =>
  Promise.all(
    cluster.members.map(({ client_url }) => readVersions(access.store(client_url)).catch(() => ({}))),
  );
/**
 * The leader's monitor runs every five seconds (spec/store#measured-upgrade), so a single check at the end
 * would show the old version. The wait stops if a process exits.
 */
const hasArrived = (
  { cluster_version, storage_version, server_version }: VersionReport,
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
export const confirm: StepHandler = async (run) => {
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
        .map(({ name, cluster_version }) => `${name} (${cluster_version ?? 'no response'})`)
        .join(', ');
      const message =
        behind.length === 0
          ? `every member reports cluster ${plan.to} ${ending.what}`
          : `not every member reports cluster ${plan.to}: ${names}`;
      throw new AppError('stopped', message, {
        code: 'NOT_CONFIRMED',
        tryThis: [next(['kv', 'status']), next(['kv', 'resume'])],
      });
    }
    await host.sleep(pollMs, ended).catch(() => {});
  }
};
