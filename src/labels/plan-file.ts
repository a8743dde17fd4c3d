import { dirname } from 'node:path';
import type { EngineContext, Prompts } from '../api/context.ts';
import { textFile } from '../api/input.ts';
import { readJsonText } from '../core/json.ts';
import { type Advice, next } from '../core/next.ts';
import { AppError, problem, usageError } from '../core/problem.ts';
import { recordResult, type Result } from '../core/result.ts';
import { misfit } from '../core/shape.ts';
import { shellWord } from '../core/shell.ts';
import { applyFiles, applyPrepared, confirmLosses, prepareFiles, refuseProblems } from './apply.ts';
import { type DesiredLabel, parseDesiredLabels } from './desired.ts';
import { digestOf } from './lock-entries.ts';
import {
  changeRows,
  entriesWithoutDefinition,
  outcomesText,
  plansText,
  planText,
  refuseLost,
} from './outcome.ts';
import { isIdle } from './plan.ts';
import { changesPermissions, openSession, type Options, prepareAll, type PlannedLabel } from './prepare.ts';
import { absolute } from './read-files.ts';
import { isPlain } from './read-values.ts';

type PlannedDocument = {
  readonly source: string;
  readonly file?: string;
  readonly index: number;
  readonly isOnly: boolean;
  readonly isInDirectory?: boolean;
  readonly value: unknown;
};
/** A reviewed plan: the definitions, and the exact requests for each. */
export type PlanFile = {
  readonly kind: 'opsctl-labels-plan';
  readonly version: 1;
  readonly deployment: string;
  readonly options: Options;
  readonly documents: readonly PlannedDocument[];
  readonly labels: readonly Record<string, unknown>[];
  readonly digest: string;
};
/** The requests for one label, and its pinned revision. */
const sendingOf = ({ plan, permissions }: PlannedLabel): Record<string, unknown> => ({
  action: plan.action,
  title: plan.title,
  id: plan.id ?? null,
  revision: plan.revisionId ?? null,
  create: plan.create ?? null,
  edits: plan.edits,
  copy_mode: plan.copyMode ?? null,
  enabled_apps: plan.enabledApps ?? null,
  transitions: plan.transitions,
  disabled_after_publishing: plan.deferred,
  permissions: permissions?.plan ?? null,
});
const documentOf = ({ document }: DesiredLabel): PlannedDocument => {
  const { source, file, index, isOnly, isInDirectory, value } = document;
  return {
    source,
    ...(file === undefined ? {} : { file }),
    index,
    isOnly,
    ...(isInDirectory === true ? { isInDirectory } : {}),
    value,
  };
};
/** `labels plan`: what an apply would send, without sending it. */
export const planFiles = async (context: EngineContext, files: readonly string[], options: Options) => {
  const { session, prepared, wishes } = await prepareFiles(context, files, options);
  refuseLost(session, prepared);
  refuseProblems(prepared);
  const plan: Omit<PlanFile, 'digest'> = {
    kind: 'opsctl-labels-plan',
    version: 1,
    deployment: session.deployment,
    options,
    documents: wishes.map(documentOf),
    labels: prepared.map((one) => ({ ...sendingOf(one), changes: changeRows(one), notes: one.plan.notes })),
  };
  for (const line of entriesWithoutDefinition(session, prepared)) context.log.info(line);
  const isChange = prepared.some((one) => !isIdle(one.plan) || changesPermissions(one));
  const text = plansText(prepared);
  return { plan: { ...plan, digest: digestOf(plan) }, isChange, text };
};
const shape = {
  deployment: 'text',
  options: { publish: 'flag', prune: 'flag', admin: 'flag' },
  documents: [{ source: 'text' }],
  labels: ['record'],
} as const;
/** The first sentence names the file and the cause, so the problem states the rule. */
const makeBrokenPlanError = (file: string, why: string, line?: number): AppError =>
  usageError(
    `${file} ${why}; no request was sent`,
    [
      {
        ...problem('--plan', 'format', 'must name an unchanged plan'),
        ...(line === undefined ? {} : { file, line }),
      },
    ],
    [`opsctl labels plan -f <files> --out ${shellWord(file)}`],
  );
const readPlan = async (context: EngineContext, file: string): Promise<PlanFile> => {
  if ((await context.host.files.info(absolute(context, file))) === undefined)
    throw makeBrokenPlanError(file, 'does not exist');
  const value = readJsonText(await textFile(context, file, '--plan'), ({ what, line, column, isJson }) => {
    const why = isJson ? 'cannot be used' : 'is not JSON';
    return makeBrokenPlanError(file, `${why}: line ${line}, column ${column}: ${what}`, line);
  });
  if (!isPlain(value) || value.kind !== 'opsctl-labels-plan' || value.version !== 1)
    throw makeBrokenPlanError(file, 'is not a plan of opsctl labels plan');
  const { digest, ...rest } = value;
  if (digest !== digestOf(rest)) throw makeBrokenPlanError(file, 'was changed after it was written');
  if (misfit(rest, shape) !== undefined)
    throw makeBrokenPlanError(file, 'is not a plan of opsctl labels plan');
  return value as PlanFile;
};
/** The command that made a plan, with its files and flags. */
const planAgain = (plan: string, { documents, options }: PlanFile): Advice => {
  const { publish, prune, admin, deployment, values, take } = options;
  const files = documents.map(({ file, isInDirectory }) =>
    file !== undefined && isInDirectory === true ? dirname(file) : (file ?? '-'),
  );
  const words = [
    ...[...new Set(files)].flatMap((file) => ['-f', file]),
    ...(publish ? ['--publish'] : []),
    ...(prune ? ['--prune'] : []),
    ...(admin ? ['--admin'] : []),
    ...(deployment === undefined ? [] : ['--deployment', deployment]),
    ...(values === undefined ? [] : ['--values', values]),
    ...(take === undefined ? [] : ['--take', take]),
    ...['--out', plan],
  ];
  const why = files.includes('-') ? ', with the same text on standard input' : undefined;
  return next(['labels', 'plan', ...words.map(shellWord)], why);
};
const outOfDate = (file: string, plan: PlanFile, changed: readonly PlannedLabel[]): AppError =>
  new AppError(
    'unsafe',
    `${file} is outdated: ${changed.map(({ wanted }) => wanted.title).join(', ')} changed since the plan was created. No request was sent.\nThe changes would now be:\n${changed.map(planText).join('\n')}`,
    {
      code: 'PLAN_OUT_OF_DATE',
      tryThis: [planAgain(file, plan)],
      data: {
        labels: changed.map(({ wanted, live }) => ({
          title: wanted.title,
          revision: live?.revisionId ?? null,
        })),
      },
    },
  );
/**
 * `labels apply --plan`: sends the reviewed changes or no request. A label that already matches the plan
 * counts as done.
 */
const applyPlan = async (context: EngineContext & Prompts, file: string) => {
  const plan = await readPlan(context, file);
  const wishes = parseDesiredLabels(
    context,
    plan.documents.map((one) => ({ ...one, placeOf: () => ({ line: 1, column: 1 }) })),
  );
  const session = await openSession(context, plan.options, wishes);
  if (session.deployment !== plan.deployment)
    throw new AppError(
      'unsafe',
      `${file} was created for ${plan.deployment}, but this is ${session.deployment}. No request was sent.`,
      {
        code: 'OTHER_DEPLOYMENT',
        tryThis: ['name the service with OPSCTL_LABELS_URL or --profile'],
      },
    );
  const prepared = await prepareAll(session, wishes);
  const changed = prepared.filter((one, i) => {
    const { changes: _, notes: __, ...planned } = plan.labels[i] ?? {};
    const isDone = isIdle(one.plan) && !changesPermissions(one);
    return !isDone && digestOf(sendingOf(one)) !== digestOf(planned);
  });
  if (changed.length > 0) throw outOfDate(file, plan, changed);
  context.log.info(plansText(prepared));
  refuseProblems(prepared);
  await confirmLosses(context, prepared);
  return applyPrepared(session, prepared);
};
export const writePlan = async (context: EngineContext, file: string, plan: PlanFile): Promise<void> => {
  if (!context.isDryRun)
    await context.host.files.replace(absolute(context, file), `${JSON.stringify(plan, undefined, 2)}\n`);
};

type Run = Awaited<ReturnType<typeof applyPrepared>>;
/** From a plan that was written down, or from files. */
export const apply = (
  context: EngineContext & Prompts,
  plan: string | undefined,
  files: readonly string[],
  options: Options,
): Promise<Run> => (plan === undefined ? applyFiles(context, files, options) : applyPlan(context, plan));
export const applyResult = (context: EngineContext, { done, failures }: Run): Result => {
  if (failures[0] && done.length === 0) throw failures[0];
  const text = outcomesText(done, context.isDryRun);
  return recordResult(
    done,
    { text, isProse: true, name: 'name', isReport: true },
    failures.length > 0 ? 'partial' : undefined,
  );
};
