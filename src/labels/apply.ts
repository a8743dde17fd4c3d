import type { Context } from '../cli/command.ts';
import { AppError } from '../core/problem.ts';
import { type Applied, appliedFrom, outcomesText, planText } from './outcome.ts';
import { type Outcome, recordIntents, recordOutcomes } from './update-lock.ts';
import { isIdle, planFrom } from './plan.ts';
import { prepareAll } from './prepare.ts';
import { type Prepared, changesPermissions, lostOf } from './prepared.ts';
import { refuseLost } from './protect.ts';
import { placed } from './read-files.ts';
import { type Sent, sendPlan } from './send.ts';
import { type Options, type Session, openSession } from './session.ts';
import { takeTheirs } from './take-theirs.ts';
import { type Made, firstOf, removeTwin, twinsOf } from './twins.ts';
import { type Wish, readWishes } from './wishes.ts';

const placedProblems = ({ wish, plan }: Prepared) => placed(wish.document, plan.problems);

export const refuseProblems = (prepared: readonly Prepared[]): void => {
  const problems = prepared.flatMap(placedProblems);
  if (problems.length === 0) return;
  throw new AppError('unsafe', 'the service would refuse this; nothing was sent', {
    code: 'PLAN_REFUSED',
    problems,
  });
};

/** Deleting what was published takes values off items, and removing a permission locks somebody out: both are asked for. */
export const confirmLosses = async (context: Context, prepared: readonly Prepared[]): Promise<void> => {
  if (context.isDryRun) return;
  const gone = prepared.flatMap(({ plan, live }) =>
    live?.state === 'UNPUBLISHED_DRAFT'
      ? []
      : plan.changes.filter((c) => c.kind === 'deleted').map((c) => `${c.what} of ${plan.title}`),
  );
  if (gone.length > 0)
    await context.confirm(
      `Delete ${gone.join(', ')}? Their values disappear from items when it is published.`,
    );
  const losing = prepared.flatMap(({ permissions, plan }) =>
    (permissions?.plan.removed.length ?? 0) > 0
      ? [`${permissions?.plan.removed.length} of ${plan.title}`]
      : [],
  );
  if (losing.length > 0) await context.confirm(`Remove permissions: ${losing.join(', ')}?`);
};

/** What the next label would meet as well: going on would only repeat it. */
const endsRun = ({ category }: AppError): boolean =>
  ['interrupted', 'terminated', 'auth', 'network', 'config', 'rate-limit'].includes(category);

const stoppedBy = (error: AppError, done: readonly Applied[], total: number): AppError =>
  done.length === 0
    ? error
    : new AppError(
        'stopped',
        `stopped after ${done.length} of ${total} labels: ${error.message}\n${outcomesText(done, false)}`,
        {
          code: 'STOPPED',
          tryThis: ['run the same command again: labels that are done send nothing'],
          data: { done: done.map(({ id, title, revision }) => ({ id, title, revision })) },
          cause: error,
        },
      );

type Run = {
  readonly done: Applied[];
  readonly failures: AppError[];
  readonly outcomes: Outcome[];
  readonly made: Made[];
};

const needsNothing = (prepared: Prepared): boolean => isIdle(prepared.plan) && !changesPermissions(prepared);

const applyOne = async (session: Session, prepared: Prepared, run: Run): Promise<void> => {
  if (needsNothing(prepared)) {
    if (prepared.live !== undefined) run.outcomes.push({ prepared, live: prepared.live });
    run.done.push(appliedFrom(prepared, undefined));
    return;
  }
  const sent: Sent = await sendPlan(session, prepared);
  const one = { prepared, live: sent.live };
  run.outcomes.push(one);
  if (sent.isCreated) run.made.push(one);
  run.done.push(appliedFrom(prepared, sent));
};

/** One label after the other; what the service refuses for one does not stop the rest. */
const applyAll = async (session: Session, prepared: readonly Prepared[], run: Run): Promise<void> => {
  for (const one of prepared) {
    try {
      await applyOne(session, one, run);
    } catch (error) {
      if (!(error instanceof AppError) || prepared.length === 1) throw error;
      if (endsRun(error)) throw stoppedBy(error, run.done, prepared.length);
      run.failures.push(error);
      session.context.log.warn(`${one.plan.title}: ${error.message}`);
    }
  }
};

/** Another run made the same labels at the same time: the first of each stays, and gets what the file says. */
const mergeTwins = async (session: Session, run: Run): Promise<void> => {
  for (const twin of await twinsOf(session, run.made)) {
    await removeTwin(session, twin);
    const live = await firstOf(session, twin);
    const { options } = session;
    const plan = { ...planFrom(twin.prepared.wanted, live, options), id: live.id };
    const prepared: Prepared = { ...twin.prepared, live, plan };
    const sent = isIdle(plan) ? undefined : await sendPlan(session, prepared);
    const i = run.outcomes.findIndex((one) => one.live.id === twin.live.id);
    run.outcomes[i] = { prepared, live: sent?.live ?? live };
    const note = `another apply made this label at the same time: labels/${live.id} stays, labels/${twin.live.id} was deleted`;
    const at = run.done.findIndex(({ id }) => id === twin.live.id);
    run.done[at] = appliedFrom(prepared, sent, [note]);
    session.context.log.info(`label ${live.title}: ${note}`);
  }
};

/** Sends what was prepared and writes down what came of it, also when it ends half-way. */
export const applyPrepared = async (session: Session, prepared: readonly Prepared[]) => {
  const run: Run = { done: [], failures: [], outcomes: [], made: [] };
  if (session.context.isDryRun) {
    run.done.push(...prepared.map((one) => appliedFrom(one, undefined)));
    return run;
  }
  await recordIntents(session, prepared);
  try {
    await applyAll(session, prepared, run);
    await mergeTwins(session, run);
  } finally {
    await recordOutcomes(session, run.outcomes);
  }
  return run;
};

export const prepareFiles = async (
  context: Context,
  files: readonly string[],
  options: Options,
): Promise<{ session: Session; prepared: Prepared[]; wishes: Wish[] }> => {
  const wishes = await readWishes(context, files);
  const session = await openSession(context, options, wishes);
  return { session, prepared: await prepareAll(session, wishes), wishes };
};

/** `--take theirs`: the files get what others changed, then they are read again. */
const settled = async (context: Context, files: readonly string[], options: Options) => {
  const first = await prepareFiles(context, files, options);
  const losing = first.prepared.filter((one) => lostOf(one).length > 0);
  if (options.take !== 'theirs' || losing.length === 0) return first;
  await takeTheirs(first.session, losing);
  return context.isDryRun ? first : prepareFiles(context, files, options);
};

/** `labels apply -f`: reads, compares, shows, checks, then sends. */
export const applyFiles = async (context: Context, files: readonly string[], options: Options) => {
  const { session, prepared } = await settled(context, files, options);
  context.log.info(prepared.map(planText).join('\n'));
  if (!(context.isDryRun && options.take === 'theirs')) refuseLost(session, prepared);
  refuseProblems(prepared);
  await confirmLosses(context, prepared);
  return applyPrepared(session, prepared);
};
