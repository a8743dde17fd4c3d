import type { Host } from '../../../platform/host.ts';
import { isServerVariable } from '../../../api-specs/etcd/server-variables.ts';

/** One process of a member's host. */
export type ProcessInfo = {
  readonly pid: number;
  readonly parent: number;
  /** `T` is suspended, `Z` has ended and nobody has noticed. */
  readonly state?: string;
  readonly uid?: number;
  readonly gid?: number;
  readonly groups?: readonly number[];
  readonly cwd?: string;
  /** Empty for the moment in which a process becomes another program. */
  readonly words: readonly string[];
  /** Only the variables that a server reads. */
  readonly env: ReadonlyMap<string, string>;
  /** Differs when the pid was given to another process. */
  readonly startMark?: string;
};

/** The processes of one host, here or over ssh: what identifies a member reads nothing else. */
export type ProcessTable = {
  pidIn(pidFile: string): Promise<number | undefined>;
  get(pid: number): Promise<ProcessInfo | undefined>;
  /** At least every process whose program has one of these names, and those that they descend from. */
  all(programs: ReadonlySet<string>): Promise<readonly ProcessInfo[]>;
  realPath(path: string): Promise<string | undefined>;
};

/** `State`, `PPid`, `Uid` and the like of /proc/PID/status. Pure. */
export const statusOf = (text: string): Pick<ProcessInfo, 'parent' | 'state' | 'uid' | 'gid' | 'groups'> => {
  const line = (key: string): string | undefined =>
    new RegExp(`^${key}:[ \\t]*(.*)$`, 'm').exec(text)?.[1]?.trim();
  // Real, effective, saved, file system: files belong to the effective one.
  const effective = (key: string): number | undefined => {
    const value = line(key)?.split(/\s+/)[1];
    return value === undefined ? undefined : Number(value);
  };
  const [uid, gid, groups, state] = [effective('Uid'), effective('Gid'), line('Groups'), line('State')?.[0]];
  return {
    parent: Number(line('PPid') ?? 0),
    ...(state === undefined ? {} : { state }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    ...(groups === undefined ? {} : { groups: groups.split(/\s+/).filter(Boolean).map(Number) }),
  };
};

/** Zero-ended words, as the kernel prints them. */
export const wordsIn = (text: string): string[] => (text === '' ? [] : text.replace(/\0$/, '').split('\0'));
export const serverVariables = (words: readonly string[]): Map<string, string> =>
  new Map(
    words
      .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] as const)
      .filter(([name]) => isServerVariable(name)),
  );

const textAt = ({ files }: Host, path: string): string => {
  try {
    return files.readNow(path) ?? '';
  } catch {
    // A directory in the place of the file, or a file that is not ours to read.
    return '';
  }
};

const infoHere = async (host: Host, pid: number): Promise<ProcessInfo | undefined> => {
  const cwd = await host.files.realPath(`/proc/${pid}/cwd`).catch(() => undefined);
  const startMark = host.processes.startMark(pid);
  return {
    pid,
    ...statusOf(textAt(host, `/proc/${pid}/status`)),
    ...(cwd === undefined ? {} : { cwd }),
    words: wordsIn(textAt(host, `/proc/${pid}/cmdline`)),
    env: serverVariables(wordsIn(textAt(host, `/proc/${pid}/environ`))),
    ...(startMark === undefined ? {} : { startMark }),
  };
};

/** The processes of this machine, each read when it is asked for. */
export const localProcesses = (host: Host): ProcessTable => ({
  pidIn: async (pidFile) => {
    const pid = Number.parseInt(textAt(host, pidFile), 10);
    return pid > 1 && host.processes.isAlive(pid) ? pid : undefined;
  },
  get: (pid) => infoHere(host, pid),
  all: async (programs) => {
    const names = (await host.files.list('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
    const isWanted = (name: string): boolean =>
      programs.has((wordsIn(textAt(host, `/proc/${name}/cmdline`))[0] ?? '').replace(/^.*\//, ''));
    const servers = await Promise.all(names.filter(isWanted).map((name) => infoHere(host, Number(name))));
    return servers.flatMap((one) => one ?? []);
  },
  realPath: (path) => host.files.realPath(path).catch(() => undefined),
});
