import type { Exit } from '../../platform/host.ts';
import type { DriverKind, HostFacts, MemberSpec, StepKind } from '../types.ts';

export type Which = 'old' | 'new';
/** A member that was started. `exited` settles when the process this driver started ended; absent when the driver cannot see that. */
export type StartedMember = { readonly pid?: number; readonly exited?: Promise<Exit> };

/** How one kind of installation is looked at, stopped and started. Nothing here decides anything. */
export type Driver = {
  readonly kind: DriverKind;
  /** Read-only, never throws; what cannot be seen is absent. */
  facts(member: MemberSpec, want: { readonly sizes: boolean }): Promise<HostFacts>;
  /** Undefined when the driver cannot tell. */
  isRunning(member: MemberSpec): Promise<boolean | undefined>;
  /** Asks the process to end and waits. False when it still runs after the grace; nothing is killed. */
  stop(member: MemberSpec, graceMs: number): Promise<boolean>;
  /** Ends it without asking. Only after a grace, and only when the operator said so. */
  kill(member: MemberSpec): Promise<void>;
  /** Puts binary, image or unit of that version in place. May run before the stop when `isSafeWhileRunning`. */
  install?(member: MemberSpec, which: Which): Promise<void>;
  start(member: MemberSpec, which: Which): Promise<StartedMember>;
  copyData(member: MemberSpec, to: string): Promise<void>;
  readConfig(member: MemberSpec): Promise<string | undefined>;
  writeConfig(member: MemberSpec, text: string): Promise<void>;
  /** The newest lines of the member's log, oldest first. */
  logTail(member: MemberSpec, lines: number): Promise<readonly string[]>;
  /** The commands of a step, for people. */
  describe(kind: StepKind, member: MemberSpec, which: Which): readonly string[];
};

/** `etcd Version: 3.4.23` and the like: the first full version in the text. */
export const versionInText = (text: string): string | undefined =>
  /version:?\s*v?(\d+\.\d+\.\d+(?:[-+][\w.+-]*)?)/i.exec(text)?.[1] ??
  /(?:^|[^\w.])v?(\d+\.\d+\.\d+(?:[-+][\w.+-]*)?)/.exec(text)?.[1];
