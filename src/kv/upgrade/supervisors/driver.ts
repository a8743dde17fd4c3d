import { call } from '../../../core/program-call.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import { after } from '../../../core/next.ts';
import { AppError } from '../../../core/problem.ts';
import { scriptText, sh, type ShellScript } from '../../../core/shell.ts';
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
/**
 * A member that was started. `exited` resolves when the process that this driver started has exited; absent
 * if the driver cannot detect that.
 */
export type StartedMember = { readonly pid?: number; readonly exited?: Promise<Exit> };
/**
 * The state of a member's process, independent of the installation. gone: no process, and no manager will
 * start it · starting: the manager is starting it, and it may not respond before `awaits` · running: a
 * process exists · unknown: opsctl could not inspect it.
 */
export type ProcessState =
  /**
   * `hasNotRun`: the service manager failed before it started the program. `exitCode`: the exit code of the
   * member's process.
   */
  | {
      readonly state: 'gone';
      readonly reason?: string;
      readonly hasNotRun?: true;
      readonly exitCode?: number;
    }
  | { readonly state: 'starting'; readonly awaits: string; readonly pid?: number }
  | { readonly state: 'running'; readonly pid?: number }
  | { readonly state: 'unknown'; readonly reason: string };
/**
 * `isPatient`: opsctl restores a dropped connection within the grace period. `minor`: the version that runs, if
 * the member reports it; it decides which configuration the process has read.
 */
export type FactsRequest = {
  readonly sizes: boolean;
  readonly isPatient?: true;
  readonly minor?: () => Promise<Minor | undefined>;
};
/** The copy and its source have the same number and total size of files. */
export type DataCopy = { readonly path: string; readonly files: number; readonly bytes: number };
/** How opsctl inspects, stops and starts one kind of installation. Drivers make no decisions. */
export type Driver = {
  readonly kind: DriverKind;
  /** Read-only, never throws; unknown facts are absent. */
  facts(member: MemberSpec, want: FactsRequest): Promise<HostFacts>;
  /** Never throws. */
  process(member: MemberSpec): Promise<ProcessState>;
  /**
   * Requests the process to exit and waits. False if it still runs after the grace period. Does not kill the
   * process.
   */
  stop(member: MemberSpec, graceMs: number): Promise<boolean>;
  /** Kills the process. Only after a grace period, and only with a flag of the operator. */
  kill(member: MemberSpec): Promise<void>;
  /**
   * Stages the new version next to the running version and returns the paths of both. The running version,
   * and the version that would start after a crash, stay unchanged. Can be repeated.
   */
  stage(member: MemberSpec, move: Move): Promise<Placement>;
  /**
   * Only between a stop and a start: selects the version that the service starts from now on. Can be
   * repeated.
   */
  activate(member: MemberSpec, which: Which, placement: Placement | undefined): Promise<void>;
  /** Removes staged files. The running version and the version for a rollback stay. */
  discard(member: MemberSpec, placement: Placement): Promise<void>;
  start(member: MemberSpec, which: Which, placement?: Placement): Promise<StartedMember>;
  /**
   * Copies the data directory, and a write-ahead log outside of it, to a directory with this suffix next to
   * the data directory.
   */
  copyData(member: MemberSpec, ending: string, walDir: string | undefined): Promise<DataCopy>;
  /** A file of the member's host. */
  readFile(member: MemberSpec, path: string): Promise<string | undefined>;
  /** Writes the whole file or fails without a change; mode and owner stay. */
  writeFile(member: MemberSpec, path: string, text: string): Promise<void>;
  /** Returns the newest lines of the member's log, oldest first. */
  logTail(member: MemberSpec, lines: number): Promise<readonly string[]>;
  /** The commands of a step, for the user. */
  describe(kind: StepKind, member: MemberSpec, which: Which): readonly string[];
};
/**
 * The host was unreachable for the whole grace period while its member was stopped. This does not count as a
 * failure of the version.
 */
export const MAY_BE_DOWN = 'MEMBER_MAY_BE_DOWN';
export const mayBeDown = (error: unknown): boolean =>
  error instanceof AppError && error.detail.code === MAY_BE_DOWN;
/** Returns whether a process exists; undefined if opsctl could not inspect it. */
export const hasProcess = ({ state }: ProcessState): boolean | undefined =>
  state === 'unknown' ? undefined : state !== 'gone';
/** Returns the first full version in a text such as `etcd Version: 3.4.23`. */
export const versionInText = (text: string): string | undefined =>
  /version:?\s*v?(\d+\.\d+\.\d+(?:[-+][\w.+-]*)?)/i.exec(text)?.[1] ??
  /(?:^|[^\w.])v?(\d+\.\d+\.\d+(?:[-+][\w.+-]*)?)/.exec(text)?.[1];
/** Returns the Go release that built the program, from a line such as `Go Version: go1.19.8`. */
export const goInText = (text: string): string | undefined =>
  /\bgo version:?\s*go(\d+\.\d+(?:\.\d+)?)/i.exec(text)?.[1];

/** Runs a script on the member's host and returns its output. Throws if the script fails. */
export type ScriptRunner = (script: ShellScript) => Promise<string>;
/** A script, or a function that creates the script from facts of the host. */
export type Script = ShellScript | ((ask: ScriptRunner) => Promise<ShellScript>);
/** The shell scripts for one kind of service manager. Exit code 0 means yes or done. */
export type Service = {
  /** Prints the state of the member's process in the service manager. */
  readonly look: (member: MemberSpec) => ShellScript;
  /**
   * Parses the output of `look`. Pure. `wasStarted`: this run started the member, and it has not been
   * observed running yet.
   */
  readonly stateFrom: (done: Finished, member: MemberSpec, wasStarted: boolean) => ProcessState;
  /** Replaces `look` if one script is not sufficient. */
  readonly processOf?: (member: MemberSpec, ask: ScriptRunner) => Promise<ProcessState>;
  /** Facts about a member's host that only this kind of service provides. */
  readonly facts?: (member: MemberSpec, ask: ScriptRunner, want: FactsRequest) => Promise<HostFacts>;
  /** Settings from this kind of service that a successor would lose. */
  readonly problems?: (member: MemberSpec, ask: ScriptRunner) => Promise<readonly string[]>;
  /**
   * Prints the process ID of the member's server, or of the program that started it. Prints no output if the
   * server does not run.
   */
  readonly pid?: (member: MemberSpec) => ShellScript;
  /**
   * Requests a stop and waits. Exits with code 0 if the process has exited within the grace period, or 1 if
   * it still runs.
   */
  readonly stop: (member: MemberSpec, graceMs: number) => Script;
  readonly kill: (member: MemberSpec) => Script;
  /** Prints `previous.KEY=VALUE` and `next.KEY=VALUE`: the fields of Installed. */
  readonly stage?: (member: MemberSpec, move: Move) => ShellScript;
  /** The user and the directory for its successor. */
  readonly runsAs?: (
    member: MemberSpec,
    ask: ScriptRunner,
    from?: Move['from'],
  ) => Promise<Identity | undefined>;
  readonly activate?: (member: MemberSpec, which: Which, placement: Placement | undefined) => ShellScript;
  readonly discard?: (member: MemberSpec, placement: Placement) => ShellScript;
  readonly start: (member: MemberSpec, which: Which, placement: Placement | undefined) => Script;
  readonly logTail: (member: MemberSpec, lines: number) => ShellScript;
  /** Prints the version of the member's old or new program. */
  readonly version: (member: MemberSpec, which: Which) => ShellScript | undefined;
  readonly describe: (kind: StepKind, member: MemberSpec, which: Which) => readonly string[];
};
export type MakeService = (cluster: ClusterFile) => Service;
/** Waits until a test succeeds; runs it ten times a second. */
export const waitFor = (test: ShellScript, graceMs: number): ShellScript => sh`i=0
while ! { ${test}; }; do
  i=$((i+1)); [ $i -gt ${Math.ceil(graceMs / 100)} ] && exit 1
  sleep 0.1
done
exit 0`;
/** Time for the end of a killed process. A process that waits for a disk does not end. */
export const killWithinMs = 10_000;
/** The kernel keeps a killed process that waits for a disk. Another program must not use its data directory meanwhile. */
export const makeKillIgnoredError = ({ name }: MemberSpec): AppError =>
  new AppError(
    'stopped',
    `${name}: the process was killed, but did not end within ${killWithinMs / 1000} s`,
    {
      code: 'STOP_IGNORED',
      tryThis: [
        'find out what the process waits for, such as a disk',
        after('when it has ended,', ['kv', 'resume']),
      ],
    },
  );
const KILL_IGNORED = 'the process was killed, but has not ended';
export const isKillIgnored = (done: Finished): boolean => lastLine(done) === KILL_IGNORED;
/** Waits for the end of a killed process: another program must not use its data directory before. */
export const waitForKilled = (test: ShellScript): ShellScript => markKillIgnored(waitFor(test, killWithinMs));
export const markKillIgnored = (wait: ShellScript): ShellScript =>
  sh`( ${wait} ) || { echo ${KILL_IGNORED} >&2; exit 1; }`;
export const versionScript = (binary: string | undefined): ShellScript | undefined =>
  binary === undefined ? undefined : sh`trusted ${binary} && ${binary} --version`;
/** Parses `KEY=VALUE` lines. */
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
/** `digest FILE` prints its sha256; `put FROM TO` makes TO a complete copy of FROM or leaves TO unchanged. */
export const fileFunctions = sh`digest() { d=$(sha256sum < "$1") && echo "\${d%% *}"; }
put() { rm -f "$2.incoming"; cp -p "$1" "$2.incoming" && mv -f "$2.incoming" "$2"; }`;
/**
 * The reason for a failed command: the last line of its errors, otherwise the start error, otherwise its exit
 * code.
 */
export const failureReason = ({ stderr, startError, code }: Finished): string =>
  stderr.trim().split('\n').at(-1) || (startError ?? `exit code ${code}`);
export const lastLine = ({ stderr, stdout }: Pick<Finished, 'stderr' | 'stdout'>): string =>
  `${stdout}\n${stderr}`.trim().split('\n').at(-1) ?? '';

/**
 * Runs a POSIX shell script on the host of a member. The script is sent over standard input, so the process
 * list does not show it.
 */
export type Shell = {
  /** For messages: `here` or the name of the host. */
  readonly where: string;
  run(script: ShellScript, options?: { readonly timeoutMs?: number }): Promise<Finished>;
  /** Makes a local file readable on the host; `wanted` is its path if it must be copied. */
  send(path: string, wanted: string): Promise<{ readonly path: string; remove(): Promise<void> }>;
  /** How a user would run one command on the host. */
  display(command: string): string;
};
export const defaultMs = 10_000;
export const localShell = (host: Host): Shell => ({
  where: 'here',
  run: (script, { timeoutMs = defaultMs } = {}) =>
    host.processes.run(...call`/bin/sh -s`, {
      input: scriptText(script),
      timeoutMs,
      keepsRunningOnCtrlC: true,
    }),
  send: async (path) => ({ path, remove: async () => {} }),
  display: (command) => command,
});
