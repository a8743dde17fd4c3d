import { columnsOf } from '../../core/wrap.ts';
import type { Plan } from '../../kv/engine/types.ts';
import type { Context } from '../../cli/command.ts';

/** How long members took in the last runs of this cluster here. */
export const earlierMs = async (
  { host, settings }: Pick<Context, 'host' | 'settings'>,
  cluster: string,
): Promise<number[]> => {
  const [{ findRuns }, { memberDurations }] = await Promise.all([
    import('../../kv/engine/journal.ts'),
    import('../../kv/upgrade/window/learned.ts'),
  ]);
  const runs = await findRuns(host, settings.directories.clusters, cluster);
  return runs.slice(0, 5).flatMap(({ entries }) => memberDurations(entries));
};

/** The plan as people read it on this stream, with what members took in earlier runs of this cluster. */
export const shownPlan = async (
  context: Context,
  plan: Plan,
  stream: 'stdout' | 'stderr',
): Promise<string> => {
  const { planText } = await import('../../kv/upgrade/present/text.ts');
  const columns = columnsOf(context.host.terminal[stream]);
  const tookMs = await earlierMs(context, plan.cluster);
  return planText(plan, { columns, isWhole: context.isVerbose === true, tookMs });
};

/** What is read before the question: the whole plan with -v or where it fits, else its summary. Both are seen at once with the question. */
const announcedPlan = async (context: Context, plan: Plan, question: string): Promise<string> => {
  const { rows } = context.host.terminal.stderr;
  const whole = await shownPlan(context, plan, 'stderr');
  // Some terminals do not know their size, and say 0.
  if (context.isVerbose === true || rows === undefined || rows === 0) return whole;
  const { planSummary, questionRows } = await import('../../kv/upgrade/present/plan-summary.ts');
  const columns = columnsOf(context.host.terminal.stderr);
  // An empty line between the plan and the question.
  const room = rows - questionRows(question, columns) - 1;
  if (whole.split('\n').length <= room) return whole;
  return planSummary(plan, { columns, rows: room, tookMs: await earlierMs(context, plan.cluster) });
};

/** Before the question the plan, which has the warnings too; without a question the warnings alone. */
export const announce = async (context: Context, plan: Plan, question: string): Promise<void> => {
  if (context.isInteractive && !context.isConfirmed) {
    context.log.info(`${await announcedPlan(context, plan, question)}\n`);
    return;
  }
  for (const { level, message, hint } of plan.findings)
    if (level === 'warn') context.log.warn(hint === undefined ? message : `${message} → ${hint}`);
};
