import type { Context } from '../../cli/command.ts';
import { AppError } from '../../core/problem.ts';
import { rawResult, recordResult, type Result } from '../../core/result.ts';
import { columnsOf } from '../../core/wrap.ts';
import type { OperationInput } from '../../kv/operations/perform.ts';
import type { Planning } from '../../kv/operations/plan-now.ts';
import type { Acts } from '../../kv/operations/types.ts';
import { confirmStart } from './confirm-start.ts';
import { driverFor } from './driver-for.ts';
import type { Opened } from './open-cluster.ts';

/** What differs from one operation to the next. */
export type Asked = Planning & {
  readonly acts: () => Promise<Acts>;
  readonly question: string;
  readonly hasCanary?: boolean;
  /** Each step that changes something is asked for: at a terminal, unless --yes was given. */
  readonly asksEachStep?: boolean;
  /** As --confirm-each says: also with --yes, and refused where nobody can be asked. */
  readonly confirmsEach?: boolean | undefined;
};

const sayTo =
  ({ log, host }: Context): OperationInput['say'] =>
  (text, level = 'info') =>
    level === 'warn'
      ? log.warn(text)
      : log.info(`${new Date(host.now()).toISOString().slice(11, 19)}Z ${text}`);

/** Looks, plans, shows, asks, and carries out; or goes on with what was interrupted. */
export const operated = async (context: Context, opened: Opened, asked: Asked): Promise<Result> => {
  const { host, settings, log, isFormatGiven } = context;
  const { cluster, access, file } = opened;
  const driver = file === undefined ? undefined : await driverFor(context, cluster);
  const [{ planNow }, { operationText, reportText, membersLine }, { performOperation }] = await Promise.all([
    import('../../kv/operations/plan-now.ts'),
    import('../../kv/operations/text.ts'),
    import('../../kv/operations/perform.ts'),
  ]);
  const place = { host, state: settings.directories.clusters, cluster, access, driver };
  const { plan, isResumed } = await planNow(place, asked);
  const text = operationText(plan, columnsOf(host.terminal.stderr));
  if (context.isDryRun) return recordResult(plan, { text, namesCommands: true });
  if (plan.steps.length === 0)
    return recordResult(plan, { text: plan.notes.join('\n'), namesCommands: true });
  log.info(text);
  if (isResumed) log.info(`this operation was begun at ${plan.made_at} and is not finished: it goes on`);
  await confirmStart(context, cluster.name, asked.question, { 'confirm-each': asked.confirmsEach });
  const asksEach =
    asked.confirmsEach === true ||
    (asked.asksEachStep === true && context.isInteractive && !context.isConfirmed);
  const { report, error } = await performOperation({
    ...{ ...place, plan },
    acts: await asked.acts(),
    signal: context.signal,
    hasCanary: asked.hasCanary ?? false,
    ...(asksEach ? { confirmStep: (title) => host.terminal.prompts.confirm(`${title}?`, false) } : {}),
    say: sayTo(context),
  });
  if (error !== undefined) {
    log.info(`members: ${membersLine(report.members)}`);
    const data = { members: report.members, next: report.next, journal: report.journal };
    throw new AppError(error.category, error.message, { ...error.detail, data });
  }
  if (isFormatGiven !== true && !host.terminal.stdout.isTty)
    return { ...rawResult(`${reportText(report)}\n`), view: { namesCommands: true } };
  return recordResult(report, { text: reportText(report), name: 'run', namesCommands: true });
};
