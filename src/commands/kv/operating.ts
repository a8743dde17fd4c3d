import { AppError, problem } from '../../core/problem.ts';
import { rawResult, recordResult } from '../../core/result.ts';
import type { Result } from '../../core/result.ts';
import { columnsOf } from '../../core/wrap.ts';
import type { Acts, OperationKind, OperationPlan, OperationRefusal } from '../../kv-operations/types.ts';
import type { OperationInput } from '../../kv-operations/perform.ts';
import type { Driver } from '../../kv-upgrade/supervisors/driver.ts';
import type { Observation } from '../../kv-upgrade/types.ts';
import type { Context, Flags } from '../../cli/command.ts';
import { type Opened, driverFor, endpointFlags } from './cluster.ts';
import { runFlags, confirmStart } from './running.ts';
import { confirmFlags } from './window-flags.ts';

export const stepFlags = {
  'confirm-each': {
    ...confirmFlags['confirm-each'],
    summary: 'Ask before each step that changes something; "no" stops there, the same command goes on',
  },
} as const satisfies Flags;
export const operationFlags = {
  ...endpointFlags,
  ...stepFlags,
  canary: runFlags.canary,
} as const satisfies Flags;

/** What differs from one operation to the next. */
export type Asked = {
  readonly operation: OperationKind;
  readonly subject?: string;
  /** Looked at before; `id` names the operation. */
  plan(observation: Observation, id: string): Promise<OperationPlan | OperationRefusal>;
  readonly acts: () => Promise<Acts>;
  readonly question: string;
  readonly hasCanary?: boolean;
  /** Each step that changes something is asked for: at a terminal, unless --yes was given. */
  readonly asksEachStep?: boolean;
  /** As --confirm-each says: also with --yes, and refused where nobody can be asked. */
  readonly confirmsEach?: boolean | undefined;
};

const refusal = ({ refused, findings }: OperationRefusal): AppError => {
  const [first, ...rest] = refused;
  const more = rest.length === 0 ? '' : ` (and ${rest.length} more)`;
  return new AppError(
    'unsafe',
    `refused, nothing was changed: ${first?.message ?? 'a guard refused'}${more}`,
    {
      code: first?.guard.toUpperCase().replaceAll('-', '_') ?? 'REFUSED',
      problems:
        rest.length === 0
          ? []
          : refused.map(({ guard, message, hint }) => problem(guard, 'rule', message, hint)),
      tryThis: first?.hint === undefined ? ['opsctl kv status'] : [first.hint],
      data: { refused, findings },
    },
  );
};

/** An election takes one to two seconds, and more where clocks are slow. */
const [electionMs, lookAgainMs] = [5000, 250];
const planOf = async (
  { host, settings }: Context,
  { cluster, access }: Opened,
  asked: Asked,
  driver: Driver | undefined,
): Promise<{ plan: OperationPlan; isResumed: boolean }> => {
  const [{ observe }, { operationToResume }, { newOperationId }, { isRefused }] = await Promise.all([
    import('../../kv-upgrade/observe/observe.ts'),
    import('../../kv-operations/unfinished.ts'),
    import('../../kv-operations/journal.ts'),
    import('../../kv-operations/plan.ts'),
  ]);
  const left = await operationToResume(host, settings.directories.clusters, cluster, asked);
  if (left !== undefined) return { plan: left, isResumed: true };
  const until = host.elapsed() + electionMs;
  for (;;) {
    const observation = await observe({ host, cluster, access, ...(driver === undefined ? {} : { driver }) });
    const made = await asked.plan(
      observation,
      await newOperationId(host, settings.directories.clusters, cluster.name),
    );
    if (!isRefused(made)) return { plan: made, isResumed: false };
    // While a leader is elected every member looks sick: that passes.
    if (observation.leader !== undefined || host.elapsed() >= until) throw refusal(made);
    await host.sleep(lookAgainMs);
  }
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
  const { plan, isResumed } = await planOf(context, opened, asked, driver);
  const [{ operationText, reportText, membersLine }, { performOperation }] = await Promise.all([
    import('../../kv-operations/text.ts'),
    import('../../kv-operations/perform.ts'),
  ]);
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
    ...{ host, state: settings.directories.clusters, cluster, access, driver, plan },
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
