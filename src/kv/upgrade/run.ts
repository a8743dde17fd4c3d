import { next } from '../../core/next.ts';
import type { Host } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import type { Access } from '../engine/access.ts';
import type { Driver } from './supervisors/driver.ts';
import type { Journal } from '../engine/journal.ts';
import { progressOf } from '../engine/progress.ts';
import { stepId } from '../engine/steps.ts';
import { newWay, oldWay } from './plan-kind.ts';
import type { MemberWatch } from './observe/member-watch.ts';
import type { Window } from './window/window.ts';
import type {
  ClusterFile,
  MemberStatus,
  MemberSpec,
  Observation,
  Plan,
  Step,
  Unstamped,
  Detail,
} from '../engine/model.ts';

/** The last line of a log; empty if the log was empty, undefined if it could not be read. */
export type LogEnd = readonly string[] | undefined;

/** `proved`: the member has passed its health check, and its soak time runs. */
export type Replacing = 'changing' | 'proved';

/**
 * State of a run in one process that is not in the journal. Only these methods change it. State that must
 * survive a crash is in the journal.
 */
export class RunState {
  #areGuardsPending: boolean;
  readonly #restarted = new Set<string>();
  readonly #admitted = new Set<string>();
  readonly #replacing = new Map<string, Replacing>();
  readonly #downSince = new Map<string, number>();
  readonly #logMarks: Map<string, LogEnd>;
  constructor({ areGuardsPending = false, logMarks = new Map() }: InitialState = {}) {
    this.#areGuardsPending = areGuardsPending;
    this.#logMarks = new Map(logMarks);
  }
  /** Returns true once if the guards must run again before the next member. */
  claimGuards(): boolean {
    const isPending = this.#areGuardsPending;
    this.#areGuardsPending = false;
    return isPending;
  }
  /**
   * Returns true once for each member whose process exited after the point of no return: this process
   * restarts it.
   */
  claimRestart(member: string): boolean {
    const isFirst = !this.#restarted.has(member);
    this.#restarted.add(member);
    return isFirst;
  }
  /** Records that the operator accepted the member. */
  admit(member: string): void {
    this.#admitted.add(member);
  }
  isAdmitted(member: string): boolean {
    return this.#admitted.has(member);
  }
  /** The members that the run replaces or reverts now. */
  get replacing(): ReadonlyMap<string, Replacing> {
    return this.#replacing;
  }
  markReplacing(member: string, state: Replacing): void {
    this.#replacing.set(member, state);
  }
  markReplaced(member: string): void {
    this.#replacing.delete(member);
  }
  /** Records when the member was stopped, by `elapsed`. */
  recordStop(member: string, atMs: number): void {
    this.#downSince.set(member, atMs);
  }
  /**
   * Records that the member serves clients again and returns the start of its down time. Undefined if this
   * run did not stop it, or has already counted it.
   */
  endDownTime(member: string): number | undefined {
    const since = this.#downSince.get(member);
    this.#downSince.delete(member);
    return since;
  }
  /** Stores the end of the member's log before its start. */
  markLog(member: string, end: LogEnd): void {
    this.#logMarks.set(member, end);
  }
  /** Undefined if this run did not start the member, or could not read its log before the start. */
  logMark(member: string): LogEnd {
    return this.#logMarks.get(member);
  }
  /** Returns whether this run started the member. */
  isStarted(member: string): boolean {
    return this.#logMarks.has(member);
  }
}
type InitialState = {
  readonly areGuardsPending?: boolean;
  readonly logMarks?: ReadonlyMap<string, LogEnd>;
};

/** The parts of a run that every step needs. */
export type Run = {
  readonly id: string;
  readonly directory: string;
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly plan: Plan;
  readonly driver: Driver;
  readonly access: Access;
  readonly journal: Journal;
  /**
   * Aborted by the first Ctrl-C, or when the lock is lost: the run finishes the current member, then stops.
   */
  readonly signal: AbortSignal;
  /** Whether opsctl may send SIGKILL after the grace period. Requires a flag of the operator. */
  readonly canKill: boolean;
  /** Throws if another run holds the lock in the store. Restores the lock if its key was deleted. */
  holdLock(): Promise<void>;
  /** Writes the progress of the run for other machines. Never fails. */
  shareProgress(): Promise<void>;
  emit(event: Unstamped): void;
  /** The watch over the members that passed their health check. */
  readonly members: MemberWatch;
  /** This process resumes a run that had ended: steps whose failure the operator has seen may be repeated. */
  readonly isResume: boolean;
  /** Additional checks before each member. */
  readonly window?: Window | undefined;
  readonly state: RunState;
};

/** Data for the checks of one member, in an upgrade or in another operation on the cluster. */
export type Checking = Pick<Run, 'id' | 'host' | 'cluster' | 'driver' | 'access' | 'emit'> & {
  readonly plan: Pick<Plan, 'observation' | 'to'> & {
    /** Absent in an upgrade. */
    readonly operation?: string;
    readonly steps?: readonly { readonly kind: string; readonly member?: string }[];
  };
  readonly journal: Pick<Journal, 'entries'>;
  readonly state?: Pick<RunState, 'logMark' | 'isStarted'>;
};

export const memberOf = ({ cluster }: Pick<Run, 'cluster'>, name: string): MemberSpec =>
  cluster.members.find((member) => member.name === name) as MemberSpec;
export const getMemberStatus = (observation: Observation, name: string): MemberStatus =>
  observation.members.find((member) => member.name === name) as MemberStatus;

/**
 * The identity of a member when it was stopped: from the plan, or from the last check if an operator had
 * removed and added the member since. `raft_term` is known only for the single member of a cluster that this run
 * has stopped.
 */
export const identityOf = (
  { plan, journal }: Pick<Checking, 'plan' | 'journal'>,
  name: string,
): Pick<MemberStatus, 'member_id' | 'cluster_id' | 'raft_term'> => {
  const { member_id, cluster_id } = getMemberStatus(plan.observation, name);
  const notes = journal.entries.flatMap((entry) =>
    entry.kind === 'begin' && entry.step === stepId(name, 'stop') && entry.note !== undefined
      ? [entry.note]
      : [],
  );
  const lastNote = (key: string): unknown => notes.findLast((note) => note[key] !== undefined)?.[key];
  const [id, term] = [lastNote('member_id'), lastNote('raft_term')];
  return {
    member_id: id === undefined ? member_id : String(id),
    cluster_id,
    ...(term === undefined ? {} : { raft_term: Number(term) }),
  };
};

/** The action of a step. Its result is written to the journal with the end of the step. */
export type StepHandler = (run: Run, step: Step) => Promise<Detail | undefined>;

/** `exitCode`: absent if a signal ended the process, or if opsctl only found it missing. */
export type StartedProcess = { readonly hasEnded: boolean; readonly exitCode?: number };
/**
 * Converts an exit code to the result of a process. A shell and a container report a signal as 128 and its
 * number. Pure.
 */
export const endedProcess = (code?: number | null): StartedProcess =>
  typeof code === 'number' && code < 128 ? { hasEnded: true, exitCode: code } : { hasEnded: true };
export const runningProcess: StartedProcess = { hasEnded: false };

/** The member failed and can return to its old version. */
export class MemberFailure extends Error {
  readonly member: string;
  /**
   * The process of the last start. Absent if the failure occurred before the start: the member's log does not
   * explain it.
   */
  readonly process: StartedProcess | undefined;
  constructor(member: string, reason: string, process?: StartedProcess) {
    super(reason);
    this.name = 'MemberFailure';
    this.member = member;
    this.process = process;
  }
}

const LOCK_LOST = 'LOCK_LOST';
/** The error of a run that lost its lock in the store to another run. */
export const lockLost = ({ message }: AppError): AppError =>
  new AppError('stopped', `the lock in the cluster was lost while opsctl could not renew it: ${message}`, {
    code: LOCK_LOST,
    tryThis: [next(['kv', 'status']), next(['kv', 'resume'], ', when the other run has finished')],
  });
/** Returns the reason for the requested stop. */
export const stopReason = ({ signal, journal, plan }: Pick<Run, 'signal' | 'journal' | 'plan'>): AppError => {
  const { reason } = signal;
  if (reason instanceof AppError && reason.detail.code === LOCK_LOST) return reason;
  const { ended } = progressOf(journal.entries);
  const upgraded = plan.order.filter((name) => ended.has(stepId(name, 'gate')));
  const where =
    upgraded.length === 0
      ? `every member still runs ${oldWay(plan)}`
      : `${upgraded.join(', ')} on ${newWay(plan)}, the rest on ${oldWay(plan)}`;
  return new AppError('stopped', `stopped after the current step, as requested: ${where}`, {
    code: 'STOPPED',
    tryThis: [
      next(['kv', 'resume']),
      ...(upgraded.length === 0
        ? [next(['kv', 'abort'], ', to abandon the run')]
        : [next(['kv', 'rollback'], `, to return every member to ${oldWay(plan)}`)]),
    ],
  });
};
