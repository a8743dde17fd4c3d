import type { Host } from '../host/host.ts';
import type { Access } from './access.ts';
import type { Driver } from './drivers/driver.ts';
import type { Journal } from './journal.ts';
import type { ClusterFile, MemberSeen, MemberSpec, Observation, Plan, Step, Unstamped } from './types.ts';

/** Everything one run carries: the parts every step needs. */
export type Run = {
  readonly id: string;
  readonly folder: string;
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly plan: Plan;
  readonly driver: Driver;
  readonly access: Access;
  readonly journal: Journal;
  /** Aborted by the first Ctrl-C: the member in work is brought to its end, then the run stops. */
  readonly signal: AbortSignal;
  /** SIGKILL after the stop's grace. Only when the operator said so. */
  readonly canKill: boolean;
  emit(event: Unstamped): void;
  /** When each member was stopped, by `elapsed`. */
  readonly downSince: Map<string, number>;
};

export const memberOf = ({ cluster }: Pick<Run, 'cluster'>, name: string): MemberSpec =>
  cluster.members.find((member) => member.name === name) as MemberSpec;
export const seenIn = (observation: Observation, name: string): MemberSeen =>
  observation.members.find((member) => member.name === name) as MemberSeen;

export type Detail = Readonly<Record<string, unknown>>;
/** A step's effect. What it returns is written into the journal with its end. */
export type Act = (run: Run, step: Step) => Promise<Detail | undefined>;

/** The member did not do what it should, and can be given its old version back. */
export class MemberFailure extends Error {
  readonly member: string;
  constructor(member: string, reason: string) {
    super(reason);
    this.name = 'MemberFailure';
    this.member = member;
  }
}
