import { sh } from '../../../core/shell.ts';
import type { ShellScript } from '../../../core/shell.ts';
import type { Finished } from '../../../platform/host.ts';
import type {
  ClusterFile,
  HostFacts,
  Identity,
  MemberSpec,
  Move,
  Placement,
  StepKind,
} from '../../engine/types.ts';
import type { ProcessState, Which } from './driver.ts';

/** Runs a script on the member's host and returns what it printed; anything but success is thrown. */
export type Ask = (script: ShellScript) => Promise<string>;

/** A script, or one that can be made only from what the host answers first. */
export type Script = ShellScript | ((ask: Ask) => Promise<ShellScript>);

/** How one kind of service manager is asked and told, as shell scripts. Exit 0 is yes or done. */
export type Service = {
  /** Prints what the manager knows of the member's process. */
  readonly look: (member: MemberSpec) => ShellScript;
  /** Reads what `look` printed. Pure. `wasStarted`: by this run, and not seen running yet. */
  readonly stateFrom: (done: Finished, member: MemberSpec, wasStarted: boolean) => ProcessState;
  /** In place of `look`, for what one script cannot tell. */
  readonly processOf?: (member: MemberSpec, ask: Ask) => Promise<ProcessState>;
  /** What only this kind of service sees of a member's host. */
  readonly facts?: (member: MemberSpec, ask: Ask) => Promise<HostFacts>;
  /** Prints the process id of the member's server, or of the program that started it; nothing if it does not run. */
  readonly pid?: (member: MemberSpec) => ShellScript;
  /** Time a look at the host may take, where asking a program for its version takes long. */
  readonly factsMs?: number;
  /** Asks once and waits; exit 0 when it has ended within the grace, 1 when it still runs. */
  readonly stop: (member: MemberSpec, graceMs: number) => Script;
  readonly kill: (member: MemberSpec) => Script;
  /** Prints `previous.KEY=VALUE` and `next.KEY=VALUE`: the fields of Installed. */
  readonly stage?: (member: MemberSpec, move: Move) => ShellScript;
  /** As whom and where its successor must run. */
  readonly runsAs?: (member: MemberSpec, ask: Ask, from?: Move['from']) => Promise<Identity | undefined>;
  readonly activate?: (member: MemberSpec, which: Which, placement: Placement | undefined) => ShellScript;
  readonly discard?: (member: MemberSpec, placement: Placement) => ShellScript;
  readonly start: (member: MemberSpec, which: Which, placement: Placement | undefined) => Script;
  readonly logTail: (member: MemberSpec, lines: number) => ShellScript;
  /** Prints the version of that program. */
  readonly version: (member: MemberSpec, which: Which) => ShellScript | undefined;
  readonly describe: (kind: StepKind, member: MemberSpec, which: Which) => readonly string[];
};
export type MakeService = (cluster: ClusterFile) => Service;

/** Waits until a test holds, looking ten times a second. */
export const waitFor = (test: ShellScript, graceMs: number): ShellScript => sh`i=0
while ! { ${test}; }; do
  i=$((i+1)); [ $i -gt ${Math.ceil(graceMs / 100)} ] && exit 1
  sleep 0.1
done
exit 0`;

export const askedVersion = (binary: string | undefined): ShellScript | undefined =>
  binary === undefined ? undefined : sh`trusted ${binary} && ${binary} --version`;

/** `KEY=VALUE` lines. */
export const valuesIn = (text: string): Map<string, string> =>
  new Map(
    text
      .split('\n')
      .flatMap((line) =>
        line.includes('=')
          ? [[line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const]
          : [],
      ),
  );

/** `digest FILE` prints its sha256; `put FROM TO` makes TO a whole copy of FROM or leaves it alone. */
export const fileFunctions = sh`digest() { d=$(sha256sum < "$1") && echo "\${d%% *}"; }
put() { rm -f "$2.incoming"; cp -p "$1" "$2.incoming" && mv -f "$2.incoming" "$2"; }`;

/** Why a command failed: the last line of its errors, else why it could not be started, else its exit code. */
export const whyFailed = ({ stderr, startError, code }: Finished): string =>
  stderr.trim().split('\n').at(-1) || (startError ?? `exit code ${code}`);

export const lastLine = ({ stderr, stdout }: Pick<Finished, 'stderr' | 'stdout'>): string =>
  `${stdout}\n${stderr}`.trim().split('\n').at(-1) ?? '';
