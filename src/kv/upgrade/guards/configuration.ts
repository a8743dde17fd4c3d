import { after, next } from '../../../core/next.ts';
import { basename, resolve } from 'node:path';
import {
  FILE_VARIABLE,
  findSetting,
  isDefaultValue,
  settingNames,
  settingNamesOf,
} from '../../../api-specs/etcd/server-settings.ts';
import { type Minor, minorOf, previousMinor, rowOf } from '../../../api-specs/etcd/versions.ts';
import { argvOf, shellLine } from '../../../core/shell.ts';
import {
  fileOfStart,
  findChangedConfig,
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
import { configPath } from '../supervisors/host-facts.ts';
import type { ChangedFile, ClusterFile, HostFacts, MemberStatus, MemberSpec } from '../../engine/model.ts';
import { droppedAccess, type NextStart } from '../configuration/access.ts';
import { changedDefaults, normalizeKeys } from '../configuration/values.ts';
import { guard, type GuardInput, memberFacts, type Log } from './guard.ts';

type MemberHost = MemberStatus['host'];

/** A member that the plan starts, and how it starts it. */
type StartCase = {
  readonly member: MemberSpec;
  readonly host: MemberHost;
  readonly to: Minor;
  readonly isLocal: boolean;
};
type Case = StartCase & {
  readonly seen: MemberStatus | undefined;
  readonly from: Minor | undefined;
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
const inheritingStart = (one: StartCase): Start | undefined => startOf(one, one.host?.environment);

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
const checkStart = (one: Case, log: Log): void => {
  const { member, host, from, to, isLocal } = one;
  const start = startOf(one);
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
const checkFileOfVariable = (one: Case, log: Log): void => {
  const { member, seen, to, isLocal } = one;
  const start = startOf(one);
  const fileOf = (minor: Minor | undefined): string | undefined =>
    start === undefined ? undefined : fileOfStart({ ...start, minor });
  const from = minorOf(seen?.server_version) ?? one.from ?? previousMinor(to);
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
const replacesFile = ({ member, kind }: Pick<Case, 'member' | 'kind'>): boolean =>
  kind === 'restart' && member.new_config_file !== undefined;
/** A service manager starts the member with the command line of its running process. */
const isServiceStart = ({ isLocal, member }: Pick<StartCase, 'isLocal' | 'member'>): boolean =>
  !isLocal && member.new_command === undefined;
/** A service manager starts the member as before, and only a new configuration file can change its settings. */
const keepsStart = (one: Case): boolean => isServiceStart(one) && !replacesFile(one);
/** Returns whether two paths of a host are equal. Relative paths belong to the working directory of the process. */
const isSamePath = (host: MemberHost, a: string, b: string): boolean => {
  const [one, other] = [a, b].map((path) => resolve(host?.working_directory ?? '/', path));
  return one === other;
};
const changedText = ({ path, changed_at, started_at }: ChangedFile): string =>
  `its process started at ${started_at} and read ${path}, which changed at ${changed_at}`;
/**
 * The settings of the running process, or the reason why they are unknown. A service manager starts the member
 * with the same path, which may belong to another file system than the path in the cluster file.
 */
const readRunning = (
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
const nothingRead: NextStart = { read: () => undefined, isKnown: () => false };
type SeenCase = Case & { readonly seen: MemberStatus };
/**
 * The limits of access of a running process whose settings are unknown: those that the member showed, or with
 * `isAssumed` also those that it may have. Signed tokens are left out, because another guard warns about tokens.
 */
const observedSettings = ({ seen, member }: SeenCase, isAssumed: boolean): ReadSetting => {
  const { access = {}, client_url } = seen;
  const isRejected = (answer: 'accepted' | 'rejected' | undefined, isPossible: boolean): boolean =>
    answer === 'rejected' || (isAssumed && answer === undefined && isPossible);
  const isTls = client_url.startsWith('https:');
  const [peer, peerAnswer] = [member.peer_url ?? 'https:', access['peer-certificate']];
  const clients = isRejected(access.certificate, isTls);
  const peers = isRejected(peerAnswer, peer.startsWith('https:'));
  const hasNames = rowOf(seen.server_version)?.access.section.includes('allowed-cn') === true;
  const settings: Readonly<Record<string, unknown>> = {
    'listen-client-urls': client_url,
    'listen-peer-urls': peerAnswer === undefined ? member.peer_url : 'https://peer',
    'host-whitelist': isRejected(access['host-name'], !isTls),
    'client-cert-auth': clients,
    'trusted-ca-file': clients,
    'peer-client-cert-auth': peers,
    'peer-trusted-ca-file': peers,
    'client-cert-allowed-hostname': isAssumed && hasNames && clients,
    'peer-cert-allowed-hostname': isAssumed && hasNames && peers,
    'peer-cert-allowed-cn': isAssumed && hasNames && peers,
  };
  return (flag) => settings[flag];
};
/**
 * A configuration file that changed after the process read it is that of the next start only. What the member
 * rejects shows its settings: a limit that it has and that the file does not contain is lost. A setting that no
 * connection shows is unknown, if the file does not contain it either.
 */
const checkChangedAccess = (one: SeenCase, changed: ChangedFile, log: Log): void => {
  const { seen, to, kind, member } = one;
  const start = readNextStart(one) ?? nothingRead;
  const versions = { from: minorOf(seen.server_version), to };
  const keysOf = (isAssumed: boolean): string[] =>
    droppedAccess(observedSettings(one, isAssumed), start, versions)
      .map(({ finding }) => finding.key)
      // The running process may have the same addresses.
      .filter((key) => !key.startsWith('listen-'));
  const lost = keysOf(false);
  for (const key of lost)
    log.fail({
      member: member.name,
      message: `${member.name}: ${key} is not in its next start, and its process rejects connections because of it: ${changedText(changed)}`,
      hint: `write the settings of the running process into ${changed.path}`,
    });
  const open = keysOf(true).filter((key) => !lost.includes(key));
  if (open.length > 0 && kind !== 'restart')
    log.noteUnknown({
      member: member.name,
      message: `${member.name}: cannot determine whether its next start drops ${open.join(', ')}: ${changedText(changed)}`,
      hint: next(['kv', 'restart'], 'applies the change first, without a new version'),
    });
};
/**
 * Who may connect must not change with the start of a member. The version reads its settings as before, but the
 * command, the variables or the file of the next start may not contain them.
 */
const checkKeptAccess = (one: Case & { readonly seen: MemberStatus }, log: Log): void => {
  const { seen, to } = one;
  const { name } = one.member;
  const changed = findChangedConfig(one.host);
  if (changed !== undefined && seen.access !== undefined) {
    checkChangedAccess(one, changed, log);
    return;
  }
  if (keepsStart(one) && changed === undefined) return;
  const running = readRunning(one);
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
  const next = readNextStart(one) ?? nothingRead;
  const from = minorOf(seen.server_version);
  const lost = droppedAccess(running.read, next, { from, to });
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

/**
 * The service manager would start the member with settings that its process does not have, and opsctl reads the
 * settings of the process. A restart is the way to apply such a change.
 */
const checkChangedFiles = ({ member, host, kind }: Case, log: Log): void => {
  const files = (host?.changed_files ?? []).filter(({ is_config }) => is_config !== true);
  for (const { path } of kind === 'restart' ? [] : files)
    log.noteUnknown({
      member: member.name,
      message: `${member.name}: ${path} changed after its process started, so the settings of its next start are unknown`,
      hint: next(['kv', 'config', 'lint', path], after('and', ['kv', 'restart'], 'apply the change first')),
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

/** The directory that the running process uses for a setting; undefined if it is not known. */
const runningDirectory = (one: SeenCase, key: 'data-dir' | 'wal-dir'): string | undefined => {
  const { host } = one;
  if (findChangedConfig(host) !== undefined)
    return key === 'data-dir' ? host?.open_data_dir : host?.open_wal_dir;
  const running = readRunning(one);
  const set = 'read' in running ? running.read(key) : undefined;
  return typeof set === 'string' && set !== '' ? set : undefined;
};
/** The directory of the next start, and whether it is the default of the server, which depends on two settings. */
type NextDirectory = { readonly path: string; readonly isDefault: boolean };
const nextDirectory = (one: SeenCase, key: 'data-dir' | 'wal-dir'): NextDirectory | undefined => {
  const start = readNextStart(one);
  if (start?.isKnown(key) !== true) return undefined;
  const given = start.read(key);
  if (typeof given === 'string' && given !== '')
    return given.startsWith('/') || one.host?.working_directory !== undefined
      ? { path: given, isDefault: false }
      : undefined;
  if (key === 'wal-dir' || findChangedConfig(one.host) === undefined) return undefined;
  const name = start.read('name');
  return { path: `${typeof name === 'string' && name !== '' ? name : 'default'}.etcd`, isDefault: true };
};
const isRunningDirectory = (
  { host }: SeenCase,
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
const isExpectedDirectory = ({ member, host }: SeenCase, key: string, given: string): boolean => {
  const data = [member.data_dir, host?.real_data_dir].flatMap((path) => (path === undefined ? [] : [path]));
  const known = key === 'data-dir' ? data : [member.wal_dir, ...data.map((path) => `${path}/member/wal`)];
  return known.some((path) => path !== undefined && isSamePath(host, path, given));
};
/**
 * A start in another directory begins without the data. A single member would even have the same IDs, and accept
 * writes into an empty store (seen on 3.4 and 3.5).
 */
const checkNextDirectory = (one: SeenCase, key: 'data-dir' | 'wal-dir', log: Log): void => {
  const [next, current] = [nextDirectory(one, key), runningDirectory(one, key)];
  const { name } = one.member;
  if (next === undefined) return;
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
/** The process of a container shows the paths of its own file system. */
const checkNextDirectories = (one: SeenCase, log: Log): void => {
  const { container, manifest } = one.member;
  if (container !== undefined || manifest !== undefined || isContainedStart(one)) return;
  checkNextDirectory(one, 'data-dir', log);
  checkNextDirectory(one, 'wal-dir', log);
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

const checkFile = ({ member, host, from, to }: Case, log: Log): void => {
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
  if (content === undefined || start === undefined) return { content, isCertain: content !== undefined };
  const own = configPath(member);
  const isOwn = (path: string): boolean =>
    own === undefined || start.isContained || isServiceStart(one) || isSamePath(host, own, path);
  const path = fileOfStart({ ...start, minor: to });
  const isPartial = start.isScript || start.isContained || start.unread.length > 0;
  if (path === undefined && !isPartial) return { content: undefined, isCertain: false };
  const found = path ?? fileOfStart({ words: host?.command ?? [], env: host?.environment ?? {}, minor: to });
  return found !== undefined && isOwn(found)
    ? { content, isCertain: true }
    : { content: undefined, isCertain: false };
};
/**
 * The settings of the next start of a member. opsctl, a unit and a container pass the variables of the running
 * process on, and `env` of the cluster file overrides them. A script, an unread part and the image of a container
 * may contain settings that were not found. Undefined: no configuration was read. Pure.
 */
export const readNextStart = (one: StartCase): (NextStart & Pick<Start, 'isScript'>) | undefined => {
  const { host, to } = one;
  const start = inheritingStart(one);
  const { words, env } = start ?? { words: [], env: {} };
  const { content: file, isCertain } = nextFileOf(one, start);
  const read = readSettings({ words, env, file, minor: to });
  if (read === undefined) return undefined;
  if (start === undefined || isCertain) return { read, isKnown: () => true, isScript: false };
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
/** Settings that decide about the data of a member, or about who may connect. */
const isVital = (flag: string): boolean => {
  const own = flag.replace(/^peer-/, '');
  return (
    ['data-dir', 'wal-dir', 'quota-backend-bytes', 'auth-token', 'host-whitelist'].includes(flag) ||
    (flag.startsWith('listen-') && flag.endsWith('-urls')) ||
    ['ca-file', 'trusted-ca-file', 'cert-file', 'key-file', 'client-cert-file'].includes(own) ||
    ['client-key-file', 'client-crl-file', 'crl-file', 'client-cert-auth', 'auto-tls'].includes(own) ||
    ['cert-allowed-cn', 'cert-allowed-hostname'].includes(own.replace(/^client-/, '')) ||
    ['cipher-suites', 'tls-min-version', 'tls-max-version'].includes(flag)
  );
};
/** Settings that only the first start of a member reads. */
const isBootstrap = (flag: string): boolean =>
  flag === 'force-new-cluster' ||
  flag.startsWith('discovery') ||
  (flag.startsWith('initial-') && flag !== 'initial-election-tick-advance');
const flagPrefixes: Readonly<Record<string, string>> = {
  'client-transport-security': '',
  'peer-transport-security': 'peer-',
  'socket-options': 'socket-',
};
const flagInSection = (section: string, key: string): string => {
  const prefix = flagPrefixes[section] ?? '';
  return key.startsWith('allowed-') ? `${prefix === '' ? 'client-' : prefix}cert-${key}` : `${prefix}${key}`;
};
/** The settings that the servers read from a file, by the names of their flags. */
const flagsInFile = (file: NonNullable<HostFacts['config']>): (readonly [flag: string, value: unknown])[] => {
  const known = new Set(settingNames('file'));
  return Object.entries(normalizeKeys(file)).flatMap(([key, value]) => {
    if (flagPrefixes[key] === undefined) return known.has(key) ? [[key, value] as const] : [];
    return typeof value === 'object' && value !== null
      ? Object.entries(value).map(([part, inner]) => [flagInSection(key, part.toLowerCase()), inner] as const)
      : [];
  });
};
/** The settings of a file that the next start does not have. A setting that `to` does not read is not lost by the start. */
const listLost = (file: NonNullable<HostFacts['config']>, next: NextStart, to: Minor): string[] =>
  flagsInFile(file).flatMap(([flag, value]) => {
    if (isDefaultValue(flag, value, to) || isBootstrap(flag)) return [];
    const names = settingNamesOf(flag);
    const isRead = isVital(flag) || names.some((name) => findSetting(name, to, 'flag') !== undefined);
    return isRead && names.every((name) => next.read(name) === undefined) ? [flag] : [];
  });
const mostNamed = 5;
/**
 * A process that reads a file takes every setting from it. A next start that names no file must contain them: with
 * another data directory it would start without the data. Other settings change how the member works, and they are a
 * warning.
 */
const checkFileIsNamed = (one: Case & { readonly seen: MemberStatus }, log: Log): void => {
  const { member, host, seen, to } = one;
  const start = inheritingStart(one);
  const running = runningStart(member, seen);
  const path = fileOfStart(running);
  if (start === undefined || keepsStart(one) || fileOfStart({ ...start, minor: to }) !== undefined) return;
  if (start.isScript || start.isContained || start.unread.length > 0) return;
  if (path === undefined) {
    if (member.config_file !== undefined && host?.command !== undefined)
      log.warn({
        member: member.name,
        message: `${member.name}: its next start does not read config_file ${member.config_file}`,
        hint: `add --config-file=${member.config_file} to new_command, or remove config_file from the cluster file`,
      });
    return;
  }
  // Another check reports a file that was not read.
  // The file may have changed since the process read it. Its content is still the best knowledge of what would be lost.
  const file = running.file ?? host?.running_config ?? host?.config;
  const lost = file === undefined ? [] : listLost(file, readNextStart(one) ?? nothingRead, to);
  const report = (level: 'fail' | 'warn', flags: readonly string[]): void => {
    if (flags.length === 0) return;
    const more = flags.length > mostNamed ? ` and ${flags.length - mostNamed} more` : '';
    log[level]({
      member: member.name,
      message: `${member.name}: its process reads ${path}, and its next start names no configuration file: it would lose ${flags.slice(0, mostNamed).join(', ')}${more}`,
      hint: `add --config-file=${path} to new_command, or write these settings there`,
    });
  };
  report('fail', lost.filter(isVital));
  report(
    'warn',
    lost.filter((flag) => !isVital(flag)),
  );
};
/** A file of the next start that was not read may contain a setting or not. Other checks report other unread starts. */
const noteUnreadDefaults = (one: StartCase, from: Case['from'], log: Log): void => {
  const { member, host, to } = one;
  const start = inheritingStart(one);
  const path = start === undefined ? undefined : fileOfStart({ ...start, minor: to });
  const [first] = changedDefaults(() => false, to, from);
  if (first === undefined || path === undefined || host === undefined || host.config_error !== undefined)
    return;
  log.noteUnknown({
    member: member.name,
    message: `${member.name}: cannot determine whether ${first.key} is set: its next start reads ${path}, which was not read`,
    hint: after('check it on its host with', ['kv', 'config', 'lint', path]),
  });
};
/**
 * Reports settings without an explicit value whose default changes in the new version: one finding for all
 * affected members.
 */
const checkDefaults = (
  { cluster, observation }: GuardInput,
  { from, to, isLocal }: Pick<Case, 'from' | 'to' | 'isLocal'>,
  log: Log,
): void => {
  const open = cluster.members.flatMap((member) => {
    const host = observation.members.find(({ name }) => name === member.name)?.host;
    const one = { member, host, to, isLocal };
    const next = readNextStart(one);
    if (next === undefined) noteUnreadDefaults(one, from, log);
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
    const isLocal = isStartedHere(cluster);
    for (const member of cluster.members) {
      const seen = observation.members.find(({ name }) => name === member.name);
      const one: Case = { member, seen, host: seen?.host, from, to, isLocal, kind: input.kind };
      checkStart(one, log);
      checkFileOfVariable(one, log);
      if (seen !== undefined && isStartedByPlan(input, seen)) {
        checkKeptAccess({ ...one, seen }, log);
        checkFileIsNamed({ ...one, seen }, log);
        checkChangedFiles(one, log);
        checkNextDirectories({ ...one, seen }, log);
      }
      checkReadable(member, one.host, log);
      if (isLocal) checkDataDirectory(member, one.host, log);
      checkFile(one, log);
    }
    // A running version of 3.4 or later already has the new default.
    if (from !== undefined) checkDefaults(input, { from, to, isLocal }, log);
  },
  memberFacts.host,
);
