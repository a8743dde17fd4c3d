import type { Host } from '../../../platform/host.ts';
import { AppError } from '../../../core/problem.ts';
import type { Store } from '../../client/etcd-client.ts';
import { detailText } from '../present/detail-text.ts';
import { crashedRun, openJournal, runDirectory, unfinishedError } from '../../engine/journal.ts';
import type { Journal } from '../../engine/journal.ts';
import { progressOf } from '../../engine/progress.ts';
import { shareProgress } from '../../engine/shared-progress.ts';
import type { Shared } from '../../engine/shared-progress.ts';
import { ownerOf } from '../../engine/lock-holder.ts';
import type { Lock } from '../../engine/lock-holder.ts';
import { takeLocks } from '../../engine/take-locks.ts';
import type { Access } from '../../engine/access.ts';
import { watchMembers } from '../observe/member-watch.ts';
import { observe } from '../observe/observe.ts';
import { lockLost } from '../run.ts';
import type { Replacing, Run } from '../run.ts';
import type { Driver } from '../supervisors/driver.ts';
import type { ClusterFile, Plan, Sink } from '../../engine/types.ts';
import type { Window } from '../window/window-types.ts';
import type { Confirmation } from './crossing.ts';
import type { Ending } from './ending.ts';
import type { Recorder } from './recorder.ts';

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

/** Both locks. A run that has to be brought to its end goes on without the one in the store. */
export const locked = (input: SessionInput, emit: Recorder['emit'], lost: AbortController): Promise<Lock> =>
  takeLocks({
    ...input,
    warn: input.action === 'upgrade' ? undefined : (text) => emit({ event: 'note', level: 'warn', text }),
    onLost: (error) => lost.abort(lockLost(error)),
  });

/** Two that planned at the same time: the one that comes second finds here what the first has left behind. */
export const refuseUnfinished = async ({
  host,
  state,
  cluster,
  run,
  action,
}: SessionInput): Promise<void> => {
  if (action !== 'upgrade') return;
  const left = await crashedRun(host, state, cluster.name);
  if (left !== undefined && left.run !== run) throw unfinishedError(left);
};

/** Before the first step nothing was changed, whatever the disk says. Errors that are none of the disk's stay what they are. */
export const unbegun = (error: unknown): never => {
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

/** Who goes on with a run sees what was done before, and how the members are now. */
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

/** Each line is shared as soon as it is written here. */
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

const stopText =
  'asked to stop: a member that is down is brought to its end first. Another Ctrl-C leaves everything as it is now; then opsctl kv resume';

/** Aborted when the operator asks for a stop, or when the lock is lost. */
const stopSignal = (input: SessionInput, lost: AbortController, emit: Recorder['emit']): AbortSignal => {
  const signal = AbortSignal.any([input.signal, lost.signal]);
  signal.addEventListener('abort', () => emit({ event: 'note', level: 'warn', text: stopText }), {
    once: true,
  });
  return signal;
};

/** What this process knows of the run at its begin. */
const fresh = (action: SessionInput['action']) => ({
  isResume: action === 'resume',
  once: { areGuardsAsked: action !== 'resume' },
  replacing: new Map<string, Replacing>(),
  restarted: new Set<string>(),
  admitted: new Set<string>(),
  logMarks: new Map<string, readonly string[]>(),
  downSince: new Map<string, number>(),
});

export type OpenRun = {
  readonly run: Run;
  readonly stores: readonly Store[];
  readonly shared: Shared;
};
/** The run with its journal, its shared progress and its watch over members. Its locks are held. */
export const openRun = async (
  input: SessionInput,
  { emit }: Recorder,
  lost: AbortController,
  lock: Lock,
): Promise<OpenRun> => {
  const { host, cluster, access, driver, state, plan, run, action, canKill } = input;
  const written = await open(input).catch(unbegun);
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
      ...fresh(action),
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
