import { after } from '../../../core/next.ts';
import { resolve } from 'node:path';
import { FILE_VARIABLE, findServerFile } from '../../../api-specs/etcd/server-settings.ts';
import { type Minor, minorOf, previousMinor } from '../../../api-specs/etcd/versions.ts';
import { cutText } from '../../../core/problem.ts';
import { argvOf, shellLine } from '../../../core/shell.ts';
import { unlistedParts } from '../../../core/runnable-words.ts';
import {
  flagsOf,
  isServer,
  lintEnvironment,
  lintFile,
  lintFlags,
  type ReadSetting,
  readSettings,
  runningStart,
  settingsOf,
} from '../configuration/configuration.ts';
import { findServers, emptyEnvironment } from '../configuration/server-command.ts';
import { hookCommands } from '../cluster/drivers.ts';
import { configPath } from '../supervisors/host-facts.ts';
import type { ClusterFile, MemberStatus, MemberSpec } from '../../engine/model.ts';
import { droppedAccess, type NextStart } from '../configuration/access.ts';
import { changedDefaults } from '../configuration/values.ts';
import { guard, type Guard, type GuardInput, memberFacts, type Log } from './guard.ts';

type MemberHost = MemberStatus['host'];

type Way = {
  readonly from: Minor | undefined;
  readonly to: Minor;
  readonly isLocal: boolean;
  readonly kind: GuardInput['kind'];
};
/**
 * The start of the new version: opsctl uses the values of the cluster file, and a service uses the values of
 * the running version.
 */
type Start = {
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
const startOf = (
  member: MemberSpec,
  host: MemberHost,
  isLocal: boolean,
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

/** Returns whether opsctl starts the members, not a service manager. */
export const isStartedHere = (cluster: ClusterFile): boolean =>
  [cluster.driver ?? 'local', cluster.ssh?.then ?? 'local'].every((one) => one === 'local' || one === 'ssh');

const noteUnread = (member: MemberSpec, { unread }: Start, to: Minor, log: Log): void => {
  for (const part of unread)
    log.noteUnknown({
      member: member.name,
      message: `${member.name}: cannot check a part of its start for ${to}: ${part}`,
      hint: 'write the flags and the variables of the server into new_command and env',
    });
};
const checkStart = (member: MemberSpec, host: MemberHost, { from, to, isLocal }: Way, log: Log): void => {
  const start = startOf(member, host, isLocal);
  if (start === undefined) {
    if (host !== undefined)
      log.noteUnknown({
        member: member.name,
        message: `${member.name}: cannot check its flags and variables for ${to}: ${host.command_error ?? 'this driver does not show its command line'}`,
        hint: after('check them with', ['kv', 'config', 'lint', 'FILE', '--command', 'LINE']),
      });
    return;
  }
  const flags = flagsOf(start.words);
  noteUnread(member, start, to, log);
  // A script of the operator may contain the flags or set the variables.
  if (isLocal && flags.size === 0 && Object.keys(start.env).length === 0 && host?.config === undefined)
    log.noteUnknown({
      member: member.name,
      message: `${member.name}: cannot check its flags and variables for ${to}: new_command ${shellLine(start.words)} contains neither flags nor variables`,
      hint: after('write the flags into new_command, or check them with', [
        'kv',
        'config',
        'lint',
        'FILE',
        '--command',
        'LINE',
      ]),
    });
  const found = [
    ...lintFlags(start.words, to, from, start.env).map((one) => ({ ...one, where: start.inWords })),
    ...lintEnvironment(start.env, flags, to, from).map((one) => ({ ...one, where: start.inEnv })),
  ];
  for (const { level, key, message, hint, where } of found)
    log[level]({
      member: member.name,
      message: `${member.name}: ${key} ${message}`,
      hint: `${where}: ${hint}`,
    });
};

/**
 * A version before 3.4 ignores the variable, and a later version reads only its file. The upgrade between them
 * would replace all settings at once: with another data-dir, the new version would start without the data.
 */
const checkFileOfVariable = (
  member: MemberSpec,
  seen: MemberStatus | undefined,
  way: Way,
  log: Log,
): void => {
  const { to, isLocal } = way;
  const start = startOf(member, seen?.host, isLocal);
  const fileOf = (minor: Minor | undefined): string | undefined =>
    findServerFile(flagsOf(start?.words ?? []), start?.env[FILE_VARIABLE], minor);
  const from = minorOf(seen?.server_version) ?? way.from ?? previousMinor(to);
  const path = fileOf(to);
  if (path === undefined || path === fileOf(from)) return;
  const isStartedByFile = isLocal || member.new_command !== undefined;
  log.fail({
    member: member.name,
    message: `${member.name}: ${FILE_VARIABLE} is ${path}: ${from} ignores that file, and ${to} would read only that file, with the data-dir in it, and ignore all flags and other variables`,
    hint: isStartedByFile
      ? `set ${FILE_VARIABLE}: "" in env of the cluster file, so that ${to} starts with the settings that ${from} uses`
      : `remove ${FILE_VARIABLE} from the environment of its service and restart the member, so that ${to} starts with the settings that ${from} uses`,
  });
};

/** Returns whether the plan starts this member: an upgrade that is under way does not start a finished member again. */
export const isStartedByPlan = (
  { to, kind }: Pick<GuardInput, 'to' | 'kind'>,
  { server_version }: Pick<MemberStatus, 'server_version'>,
): boolean => kind === 'restart' || minorOf(server_version) !== to;
/** A service manager starts the member as before, and only a new configuration file can change its settings. */
const keepsStart = (member: MemberSpec, { isLocal, kind }: Way): boolean =>
  !isLocal && member.new_command === undefined && !replacesFile(member, kind);
const replacesFile = (member: MemberSpec, kind: Way['kind']): boolean =>
  kind === 'restart' && member.new_config_file !== undefined;
/**
 * The settings of the running process, or the reason why they are unknown. A service manager starts the member
 * with the same path, which may belong to another file system than the path in the cluster file.
 */
const readRunning = (
  member: MemberSpec,
  seen: MemberStatus,
  way: Way,
): { readonly read: ReadSetting } | { readonly unknown: string } => {
  const { host } = seen;
  const start = runningStart(member, seen);
  const path = findServerFile(flagsOf(start.words), start.env[FILE_VARIABLE], start.minor);
  if (path === undefined) {
    const read = readSettings({ ...start, file: undefined });
    return read === undefined ? { unknown: 'the settings of its process were not read' } : { read };
  }
  const next = startOf(member, host, way.isLocal, host?.environment);
  const nextPath = findServerFile(flagsOf(next?.words ?? []), next?.env[FILE_VARIABLE], way.to);
  const resolvePath = (one: string): string => resolve(host?.working_directory ?? '/', one);
  const isSame = [nextPath, configPath(member)].some(
    (one) => one !== undefined && resolvePath(one) === resolvePath(path),
  );
  const isService = !way.isLocal && member.new_command === undefined;
  const current = replacesFile(member, way.kind) ? host?.replaced_config : host?.config;
  const file = host?.running_config ?? (isSame || isService ? current : undefined);
  const read = file === undefined ? undefined : readSettings({ ...start, file });
  if (read !== undefined) return { read };
  const other = configPath(member) ?? nextPath;
  return {
    unknown:
      isSame || other === undefined
        ? `its process reads ${path}, which was not read`
        : `its process reads ${path}, which was not read, and its next start reads ${other}`,
  };
};
const nothingRead: NextStart = { read: () => undefined, isKnown: () => false };
/**
 * Who may connect must not change with the start of a member. The version reads its settings as before, but the
 * command, the variables or the file of the next start may not contain them.
 */
const checkKeptAccess = (member: MemberSpec, seen: MemberStatus, way: Way, log: Log): void => {
  const { name } = member;
  if (keepsStart(member, way)) return;
  const running = readRunning(member, seen, way);
  if ('unknown' in running) {
    // Without a process there is nothing to compare, and another check reports an unreadable file.
    if (seen.host?.is_running === true && seen.host.config_error === undefined)
      log.noteUnknown({
        member: name,
        message: `${name}: cannot compare who may connect after its next start: ${running.unknown}`,
        hint: 'compare client-transport-security and peer-transport-security of both starts',
      });
    return;
  }
  const next = readNextStart(member, seen.host, way) ?? nothingRead;
  const from = minorOf(seen.server_version);
  const lost = droppedAccess(running.read, next, { from, to: way.to });
  for (const { finding, isCertain } of lost)
    if (isCertain)
      log.fail({
        member: name,
        message: `${name}: ${finding.key} ${finding.message}`,
        hint: finding.hint,
      });
  const open = lost.filter(({ isCertain }) => !isCertain).map(({ finding }) => finding.key);
  if (open.length > 0 && seen.host?.config_error === undefined)
    log.noteUnknown({
      member: name,
      message: `${name}: cannot determine whether its next start keeps ${open.join(', ')}: a part of the start was not read`,
      hint: 'write the flags and the variables of the server into new_command and env',
    });
};

const checkReadable = (member: MemberSpec, host: MemberHost, log: Log): void => {
  if (host?.config_error !== undefined)
    log.fail({
      member: member.name,
      message: `${member.name}: ${host.config_error}`,
      hint: 'fix the configuration file',
    });
};

/**
 * A relative directory depends on the working directory of the process, which its successor keeps. In any
 * other directory the successor would find an empty directory.
 */
const checkDataDirectory = (member: MemberSpec, host: MemberHost, log: Log): void => {
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

const checkFile = (member: MemberSpec, host: MemberHost, { from, to }: Way, log: Log): void => {
  for (const { level, key, message, hint, isFixed, isLater, isAccess } of host?.config === undefined
    ? []
    : lintFile(host.config, to, from)) {
    const isRewritten =
      isFixed === true && isLater !== true && isAccess !== true && member.config_file !== undefined;
    if (isRewritten && host?.config_repeats === true)
      log.fail({
        member: member.name,
        message: `${member.name}: ${key} ${message}, and the plan cannot rewrite a file that contains a key twice`,
        hint: 'keep one line of each key in the configuration file: the servers use the last one',
      });
    else if (isRewritten)
      log.warn({
        member: member.name,
        message: `${member.name}: ${key} ${message}`,
        hint: `the plan rewrites it: ${hint}`,
      });
    else
      log[level]({
        member: member.name,
        message: `${member.name}: ${key} ${message}`,
        // Not `config migrate` first: the running version could not start with that file afterwards.
        hint:
          isFixed === true && isLater !== true && isAccess !== true
            ? `add config_file: ${configPath(member) ?? 'PATH'} to the cluster file, so that the plan rewrites it between stop and start`
            : hint,
      });
  }
};

/**
 * The settings of the next start of a member. opsctl, a unit and a container pass the variables of the running
 * process on, and `env` of the cluster file overrides them. A script, an unread part and the image of a container
 * may contain settings that were not found. Undefined: no configuration was read. Pure.
 */
export const readNextStart = (
  member: MemberSpec,
  host: MemberHost,
  { to, isLocal }: Pick<Way, 'to' | 'isLocal'>,
): (NextStart & Pick<Start, 'isScript'>) | undefined => {
  const start = startOf(member, host, isLocal, host?.environment);
  const { words, env } = start ?? { words: [], env: {} };
  const read = readSettings({ words, env, file: host?.config, minor: to });
  if (read === undefined) return undefined;
  if (start === undefined || host?.config !== undefined)
    return { read, isKnown: () => true, isScript: false };
  const { isScript } = start;
  const isPartial = isScript || start.unread.length > 0;
  const ofImage = settingsOf(start.isContained ? (host?.environment ?? {}) : {});
  const isKnown = (flag: string): boolean => {
    const value = read(flag);
    if (value === undefined) return !isPartial && !ofImage.has(flag);
    return !(isPartial && /[$`]/.test(String(value)));
  };
  return { read, isKnown, isScript };
};
/**
 * Reports settings without an explicit value whose default changes in the new version: one finding for all
 * affected members.
 */
const checkDefaults = (
  { cluster, observation }: GuardInput,
  { from, to, isLocal }: Pick<Way, 'from' | 'to' | 'isLocal'>,
  log: Log,
): void => {
  const open = cluster.members.flatMap((member) => {
    const host = observation.members.find(({ name }) => name === member.name)?.host;
    const next = readNextStart(member, host, { to, isLocal });
    // A warning about a script is better than no message.
    const isSet = (key: string): boolean =>
      next === undefined || next.read(key) !== undefined || !(next.isKnown(key) || next.isScript);
    return changedDefaults(isSet, to, from).map((found) => ({ ...found, member: member.name }));
  });
  const [first] = open;
  if (first === undefined) return;
  const names = open.map(({ member }) => member).join(', ');
  log.warn({ message: `${names}: ${first.key} ${first.message}`, hint: first.hint });
};

/** spec/store#measured-configuration: one configuration file cannot serve two versions when it sets the retention; the server exits at its start. */
export const configurationFits = guard(
  'configuration-fits',
  'the new version understands the configuration',
  (input, log) => {
    const { observation, cluster, from, to } = input;
    if (to === undefined) return;
    const way: Way = { from, to, isLocal: isStartedHere(cluster), kind: input.kind };
    for (const member of cluster.members) {
      const seen = observation.members.find(({ name }) => name === member.name);
      const host = seen?.host;
      checkStart(member, host, way, log);
      checkFileOfVariable(member, seen, way, log);
      if (seen !== undefined && isStartedByPlan(input, seen)) checkKeptAccess(member, seen, way, log);
      checkReadable(member, host, log);
      if (way.isLocal) checkDataDirectory(member, host, log);
      checkFile(member, host, way, log);
    }
    // A running version of 3.4 or later already has the new default.
    if (from !== undefined) checkDefaults(input, way, log);
  },
  memberFacts.host,
);

/**
 * The cluster file was read, so every program that a hook names is trusted. A text can compute more names, and then it is unknown
 * what the hook starts.
 */
const programsAreListed = guard(
  'hook-programs',
  'only trusted users can change the programs of the hooks',
  ({ cluster }, log) => {
    const open = new Map(
      hookCommands(cluster).flatMap(({ name, words }) => {
        const [part] = unlistedParts(words);
        return part === undefined ? [] : [[name, part] as const];
      }),
    );
    for (const [name, part] of open)
      log.noteUnknown({
        message: `opsctl cannot list the programs that the hook ${name} starts: ${JSON.stringify(cutText(part, 80))}`,
        hint: 'write the commands to a script that only root or you can change, and use its path as the hook',
      });
  },
  () => true,
);
/** Without hooks there is nothing to report. */
export const hookPrograms: Guard = {
  ...programsAreListed,
  findings: (input) =>
    Object.keys(input.cluster.hooks ?? {}).length === 0 ? [] : programsAreListed.findings(input),
};
