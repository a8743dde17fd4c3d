import { basename, isAbsolute } from 'node:path';
import { childPath, pathPart } from '../core/file-name.ts';
import { readJsonText } from '../core/json.ts';
import { isRecord } from '../core/shape.ts';
import { shellLine } from '../core/shell.ts';
import type { Host, ProcessScope } from './host.ts';
import { isPrivateOrMissing } from './trust.ts';

/** A process as a file or a cluster records it. Records of version 0.1.0 have a host name, a process ID and a mark only. */
export type ProcessIdentity = ProcessScope & {
  readonly pid: number;
  /** Start mark of the process: the system reuses process IDs, but not marks. */
  readonly mark?: string | undefined;
  /** Host name. Containers and cloned machines can share one, so a host name never identifies a machine. */
  readonly machine: string;
};

/** `unknown`: the process belongs to another machine, container or boot, so this process cannot check it. */
export type ProcessState = 'alive' | 'gone' | 'unknown';

type ProcessHost = Pick<Host, 'hostname' | 'processes'>;

export const thisProcessIdentity = (host: ProcessHost & Pick<Host, 'pid'>): ProcessIdentity => ({
  pid: host.pid,
  mark: host.processes.startMark(host.pid),
  machine: host.hostname,
  ...host.processes.scope(),
});

/** PROC_PID_INIT_INO of the kernel: every machine has this namespace, and containers usually have another one. */
const initialNamespace = 'pid:[4026531836]';

/** Version 0.1.0 put the boot ID into the mark only: `<start time>@<boot ID>`. */
const bootOf = ({ bootId, mark }: ProcessIdentity): string | undefined =>
  bootId ?? (mark?.includes('@') ? mark.slice(mark.indexOf('@') + 1) || undefined : undefined);

const isOldRecord = (scope: ProcessScope, recorded: ProcessIdentity): boolean =>
  scope.pidNamespace !== undefined && recorded.pidNamespace === undefined && recorded.machineId === undefined;

const isSameScope = (host: ProcessHost, scope: ProcessScope, recorded: ProcessIdentity): boolean => {
  if (recorded.machine !== host.hostname) return false;
  if (isOldRecord(scope, recorded)) {
    const boot = bootOf(recorded);
    return boot === undefined || boot === scope.bootId;
  }
  return (
    recorded.machineId === scope.machineId &&
    recorded.bootId === scope.bootId &&
    recorded.pidNamespace === scope.pidNamespace
  );
};

/** A restart of the machine ended all its processes. Containers share machine IDs and host names, so this rule excludes them. */
const isBeforeRestart = (host: ProcessHost, scope: ProcessScope, recorded: ProcessIdentity): boolean =>
  scope.machineId !== undefined &&
  recorded.machineId === scope.machineId &&
  recorded.machine === host.hostname &&
  recorded.pidNamespace === initialNamespace &&
  scope.pidNamespace === initialNamespace &&
  recorded.bootId !== undefined &&
  scope.bootId !== undefined &&
  recorded.bootId !== scope.bootId;

/** Checks a recorded process. `gone` is certain; a record that does not name its namespace is never `gone`. */
export const processState = (host: ProcessHost, recorded: ProcessIdentity): ProcessState => {
  const scope = host.processes.scope();
  if (!isSameScope(host, scope, recorded)) return isBeforeRestart(host, scope, recorded) ? 'gone' : 'unknown';
  const isThere =
    host.processes.isAlive(recorded.pid) &&
    (recorded.mark === undefined || host.processes.startMark(recorded.pid) === recorded.mark);
  if (isThere) return 'alive';
  return isOldRecord(scope, recorded) ? 'unknown' : 'gone';
};

/**
 * Sends a signal to a recorded process. No other code sends signals to recorded process IDs. Without the same
 * scope and the same start mark, the ID may belong to an unrelated process, and no signal is sent.
 */
export const signalRecorded = (host: ProcessHost, recorded: ProcessIdentity, signal: string): boolean =>
  recorded.mark !== undefined &&
  processState(host, recorded) === 'alive' &&
  host.processes.signal(recorded.pid, signal);

/** `process 12`, with the place if it is not here. */
export const describeProcess = (host: ProcessHost, recorded: ProcessIdentity): string => {
  if (processState(host, recorded) !== 'unknown') return `process ${recorded.pid}`;
  return recorded.machine === host.hostname
    ? `process ${recorded.pid} of another container or an earlier version on ${recorded.machine}`
    : `process ${recorded.pid} on ${recorded.machine}`;
};

/** How to continue if a recorded process holds `path`. Only a process of this machine and namespace is to be ended by its ID. */
export const waysPast = (
  host: ProcessHost,
  recorded: ProcessIdentity | undefined,
  path: string,
): readonly string[] => {
  if (recorded === undefined)
    return ['run the same command again', `${shellLine(['rm', path])} (if no other opsctl runs)`];
  const state = processState(host, recorded);
  if (state === 'alive')
    return [
      'run the same command again',
      ...(recorded.mark === undefined ? [] : [`kill ${recorded.pid} (only if that command hangs)`]),
    ];
  return [
    `check on ${recorded.machine} and in its containers that no opsctl runs, then: rm ${path}`,
    'run the same command again',
  ];
};

/** What a private directory of one process is for. It contains secrets: tokens, keys, or files of the user. */
type Purpose = 'approved' | 'mock' | 'rehearsal' | 'token' | 'trial' | 'verify';
const purposes = /^opsctl-(?:approved|mock|rehearsal|token|trial|verify)-[0-9a-f]{24}$/;
const OWNER = 'owner.json';
const PRIVATE = 0o700;
const identityIn = (text: string | undefined): ProcessIdentity | undefined => {
  const value = text === undefined ? undefined : readJsonText(text, () => new Error('no owner'));
  const isWhole =
    isRecord(value) &&
    typeof value.pid === 'number' &&
    typeof value.mark === 'string' &&
    typeof value.machine === 'string';
  return isWhole ? (value as ProcessIdentity) : undefined;
};
type DirectoryHost = ProcessHost &
  Pick<Host, 'elapsed' | 'files' | 'pid' | 'platform' | 'random' | 'sleep' | 'uid'>;
/**
 * Whether a process is alive and its command contains one of the texts: the system reuses process IDs. Without readable
 * commands, and while the process becomes another program, only the process ID counts.
 */
export const isAliveWith = (
  host: Pick<Host, 'files' | 'processes'>,
  pid: number,
  texts: readonly string[],
): boolean => {
  if (!(pid > 1) || !host.processes.isAlive(pid)) return false;
  const line = host.files.readNow(`/proc/${pid}/cmdline`) ?? '';
  return line === '' || texts.some((text) => line.includes(text));
};
/** The processes of the `*.pid` files there, such as the members of a rehearsal, that survived their killed owner. */
const survivors = async (host: DirectoryHost, directory: string): Promise<number[]> => {
  const inner = (await host.files.list(directory)).map((name) => childPath(directory, pathPart(name)));
  const found: number[] = [];
  for (const place of [directory, ...inner])
    for (const name of await host.files.list(place).catch(() => []))
      if (name.endsWith('.pid')) {
        const pid = Number.parseInt(host.files.readNow(childPath(place, pathPart(name))) ?? '', 10);
        if (isAliveWith(host, pid, [basename(directory)])) found.push(pid);
      }
  return found;
};
const endWithinMs = 5000;
/**
 * Ends the processes that survived. Only a process whose command names the directory is certain to belong to it: the name
 * is random, and no other process has it. The mark is read before the command, so the process ID is not that of a later process.
 */
const endSurvivors = async (host: DirectoryHost, directory: string): Promise<boolean> => {
  const until = host.elapsed() + endWithinMs;
  for (;;) {
    const left = await survivors(host, directory);
    if (left.length === 0) return true;
    const asked = left.filter((pid) => {
      const mark = host.processes.startMark(pid);
      const isOwn = host.files.readNow(`/proc/${pid}/cmdline`)?.includes(directory) === true;
      return isOwn && signalRecorded(host, { ...thisProcessIdentity(host), pid, mark }, 'SIGKILL');
    });
    if (asked.length === 0 || host.elapsed() > until) return false;
    await host.sleep(20);
  }
};
/**
 * Records a child process of the directory, whose command names the directory, so that a later command ends it if its
 * owner is killed. Without the record, for example on a full disk, the child is only not ended then.
 */
export const recordChild = (
  { files }: Pick<Host, 'files'>,
  directory: string,
  name: 'server' | 'upgrade',
  pid: number,
): Promise<void> =>
  files.replace(childPath(directory, pathPart(`${name}.pid`)), `${pid}\n`).catch(() => undefined);
const isAbandoned = async (host: DirectoryHost, directory: string): Promise<boolean> => {
  const { files, platform, uid } = host;
  const info = await files.info(directory);
  const isOwn = info?.kind === 'directory' && info.uid === uid;
  if (!isOwn || (platform !== 'win32' && (info.mode & 0o777) !== PRIVATE)) return false;
  const owner = identityIn(await files.read(childPath(directory, pathPart(OWNER))));
  if (owner === undefined || processState(host, owner) !== 'gone') return false;
  return endSurvivors(host, directory);
};
/**
 * Removes the private directories of processes that were killed. A directory of another user, with another mode, without
 * an owner, or whose owner this process cannot check, is never removed. Processes that the owner started there end first.
 */
export const removeAbandonedDirectories = async (host: DirectoryHost, base: string): Promise<void> => {
  const names = await host.files.list(base).catch(() => []);
  for (const name of names.filter((one) => purposes.test(one))) {
    const directory = childPath(base, pathPart(name));
    if (await isAbandoned(host, directory).catch(() => false))
      await host.files.remove(directory).catch(() => undefined);
  }
};
/**
 * Creates a directory for secrets of this process, which removes it at its end. The owner is written first, so that a
 * later command removes the directory if this process is killed.
 */
export const makeOwnDirectory = async (
  host: DirectoryHost,
  purpose: Purpose,
  base = host.files.temporaryDirectory(),
): Promise<string> => {
  await removeAbandonedDirectories(host, base);
  const name = `opsctl-${purpose}-${Buffer.from(host.random(12)).toString('hex')}`;
  const directory = childPath(base, pathPart(name));
  await host.files.makeDirectory(directory, PRIVATE);
  await host.files.create(
    childPath(directory, pathPart(OWNER)),
    JSON.stringify(thisProcessIdentity(host)),
    0o600,
    true,
  );
  return directory;
};
/** The user keeps the directory, so that no later command removes it. */
export const keepOwnDirectory = ({ files }: Pick<Host, 'files'>, directory: string): Promise<void> =>
  files.remove(childPath(directory, pathPart(OWNER)));
/**
 * The runtime directory of the user is in memory and ends with the session; otherwise the temporary directory. XDG: a
 * relative value is ignored, and only this user may own and enter the directory. Another owner could replace a token in it.
 * A directory that this user cannot inspect is none of theirs.
 */
export const runtimeDirectory = async (
  host: Pick<Host, 'env' | 'files' | 'platform' | 'uid'>,
): Promise<string> => {
  const given = host.env.XDG_RUNTIME_DIR ?? '';
  const isPrivate = isAbsolute(given) && (await isPrivateOrMissing(host, given).catch(() => false));
  return isPrivate ? given : host.files.temporaryDirectory();
};
/** Removes the token files of `auth exec` commands that were killed. It never fails, because the command of the user does something else. */
export const removeAbandonedTokens = async (host: DirectoryHost & Pick<Host, 'env'>): Promise<void> => {
  const bases = new Set([await runtimeDirectory(host), host.files.temporaryDirectory()]);
  for (const base of bases) await removeAbandonedDirectories(host, base).catch(() => undefined);
};
