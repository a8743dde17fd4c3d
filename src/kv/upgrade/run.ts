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
  MemberSeen,
  MemberSpec,
  Observation,
  Plan,
  Step,
  Unstamped,
  Detail,
} from '../engine/model.ts';

/** `proved`: it has passed its health check, and has to stay good for a time. */
export type Replacing = 'changing' | 'proved';

/**
 * What one process knows of a run beside the journal. Nothing else of a run changes, and only these methods change it. What must survive a crash
 * is in the journal.
 */
export class RunState {
  #areGuardsPending: boolean;
  readonly #restarted = new Set<string>();
  readonly #admitted = new Set<string>();
  readonly #replacing = new Map<string, Replacing>();
  readonly #downSince = new Map<string, number>();
  readonly #logMarks: Map<string, readonly string[]>;
  constructor({ areGuardsPending = false, logMarks = new Map() }: InitialState = {}) {
    this.#areGuardsPending = areGuardsPending;
    this.#logMarks = new Map(logMarks);
  }
  /** True once, if the guards have to be checked again before the next member. */
  claimGuards(): boolean {
    const isPending = this.#areGuardsPending;
    this.#areGuardsPending = false;
    return isPending;
  }
  /** True once for each member whose process ended past the point of no return: this process starts it again. */
  claimRestart(member: string): boolean {
    const isFirst = !this.#restarted.has(member);
    this.#restarted.add(member);
    return isFirst;
  }
  /** The operator has let the member pass. */
  admit(member: string): void {
    this.#admitted.add(member);
  }
  isAdmitted(member: string): boolean {
    return this.#admitted.has(member);
  }
  /** Members that are being replaced or reverted now. */
  get replacing(): ReadonlyMap<string, Replacing> {
    return this.#replacing;
  }
  markReplacing(member: string, state: Replacing): void {
    this.#replacing.set(member, state);
  }
  markReplaced(member: string): void {
    this.#replacing.delete(member);
  }
  /** The member was stopped at this time, by `elapsed`. */
  recordStop(member: string, atMs: number): void {
    this.#downSince.set(member, atMs);
  }
  /** The member serves clients again: since when it was down. Undefined if this run did not stop it, or counted it before. */
  endDownTime(member: string): number | undefined {
    const since = this.#downSince.get(member);
    this.#downSince.delete(member);
    return since;
  }
  /** The last line of the member's log before its start; none if the log was empty. */
  markLog(member: string, lines: readonly string[]): void {
    this.#logMarks.set(member, lines);
  }
  /** Undefined if this run did not start the member. */
  logMark(member: string): readonly string[] | undefined {
    return this.#logMarks.get(member);
  }
}
type InitialState = {
  readonly areGuardsPending?: boolean;
  readonly logMarks?: ReadonlyMap<string, readonly string[]>;
};

/** Everything one run carries: the parts every step needs. */
export type Run = {
  readonly id: string;
  readonly directory: string;
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly plan: Plan;
  readonly driver: Driver;
  readonly access: Access;
  readonly journal: Journal;
  /** Aborted by the first Ctrl-C, or when the lock is lost: the member in work is brought to its end, then the run stops. */
  readonly signal: AbortSignal;
  /** SIGKILL after the stop's grace. Only when the operator said so. */
  readonly canKill: boolean;
  /** Throws when the lock in the store went to somebody else; a key that was deleted is put there again. */
  holdLock(): Promise<void>;
  /** Writes the run's progress where another machine finds it. Never fails. */
  shareProgress(): Promise<void>;
  emit(event: Unstamped): void;
  /** Processes of the members that passed their gate. */
  readonly members: MemberWatch;
  /** This process goes on with a run that had ended before: what the operator was told then may be tried again. */
  readonly isResume: boolean;
  /** What is asked before each member, beside the guards. */
  readonly window?: Window | undefined;
  readonly state: RunState;
};

/** What the checks of one member need to know: of an upgrade, or of another operation on the cluster. */
export type Checking = Pick<Run, 'id' | 'host' | 'cluster' | 'driver' | 'access' | 'emit'> & {
  readonly plan: Pick<Plan, 'observation' | 'to'>;
  readonly journal: Pick<Journal, 'entries'>;
  readonly state?: Pick<RunState, 'logMark'>;
};

export const memberOf = ({ cluster }: Pick<Run, 'cluster'>, name: string): MemberSpec =>
  cluster.members.find((member) => member.name === name) as MemberSpec;
export const seenIn = (observation: Observation, name: string): MemberSeen =>
  observation.members.find((member) => member.name === name) as MemberSeen;

/** Which member a name stood for when it was stopped: as planned, or as it was seen just before, when an operator had removed and added it since. */
export const identityOf = (
  { plan, journal }: Pick<Checking, 'plan' | 'journal'>,
  name: string,
): Pick<MemberSeen, 'member_id' | 'cluster_id'> => {
  const { member_id, cluster_id } = seenIn(plan.observation, name);
  const noted = journal.entries.findLast(
    (entry) =>
      entry.kind === 'begin' &&
      entry.step === stepId(name, 'stop') &&
      entry.note?.['member_id'] !== undefined,
  );
  return { member_id: noted?.kind === 'begin' ? String(noted.note?.['member_id']) : member_id, cluster_id };
};

/** A step's effect. What it returns is written into the journal with its end. */
export type Act = (run: Run, step: Step) => Promise<Detail | undefined>;

/** `exitCode`: its own exit code. A process that a signal ended, or that only its absence reveals, has none. */
export type StartedProcess = { readonly hasEnded: boolean; readonly exitCode?: number };
/** Returns the process that ended with this code. A shell and a container report a signal as 128 and its number. Pure. */
export const endedProcess = (code?: number | null): StartedProcess =>
  typeof code === 'number' && code < 128 ? { hasEnded: true, exitCode: code } : { hasEnded: true };
export const runningProcess: StartedProcess = { hasEnded: false };

/** The member did not do what it should, and can be given its old version back. */
export class MemberFailure extends Error {
  readonly member: string;
  /** The process of the last start. Absent if the failure concerns a step before the start: the log of the member does not explain it. */
  readonly process: StartedProcess | undefined;
  constructor(member: string, reason: string, process?: StartedProcess) {
    super(reason);
    this.name = 'MemberFailure';
    this.member = member;
    this.process = process;
  }
}

const LOCK_LOST = 'LOCK_LOST';
/** Why a run stops whose lock in the store went to somebody else. */
export const lockLost = ({ message }: AppError): AppError =>
  new AppError('stopped', `the lock in the store was lost while it could not be written: ${message}`, {
    code: LOCK_LOST,
    tryThis: [next(['kv', 'status']), next(['kv', 'resume'], ', when the other one has ended')],
  });
/** Why the run was asked to stop. */
export const stopReason = ({ signal, journal, plan }: Pick<Run, 'signal' | 'journal' | 'plan'>): AppError => {
  const { reason } = signal;
  if (reason instanceof AppError && reason.detail.code === LOCK_LOST) return reason;
  const { ended } = progressOf(journal.entries);
  const upgraded = plan.order.filter((name) => ended.has(stepId(name, 'gate')));
  const where =
    upgraded.length === 0
      ? `every member runs ${oldWay(plan)} still`
      : `${upgraded.join(', ')} on ${newWay(plan)}, the rest on ${oldWay(plan)}`;
  return new AppError('stopped', `stopped after the current step, as asked: ${where}`, {
    code: 'STOPPED',
    tryThis: [
      next(['kv', 'resume']),
      ...(upgraded.length === 0
        ? [next(['kv', 'abort'], ', to give it up')]
        : [next(['kv', 'rollback'], `, to bring all back to ${oldWay(plan)}`)]),
    ],
  });
};
