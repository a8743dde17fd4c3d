import { basename, dirname } from 'node:path';
import { sh, shellLines, type ShellScript, argvOf } from '../../../core/shell.ts';
import type { FileInfo } from '../../../platform/host.ts';
import type { HostFacts, Identity, MemberSpec, Placement } from '../../engine/model.ts';
import { flagsOf } from '../configuration/configuration.ts';
import {
  killWithinMs,
  markKillIgnored,
  type ScriptRunner,
  versionScript,
  type MakeService,
  type FactsRequest,
  type Which,
} from './driver.ts';
import {
  configFacts,
  type FileProbes,
  findVariableFile,
  findOtherDirectories,
  placeProblems,
  runningConfigFacts,
} from './host-facts.ts';
import {
  commandFacts,
  commandOf,
  findMinor,
  identityOf,
  identityProblem,
  memberProcess,
  placeFacts,
  processesOf,
  processProblems,
} from './member-process.ts';
import {
  environmentFor,
  isPortable,
  keepRecordThere,
  packEnvironment,
  type ProcessInfo,
  type ProcessTable,
  readProcessThere,
  recordPath,
  recordThere,
  serverVariables,
  statusOf,
  unpackWords,
  wordsIn,
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

type Seen = { readonly real?: string; readonly info?: FileInfo; readonly isWritable: boolean };
const kindOf = (type: string): FileInfo['kind'] => {
  if (/link/.test(type)) return 'link';
  if (type === 'directory') return 'directory';
  return /regular/.test(type) ? 'file' : 'other';
};
const infoFrom = (text: string): FileInfo | undefined => {
  if (text === '') return undefined;
  const [type = '', size, mode, uid, gid, modified] = text.split('|');
  return {
    kind: kindOf(type),
    sizeBytes: Number(size),
    mode: Number.parseInt(mode ?? '0', 8),
    uid: Number(uid),
    gid: Number(gid),
    modifiedMs: Number(modified) * 1000,
  };
};
/**
 * Prints a line per path: its name, its real name, the output of stat, whether it is writable; and the same
 * values for its real path.
 */
const lookScript = (
  paths: readonly string[],
): ShellScript => sh`encode() { printf %s "$1" | base64 | tr -d '\\n'; }
see() { r=; [ ! -e "$1" ] || r=$(readlink -f "$1"); w=no; [ ! -w "$1" ] || w=yes
echo "path=$(encode "$1") $(encode "$r") $(encode "$(stat -c '%F|%s|%a|%u|%g|%Y' -- "$1" 2>/dev/null)") $w"; }
for p in ${paths}; do see "$p"; if [ -e "$p" ] && [ "$(readlink -f "$p")" != "$p" ]; then see "$(readlink -f "$p")"; fi; done
exit 0`;
const plain = (text = ''): string => Buffer.from(text, 'base64').toString();
const seenIn = (text: string): Map<string, Seen> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line.startsWith('path='))
      .map((line) => {
        const [path, real, info, writable] = line.slice('path='.length).split(' ');
        const [place, found] = [plain(real), infoFrom(plain(info))];
        return [
          plain(path),
          {
            ...(place === '' ? {} : { real: place }),
            ...(found === undefined ? {} : { info: found }),
            isWritable: writable === 'yes',
          },
        ];
      }),
  );
/** Files of a host. Reads the named files with one request, and every other file with a separate request. */
export const remoteFiles = async (
  named: readonly (string | undefined)[],
  ask: ScriptRunner,
): Promise<FileProbes> => {
  const paths = [...new Set(named.flatMap((path) => (path === undefined ? [] : [path, dirname(path)])))];
  const known = paths.length === 0 ? new Map<string, Seen>() : seenIn(await ask(lookScript(paths)));
  const see = async (path: string): Promise<Seen> => {
    if (!known.has(path))
      for (const [name, one] of seenIn(await ask(lookScript([path])))) known.set(name, one);
    return known.get(path) ?? { isWritable: false };
  };
  return {
    realPath: async (path) => (await see(path)).real,
    info: async (path) => (await see(path)).info,
    isWritable: async (path) => (await see(path)).isWritable,
  };
};

const programsOf = (member: MemberSpec): string[] => {
  const paths = (['old', 'new'] as const).flatMap((which) => [
    member[`${which}_binary`],
    argvOf(member[`${which}_command`], member[`${which}_binary`])?.[0],
  ]);
  return [...new Set(paths.flatMap((path) => (path === undefined ? [] : [basename(path)])))];
};
/**
 * Inspects a host: the process of the pid file, every server, and their parents. One line per process, in
 * base64 if a value may contain any byte.
 */
const processLookScript = (member: MemberSpec): ShellScript => {
  const names = programsOf(member).flatMap((name) => ['-e', name]);
  return sh`pid=$(cat ${member.pid_file} 2>/dev/null | tr -cd 0-9)
echo "uid=$(id -u)"
[ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && echo "pid=$pid"
[ -z ${member.data_dir} ] || echo "own=$(readlink -f ${member.data_dir} | base64 | tr -d '\\n')"
[ -d /proc/self ] || { [ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null || echo "process=$pid"; exit 0; }
awk '/^PPid:/ { split(FILENAME, at, "/"); print "parent=" at[3] " " $2 }' /proc/[0-9]*/status 2>/dev/null
for d in $( { [ -z "$pid" ] || echo "/proc/$pid/cmdline"; ${names.length === 0 ? sh`:` : sh`grep -laF ${names} /proc/[0-9]*/cmdline 2>/dev/null`}; } | sort -u); do
  d=\${d%/cmdline}; [ -r "$d/status" ] || continue
  e=$(tr '\\0' '\\n' < "$d/environ" 2>/dev/null | grep '^ETCD_' | base64 | tr -d '\\n')
  echo "process=\${d#/proc/} $(base64 < "$d/status" | tr -d '\\n') $(readlink "$d/cwd" | base64 | tr -d '\\n') $(base64 < "$d/cmdline" | tr -d '\\n') \${e:--} $(sed 's/.*) //' "$d/stat" | cut -d' ' -f20)"
done 2>/dev/null
exit 0`;
};
const plainProcess = (text = ''): string => (text === '-' ? '' : Buffer.from(text, 'base64').toString());
const processInfoFrom = (line: string): ProcessInfo | undefined => {
  // An unreadable value is an empty field: fields are identified by their position.
  const [pid, status, cwd, cmdline, env, startMark] = line.split(' ');
  if (!(Number(pid) > 1)) return undefined;
  const place = plainProcess(cwd).trim();
  return {
    pid: Number(pid),
    ...statusOf(plainProcess(status)),
    ...(place === '' ? {} : { cwd: place }),
    words: wordsIn(plainProcess(cmdline)),
    env: serverVariables(plainProcess(env).split('\n')),
    ...(startMark === undefined || startMark === '' ? {} : { startMark }),
  };
};
/**
 * Real names of paths on the host; the first inspection already contains the name of the member's data
 * directory.
 */
const pathsOn = (ask: ScriptRunner, own: string, named: string | undefined): ProcessTable['realPath'] => {
  const known = new Map<string, Promise<string | undefined>>();
  if (own !== '' && named !== undefined)
    for (const path of [own, named]) known.set(path, Promise.resolve(own));
  const resolvePath = async (path: string): Promise<string | undefined> => {
    const real = (await ask(sh`readlink -f ${path} || true`)).trim();
    return real === '' ? undefined : real;
  };
  return (path) => {
    const real = known.get(path) ?? resolvePath(path);
    known.set(path, real);
    return real;
  };
};
/** `ownUid`: the user of the inspection, who would also start a member. */
export type RemoteProcesses = ProcessTable & { readonly ownUid: number };
/** Parses the output of the inspection. Pure except for paths that must be resolved on the host. */
const processesFrom = (text: string, member: MemberSpec, ask: ScriptRunner): RemoteProcesses => {
  const values = text.split('\n').map((line): [string, string] => {
    const at = line.indexOf('=');
    return [line.slice(0, Math.max(at, 0)), line.slice(at + 1)];
  });
  const of = (key: string): string[] => values.flatMap(([name, value]) => (name === key ? [value] : []));
  const found = new Map(
    of('process')
      .flatMap((line) => processInfoFrom(line) ?? [])
      .map((one) => [one.pid, one]),
  );
  const parents = new Map(of('parent').map((line) => line.split(' ').map(Number) as [number, number]));
  const realPath = pathsOn(ask, plainProcess(of('own')[0]).trim(), member.data_dir);
  return {
    ownUid: Number(of('uid')[0]),
    pidIn: async () => {
      const pid = Number(of('pid')[0]);
      // A process that exited between the two steps of the script is left out.
      return found.has(pid) ? pid : undefined;
    },
    get: async (pid) => {
      const parent = parents.get(pid);
      return (
        found.get(pid) ?? (parent === undefined ? undefined : { pid, parent, words: [], env: new Map() })
      );
    },
    all: async (programs) =>
      [...found.values()].filter(({ words }) => programs.has(basename(words[0] ?? ''))),
    realPath,
  };
};
export const remoteProcesses = async (member: MemberSpec, ask: ScriptRunner): Promise<RemoteProcesses> =>
  processesFrom(await ask(processLookScript(member)), member, ask);

const running = async (member: MemberSpec, ask: ScriptRunner): Promise<readonly ProcessInfo[]> =>
  processesOf(await remoteProcesses(member, ask), member);
/** `lives PID MARK` checks that this process runs: its pid was not reused, and it is not a zombie. */
const lives = sh`lives() { kill -0 "$1" 2>/dev/null || return 1
s=$(cat "/proc/$1/stat" 2>/dev/null) || { [ ! -d /proc/self ]; return; }
s=\${s##*) }; case "$s" in Z*|X*) return 1;; esac
[ -z "$2" ] || [ "$(echo "$s" | cut -d' ' -f20)" = "$2" ]; }`;
/** Signals each process and waits for its exit: first the process in the pid file, then its children. */
const endScript = (
  processes: readonly ProcessInfo[],
  signals: (pid: number) => ShellScript,
  graceMs: number,
): ShellScript => {
  const ends = processes.map(
    ({ pid, startMark }) => sh`if lives ${pid} ${startMark}; then ${signals(pid)}; fi
while lives ${pid} ${startMark}; do i=$((i+1)); [ $i -gt ${Math.ceil(graceMs / 50)} ] && exit 1; sleep 0.05; done`,
  );
  return sh`${lives}
i=0
${shellLines(ends)}
exit 0`;
};
/** All paths that placeProblems checks. */
const namedPaths = (member: MemberSpec): (string | undefined)[] => [
  ...[member.data_dir, member.pid_file, member.log_file],
  ...(['old', 'new'] as const).flatMap((which) => {
    const [program, ...words] = commandOf(member, which) ?? [];
    return [program, flagsOf(words).get('data-dir')].map((path) =>
      path?.startsWith('/') === true ? path : undefined,
    );
  }),
];
/** The shell on the host as the starter: its children inherit its settings. */
const starterThere = async (ask: ScriptRunner, uid: number): Promise<Starter> => ({
  ...(await readProcessThere(ask, 'self')).record,
  uid,
});
const successorProblems = async (
  ask: ScriptRunner,
  member: MemberSpec,
  first: ProcessInfo | undefined,
  ownUid: number,
): Promise<string[]> => {
  // The process of another user cannot be read.
  if (first === undefined || identityProblem(first, ownUid) !== undefined) return [];
  const [found, own] = await Promise.all([readProcessThere(ask, first.pid), starterThere(ask, ownUid)]);
  const script = missingScript(found, own, {
    pid: first.pid,
    paths: pathsOf(member),
    programs: listPrograms(member),
  });
  const missing = script === undefined ? '' : await ask(script);
  return [...recordProblems(found, own), ...missingProblems(missing)];
};
const readThere = async (ask: ScriptRunner, path: string): Promise<string | undefined> => {
  const output = await ask(sh`[ ! -r ${path} ] || { echo file; base64 < ${path}; }; exit 0`);
  return output.startsWith('file\n') ? Buffer.from(output.slice(5), 'base64').toString() : undefined;
};
const facts = async (member: MemberSpec, ask: ScriptRunner, { minor }: FactsRequest): Promise<HostFacts> => {
  const [table, files] = await Promise.all([
    remoteProcesses(member, ask),
    remoteFiles(namedPaths(member), ask),
  ]);
  const { process, problem } = await memberProcess(table, member);
  const all = await processesOf(table, member);
  const [first, server] = [all[0], all.at(-1)];
  const file = findVariableFile(member, server);
  const there = { read: (path: string) => readThere(ask, path) };
  const known = {
    ...commandFacts(server),
    ...(file === undefined ? {} : await configFacts(there, file, true)),
    ...(await runningConfigFacts(there, member, server, ask)),
  };
  const cwd = first?.cwd ?? (await recordThere(ask, member, undefined))?.cwd ?? '/';
  const other_directories = await findOtherDirectories(files, member, cwd, known);
  const problems = [
    ...(problem === undefined ? [] : [problem]),
    ...(await placeProblems(files, member, cwd, known)),
    ...processProblems(member, first, server, table.ownUid, await findMinor(member, server, minor)),
    ...(await successorProblems(ask, member, first, table.ownUid)),
  ];
  return {
    is_running: first !== undefined,
    ...(first === undefined ? {} : { pid: first.pid }),
    ...(process?.state === 'T' ? { is_suspended: true } : {}),
    ...(await placeFacts(table, member, first)),
    ...known,
    ...(other_directories.length === 0 ? {} : { other_directories }),
    ...(problems.length === 0 ? {} : { problems }),
  };
};
/** The process is unknown: the owner of the data directory is the user that ran it. */
const ownerOfData = async (member: MemberSpec, ask: ScriptRunner): Promise<Identity | undefined> => {
  if (member.data_dir === undefined) return undefined;
  const { data_dir } = member;
  const files = await remoteFiles([data_dir], ask);
  const info = await files.info((await files.realPath(data_dir)) ?? data_dir);
  return info === undefined ? undefined : { uid: info.uid, gid: info.gid };
};
const unsetOperators = sh`for v in $(env | sed -n 's/^\\(ETCD_[A-Z_]*\\|ETCDCTL_[A-Z_]*\\|OPSCTL_[A-Z_]*\\)=.*/\\1/p'); do unset "$v"; done`;
/** Keeps PATH: the commands of this script need it, and the record contains its own PATH. */
const unsetAll = sh`for v in $(env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p'); do [ "$v" = PATH ] || unset "$v"; done`;
const keptBefore = async (member: MemberSpec, ask: ScriptRunner): Promise<readonly ProcessInfo[]> => {
  const processes = await running(member, ask);
  // On a full disk, the record from the stage of this version is sufficient.
  await keepRecordThere(ask, processes[0]?.pid, recordPath(member)).catch(() => {});
  return processes;
};
const startScript = async (
  member: MemberSpec,
  which: Which,
  placement: Placement | undefined,
  ask: ScriptRunner,
): Promise<ShellScript> => {
  const table = await remoteProcesses(member, ask);
  const [first] = await processesOf(table, member);
  if (first !== undefined) return sh`echo "it is already running (process ${first.pid})" >&2; exit 4`;
  const record = await recordThere(ask, member, placement);
  // Without a process, uses the directory that the checks assumed, not the home directory of the ssh user.
  const identity = {
    cwd: '/',
    ...identityFor(record, placement, await ownerOfData(member, ask)),
  };
  const argv = startWords(member, which, placement, record) ?? [];
  const kept = record === undefined ? {} : environmentFor(record, member, argv);
  const command = record === undefined ? argv : [...unpackWords(kept), ...argv];
  const words = launchWords(member, command, identity, await starterThere(ask, table.ownUid), record);
  // Standard input contains the environment: it may contain secrets, and a process list shows the arguments
  // of a command.
  const env = record === undefined ? (member.env ?? {}) : packEnvironment(kept);
  const exports = Object.entries(env)
    .filter(([name]) => isPortable(name))
    .map(([name, value]) => sh`export ${`${name}=${value}`}`);
  return sh`${record === undefined ? unsetOperators : unsetAll}
(
${shellLines(exports)}
exec nohup /bin/sh ${words}
) >> ${member.log_file} 2>&1 < /dev/null &
p=$!; i=0
while [ "$(cat ${member.pid_file} 2>/dev/null)" != "$p" ] && kill -0 $p 2>/dev/null && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.01; done
exit 0`;
};
/** A process with a pid file on another host. */
export const pidFileService: MakeService = () => ({
  look: () => sh`true`,
  stateFrom: () => ({ state: 'unknown', reason: 'opsctl did not check its processes' }),
  processOf: async (member, ask) => {
    const [first] = await running(member, ask);
    return first === undefined ? { state: 'gone' } : { state: 'running', pid: first.pid };
  },
  facts,
  runsAs: async (member, ask, from) => {
    const [first] = await running(member, ask);
    await keepRecordThere(ask, first?.pid, recordPath(member, from));
    return identityOf(first) ?? (await ownerOfData(member, ask));
  },
  stop: (member, graceMs) => async (ask) =>
    endScript(await keptBefore(member, ask), (pid) => sh`kill -TERM ${pid}; kill -CONT ${pid}`, graceMs),
  kill: (member) => async (ask) => {
    const processes = await running(member, ask);
    return markKillIgnored(endScript(processes, (pid) => sh`kill -KILL ${pid}`, killWithinMs));
  },
  start: (member, which, placement) => (ask) => startScript(member, which, placement, ask),
  logTail: (member, lines) => sh`tail -n ${lines} ${member.log_file}`,
  version: (member, which) =>
    versionScript(member[`${which}_binary`] ?? argvOf(member[`${which}_command`], undefined)?.[0]),
  describe: (kind, member, which) => {
    if (kind === 'stop') return [String(sh`kill -TERM "$(cat ${[member.pid_file ?? '']})"`)];
    if (kind !== 'start') return [];
    return [String(sh`${commandOf(member, which) ?? []} >> ${[member.log_file ?? '']} 2>&1 &`)];
  },
});
