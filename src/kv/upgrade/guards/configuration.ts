import { after, next } from '../../../core/next.ts';
import {
  FILE_VARIABLE,
  findSetting,
  isDefaultValue,
  settingNames,
  settingNamesOf,
} from '../../../api-specs/etcd/server-settings.ts';
import { type Minor, minorOf, previousMinor, rowOf } from '../../../api-specs/etcd/versions.ts';
import { shellLine } from '../../../core/shell.ts';
import {
  fileOfStart,
  findChangedConfig,
  flagsOf,
  lintEnvironment,
  lintFile,
  lintFlags,
  type ReadSetting,
  runningStart,
} from '../configuration/configuration.ts';
import { configPath } from '../supervisors/member-process.ts';
import type { ChangedFile, HostFacts, MemberStatus, MemberSpec } from '../../engine/model.ts';
import { droppedAccess, type NextStart } from '../configuration/access.ts';
import { listConflicts } from '../configuration/setting-combinations.ts';
import { changedDefaults, normalizeKeys } from '../configuration/values.ts';
import { guard, type GuardInput, memberFacts, type Log } from './guard.ts';
import {
  type MemberHost,
  type StartCase,
  type Case,
  type Start,
  startOf,
  inheritingStart,
  isStartedHere,
  isStartedByPlan,
  keepsStart,
  changedText,
  readRunning,
  nothingRead,
  type StatusCase,
  checkNextDirectories,
  checkNextName,
  checkDataDirectory,
  readNextStart,
} from './next-start.ts';

const noteUnread = (member: MemberSpec, { unread }: Start, to: Minor, log: Log): void => {
  for (const part of unread)
    log.noteUnknown({
      member: member.name,
      message: `${member.name}: cannot check a part of its start for ${to}: ${part}`,
      hint: 'write the flags and the variables of the server into new_command and env',
    });
};
const lintCommand = ['kv', 'config', 'lint', 'FILE', '--command', 'LINE'] as const;
const checkStart = (one: Case, log: Log): void => {
  const { member, host, from, to, isLocal } = one;
  const start = startOf(one);
  if (start === undefined) {
    if (host !== undefined)
      log.noteUnknown({
        member: member.name,
        message: `${member.name}: cannot check its flags and variables for ${to}: ${host.command_error ?? 'this driver does not show its command line'}`,
        hint: after('check them with', lintCommand),
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
      hint: after('write the flags into new_command, or check them with', lintCommand),
    });
  const inWords = lintFlags(start.words, to, from, start.env, host?.new_binary_version);
  const found = [
    ...inWords.map((one) => ({ ...one, where: start.inWords })),
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
 * Settings that stop the new version together. The variables of a running process whose environment was not read may
 * contain the missing one, and so may an image, which may be another one than that of the process.
 */
const checkConflicts = (one: Case, log: Log): void => {
  const { member, host, to } = one;
  const next = readNextStart(one);
  if (next === undefined) return;
  const inherits = host?.environment === undefined && host?.is_running !== false;
  const start = inheritingStart(one);
  const isPartial = next.isPartial || (!next.isFile && (inherits || start?.isContained === true));
  // Another finding reports an unread part, and a script usually adds settings.
  const isExpected = next.isScript || (start?.unread.length ?? 0) > 0;
  for (const { finding, isCertain } of listConflicts({ ...next, isPartial }, to))
    if (isCertain)
      log.fail({
        member: member.name,
        message: `${member.name}: ${finding.key} ${finding.message}`,
        hint: finding.hint,
      });
    else if (!isExpected)
      log.noteUnknown({
        member: member.name,
        message: `${member.name}: ${finding.key} ${finding.message}, unless a part of the start that was not read changes this`,
        hint: 'write the flags and the variables of the server into new_command and env',
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

/**
 * The limits of access of a running process whose settings are unknown: those that the member showed, or with
 * `isAssumed` also those that it may have. Signed tokens are left out, because another guard warns about tokens.
 */
const observedSettings = ({ seen, member }: StatusCase, isAssumed: boolean): ReadSetting => {
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
const checkChangedAccess = (one: StatusCase, changed: ChangedFile, log: Log): void => {
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
    // Without a process no comparison is possible, and another check reports an unreadable file.
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
 * A process that reads a file takes every setting from it. A next start that does not name a file must contain them: with
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
      checkConflicts(one, log);
      checkFileOfVariable(one, log);
      if (seen !== undefined && isStartedByPlan(input, seen)) {
        checkKeptAccess({ ...one, seen }, log);
        checkFileIsNamed({ ...one, seen }, log);
        checkChangedFiles(one, log);
        checkNextDirectories({ ...one, seen }, log);
        checkNextName({ ...one, seen }, observation.listed, log);
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
