import { args, call, hideOwnVariables, trustCall } from '../../../core/program-call.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import { limits } from '../../../core/limits.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import { scriptText, sh, argvOf, shellLine } from '../../../core/shell.ts';
import type { Exit, Host, Started } from '../../../platform/host.ts';
import {
  type TrustProblem,
  findProgramTrustProblem,
  findTrustProblem,
  trustFix,
} from '../../../platform/trust.ts';
import { connectedTo } from '../cluster/listening-sockets.ts';
import type { HostFacts, Identity, MemberSpec, Move, Placement, StepKind } from '../../engine/model.ts';
import {
  type DataCopy,
  type Driver,
  goInText,
  localShell,
  versionInText,
  type FactsRequest,
  type ScriptRunner,
  type Which,
  failureReason,
  killWithinMs,
  makeKillIgnoredError,
} from './driver.ts';
import {
  configFacts,
  directoryFacts,
  findVariableFile,
  findOtherDirectories,
  placeProblems,
  runningConfigFacts,
  startedProgram,
} from './host-facts.ts';
import {
  commandFacts,
  commandOf,
  configPath,
  findMinor,
  identityOf,
  identityProblem,
  isOperatorVariable,
  keptConfig,
  memberProcess,
  ownerFacts,
  placeFacts,
  processesOf,
  processProblems,
  unnamedServer,
} from './member-process.ts';
import {
  environmentFor,
  keepRecord,
  localProcesses,
  packEnvironment,
  type ProcessInfo,
  readProcess,
  recordHere,
  recordPath,
  unpackWords,
} from './process-record.ts';
import {
  identityFor,
  launchWords,
  missingProblems,
  missingScript,
  pathsOf,
  listPrograms,
  recordProblems,
  type Starter,
  startWords,
} from './successor.ts';
import { copyFrom, copyMs, copyScript, walDirectoryOf } from './wal-directory.ts';

/** On a busy machine or from a cold disk, a healthy server needs seconds to print its version. */
const versionWithinMs = 10_000;
export type BinaryVersion = {
  readonly version?: string;
  readonly go?: string;
  readonly error?: string;
  readonly distrust?: TrustProblem;
};
/** The version that a program prints with --version. */
export const binaryVersion = async (host: Host, binary: string | undefined): Promise<BinaryVersion> => {
  if (binary === undefined) return { error: 'no binary is named' };
  const distrust = await findProgramTrustProblem(host, [binary]);
  if (distrust !== undefined) return { error: `opsctl did not run ${binary}: ${distrust.reason}`, distrust };
  const done = await host.processes.run(...trustCall([binary], args`--version`), {
    env: hideOwnVariables(host),
    timeoutMs: versionWithinMs,
    maxBytes: limits.versionTextBytes,
    keepsRunningOnCtrlC: true,
  });
  const version = done.isCut === true ? undefined : versionInText(`${done.stdout}\n${done.stderr}`);
  if (done.startError !== undefined) return { error: `${binary} cannot be started: ${done.startError}` };
  if (version === undefined)
    return {
      error: `${binary} --version does not log a version${done.timedOut ? ` within ${versionWithinMs / 1000} s` : ''}`,
    };
  const go = goInText(`${done.stdout}\n${done.stderr}`);
  return { version, ...(go === undefined ? {} : { go }) };
};
/**
 * The first four bytes of a program for this machine. The output of a script may change while its file stays
 * the same.
 */
const elf = Buffer.from([0x7f, 0x45, 0x4c, 0x46]);
const isProgram = ({ files }: Host, path: string): boolean => {
  const parts = files.openParts(path);
  try {
    return parts !== undefined && elf.equals(parts.read(0, elf.length));
  } finally {
    parts?.close();
  }
};
/** Changes if the program changes; undefined if opsctl cannot detect that. */
const changeOf = async (host: Host, binary: string): Promise<string | undefined> => {
  const path = await host.files.realPath(binary);
  const change = path === undefined ? undefined : (await host.files.info(path))?.change;
  return change !== undefined && isProgram(host, path as string) ? change : undefined;
};
export type Versions = (binary: string | undefined) => Promise<BinaryVersion>;
/**
 * Members usually share a binary, so each binary runs only once at a time. The result is valid until the file
 * changes.
 */
export const versionsOfBinaries = (host: Host): Versions => {
  const asking = new Map<string, Promise<BinaryVersion>>();
  const known = new Map<string, { readonly change: string; readonly found: BinaryVersion }>();
  const ask = async (binary: string): Promise<BinaryVersion> => {
    const change = await changeOf(host, binary).catch(() => undefined);
    const before = known.get(binary);
    if (before !== undefined && before.change === change) return before.found;
    const found = await binaryVersion(host, binary);
    if (change !== undefined && found.version !== undefined) known.set(binary, { change, found });
    return found;
  };
  return (binary) => {
    if (binary === undefined) return binaryVersion(host, binary);
    const found = asking.get(binary) ?? ask(binary).finally(() => asking.delete(binary));
    asking.set(binary, found);
    return found;
  };
};

const pollMs = 10;
const tailBytes = 256 * 1024;
/**
 * The process of the pid file, otherwise a server of this member that its start command put into the
 * background.
 */
const pidOf = async (host: Host, member: MemberSpec): Promise<number | undefined> => {
  const table = localProcesses(host);
  return ((await memberProcess(table, member)).process ?? (await unnamedServer(table, member)))?.pid;
};
export const localDriver = (host: Host): Driver => {
  const versionOf = versionsOfBinaries(host);
  return {
    kind: 'local',
    facts: (member, want) => facts(host, member, want, versionOf),
    process: async (member) => {
      const pid = await pidOf(host, member);
      return pid === undefined ? { state: 'gone' } : { state: 'running', pid };
    },
    stop: (member, graceMs) => end(host, member, graceMs, (pid) => askToEnd(host, pid)),
    kill: async (member) => {
      if (!(await end(host, member, killWithinMs, (pid) => void host.processes.signal(pid, 'SIGKILL'))))
        throw makeKillIgnoredError(member);
    },
    start: (member, which, placement) => start(host, member, which, placement),
    copyData: (member, ending, walDir) => copyData(host, member, ending, walDir),
    stage: (member, move) => stage(host, member, move),
    // Each version has a separate program in its command, so no file changes.
    activate: async () => {},
    discard: async () => {},
    readFile: (_, path) => host.files.read(path),
    writeFile: async (_, path, text) => host.files.replace(path, text, (await host.files.info(path))?.mode),
    logTail: (member, lines) => logTail(host, member.log_file, lines),
    describe,
  };
};
const stage = async (host: Host, member: MemberSpec, move: Move): Promise<Placement> => {
  const { files } = host;
  const kept = keptConfig(member, move);
  const text = member.config_file === undefined ? undefined : await files.read(member.config_file);
  const isKept = kept !== undefined && text !== undefined;
  if (isKept) await files.replace(kept, text, (await files.info(member.config_file as string))?.mode);
  const [first] = await processesOf(localProcesses(host), member);
  await keepRecord(host, first?.pid, recordPath(member, move.from));
  const runs_as = identityOf(first);
  return {
    member: member.name,
    previous: { minor: move.from, ...(isKept ? { config: kept } : {}) },
    next: { minor: move.to },
    ...(runs_as === undefined ? {} : { runs_as }),
  };
};
const copyData = async (
  { processes }: Host,
  member: MemberSpec,
  ending: string,
  walDir: string | undefined,
): Promise<DataCopy> => {
  const done = await processes.run(...call`/bin/sh -s`, {
    input: scriptText(copyScript(member.data_dir as string, ending, walDir)),
    timeoutMs: copyMs,
    keepsRunningOnCtrlC: true,
  });
  if (done.code === 0) return copyFrom(done.stdout, member);
  throw new AppError('stopped', `${member.name}: the copy failed: ${failureReason(done)}`, {
    code: 'COMMAND_FAILED',
  });
};
const configOf = async (
  host: Host,
  member: MemberSpec,
  server: ProcessInfo | undefined,
): Promise<HostFacts> => {
  const { files } = host;
  const ask: ScriptRunner = async (script) => (await localShell(host).run(script)).stdout;
  const file = findVariableFile(member, server);
  return {
    ...(await configFacts(files, configPath(member) ?? file, file !== undefined)),
    ...(await runningConfigFacts(files, member, server, ask)),
  };
};
/** A stopped member starts in the working directory that its record contains. */
const placesHere = async (host: Host, member: MemberSpec, own: string | undefined, known: HostFacts) => {
  const { files } = host;
  const cwd = own ?? (await recordHere(host, member, undefined))?.cwd ?? host.cwd;
  const other_directories = await findOtherDirectories(files, member, cwd, known);
  return {
    problems: await placeProblems(files, member, cwd, known),
    facts: { clock_skew_ms: 0, ...(other_directories.length === 0 ? {} : { other_directories }) },
  };
};
const facts = async (
  host: Host,
  member: MemberSpec,
  { sizes, minor }: FactsRequest,
  versionOf: Versions,
): Promise<HostFacts> => {
  const table = localProcesses(host);
  const found = await memberProcess(table, member);
  const running = await processesOf(table, member, found);
  const [first, server] = [running[0], running.at(-1)];
  const [config, runs] = [await configOf(host, member, server), await findMinor(member, server, minor)];
  const wal = walDirectoryOf(member, config.config, server, runs);
  const walDir = wal?.startsWith('/') === true ? wal : undefined;
  const [directory, versions, places, place] = await Promise.all([
    directoryFacts(host.files, member.data_dir, sizes, walDir).catch(
      (error: unknown): HostFacts => ({ problems: [`data directory: ${messageOf(error)}`] }),
    ),
    versionFacts(member, versionOf),
    placesHere(host, member, first?.cwd, { ...commandFacts(server), ...config }),
    placeFacts(table, member, first),
  ]);
  const problems = [
    ...(directory.problems ?? []),
    ...(found.problem === undefined ? [] : [found.problem]),
    ...places.problems,
    ...(await successorProblems(host, member, [first, server], runs)),
    ...(await trustProblems(host, member, [server?.uid ?? directory.data_place?.uid ?? host.uid])),
  ];
  return {
    ...runningFacts(host, member, found.process),
    ...directory,
    ...versions,
    ...ownerFacts(server?.uid, directory.data_place),
    ...place,
    ...commandFacts(server),
    ...config,
    ...places.facts,
    ...(problems.length === 0 ? {} : { problems }),
  };
};
/**
 * Why root or this user must not run the programs of a member or write to its files. `service`: users who may
 * own those files.
 */
const trustProblems = async (
  host: Host,
  member: MemberSpec,
  service: readonly number[],
): Promise<string[]> => {
  const versions = ['old', 'new'] as const;
  const programs = versions.map((which) => [`${which}_binary`, startedProgram(member, which)] as const);
  const found = await Promise.all([
    ...programs.map(async ([key, path]) =>
      path === undefined ? undefined : ([key, await findProgramTrustProblem(host, [path])] as const),
    ),
    ...versions.map(async (which) => {
      const found = await findProgramTrustProblem(host, commandOf(member, which) ?? [], service);
      return [`${which}_command`, found] as const;
    }),
    ...(['pid_file', 'log_file'] as const).map(async (key) => {
      const path = member[key];
      return path === undefined
        ? undefined
        : ([key, await findTrustProblem(host, path, service, 'write')] as const);
    }),
  ]);
  const problems = found.flatMap((one) =>
    one?.[1] === undefined ? [] : [`${one[0]}: ${one[1].reason}; ${trustFix(one[1])}`],
  );
  return [...new Set(problems)];
};
/** This program as the starter: its children inherit its settings. */
const starterHere = async (host: Host): Promise<Starter> => ({
  ...(await readProcess(host, 'self')).record,
  uid: host.uid,
});
const successorProblems = async (
  host: Host,
  member: MemberSpec,
  [first, server]: readonly [ProcessInfo | undefined, ProcessInfo | undefined],
  minor: Minor | undefined,
): Promise<string[]> => {
  const problems = processProblems(member, first, server, host.uid, minor);
  // The process of another user cannot be read.
  if (first === undefined || identityProblem(first, host.uid) !== undefined) return problems;
  const [found, own] = await Promise.all([readProcess(host, first.pid), starterHere(host)]);
  const script = missingScript(found, own, {
    pid: first.pid,
    paths: pathsOf(member),
    programs: listPrograms(member),
  });
  const missing = script === undefined ? '' : (await localShell(host).run(script)).stdout;
  return [...problems, ...recordProblems(found, own), ...missingProblems(missing)];
};
const runningFacts = (host: Host, { client_url }: MemberSpec, named: ProcessInfo | undefined): HostFacts => {
  if (named === undefined) return { is_running: false };
  const connected = connectedTo(host, `/proc/${named.pid}/net`, client_url);
  return {
    is_running: true,
    pid: named.pid,
    ...(named.state === 'T' ? { is_suspended: true } : {}),
    ...(connected === undefined ? {} : { connected }),
  };
};
const versionFacts = async (member: MemberSpec, versionOf: Versions): Promise<HostFacts> => {
  const [fresh, old] = await Promise.all([
    versionOf(startedProgram(member, 'new')),
    versionOf(startedProgram(member, 'old')),
  ]);
  return {
    ...(fresh.version === undefined
      ? { new_binary_error: fresh.error as string }
      : { new_binary_version: fresh.version }),
    ...(fresh.go === undefined ? {} : { new_binary_go: fresh.go }),
    ...(old.version === undefined ? {} : { old_binary_version: old.version }),
  };
};
/**
 * Most members exit within milliseconds, and waiting adds down time. If the exit takes seconds, the interval
 * is longer.
 */
const waitForEnd = async (host: Host, pid: number, until: number): Promise<boolean> => {
  const began = host.elapsed();
  while (host.processes.isAlive(pid)) {
    const now = host.elapsed();
    if (now > until) return false;
    await host.sleep(Math.min(pollMs, Math.max(1, (now - began) / 20)));
  }
  return true;
};
/** A suspended process handles no signal before it resumes. */
const askToEnd = ({ processes }: Host, pid: number): void => {
  processes.signal(pid, 'SIGTERM');
  processes.signal(pid, 'SIGCONT');
};
/**
 * Stops the process and then its children: a shell that started the server exits without the server, which
 * would keep the data directory and the ports.
 */
const end = async (
  host: Host,
  member: MemberSpec,
  withinMs: number,
  ask: (pid: number) => void,
): Promise<boolean> => {
  const until = host.elapsed() + withinMs;
  const processes = await processesOf(localProcesses(host), member);
  // On a full disk, the record from the stage of this version is sufficient.
  await keepRecord(host, processes[0]?.pid, recordPath(member)).catch(() => {});
  for (const { pid } of processes) {
    if (host.processes.isAlive(pid)) ask(pid);
    if (!(await waitForEnd(host, pid, until))) return false;
  }
  return true;
};
/** The process is unknown: the owner of the data directory is the user that ran it. */
const ownerOfData = async ({ files }: Host, { data_dir }: MemberSpec): Promise<Identity | undefined> => {
  const info =
    data_dir === undefined ? undefined : await files.info((await files.realPath(data_dir)) ?? data_dir);
  return info === undefined ? undefined : { uid: info.uid, gid: info.gid };
};
const withoutOperators = ({ env }: Host): Record<string, undefined> =>
  Object.fromEntries(
    Object.keys(env)
      .filter(isOperatorVariable)
      .map((name) => [name, undefined]),
  );
/** If the environment of a process is known, it gets no variables of the operator. */
const withoutAny = ({ env }: Host): Record<string, undefined> =>
  Object.fromEntries(Object.keys(env).map((name) => [name, undefined]));
const start = async (host: Host, member: MemberSpec, which: Which, placement: Placement | undefined) => {
  if (commandOf(member, which) === undefined)
    throw new AppError('config', `member ${member.name} has no ${which}_command`, { code: 'CLUSTER_FILE' });
  const running = await pidOf(host, member);
  if (running !== undefined)
    throw new AppError('unsafe', `member ${member.name} is already running (process ${running})`, {
      code: 'ALREADY_RUNNING',
    });
  const record = await recordHere(host, member, placement);
  const argv = startWords(member, which, placement, record) as [string, ...string[]];
  const identity = identityFor(record, placement, await ownerOfData(host, member));
  const kept = record === undefined ? {} : environmentFor(record, member, argv);
  const command = record === undefined ? argv : [...unpackWords(kept), ...argv];
  const words = launchWords(member, command, identity, await starterHere(host), record);
  const env =
    record === undefined
      ? { ...withoutOperators(host), ...member.env }
      : { ...withoutAny(host), PATH: host.env['PATH'], ...packEnvironment(kept) };
  const launch = (log: { readonly logFile?: string }): Promise<Started> =>
    host.processes.start(...trustCall(['/bin/sh', ...words]), { env, detached: true, ...log });
  const started = await launch(member.log_file === undefined ? {} : { logFile: member.log_file }).catch(
    (error: unknown) => {
      // A log that cannot be written must not block the rollback of a member.
      if (which === 'old') return launch({});
      throw error;
    },
  );
  const isWritten = (): boolean =>
    Number.parseInt(host.files.readNow(member.pid_file as string) ?? '', 10) === started.pid;
  // Until the shell has written the pid file, it contains the previous process.
  while (!isWritten() && host.processes.isAlive(started.pid)) await host.sleep(1);
  return { pid: started.pid, exited: lastExit(host, member, started.exited) };
};
const backgroundWithinMs = 1000;
/** Returns whether the server runs in the background; the pid file contains its process from now on. */
const isInBackground = async (host: Host, member: MemberSpec): Promise<boolean> => {
  const until = host.elapsed() + backgroundWithinMs;
  while (host.elapsed() < until) {
    const pid = await pidOf(host, member);
    if (pid !== undefined) {
      if ((await memberProcess(localProcesses(host), member)).process === undefined)
        await host.files.replace(member.pid_file as string, `${pid}\n`);
      return true;
    }
    await host.sleep(pollMs);
  }
  return false;
};
/**
 * A start command that exits successfully may have put the server into the background: this is not the exit
 * of the member.
 */
const lastExit = async (host: Host, member: MemberSpec, exited: Promise<Exit>): Promise<Exit> => {
  const exit = await exited;
  // If this check fails, or the pid file cannot be written on a full disk, the exit of the command does not
  // count as the exit of the member either.
  const goesOn = exit.code === 0 && (await isInBackground(host, member).catch(() => true));
  // A server in the background reports no exit: its process must be checked.
  return goesOn ? new Promise(() => {}) : exit;
};
/** Read immediately, because this runs between a stop and a start. */
const logTail = async (host: Host, path: string | undefined, lines: number): Promise<readonly string[]> => {
  const log = path === undefined ? undefined : host.files.openParts(path);
  if (log === undefined) return [];
  try {
    const text = Buffer.from(log.read(Math.max(0, log.size - tailBytes), tailBytes)).toString();
    return text
      .split('\n')
      .filter((line) => line !== '')
      .slice(-lines);
  } finally {
    log.close();
  }
};
const describe = (kind: StepKind, member: MemberSpec, which: Which): readonly string[] => {
  if (kind === 'stop') return [String(sh`kill -TERM "$(cat ${[member.pid_file ?? '']})"`)];
  if (kind === 'copy-data') return [shellLine(['cp', '-aL', member.data_dir ?? '', 'COPY'])];
  if (kind !== 'start') return [];
  const argv = argvOf(member[`${which}_command`], member[`${which}_binary`]) ?? [];
  return [String(sh`${argv} >> ${[member.log_file ?? '']} 2>&1 &`)];
};
