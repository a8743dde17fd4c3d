import { call } from '../../../core/program-call.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import { after } from '../../../core/next.ts';
import { AppError } from '../../../core/problem.ts';
import { scriptText, sh, type ShellScript } from '../../../core/shell.ts';
import type { Exit, Finished, Host, Files } from '../../../platform/host.ts';
import type {
  ClusterFile,
  DriverKind,
  HostFacts,
  Identity,
  MemberSpec,
  Move,
  Placement,
  StepKind,
  DirectoryStatus,
  PathStatus,
} from '../../engine/model.ts';
import { dirname, join } from 'node:path';

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
  /**
   * Returns the newest lines of the member's log, oldest first; no line if the member has no log. Throws if the
   * log cannot be read, because an unread log is not an empty log.
   */
  logTail(member: MemberSpec, lines: number, timeoutMs?: number): Promise<readonly string[]>;
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
  /** Prints the paths of the files from which the service manager takes the next start, one per line. */
  readonly startFiles?: (member: MemberSpec) => ShellScript;
  /** Prints the definition of the next start of a member that does not run. Fails if it cannot be read. */
  readonly definition?: (member: MemberSpec) => ShellScript;
  /** Prints the configuration file `$c` as the next start sees it. */
  readonly definitionFile?: (member: MemberSpec) => ShellScript;
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
/** The kernel keeps a killed process that waits for a disk. Another program must not use its data directory during that time. */
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

/**
 * Shell functions for a directory that may be a symbolic link or a mount point. `real PATH` prints the path
 * without symbolic links, even if its last part does not exist. `beside PATH` prints the path next to which
 * copies and new directories are created: PATH if its parent directory is on the disk of the real directory's
 * parent, otherwise the real path. So all files stay on the disk of the data.
 */
export const placeFunctions = sh`real() { p=$1; while [ "$p" != / ] && [ "$p" != "\${p%/}" ]; do p=\${p%/}; done; readlink -f "$p" 2>/dev/null || { [ -d "$p" ] && ( cd -P "$p" && pwd ); } || printf '%s\\n' "$p"; }
is_mount() { if command -v mountpoint >/dev/null 2>&1; then mountpoint -q "$1"; else OF=$1 awk '$5 == ENVIRON["OF"] { f = 1 } END { exit !f }' /proc/self/mountinfo 2>/dev/null; fi; }
beside() { p=$1; while [ "$p" != / ] && [ "$p" != "\${p%/}" ]; do p=\${p%/}; done; r=$(real "$p"); if [ "$(stat -c %d "$(dirname "$p")" 2>/dev/null)" = "$(stat -c %d "$(dirname "$r")" 2>/dev/null)" ]; then printf '%s\\n' "$p"; else printf '%s\\n' "$r"; fi; }
unused() { u=$1; n=2; while [ -e "$u" ] || [ -L "$u" ]; do u=$1.$n; n=$((n+1)); done; printf '%s\\n' "$u"; }`;

const withoutEnd = (path: string): string => (/^\/+$/.test(path) ? '/' : path.replace(/\/+$/, ''));

type MountTable = readonly { readonly at: string; readonly type: string }[];
/** Parses the lines of /proc/self/mountinfo. Pure. */
const mountsIn = (text: string): MountTable =>
  text.split('\n').flatMap((line) => {
    const [before, after] = line.split(' - ');
    const at = before?.split(' ')[4];
    return at === undefined || after === undefined
      ? []
      : [
          {
            at: at.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8))),
            type: after.split(' ')[0] ?? '',
          },
        ];
  });
const isBelow = (path: string, directory: string): boolean =>
  directory === '/' || path === directory || path.startsWith(`${directory}/`);
const mountFacts = (text: string, real: string): Pick<PathStatus, 'is_mount' | 'file_system'> => {
  const holder = mountsIn(text)
    .filter(({ at }) => isBelow(real, at))
    .toSorted((a, b) => a.at.length - b.at.length)
    .at(-1);
  return holder === undefined ? {} : { is_mount: holder.at === real, file_system: holder.type };
};

type LocalFiles = Pick<Files, 'info' | 'realPath' | 'isWritable' | 'freeBytes' | 'diskOf' | 'readNow'>;
const mountText = ({ readNow }: LocalFiles): string => {
  try {
    return readNow('/proc/self/mountinfo') ?? '';
  } catch {
    return '';
  }
};
const besideHere = async (files: LocalFiles, named: string, real: string): Promise<DirectoryStatus> => {
  const [own, other] = await Promise.all([files.diskOf(dirname(named)), files.diskOf(dirname(real))]);
  const path = own === other ? named : real;
  const parent = dirname(path);
  const [free_bytes, is_writable] = await Promise.all([
    files.freeBytes(parent).catch(() => undefined),
    files.isWritable(parent),
  ]);
  return {
    path,
    is_writable,
    ...(free_bytes === undefined ? {} : { free_bytes }),
    ...(other === undefined ? {} : { disk: other }),
  };
};
/** Returns the real path of a path whose last part may not exist yet. */
const realHere = async (files: LocalFiles, named: string): Promise<string> => {
  const own = await files.realPath(named);
  if (own !== undefined) return own;
  const parent = await files.realPath(dirname(named)).catch(() => undefined);
  return parent === undefined ? named : join(parent, named.slice(dirname(named).length));
};
/** The directories in a data directory whose mode a server checks at its start. It checks the log only when it creates it. */
const memberDirectories = ['member', 'member/snap'] as const;
const innerModes = async (files: LocalFiles, real: string): Promise<Pick<PathStatus, 'inner_modes'>> => {
  const read = (inner: (typeof memberDirectories)[number]) => files.info(join(real, inner));
  const all = await Promise.all(memberDirectories.map(read)).catch(() => undefined);
  if (all === undefined) return {};
  const modes = memberDirectories.flatMap((name, i): [string, number][] => {
    const info = all[i];
    return info?.kind === 'directory' ? [[name, info.mode & 0o7777]] : [];
  });
  return { inner_modes: Object.fromEntries(modes) };
};
/** A directory of this machine. */
export const seePlace = async (files: LocalFiles, path: string): Promise<PathStatus> => {
  const named = withoutEnd(path);
  const real = await realHere(files, named);
  const info = await files.info(real);
  const beside = await besideHere(files, named, real);
  if (info?.kind !== 'directory') return { path: named, real, exists: false, beside };
  const [free_bytes, disk] = await Promise.all([
    files.freeBytes(real).catch(() => undefined),
    files.diskOf(real),
  ]);
  return {
    ...{ path: named, real, exists: true, beside, uid: info.uid, gid: info.gid, mode: info.mode & 0o7777 },
    ...mountFacts(mountText(files), real),
    ...(await innerModes(files, real)),
    ...(free_bytes === undefined ? {} : { free_bytes }),
    ...(disk === undefined ? {} : { disk }),
  };
};

/** Prints `place.KEY=VALUE`. Paths are in base64, because they may contain any byte. */
export const placeScript = (path: string): ShellScript => sh`${placeFunctions}
N=${withoutEnd(path)}; R=$(real "$N"); B=$(beside "$N"); P=$(dirname "$B")
encode() { printf %s "$1" | base64 | tr -d '\\n'; }
echo "place.real=$(encode "$R")"; echo "place.beside=$(encode "$B")"
echo "place.beside_kib=$(df -Pk "$P" 2>/dev/null | awk 'NR==2 {print $4}')"
echo "place.beside_disk=$(stat -c %d "$P" 2>/dev/null)"
[ -w "$P" ] && echo place.beside_writable=true
if [ -d "$R" ]; then
  echo "place.stat=$(stat -c '%u %g %a %d' "$R" 2>/dev/null)"
  [ -x "$R" ] && echo "place.inner=$(for d in ${memberDirectories}; do [ -d "$R/$d" ] && stat -c "$d:%a" "$R/$d"; done 2>/dev/null | tr '\\n' ' ')"
  echo "place.kib=$(df -Pk "$R" | awk 'NR==2 {print $4}')"
  echo "place.mounts=$(base64 < /proc/self/mountinfo 2>/dev/null | tr -d '\\n')"
fi`;
const plain = (text = ''): string => Buffer.from(text, 'base64').toString();
const isNumber = (text: string | undefined): text is string => /^\d+$/.test(text ?? '');
const innerFrom = (text: string | undefined): Pick<PathStatus, 'inner_modes'> => {
  if (text === undefined) return {};
  const found = [...text.matchAll(/(\S+):([0-7]+)(?=\s|$)/g)];
  return {
    inner_modes: Object.fromEntries(
      found.map(([, name = '', mode = '']): [string, number] => [name, Number.parseInt(mode, 8)]),
    ),
  };
};

/** Parses the output of `placeScript`. Pure. */
export const placeFrom = (
  text: string,
  path: string,
  { host }: Pick<MemberSpec, 'host'>,
): PathStatus | undefined => {
  const values = valuesIn(text);
  const of = (key: string): string | undefined => values.get(`place.${key}`);
  if (of('real') === undefined) return undefined;
  const disk = (device: string | undefined): string | undefined =>
    isNumber(device) ? `${host ?? 'here'} ${device}` : undefined;
  const bytes = (kib: string | undefined) => (isNumber(kib) ? { free_bytes: Number(kib) * 1024 } : {});
  const onDisk = (device: string | undefined) =>
    disk(device) === undefined ? {} : { disk: disk(device) as string };
  const real = plain(of('real')) || withoutEnd(path);
  const beside = {
    path: plain(of('beside')) || withoutEnd(path),
    is_writable: of('beside_writable') === 'true',
    ...bytes(of('beside_kib')),
    ...onDisk(of('beside_disk')),
  };
  const stat = of('stat');
  if (stat === undefined) return { path: withoutEnd(path), real, exists: false, beside };
  const [uid, gid, mode, device] = stat.split(' ');
  return {
    ...{ path: withoutEnd(path), real, exists: true, beside },
    ...(isNumber(uid) && isNumber(gid) ? { uid: Number(uid), gid: Number(gid) } : {}),
    ...(isNumber(mode) ? { mode: Number.parseInt(mode, 8) } : {}),
    ...mountFacts(plain(of('mounts')), real),
    ...innerFrom(of('inner')),
    ...bytes(of('kib')),
    ...onDisk(device),
  };
};

/** For messages: the path as named, and its target if it is a link. */
export const placeText = ({ path, real }: PathStatus): string =>
  path === real ? path : `${path} is a link to ${real}, which`;

/** Returns whether a directory is part of another directory after resolving all links. */
export const isPartOf = (part: PathStatus, whole: PathStatus): boolean => isBelow(part.real, whole.real);
