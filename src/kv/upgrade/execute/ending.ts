import { type Advice, after, next } from '../../../core/next.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { AppError, type Category, messageOf } from '../../../core/problem.ts';
import { removeOwnKeys } from '../../client/etcd-client.ts';
import { type FoundRun, findRuns, openJournal, openRun } from '../../engine/journal.ts';
import type { Finding, HeldFor, MemberStatus, Outcome, Plan } from '../../engine/model.ts';
import { progressOf, removeShared } from '../../engine/progress.ts';
import { stepId, stopAfterEffect } from '../../engine/steps.ts';
import { upgradedIn } from '../decide.ts';
import { discardStaged } from '../placement.ts';
import { kindOf, newWay, oldWay } from '../plan-kind.ts';
import { rewriteReports } from '../present/report.ts';
import type { Run } from '../run.ts';
import { hintsForReason, isKilled } from '../watch/log-lines.ts';
import { cancelDowngrade } from './confirm.ts';

export type Ending = {
  readonly outcome: Outcome;
  readonly message: Advice;
  readonly category?: Category;
  readonly error?: AppError;
  /** The run holds for a reason that is not in the plan. */
  readonly heldFor?: HeldFor;
};
/** The run stops here and can continue later. The command exits with `error`. */
export const stoppedWith = (error: AppError, outcome: Outcome = 'stopped'): Ending => ({
  outcome,
  message: error.message,
  category: 'stopped',
  error,
});
/** Not an error: the operator requested the hold. */
export const heldWith = (message: Advice, heldFor?: HeldFor): Ending => ({
  outcome: 'held',
  category: 'stopped',
  message,
  ...(heldFor === undefined ? {} : { heldFor }),
});
export const refusedBy = (findings: readonly Finding[]): Ending => {
  const [first, ...rest] = findings;
  const more = rest.length === 0 ? '' : ` (and ${rest.length} more)`;
  const tryThis = [
    ...(first?.hint === undefined ? [] : [first.hint]),
    next(['kv', 'check'], 'shows every finding'),
  ];
  return stoppedWith(
    new AppError('stopped', `${first?.message ?? 'a guard refused'}${more}`, {
      code: 'GUARD',
      tryThis,
      data: findings,
    }),
  );
};
/** Converts the error that stopped the work on a member. The member is unchanged, or a resume finishes it. */
export const stoppedBy = (error: unknown, member: string | undefined): Ending => {
  const isKnown = error instanceof AppError && ['stopped', 'unsafe', 'interrupted'].includes(error.category);
  const stop = stopAfterEffect(error, next(['kv', 'resume']), 'opsctl kv resume');
  const where = isKnown || member === undefined ? '' : `${member}: `;
  return stoppedWith(where === '' ? stop : new AppError('stopped', `${where}${stop.message}`, stop.detail));
};
export const revertedAfter = ({ journal, plan }: Run, member: string, reason: string): Ending => {
  const { ended } = progressOf(journal.entries);
  const others = plan.order.filter((name) => name !== member && ended.has(stepId(name, 'gate')));
  const rest =
    others.length === 0
      ? 'no other member was changed'
      : `${others.join(', ')} ${others.length === 1 ? 'stays' : 'stay'} on ${newWay(plan)}`;
  const message = `${reason}. ${member} runs ${oldWay(plan)} again; ${rest}`;
  return {
    outcome: 'rolled-back',
    message,
    category: 'rolled-back',
    error: new AppError('rolled-back', message, {
      code: 'MEMBER_REVERTED',
      tryThis: [
        ...hintsForReason(reason),
        isKilled(reason)
          ? after(
              `find the cause of the exit of ${member}: dmesg -T | grep -i -e oom -e killed, and the log of its service manager; then`,
              ['kv', 'resume'],
            )
          : after(`find the cause of the failure of ${member} on the new version, then`, ['kv', 'resume']),
        next(['kv', 'rollback'], `, to return every member to ${oldWay(plan)}`),
      ],
    }),
  };
};
export const revertFailed = ({ plan }: Run, member: string, reason: string, cause: unknown): Ending => {
  const why = messageOf(cause);
  const message = `${reason}; its automatic rollback to ${oldWay(plan)} also failed: ${why}`;
  return stoppedWith(
    new AppError('stopped', message, {
      code: 'REVERT_FAILED',
      tryThis: [next(['kv', 'status']), `read the log of ${member}`, next(['kv', 'resume'])],
      cause,
    }),
    'failed',
  );
};
/**
 * After the point of no return only the new version can start, and opsctl starts it again only if the
 * operator resumes.
 */
export const endedAfterCrossing = ({ plan }: Run, member: string, log: string): Ending =>
  stoppedWith(
    new AppError(
      'stopped',
      `${member} passed its health check on ${plan.to}, but its process has exited since${log}. The cluster is ${plan.to}: ${member} can no longer run ${plan.from}`,
      {
        code: 'MEMBER_ENDED',
        tryThis: [
          next(['kv', 'resume'], `, which starts ${plan.to} on ${member} again`),
          next(['kv', 'restore'], ', to rebuild the cluster from a snapshot'),
        ],
      },
    ),
    'failed',
  );

/**
 * Ends a run that the operator gives up: removes its keys in the store and its files on the hosts. Members
 * stay unchanged.
 */

/** State of the downgrade that the run enabled in the store. */
export type DowngradeLeft = 'cancelled' | 'enabled';
/** Refuses to give up a run while a member that it stopped is down: the member would stay down. */
export const refuseWhileDown = (members: readonly MemberStatus[]): void => {
  const away = members.filter(({ is_reachable }) => !is_reachable).map(({ name }) => name);
  if (away.length > 0)
    throw new AppError(
      'unsafe',
      `${away.join(', ')} ${away.length === 1 ? 'is' : 'are'} down: the run cannot be aborted in this state`,
      { code: 'MEMBER_DOWN', tryThis: [next(['kv', 'resume']), next(['kv', 'rollback'])] },
    );
};
/**
 * spec/store#measured-later-9: while one member runs the older version, the downgrade keeps the cluster at
 * that version, so it stays enabled. If all members run the newer version, it only keeps new members out.
 * After the last member, the store ends it automatically. Undefined: no downgrade is enabled. Pure.
 */
export const downgradeLeft = (
  plan: Pick<Plan, 'kind' | 'from' | 'to'>,
  members: readonly MemberStatus[],
): DowngradeLeft | undefined => {
  if (kindOf(plan) !== 'downgrade' || members.every((seen) => minorOf(seen.server_version) === plan.to))
    return undefined;
  if (members.some((seen) => minorOf(seen.server_version) === plan.to)) return 'enabled';
  // A downgrade that was enabled or canceled a moment ago changes the cluster's version some seconds later.
  const isOn = members.some(
    ({ downgrade_to, cluster_version }) => downgrade_to !== undefined || minorOf(cluster_version) === plan.to,
  );
  return isOn ? 'cancelled' : undefined;
};
const leftText = ({ from, to }: Plan, left: DowngradeLeft | undefined): string =>
  ({
    none: '',
    cancelled: `; the downgrade to ${to} was canceled, and the cluster is ${from}`,
    enabled: `; the downgrade to ${to} remains enabled in the cluster, and no new run can continue it: opsctl kv upgrade returns to ${from} and cancels it`,
  })[left ?? 'none'];
type GivenUp = Pick<Run, 'host' | 'cluster' | 'access' | 'driver'> & {
  readonly found: FoundRun;
  readonly plan: Plan;
  readonly members: readonly MemberStatus[];
};
export type GiveUpReport = {
  readonly run: string;
  readonly outcome: 'aborted';
  readonly upgraded: readonly string[];
  readonly downgrade: DowngradeLeft | null;
  readonly message: string;
};
/**
 * Cancels the downgrade before the journal is closed: if this fails, the operator can give up the run again.
 */
export const giveUp = async (given: GivenUp): Promise<GiveUpReport> => {
  const { host, cluster, access, driver, found, plan, members } = given;
  const upgraded = upgradedIn(plan, progressOf(found.entries), { members });
  const left = downgradeLeft(plan, members);
  const journal = await openJournal(host, found.directory);
  try {
    if (left === 'cancelled') {
      journal.write({ kind: 'begin', step: 'cancel-downgrade' });
      await cancelDowngrade(given, plan.from).catch((error: unknown) => {
        throw new AppError('stopped', `run ${found.run} was not aborted: ${messageOf(error)}`, {
          code: 'NOT_CANCELLED',
          tryThis: [next(['kv', 'status']), next(['kv', 'abort']), next(['kv', 'downgrade', '--cancel'])],
        });
      });
      journal.tell({ kind: 'end', step: 'cancel-downgrade' });
    }
    await discardStaged({ driver, cluster }, journal.entries, 'aborted');
    const who = upgraded.length === 0 ? 'no member' : upgraded.join(', ');
    const message = `run ${found.run} aborted; on ${newWay(plan)}: ${who}${leftText(plan, left)}`;
    const stores = members.map(({ client_url }) => access.store(client_url));
    // The keys go before the last line: nothing removes them after a process that was killed behind that line.
    await removeOwnKeys(stores, found.run);
    journal.write({ kind: 'closed', outcome: 'aborted', message });
    // The run is aborted even if its reports cannot be written: kv report then creates them from the journal.
    await rewriteReports(host, found.directory, journal).catch(() => undefined);
    await removeShared({ host, cluster, stores });
    return { run: found.run, outcome: 'aborted', upgraded, downgrade: left ?? null, message };
  } finally {
    journal.close();
  }
};
/**
 * A restore ends the open run of the cluster: its journal describes members and data that no longer exist.
 */
export const endRestoredRun = async (
  host: Run['host'],
  state: string,
  { cluster, to }: { readonly cluster: string; readonly to: string },
): Promise<void> => {
  const found = openRun(await findRuns(host, state, cluster));
  if (found === undefined) return;
  const journal = await openJournal(host, found.directory);
  try {
    const message = `run ${found.run} ended: a restore rebuilt the cluster on ${to}`;
    journal.write({ kind: 'closed', outcome: 'aborted', message });
    await rewriteReports(host, found.directory, journal).catch(() => undefined);
  } finally {
    journal.close();
  }
};
