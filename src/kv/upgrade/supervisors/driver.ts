import { AppError } from '../../../core/problem.ts';
import type { Exit } from '../../../platform/host.ts';
import type { DriverKind, HostFacts, MemberSpec, Move, Placement, StepKind } from '../../engine/types.ts';

export type Which = 'old' | 'new';
/** A member that was started. `exited` settles when the process this driver started ended; absent when the driver cannot see that. */
export type StartedMember = { readonly pid?: number; readonly exited?: Promise<Exit> };

/**
 * What a member's process does, the same for every kind of installation.
 * gone: there is none, and nobody will start one · starting: it is being brought up, and may not answer before `awaits` is over ·
 * running: there is one · unknown: it could not be seen.
 */
export type ProcessState =
  /** `hasNotRun`: the service manager failed before it ran the program. */
  | { readonly state: 'gone'; readonly reason?: string; readonly hasNotRun?: true }
  | { readonly state: 'starting'; readonly awaits: string; readonly pid?: number }
  | { readonly state: 'running'; readonly pid?: number }
  | { readonly state: 'unknown'; readonly reason: string };

/** `isPatient`: a connection that drops is made again within the grace period. */
export type WantedFacts = { readonly sizes: boolean; readonly isPatient?: true };

/** A copy that was compared with its source by the number of files and their size. */
export type DataCopy = { readonly path: string; readonly files: number; readonly bytes: number };

/** How one kind of installation is looked at, stopped and started. Nothing here decides anything. */
export type Driver = {
  readonly kind: DriverKind;
  /** Read-only, never throws; what cannot be seen is absent. */
  facts(member: MemberSpec, want: WantedFacts): Promise<HostFacts>;
  /** Never throws. */
  process(member: MemberSpec): Promise<ProcessState>;
  /** Asks the process to end and waits. False when it still runs after the grace; nothing is killed. */
  stop(member: MemberSpec, graceMs: number): Promise<boolean>;
  /** Ends it without asking. Only after a grace, and only when the operator said so. */
  kill(member: MemberSpec): Promise<void>;
  /** Puts the new version beside what the member runs and says where both are. Nothing that runs or could be started by a crash is changed. May be repeated. */
  stage(member: MemberSpec, move: Move): Promise<Placement>;
  /** Only between a stop and a start: what the service starts from now on is that version. May be repeated. */
  activate(member: MemberSpec, which: Which, placement: Placement | undefined): Promise<void>;
  /** Removes what was staged; what the member runs and what it can go back to stay. */
  discard(member: MemberSpec, placement: Placement): Promise<void>;
  start(member: MemberSpec, which: Which, placement?: Placement): Promise<StartedMember>;
  /** Copies the data directory and a write-ahead log outside of it next to the data directory, under its name with this ending. */
  copyData(member: MemberSpec, ending: string, walDir: string | undefined): Promise<DataCopy>;
  /** A file of the member's host. */
  readFile(member: MemberSpec, path: string): Promise<string | undefined>;
  /** Whole or not at all; mode and owner stay. */
  writeFile(member: MemberSpec, path: string, text: string): Promise<void>;
  /** The newest lines of the member's log, oldest first. */
  logTail(member: MemberSpec, lines: number): Promise<readonly string[]>;
  /** The commands of a step, for people. */
  describe(kind: StepKind, member: MemberSpec, which: Which): readonly string[];
};

/** A host that could not be reached for the whole grace period, while its member was stopped: that says nothing against a version. */
export const MAY_BE_DOWN = 'MEMBER_MAY_BE_DOWN';
export const mayBeDown = (error: unknown): boolean =>
  error instanceof AppError && error.detail.code === MAY_BE_DOWN;

/** Whether there is a process, for those who only ask that; undefined when it could not be seen. */
export const hasProcess = ({ state }: ProcessState): boolean | undefined =>
  state === 'unknown' ? undefined : state !== 'gone';

/** `etcd Version: 3.4.23` and the like: the first full version in the text. */
export const versionInText = (text: string): string | undefined =>
  /version:?\s*v?(\d+\.\d+\.\d+(?:[-+][\w.+-]*)?)/i.exec(text)?.[1] ??
  /(?:^|[^\w.])v?(\d+\.\d+\.\d+(?:[-+][\w.+-]*)?)/.exec(text)?.[1];
