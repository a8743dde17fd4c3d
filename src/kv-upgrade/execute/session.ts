import type { Host } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import type { Access } from '../observe/access.ts';
import { paceOf, startCanary } from '../watch/canary.ts';
import type { Driver } from '../supervisors/driver.ts';
import { detailText } from '../format/detail-text.ts';
import { execute } from './execute.ts';
import type { Confirmation } from './crossing.ts';
import type { Ending } from './ending.ts';
import { crashedRun, openJournal, runDirectory, unfinishedError } from '../journal/journal.ts';
import type { Journal } from '../journal/journal.ts';
import { shareProgress } from '../journal/shared-progress.ts';
import type { Shared } from '../journal/shared-progress.ts';
import { ownerOf } from '../locks/lock-holder.ts';
import type { Lock } from '../locks/lock-holder.ts';
import { takeLocks } from '../locks/take-locks.ts';
import { watchLeader } from '../watch/leader-watch.ts';
import { watchLogs } from '../watch/log-watch.ts';
import { watchMembers } from '../observe/member-watch.ts';
import { observe } from '../observe/observe.ts';
import { writeReports } from '../report/write.ts';
import { progressOf } from '../journal/progress.ts';
import { nextSteps } from './next-steps.ts';
import { reportFrom } from '../report/from-events.ts';
import { joined, partsBefore } from '../report/whole-run.ts';
import { removeOwnKeys } from '../../etcd-client/own-keys.ts';
import { discardStaged } from '../placement/discard-staged.ts';
import { lockLost } from '../run.ts';
import type { Run } from '../run.ts';
import type {
  CanaryReport,
  ClusterFile,
  Plan,
  Report,
  Sink,
  SnapshotRecord,
  Unstamped,
  UpgradeEvent,
} from '../types.ts';

export type SessionInput = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly clusterFile: string;
  readonly access: Access;
  readonly driver: Driver;
  /** Directory of all clusters. */
  readonly state: string;
  readonly plan: Plan;
  readonly run: string;
  readonly action: 'upgrade' | 'resume' | 'rollback';
  readonly sink: Sink;
  readonly signal: AbortSignal;
  readonly confirmed: Confirmation;
  readonly hasCanary: boolean;
  /** Test writes a second while a member is replaced. */
  readonly canaryRate?: number | undefined;
  readonly canKill: boolean;
  /** The loop to run (default: an upgrade). */
  readonly loop?: (run: Run, confirmed: Confirmation) => Promise<Ending>;
};
export type SessionResult = { readonly ending: Ending; readonly report: Report };

const mostEvents = 200_000;
type Recorder = { readonly events: UpgradeEvent[]; readonly startedMs: number; emit(event: Unstamped): void };
const recorder = (host: Host, sink: Sink): Recorder => {
  const [events, startedMs] = [[] as UpgradeEvent[], host.elapsed()];
  let leader: string | undefined;
  return {
    events,
    startedMs,
    emit: (event) => {
      // The one who moves the leadership and the one who watches it see the same change.
      if (event.event === 'leader-changed' && event.to === leader) return;
      if (event.event === 'leader-changed') leader = event.to;
      const stamped = {
        ...event,
        at: new Date(host.now()).toISOString(),
        elapsed_ms: Math.round(host.elapsed() - startedMs),
      } as UpgradeEvent;
      // The report draws every write; hours of waiting must not fill the memory with them.
      if (event.event !== 'canary' || !event.ok || events.length < mostEvents) events.push(stamped);
      sink(stamped);
    },
  };
};

const snapshotsOf = (journal: Journal): SnapshotRecord[] =>
  journal.entries.flatMap((entry) => (entry.kind === 'snapshot' ? [entry.snapshot] : []));

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

/** Both locks. A run that has to be brought to its end goes on without the one in the store. */
const locked = (input: SessionInput, emit: Recorder['emit'], lost: AbortController): Promise<Lock> =>
  takeLocks({
    ...input,
    warn: input.action === 'upgrade' ? undefined : (text) => emit({ event: 'note', level: 'warn', text }),
    onLost: (error) => lost.abort(lockLost(error)),
  });

/** Two that planned at the same time: the one that comes second finds here what the first has left behind. */
const refuseUnfinished = async ({ host, state, cluster, run, action }: SessionInput): Promise<void> => {
  if (action !== 'upgrade') return;
  const left = await crashedRun(host, state, cluster.name);
  if (left !== undefined && left.run !== run) throw unfinishedError(left);
};

/** The run itself: what it wrote, saw, and how it ended. Its journal is open and its locks are held. */
const perform = async (
  input: SessionInput,
  parts: Run,
): Promise<{ readonly ending: Ending; readonly wrote: CanaryReport | undefined }> => {
  const { host, cluster, access, run } = input;
  const canary = input.hasCanary
    ? startCanary(host, cluster, access, run, parts.emit, paceOf(parts.replacing, input.canaryRate))
    : undefined;
  const leader = watchLeader(parts);
  const logs = await watchLogs(parts);
  const ending = await (input.loop ?? execute)(parts, input.confirmed);
  const [wrote] = await Promise.all([canary?.stop(), logs.finish(), leader.finish(), parts.members.finish()]);
  return { ending, wrote };
};

/** Before the first step nothing was changed, whatever the disk says. Errors that are none of the disk's stay what they are. */
const unbegun = (error: unknown): never => {
  const { message, code } = error as Error & { code?: unknown };
  const isDisk =
    error instanceof AppError ? error.detail.code === 'JOURNAL_UNWRITABLE' : typeof code === 'string';
  if (!isDisk) throw error;
  const tryThis = ['make room there, or set its permissions right; OPSCTL_HOME names another directory'];
  throw new AppError('unsafe', `refused, nothing was changed: ${message}`, {
    code: 'DISK',
    tryThis,
    cause: error,
  });
};

/** What was done is done: that it could not be written down must not hide it. */
const writtenDown = async (
  { host, directory, journal, emit }: Run,
  report: Report,
  events: readonly UpgradeEvent[],
): Promise<void> => {
  const unwritten = await writeReports(host, directory, report, events).then(
    () => journal.failure()?.message,
    (error: unknown) =>
      `the report in ${directory} could not be written: ${error instanceof Error ? error.message : String(error)}`,
  );
  if (unwritten !== undefined) emit({ event: 'note', level: 'warn', text: unwritten });
};

const stopText =
  'asked to stop: a member that is down is brought to its end first. Another Ctrl-C leaves everything as it is now; then opsctl kv resume';

/** One run under its locks, with its journal, canary and report: a first run, a resume or a rollback. */
/** Who goes on with a run sees what was done before, and how the members are now. */
const tellBefore = async (
  { host, cluster, access, plan }: SessionInput,
  journal: Journal,
  emit: (event: Unstamped) => void,
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

/** Each line is shared as soon as it is written here. */
const sharedJournal = (journal: Journal, shared: Shared): Journal => ({
  ...journal,
  write: (entry) => {
    journal.write(entry);
    shared.touch();
  },
  tell: (entry) => {
    journal.tell(entry);
    shared.touch();
  },
});

export const conduct = async (input: SessionInput): Promise<SessionResult> => {
  const { host, cluster, access, driver, state, plan, run, action, sink } = input;
  const { events, startedMs, emit } = recorder(host, sink);
  const startedAt = new Date(host.now()).toISOString();
  const lost = new AbortController();
  const lock = await locked(input, emit, lost).catch(unbegun);
  try {
    await refuseUnfinished(input);
    const written = await open(input).catch(unbegun);
    const stores = cluster.members.map(({ client_url }) => access.store(client_url));
    const shared = shareProgress({ host, cluster, stores, run, entries: written.entries });
    const journal = sharedJournal(written, shared);
    shared.touch();
    const directory = runDirectory(state, cluster.name, run);
    emit({ event: 'run-started', run, action, plan, journal: journal.path });
    if (action !== 'upgrade') await tellBefore(input, journal, emit);
    const signal = AbortSignal.any([input.signal, lost.signal]);
    signal.addEventListener('abort', () => emit({ event: 'note', level: 'warn', text: stopText }), {
      once: true,
    });
    const common = { host, cluster, plan, driver, access, canKill: input.canKill };
    const parts: Run = {
      ...common,
      id: run,
      directory,
      journal,
      signal,
      holdLock: holding(lock),
      shareProgress: shared.flush,
      emit,
      members: watchMembers(common),
      isResume: action === 'resume',
      once: { areGuardsAsked: action !== 'resume' },
      replacing: new Set(),
      restarted: new Set(),
      logMarks: new Map(),
      downSince: new Map(),
    };
    const { ending, wrote } = await perform(input, parts);
    // Before the last line: whoever is killed in between goes on, and takes the keys away then.
    await removeOwnKeys(stores, run);
    const isOver = ending.outcome === 'done' || (ending.outcome === 'rolled-back' && action === 'rollback');
    if (isOver) await shared.end(true);
    await discardStaged(parts, journal.entries, ending.outcome);
    journal.tell({ kind: 'closed', outcome: ending.outcome, message: ending.message });
    if (!isOver) await shared.end(false);
    const after = await observe({ host, cluster, access }).catch(() => undefined);
    const finishedAt = new Date(host.now()).toISOString();
    const { outcome, message } = ending;
    const before = await partsBefore(host, directory, journal.entries, journal.path);
    const whole = joined(before, {
      events,
      startedAt,
      durationMs: host.elapsed() - startedMs,
      canary: wrote,
    });
    const seen = { finishedAt, after, snapshots: snapshotsOf(journal) };
    const report = reportFrom({
      run,
      plan,
      owner: ownerOf(host),
      ...whole,
      ...seen,
      outcome,
      message,
      journal: journal.path,
      next: nextSteps({ outcome, plan, isRollback: action === 'rollback', after }),
    });
    await writtenDown(parts, report, whole.events);
    emit({ event: 'run-finished', outcome, message, report });
    journal.close();
    return { ending, report };
  } finally {
    await lock.release();
  }
};
