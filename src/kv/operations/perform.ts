import { type Advice, next, nextFromLine } from '../../core/next.ts';
import { type Minor, minorOf } from '../../api-specs/etcd/versions.ts';
import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { removeOwnKeys } from '../client/etcd-client.ts';
import type { Access } from '../engine/access.ts';
import { findRuns, heldRunError, unfinishedError } from '../engine/journal.ts';
import { type Lock, ownerOf, takeLocks } from '../engine/locks.ts';
import type { CanaryReport, ClusterFile, Unstamped } from '../engine/model.ts';
import { type ClusterState, holderOf, isHoldOver } from '../engine/progress.ts';
import { observe } from '../upgrade/observe/observe.ts';
import { lineOf } from '../upgrade/present/live.ts';
import { activeMs } from '../upgrade/present/journal-events.ts';
import { memberState, writeCounter } from '../upgrade/present/run-model.ts';
import type { Driver } from '../upgrade/supervisors/driver.ts';
import { paceOf, startCanary } from '../upgrade/watch/canary.ts';
import {
  type OperationStepHandler,
  type OperationStepHandlers,
  endedSteps,
  keptCopies,
  openOperationJournal,
  type Operation,
  type OperationEnding,
  type OperationKind,
  type OperationPlan,
  type OperationReport,
  type OperationStepKind,
  type OperationStep,
} from './journal.ts';
import { worksUnderAlarm } from './plan.ts';
import { performInOrder, recordEnd, runLocked, type StepTraits, stopAfterEffect } from '../engine/steps.ts';

/** Operations that repair a member or free space. A held run may need them. */
const repairs: ReadonlySet<OperationKind> = new Set(['replace-member', 'recover-space']);
/**
 * Refuses every operation during a crashed or running upgrade. During a held run, whose members run two
 * versions, it allows only repairs. `seen`: the members, which may show that the held run is over.
 */
export const refuseDuringUpgrade = async (
  host: Host,
  state: string,
  cluster: string,
  operation: OperationKind,
  seen: ClusterState,
): Promise<void> => {
  const [newest] = await findRuns(host, state, cluster);
  if (newest === undefined) return;
  if (newest.entries.at(-1)?.kind !== 'closed') throw unfinishedError(newest);
  const by = holderOf(newest.entries);
  if (by === undefined || repairs.has(operation) || isHoldOver(newest.entries, seen)) return;
  throw heldRunError(newest, by);
};

const impossible = async (): Promise<never> => {
  throw new AppError('config', 'without a cluster file, opsctl cannot manage the processes of the members', {
    code: 'NO_DRIVER',
    tryThis: ['--cluster FILE', next(['kv', 'init'], 'writes a cluster file')],
  });
};
/** Driver for a cluster with only known endpoints. It cannot inspect or change the members' hosts. */
const noDriver: Driver = {
  kind: 'local',
  facts: async () => ({}),
  process: async () => ({ state: 'unknown', reason: 'opsctl knows only its endpoint' }),
  stop: impossible,
  kill: impossible,
  stage: impossible,
  activate: impossible,
  discard: impossible,
  start: impossible,
  copyData: impossible,
  readFile: impossible,
  writeFile: impossible,
  logTail: async () => [],
  describe: () => [],
};

export type OperationInput = {
  readonly host: Host;
  /** Directory of all clusters. */
  readonly state: string;
  readonly cluster: ClusterFile;
  readonly access: Access;
  /** Absent if only endpoints are known. Then the operation does not inspect the members' hosts. */
  readonly driver?: Driver | undefined;
  readonly plan: OperationPlan;
  readonly acts: OperationStepHandlers;
  readonly signal: AbortSignal;
  readonly hasCanary: boolean;
  /** Asks the operator before each changing step. False stops the operation. */
  readonly confirmStep?: ((title: string) => Promise<boolean>) | undefined;
  say(text: string, level?: 'info' | 'warn'): void;
};
const openOperation = async (
  input: OperationInput,
  lock: Lock,
  lost: AbortController,
): Promise<Operation> => {
  const { host, state, cluster, access, plan, driver = noDriver, say } = input;
  const journal = await openOperationJournal(host, state, plan);
  const owner = ownerOf(host);
  if (journal.entries.length === 0) journal.write({ kind: 'opened', run: plan.id, plan, owner });
  else journal.write({ kind: 'resumed', owner });
  const emit = (event: Unstamped): void => {
    const line = lineOf({ ...event, at: '', elapsed_ms: 0 } as Parameters<typeof lineOf>[0]);
    if (line !== undefined) say(line.trim(), event.event === 'note' ? event.level : 'info');
  };
  const now = minorOf(plan.observation.cluster_version) ?? (plan.observation.lowest as Minor);
  const { observation, operation, steps } = plan;
  const seen = { observation, operation, steps, to: plan.values.to ?? now };
  return {
    host,
    plan,
    cluster,
    checking: {
      ...{ id: plan.id, host, cluster, driver, access, emit, plan: seen },
      journal: { entries: [] },
    },
    hasDriver: input.driver !== undefined,
    journal,
    signal: AbortSignal.any([input.signal, lost.signal]),
    busy: new Map(),
    holdLock: lock.hold,
    say,
  };
};
const makeStoppedError = (message: string, code: string, tryThis: readonly Advice[] = []): AppError =>
  new AppError('stopped', message, { code, tryThis });
/** An operation may stop between two steps, and the same command continues it. */
const between = { mayAbort: true, isDownTime: false, onFailure: 'stop' } as const;
/**
 * `isChange`: `--confirm-each` asks the operator before the step. `Acts` defines the effects of each
 * operation.
 */
const stepTraits: Readonly<Record<OperationStepKind, StepTraits & { readonly isChange: boolean }>> = {
  'move-leader': { ...between, isChange: true },
  defrag: { ...between, isChange: true },
  check: { ...between, isChange: false },
  wait: { ...between, isChange: false },
  compact: { ...between, isChange: true },
  disarm: { ...between, isChange: true },
  'verify-write': { ...between, isChange: false },
  stop: { ...between, isChange: true },
  remove: { ...between, isChange: true },
  'set-aside': { ...between, isChange: true },
  add: { ...between, isChange: true },
  start: { ...between, isChange: true },
  'catch-up': { ...between, isChange: false },
  promote: { ...between, isChange: true },
  update: { ...between, isChange: true },
  'copy-data': { ...between, isChange: true },
  configure: { ...between, isChange: true },
  'verify-stopped': { ...between, isChange: false },
  'verify-version': { ...between, isChange: false },
};
const performStep = async (
  operation: Operation,
  step: OperationStep,
  act: OperationStepHandler,
): Promise<void> => {
  const { journal, plan, say } = operation;
  say(`[${plan.steps.indexOf(step) + 1}/${plan.steps.length}] ${step.title}`);
  journal.write({ kind: 'begin', step: step.id });
  await recordEnd(journal, step.id, () => act(operation, step));
};
/** Performs every step that did not finish before a crash. */
const performAll = async (operation: Operation, { acts, confirmStep }: OperationInput): Promise<void> => {
  const { plan, signal, journal } = operation;
  const ended = endedSteps(journal.entries);
  const left = plan.steps.filter(({ id }) => !ended.has(id));
  await performInOrder(left, {
    rowOf: ({ kind }) => stepTraits[kind],
    signal,
    stopReason: ({ title }) =>
      signal.reason instanceof AppError && signal.reason.detail.code === 'LOCKED'
        ? signal.reason
        : makeStoppedError(`stopped before this step, as requested: ${title}`, 'STOPPED'),
    perform: async (step, { isChange }) => {
      if (isChange && confirmStep !== undefined && !(await confirmStep(step.title)))
        throw makeStoppedError(
          `stopped before this step, because it was not confirmed: ${step.title}`,
          'NOT_CONFIRMED',
        );
      await performStep(operation, step, acts[step.kind] as OperationStepHandler);
    },
  });
};
const membersNow = async ({ checking, cluster, host }: Operation): Promise<OperationReport['members']> => {
  const { members } = await observe({ host, cluster, access: checking.access });
  return members.map((member) => ({
    name: member.name,
    ...(member.server_version === undefined ? {} : { version: member.server_version }),
    state: memberState(member),
    ...(member.db_size_bytes === undefined ? {} : { db_size_bytes: member.db_size_bytes }),
  }));
};
const reportOf = async (
  operation: Operation,
  error: AppError | undefined,
  canary: CanaryReport | undefined,
): Promise<OperationReport> => {
  const { plan, journal } = operation;
  const { entries } = journal;
  const ended = endedSteps(entries);
  const kept = keptCopies({ plan, entries });
  const done = `${plan.operation}${plan.subject === undefined ? '' : ` ${plan.subject}`}: done`;
  return {
    run: plan.id,
    operation: plan.operation,
    cluster: plan.cluster,
    outcome: error === undefined ? 'done' : 'stopped',
    message:
      error?.message ??
      (kept.length === 0 ? done : `${done}; the data before the upgrade is kept: ${kept.join(', ')}`),
    plan_digest: plan.digest,
    duration_ms: activeMs(entries),
    steps: plan.steps.flatMap(({ id, title }) => {
      const end = ended.get(id);
      return end === undefined
        ? []
        : [{ id, title, ...(end.detail === undefined ? {} : { detail: end.detail }) }];
    }),
    members: await membersNow(operation),
    ...(canary === undefined ? {} : { canary }),
    journal: journal.path,
    next: error?.detail.tryThis ?? [next(['kv', 'status'])],
  };
};
/** Performs the steps with the canary and returns the result as a value. */
const performWithCanary = async (operation: Operation, input: OperationInput) => {
  const { host, cluster, access, plan, hasCanary } = input;
  const writes = writeCounter();
  const count = (event: Unstamped): void => writes.take(event, host.elapsed());
  const canary = hasCanary
    ? startCanary(host, cluster, access, plan.id, count, paceOf(operation.busy))
    : undefined;
  const error = await performAll(operation, input).then(
    () => undefined,
    (cause: unknown) => stopAfterEffect(cause, nextFromLine(plan.command)),
  );
  await canary?.stop();
  return { error, wrote: writes.report() };
};
/** Performs a confirmed operation from its first open step to its end. */
export const performOperation = (input: OperationInput): Promise<OperationEnding> => {
  const { host, state, cluster, access, plan, say } = input;
  const hasNoStore = worksUnderAlarm(plan) || plan.operation === 'upgrade-offline';
  const warn = hasNoStore ? (text: string) => say(text, 'warn') : undefined;
  return runLocked({
    takeLocks: (lost) => {
      const onLost = (error: AppError): void => lost.abort(error);
      return takeLocks({ host, state, cluster, access, run: plan.id, warn, onLost });
    },
    refuseOthers: () => refuseDuringUpgrade(host, state, cluster.name, plan.operation, plan.observation),
    open: (lock, lost) => openOperation(input, lock, lost),
    perform: (operation) => performWithCanary(operation, input),
    conclude: async (operation, { error, wrote }) => {
      const stores = cluster.members.map(({ client_url }) => access.store(client_url));
      await removeOwnKeys(stores, plan.id);
      const outcome = error === undefined ? 'done' : 'stopped';
      operation.journal.tell({ kind: 'closed', outcome, message: error?.message ?? '' });
      const report = await reportOf(operation, error, wrote);
      operation.journal.close();
      return error === undefined ? { report } : { report, error };
    },
  });
};
