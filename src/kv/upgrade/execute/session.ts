import { type Advice, after, next, adviceText } from '../../../core/next.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { AppError, writeFailureReason } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import { removeOwnKeys, type Store } from '../../client/etcd-client.ts';
import type { Access } from '../../engine/access.ts';
import { findRuns, type Journal, openJournal, runDirectory } from '../../engine/journal.ts';
import { type Lock, ownerOf, takeLocks } from '../../engine/locks.ts';
import type {
  CanaryReport,
  ClusterFile,
  Observation,
  Outcome,
  Plan,
  Report,
  Sink,
  Unstamped,
  UpgradeEvent,
} from '../../engine/model.ts';
import { type Shared, progressOf, refuseNewRun, shareProgress } from '../../engine/progress.ts';
import { watchMembers } from '../observe/member-watch.ts';
import { observe } from '../observe/observe.ts';
import { discardStaged } from '../placement.ts';
import { crosses, kindOf } from '../plan-kind.ts';
import { writeCounter } from '../present/run-model.ts';
import { joinRuns, partsBefore, reportFrom, writeReports } from '../present/report.ts';
import { detailText } from '../present/text.ts';
import { lockLost, type Run, RunState } from '../run.ts';
import type { Driver } from '../supervisors/driver.ts';
import { paceOf, startCanary, watchLeader } from '../watch/canary.ts';
import { watchLogs } from '../watch/log-lines.ts';
import type { Window } from '../window/window.ts';
import type { Confirmation } from './before-member.ts';
import type { Ending } from './ending.ts';
import { execute } from './loop.ts';
import { storedMarks } from './member.ts';
import { runLocked } from '../../engine/steps.ts';

const mostEvents = 200_000;
export type Recorder = {
  readonly events: UpgradeEvent[];
  readonly startedAt: string;
  readonly startedMs: number;
  emit(event: Unstamped): void;
  /** The writes of the canary so far. */
  canary(): CanaryReport | undefined;
};
export const recorder = (host: Host, sink: Sink): Recorder => {
  const [events, startedMs] = [[] as UpgradeEvent[], host.elapsed()];
  const writes = writeCounter();
  let leader: string | undefined;
  return {
    events,
    startedAt: new Date(host.now()).toISOString(),
    startedMs,
    emit: (event) => {
      // The transfer and the watch of the leader report the same change.
      if (event.event === 'leader-changed' && event.to === leader) return;
      if (event.event === 'leader-changed') leader = event.to;
      const stamped = {
        ...event,
        at: new Date(host.now()).toISOString(),
        elapsed_ms: Math.round(host.elapsed() - startedMs),
      } as UpgradeEvent;
      writes.take(event, stamped.elapsed_ms);
      // The report draws every write, but hours of waiting must not fill the memory with them.
      if (event.event !== 'canary' || !event.ok || events.length < mostEvents) events.push(stamped);
      sink(stamped);
    },
    canary: writes.report,
  };
};

export type SessionInput = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly clusterFile: string;
  readonly access: Access;
  readonly driver: Driver;
  /** Directory with the state of all clusters. */
  readonly state: string;
  readonly plan: Plan;
  readonly run: string;
  readonly action: 'upgrade' | 'resume' | 'rollback';
  readonly sink: Sink;
  readonly signal: AbortSignal;
  readonly confirmCrossing: Confirmation;
  readonly hasCanary: boolean;
  /** Number of test writes per second while a member is replaced. */
  readonly canaryRate?: number | undefined;
  readonly canKill: boolean;
  readonly window?: Window | undefined;
  /** The loop to run (default: an upgrade). */
  readonly loop?: (run: Run, confirmed: Confirmation) => Promise<Ending>;
};
const open = async (input: SessionInput): Promise<Journal> => {
  const { host, state, plan, run, clusterFile } = input;
  const journal = await openJournal(host, runDirectory(state, plan.cluster, run));
  const owner = ownerOf(host);
  if (journal.entries.length === 0)
    journal.write({
      kind: 'opened',
      run,
      action: input.action === 'rollback' ? 'rollback' : 'upgrade',
      plan,
      owner,
      cluster_file: clusterFile,
    });
  else
    journal.write({
      kind: 'resumed',
      owner,
      action: input.action === 'rollback' ? 'rollback' : 'upgrade',
      ...(input.action === 'resume'
        ? { holds: { hold_last: plan.options.hold_last, hold_after: plan.options.hold_after } }
        : {}),
    });
  return journal;
};
/** Acquires both locks. A run that must finish a member continues without the lock in the store. */
const takeBothLocks = (input: SessionInput, emit: Recorder['emit'], lost: AbortController): Promise<Lock> =>
  takeLocks({
    ...input,
    warn: input.action === 'upgrade' ? undefined : (text) => emit({ event: 'note', level: 'warn', text }),
    onLost: (error) => lost.abort(lockLost(error)),
  });
/**
 * If two runs were planned at the same time, the second run finds the unfinished journal of the first run
 * here.
 */
export const refuseUnfinished = async ({
  host,
  state,
  cluster,
  plan,
  run,
  action,
}: SessionInput): Promise<void> => {
  if (action !== 'upgrade') return;
  const [newest] = await findRuns(host, state, cluster.name);
  if (newest?.run !== run) refuseNewRun(newest, plan.observation);
};
/**
 * Before the first step no changes were made, even if a write to the disk failed. Other errors stay
 * unchanged.
 */
export const throwNotStarted = (error: unknown): never => {
  const { message, code } = error as Error & { code?: unknown };
  const isDisk =
    error instanceof AppError ? error.detail.code === 'JOURNAL_UNWRITABLE' : typeof code === 'string';
  if (!isDisk) throw error;
  const tryThis = ['free space there or correct its permissions, or set OPSCTL_HOME to another directory'];
  throw new AppError('unsafe', `no changes were made: ${message}`, {
    code: 'DISK',
    tryThis,
    cause: error,
  });
};
/** Shows the user of a resume the earlier results and the current state of the members. */
const emitBefore = async (
  { host, cluster, access, plan }: SessionInput,
  journal: Journal,
  emit: Recorder['emit'],
): Promise<void> => {
  const { ended } = progressOf(journal.entries);
  for (const step of plan.steps) {
    const entry = journal.entries.findLast((one) => one.kind === 'end' && one.step === step.id);
    if (ended.has(step.id) && entry?.kind === 'end')
      emit({
        event: 'step-finished',
        step,
        duration_ms: 0,
        detail: detailText(entry.detail),
        was_done_before: true,
      });
  }
  const observation = await observe({ host, cluster, access }).catch(() => undefined);
  if (observation !== undefined) emit({ event: 'observed', observation });
};
const holding = (lock: Lock) => (): Promise<void> =>
  lock.hold().catch((error: unknown) => {
    throw error instanceof AppError ? lockLost(error) : error;
  });
/** Shares each line as soon as this journal contains it. */
const sharedJournal = (journal: Journal, shared: Shared): Journal => ({
  ...journal,
  write: (entry) => {
    journal.write(entry);
    shared.touch();
  },
  tell: (entry, forced) => {
    journal.tell(entry, forced);
    shared.touch();
  },
});
const stopText = after(
  'stopping: opsctl first finishes the member that is down, if any. Another Ctrl-C exits immediately and leaves that member as it is; then',
  ['kv', 'resume'],
);
/** Aborted when the operator asks for a stop, or when the lock is lost. */
const stopSignal = (input: SessionInput, lost: AbortController, emit: Recorder['emit']): AbortSignal => {
  const signal = AbortSignal.any([input.signal, lost.signal]);
  signal.addEventListener('abort', () => emit({ event: 'note', level: 'warn', text: adviceText(stopText) }), {
    once: true,
  });
  return signal;
};
export type OpenRun = {
  readonly run: Run;
  readonly stores: readonly Store[];
  readonly shared: Shared;
};
/** The run with its journal, its shared progress and its watch over members. The run holds both locks. */
export const openRun = async (
  input: SessionInput,
  { emit }: Recorder,
  lost: AbortController,
  lock: Lock,
): Promise<OpenRun> => {
  const { host, cluster, access, driver, state, plan, run, action, canKill } = input;
  const written = await open(input).catch(throwNotStarted);
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  const shared = shareProgress({ host, cluster, stores, run, entries: written.entries });
  const journal = sharedJournal(written, shared);
  shared.touch();
  emit({ event: 'run-started', run, action, plan, journal: journal.path });
  if (action !== 'upgrade') await emitBefore(input, journal, emit);
  const parts = { host, cluster, plan, driver, access, canKill, window: input.window };
  return {
    stores,
    shared,
    run: {
      ...parts,
      isResume: action === 'resume',
      state: new RunState({ areGuardsPending: action === 'resume', logMarks: storedMarks(journal.entries) }),
      id: run,
      directory: runDirectory(state, cluster.name, run),
      journal,
      signal: stopSignal(input, lost, emit),
      holdLock: holding(lock),
      shareProgress: shared.flush,
      emit,
      members: watchMembers(parts),
    },
  };
};

type Where = {
  readonly outcome: Outcome;
  readonly plan: Pick<Plan, 'from' | 'to' | 'kind'>;
  readonly isRollback: boolean;
  readonly after?: Pick<Observation, 'members'> | undefined;
};
/**
 * Commands that can follow the end of a run, the best first. After a hold the next command depends on the
 * reason of the hold. Pure.
 */
export const nextSteps = ({ outcome, plan, isRollback, after }: Where): Advice[] => {
  if (outcome === 'done' && crosses(plan))
    return [next(['kv', 'advance'], 'updates the cluster file for restarts and the next upgrade')];
  if (outcome === 'done' || outcome === 'aborted' || outcome === 'refused') return [];
  if (outcome === 'rolled-back' && isRollback) return [next(['kv', kindOf(plan)])];
  const hasMoved =
    crosses(plan) &&
    after?.members.some(({ cluster_version }) => minorOf(cluster_version) === plan.to) === true;
  return [next(['kv', 'resume']), hasMoved ? next(['kv', 'restore']) : next(['kv', 'rollback'])];
};

/** A failed write of the report must not hide the completed work. */
const writtenDown = async (
  { host, directory, journal, emit }: Run,
  report: Report,
  events: readonly UpgradeEvent[],
): Promise<void> => {
  const unwritten = await writeReports(host, directory, report, events).then(
    () => journal.failure()?.message,
    (error: unknown) => `cannot write the report in ${directory}: ${writeFailureReason(error)}`,
  );
  if (unwritten !== undefined) emit({ event: 'note', level: 'warn', text: unwritten });
};
/** Creates the report of the whole run, including its earlier parts. It is written next to the journal. */
const reportRun = async (
  action: SessionInput['action'],
  run: Run,
  { events, canary }: Recorder,
  { outcome, message }: Ending,
): Promise<Report> => {
  const { host, cluster, access, plan, directory, journal } = run;
  const after = await observe({ host, cluster, access }).catch(() => undefined);
  const before = await partsBefore(host, directory, journal.entries, journal.path);
  const whole = joinRuns(before, { events, canary: canary() });
  const report = reportFrom({
    run: run.id,
    plan,
    owner: ownerOf(host),
    ...whole,
    entries: journal.entries,
    after,
    outcome,
    message: adviceText(message),
    journal: journal.path,
    next: nextSteps({ outcome, plan, isRollback: action === 'rollback', after }),
  });
  await writtenDown(run, report, whole.events);
  return report;
};

export type SessionResult = { readonly ending: Ending; readonly report: Report };
/** Performs the run and returns its ending. Its journal is open and the run holds both locks. */
const perform = async (input: SessionInput, parts: Run): Promise<Ending> => {
  const { host, cluster, access, run } = input;
  const canary = input.hasCanary
    ? startCanary(host, cluster, access, run, parts.emit, paceOf(parts.state.replacing, input.canaryRate))
    : undefined;
  const leader = watchLeader(parts);
  const logs = await watchLogs(parts);
  const ending = await (input.loop ?? execute)(parts, input.confirmCrossing);
  await Promise.all([canary?.stop(), logs.finish(), leader.finish(), parts.members.finish()]);
  return ending;
};
/** Removes data that only an unfinished run needs, and writes the last line of the journal. */
const closeJournal = async (
  { run, stores, shared }: OpenRun,
  { outcome, message, heldFor }: Ending,
  action: SessionInput['action'],
): Promise<void> => {
  // The keys are removed before the last line: if the process is killed before that line, the next resume
  // removes them.
  await removeOwnKeys(stores, run.id);
  const isOver = outcome === 'done' || (outcome === 'rolled-back' && action === 'rollback');
  if (isOver) await shared.end(true);
  await discardStaged(run, run.journal.entries, outcome);
  run.journal.tell({
    kind: 'closed',
    outcome,
    message: adviceText(message),
    ...(heldFor === undefined ? {} : { held_for: heldFor }),
  });
  if (!isOver) await shared.end(false);
};
/**
 * Performs one run under its locks, with its journal, canary and report: a first run, a resume or a rollback.
 */
export const runSession = (input: SessionInput): Promise<SessionResult> => {
  const { host, sink, action } = input;
  const recorded = recorder(host, sink);
  return runLocked({
    takeLocks: (lost) => takeBothLocks(input, recorded.emit, lost).catch(throwNotStarted),
    refuseOthers: () => refuseUnfinished(input),
    open: (lock, lost) => openRun(input, recorded, lost, lock),
    perform: ({ run }) => perform(input, run),
    conclude: async (opened, ending) => {
      await closeJournal(opened, ending, action);
      const report = await reportRun(action, opened.run, recorded, ending);
      const { outcome, message } = ending;
      recorded.emit({ event: 'run-finished', outcome, message: adviceText(message), report });
      opened.run.journal.close();
      return { ending, report };
    },
  });
};
