import { basename, resolve } from 'node:path';
import { FILE_VARIABLE } from '../../../api-specs/etcd/server-settings.ts';
import { type Minor, minorOf } from '../../../api-specs/etcd/versions.ts';
import { argvOf } from '../../../core/shell.ts';
import {
  fileOfStart,
  findChangedConfig,
  isServer,
  type ReadSetting,
  readSettings,
  runningStart,
  settingsOf,
} from '../configuration/configuration.ts';
import { findServers, emptyEnvironment } from '../configuration/server-command.ts';
import { configPath } from '../supervisors/member-process.ts';
import type {
  ChangedFile,
  ClusterFile,
  HostFacts,
  MemberStatus,
  MemberSpec,
  Observation,
} from '../../engine/model.ts';
import { isOn, type NextStart } from '../configuration/access.ts';
import type { StartSettings } from '../configuration/setting-combinations.ts';
import type { GuardInput, Log } from './guard.ts';

export type MemberHost = MemberStatus['host'];

/** A member that the plan starts, and how it starts it. */
export type StartCase = {
  readonly member: MemberSpec;
  readonly host: MemberHost;
  readonly to: Minor;
  readonly isLocal: boolean;
};
export type Case = StartCase & {
  readonly seen: MemberStatus | undefined;
  readonly from: Minor | undefined;
  readonly kind: GuardInput['kind'];
};
/**
 * The start of the new version: opsctl uses the values of the cluster file, and a service uses the values of
 * the running version.
 */
export type Start = {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly inWords: string;
  readonly inEnv: string;
  /** Parts of new_command that are unknown before it runs. */
  readonly unread: readonly string[];
  /** A program that is not a server: it may set more than its arguments and its variables. */
  readonly isScript: boolean;
  /** The image of the container may set more variables. */
  readonly isContained: boolean;
};
/** The server behind the wrappers of new_command. A script of the operator counts as the server. */
const serverOf = (
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  binary: string | undefined,
): Pick<Start, 'words' | 'env' | 'unread' | 'isScript' | 'isContained'> => {
  const [server] = findServers(words, { ...emptyEnvironment, env });
  if (server !== undefined) return { ...server, isScript: false };
  const isScript = !isServer(words[0] ?? '') && (binary === undefined || words[0] !== binary);
  return { words, env, unread: [], isScript, isContained: false };
};
export const startOf = (
  { member, host, isLocal }: Omit<StartCase, 'to'>,
  inherited: Start['env'] = {},
): Start | undefined => {
  const named = argvOf(member.new_command, member.new_binary);
  if (isLocal || member.new_command !== undefined) {
    // A successor inherits the environment of the running process, and `env` overrides it.
    const file = host?.environment?.[FILE_VARIABLE];
    const env = {
      ...inherited,
      ...(file === undefined ? {} : { [FILE_VARIABLE]: file }),
      ...member.env,
    };
    return {
      ...serverOf(named ?? [], env, member.new_binary),
      inWords: 'in new_command',
      inEnv: 'in env',
    };
  }
  return host?.command === undefined || host.environment === undefined
    ? undefined
    : {
        words: host.command,
        env: host.environment,
        unread: [],
        isScript: false,
        isContained: false,
        inWords: 'in the command line of its service',
        inEnv: 'in the environment of its service',
      };
};

/** A container may have the same directory at another path. */
const isContainedStart = (one: StartCase): boolean => inheritingStart(one)?.isContained === true;
/** The start with the variables that it inherits from the running process. */
export const inheritingStart = (one: StartCase): Start | undefined => startOf(one, one.host?.environment);

/** Returns whether opsctl starts the members, not a service manager. */
export const isStartedHere = (cluster: ClusterFile): boolean =>
  [cluster.driver ?? 'local', cluster.ssh?.then ?? 'local'].every((one) => one === 'local' || one === 'ssh');

/** Returns whether the plan starts this member: an upgrade that is under way does not start a finished member again. */
export const isStartedByPlan = (
  { to, kind }: Pick<GuardInput, 'to' | 'kind'>,
  { server_version }: Pick<MemberStatus, 'server_version'>,
): boolean => kind === 'restart' || minorOf(server_version) !== to;
const replacesFile = ({ member, kind }: Pick<Case, 'member' | 'kind'>): boolean =>
  kind === 'restart' && member.new_config_file !== undefined;
/** A service manager starts the member with the command line of its running process. */
const isServiceStart = ({ isLocal, member }: Pick<StartCase, 'isLocal' | 'member'>): boolean =>
  !isLocal && member.new_command === undefined;
/** A service manager starts the member as before, and only a new configuration file can change its settings. */
export const keepsStart = (one: Case): boolean => isServiceStart(one) && !replacesFile(one);
/** Returns whether two paths of a host are equal. Relative paths belong to the working directory of the process. */
const isSamePath = (host: MemberHost, a: string, b: string): boolean => {
  const [one, other] = [a, b].map((path) => resolve(host?.working_directory ?? '/', path));
  return one === other;
};
export const changedText = ({ path, changed_at, started_at }: ChangedFile): string =>
  `its process started at ${started_at} and read ${path}, which changed at ${changed_at}`;
/**
 * The settings of the running process, or the reason why they are unknown. A service manager starts the member
 * with the same path, which may belong to another file system than the path in the cluster file.
 */
export const readRunning = (
  one: Case & { readonly seen: MemberStatus },
): { readonly read: ReadSetting } | { readonly unknown: string } => {
  const { member, host, seen } = one;
  const start = runningStart(member, seen);
  const path = fileOfStart(start);
  if (path === undefined) {
    const read = readSettings({ ...start, file: undefined });
    return read === undefined ? { unknown: 'the settings of its process were not read' } : { read };
  }
  const next = inheritingStart(one);
  const nextPath = next === undefined ? undefined : fileOfStart({ ...next, minor: one.to });
  const isSame = [nextPath, configPath(member)].some(
    (other) => other !== undefined && isSamePath(host, other, path),
  );
  const current = replacesFile(one) ? host?.replaced_config : host?.config;
  const content = host?.running_config ?? (isSame || isServiceStart(one) ? current : undefined);
  const file = findChangedConfig(host) === undefined ? content : undefined;
  const read = file === undefined ? undefined : readSettings({ ...start, file });
  if (read !== undefined) return { read };
  const other = configPath(member) ?? nextPath;
  const changed = findChangedConfig(host);
  if (changed !== undefined) return { unknown: changedText(changed) };
  return {
    unknown:
      isSame || other === undefined
        ? `its process reads ${path}, which was not read`
        : `its process reads ${path}, which was not read, and its next start reads ${other}`,
  };
};
export const nothingRead: NextStart = { read: () => undefined, isKnown: () => false };
export type StatusCase = Case & { readonly seen: MemberStatus };
/** The directory that the running process uses for a setting; undefined if it is not known. */
const runningDirectory = (one: StatusCase, key: 'data-dir' | 'wal-dir'): string | undefined => {
  const { host } = one;
  if (findChangedConfig(host) !== undefined)
    return key === 'data-dir' ? host?.open_data_dir : host?.open_wal_dir;
  const running = readRunning(one);
  const set = 'read' in running ? running.read(key) : undefined;
  return typeof set === 'string' && set !== '' ? set : undefined;
};
/** The directory of the next start, and whether it is the default of the server, which depends on two settings. */
type NextDirectory = { readonly path: string; readonly isDefault: boolean };
const nameIn = (read: ReadSetting): string => {
  const name = read('name');
  return typeof name === 'string' && name !== '' ? name : 'default';
};
const defaultDirectory = (read: ReadSetting): string => `${nameIn(read)}.etcd`;
const nextDirectory = (one: StatusCase, key: 'data-dir' | 'wal-dir'): NextDirectory | undefined => {
  const start = readNextStart(one);
  if (start?.isKnown(key) !== true) return undefined;
  const given = start.read(key);
  if (typeof given === 'string' && given !== '')
    return given.startsWith('/') || one.host?.working_directory !== undefined
      ? { path: given, isDefault: false }
      : undefined;
  // Another check reports every setting of a file that the next start does not read.
  const leavesFile = !start.isFile && fileOfStart(runningStart(one.member, one.seen)) !== undefined;
  return key === 'wal-dir' || !start.isKnown('name') || leavesFile
    ? undefined
    : { path: defaultDirectory(start.read), isDefault: true };
};
const isRunningDirectory = (
  { host }: StatusCase,
  key: string,
  current: string,
  { path, isDefault }: NextDirectory,
): boolean => {
  if (isDefault && host?.working_directory === undefined) return basename(current) === path;
  const links = key === 'data-dir' ? [host?.real_data_dir, host?.data_place?.real] : [host?.wal_place?.real];
  // The places come from the settings, which changed.
  const known = findChangedConfig(host) === undefined ? [current, ...links] : [current];
  return known.some((one) => one !== undefined && isSamePath(host, one, path));
};
/** Without the directory of the process, only the cluster file shows where its data is. */
const isExpectedDirectory = ({ member, host }: StatusCase, key: string, given: string): boolean => {
  const data = [member.data_dir, host?.real_data_dir].flatMap((path) => (path === undefined ? [] : [path]));
  const known = key === 'data-dir' ? data : [member.wal_dir, ...data.map((path) => `${path}/member/wal`)];
  return known.some((path) => path !== undefined && isSamePath(host, path, given));
};
/**
 * A start in another directory begins without the data. A single member would even have the same IDs, and accept
 * writes into an empty store (seen on 3.4 and 3.5).
 */
const checkNextDirectory = (one: StatusCase, key: 'data-dir' | 'wal-dir', log: Log): void => {
  const next = nextDirectory(one, key);
  const { name } = one.member;
  if (next === undefined) return;
  const current = runningDirectory(one, key);
  const changed = findChangedConfig(one.host);
  const why = changed === undefined ? '' : `: ${changedText(changed)}`;
  if (current !== undefined) {
    if (isRunningDirectory(one, key, current, next)) return;
    log.fail({
      member: name,
      message: `${name}: ${key} is ${next.path} in its next start, and its process uses ${current}${why}`,
      hint: `write ${key} ${current} there: in another directory it would start without its data`,
    });
  } else if (changed !== undefined && !next.isDefault && !isExpectedDirectory(one, key, next.path))
    log.noteUnknown({
      member: name,
      message: `${name}: ${key} is ${next.path} in its next start, and the directory of its process could not be read${why}`,
      hint: 'compare the file with a backup: in another directory the member would start without its data',
    });
};
/**
 * A member with data reads its name at each start, and the cluster then lists it under the new name. It ignores new
 * peer URLs (seen on 3.4 and 3.5).
 */
export const checkNextName = (one: StatusCase, listed: Observation['listed'], log: Log): void => {
  const [next, running] = [readNextStart(one), readRunning(one)];
  const current = listed.find(({ id }) => id === one.seen.member_id)?.name ?? '';
  if (next === undefined || next.isPartial || !next.isKnown('name') || current === '' || keepsStart(one))
    return;
  const name = nameIn(next.read);
  if (next.read('name') === undefined || !('read' in running) || nameIn(running.read) === name) return;
  // A shell or a template inserts the name.
  if (name === current || /[$`{%]/.test(name)) return;
  log.warn({
    member: one.member.name,
    message: `${one.member.name}: name is ${name} in its next start: the member keeps its data, but the cluster lists it as ${name} instead of ${current}`,
    hint: `write name ${current} there`,
  });
};
/** The process of a container shows the paths of its own file system. */
export const checkNextDirectories = (one: StatusCase, log: Log): void => {
  const { container, manifest } = one.member;
  if (container !== undefined || manifest !== undefined || isContainedStart(one)) return;
  checkNextDirectory(one, 'data-dir', log);
  checkNextDirectory(one, 'wal-dir', log);
};
/**
 * A relative directory depends on the working directory of the process, which its successor keeps. In any
 * other directory the successor would find an empty directory.
 */
export const checkDataDirectory = (member: MemberSpec, host: MemberHost, log: Log): void => {
  const directory = host?.config?.['data-dir'];
  if (typeof directory !== 'string' || directory.startsWith('/')) return;
  const where = host?.working_directory;
  const found = where === undefined ? undefined : resolve(where, directory);
  if (found !== undefined && (found === member.data_dir || found === host?.real_data_dir)) return;
  const why =
    found === undefined
      ? 'which is relative, and the member has no running process whose working directory would resolve it'
      : `which resolves to ${found} in its working directory; data_dir is ${member.data_dir}`;
  log.fail({
    member: member.name,
    message: `${member.name}: data-dir is ${directory} in its configuration file, ${why}`,
    hint: `write the absolute path there${member.data_dir === undefined ? '' : `, ${member.data_dir}`}`,
  });
};

type NextFile = {
  readonly content: HostFacts['config'];
  /** Whether the start reads exactly that content. */
  readonly isCertain: boolean;
};
/**
 * The configuration file of a next start: `config_file` of the cluster file has no effect if the start does not
 * name it. A container or a service with its own root names the same file by another path. A script may name a
 * file that was not found, and then it is the file that the running process reads.
 */
const nextFileOf = (one: StartCase, start: Start | undefined): NextFile => {
  const { member, host, to } = one;
  const content = host?.config;
  if (start === undefined) return { content, isCertain: content !== undefined };
  const running = fileOfStart({ words: host?.command ?? [], env: host?.environment ?? {}, minor: to });
  const isPartial = start.isScript || start.isContained || start.unread.length > 0;
  const path = fileOfStart({ ...start, minor: to }) ?? (isPartial ? running : undefined);
  if (path === undefined) return { content: undefined, isCertain: false };
  const own = configPath(member);
  const isOwn = own === undefined || start.isContained || isServiceStart(one) || isSamePath(host, own, path);
  const isRunning = running !== undefined && isSamePath(host, running, path);
  const read = (isOwn ? content : undefined) ?? (isRunning ? host?.running_config : undefined);
  return { content: read, isCertain: read !== undefined };
};
/**
 * The settings of the next start of a member. opsctl, a unit and a container pass the variables of the running
 * process on, and `env` of the cluster file overrides them. A script, an unread part and the image of a container
 * may contain settings that were not found. Undefined: no configuration was read. Pure.
 */
export const readNextStart = (one: StartCase): (StartSettings & Pick<Start, 'isScript'>) | undefined => {
  const { host, to } = one;
  const start = inheritingStart(one);
  const { words, env } = start ?? { words: [], env: {} };
  const { content: file, isCertain } = nextFileOf(one, start);
  const read = readSettings({ words, env, file, minor: to });
  if (read === undefined) return undefined;
  const isFile = file !== undefined;
  if (start === undefined || isCertain)
    return { read, isKnown: () => true, isScript: false, isFile, isPartial: false };
  const { isScript } = start;
  const isPartial = isScript || start.unread.length > 0;
  const ofImage = settingsOf(start.isContained ? (host?.environment ?? {}) : {});
  const isKnown = (flag: string): boolean => {
    const value = read(flag);
    if (value === undefined) return !isPartial && !ofImage.has(flag);
    return !(isPartial && /[$`]/.test(String(value)));
  };
  return { read, isKnown, isScript, isFile, isPartial };
};

const FORCE = 'force-new-cluster';
/**
 * What is known about the host for a start with old_command: `config` is the file of the new start. If the cluster
 * file names none, a driver may have read the file of the running process instead.
 */
const hostOfOld = (member: MemberSpec, { member: real, host }: StartCase): MemberHost => {
  const path = configPath(real);
  if (host?.config === undefined || configPath(member) === path) return host;
  const { config, ...others } = host;
  const isOfProcess = path === undefined && host.is_config_of_variable !== true;
  return isOfProcess ? { running_config: config, ...others } : others;
};
type WhichStart = 'next' | 'old';
export const startNames: Readonly<Record<WhichStart, string>> = {
  next: 'next start',
  old: 'start with old_command',
};
/** The starts of a member that opsctl performs: the next one, and with old_command that of a rollback. */
const startsOf = (one: StartCase): (readonly [WhichStart, StartCase])[] => {
  const { new_command: _, new_binary: __, ...others } = one.member;
  const { old_command, old_binary } = others;
  const named = argvOf(old_command, old_binary);
  if (named === undefined || !one.isLocal) return [['next', one]];
  const binary = old_binary === undefined ? {} : { new_binary: old_binary };
  const member = { ...others, ...binary, new_command: named };
  return [
    ['next', one],
    ['old', { ...one, member, host: hostOfOld(member, one) }],
  ];
};
/**
 * The starts of a member that remove every other member from its member list. The server reads this setting at each
 * start, although it is meant for a single one (seen on 3.3, 3.4 and 3.5). Pure.
 */
export const listForcedStarts = (one: StartCase): WhichStart[] => {
  const stopped = startOf(one) === undefined ? one.host?.stopped_start : undefined;
  if (stopped !== undefined && 'is_forced' in stopped) return stopped.is_forced ? ['next'] : [];
  return startsOf(one).flatMap(([which, start]) => (isOn(readNextStart(start)?.read(FORCE)) ? [which] : []));
};
/** Why a start may set force-new-cluster in a part that opsctl did not read. */
const unreadPart = (one: StartCase): string | undefined => {
  const [start, next] = [inheritingStart(one), readNextStart(one)];
  const path = start === undefined ? undefined : fileOfStart({ ...start, minor: one.to });
  if (path !== undefined && next?.isFile !== true) return `its configuration file ${path} was not read`;
  if (start === undefined || (next === undefined ? !start.isScript : next.isKnown(FORCE))) return undefined;
  return start.isScript
    ? `${start.words[0]} is not the server and may add settings`
    : `a part of its command is unknown before it runs (${start.unread[0] ?? 'the image of its container'})`;
};
/**
 * Returns the first start of which it is unknown whether it removes the other members, and why: a file or a script was
 * not read, or neither a process nor the definition of its service. Pure.
 */
export const findUnreadStart = (one: StartCase): readonly [WhichStart, why: string] | undefined => {
  const { stopped_start: stopped, command_error } = one.host ?? {};
  if (startOf(one) !== undefined)
    return startsOf(one)
      .flatMap(([which, start]): (readonly [WhichStart, string])[] => {
        const why = unreadPart(start);
        return why === undefined ? [] : [[which, why]];
      })
      .at(0);
  if (stopped !== undefined && 'is_forced' in stopped) return undefined;
  return ['next', stopped?.problem ?? command_error ?? 'this driver does not show its command line'];
};
