import { AppError } from '../../../core/problem.ts';
import { minorOf, rowOf } from '../../../api-specs/etcd/versions.ts';
import type { Store } from '../../client/etcd-client.ts';
import { isReadyFor, notReady } from '../downgrade.ts';
import { observe } from '../observe/observe.ts';
import type { Act, Run } from '../run.ts';
import type { MemberSeen, Observation } from '../../engine/types.ts';

/** Without a quorum the store answers after seven seconds. */
const answerMs = 10_000;
/** The leader looks every four seconds; measured 3.2 to 4.0 s. */
const withinMs = 30_000;
const pollMs = 100;

type Part = Pick<Run, 'host' | 'cluster' | 'access'>;
/** Only a member that knows downgrades is asked: 3.5 answers an error and enables one all the same. */
const ableStore = ({ access }: Part, { members }: Observation): Store | undefined => {
  const able = members.find(
    ({ is_reachable, server_version }) => is_reachable && rowOf(server_version)?.can.downgrade === true,
  );
  return able === undefined ? undefined : access.store(able.client_url, answerMs);
};

/** Members only: what their hosts say does not matter here. */
const looked = ({ host, cluster, access }: Part): Promise<Observation> => observe({ host, cluster, access });

const stopped = (message: string, tryThis: readonly string[]): AppError =>
  new AppError('stopped', message, { code: 'NOT_READY', tryThis });

/** Waits until every member, and not only most of them, is as wanted. */
const awaited = async (
  part: Part & { readonly signal?: AbortSignal },
  isGood: (members: readonly MemberSeen[]) => boolean,
  message: (members: readonly MemberSeen[]) => string,
): Promise<void> => {
  const { host, cluster, access, signal } = part;
  const until = host.elapsed() + withinMs;
  for (;;) {
    const { members } = await observe({ host, cluster, access });
    if (members.every(({ is_reachable }) => is_reachable) && isGood(members)) return;
    if (host.elapsed() > until || signal?.aborted === true)
      throw stopped(message(members), ['opsctl kv status', 'opsctl kv resume', 'opsctl kv rollback']);
    await host.sleep(pollMs);
  }
};

/**
 * Validate, enable, and wait. A member of the older version that starts before every member reports the older version keeps the cluster at the
 * newer one (spec/store#measured-later-8). May be repeated: a second ENABLE is refused by the store, so what is on is looked at first.
 */
export const enableDowngrade: Act = async (run) => {
  const { to } = run.plan;
  const observation = await looked(run);
  const isOn = observation.members.some(({ downgrade_to }) => minorOf(downgrade_to) === to);
  if (!isOn && !isReadyFor(to, observation.members)) {
    const store = ableStore(run, observation);
    if (store === undefined)
      throw stopped(`no member that can downgrade the cluster answers`, [
        'opsctl kv status',
        'opsctl kv resume',
      ]);
    await store.downgrade('VALIDATE', to);
    await store.downgrade('ENABLE', to);
  }
  await awaited(
    run,
    (members) => isReadyFor(to, members),
    (members) => `the cluster is not ready to run ${to}: ${notReady(to, members)}; no member was stopped`,
  );
  return { cluster_version: `${to}.0` };
};

/** One that somebody left on. */
export const cancelStale = async ({ access }: Part, { client_url }: MemberSeen): Promise<void> =>
  access.store(client_url, answerMs).downgrade('CANCEL', '');

/** The store answers 200 in any case: only what members report afterwards counts. */
export const cancelDowngrade = async (part: Part, to: string): Promise<void> => {
  const observation = await looked(part);
  const isBack = (members: readonly MemberSeen[]): boolean =>
    members.every(
      ({ downgrade_to, cluster_version }) => downgrade_to === undefined && minorOf(cluster_version) === to,
    );
  if (isBack(observation.members)) return;
  const store = ableStore(part, observation);
  if (store === undefined)
    throw stopped('no member that can cancel the downgrade answers', ['opsctl kv status']);
  await store.downgrade('CANCEL', '');
  await awaited(part, isBack, (members) => {
    const on = members.filter(({ downgrade_to }) => downgrade_to !== undefined).map(({ name }) => name);
    return on.length > 0
      ? `the downgrade is still on after it was cancelled: ${on.join(', ')}`
      : `the cluster has not come back to ${to}: ${notReady(to, members)}`;
  });
};
