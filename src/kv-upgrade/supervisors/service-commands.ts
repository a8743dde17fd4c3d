import type { ClusterFile, MemberSpec, StepKind } from '../types.ts';
import type { Which } from './driver.ts';

/** How one kind of installation is steered, as shell scripts. Exit 0 is yes, done or running. */
export type Steering = {
  readonly isRunning: (member: MemberSpec) => string;
  /** Asks once and waits; exit 0 when it has ended within the grace. */
  readonly stop: (member: MemberSpec, graceMs: number) => string;
  readonly kill: (member: MemberSpec) => string;
  readonly install?: (member: MemberSpec, which: Which) => string;
  readonly start: (member: MemberSpec, which: Which) => string;
  readonly logTail: (member: MemberSpec, lines: number) => string;
  /** Prints the version of that program. */
  readonly version: (member: MemberSpec, which: Which) => string | undefined;
  readonly describe: (kind: StepKind, member: MemberSpec, which: Which) => readonly string[];
};
export type MakeSteering = (cluster: ClusterFile) => Steering;

export const quoted = (text: string | undefined): string => `'${(text ?? '').replaceAll("'", `'\\''`)}'`;

/** Waits until a test holds, looking ten times a second. */
export const waitFor = (test: string, graceMs: number): string => `i=0
while ! { ${test}; }; do
  i=$((i+1)); [ $i -gt ${Math.ceil(graceMs / 100)} ] && exit 1
  sleep 0.1
done
exit 0`;
