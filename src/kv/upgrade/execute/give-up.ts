/** A run that the operator gives up: what it left in the store and on the hosts goes, members stay as they are. */
import { messageOf } from '../../../core/error-message.ts';
import { AppError } from '../../../core/problem.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { removeOwnKeys } from '../../client/own-keys.ts';
import { upgradedIn } from '../decide.ts';
import { type FoundRun, openJournal } from '../../engine/journal.ts';
import { progressOf } from '../../engine/progress.ts';
import { removeShared } from '../../engine/shared-progress.ts';
import { discardStaged } from '../discard-staged.ts';
import { kindOf, newWay } from '../plan-kind.ts';
import type { Run } from '../run.ts';
import type { MemberSeen, Plan } from '../../engine/types.ts';
import { cancelDowngrade } from './enable-downgrade.ts';

/** What becomes of the downgrade that the run enabled in the store. */
export type DowngradeLeft = 'cancelled' | 'enabled';

/** A member that the run stopped would stay down. */
export const refuseWhileDown = (members: readonly MemberSeen[]): void => {
  const away = members.filter(({ is_reachable }) => !is_reachable).map(({ name }) => name);
  if (away.length > 0)
    throw new AppError(
      'unsafe',
      `${away.join(', ')} ${away.length === 1 ? 'is' : 'are'} down: the run cannot be given up like this`,
      { code: 'MEMBER_DOWN', tryThis: ['opsctl kv resume', 'opsctl kv rollback'] },
    );
};

/**
 * spec/store#measured-later-9: while one member runs the older version the downgrade is what keeps the cluster there, so it stays. While all run the
 * newer one it only keeps new members out. After the last member the store ends it by itself. Undefined: nothing is on. Pure.
 */
export const downgradeLeft = (
  plan: Pick<Plan, 'kind' | 'from' | 'to'>,
  members: readonly MemberSeen[],
): DowngradeLeft | undefined => {
  if (kindOf(plan) !== 'downgrade' || members.every((seen) => minorOf(seen.server_version) === plan.to))
    return undefined;
  if (members.some((seen) => minorOf(seen.server_version) === plan.to)) return 'enabled';
  // One that was enabled or cancelled a moment ago moves the version of the cluster seconds later.
  const isOn = members.some(
    ({ downgrade_to, cluster_version }) => downgrade_to !== undefined || minorOf(cluster_version) === plan.to,
  );
  return isOn ? 'cancelled' : undefined;
};

const leftText = ({ from, to }: Plan, left: DowngradeLeft | undefined): string =>
  ({
    none: '',
    cancelled: `; the downgrade to ${to} was cancelled, the cluster is ${from}`,
    enabled: `; the downgrade to ${to} stays enabled in the store, and no new run can go on with it: opsctl kv upgrade goes to ${from} and cancels it`,
  })[left ?? 'none'];

type GivenUp = Pick<Run, 'host' | 'cluster' | 'access' | 'driver'> & {
  readonly found: FoundRun;
  readonly plan: Plan;
  readonly members: readonly MemberSeen[];
};
export type GiveUpReport = {
  readonly run: string;
  readonly outcome: 'aborted';
  readonly upgraded: readonly string[];
  readonly downgrade: DowngradeLeft | null;
  readonly message: string;
};

/** The downgrade goes before the journal is closed: when that fails the run is still there to be given up again. */
export const giveUp = async (given: GivenUp): Promise<GiveUpReport> => {
  const { host, cluster, access, driver, found, plan, members } = given;
  const upgraded = upgradedIn(plan, progressOf(found.entries), { members });
  const left = downgradeLeft(plan, members);
  const journal = await openJournal(host, found.directory);
  try {
    if (left === 'cancelled') {
      journal.write({ kind: 'begin', step: 'cancel-downgrade' });
      await cancelDowngrade(given, plan.from).catch((error: unknown) => {
        throw new AppError('stopped', `run ${found.run} was not given up: ${messageOf(error)}`, {
          code: 'NOT_CANCELLED',
          tryThis: ['opsctl kv status', 'opsctl kv abort', 'opsctl kv downgrade --cancel'],
        });
      });
      journal.tell({ kind: 'end', step: 'cancel-downgrade' });
    }
    await discardStaged({ driver, cluster }, journal.entries, 'aborted');
    const who = upgraded.length === 0 ? 'nobody' : upgraded.join(', ');
    const message = `run ${found.run} given up; on ${newWay(plan)}: ${who}${leftText(plan, left)}`;
    journal.write({ kind: 'closed', outcome: 'aborted', message });
    const stores = members.map(({ client_url }) => access.store(client_url));
    await removeOwnKeys(stores, found.run);
    await removeShared({ host, cluster, stores });
    return { run: found.run, outcome: 'aborted', upgraded, downgrade: left ?? null, message };
  } finally {
    journal.close();
  }
};
