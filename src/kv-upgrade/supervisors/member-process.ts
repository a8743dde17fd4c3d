import { basename, resolve } from 'node:path';
import type { Host } from '../../platform/host.ts';
import { argvOf } from '../cluster/command-line.ts';
import { flagsOf } from '../configuration/configuration.ts';
import type { MemberSpec } from '../types.ts';

/** `problem`: there is a process, and it is not this member. */
export type Found = { readonly pid?: number; readonly isSuspended?: true; readonly problem?: string };
type Running = { readonly pid: number; readonly words: readonly string[] };

const textAt = ({ files }: Host, path: string): string | undefined => {
  try {
    return files.readNow(path);
  } catch {
    // A directory in the place of the file, or a file that is not ours to read: nobody is named by it.
    return undefined;
  }
};
const wordsAt = (host: Host, path: string): string[] =>
  (textAt(host, path) ?? '').replace(/\0$/, '').split('\0');
const stateOf = (host: Host, pid: number): string | undefined =>
  /^State:\s*(\S)/m.exec(textAt(host, `/proc/${pid}/status`) ?? '')?.[1];

const programs = (member: MemberSpec): Set<string> => {
  const paths = [member.old_binary, member.new_binary];
  for (const which of ['old', 'new'] as const)
    paths.push(argvOf(member[`${which}_command`], member[`${which}_binary`])?.[0]);
  return new Set(paths.flatMap((path) => (path === undefined ? [] : [basename(path)])));
};

const variable = 'ETCD_DATA_DIR=';
/** Settings in the environment count only for a server: the shell of somebody who exported them is none. */
const inEnvironment = (host: Host, member: MemberSpec, { pid, words }: Running): string | undefined =>
  programs(member).has(basename(words[0] ?? ''))
    ? wordsAt(host, `/proc/${pid}/environ`)
        .find((word) => word.startsWith(variable))
        ?.slice(variable.length)
    : undefined;

/** The data directory that a server runs on, as far as its command line or environment says. */
const directoryOf = async (host: Host, member: MemberSpec, running: Running): Promise<string | undefined> => {
  const { pid, words } = running;
  const named = flagsOf(words.slice(1)).get('data-dir') ?? inEnvironment(host, member, running);
  if (named === undefined) return undefined;
  const from = (await host.files.realPath(`/proc/${pid}/cwd`).catch(() => undefined)) ?? '/';
  const path = resolve(from, named);
  return (await host.files.realPath(path).catch(() => undefined)) ?? path;
};
const ownDirectory = async ({ files }: Host, { data_dir }: MemberSpec): Promise<string | undefined> =>
  data_dir === undefined
    ? undefined
    : ((await files.realPath(data_dir).catch(() => undefined)) ?? resolve(data_dir));

const isNamedLike = (words: readonly string[], member: MemberSpec): boolean => {
  const marks = [member.data_dir, member.client_url, member.config_file].filter((mark) => mark !== undefined);
  const names = programs(member);
  return words.some((word) => marks.some((mark) => word.includes(mark)) || names.has(basename(word)));
};

/** Why this process is not that member; undefined when it is, as far as can be seen. A pid that was given to another program must never be signalled. */
const otherwise = async (host: Host, member: MemberSpec, running: Running): Promise<string | undefined> => {
  const [directory, own] = [await directoryOf(host, member, running), await ownDirectory(host, member)];
  if (directory !== undefined && own !== undefined)
    return directory === own ? undefined : `which runs on the data directory ${directory}`;
  // A script of the operator's own says nothing of what it started: the server below it does.
  const isOurs =
    isNamedLike(running.words, member) || (await serversBelow(host, member, running.pid)).length > 0;
  return isOurs ? undefined : `which is ${basename(running.words[0] ?? '?')}`;
};

/** The process that the pid file names, when it runs and is this member. */
export const memberProcess = async (host: Host, member: MemberSpec): Promise<Found> => {
  const pid = Number.parseInt(
    (member.pid_file === undefined ? undefined : textAt(host, member.pid_file)) ?? '',
    10,
  );
  if (!(pid > 1) || !host.processes.isAlive(pid)) return {};
  const words = wordsAt(host, `/proc/${pid}/cmdline`);
  const found: Found = stateOf(host, pid) === 'T' ? { pid, isSuspended: true } : { pid };
  // Empty for the moment in which a process becomes another program: the shell that starts a member, its wrapper, the server.
  if (words.join('') === '') return found;
  const why = await otherwise(host, member, { pid, words });
  return why === undefined
    ? found
    : { problem: `${member.pid_file} names process ${pid}, ${why} and not this member` };
};

const everybody = async (host: Host): Promise<Running[]> => {
  const names = await host.files.list('/proc').catch(() => []);
  return names
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), words: wordsAt(host, `/proc/${name}/cmdline`) }));
};
const parentOf = (host: Host, pid: number): number =>
  Number(/^PPid:\s*(\d+)/m.exec(textAt(host, `/proc/${pid}/status`) ?? '')?.[1] ?? 0);

const isServer = async (host: Host, member: MemberSpec, running: Running): Promise<boolean> => {
  if (!programs(member).has(basename(running.words[0] ?? ''))) return false;
  const directory = await directoryOf(host, member, running);
  if (directory !== undefined) return directory === (await ownDirectory(host, member));
  return (
    member.config_file !== undefined &&
    running.words.some((word) => word.includes(member.config_file as string))
  );
};

/** A server of this member that no pid file names: its start command put it into the background. */
export const unnamedServer = async (host: Host, member: MemberSpec): Promise<number | undefined> => {
  for (const running of await everybody(host)) if (await isServer(host, member, running)) return running.pid;
  return undefined;
};

/** Servers of this member below the process that its pid file names: a shell that started one does not hand the stop on. */
export const serversBelow = async (host: Host, member: MemberSpec, pid: number): Promise<number[]> => {
  if (programs(member).has(basename(wordsAt(host, `/proc/${pid}/cmdline`)[0] ?? ''))) return [];
  const all = await everybody(host);
  const parents = new Map(all.map((running) => [running.pid, parentOf(host, running.pid)]));
  const isBelow = (child: number): boolean => {
    for (let at = parents.get(child) ?? 0; at > 1; at = parents.get(at) ?? 0) if (at === pid) return true;
    return false;
  };
  const found: number[] = [];
  for (const running of all)
    if (isBelow(running.pid) && (await isServer(host, member, running))) found.push(running.pid);
  return found;
};
