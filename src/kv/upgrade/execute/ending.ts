import { messageOf } from '../../../core/error-message.ts';
import { AppError } from '../../../core/problem.ts';
import type { Category } from '../../../core/problem.ts';
import { progressOf } from '../../engine/progress.ts';
import { newWay, oldWay } from '../plan-kind.ts';
import type { Run } from '../run.ts';
import { cureFor } from '../watch/log-lines.ts';
import type { Finding, HeldFor, Outcome } from '../../engine/types.ts';

export type Ending = {
  readonly outcome: Outcome;
  readonly message: string;
  readonly category?: Category;
  readonly error?: AppError;
  /** It held, and not because the plan says so. */
  readonly heldFor?: HeldFor;
};

/** The run ends here and can go on; `error` is what the command exits with. */
export const stoppedWith = (error: AppError, outcome: Outcome = 'stopped'): Ending => ({
  outcome,
  message: error.message,
  category: 'stopped',
  error,
});

/** No error: somebody wanted it. */
export const heldWith = (message: string, heldFor?: HeldFor): Ending => ({
  outcome: 'held',
  category: 'stopped',
  message,
  ...(heldFor === undefined ? {} : { heldFor }),
});

export const refusedBy = (findings: readonly Finding[]): Ending => {
  const [first, ...rest] = findings;
  const more = rest.length === 0 ? '' : ` (and ${rest.length} more)`;
  const tryThis = [...(first?.hint === undefined ? [] : [first.hint]), 'opsctl kv check shows every finding'];
  return stoppedWith(
    new AppError('stopped', `${first?.message ?? 'a guard refused'}${more}`, {
      code: 'GUARD',
      tryThis,
      data: findings,
    }),
  );
};

/** Whatever ended the work on a member that is as it was, or that is brought to its end by a resume. */
export const stoppedBy = (error: unknown, member: string | undefined): Ending => {
  const known =
    error instanceof AppError && ['stopped', 'unsafe', 'interrupted'].includes(error.category)
      ? error
      : undefined;
  const where = member === undefined ? '' : `${member}: `;
  const message = known?.message ?? `${where}${messageOf(error)}`;
  const tryThis = error instanceof AppError ? (error.detail.tryThis ?? []) : [];
  return stoppedWith(
    new AppError('stopped', message, {
      code: (error instanceof AppError ? error.detail.code : undefined) ?? 'STOPPED',
      tryThis: tryThis.some((text) => text.includes('opsctl kv resume'))
        ? tryThis
        : [...tryThis, 'opsctl kv resume'],
      cause: error,
    }),
  );
};

export const revertedAfter = ({ journal, plan }: Run, member: string, reason: string): Ending => {
  const { ended } = progressOf(journal.entries);
  const others = plan.order.filter((name) => name !== member && ended.has(`${name}.gate`));
  const rest =
    others.length === 0
      ? 'nothing else was touched'
      : `${others.join(', ')} ${others.length === 1 ? 'stays' : 'stay'} on ${newWay(plan)}`;
  const message = `${reason}. ${member} runs ${oldWay(plan)} again; ${rest}`;
  return {
    outcome: 'rolled-back',
    message,
    category: 'rolled-back',
    error: new AppError('rolled-back', message, {
      code: 'MEMBER_REVERTED',
      tryThis: [
        ...cureFor(reason),
        `fix the new version of ${member}, then opsctl kv resume`,
        `opsctl kv rollback, to bring every member back to ${oldWay(plan)}`,
      ],
    }),
  };
};

export const revertFailed = ({ plan }: Run, member: string, reason: string, cause: unknown): Ending => {
  const why = messageOf(cause);
  const message = `${reason}; its automatic rollback to ${oldWay(plan)} failed too: ${why}`;
  return stoppedWith(
    new AppError('stopped', message, {
      code: 'REVERT_FAILED',
      tryThis: ['opsctl kv status', `read the log of ${member}`, 'opsctl kv resume'],
      cause,
    }),
    'failed',
  );
};

/** Past the point of no return only the new version can be started, and that once more only when the operator says so. */
export const endedAfterCrossing = ({ plan }: Run, member: string, log: string): Ending =>
  stoppedWith(
    new AppError(
      'stopped',
      `${member} passed its health check on ${plan.to}, and its process has ended since${log}. The cluster is ${plan.to}: ${member} cannot run ${plan.from} any more`,
      {
        code: 'MEMBER_ENDED',
        tryThis: [
          `opsctl kv resume, which starts ${plan.to} on ${member} again`,
          'opsctl kv restore, to rebuild the cluster from a snapshot',
        ],
      },
    ),
    'failed',
  );
