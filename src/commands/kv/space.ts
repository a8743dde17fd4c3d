import { next } from '../../core/next.ts';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { int, oneOf, str } from '../../core/field.ts';
import type { Flags } from '../../core/flag.ts';
import { AppError, awaitAll, problem, type Problem } from '../../core/problem.ts';
import { rawResult, recordResult, type Result, rowsResult } from '../../core/result.ts';
import { countText, columnsOf } from '../../core/format.ts';
import { hexId } from '../../kv/client/messages.ts';
import type { OperationPlan, OperationStepHandlers } from '../../kv/operations/journal.ts';
import type { OperationInput } from '../../kv/operations/perform.ts';
import type { Planning } from '../../kv/operations/plan.ts';
import { endpointFlags, operationFlags } from './flags.ts';
import { askAny, driverFor, openCluster, type Opened } from './prepare.ts';
import { confirmStart } from './run.ts';

/** The differences between the operations. */
export type SpaceInput = Planning & {
  readonly acts: () => Promise<OperationStepHandlers>;
  readonly question: string | ((plan: OperationPlan) => string);
  readonly hasCanary?: boolean;
  /** Confirms each step that makes changes: on a terminal, unless --yes was given. */
  readonly asksEachStep?: boolean;
  /** Implements --confirm-each: it prompts even with --yes, and fails without a terminal. */
  readonly confirmsEach?: boolean | undefined;
  /** Replaces the usual confirmation. */
  readonly confirm?: (question: string, isResumed: boolean) => Promise<void>;
};
const sayTo =
  ({ log, host }: Context): OperationInput['say'] =>
  (text, level = 'info') =>
    level === 'warn'
      ? log.warn(text)
      : log.info(`${new Date(host.now()).toISOString().slice(11, 19)}Z ${text}`);
const confirmPlan = async (
  context: Context,
  cluster: string,
  asked: SpaceInput,
  { plan, isResumed }: { readonly plan: OperationPlan; readonly isResumed: boolean },
): Promise<void> => {
  const question = typeof asked.question === 'string' ? asked.question : asked.question(plan);
  if (asked.confirm !== undefined) return asked.confirm(question, isResumed);
  await confirmStart(context, cluster, question, { 'confirm-each': asked.confirmsEach });
};
/** Inspects, plans, shows, confirms and runs the operation, or resumes an interrupted one. */
export const runOperation = async (context: Context, opened: Opened, asked: SpaceInput): Promise<Result> => {
  const { host, settings, log, isFormatGiven } = context;
  const { cluster, access, file } = opened;
  const driver = file === undefined ? undefined : await driverFor(context, cluster);
  const [{ planNow }, { operationText, reportText, membersLine }, { performOperation }] = await Promise.all([
    import('../../kv/operations/plan.ts'),
    import('../../kv/operations/record.ts'),
    import('../../kv/operations/perform.ts'),
  ]);
  const place = { host, state: settings.directories.clusters, cluster, access, driver };
  const { plan, isResumed } = await planNow(place, asked);
  const text = operationText(plan, columnsOf(host.terminal.stderr), context.showAdvice);
  const { planWithHexIds } = await import('../../kv/engine/journal.ts');
  if (context.isDryRun) return recordResult(planWithHexIds(plan), { text });
  if (plan.steps.length === 0) return recordResult(planWithHexIds(plan), { text: plan.notes.join('\n') });
  log.info(text);
  if (isResumed) log.info(`resuming the unfinished operation that started at ${plan.made_at}`);
  await confirmPlan(context, cluster.name, asked, { plan, isResumed });
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
  const next = report.next.map((step) => context.showAdvice(step));
  if (error !== undefined) {
    log.info(`members: ${membersLine(report.members)}`);
    const data = { members: report.members, next, journal: report.journal };
    throw new AppError(error.category, error.advice, { ...error.detail, data });
  }
  if (isFormatGiven !== true && !host.terminal.stdout.isTty)
    return rawResult(`${reportText(report, context.showAdvice)}\n`);
  return recordResult({ ...report, next }, { text: reportText(report, context.showAdvice), name: 'run' });
};

const flags = {
  ...endpointFlags,
  'keep-last': {
    field: int({ min: 1 }),
    summary: 'Keep the newest N revisions, instead of a revision',
    value: 'n',
  },
  'keep-for': {
    field: str(undefined, { min: 1 }),
    summary: 'Compact to the current revision after this delay, instead of a revision',
    value: 'duration',
  },
} as const satisfies Flags;
const requireOneOf = (given: Readonly<Record<string, unknown>>): Problem[] => {
  const names = ['revision', 'keep-last', 'keep-for'].filter((name) => given[name] !== undefined);
  if (names.length === 1) return [];
  const [code, what] =
    names.length === 0
      ? (['required', ', --keep-last or --keep-for is required'] as const)
      : (['exclusive', `cannot be combined with --${names.at(-1)}`] as const);
  return [problem('<revision>', code, what, next(['kv', 'compact', '--keep-last', '10000']))];
};
export const compact = defineCommand({
  path: ['kv', 'compact'],
  summary: 'Compact history up to a revision and wait for the free space',
  about:
    'Keeps the newest value of every key. Afterwards reads and watches that start before the revision fail. The files keep their size; opsctl kv defrag releases the space.',
  args: [
    {
      name: 'revision',
      field: int({ min: 1 }),
      summary: 'Oldest revision that stays readable',
      optional: true,
    },
  ],
  flags,
  check: requireOneOf,
  examples: [
    {
      line: 'opsctl kv compact --keep-last 10000 --cluster cluster.yaml --dry-run',
      says: 'Show which revisions would be removed',
    },
    {
      line: 'opsctl kv compact 120000 --endpoints localhost:2379 --yes',
      says: 'Compact up to a known revision',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const [{ parseDuration }, { compactPlan }] = await Promise.all([
      import('../../core/format.ts'),
      import('../../kv/operations/space.ts'),
    ]);
    const waitMs = values['keep-for'] === undefined ? 0 : parseDuration(values['keep-for'], '--keep-for');
    const { newestAndOldest } = await import('../../kv/client/etcd-client.ts');
    const { oldest, newest } = await askAny(context, opened, newestAndOldest);
    const kept = values['keep-last'];
    const revision = values.revision ?? (kept === undefined ? newest : Math.max(1, newest - kept + 1));
    return runOperation(context, opened, {
      operation: 'compact',
      plan: async (observation, id) => compactPlan(observation, { id, oldest, newest, revision, waitMs }),
      acts: async () => (await import('../../kv/operations/space.ts')).compactActs,
      question: `Remove the history before revision ${revision} of ${opened.cluster.name}?`,
    });
  },
});

const defragFlags = {
  ...operationFlags,
  'max-blocked': {
    field: str(undefined, { min: 1 }),
    summary: 'Maximum time that the clients of one member may wait (default 2m)',
    value: 'duration',
  },
  'min-free': {
    field: int({ min: 0, max: 99 }),
    summary: 'Skip members whose file has less free space than this percentage (default 0)',
    value: 'percent',
  },
} as const satisfies Flags;
export const defrag = defineCommand({
  path: ['kv', 'defrag'],
  summary: 'Defragment the members one at a time, leader last',
  about:
    'A member serves no requests while it is defragmented. Transfers leadership before it defragments the leader. A health check must pass after each member. If interrupted, the same command continues within an hour.',
  flags: defragFlags,
  examples: [
    {
      line: 'opsctl kv defrag --cluster cluster.yaml --dry-run',
      says: 'Show the order and the maximum wait per member',
    },
    {
      line: 'opsctl kv defrag --cluster cluster.yaml --min-free 45 --yes',
      says: 'Defragment only members with 45 % free space or more',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { parseDuration } = await import('../../core/format.ts');
    const options = {
      maxBlockedMs: parseDuration(values['max-blocked'] ?? '2m', '--max-blocked'),
      minFreePercent: values['min-free'] ?? 0,
    };
    return runOperation(context, opened, {
      operation: 'defrag',
      plan: async (observation, id) =>
        (await import('../../kv/operations/defrag.ts')).defragPlan({
          observation,
          cluster: opened.cluster,
          options: { id, ...options },
        }),
      acts: async () => (await import('../../kv/operations/defrag.ts')).defragActs,
      question: `Defragment the members of ${opened.cluster.name}?`,
      hasCanary: values.canary !== false,
      confirmsEach: values['confirm-each'],
    });
  },
});

const recoverSpaceFlags = {
  ...endpointFlags,
  'keep-last': {
    field: int({ min: 1 }),
    summary: 'Revisions of history to keep (default 1000)',
    value: 'n',
  },
  'max-blocked': {
    field: str(undefined, { min: 1 }),
    summary: 'Maximum time that the clients of one member may wait (default 2m)',
    value: 'duration',
  },
} as const satisfies Flags;
const keptRevisions = 1000;
export const recoverSpace = defineCommand({
  path: ['kv', 'recover-space'],
  summary: 'Recover from NOSPACE: compact, defragment, disarm, verify a write',
  about:
    'Use it for a cluster that rejects writes because a member has reached its quota (alarm NOSPACE). Prints every step and, at a terminal, asks for confirmation. A full cluster cannot store a lock, so only operators on this machine are locked out.',
  flags: recoverSpaceFlags,
  examples: [
    {
      line: 'opsctl kv recover-space --cluster cluster.yaml',
      says: 'Recover step by step with confirmations',
    },
    {
      line: 'opsctl kv recover-space --cluster cluster.yaml --keep-last 1 --yes',
      says: 'Recover without keeping history',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const [{ parseDuration }, { recoverPlan }] = await Promise.all([
      import('../../core/format.ts'),
      import('../../kv/operations/space.ts'),
    ]);
    const maxBlockedMs = parseDuration(values['max-blocked'] ?? '2m', '--max-blocked');
    const { newestAndOldest } = await import('../../kv/client/etcd-client.ts');
    const { oldest, newest } = await askAny(context, opened, newestAndOldest);
    const revision = Math.max(1, newest - (values['keep-last'] ?? keptRevisions) + 1);
    return runOperation(context, opened, {
      operation: 'recover-space',
      plan: async (observation, id) =>
        recoverPlan({ id, observation, cluster: opened.cluster, oldest, newest, revision, maxBlockedMs }),
      acts: async () => (await import('../../kv/operations/space.ts')).recoverActs,
      question: `Recover space in ${opened.cluster.name}?`,
      asksEachStep: true,
    });
  },
});

export const alarmDisarm = defineCommand({
  path: ['kv', 'alarm', 'disarm'],
  noDryRun: 'opsctl kv alarm list',
  summary: 'Disarm alarms after fixing their cause',
  flags: {
    ...endpointFlags,
    alarm: {
      field: oneOf('NOSPACE', 'CORRUPT'),
      summary: 'Only alarms of this type',
      value: 'NOSPACE|CORRUPT',
    },
  },
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const alarms = (await askAny(context, opened, (store) => store.alarms())).filter(
      ({ alarm }) => values.alarm === undefined || alarm === values.alarm,
    );
    for (const alarm of alarms) await askAny(context, opened, (store) => store.disarm(alarm));
    const left = await askAny(context, opened, (store) => store.alarms());
    return recordResult(
      { disarmed: alarms.length, still_raised: left.length },
      { message: `disarmed ${countText(alarms.length, 'alarm')}` },
      left.length > 0 && values.alarm === undefined ? 'no' : undefined,
    );
  },
});

export const alarmList = defineCommand({
  path: ['kv', 'alarm', 'list'],
  summary: 'List raised alarms',
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const [alarms, members] = await askAny(context, opened, (store) =>
      awaitAll([store.alarms(), store.members()]),
    );
    const rows = alarms.map(({ member_id, alarm }) => ({
      member_id: hexId(member_id),
      member: members.find(({ id }) => id === member_id)?.name ?? '',
      alarm,
    }));
    return rowsResult(rows, { columns: ['member_id', 'member', 'alarm'], name: 'alarm' });
  },
});
