import { AppError } from '../../../core/problem.ts';
import { sh, type ShellScript } from '../../../core/shell.ts';
import type { Exit, Finished, Host } from '../../../platform/host.ts';
import type {
  ClusterFile,
  DriverKind,
  HostFacts,
  Identity,
  MemberSpec,
  Move,
  Placement,
  StepKind,
} from '../../engine/model.ts';

export type Which = 'old' | 'new';
/** A member that was started. `exited` settles when the process this driver started ended; absent when the driver cannot see that. */
export type StartedMember = { readonly pid?: number; readonly exited?: Promise<Exit> };
/**
 * What a member's process does, the same for every kind of installation.
 * gone: there is none, and nobody will start one · starting: it is being brought up, and may not answer before `awaits` is over ·
 * running: there is one · unknown: it could not be seen.
 */
export type ProcessState =
  /** `hasNotRun`: the service manager failed before it ran the program. `exitCode`: what the process of the member exited with. */
  | {
      readonly state: 'gone';
      readonly reason?: string;
      readonly hasNotRun?: true;
      readonly exitCode?: number;
    }
  | { readonly state: 'starting'; readonly awaits: string; readonly pid?: number }
  | { readonly state: 'running'; readonly pid?: number }
  | { readonly state: 'unknown'; readonly reason: string };
/** `isPatient`: a connection that drops is made again within the grace period. */
type WantedFacts = { readonly sizes: boolean; readonly isPatient?: true };
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
/** `Go Version: go1.19.8`: the release that built the program. */
export const goInText = (text: string): string | undefined =>
  /\bgo version:?\s*go(\d+\.\d+(?:\.\d+)?)/i.exec(text)?.[1];

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
  /** What a successor would not get of what this kind of service gave to the process. */
  readonly problems?: (member: MemberSpec, ask: Ask) => Promise<readonly string[]>;
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

/** Runs a POSIX shell script where a member lives. The script goes over standard input: nothing of it is in a process list. */
export type Shell = {
  /** For messages: `here`, or the host. */
  readonly where: string;
  run(script: ShellScript, options?: { readonly timeoutMs?: number }): Promise<Finished>;
  /** Makes a file of this machine readable there; `wanted` is where it goes when it has to travel. */
  send(path: string, wanted: string): Promise<{ readonly path: string; remove(): Promise<void> }>;
  /** How a person would run one command there. */
  shown(command: string): string;
};
export const defaultMs = 10_000;
export const localShell = (host: Host): Shell => ({
  where: 'here',
  run: (script, { timeoutMs = defaultMs } = {}) =>
    host.processes.run('/bin/sh', ['-s'], { input: String(script), timeoutMs }),
  send: async (path) => ({ path, remove: async () => {} }),
  shown: (command) => command,
});
